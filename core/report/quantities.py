"""A run's numbers: as stored, as a table's entry reads them, and what a failed run counts for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from core.spec.result import ACCURACY, EXCESS, GEOMETRY, LEARNT, SCORE, SUM, unit
from core.spec.scale import Scale
from core.spec.table import Metric

PAPER_WIDTH = 768  # an index into a spectrum counts on bert-base; other widths keep its share
LATE = 2 / 3  # of a run: from here on it is late
SAME, FLAT = 0.95, 2.0  # mean cosine above, effective rank below: vectors that have collapsed
# Constant vectors order nothing and class nothing: a correlation and an accuracy of 0. A correlation of -1
# would take an encoder that knows the order and turns it round; one such run would outweigh fifty healthy
# runs.
NOTHING_LEARNT = (SCORE, ACCURACY)
# vectors without a direction are as good as one vector
COLLAPSED = {"mean_cosine": 1.0, "effective_rank": 1.0}
NEITHER = {"collapsed": 0.5}  # a diverged run has no vectors: it speaks neither for collapse nor against it
UNBOUNDED = ("curve_late_range",)  # a range of scores is the worse the larger it is, and has no worst value


class Number(NamedTuple):
    """One number of a run."""

    task: str
    step: int
    value: float


class Rows:
    """A run's numbers by checkpoint and metric; `table` has the columns of `core.spec.result.Row`.

    A report asks each run for some hundred numbers, and a look in the table takes a millisecond, so they are
    indexed when the first is asked for. `time` is one more checkpoint, from the run's provenance: task train,
    metric step_seconds (the median of a training step).
    """

    __slots__ = ("_numbers", "_seconds", "table")

    def __init__(self, table: pa.Table, provenance: Mapping[str, object]):
        self.table = table
        self._seconds = provenance.get("step_seconds")
        self._numbers: dict[tuple[str, str], list[Number]] | None = None

    def of(self, checkpoint: str, metric: str) -> list[Number]:
        """The numbers of a metric at a checkpoint, in stored order."""
        return self._indexed().get((checkpoint, metric), [])

    def one(self, checkpoint: str, task: str, metric: str) -> Number | None:
        """The first number of a task; None if there is none."""
        return next((number for number in self.of(checkpoint, metric) if number.task == task), None)

    def at(self, checkpoint: str) -> Iterator[tuple[str, Number]]:
        """Every number at a checkpoint, each with its metric."""
        for (place, metric), numbers in self._indexed().items():
            if place == checkpoint:
                yield from ((metric, number) for number in numbers)

    def _indexed(self) -> dict[tuple[str, str], list[Number]]:
        if self._numbers is None:
            numbers: dict[tuple[str, str], list[Number]] = {}
            columns = (
                self.table[name].to_pylist() for name in ("checkpoint", "metric", "task", "step", "value")
            )
            for checkpoint, metric, task, step, value in zip(*columns, strict=True):
                numbers.setdefault((checkpoint, metric), []).append(Number(task, step, value))
            if isinstance(self._seconds, int | float):
                numbers["time", "step_seconds"] = [Number("train", 0, float(self._seconds))]
            self._numbers = numbers
        return self._numbers

    def __reduce__(self) -> tuple[Callable[..., Rows], tuple[bytes, object]]:
        """Another process receives these rows alone: a pickled table brings all that it was read with."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table)
        return _received, (sink.getvalue().to_pybytes(), self._seconds)


def _received(content: bytes, seconds: object) -> Rows:
    return Rows(pa.ipc.open_stream(content).read_all(), {"step_seconds": seconds})


def value(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The metric of a run, in its own unit; None if absent, not a number, or an average with a part missing.

    `spearman` is x 100 in the run's aggregation. Derived numbers: DERIVED and CURVE below; spectrum_N (the
    singular value at index N of 768, or at that share of another width, over the largest); singular_N (the
    same, not divided). An average of transfer tasks that no row has is the mean over the scale's tasks.
    """
    if metric.quantity in DERIVED:
        return _finite(DERIVED[metric.quantity](rows, metric, aggregate, scale))
    if metric.quantity in CURVE:
        scores = curve(rows, aggregate)
        return _finite(CURVE[metric.quantity](scores)) if len(scores) > 1 else None
    kind, _, index = metric.quantity.partition("_")
    if kind in ("spectrum", "singular") and index.isdigit():
        return _finite(singular(spectrum(rows, metric.checkpoint), int(index), divided=kind == "spectrum"))
    column = f"spearman_{aggregate}" if metric.quantity == "spearman" else metric.quantity
    numbers = {number.task: number.value for number in rows.of(metric.checkpoint, column)}
    if numbers and metric.quantity.startswith(GEOMETRY) and metric.task not in numbers:
        # of the scale's own sentences, which stand for STS-B's
        numbers = {metric.task: list(numbers.values())[-1]}
    parts = scale.tests if metric.task == "avg" else ()
    if metric.task == "avg_transfer" and metric.task not in numbers:
        parts = scale.probes
        numbers[metric.task] = sum(numbers.get(name, np.nan) for name in parts) / len(parts)
    if any(_finite(numbers.get(name)) is None for name in (*parts, metric.task)):
        return None
    return float(numbers[metric.task])


def curve(rows: Rows, aggregate: str) -> pd.Series:
    """The development score x 100 by step, in order, step 0 (before training) first."""
    points = {one.step: one.value for one in rows.of("curve", f"spearman_{aggregate}") if one.task == "dev"}
    return pd.Series(points, dtype=float).sort_index()


def spectrum(rows: Rows, checkpoint: str = "selected") -> np.ndarray:
    """Singular values of the development sentences' vectors, largest first; empty if they were not kept."""
    values = [number.value for metric, number in rows.at(checkpoint) if metric.startswith("singular_value_")]
    return np.sort(np.array(values, dtype=float))[::-1]


