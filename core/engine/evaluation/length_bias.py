"""Length bias: does a score depend on how much longer one sentence of a pair is than the other? (ESimCSE, Table 1)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.engine.evaluation.metrics import spearman
from core.spec.result import PairBlock, Row

GAP = 3  # words, as the paper splits; that it counts blank-separated words is a guess
FEWEST_PAIRS = 10  # a rank correlation of fewer says nothing


def length_gap_rows(pairs: Sequence[PairBlock], dev: str, step: int) -> list[Row]:
    """Spearman x 100 of each set's pairs whose sentences differ by at most 3 words (`spearman_gap_le3`), and by more
    (`spearman_gap_gt3`), subsets taken together. The set named `dev` goes under the task `dev`.

    A group of fewer than 10 pairs, or without a rank correlation (constant or not finite), has no row.
    """
    rows = []
    for task in dict.fromkeys(block.task for block in pairs):
        blocks = [block for block in pairs if block.task == task]
        gold, cosine, words_a, words_b = (
            np.concatenate([np.asarray(getattr(block, name)) for block in blocks]) for name in ("gold", "cosine", "words_a", "words_b")
        )  # (pairs,) each
        close = np.abs(words_a - words_b) <= GAP
        for metric, group in (("spearman_gap_le3", close), ("spearman_gap_gt3", ~close)):
            value = spearman(cosine[group], gold[group]) if group.sum() >= FEWEST_PAIRS else float("nan")
            if np.isfinite(value):
                rows.append(Row("selected", "dev" if task == dev else task, metric, step, value))
    return rows
