"""From a study and a store to results by cell. Knows nothing of tables and figures; never trains, never imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd

from core.report.comparisons import comparisons as compared
from core.report.judgement import Comparability, Verdict
from core.report.quantities import unit
from core.report.quantities import value as value_of
from core.report.rows import Rows
from core.report.statistics import NO_COMPARISON, Comparison, Estimate, Subset, bootstrap_over_pairs, clear_best, over_seeds
from core.report.worst import counted
from core.spec.conditions import Edition, parts
from core.spec.errors import UserError, shown
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.scale import Scale, Sources
from core.spec.study import Study
from core.spec.table import Cell, FigureSpec, Metric

RunStatus = Literal["ok", "collapsed", "diverged", "missing", "incomplete"]
IntervalOver = Literal["seeds", "pairs", "none"]
MOST_SEEDS = 1000  # of a cell
PAIRS_AGREE = 0.02  # points: pairs that do not give the recorded score again are another checkpoint's


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run of a cell. `value` is what it counts for, in means and verdicts alike; None if there is nothing to count.

    `missing` is not run yet, `incomplete` lacks a test set (no average is taken). A `diverged` run counts as the worst value that the
    metric has, and so does a `collapsed` one without a number of its own: vectors that are all alike have none (`core.report.worst`).
    `rows` is everything that was stored; None if missing. `source` is own, published or empty. `trouble` says why a run that is
    there cannot be read; it counts as missing.
    """

    seed: int
    run_id: str
    status: RunStatus
    value: float | None = None
    source: str = ""
    provenance: Mapping[str, object]
    rows: Rows | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One entry of a table over its seeds. `interval` names where the estimate's interval comes from: seeds, pairs or none.

    `unavailable` says why the scale cannot run it; it has no runs then.
    """

    cell: Cell
    metric: Metric
    runs: tuple[RunResult, ...]
    estimate: Estimate
    interval: IntervalOver
    comparison: Comparison
    is_reference: bool
    is_best: bool  # highest, and told from every other cell
    unavailable: str = ""

    def count(self, status: RunStatus) -> int:
        """How many of the runs have this status."""
        return sum(run.status == status for run in self.runs)

    @property
    def status(self) -> str:
        """copied or unavailable, missing (no run), partial (some missing), diverged or collapsed (some are), or ok."""
        if self.unavailable:
            return "copied" if self.cell.copied else "unavailable"
        absent = self.count("missing") + self.count("incomplete")
        if absent == len(self.runs):
            return "missing"
        return "partial" if absent else "diverged" if self.count("diverged") else "collapsed" if self.count("collapsed") else "ok"

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, None if either is unknown."""
        if self.cell.published is None or not self.estimate.n:
            return None
        return self.estimate.mean - self.cell.published


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """A study as far as it has been run, with what its title line needs.

    `noise` is the SD of one run in the noise study, None if that has not been run; `not_comparable` says why this scale cannot carry
    the experiment, "" if it can, and `withheld` why it cannot answer single claims, by key. `checks` and `verdicts` are kept once they
    are found (`core.report.verdicts.settled_once`), since tables, figures and the page all ask.
    """

    study: Study
    edition: Edition
    aggregate: str
    cells: tuple[CellResult, ...]
    noise: float | None = None
    not_comparable: str = ""
    withheld: Mapping[str, str] = field(default_factory=dict)
    checks: Comparability | None = None
    verdicts: tuple[Verdict, ...] | None = None

    def reason(self, claim: str) -> str:
        """Why a claim, by key, is not comparable; "" if it is."""
        return self.not_comparable or self.withheld.get(claim, "")

    @property
    def profile(self) -> str:
        """The profile of its edition."""
        return self.edition.profile

    @property
    def scale(self) -> Scale:
        """The scale of its edition."""
        return self.edition.scale

    @property
    def sources(self) -> Sources:
        """The texts, tests and encoders of its edition."""
        return self.edition.sources

    @property
    def seeds(self) -> int:
        """How many seeds each cell is asked for."""
        return self.edition.seeds_of(self.study)

    @property
    def figure(self) -> FigureSpec:
        """How the study is drawn. Raises ValueError if it has no figure: whoever draws asks `study.figure` first."""
        if self.study.figure is None:
            raise ValueError(f"{self.study.name} has no figure")
        return self.study.figure

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """Every distinct run, in table order; cells that read different numbers from one run share it."""
        return tuple({run.run_id: run for cell in reversed(self.cells) for run in reversed(cell.runs)}.values())[::-1]

    @property
    def missing(self) -> int:
        """Runs that have no usable result."""
        return sum(run.status in ("missing", "incomplete") for run in self.runs)

    @property
    def published(self) -> int:
        """Runs that come from the project's published results, not from this machine."""
        return sum(run.source == "published" for run in self.runs)

    @property
    def parts(self) -> tuple[StudyResult, ...]:
        """The result at each combination of values of `--vary`; itself if the study varies no field so."""
        if len(each := parts(self.study)) == 1:
            return (self,)
        cells = {cell.cell.labels: cell for cell in self.cells}
        return tuple(
            replace(self, study=study, cells=tuple(cells[cell.labels] for cell in study.cells), checks=None, verdicts=None)
            for study in each
        )

    def at(self, **labels: str) -> CellResult | None:
        """The cell with these labels, by axis name; None if the study has none there."""
        wanted = [(place, labels[axis.name]) for place, axis in enumerate(self.study.axes) if axis.name in labels]
        return next((cell for cell in self.cells if all(cell.cell.labels[p] == label for p, label in wanted)), None)


