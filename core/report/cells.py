"""From a study and a store to results by cell. Knows nothing of tables and figures; never trains, never imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.report.statistics import (
    NO_COMPARISON,
    Comparison,
    Estimate,
    Subset,
    against_reference,
    bootstrap_over_pairs,
    clear_best,
    over_seeds,
)
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.scale import Scale, Sources
from core.spec.layout import Cell
from core.spec.study import Study

RunStatus = Literal["ok", "collapsed", "diverged", "missing", "incomplete"]
PAIRS_AGREE = 0.02  # points: pairs that do not give the recorded score again are another checkpoint's


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run of a cell. `value` is the study's metric x 100, None if there is none to count.

    `missing` is not run yet, `incomplete` lacks a test set (no average is taken), `diverged` counts in no mean, `collapsed` does
    where it has a score: vectors that are all alike have none.
    `rows` is everything that was stored; None if missing. `source` is own, published or empty. `trouble` says why a run that is
    there cannot be read; it counts as missing.
    """

    seed: int
    run_id: str
    status: RunStatus
    value: float | None = None
    source: str = ""
    provenance: Mapping[str, object]
    rows: pd.DataFrame | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One entry of a table over its seeds. `interval` names where the estimate's interval comes from: seeds, pairs or none."""

    cell: Cell
    runs: tuple[RunResult, ...]
    estimate: Estimate
    interval: Literal["seeds", "pairs", "none"]
    comparison: Comparison
    is_reference: bool
    is_best: bool  # highest, and told from every other cell

    def count(self, status: RunStatus) -> int:
        """How many of the runs have this status."""
        return sum(run.status == status for run in self.runs)

    @property
    def status(self) -> str:
        """missing (no run), partial (some missing), diverged or collapsed (no score at all, or some collapsed), or ok."""
        absent = self.count("missing") + self.count("incomplete")
        if absent == len(self.runs):
            return "missing"
        if not self.estimate.n:
            return "diverged" if self.count("diverged") else "collapsed"
        return "partial" if absent else "collapsed" if self.count("collapsed") else "ok"

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, None if either is unknown."""
        if self.cell.published is None or not self.estimate.n:
            return None
        return self.estimate.mean - self.cell.published


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """A study as far as it has been run, with what its title line needs."""

    study: Study
    profile: str
    scale: Scale
    sources: Sources
    seeds: int
    aggregate: str
    cells: tuple[CellResult, ...]

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """Every run of every cell, in table order."""
        return tuple(run for cell in self.cells for run in cell.runs)

    @property
    def missing(self) -> int:
        """Runs that have no usable result."""
        return sum(run.status in ("missing", "incomplete") for run in self.runs)

    @property
    def published(self) -> int:
        """Runs that come from the project's published results, not from this machine."""
        return sum(run.source == "published" for run in self.runs)

    def at(self, **labels: str) -> CellResult | None:
        """The cell with these labels, by axis name; None if the study has none there."""
        wanted = [(place, labels[axis.name]) for place, axis in enumerate(self.study.axes) if axis.name in labels]
        return next((cell for cell in self.cells if all(cell.cell.labels[p] == label for p, label in wanted)), None)


def gather(study: Study, *, profile: str, scale: Scale, sources: Sources, seeds: int, store) -> StudyResult:
    """Everything that the store has of a study under seeds 0 … seeds-1, own runs before published ones."""
    by_cell: dict[tuple[str, ...], tuple[RunResult, ...]] = {}
    for cell in study.cells:
        configs = [study.config(cell, profile=profile, scale=scale, sources=sources, seed=seed) for seed in range(seeds)]
        aggregate = configs[0].sts.aggregate
        by_cell[cell.labels] = tuple(
            _run(store, run_id(config), seed, study.metric.task, aggregate, scale) for seed, config in enumerate(configs)
        )
    values = {labels: {r.seed: r.value for r in runs if r.value is not None} for labels, runs in by_cell.items()}
    comparisons = against_reference(values, study.reference)
    all_run = all(run.status not in ("missing", "incomplete") for runs in by_cell.values() for run in runs)
    best = clear_best(values) if all_run else None  # a cell still to come may be better
    results = []
    for cell in study.cells:
        runs = by_cell[cell.labels]
        estimate, interval = _estimate(runs, study.metric.task, aggregate, scale, store)
        results.append(
            CellResult(
                cell=cell,
                runs=runs,
                estimate=estimate,
                interval=interval,
                comparison=comparisons.get(cell.labels, NO_COMPARISON),
                is_reference=cell.labels == study.reference,
                is_best=cell.labels == best,
            )
        )
    return StudyResult(
        study=study, profile=profile, scale=scale, sources=sources, seeds=seeds, aggregate=aggregate, cells=tuple(results)
    )


def _run(store, identity: str, seed: int, task: str, aggregate: str, scale: Scale) -> RunResult:
    if not store.has(identity, use_published=True):
        return RunResult(seed=seed, run_id=identity, status="missing", provenance={})
    try:
        stored = store.load(identity)
    except UserError as error:  # a damaged file: the other runs can still be shown
        return RunResult(seed=seed, run_id=identity, status="missing", provenance={}, trouble=str(error))
    value = None if stored.status == "diverged" else score(stored.rows, task, aggregate, scale)
    status = "incomplete" if value is None and stored.status == "ok" else stored.status
    return RunResult(
        seed=seed, run_id=identity, status=status, value=value, source=stored.source,
        provenance=stored.provenance, rows=stored.rows,
    )


def score(rows: pd.DataFrame, task: str, aggregate: str, scale: Scale, checkpoint: str = "selected") -> float | None:
    """A run's `avg` or `dev` score x 100 at a checkpoint; None if absent, not a number, or an average with a test set missing."""
    chosen = rows[(rows["checkpoint"] == checkpoint) & (rows["metric"] == f"spearman_{aggregate}")]
    found = dict(zip(chosen["task"], chosen["value"]))
    needed = (*scale.tests, "avg") if task == "avg" else (task,)
    if any(not np.isfinite(found.get(name, np.nan)) for name in needed):
        return None
    return float(found[task])


def _estimate(runs, task: str, aggregate: str, scale: Scale, store) -> tuple[Estimate, str]:
    counted = [run for run in runs if run.value is not None]
    estimate = over_seeds([run.value for run in counted])
    if estimate.n > 1:
        return estimate, "seeds"
    if estimate.n == 1:
        over_pairs = _over_pairs(_pairs(store, counted[0].run_id), counted[0], task, aggregate, scale)
        if over_pairs is not None:
            return estimate._replace(low=over_pairs.low, high=over_pairs.high), "pairs"
    return estimate, "none"


def _pairs(store, identity: str) -> pd.DataFrame | None:
    try:
        return store.load_pairs(identity)
    except UserError:  # without its pairs a run still has its score
        return None


def _over_pairs(pairs: pd.DataFrame | None, run: RunResult, task: str, aggregate: str, scale: Scale) -> Estimate | None:
    """The bootstrap interval of a single run, or None where its pairs are not at hand, not all there, or of another checkpoint."""
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
    return estimate if abs(estimate.mean - run.value) <= PAIRS_AGREE else None
