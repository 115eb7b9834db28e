"""A run's numbers: as stored, as a table's entry reads them, and what a failed run counts for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from core.config.result import ACCURACY, EXCESS, GEOMETRY, LEARNT, SCORE, SUM, unit
from core.config.scale import Scale
from core.study.study import Metric

PAPER_WIDTH = 768  # an index into a spectrum counts on bert-base; other widths keep its share
LATE = 2 / 3  # of a run: from here on it is late
# mean cosine above, effective rank below: vectors that have collapsed
COLLAPSED_COSINE = 0.95
COLLAPSED_RANK = 2.0
# The worst value of other numbers. Vectors without a direction are as good as one vector.
WORST = {"mean_cosine": 1.0, "effective_rank": 1.0}
COLLAPSED = {"diverged": 0.5, "collapsed": 1.0}  # failed runs among those that collapse
# a range of scores is the worse the larger it is, and has no worst value
UNBOUNDED = "curve_late_range"
SPECTRUM = "singular_value_"  # and an index: singular values of the development sentences' vectors


class Rows:
    """A run's numbers; `table` has the columns of `core.config.result.Row`.

    A report asks each run for some hundred numbers, and a search of the table takes a millisecond,
    so they are indexed when the first is asked for. `time` is one more checkpoint, from the run's
    provenance: task train, metric step_seconds (the median of a training step).
    """

    def __init__(self, table: pa.Table, provenance: Mapping[str, object]):
        self.table = table
        self._seconds = provenance.get("step_seconds")

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], dict[tuple[str, int], float]]:
        """By checkpoint and metric, then by task and step."""
        numbers: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
        names = ("checkpoint", "metric", "task", "step", "value")
        columns = [self.table[name].to_pylist() for name in names]
        for checkpoint, metric, task, step, number in zip(*columns, strict=True):
            numbers.setdefault((checkpoint, metric), {})[task, step] = number
        if isinstance(self._seconds, int | float):
            numbers["time", "step_seconds"] = {("train", 0): float(self._seconds)}
        return numbers

    @cached_property
    def kept(self) -> pa.Table:
        """Checkpoint, task, metric, step and value in order, without curve and spectrum, which are
        hundreds of rows. Several studies list the same run."""
        curve = compute.equal(self.table["checkpoint"], "curve")
        spectrum = compute.starts_with(self.table["metric"], SPECTRUM)
        rows = self.table.select(["checkpoint", "task", "metric", "step", "value"])
        rows = rows.filter(compute.invert(compute.or_(curve, spectrum)))
        return rows.sort_by([(name, "ascending") for name in ("checkpoint", "task", "metric")])

    def of(self, checkpoint: str, metric: str) -> dict[str, float]:
        """The numbers of a metric at a checkpoint, by task; without those that are not finite."""
        numbers = self._numbers.get((checkpoint, metric), {})
        return {task: number for (task, _), number in numbers.items() if np.isfinite(number)}

    def curve(self, aggregate: str) -> pd.Series:
        """The development score x 100 by step, in order, step 0 (before training) first."""
        numbers = self._numbers.get(("curve", f"spearman_{aggregate}"), {})
        points = {step: number for (task, step), number in numbers.items() if task == "dev"}
        return pd.Series(points, dtype=float).sort_index()

    def spectrum(self, checkpoint: str = "selected") -> np.ndarray:
        """Singular values of the development sentences' vectors, largest first; empty if none were
        kept."""
        values = list[float]()
        for (at, metric), numbers in self._numbers.items():
            if at == checkpoint and metric.startswith(SPECTRUM):
                values += numbers.values()
        return np.sort(np.array(values, dtype=float))[::-1]


# Numbers that are a sum of two others of the same run: by sign, quantity and checkpoint ("": the
# metric's own).
SUMS: Mapping[str, tuple[tuple[int, str, str], ...]] = {
    # score on pairs that differ by at most 3 words minus score on the others
    "length_gap": ((1, "spearman_gap_le3", ""), (-1, "spearman_gap_gt3", "")),
    # how much training adds to what pairs of like length are rated higher
    LEARNT: ((1, EXCESS, ""), (-1, EXCESS, "untrained")),
    # the mean cosine of the two views without FGSM minus that with it, dropout off
    "view_cosine_loss": ((1, "view_cosine_plain", ""), (-1, "view_cosine", "")),
    # the L1 distance from any point below both, but for a constant
    SUM: tuple((1, f"{name}_global", "") for name in GEOMETRY),
}
CURVE: Mapping[str, Callable[[pd.Series], float]] = {  # of the development score along training
    "curve_start": lambda scores: scores.iloc[0],
    "curve_best_after_start": lambda scores: scores.iloc[1:].max(),
    "curve_last": lambda scores: scores.iloc[-1],
    "curve_late_range": lambda scores: np.ptp(scores[scores.index >= LATE * scores.index[-1]]),
}
# their average is the mean over the test sets that have the number
OVER_SETS = ("length_gap", EXCESS)


def value(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The metric of a run, in its own unit; None if absent, not a number, or an average with a part
    missing.

    `spearman` is x 100 in the run's aggregation. Derived numbers: SUMS and CURVE above; collapsed
    (1 for a run with collapsed vectors, by mean cosine or effective rank, else 0); spectrum_N (the
    singular value at index N of 768, or at that share of another width, over the largest);
    singular_N (the same, not divided). An average of transfer tasks that no row has is the mean
    over the scale's tasks.
    """
    number = _number(rows, metric, aggregate, scale)
    return float(number) if np.isfinite(number) else None


