"""Length bias: are pairs whose sentences are of like length rated higher? (ESimCSE, Section 1 and Table 1)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.engine.evaluation.metrics import spearman
from core.spec.result import EXCESS, PairBlock, Row

GAP = 3  # words, as the paper splits; that it counts blank-separated words is a guess
FEWEST_PAIRS = 10  # a rank correlation of fewer says nothing


def length_rows(pairs: Sequence[PairBlock], checkpoint: str, dev: str, step: int) -> list[Row]:
    """Of each set Spearman x 100 of the pairs whose sentences differ by at most 3 words (`spearman_gap_le3`)
    and by more (`spearman_gap_gt3`), and by how much the former are rated higher (`like_length_excess`). The
    set named `dev` goes under the task `dev`.

    A group of fewer than 10 pairs, or without a rank correlation (constant or not finite), has no row; no
    excess without both groups.
    """
    rows = []
    for task in dict.fromkeys(block.task for block in pairs):
        gold, cosine, words_a, words_b = (
            np.concatenate([np.asarray(getattr(block, name)) for block in pairs if block.task == task])
            for name in ("gold", "cosine", "words_a", "words_b")
        )  # (pairs,) each
        like = np.abs(words_a - words_b) <= GAP
        groups = {"spearman_gap_le3": like, "spearman_gap_gt3": ~like}
        values = {
            name: spearman(cosine[group], gold[group])
            for name, group in groups.items()
            if group.sum() >= FEWEST_PAIRS
        }
        if len(values) == 2:
            values[EXCESS] = like_length_excess(gold, cosine.astype(float), like)
        name = "dev" if task == dev else task
        rows += [Row(checkpoint, name, metric, step, x) for metric, x in values.items() if np.isfinite(x)]
    return rows


def like_length_excess(gold: np.ndarray, cosine: np.ndarray, like: np.ndarray) -> float:
    """How much higher the cosine of a pair of like length is than that of another pair of the same gold
    score, in SDs of the cosines; (pairs,) each.

    The coefficient of `like` in a least-squares fit of the cosine by 1, gold and `like`, over the SD of the
    set's cosines. Positive: pairs of like length are taken to be more similar than they are. NaN if cosines
    or gold are constant or not finite.
    """
    if np.ptp(cosine) == 0 or np.ptp(gold) == 0 or not np.isfinite(cosine).all():
        return float("nan")
    by = np.stack([np.ones(len(gold)), gold, like], axis=1)  # (pairs, 3)
    return float(np.linalg.lstsq(by, cosine)[0][2] / cosine.std())
