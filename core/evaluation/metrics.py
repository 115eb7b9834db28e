"""Metrics of sentence embeddings: Spearman, alignment, uniformity, length bias, and directions,
which show collapse without graded pairs.

Vectors are numpy arrays, or tensors on a GPU, where they stay until a number comes of them.
Correlations are x 100. A metric that is not defined (constant scores, vectors that are not finite
or have no length) is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from core.config.quantities import EXCESS
from core.config.result import Measurement, PairBlock
from core.data.sts import StsSet
from core.encoder.vectors import Vectors, array, unit_vectors

MODES = ("global", "batched64")
AGGREGATES = ("all", "mean", "wmean")
# a mean squared distance that is rounding of float32
FLOAT32_ROUNDING = float(np.finfo(np.float32).eps) ** 2
BATCH = 64  # of the released alignment and uniformity (D43)
WORD_GAP = 3  # words, as ESimCSE splits pairs; that it counts blank-separated words is a guess
FEWEST_PAIRS = 10  # a rank correlation of fewer says nothing
_BLOCK = 2048


def spearman(cosine: np.ndarray, gold: np.ndarray) -> float:
    """100 x Pearson's correlation of the ranks, ties sharing their mean rank (as
    scipy.stats.spearmanr).

    cosine, gold (n,). NaN for fewer than two pairs, constant input or anything not finite.
    """
    if not (np.isfinite(cosine).all() and np.isfinite(gold).all()):
        return float("nan")
    a = rankdata(cosine)
    b = rankdata(gold)
    a = a - a.mean()
    b = b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    if not scale > 0:
        return float("nan")
    return float(100.0 * (a @ b) / scale)


def aggregates(pairs: StsSet, cosine: np.ndarray) -> dict[str, float]:
    """The set's Spearman in SentEval's three aggregations (D80), x 100; cosine (pairs,).

    all: one Spearman over all pairs. mean: plain mean of the subsets' Spearmans, NaN if a subset
    has none. wmean: the same weighted by pairs. With one subset the three are equal.
    """
    parts = [np.array(pairs.subset) == name for name in dict.fromkeys(pairs.subset)]
    values = [spearman(cosine[part], pairs.gold[part]) for part in parts]
    return {
        "all": spearman(cosine, pairs.gold),
        "mean": float(np.mean(values)),
        "wmean": float(np.average(values, weights=[part.sum() for part in parts])),
    }


def alignment(x: Vectors, y: Vectors, mode: str) -> float:
    """Mean over pairs of |x_i - y_i|^2 (Wang and Isola 2020, alpha = 2); in [0, 4], lower is
    closer.

    x, y (n, dim), scaled to length 1 here. `mode` "global" is one mean; "batched64" is the mean
    over full batches of 64 in order. NaN without a pair, or without a full batch.
    """
    distance = array(((unit_vectors(x) - unit_vectors(y)) ** 2).sum(1))  # (n,)
    means = [batch.mean() for batch in _batches(distance, mode)]
    if not means:
        return float("nan")
    return float(np.mean(means))


def uniformity(x: Vectors, mode: str) -> float:
    """log of the mean over pairs i < j of exp(-2 |x_i - x_j|^2) (Wang and Isola 2020, t = 2).

    x (n, dim), scaled to length 1 here; the value lies in [-8, 0], 0 being full collapse. `mode`
    "global" is over all pairs; "batched64" (D43) is the mean of the logs of full batches of 64 in
    order. NaN with fewer than two vectors, or no full batch.
    """
    potentials = []
    for batch in _batches(unit_vectors(x), mode):
        # |x_i - x_j|^2 = 2 - 2 x_i . x_j of unit rows. On a CPU products are in float32 (error
        # about 1e-7), on a GPU in float64, since float32 may be TF32.
        rows: Vectors = batch
        library: Any = torch
        if not isinstance(batch, Tensor):
            rows = batch.astype(np.float32)
            library = np
        total = 0.0
        pairs = len(rows) * (len(rows) - 1) / 2
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            potential = library.exp(4.0 * (block @ rows[start:].T) - 4.0)  # (block, rest)
            parts = library.triu(potential[:, : len(block)], 1), potential[:, len(block) :]
            total += sum(float(part.sum(dtype=library.float64)) for part in parts)
        if pairs:
            potentials.append(float(np.log(total / pairs)))
    if not potentials:
        return float("nan")
    return float(np.mean(potentials))


def mean_of_7(scores: Sequence[float]) -> float:
    """The plain mean of the test sets' scores, unrounded; NaN if one is (D41)."""
    return float(np.mean(scores))


def mean_of_8_rounded(scores: Sequence[float]) -> float:
    """The released selection score (D41): the mean of the scores, rounded to 2 decimals each, and
    of their rounded mean. It is within about 0.01 of mean_of_7; NaN if a score is."""
    rounded = [float(f"{score:.2f}") for score in scores]  # as printed, then read back
    rounded.append(float(f"{sum(rounded) / len(rounded):.2f}"))
    return sum(rounded) / len(rounded)


def _batches(values: Vectors, mode: str) -> list[Vectors]:
    size = BATCH
    if mode == "global":
        size = max(len(values), 1)
    return [values[start : start + size] for start in range(0, len(values) - size + 1, size)]