def _number(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float:
    """The same; NaN, or an infinity, for None."""

    def read(**changes: str) -> float:
        return _number(rows, replace(metric, **changes), aggregate, scale)

    name = metric.quantity
    kind, _, index = name.partition("_")
    if name in OVER_SETS and metric.task == "avg":
        numbers = [read(task=task) for task in scale.tests]
        parts = [number for number in numbers if np.isfinite(number)]
        return sum(parts) / len(parts) if parts else np.nan
    if name in SUMS:
        return sum(
            sign * read(quantity=part, checkpoint=at or metric.checkpoint)
            for sign, part, at in SUMS[name]
        )
    if name in CURVE:
        scores = rows.curve(aggregate)
        return CURVE[name](scores) if len(scores) > 1 else np.nan
    if name == "collapsed":
        cosine = read(quantity="mean_cosine")
        rank = read(quantity="effective_rank")
        if np.isnan(cosine) and np.isnan(rank):
            return np.nan
        return float(cosine > COLLAPSED_COSINE or rank < COLLAPSED_RANK)
    if kind in ("spectrum", "singular") and index.isdigit():
        values = rows.spectrum(metric.checkpoint)
        if len(values) < 2 or values[0] <= 0:
            return np.nan
        place = min(len(values) - 1, round(int(index) * len(values) / PAPER_WIDTH))
        return values[place] / values[0] if kind == "spectrum" else values[place]
    return _stored_number(rows, metric, aggregate, scale)


def _stored_number(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float:
    """A number that has a row of its own, or the mean over transfer tasks."""
    column = metric.quantity
    if column == "spearman":
        column = f"spearman_{aggregate}"
    numbers = rows.of(metric.checkpoint, column)
    task = metric.task
    if task == "avg_transfer" and task not in numbers:
        numbers[task] = sum(numbers.get(name, np.nan) for name in scale.probes) / len(scale.probes)
    if metric.quantity.startswith(GEOMETRY) and numbers:
        # of the scale's own sentences, which stand for STS-B's
        numbers.setdefault(task, list(numbers.values())[-1])
    if task == "avg" and not all(name in numbers for name in scale.tests):
        return np.nan
    return numbers.get(task, np.nan)


def worst_value(metric: Metric) -> float | None:
    """0 for scores and accuracies, 1 for mean cosine and effective rank; None for a quantity
    without a worst value.

    Constant vectors order nothing and class nothing: a correlation and an accuracy of 0. A
    correlation of -1 would take an encoder that knows the order and turns it round; one such run
    would outweigh fifty healthy runs.
    """
    if metric.quantity in WORST:
        return WORST[metric.quantity]
    scored = unit(metric) in (SCORE, ACCURACY) and metric.quantity != UNBOUNDED
    return 0.0 if scored else None


def worst_of(metric: Metric, numbers: Iterable[float]) -> float | None:
    """The worst value beside the numbers of a table: the lowest score, where one is below 0. So no
    failed run stands above another run."""
    worst = worst_value(metric)
    if worst is None or metric.quantity in WORST:
        return worst
    return min([worst, *numbers])


def counted(status: str, number: float | None, metric: Metric, worst: float | None) -> float | None:
    """What a run counts for, in tables, figures and verdicts alike, given its own number; None if
    it has nothing to count.

    A diverged run counts as the worst value, and so does a collapsed run without a number of its
    own: left out, it would make its cell look better than it is. Of collapse itself a diverged run
    says neither yes nor no.
    """
    if status == "diverged" or (status == "collapsed" and number is None):
        if metric.quantity == "collapsed":
            return COLLAPSED[status]
        return worst
    return number
