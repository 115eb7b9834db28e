"""What a run leaves: a status, rows of numbers, and every test pair's cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Status = Literal["ok", "collapsed", "diverged"]


class Row(NamedTuple):
    """One number. `checkpoint`: selected, last, or curve (along training). `task`: a set's name, `avg` or `train`.

    `metric`: spearman_all, spearman_mean, spearman_wmean (x 100), alignment_global, uniformity_batched64, loss, … `step`: the
    optimiser step that it belongs to. `value`: float64; NaN where there is no such number: a diverged run, a Spearman of constant cosines.
    """

    checkpoint: str
    task: str
    metric: str
    step: int
    value: float


class PairBlock(NamedTuple):
    """The pairs of one subset of one set: gold scores, cosines, and each side's number of blank-separated words."""

    task: str
    subset: str
    gold: Sequence[float]
    cosine: Sequence[float]
    words_a: Sequence[int]
    words_b: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A finished run, before it is stored. `provenance`: library versions, device, seconds, names of data and encoder, …"""

    status: Status
    rows: tuple[Row, ...]
    pairs: tuple[PairBlock, ...] = ()
    provenance: dict[str, object] = field(default_factory=dict)
