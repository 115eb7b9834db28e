"""`run_study.py runs`: stored runs in a list, one of them in full, or how two differ. Files'
footers are read alone: 10,000 runs take 2 to 4 s on a busy core."""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from core.config.identity import fields_by_path, to_plain
from core.config.methods import PROFILES, base
from core.config.scale import SCALES
from core.config.section import decimal
from core.config.vary import written
from core.errors import UserError
from core.formatting import counted, nearest, say
from core.runner.best_scale import stored_setup
from core.runner.orders import RunsOrder
from core.runner.train import Surroundings
from core.store.store import Store
from core.study.resolution import resolve
from core.study.study import Study

RUN = re.compile("[0-9a-f]{16}")
SHOWN_COLUMNS = ("run", "study", "cell", "seed", "score", "when", "host", "commit")
Row = dict[str, Any]  # of `Store.recorded`, in the list with study, cell and seed


def list_runs(order: RunsOrder, around: Surroundings) -> int:
    """Print what an order names of the stored runs; the exit status. Raises UserError."""
    store = around.store(order.results_dir)
    ids = [name for name in order.names if RUN.fullmatch(name)]
    if ids:
        if len(ids) < len(order.names) or len(ids) > 2 or order.where:
            raise UserError("Name a study, one run or two runs, and --where with a study or none.")
        show_runs(*[store.recorded(name) for name in ids])
        return 0
    studies = [around.catalogue.find(name) for name in order.names]
    places = dict(_drawn(store)) | _resolved(studies, store)
    runs: list[Row] = []
    for run in store.runs() if order.use_published else store.own_runs():
        study, cell = places.get(run, ("", ""))
        if studies and study.partition("@")[0] not in {study.name for study in studies}:
            continue
        try:
            row = store.recorded(run)
        except UserError as error:  # the others can still be listed
            say(str(error))
            continue
        runs.append(row | {"study": study, "cell": cell, "seed": row["seed.model"]})
    for condition in order.where:
        field, _, value = condition.partition("=")
        fields = {name for run in runs for name in run}
        if runs and field not in fields:
            last = field.rpartition(".")[2]
            near = ", ".join(name for name in sorted(fields) if last in name.split("."))
            hint = f"there are {near}." if near else nearest(field, fields, "see --fields.")
            raise UserError(f"No run has {field}; {hint}")
        number = decimal(value)
        wanted = value if number is None else written(number)
        runs = [run for run in runs if _shown(run, field) == wanted]
    runs.sort(key=lambda run: run["when"] or "")
    rows = [SHOWN_COLUMNS, *([_shown(run, name) for name in SHOWN_COLUMNS] for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    say(*lines, f"{counted(len(runs), 'run')}.")
    return 0


def show_runs(first: Row, second: Row | None = None) -> None:
    """Print a run with its method's defaults where it has others, or what differs in two."""
    if second is not None:
        for name in first | second:
            texts = _shown(first, name), _shown(second, name)
            if texts[0] != texts[1]:
                say(f"{name}: {' | '.join(texts)}")
        return
    defaults = fields_by_path(to_plain(base(first["method"], PROFILES[0])))
    for name, value in first.items():
        line = f"{name}: {_shown(first, name)}"
        if defaults.get(name, "") not in (value, ""):
            line += f" (default {_shown(defaults, name)})"
        say(line)


def _shown(row: Row, name: str) -> str:
    """A value of a row as `--set` takes it; a score and seconds with two decimals."""
    value = row.get(name)
    if name in ("score", "seconds") and value is not None:
        return f"{value:.2f}"
    return written(value)


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