def gather(study: Study, edition: Edition, store, *, loaded: dict[str, RunResult] | None = None, noise: float | None = None) -> StudyResult:
    """A study with every run that the store holds under the edition's seeds. The user's own runs come before published runs. A cell also
    has the seeds beyond these, up to the first that is not stored: runs go where they decide a claim, and some cells have more seeds
    than others.

    `loaded` keeps what was read, by run id, for studies that share runs; `noise` is the SD of one run in the noise study.
    """
    study, edition = study.at(edition.scale), replace(edition, sources=_named_for_readers(edition.sources))
    if len(each := parts(study)) > 1:
        found = [gather(part, edition, store, loaded=loaded, noise=noise) for part in each]
        return replace(found[0], study=study, cells=tuple(cell for part in found for cell in part.cells))
    by_cell: dict[tuple[str, ...], tuple[RunResult, ...]] = {}
    reasons = {cell.labels: edition.unavailable(study, cell) or "" for cell in study.cells}
    aggregates: list[str] = []
    loaded = {} if loaded is None else loaded
    for cell in study.cells:
        if reasons[cell.labels]:
            by_cell[cell.labels] = ()
            continue
        read = read_runs(study, cell, edition, store)
        aggregates.append(read[0][1].sts.aggregate)
        metric = study.metric_of(cell)
        by_cell[cell.labels] = tuple(
            _run(store, identity, seed, metric, config.sts.aggregate, edition.scale, loaded) for seed, (identity, config) in enumerate(read)
        )
    aggregate = aggregates[0] if aggregates else "all"
    values = {labels: {r.seed: r.value for r in runs if r.value is not None} for labels, runs in by_cell.items()}
    same = {cell.labels for cell in study.cells if unit(study.metric_of(cell)) == unit(study.metric)}  # only like is compared with like
    comparable = {labels: found for labels, found in values.items() if labels in same and not reasons[labels]}
    reference = next((cell.labels for cell in study.cells if cell.labels == study.reference), None)
    comparisons = compared(comparable, reference, study.claims) if reference is not None and reference in comparable else {}
    all_run = all(run.status not in ("missing", "incomplete") for runs in by_cell.values() for run in runs)
    best = clear_best(comparable) if all_run else None  # a cell still to come may be better
    results = []
    for cell in study.cells:
        runs, metric = by_cell[cell.labels], study.metric_of(cell)
        estimate, interval = _estimate(runs, metric, aggregate, edition.scale, store)
        results.append(CellResult(
            cell=cell, metric=metric, runs=runs, estimate=estimate, interval=interval, unavailable=reasons[cell.labels],
            comparison=comparisons.get(cell.labels, NO_COMPARISON), is_reference=cell.labels == reference, is_best=cell.labels == best,
        ))  # fmt: skip
    return StudyResult(study=study, edition=edition, aggregate=aggregate, cells=tuple(results), noise=noise)


