"""The quantities that a run leaves or a table's entry can be: one line each, with unit, worst value
and source. A comment above a group names the checkpoints and tasks of its rows: `set` is each test
set and `dev`, the development set.

An index follows the names on singular values, such as `spectrum_50`; the table has index 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

TERM = "loss_"  # begins the metric of a further term of the loss
LATE = 2 / 3  # of a run: from here on it is late


class Unit(NamedTuple):
    """What a number is, in words, and its decimals in print (None: as many as its interval asks
    for). `in_points`: differences are points."""

    words: str
    decimals: int | None = 3
    in_points: bool = False


SCORE = Unit("Spearman × 100", 2, in_points=True)
ACCURACY = Unit("accuracy × 100", 2, in_points=True)
GAP = Unit("difference of Spearman × 100", 2, in_points=True)
EXCESS_UNIT = Unit("SDs of the cosines")
ALIGNMENT = Unit("alignment")
UNIFORMITY = Unit("uniformity")
COSINE = Unit("cosine")
MTD = Unit("maximum traceable distance")
SINGULAR_VALUE = Unit("singular value")


class Sum(NamedTuple):
    """A sum of other numbers of the run: sign, quantity and checkpoint of each part ("": the
    metric's own)."""

    parts: tuple[tuple[int, str, str], ...]


class Curve(NamedTuple):
    """A number of the development score along training: score by step, two points or more."""

    of: Callable[[Mapping[int, float]], float]


class Singular(NamedTuple):
    """The singular value at an index of bert-base's 768, or at that share of another width;
    `share`: over the largest."""

    share: bool


class Collapse(NamedTuple):
    """1 where the vectors have collapsed, else 0: a mean cosine above, or an effective rank
    below."""

    cosine: float
    rank: float


# What a quantity has a number for: each test set and their stored average; each test set with
# enough pairs, averaged when read; each transfer task; the one text that gives alignment; the run.
Tasks = Literal["sets", "some sets", "transfer tasks", "geometry", "run"]


class Quantity(NamedTuple):
    """A kind of number. `worst`: what a failed run counts for, None if there is no worst value.
    `derived`: how it follows from stored numbers, None if it is stored."""

    name: str
    unit: Unit
    worst: float | None = None
    tasks: Tasks = "run"
    derived: Sum | Curve | Singular | Collapse | None = None


def _best_after_start(scores: Mapping[int, float]) -> float:
    _, *later = scores.values()
    return max((score for score in later if not math.isnan(score)), default=math.nan)


def _late_range(scores: Mapping[int, float]) -> float:
    late = [score for step, score in scores.items() if step >= LATE * max(scores)]
    return math.nan if any(map(math.isnan, late)) else max(late) - min(late)


EXCESS = "like_length_excess"
_ROWS = (
    # every checkpoint but data and time; set, avg: x 100, in the run's own aggregation
    # (sts.aggregate), and in each (D80); curve: dev, and avg where the tests select (D40)
    Quantity("spearman", SCORE, 0.0, "sets"),
    Quantity("spearman_all", SCORE, 0.0, "sets"),
    Quantity("spearman_mean", SCORE, 0.0, "sets"),
    Quantity("spearman_wmean", SCORE, 0.0, "sets"),
    # selected; set with 10 such pairs or more: pairs that differ by at most, by more than, 3 words
    # (ESimCSE, Table 1); no score is lost in their difference
    Quantity("spearman_gap_le3", SCORE, 0.0, "sets"),
    Quantity("spearman_gap_gt3", SCORE, 0.0, "sets"),
    Quantity(
        "length_gap",
        GAP,
        tasks="some sets",
        derived=Sum(((1, "spearman_gap_le3", ""), (-1, "spearman_gap_gt3", ""))),
    ),
    # selected, untrained; set: how much higher pairs that differ by at most 3 words are rated than
    # others of the same gold score, in SDs of the set's cosines (ESimCSE, Section 1), and how much
    # training adds to it
    Quantity(EXCESS, EXCESS_UNIT, tasks="some sets"),
    Quantity(
        "like_length_excess_learnt",
        EXCESS_UNIT,
        tasks="sets",
        derived=Sum(((1, EXCESS, ""), (-1, EXCESS, "untrained"))),
    ),
    Quantity("pairs", Unit("pairs", 0)),  # data; set, other splits: how many (ESimCSE, Table 3)
    Quantity("own", Unit("", None)),  # a score of a user's own
    # selected, untrained, untrained_first_last, untrained_last; a transfer task, avg_transfer:
    # x 100 (MoCoSE, Table 2; D42)
    Quantity("accuracy_test", ACCURACY, 0.0, "transfer tasks"),
    Quantity("accuracy_dev", ACCURACY, 0.0, "transfer tasks"),
    # selected; STS-B or dev: pairs with gold above 4, or all pairs, by mode (D43); uniformity over
    # STS-B, or over the development set at scale demo
    Quantity("alignment_global", ALIGNMENT, tasks="geometry"),
    Quantity("alignment_batched64", ALIGNMENT, tasks="geometry"),
    Quantity("alignment_all_global", ALIGNMENT, tasks="geometry"),
    Quantity("alignment_all_batched64", ALIGNMENT, tasks="geometry"),
    Quantity("uniformity_global", UNIFORMITY, tasks="geometry"),
    Quantity("uniformity_batched64", UNIFORMITY, tasks="geometry"),
    Quantity(  # the L1 distance from any point below both, but for a constant
        "alignment_plus_uniformity",
        Unit("alignment + uniformity"),
        tasks="geometry",
        derived=Sum(((1, "alignment_global", ""), (1, "uniformity_global", ""))),
    ),
    # selected, last, untrained, curve; dev: over pairs of different sentences, and of the centred
    # unit vectors; no rows where a vector has no direction, which is as good as one vector. Claims
    # on collapse read those of `last`, and the status is taken from the spread of `selected`
    Quantity("mean_cosine", COSINE, 1.0),
    Quantity("effective_rank", Unit("effective rank"), 1.0),
    Quantity("spread", Unit("1 - |mean unit vector|²")),
    Quantity("collapsed", Unit("share of runs"), derived=Collapse(cosine=0.95, rank=2.0)),
    # selected, untrained; dev: not centred (MoCoSE, Figure 7)
    Quantity("singular_value_0", SINGULAR_VALUE),
    Quantity("singular_0", SINGULAR_VALUE, derived=Singular(share=False)),
    Quantity("spectrum_0", Unit("singular value over the largest"), derived=Singular(share=True)),
    # selected; edits: of a sentence and its edited copy (ESimCSE, Table 2)
    Quantity("cosine_itself", COSINE),
    Quantity("cosine_insertion", COSINE),
    Quantity("cosine_deletion", COSINE),
    Quantity("cosine_repetition", COSINE),
    Quantity("cosine_repetition_subword", COSINE),
    # curve; dev; a range of scores is the worse the larger it is, and has no worst value
    Quantity("curve_start", SCORE, 0.0, derived=Curve(lambda scores: next(iter(scores.values())))),
    Quantity("curve_best_after_start", SCORE, 0.0, derived=Curve(_best_after_start)),
    Quantity("curve_last", SCORE, 0.0, derived=Curve(lambda scores: [*scores.values()][-1])),
    Quantity("curve_late_range", SCORE, derived=Curve(_late_range)),
    Quantity("loss", Unit("loss")),  # curve; train; loss_…: a further term of it, by its name
    Quantity("step_seconds", Unit("seconds")),
    Quantity("diverged_at", Unit("step", 0)),  # last; train: no value, at its step
    # last; train, but for mtd_at_selected_checkpoint: MoCoSE's queue (D3); FGSM (D19); mean cosine
    # of both views' [CLS] with FGSM and without; mean |online - target| / |target| of their word
    # embeddings
    Quantity("mtd_nominal", MTD),
    Quantity("mtd_at_start", MTD),
    Quantity("mtd_mean_over_run", MTD),
    Quantity("mtd_at_selected_checkpoint", MTD),
    Quantity("fgsm_changed_fraction", Unit("share of the coordinates")),
    Quantity("view_cosine", COSINE),
    Quantity("view_cosine_plain", COSINE),
    Quantity(  # dropout off
        "view_cosine_loss",
        COSINE,
        derived=Sum(((1, "view_cosine_plain", ""), (-1, "view_cosine", ""))),
    ),
    Quantity("view_input_difference", Unit("share of the length")),
)
QUANTITIES: Mapping[str, Quantity] = {row.name: row for row in _ROWS}
UNITS: Mapping[str, Unit] = {row.unit.words: row.unit for row in _ROWS}


def table_name(name: str) -> str:
    """The name of a quantity in the table: an index is 0 there."""
    return re.sub(r"(?<=_)[0-9]+$", "0", name)


def known_quantity(name: str) -> bool:
    """Whether a run has numbers of this name. A term of a method's loss has any name."""
    is_term = name.startswith(TERM) and name != TERM
    return is_term or table_name(name) in QUANTITIES


def quantity(name: str) -> Quantity:
    """The quantity of a name, with or without an index."""
    if name.startswith(TERM):
        return Quantity(name, QUANTITIES["loss"].unit)
    return QUANTITIES[table_name(name)]


def in_points(unit: str) -> bool:
    """Whether differences in a unit are points; False for words that are no unit."""
    return unit in UNITS and UNITS[unit].in_points
