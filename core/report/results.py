"""From a study and a store to results by cell. Never trains, never imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pandas as pd

from core.config.scale import Scale
from core.config.section import frozen
from core.errors import UserError
from core.report.quantities import Rows, imputed, value, worst_of
from core.report.statistics import Estimate, over_seeds
from core.study.axes import Labels
from core.study.resolution import ResolvedCell, ResolvedStudy
from core.study.study import Metric

RunStatus = Literal["ok", "collapsed", "diverged", "missing", "no number"]


@frozen
class RunResult:
    """One run of a cell. `value` is what it counts for, in means and verdicts alike; None: nothing
    to count.

    `missing` has no run yet. `no number`: the run is stored, but its rows have no number for the
    cell. A failed run counts as `core.report.quantities.imputed` says. `rows` is everything that
    was stored, and `pairs` gives its test pairs, if they are stored; None if missing. `source` is
    own, published or empty. `trouble` says why a stored run cannot be read; such a run counts as
    missing.
    """

    seed: int
    run_id: str
    status: RunStatus
    provenance: Mapping[str, Any]
    value: float | None = None
    source: str = ""
    rows: Rows | None = None
    pairs: Callable[[], pd.DataFrame | None] | None = None
    trouble: str = ""

    def read(self, metric: Metric, aggregate: str, scale: Scale) -> float | None:
        """The run's own number in a metric; None without one. What a run scored before it diverged
        is not what the method leads to."""
        if self.rows is None or self.status == "diverged":
            return None
        return value(self.rows, metric, aggregate, scale)


Loaded = dict[str, RunResult]  # by run id


@frozen
class CellResult(ResolvedCell):
    """One entry of a table over its seeds."""

    runs: tuple[RunResult, ...]

    @property
    def by_seed(self) -> dict[int, float]:
        """What its runs count for."""
        return {run.seed: run.value for run in self.runs if run.value is not None}

    @property
    def estimate(self) -> Estimate:
        """The mean over its seeds."""
        return over_seeds(list(self.by_seed.values()))

    @property
    def status(self) -> str:
        """copied, unavailable, missing (no run), partial (some missing), diverged, collapsed, no
        number (some runs have none) or ok."""
        if self.unavailable is not None:
            return "copied" if self.unavailable.kind == "copied" else "unavailable"
        statuses = {run.status for run in self.runs}
        if "missing" in statuses:
            return "partial" if len(statuses) > 1 else "missing"
        return next(filter(statuses.__contains__, ("diverged", "collapsed", "no number")), "ok")

    @property
    def begun(self) -> bool:
        """Whether any of its runs is stored."""
        return any(run.rows is not None for run in self.runs)


@frozen
class StudyResult(ResolvedStudy):
    """A study as far as it has been run, under a scale and profile: its cells, and SimCSE's own,
    have their runs."""

    cells: tuple[CellResult, ...]
    simcse: tuple[CellResult, ...] = ()

    @property
    def aggregate(self) -> str:
        """How its scores join the subsets of a test set (D80)."""
        return next((cell.base.sts.aggregate for cell in self.available if cell.base), "all")

    @property
    def command(self) -> str:
        """The command that trains its missing runs alone."""
        published = any(run.source == "published" for run in self.runs)
        return self.setup.command(self.study.name, use_published=published)

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """Every distinct run, in table order; cells that read different numbers from one run share
        it."""
        runs: dict[str, RunResult] = {}
        for cell in self.cells:
            for run in cell.runs:
                runs.setdefault(run.run_id, run)
        return tuple(runs.values())

    @property
    def by_labels(self) -> dict[Labels, CellResult]:
        """The cells by their labels."""
        return {cell.cell.labels: cell for cell in self.cells}

    @property
    def begun(self) -> bool:
        """Whether any of its runs is stored."""
        return any(cell.begun for cell in self.cells)

    def count(self, status: str) -> int:
        """How many distinct runs have this status in a cell."""
        ids = set()
        for cell in self.cells:
            ids |= {run.run_id for run in cell.runs if run.status == status}
        return len(ids)


def gather(resolved: ResolvedStudy, store=None, loaded: Loaded | None = None) -> StudyResult:
    """A study with every run that the store holds under the setup's seeds, the user's own runs
    first; without a store its configurations alone. `loaded` keeps what was read for studies that
    share runs.

    If all seeds of a cell are stored, the cell also has the stored seeds beyond, up to the first
    that is not stored: runs go where they decide a claim.
    """
    if loaded is None:
        loaded = {}
    scale = resolved.setup.scale

    def with_runs(cells: Iterable[ResolvedCell], seeds: int) -> list[CellResult]:
        return [
            CellResult(**vars(cell), runs=_runs(cell, seeds, scale, store, loaded))
            for cell in cells
        ]

    cells = with_failed_runs(with_runs(resolved.cells, resolved.seeds))
    simcse = tuple(with_runs(resolved.simcse, 1))
    return StudyResult(**vars(resolved) | {"cells": cells, "simcse": simcse})


def reads(resolved: ResolvedStudy, store) -> list[str]:
    """Every run that `gather` looks for, and perhaps more of the cells' later seeds."""
    runs = list[str]()
    for cell in (*resolved.cells, *resolved.simcse):
        seed = 0
        while cell.unavailable is None and (
            seed < resolved.seeds or store.has(runs[-1], use_published=True)
        ):
            runs.append(cell.run_id(seed))
            seed += 1
    return runs


