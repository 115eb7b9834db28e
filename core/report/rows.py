"""A run's numbers, as the report looks them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa


class Number(NamedTuple):
    """One number of a run."""

    task: str
    step: int
    value: float


class Rows:
    """A run's numbers by checkpoint and metric; `table` has those that are stored, in the columns of `core.spec.result.Row`.

    A report asks each run for some hundred numbers, and a look in the frame takes a millisecond. `time` is one more checkpoint, from the
    run's provenance, which no row holds: task train, metric step_seconds (the median of a training step).
    """

    __slots__ = ("_numbers", "table")

    def __init__(self, table: pa.Table, provenance: Mapping[str, object]):
        self.table = table
        self._numbers: dict[tuple[str, str], list[Number]] = {}
        columns = (table[name].to_pylist() for name in ("checkpoint", "metric", "task", "step", "value"))
        for checkpoint, metric, task, step, value in zip(*columns, strict=True):
            self._numbers.setdefault((checkpoint, metric), []).append(Number(task, step, value))
        if isinstance(seconds := provenance.get("step_seconds"), (int, float)):
            self._numbers["time", "step_seconds"] = [Number("train", 0, float(seconds))]

    def of(self, checkpoint: str, metric: str) -> list[Number]:
        """The numbers of a metric at a checkpoint, in stored order."""
        return self._numbers.get((checkpoint, metric), [])

    def one(self, checkpoint: str, task: str, metric: str) -> Number | None:
        """The first number of a task; None if there is none."""
        return next((number for number in self.of(checkpoint, metric) if number.task == task), None)

    def at(self, checkpoint: str) -> Iterator[tuple[str, Number]]:
        """Every number at a checkpoint, each with its metric."""
        return ((metric, number) for (place, metric), numbers in self._numbers.items() if place == checkpoint for number in numbers)
