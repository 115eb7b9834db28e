"""A run's numbers: as stored, as a table's entry reads them, and what a failed run counts for."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from core.config.quantities import Collapse, Curve, Singular, Sum, quantity
from core.config.scale import Scale
from core.study.study import Metric

# checkpoints of vectors that need no training, beside the one that is trained
UNTRAINED_VECTORS = ("untrained", "untrained_first_last", "untrained_first_last_0")

PAPER_WIDTH = 768  # an index into a spectrum counts on bert-base; other widths keep its share
# failed runs among those that collapse
COLLAPSED_STATUS = {"diverged": 0.5, "collapsed": 1.0}
ALL = "spearman_all"  # the score that every run has
SPECTRUM = "singular_value_"  # and an index: singular values of the development sentences' vectors


class Rows:
    """A run's numbers; `table` has the columns of `core.config.result.Measurement`.

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
        numbers = defaultdict[tuple[str, str], dict[tuple[str, int], float]](dict)
        names = ("checkpoint", "metric", "task", "step", "value")
        # by way of numpy in a third of the time
        columns = [self.table[name].to_numpy().tolist() for name in names]
        for checkpoint, metric, task, step, number in zip(*columns, strict=True):
            numbers[checkpoint, metric][task, step] = number
        if isinstance(self._seconds, int | float):
            numbers["time", "step_seconds"]["train", 0] = float(self._seconds)
        return numbers

    @property
    def selected_step(self) -> int | None:
        """The step of the checkpoint that was selected; None without its score."""
        return next((step for _, step in self._numbers.get(("selected", ALL), ())), None)

    @cached_property
    def listed(self) -> list[dict[str, Any]]:
        """The rows in order, without curve and spectrum, which are hundreds; several studies list
        the same run."""
        rows = self.table.select(["checkpoint", "task", "metric", "step", "value"])
        rows = rows.filter(pc.field("checkpoint") != "curve")
        rows = rows.filter(~pc.starts_with(pc.field("metric"), SPECTRUM))
        order = [(name, "ascending") for name in ("checkpoint", "task", "metric")]
        return rows.sort_by(order).to_pylist()

    def of(self, checkpoint: str, metric: str) -> Mapping[str, float]:
        """The numbers of a metric at a checkpoint, by task; without those that are not finite."""
        finite = {}
        for (task, _), number in self._numbers.get((checkpoint, metric), {}).items():
            if math.isfinite(number):
                finite[task] = number
        return finite

    def before_training(self, metric: str, made_up: bool) -> dict[str, float]:
        """The scores before training, by task, of the best untrained vector that the run has
        stored. In a `made_up` language, whose scores follow its words, so that an average of
        vectors is hard to beat, those of the vector that is trained."""
        best = {**self.of("untrained", metric), **self.of("start", metric)}
        for checkpoint in () if made_up else UNTRAINED_VECTORS:
            for task, score in self.of(checkpoint, metric).items():
                best[task] = max(score, best.get(task, score))
        return best

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


def value(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The metric of a run, in its own unit; None if absent, not a number, or an average with a part
    missing.

    `core/config/quantities.py` says how a number is derived. `spearman` is x 100 in the run's
    aggregation. An average of transfer tasks that no row has is the mean over the scale's tasks.
    """
    number = _stored_or_derived(rows, metric, aggregate, scale)
    return float(number) if math.isfinite(number) else None


def _stored_or_derived(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float:
    """The same; NaN, or an infinity, for None."""

    def read(**changes: Any) -> float:
        return _stored_or_derived(rows, replace(metric, **changes), aggregate, scale)

    about = quantity(metric.quantity)
    if about.tasks == "some sets" and metric.task == "avg":
        numbers = [read(task=task) for task in scale.tests]
        finite = [number for number in numbers if np.isfinite(number)]
        return sum(finite) / len(finite) if finite else np.nan
    match about.derived:
        case Sum(parts):
            total = 0.0
            for sign, part, checkpoint in parts:
                total += sign * read(quantity=part, checkpoint=checkpoint or metric.checkpoint)
            return total
        case Curve(of):
            scores = rows.curve(aggregate).to_dict()
            return of(scores) if len(scores) > 1 else np.nan
        case Collapse() as limits:
            cosine = read(quantity="mean_cosine")
            rank = read(quantity="effective_rank")
            if np.isnan(cosine) and np.isnan(rank):
                return np.nan
            return float(cosine > limits.cosine or rank < limits.rank)
        case Singular(share):
            # at the share of the width that the index has of the papers'
            values = rows.spectrum(metric.checkpoint)
            if len(values) < 2 or values[0] <= 0:
                return np.nan
            index = int(metric.quantity.rpartition("_")[2])
            place = min(len(values) - 1, round(index * len(values) / PAPER_WIDTH))
            return values[place] / values[0] if share else values[place]
    # a number that has a row of its own, or the mean over transfer tasks
    column = metric.quantity
    if column == "spearman":
        column = f"spearman_{aggregate}"
    stored = rows.of(metric.checkpoint, column)
    task = metric.task
    number = stored.get(task, np.nan)
    if task == "avg" and not all(name in stored for name in scale.tests):
        number = np.nan
    elif task not in stored and task == "avg_transfer":
        number = sum(stored.get(name, np.nan) for name in scale.probes) / len(scale.probes)
    elif task not in stored and about.tasks == "geometry" and stored:
        # of the scale's own sentences, which stand for STS-B's
        number = list(stored.values())[-1]
    return np.arctanh(number / 100) if metric.in_z else number


def worst_of(metric: Metric, numbers: Iterable[float]) -> float | None:
    """The worst value beside the numbers of a table: 0 for scores and accuracies, or the lowest
    score, where one is below 0, so that no failed run stands above another run; 1 for mean cosine
    and effective rank; None for a quantity without a worst value.

    Constant vectors order nothing and class nothing: a correlation and an accuracy of 0. A
    correlation of -1 would take an encoder that knows the order and turns it round; one such run
    would outweigh fifty healthy runs.
    """
    about = quantity(metric.quantity)
    if about.worst is None or not about.unit.in_points:
        return about.worst
    return min([about.worst, *numbers])


def imputed(status: str, number: float | None, metric: Metric, worst: float | None) -> float | None:
    """What a run counts for, in tables, figures and verdicts alike, given its own number; None if
    it has nothing to count.

    A diverged run counts as the worst value, and so does a collapsed run without a number of its
    own: left out, it would make its cell look better than it is. Of collapse itself a diverged run
    says neither yes nor no.
    """
    if status == "diverged" or (status == "collapsed" and number is None):
        if metric.quantity == "collapsed":
            return COLLAPSED_STATUS[status]
        return worst
    return number
