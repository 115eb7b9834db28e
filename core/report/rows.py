"""A run's numbers, as the report looks them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa


class Number(NamedTuple):
    """One number of a run."""

    task: str
    step: int
    value: float


class Rows:
    """A run's numbers by checkpoint and metric; `table` has those that are stored, in the columns of `core.spec.result.Row`.

    A report asks each run for some hundred numbers, and a look in the table takes a millisecond, so they are indexed when the first is
    asked for. `time` is one more checkpoint, from the run's provenance, which no row holds: task train, metric step_seconds (the median
    of a training step).
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
        return ((metric, number) for (place, metric), numbers in self._indexed().items() if place == checkpoint for number in numbers)

    def _indexed(self) -> dict[tuple[str, str], list[Number]]:
        if self._numbers is None:
            found: dict[tuple[str, str], list[Number]] = {}
            columns = (self.table[name].to_pylist() for name in ("checkpoint", "metric", "task", "step", "value"))
            for checkpoint, metric, task, step, value in zip(*columns, strict=True):
                found.setdefault((checkpoint, metric), []).append(Number(task, step, value))
            if isinstance(self._seconds, int | float):
                found["time", "step_seconds"] = [Number("train", 0, float(self._seconds))]
            self._numbers = found
        return self._numbers

    def __reduce__(self) -> tuple[Callable[..., Rows], tuple[bytes, object]]:
        """Sent to the processes that draw as bytes of these rows alone: pickled as it is, a table brings all that it was read with."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table)
        return _received, (sink.getvalue().to_pybytes(), self._seconds)


def _received(content: bytes, seconds: object) -> Rows:
    return Rows(pa.ipc.open_stream(content).read_all(), {"step_seconds": seconds})
