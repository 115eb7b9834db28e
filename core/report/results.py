"""From a study and a store to results by cell. Never trains, never imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from core.report.quantities import Rows, counted, value
from core.report.statistics import Estimate, Subset, bootstrap_over_pairs, clear_best, over_seeds
from core.spec.baseline import SIMCSE
from core.spec.errors import UserError, shown
from core.spec.identity import run_id
from core.spec.result import unit
from core.spec.run import RunConfig
from core.spec.scale import Scale, Sources
from core.spec.setup import Setup, parts
from core.spec.study import Study
from core.spec.table import Cell, Metric

RunStatus = Literal["ok", "collapsed", "diverged", "missing", "incomplete"]
IntervalOver = Literal["seeds", "pairs", "none"]
MOST_SEEDS = 1000  # of a cell
PAIRS_AGREE = 0.02  # points: pairs that do not give the recorded score again are another checkpoint's


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run of a cell. `value` is what it counts for, in means and verdicts alike; None: nothing to count.

    `missing` has no run yet, `incomplete` lacks a test set (no average is taken). A failed run counts as
    `core.report.quantities.counted` says. `rows` is everything that was stored; None if missing. `source` is
    own, published or empty. `trouble` says why a stored run cannot be read; such a run counts as missing.
    """

    seed: int
    run_id: str
    status: RunStatus
    provenance: Mapping[str, object]
    value: float | None = None
    source: str = ""
    rows: Rows | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One entry of a table over its seeds. `interval` names what the estimate's interval is over.

    `unavailable` says why the scale cannot run it; it has no runs then.
    """

    cell: Cell
    metric: Metric
    runs: tuple[RunResult, ...]
    estimate: Estimate
    interval: IntervalOver
    is_best: bool  # highest, and distinguishable from every other cell
    unavailable: str = ""

    def count(self, status: str) -> int:
        """How many of the runs have this status."""
        return sum(run.status == status for run in self.runs)

    @property
    def status(self) -> str:
        """copied or unavailable, missing (no run), partial (some missing), diverged or collapsed (some), or
        ok."""
        if self.unavailable:
            return "copied" if self.cell.copied else "unavailable"
        absent = self.count("missing") + self.count("incomplete")
        if absent:
            return "missing" if absent == len(self.runs) else "partial"
        return next((status for status in ("diverged", "collapsed") if self.count(status)), "ok")

    @property
    def begun(self) -> bool:
        """Whether any of its runs is stored."""
        return any(run.rows is not None for run in self.runs)


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """A study as far as it has been run, under a scale and profile.

    `simcse` are SimCSE's own runs on the scale's encoder, the bar for "learns". `by_value` has the result at
    each combination of values of `--vary`; empty if nothing is varied.
    """

    study: Study
    setup: Setup
    aggregate: str
    cells: tuple[CellResult, ...]
    simcse: tuple[RunResult, ...] = ()
    by_value: tuple[StudyResult, ...] = ()

    @property
    def profile(self) -> str:
        """The profile under which it was run."""
        return self.setup.profile

    @property
    def scale(self) -> Scale:
        """The scale at which it was run."""
        return self.setup.scale

    @property
    def sources(self) -> Sources:
        """The texts, tests and encoders."""
        return self.setup.sources

    @property
    def seeds(self) -> int:
        """How many seeds each cell is to have."""
        return self.setup.seeds_of(self.study)

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """Every distinct run, in table order; cells that read different numbers from one run share it."""
        runs = {run.run_id: run for cell in reversed(self.cells) for run in reversed(cell.runs)}
        return tuple(runs.values())[::-1]

    @property
    def missing(self) -> int:
        """Runs that have no usable result."""
        return sum(run.status in ("missing", "incomplete") for run in self.runs)

    @property
    def published(self) -> int:
        """Runs that come from the project's published results, not from this machine."""
        return sum(run.source == "published" for run in self.runs)

    @property
    def begun(self) -> bool:
        """Whether any of its runs is stored."""
        return any(cell.begun for cell in self.cells)


class NoRuns:
    """A store without a run."""

    def has(self, run: str, use_published: bool = False) -> bool:
        """Never."""
        return False


def gather(
    study: Study, setup: Setup, store, *, loaded: dict[str, RunResult] | None = None
) -> StudyResult:
    """A study with every run that the store holds under the setup's seeds, the user's own runs first.

    A cell also has the stored seeds beyond these, without a gap: runs go where they decide a claim. `loaded`
    keeps what was read, by run id, for studies that share runs.
    """
    loaded = {} if loaded is None else loaded
    study, setup = study.at(setup.scale), replace(setup, sources=_printable_names(setup.sources))
    simcse = _runs(SIMCSE, SIMCSE.cells[0], replace(setup, seeds=1), store, loaded)
    results = tuple(_gather(part, setup, store, loaded, simcse) for part in parts(study))
    if not study.varied:
        return results[0]
    cells = tuple(cell for result in results for cell in result.cells)
    return replace(results[0], study=study, cells=cells, by_value=results)


