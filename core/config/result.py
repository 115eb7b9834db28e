"""What a run leaves: a status, rows of numbers, and every test pair's cosine.

Every metric, by checkpoint and task; `set` is each test set and `dev`, the development set.

    checkpoint                task           metric
    selected, last            set, avg       spearman_all, spearman_mean, spearman_wmean:
                                             x 100, by aggregation (D80)
    selected                  STS-B | dev    alignment_global, alignment_batched64: pairs with gold
                                             above 4, by mode (D43); alignment_all_…: all pairs;
                                             uniformity_…: over STS-B, or over the development set
                                             at scale demo
    selected, last, untrained dev            mean_cosine: over pairs of different sentences;
                                             effective_rank: of the centred unit vectors; no rows
                                             where a vector has no direction. Claims on collapse
                                             read those of `last`
    selected, untrained       dev            singular_value_0, 1, …: not centred (MoCoSE, Figure 7)
    selected                  dev            spread: 1 - |mean unit vector|^2, from which the
                                             status is taken
    selected                  set            spearman_gap_le3, spearman_gap_gt3: pairs that differ
                                             by at most, by more than, 3 words (ESimCSE, Table 1),
                                             if 10 or more
    selected, untrained       set            like_length_excess: how much higher pairs that differ
                                             by at most 3 words are rated than others of the same
                                             gold score, in SDs of the set's cosines (ESimCSE,
                                             Section 1)
    selected                  edits          cosine_itself, cosine_insertion, cosine_deletion,
                                             cosine_repetition, cosine_repetition_subword (ESimCSE,
                                             Table 2)
    selected, untrained, untrained_first_last, untrained_last (the last layer's mean)
                              a transfer task, avg_transfer
                                             accuracy_test, accuracy_dev: x 100 (MoCoSE, Table 2;
                                             D42)
    selected                  train          mtd_at_selected_checkpoint
    last                      train          mtd_nominal, mtd_at_start, mtd_mean_over_run (D3);
                                             fgsm_changed_fraction (D19); diverged_at: no value, at
                                             its step; view_cosine, view_cosine_plain: mean cosine
                                             of both views' [CLS] with FGSM and without;
                                             view_input_difference: mean |online - target| /
                                             |target| of their word embeddings
    curve                     dev            spearman_<sts.aggregate>, mean_cosine: from step 0 on
    curve                     avg            spearman_<sts.aggregate> of the tests, where they
                                             select (D40)
    curve                     train          loss; loss_…: a further term of it, by its name
    data                      set, other splits
                                             pairs: how many (ESimCSE, Table 3)
    untrained, untrained_first_last, untrained_first_last_0, whitening, bag_of_words
                              set, avg       spearman_all without training: [CLS]; mean of last and
                                             first layer; of last layer and embedding output (D77);
                                             that, whitened on the sentences of the set; random word
                                             vectors

    start                     set, avg       spearman_all of the method's own vector before the
                                             first step, where that is not [CLS]

Times are no rows, since no run repeats them: `provenance["step_seconds"]` is the median time of a
training step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Annotated, Literal, NamedTuple

from core.config.quantities import known_quantity, quantity
from core.config.section import Bound, Typed, frozen, one_of

Status = Literal["ok", "collapsed", "diverged"]
CHECKPOINTS = (  # time: of step_seconds
    *("selected", "last", "curve", "data", "time", "untrained", "untrained_first_last"),
    *("untrained_first_last_0", "untrained_last", "whitening", "bag_of_words", "start"),
)
TASKS = ("avg", "dev", "avg_transfer", "train", "edits")  # beside the sets and tasks of a scale


@frozen
class Metric(Typed):
    """The number that an entry of a table is, out of a run's rows (listed at the head of this
    module).

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


class Row(NamedTuple):
    """One number; checkpoints, tasks and metrics are listed at the head of this module.

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
    rows: tuple[Row, ...]
    pairs: tuple[PairBlock, ...] = ()
    provenance: dict[str, object] = field(default_factory=dict)