def _named_for_readers(sources: Sources) -> Sources:
    """The same sources with names that are safe to print; names are labels and nothing else."""
    others = tuple(replace(one, name=shown(one.name)) for one in sources.others)
    return replace(sources, corpus_name=shown(sources.corpus_name), evaluation_name=shown(sources.evaluation_name),
                   encoder_name=shown(sources.encoder_name), others=others)  # fmt: skip


def read_runs(study: Study, cell: Cell, edition: Edition, store) -> list[tuple[str, RunConfig]]:
    """The runs of a cell that are read, with their ids: those of the edition's seeds. If all of these are stored, the seeds beyond
    follow, up to the first that is not stored."""
    runs = [(run_id(config), config) for config in edition.configs(study, cell, edition.seeds_of(study))]
    if not all(store.has(identity, use_published=True) for identity, _ in runs):
        return runs
    while len(runs) < MOST_SEEDS:
        config = edition.config(study, cell, len(runs))
        identity = run_id(config)
        if not store.has(identity, use_published=True):
            break
        runs.append((identity, config))
    return runs


def _run(store, identity: str, seed: int, metric: Metric, aggregate: str, scale: Scale, loaded: dict[str, RunResult]) -> RunResult:
    """A run as its cell reads it."""
    if identity not in loaded:
        loaded[identity] = _load(store, identity, seed)
    run = loaded[identity]
    if run.rows is None:
        return run
    value = counted(run.status, value_of(run.rows, metric, aggregate, scale), metric)
    status = "incomplete" if value is None and run.status == "ok" else run.status
    return replace(run, value=value, status=status)


def _load(store, identity: str, seed: int) -> RunResult:
    if not store.has(identity, use_published=True):
        return RunResult(seed=seed, run_id=identity, status="missing", provenance={})
    try:
        stored = store.load(identity)
    except UserError as error:  # a damaged file: the other runs can still be shown
        return RunResult(seed=seed, run_id=identity, status="missing", provenance={}, trouble=str(error))
    rows = Rows(stored.table, stored.provenance)
    return RunResult(seed=seed, run_id=identity, status=stored.status, source=stored.source, provenance=stored.provenance, rows=rows)


def _estimate(runs: Sequence[RunResult], metric: Metric, aggregate: str, scale: Scale, store) -> tuple[Estimate, IntervalOver]:
    valued = [run for run in runs if run.value is not None]
    estimate = over_seeds([run.value for run in runs if run.value is not None])
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


def _over_pairs(pairs: pd.DataFrame | None, run: RunResult, task: str, aggregate: str, scale: Scale) -> Estimate | None:
    """The bootstrap interval of a single run; None if its pairs are not stored, are incomplete, or come from another checkpoint."""
    names = scale.tests if task == "avg" else (task if pairs is None or task in set(pairs["task"]) else scale.dev,)
    if pairs is None or not set(names) <= set(pairs["task"]):
        return None
    tasks = [
        [
            Subset(subset["gold"].to_numpy(), subset["cosine"].to_numpy())
            for _, subset in pairs[pairs["task"] == name].groupby("subset", sort=True)
        ]
        for name in names
    ]
    estimate = bootstrap_over_pairs(tasks, aggregate, np.random.default_rng(int(run.run_id, 16)))
    return estimate if run.value is not None and abs(estimate.mean - run.value) <= PAIRS_AGREE else None
