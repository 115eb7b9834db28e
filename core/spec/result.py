"""What a run leaves: a status, rows of numbers, and every test pair's cosine.

Every metric, by checkpoint and task. `set` is each test set and `dev` (the development set, whatever its name).

    checkpoint                task           metric
    selected, last            set, avg       spearman_all, spearman_mean, spearman_wmean: x 100, by aggregation (D80)
    selected                  STS-B | dev    alignment_global, alignment_batched64: pairs with gold above 4, by mode (D43)
                                             alignment_all_global, alignment_all_batched64: all pairs
                                             uniformity_global, uniformity_batched64
                                             over all of STS-B; over the development set at scale demo
    selected                  dev            spread: 1 - |mean unit vector|^2; singular_value_0, 1, … (MoCoSE, Figure 7)
    selected                  set            spearman_gap_le3, spearman_gap_gt3: pairs that differ by at most, by more than,
                                             3 words (ESimCSE, Table 1); no row for fewer than 10 pairs
    selected                  edits          cosine_itself, cosine_insertion, cosine_deletion, cosine_repetition,
                                             cosine_repetition_subword: means over 100 sentences (ESimCSE, Table 2)
    selected                  a transfer task, avg_transfer
                                             accuracy_test, accuracy_dev: x 100, with eval.transfer alone (MoCoSE, Table 2; D42)
    selected                  train          mtd_at_selected_checkpoint
    last                      train          mtd_nominal, mtd_at_start, mtd_mean_over_run (D3); fgsm_changed_fraction (D19);
                                             diverged_at: no value, at the step of it
    curve                     dev            spearman_<sts.aggregate>, from step 0 on
    curve                     avg            spearman_<sts.aggregate> of the tests, where they select (D40)
    curve                     train          loss
    data                      set, other splits
                                             pairs: how many (ESimCSE, Table 3)
    untrained, untrained_first_last, untrained_first_last_0, bag_of_words
                              set, avg       spearman_all without training: [CLS]; mean of last and first transformer layer;
                                             mean of last layer and embedding output (D77); random word vectors
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Status = Literal["ok", "collapsed", "diverged"]


class Row(NamedTuple):
    """One number. `checkpoint`: selected, last, curve (along training), data, or what needs no training. `task`: a set, `avg`, …

    `metric`: by the list at the head of this module. `step`: the optimiser step that it belongs to.
    `value`: float64; NaN where there is no such number: a diverged run, a Spearman of constant cosines.
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