def singular(values: np.ndarray, index: int, divided: bool) -> float:
    """The singular value at `index` of bert-base's 768, or the same share of this width, over the largest if
    `divided`."""
    if len(values) < 2 or values[0] <= 0:
        return float("nan")
    place = min(len(values) - 1, round(index * len(values) / PAPER_WIDTH))
    return float(values[place] / (values[0] if divided else 1.0))


def _late_range(scores: pd.Series) -> float:
    late = scores[scores.index >= LATE * scores.index[-1]]
    return float(late.max() - late.min())


CURVE: Mapping[str, Callable[[pd.Series], float]] = {  # of the development score along training
    "curve_start": lambda scores: scores.iloc[0],
    "curve_best_after_start": lambda scores: scores.iloc[1:].max(),
    "curve_last": lambda scores: scores.iloc[-1],
    "curve_late_range": _late_range,  # max - min over the last third of the run
}


def _length_gap(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """Score on pairs that differ by at most 3 words minus score on the others: of a set, or mean over the
    sets."""
    gaps = []
    for name in scale.tests if metric.task == "avg" else (metric.task,):
        sides = (replace(metric, task=name, quantity=f"spearman_gap_{side}") for side in ("le3", "gt3"))
        like, unlike = (value(rows, side, aggregate, scale) for side in sides)
        if like is not None and unlike is not None:
            gaps.append(like - unlike)
    return sum(gaps) / len(gaps) if gaps else None


def _like_length_excess(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """How much higher pairs of like length are rated: on one test set, or mean over those that have the
    number."""
    names = scale.tests if metric.task == "avg" else (metric.task,)
    numbers = [number.value for number in rows.of(metric.checkpoint, EXCESS) if number.task in names]
    finite = [number for number in numbers if np.isfinite(number)]
    return sum(finite) / len(finite) if finite else None


def _like_length_excess_learnt(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """How much of that training adds: the metric's checkpoint minus the untrained encoder."""
    read = replace(metric, quantity=EXCESS)
    places = (replace(read, checkpoint=name) for name in (metric.checkpoint, "untrained"))
    return _less(*(value(rows, place, aggregate, scale) for place in places))


def _view_cosine_loss(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The mean cosine of the two views without FGSM minus that with it, dropout off."""
    names = ("view_cosine_plain", "view_cosine")
    return _less(*(value(rows, replace(metric, quantity=name), aggregate, scale) for name in names))


def _alignment_plus_uniformity(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """Global alignment plus uniformity: the L1 distance from any point below both, but for a constant."""
    parts = [value(rows, replace(metric, quantity=f"{name}_global"), aggregate, scale) for name in GEOMETRY]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _collapsed(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """1 for a run with collapsed vectors, by mean cosine or effective rank, else 0; None without either
    number."""
    names = ("mean_cosine", "effective_rank")
    cosine, rank = (value(rows, replace(metric, quantity=name), aggregate, scale) for name in names)
    if cosine is None and rank is None:
        return None
    return float((cosine is not None and cosine > SAME) or (rank is not None and rank < FLAT))


DERIVED: Mapping[str, Callable[[Rows, Metric, str, Scale], float | None]] = {
    "length_gap": _length_gap,
    EXCESS: _like_length_excess,
    LEARNT: _like_length_excess_learnt,
    "view_cosine_loss": _view_cosine_loss,
    SUM: _alignment_plus_uniformity,
    "collapsed": _collapsed,
}


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and np.isfinite(number) else None


def worst_value(metric: Metric) -> float | None:
    """0 for scores and accuracies, 1 for mean cosine and effective rank; None for a quantity without a worst
    value."""
    if metric.quantity in COLLAPSED:
        return COLLAPSED[metric.quantity]
    return 0.0 if unit(metric) in NOTHING_LEARNT and metric.quantity not in UNBOUNDED else None


def counted(status: str, number: float | None, metric: Metric) -> float | None:
    """What a run counts for, in tables, figures and verdicts alike; None if it is missing.

    A diverged run counts as the worst value, and so does a collapsed run without a number of its own: left
    out, it would make its cell look better than it is. Of collapse itself a diverged run says neither yes nor
    no.
    """
    if status == "diverged":  # what it scored before it diverged is not what the method leads to
        return NEITHER.get(metric.quantity, worst_value(metric))
    if status == "collapsed" and number is None:
        return 1.0 if metric.quantity in NEITHER else worst_value(metric)
    return number
