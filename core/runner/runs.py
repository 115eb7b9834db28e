"""`run_study.py runs`: stored runs in a list, one of them in full, or how two differ. The list
reads the ends of files alone: 10,000 runs take a second or two."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from tabulate import tabulate

from core.config.identity import canonical_json, fields_by_path
from core.config.methods import PROFILES, base
from core.config.scale import SCALES
from core.errors import UserError
from core.formatting import counted, nearest, say
from core.runner.best_scale import stored_setup
from core.runner.orders import RunsOrder
from core.runner.train import Surroundings
from core.store.records import believed, read_footer
from core.store.store import Store
from core.study.resolution import resolve
from core.study.study import Study

RUN = re.compile("[0-9a-f]{4,16}")
SHOWN_COLUMNS = ("run", "study", "cell", "seed", "score", "when", "host", "commit")
ABOUT = ("host", "device", "commit", "code", "encoder", "corpus")  # of what a run records
Recorded = dict[str, Any]  # a run's id, what it records and its configuration, by path


def list_runs(order: RunsOrder, around: Surroundings) -> int:
    """Print what an order names of the stored runs; the exit status. Raises UserError."""
    store = around.store(order.results_dir)
    ids = [name for name in order.names if RUN.fullmatch(name)]
    if ids:
        if len(ids) < len(order.names) or len(ids) > 2 or order.where:
            raise UserError("Name a study, one run or two runs, and --where with a study or none.")
        show_runs(*[_recorded(store, _by_prefix(store, name)) for name in ids])
        return 0
    studies = [around.catalogue.find(name) for name in order.names]
    places = dict(_drawn(store)) | _resolved(studies, store)
    runs: list[Recorded] = []
    for run in store.runs() if order.use_published else store.own_runs():
        study, cell = places.get(run, ("", ""))
        if studies and study.partition("@")[0] not in {study.name for study in studies}:
            continue
        try:
            runs.append({"study": study, "cell": cell} | _recorded(store, run))
        except UserError as error:  # the others can still be listed
            say(str(error))
    for condition in order.where:
        field, _, value = condition.partition("=")
        fields = {name for run in runs for name in run}
        if runs and field not in fields:
            raise UserError(f"No run has {field}; {nearest(field, fields, 'see --fields.')}")
        runs = [run for run in runs if str(run.get(field)) == value]
    runs.sort(key=lambda run: run["when"])
    rows = [[run[name] for name in SHOWN_COLUMNS] for run in runs]
    table = tabulate([SHOWN_COLUMNS, *rows], tablefmt="plain", disable_numparse=True)
    say(*table.split("\n"), f"{counted(len(runs), 'run')}.")
    return 0


def show_runs(first: Recorded, second: Recorded | None = None) -> None:
    """Print a run with its method's defaults where it has others, or what differs in two."""
    if second is not None:
        for name in first | second:
            if first.get(name) != second.get(name):
                say(f"{name}: {first.get(name)} | {second.get(name)}")
        return
    defaults = fields_by_path(canonical_json(base(first["method"], PROFILES[0])))
    for name, value in first.items():
        default = defaults.get(name, "")
        known = default in (value, "")
        say(f"{name}: {value}" if known else f"{name}: {value} (default {default})")


def _by_prefix(store: Store, name: str) -> str:
    """The only run whose id begins with a name. Raises UserError."""
    matching = [run for run in store.runs() if run.startswith(name)]
    if len(matching) != 1:
        raise UserError(f"{counted(len(matching), 'stored run')} begin with {name}; name one.")
    return matching[0]


def _recorded(store: Store, run: str) -> Recorded:
    """What a run records, by its footer. Raises CorruptRun."""
    path = store.path("runs", run)
    when = ""
    with believed(path):
        if store.has(run):
            footer = read_footer(path)
            when = f"{datetime.fromtimestamp(path.stat().st_mtime):%Y-%m-%d %H:%M}"
        else:
            footer = store.packs[store.scale_of_pack(run) or ""].footers[run]
        about = json.loads(footer["provenance"])
        fields = fields_by_path(footer["config"])
    score = about["score"] if "score" in about else store.load(run).score
    return {
        "run": run,
        "seed": fields["seed.model"],
        "status": footer["status"],
        "score": "" if score is None else f"{score:.2f}",
        "when": when,
        **{name: about.get(name, "") for name in ABOUT},
        **fields,
    }


def _resolved(studies: Sequence[Study], store: Store) -> dict[str, tuple[str, str]]:
    """The runs of studies on the data of stored runs, each with its study and cell."""
    places: dict[str, tuple[str, str]] = {}
    for scale, profile, study in itertools.product(SCALES.values(), PROFILES, studies):
        setup = stored_setup(scale, store, profile)
        for cell in resolve(study, setup).available if setup else ():
            places |= dict.fromkeys(cell.run_ids, (study.name, cell.name))
    return places


def _drawn(store: Store) -> Iterator[tuple[str, tuple[str, str]]]:
    """The runs of drawn tables, each with its study and cell; other people's files have none."""
    for folder in filter(None, (store.published, store.root)):
        for file in sorted(folder.glob("*/*/*runs.csv")):
            with contextlib.suppress(KeyError, ValueError, csv.Error):
                for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
                    study = row.get("study", file.stem.removesuffix("_runs"))
                    # behind scale, profile and encoder
                    labels = [*row.values()][3 : [*row].index("seed")]
                    yield row["run_id"], (study, row.get("cell", "/".join(labels)))
