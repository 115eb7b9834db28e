"""Length bias: does a score depend on how much longer one sentence of a pair is than the other? (ESimCSE,
Section 1 and Table 1)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.data.sts import StsSet
from core.engine.evaluation.metrics import spearman
from core.spec.result import PairBlock, Row

GAP = 3  # words, as the paper splits; that it counts blank-separated words is a guess
FEWEST_PAIRS = 10  # a rank correlation of fewer says nothing
EXCESS = "like_length_excess"


class SetPairs(NamedTuple):
    """The pairs of one set, its subsets taken together, (pairs,) each; `like`: their sentences differ by at
    most 3 words."""

    gold: np.ndarray
    cosine: np.ndarray
    like: np.ndarray


def length_rows(pairs: Sequence[PairBlock], dev: str, step: int) -> list[Row]:
    """Of each set Spearman x 100 of the pairs whose sentences differ by at most 3 words (`spearman_gap_le3`)
    and by more (`spearman_gap_gt3`), and by how much the former are rated higher (`like_length_excess`). The
    set named `dev` goes under the task `dev`.

    A group of fewer than 10 pairs, or without a rank correlation (constant or not finite), has no row; no
    excess without both groups.
    """
    rows = []
    for task, found in by_set(pairs):
        values = {
            "spearman_gap_le3": _correlation(found, found.like),
            "spearman_gap_gt3": _correlation(found, ~found.like),
            EXCESS: like_length_excess(found),
        }
        name = "dev" if task == dev else task
        rows += [Row("selected", name, metric, step, x) for metric, x in values.items() if np.isfinite(x)]
    return rows


def by_set(pairs: Sequence[PairBlock]) -> Iterator[tuple[str, SetPairs]]:
    """The pairs of each set by its name."""
    for task in dict.fromkeys(block.task for block in pairs):
        blocks = [block for block in pairs if block.task == task]
        gold, cosine, words_a, words_b = (
            np.concatenate([np.asarray(getattr(block, name)) for block in blocks])
            for name in ("gold", "cosine", "words_a", "words_b")
        )  # (pairs,) each
        yield task, SetPairs(gold, cosine.astype(float), np.abs(words_a - words_b) <= GAP)


def like_length_excess(pairs: SetPairs) -> float:
    """How much higher the cosine of a pair of like length is than that of another pair of the same gold
    score, in SDs of the cosines.

    The coefficient of `like` in a least-squares fit of the cosine by 1, gold and `like`, over the SD of the
    set's cosines. Positive: pairs of like length are taken to be more similar than they are. NaN with fewer
    than 10 pairs on either side, or if cosines or gold are constant or not finite.
    """
    flat = np.ptp(pairs.cosine) == 0 or np.ptp(pairs.gold) == 0
    if flat or not _both(pairs.like) or not np.isfinite(pairs.cosine).all():
        return float("nan")
    by = np.stack([np.ones(len(pairs.gold)), pairs.gold, pairs.like], axis=1)  # (pairs, 3)
    return float(np.linalg.lstsq(by, pairs.cosine)[0][2] / pairs.cosine.std())


def splits(pairs: StsSet) -> bool:
    """Whether a set has pairs enough of like and of unlike length to say which of them are rated higher."""
    gaps = [len(a.split()) - len(b.split()) for a, b in zip(pairs.a, pairs.b, strict=True)]
    return _both(np.abs(gaps) <= GAP)


def _both(like: np.ndarray) -> bool:
    return min(like.sum(), (~like).sum()) >= FEWEST_PAIRS


def _correlation(pairs: SetPairs, group: np.ndarray) -> float:
    return spearman(pairs.cosine[group], pairs.gold[group]) if group.sum() >= FEWEST_PAIRS else float("nan")
