"""What a run leaves: a status, rows of numbers, and every test pair's cosine.

`core.config.quantities` lists the metrics, each with its checkpoints and tasks. Times are no rows,
since no run repeats them: `provenance["step_seconds"]` is the median time of a training step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Annotated, Literal, NamedTuple

from core.config.quantities import known_quantity, quantity
from core.config.section import Bound, Typed, frozen, one_of

Status = Literal["ok", "collapsed", "diverged"]
CHECKPOINTS = (
    "selected",
    "last",
    "curve",  # at each check, from step 0 on
    "data",
    "time",  # of step_seconds
    "start",  # the method's own vector before the first step, where that is not [CLS]
    # without training: [CLS]; the mean of last and first layer; of last layer and embedding output
    # (D77); of the last layer; the third, whitened on the sentences of the set; random word vectors
    "untrained",
    "untrained_first_last",
    "untrained_first_last_0",
    "untrained_last",
    "whitening",
    "bag_of_words",
)
TASKS = ("avg", "dev", "avg_transfer", "train", "edits")  # beside the sets and tasks of a scale


@frozen
class Metric(Typed):
    """The number that an entry of a table is, out of a run's rows.

    `task`: avg (mean of the test sets), dev, a test set, avg_transfer, train, …; `quantity`:
    `spearman` (in the run's own aggregation), another metric, or one derived from several. `title`
    heads it. `in_z`: of Fisher's z of the correlations that are read.
    """

    task: str
    title: str
    quantity: Annotated[
        str, "read", Bound("a quantity of core/config/quantities.py", known_quantity)
    ] = "spearman"
    checkpoint: Annotated[str, "of which checkpoint", one_of(CHECKPOINTS)] = "selected"
    in_z: bool = False


def unit(metric: Metric) -> str:
    """What the metric's numbers are, for axes and headings."""
    return quantity(metric.quantity).unit.words


def decimals(metric: Metric) -> int | None:
    """Decimals that the metric is printed with; None: as its interval asks for."""
    return quantity(metric.quantity).unit.decimals


class Measurement(NamedTuple):
    """One number.

    `step`: the optimiser step that it belongs to. `value`: float64; NaN where there is no such
    number: a diverged run, a Spearman of constant cosines.
    """

    checkpoint: str
    task: str
    metric: str
    step: int
    value: float


class PairBlock(NamedTuple):
    """The pairs of one subset of one set: gold scores, cosines, and each side's number of words."""

    task: str
    subset: str
    gold: Collection[float]
    cosine: Collection[float]
    words_a: Sequence[int]
    words_b: Sequence[int]


@frozen
class Result:
    """A finished run, before it is stored. `provenance`: versions, device, seconds, names, …"""

    status: Status
    rows: tuple[Measurement, ...]
    pairs: tuple[PairBlock, ...] = ()
    provenance: dict[str, object] = field(default_factory=dict)