def _gather(
    study: Study, setup: Setup, store, loaded: dict[str, RunResult], simcse: tuple[RunResult, ...]
) -> StudyResult:
    unavailable = {cell.labels: setup.unavailable(study, cell) or "" for cell in study.cells}
    available = [cell for cell in study.cells if not unavailable[cell.labels]]
    aggregate = setup.config(study, available[0], 0).sts.aggregate if available else "all"
    runs = {cell.labels: _runs(study, cell, setup, store, loaded) for cell in available}
    like = [cell.labels for cell in available if unit(study.metric_of(cell)) == unit(study.metric)]
    values = {
        labels: {run.seed: run.value for run in runs[labels] if run.value is not None} for labels in like
    }
    missing = any(run.status in ("missing", "incomplete") for of_cell in runs.values() for run in of_cell)
    best = None if missing else clear_best(values)  # a cell still to come may be better
    cells = []
    for cell in study.cells:
        metric, of_cell = study.metric_of(cell), runs.get(cell.labels, ())
        estimate, interval = _estimate(of_cell, metric, aggregate, setup.scale, store)
        cells.append(CellResult(
            cell=cell, metric=metric, runs=of_cell, estimate=estimate, interval=interval,
            is_best=cell.labels == best, unavailable=unavailable[cell.labels],
        ))  # fmt: skip
    return StudyResult(study=study, setup=setup, aggregate=aggregate, cells=tuple(cells), simcse=simcse)


def _printable_names(sources: Sources) -> Sources:
    """The same sources with names that are safe to print; names are labels and nothing else."""
    return replace(
        sources,
        corpus_name=shown(sources.corpus_name),
        evaluation_name=shown(sources.evaluation_name),
        encoder_name=shown(sources.encoder_name),
        others=tuple(replace(one, name=shown(one.name)) for one in sources.others),
    )


def read_runs(study: Study, cell: Cell, setup: Setup, store) -> list[tuple[str, RunConfig]]:
    """The runs of a cell that are read, with their ids: those of the setup's seeds. If all of these are
    stored, the seeds beyond follow, up to the first that is not stored."""
    runs = [(run_id(config), config) for config in setup.configs(study, cell, setup.seeds_of(study))]
    if not all(store.has(identity, use_published=True) for identity, _ in runs):
        return runs
    while len(runs) < MOST_SEEDS:
        config = setup.config(study, cell, len(runs))
        identity = run_id(config)
        if not store.has(identity, use_published=True):
            break
        runs.append((identity, config))
    return runs


def _runs(
    study: Study, cell: Cell, setup: Setup, store, loaded: dict[str, RunResult]
) -> tuple[RunResult, ...]:
    """A cell's runs as the cell reads them."""
    runs, metric = [], study.metric_of(cell)
    for seed, (identity, config) in enumerate(read_runs(study, cell, setup, store)):
        if identity not in loaded:
            loaded[identity] = _load(store, identity, seed)
        run = loaded[identity]
        if run.rows is not None:
            read = value(run.rows, metric, config.sts.aggregate, setup.scale)
            number = counted(run.status, read, metric)
            absent = number is None and run.status == "ok"
            run = replace(run, value=number, status="incomplete" if absent else run.status)
        runs.append(run)
    return tuple(runs)


def _load(store, identity: str, seed: int) -> RunResult:
    missing = RunResult(seed=seed, run_id=identity, status="missing", provenance={})
    if not store.has(identity, use_published=True):
        return missing
    try:
        run = store.load(identity)
    except UserError as error:  # a damaged file: the other runs can still be shown
        return replace(missing, trouble=str(error))
    rows = Rows(run.table, run.provenance)
    return replace(missing, status=run.status, source=run.source, provenance=run.provenance, rows=rows)


def _estimate(
    runs: Sequence[RunResult], metric: Metric, aggregate: str, scale: Scale, store
) -> tuple[Estimate, IntervalOver]:
    valued = [run for run in runs if run.value is not None]
    estimate = over_seeds([run.value for run in valued if run.value is not None])
    if estimate.n > 1:
        return estimate, "seeds"
    if estimate.n == 1 and metric.quantity == "spearman" and metric.checkpoint == "selected":
        over_pairs = _over_pairs(_pairs(store, valued[0].run_id), valued[0], metric.task, aggregate, scale)
        if over_pairs is not None:
            return estimate._replace(low=over_pairs.low, high=over_pairs.high), "pairs"
    return estimate, "none"


def _pairs(store, identity: str) -> pd.DataFrame | None:
    try:
        return store.load_pairs(identity)
    except UserError:  # without its pairs a run still has its score
        return None


def _over_pairs(
    pairs: pd.DataFrame | None, run: RunResult, task: str, aggregate: str, scale: Scale
) -> Estimate | None:
    """The bootstrap interval of a single run; None if its pairs are missing, or another checkpoint's."""
    if pairs is None:
        return None
    stored = set(pairs["task"])
    names = scale.tests if task == "avg" else (task if task in stored else scale.dev,)
    if not set(names) <= stored:
        return None
    tasks = []
    for name in names:
        subsets = pairs[pairs["task"] == name].groupby("subset", sort=True)
        tasks.append([Subset(one["gold"].to_numpy(), one["cosine"].to_numpy()) for _, one in subsets])
    estimate = bootstrap_over_pairs(tasks, aggregate, np.random.default_rng(int(run.run_id, 16)))
    agrees = run.value is not None and abs(estimate.mean - run.value) <= PAIRS_AGREE
    return estimate if agrees else None