def mean_cosine(vectors: Vectors) -> float:
    """Mean cosine over the pairs of different rows, 1 when all have one direction. vectors (n,
    dim), n > 1.

    (|sum of the unit vectors|^2 - n) / (n (n - 1)): n of the n^2 products are a row with itself.
    """
    n = len(vectors)
    total = unit_vectors(vectors).sum(0)  # (dim,)
    return float((total @ total - n) / (n * (n - 1)))


def spread(vectors: np.ndarray) -> float:
    """1 - |mean of the unit vectors|^2, in [0, 1]; 0 when all have one direction. vectors (n,
    dim)."""
    mean = unit_vectors(vectors).mean(0)  # (dim,)
    return float(1.0 - mean @ mean)


def effective_rank(vectors: np.ndarray) -> float:
    """In how many directions the unit vectors differ, from 1 to dim. vectors (n, dim), each with a
    direction.

    exp of the Shannon entropy of p_i = s_i^2 / sum of s^2, with s the singular values of the
    centred vectors of length 1. Roy and Vetterli (2007) take s_i / sum of s; squared, p are shares
    of variance. 1 if centring leaves nothing but rounding. Of a collapsed encoder it describes what
    little is left: read it beside the mean cosine.
    """
    units = unit_vectors(vectors)
    centred = units - units.mean(0)
    # (dim,), squared singular values
    variances = np.clip(np.linalg.eigvalsh(centred.T @ centred), 0.0, None)
    if variances.sum() <= FLOAT32_ROUNDING * len(units):
        return 1.0
    p = variances[variances > 0] / variances.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def mean_cosine_rows(vectors: Vectors, checkpoint: str, step: int) -> list[Measurement]:
    """The mean cosine as a row of task `dev`; none where a vector has no direction."""
    value = mean_cosine(vectors)
    if not np.isfinite(value):
        return []
    return [Measurement(checkpoint, "dev", "mean_cosine", step, value)]


def direction_rows(vectors: np.ndarray, checkpoint: str, step: int) -> list[Measurement]:
    """Mean cosine and effective rank as rows of task `dev`; none where a vector has no
    direction."""
    rows = mean_cosine_rows(vectors, checkpoint, step)
    if rows:
        rows.append(Measurement(checkpoint, "dev", "effective_rank", step, effective_rank(vectors)))
    return rows


def spectrum_rows(vectors: np.ndarray, checkpoint: str, step: int) -> list[Measurement]:
    """The singular values of the sentence-vector matrix, not centred, as rows of task `dev`,
    largest first (MoCoSE, Figure 7); vectors (n, dim) are finite."""
    gram = vectors.T.astype(np.float64) @ vectors.astype(np.float64)  # (dim, dim)
    values = np.sqrt(np.clip(np.linalg.eigvalsh(gram)[::-1], 0.0, None))
    rows = []
    for i, value in enumerate(values):
        rows.append(Measurement(checkpoint, "dev", f"singular_value_{i}", step, float(value)))
    return rows


def length_rows(
    pairs: Sequence[PairBlock], checkpoint: str, dev: str, step: int
) -> list[Measurement]:
    """Length bias (ESimCSE, Section 1 and Table 1): of each set Spearman x 100 of the pairs whose
    sentences differ by at most 3 words (`spearman_gap_le3`) and by more (`spearman_gap_gt3`), and
    by how much the like ones are rated higher (`like_length_excess`). The set named `dev` goes
    under the task `dev`.

    A group of fewer than 10 pairs, or without a rank correlation, has no row; no excess without
    both groups.
    """
    rows = []
    for task in dict.fromkeys(block.task for block in pairs):
        blocks = [block for block in pairs if block.task == task]
        _, _, *columns = zip(*blocks, strict=True)
        gold, cosine, words_a, words_b = map(np.concatenate, columns)  # (pairs,) each
        like = np.abs(words_a - words_b) <= WORD_GAP
        values = {}
        for metric, group in (("spearman_gap_le3", like), ("spearman_gap_gt3", ~like)):
            if group.sum() >= FEWEST_PAIRS:
                values[metric] = spearman(cosine[group], gold[group])
        if len(values) == 2:
            values[EXCESS] = like_length_excess(gold, cosine.astype(float), like)
        name = "dev" if task == dev else task
        for metric, value in values.items():
            if np.isfinite(value):
                rows.append(Measurement(checkpoint, name, metric, step, value))
    return rows


def like_length_excess(gold: np.ndarray, cosine: np.ndarray, like: np.ndarray) -> float:
    """How much higher the cosine of a pair of like length is than that of another pair of the same
    gold score, in SDs of the cosines; (pairs,) each.

    The coefficient of `like` in a least-squares fit of the cosine by 1, gold and `like`, over the
    SD of the set's cosines. Positive: pairs of like length are taken to be more similar than they
    are. NaN if cosines or gold are constant or not finite.
    """
    if np.ptp(cosine) == 0 or np.ptp(gold) == 0 or not np.isfinite(cosine).all():
        return float("nan")
    by = np.stack([np.ones(len(gold)), gold, like], axis=1)  # (pairs, 3)
    return float(np.linalg.lstsq(by, cosine)[0][2] / cosine.std())
