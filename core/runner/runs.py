"""`run_study.py runs`: stored runs in a list, one of them in full, or how two differ. The list reads
the ends of files alone: 10,000 runs take a second or two."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from core.config.identity import canonical_json
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
LISTED = ("run", "study", "cell", "seed", "score", "when", "host", "commit")
ABOUT = ("host", "device", "commit", "code", "encoder", "corpus")  # of what a run records
Entry = dict[str, Any]  # a run's id, what it records and its configuration, by path


def list_runs(order: RunsOrder, around: Surroundings) -> int:
    """Print what an order names of the stored runs; the exit status. Raises UserError."""
    results = Path(os.path.abspath(order.results_dir or around.own / "results"))
    store = Store(results, around.home / "results" / "published")
    ids = [name for name in order.names if RUN.fullmatch(name)]
    if ids:
        if len(ids) < len(order.names) or len(ids) > 2 or order.where:
            raise UserError("Name a study, one run or two runs, and --where with a study or none.")
        show_runs([_recorded(store, _by_prefix(store, name)) for name in ids])
        return 0
    places = dict(_drawn(results))
    if order.use_published:
        places |= dict(_drawn(store.published or results))
    if order.names:
        studies = [around.catalogue.find(name) for name in order.names]
        names = {study.name for study in studies}
        places = {run: at for run, at in places.items() if at[0].partition("@")[0] in names}
        places |= _resolved(studies, store)
    entries: list[Entry] = []
    for run in store.runs() if order.use_published else store.own_runs():
        if not order.names or run in places:
            place = dict(zip(("study", "cell"), places.get(run, ("", "")), strict=True))
            try:
                entries.append(place | _recorded(store, run))
            except UserError as error:  # the others can still be listed
                say(str(error))
    for condition in order.where:
        field, _, value = condition.partition("=")
        if entries and not any(field in entry for entry in entries):
            fields = {name for entry in entries for name in entry}
            raise UserError(f"No run has {field}; {nearest(field, fields, 'see --fields.')}")
        entries = [entry for entry in entries if str(entry.get(field)) == value]
    lines: list[tuple[str, ...]] = [LISTED]
    for entry in sorted(entries, key=lambda entry: entry["when"]):
        number = entry["score"]
        score = "" if number is None else f"{number:.2f}"
        lines.append(tuple(str((entry | {"score": score})[name]) for name in LISTED))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(map(str.ljust, line, widths)).rstrip())
    say(f"{counted(len(entries), 'run')}.")
    return 0


def show_runs(entries: Sequence[Entry]) -> None:
    """Print a run with its method's defaults where it has others, or what differs in two."""
    first, *others = entries
    other = others[0] if others else None
    if other is None:
        other = _flat(json.loads(canonical_json(base(first["method"], PROFILES[0])))["run"])
    for name in dict.fromkeys((*first, *(other if others else ()))):
        value, second = first.get(name), other.get(name)
        if others and value != second:
            say(f"{name}: {value} | {second}")
        elif not others:
            default = f" (default {second})" if name in other and second not in (value, "") else ""
            say(f"{name}: {value}{default}")


def _by_prefix(store: Store, name: str) -> str:
    """The only run whose id begins with a name. Raises UserError."""
    matching = [run for run in store.runs() if run.startswith(name)]
    if len(matching) != 1:
        raise UserError(f"{counted(len(matching), 'stored run')} begin with {name}; name one.")
    return matching[0]


def _recorded(store: Store, run: str) -> Entry:
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
        fields = _flat(json.loads(footer["config"])["run"])
    score = about["score"] if "score" in about else store.load(run).score
    own = {"run": run, "seed": fields["seed.model"], "status": footer["status"], "score": score}
    return own | {"when": when} | {name: about.get(name, "") for name in ABOUT} | fields


def _flat(fields: Mapping[str, Any]) -> Entry:
    """A configuration's fields by path, such as `loss.temperature`."""
    flat: Entry = {}
    for section, values in fields.items():
        if isinstance(values, dict):
            flat |= {f"{section}.{name}": value for name, value in values.items() if name != "kind"}
        elif values is not None and section != "kind":
            flat[section] = values
    return flat


def _resolved(studies: Sequence[Study], store: Store) -> dict[str, tuple[str, str]]:
    """The runs of studies on the data of stored runs, each with its study and cell."""
    places: dict[str, tuple[str, str]] = {}
    for scale, profile in itertools.product(SCALES.values(), PROFILES):
        setup = stored_setup(scale, store, profile)
        if setup is not None:
            for study in studies:
                for cell in resolve(study, setup).available:
                    places |= dict.fromkeys(cell.run_ids, (study.name, cell.name))
    return places


def _drawn(results: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """The runs of drawn tables, each with its study and cell; other people's files have none."""
    for file in sorted(results.glob("*/*/*runs.csv")):
        with contextlib.suppress(KeyError, ValueError, csv.Error):
            for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
                study = row.get("study", file.stem.removesuffix("_runs"))
                labels = [*row.values()][3 : [*row].index("seed")]  # behind scale, profile, encoder
                yield row["run_id"], (study, row.get("cell", "/".join(labels)))