def with_failed_runs(cells: Sequence[CellResult]) -> tuple[CellResult, ...]:
    """The cells of a table with what their failed runs count for, beside the runs' own numbers."""
    numbers: dict[Metric, list[float]] = {}
    for cell in cells:
        numbers.setdefault(cell.metric, []).extend(cell.by_seed.values())
    worst = {metric: worst_of(metric, scores) for metric, scores in numbers.items()}
    whole = []
    for cell in cells:
        runs = []
        for run in cell.runs:
            number = imputed(run.status, run.value, cell.metric, worst[cell.metric])
            runs.append(replace(run, value=number))
        whole.append(replace(cell, runs=tuple(runs)))
    return tuple(whole)


def in_metric(
    result: StudyResult, metric: Metric | None, in_z: bool = False
) -> dict[Labels, CellResult]:
    """The cells of a study, by their labels, as if this metric were theirs, or as they are (None);
    in Fisher's z, or not."""
    if metric is None and not in_z:
        return result.by_labels
    cells = []
    for cell in result.cells:
        runs = []
        read = replace(metric or cell.metric, in_z=in_z)
        for run in cell.runs:
            number = run.read(read, result.aggregate, result.setup.scale)
            runs.append(replace(run, value=number))
        cells.append(replace(cell, metric=read, runs=tuple(runs)))
    return {cell.cell.labels: cell for cell in with_failed_runs(cells)}


def _runs(
    cell: ResolvedCell, seeds: int, scale: Scale, store, loaded: Loaded
) -> tuple[RunResult, ...]:
    """A cell's runs as the cell reads them: those of so many seeds, and stored seeds beyond."""
    if cell.unavailable is not None:
        return ()
    runs = list[RunResult]()
    aggregate = cell.config(0).sts.aggregate
    while len(runs) < seeds or all(run.status != "missing" for run in runs):
        identity = cell.run_id(len(runs))
        if identity not in loaded:
            loaded[identity] = load_run(store, identity, len(runs))
        run = loaded[identity]
        if run.status == "missing" and len(runs) >= seeds:
            break
        number = run.read(cell.metric, aggregate, scale)
        status = run.status
        if number is None and status == "ok":
            status = "no number"
        runs.append(replace(run, value=number, status=status))
    return tuple(runs)


def load_run(store, identity: str, seed: int) -> RunResult:
    """A run as it is stored."""
    missing = RunResult(seed=seed, run_id=identity, status="missing", provenance={})
    if store is None or not store.has(identity, use_published=True):
        return missing
    try:
        run = store.load(identity)
    except UserError as error:  # a damaged file: the other runs can still be shown
        return replace(missing, trouble=str(error))
    return replace(
        missing,
        status=run.status,
        source=run.source,
        provenance=run.provenance,
        rows=Rows(run.table, run.provenance),
        pairs=partial(store.load_pairs, identity),
    )
