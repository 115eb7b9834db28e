"""Metrics of sentence embeddings against graded pairs: Spearman, its three aggregations, alignment and
uniformity.

Vectors are numpy arrays, or tensors on a GPU, where they stay until a number comes of them. Correlations are
x 100. A metric that is not defined (constant scores, vectors that are not finite or have no length) is NaN,
never 0.

How vectors spread over directions shows collapse without graded pairs. These metrics are of the distinct
development sentences, computed in float64 from float32 vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.stats import rankdata

from core.data.sts import StsSet
from core.spec.result import Row

Vectors: TypeAlias = Any  # (n, dim): an array, or a tensor on a GPU
Mode = Literal["global", "batched64"]
Pairs = Literal["gold>4", "all"]
NOTHING = float(np.finfo(np.float32).eps) ** 2  # a mean squared distance that is rounding of float32
BATCH = 64  # of the released alignment and uniformity (D43)
POSITIVE = 4.0  # a pair counts as positive above this gold score: SimCSE's convention
_BLOCK = 2048


def on_a_gpu(x: Any) -> bool:
    """Whether these vectors are a tensor, which is asked without loading torch."""
    return hasattr(x, "is_cuda")


def cosines(x: Vectors, y: Vectors) -> np.ndarray:
    """x_i . y_i / (|x_i| |y_i|), row by row, float32.

    x, y (n, dim) -> (n,). Computed in float64 and rounded once, so that equal rows give exactly 1. NaN where
    a row is zero or not finite.
    """
    if on_a_gpu(x):
        x, y = x.double(), y.double()
        return ((x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))).float().cpu().numpy()
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)  # (n,)
        return (np.einsum("nd,nd->n", x, y) / norms).astype(np.float32)


def spearman(cosine: np.ndarray, gold: np.ndarray) -> float:
    """100 x Pearson's correlation of the ranks, ties sharing their mean rank (as scipy.stats.spearmanr).

    cosine, gold (n,). NaN for fewer than two pairs, constant input or anything not finite.
    """
    cosine, gold = np.asarray(cosine, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if len(cosine) != len(gold):
        raise ValueError(f"{len(cosine)} cosines for {len(gold)} gold scores")
    if len(cosine) < 2 or not (np.isfinite(cosine).all() and np.isfinite(gold).all()):
        return float("nan")
    a, b = rankdata(cosine), rankdata(gold)
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(100.0 * (a @ b) / scale) if scale > 0 else float("nan")


def aggregates(pairs: StsSet, cosine: np.ndarray) -> dict[str, float]:
    """The set's Spearman in SentEval's three aggregations (D80), x 100; cosine (pairs,).

    all: one Spearman over all pairs, subsets concatenated. mean: plain mean of the subsets' Spearmans. wmean:
    their mean weighted by pairs. With one subset the three are equal. A subset without a Spearman makes mean
    and wmean NaN.
    """
    cosine = np.asarray(cosine)
    labels = np.array(pairs.subset)
    parts = [labels == name for name in dict.fromkeys(pairs.subset)]
    values = [spearman(cosine[part], pairs.gold[part]) for part in parts]
    return {
        "all": spearman(cosine, pairs.gold),
        "mean": float(np.mean(values)),
        "wmean": float(np.average(values, weights=[part.sum() for part in parts])),
    }


def alignment(x: Vectors, y: Vectors, gold: np.ndarray, mode: Mode, pairs: Pairs) -> float:
    """Mean over pairs of |x_i - y_i|^2, vectors of length 1 (Wang and Isola 2020, alpha = 2); in [0, 4],
    lower is closer.

    x, y (n, dim), scaled to length 1 here; gold (n,). `pairs` "gold>4" keeps the pairs with gold above 4,
    "all" keeps all, dissimilar ones too (D43). `mode` "global" is one mean; "batched64" takes batches of 64
    in order, drops the last one if it is not full, and averages the batches' means. NaN if no pair, or no
    full batch, is left.
    """
    if pairs not in ("gold>4", "all"):
        raise ValueError(f"pairs is {pairs!r}")
    kept = np.flatnonzero(np.asarray(gold) > POSITIVE) if pairs == "gold>4" else np.arange(len(x))
    x, y = (part if on_a_gpu(part) else np.asarray(part) for part in (x, y))
    distance = ((unit(x[kept]) - unit(y[kept])) ** 2).sum(axis=1)  # (kept,)
    distance = distance.cpu().numpy() if on_a_gpu(distance) else distance
    batches = _batches(distance, mode)
    return float(np.mean([batch.mean() for batch in batches])) if batches else float("nan")


def uniformity(x: Vectors, mode: Mode) -> float:
    """log of the mean over pairs i < j of exp(-2 |x_i - x_j|^2), vectors of length 1 (Wang and Isola 2020, t
    = 2).

    x (n, dim), scaled to length 1 here; the value lies in [-8, 0], 0 being full collapse. `mode` "global" is
    over all pairs; "batched64" (D43; meant for first sentences in file order) is the mean of the logs of
    batches of 64, the last one dropped if it is not full. NaN with fewer than two vectors, or no full batch.
    """
    batches = [batch for batch in _batches(unit(x), mode) if len(batch) > 1]
    return float(np.mean([_log_potential(batch) for batch in batches])) if batches else float("nan")


def mean_of_7(scores: Sequence[float]) -> float:
    """The plain mean of the test sets' scores, unrounded; NaN if one is (D41)."""
    return float(np.mean(scores)) if len(scores) else float("nan")


def mean_of_8_rounded(scores: Sequence[float]) -> float:
    """The released selection score (D41): each score rounded to 2 decimals, their rounded mean appended, and
    the mean of all.

    With seven tests the value is a multiple of 0.00125 and differs from mean_of_7 by at most about 0.01. NaN
    if a score is.
    """
    if not len(scores):
        return float("nan")
    rounded = [float(f"{score:.2f}") for score in scores]  # as printed, then read back
    rounded.append(float(f"{sum(rounded) / len(rounded):.2f}"))
    return sum(rounded) / len(rounded)


def unit(x: Vectors) -> Vectors:
    """Rows scaled to length 1, float64; x (n, dim). NaN rows where the length is 0 or not finite."""
    if on_a_gpu(x):
        x = x.double()
        return x / x.norm(dim=1, keepdim=True)
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return x / np.linalg.norm(x, axis=1, keepdims=True)


def _batches(values: Vectors, mode: Mode) -> list[Vectors]:
    if mode == "global":
        return [values] if len(values) else []
    if mode != "batched64":
        raise ValueError(f"mode is {mode!r}")
    return [values[start : start + BATCH] for start in range(0, len(values) - BATCH + 1, BATCH)]


def _log_potential(x: Vectors) -> float:
    """log mean over i < j of exp(-2 |x_i - x_j|^2) of unit rows, by blocks: |x_i - x_j|^2 = 2 - 2 x_i .
    x_j."""
    total, pairs = 0.0, len(x) * (len(x) - 1) / 2
    if on_a_gpu(x):
        for start in range(0, len(x), _BLOCK):  # float64: a product in float32 may be TF32
            block = x[start : start + _BLOCK]
            potential = (4.0 * (block @ x[start:].T) - 4.0).exp()  # (block, rest)
            width = len(block)
            total += float(potential[:, :width].triu(1).sum() + potential[:, width:].sum())
        return float(np.log(total / pairs))
    if not np.isfinite(x).all():
        return float("nan")
    # Products in float32 (error about 1e-7), sums in float64.
    rows = x.astype(np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        potential = np.exp(4.0 * (block @ rows[start:].T) - 4.0)  # (block, rest)
        width = len(block)
        own = np.triu(potential[:, :width], k=1).sum(dtype=np.float64)
        total += own + potential[:, width:].sum(dtype=np.float64)
    return float(np.log(total / pairs))


def mean_cosine(vectors: Vectors) -> float:
    """Mean cosine over the pairs of different rows, in [-1 / (n - 1), 1]; 1 when all have one direction.
    vectors (n, dim).

    (|sum of the unit vectors|^2 - n) / (n (n - 1)): n of the n^2 products are a row with itself. NaN for
    fewer than two rows.
    """
    n = len(vectors)
    if n < 2:
        return float("nan")
    total = unit(vectors).sum(0)  # (dim,)
    return float((total @ total - n) / (n * (n - 1)))


def spread(vectors: np.ndarray) -> float:
    """1 - |mean of the unit vectors|^2, in [0, 1]; 0 when all sentences have one direction. vectors (n,
    dim)."""
    mean = unit(vectors).mean(0)  # (dim,)
    return float(1.0 - mean @ mean)


def effective_rank(vectors: np.ndarray) -> float:
    """In how many directions the unit vectors differ, from 1 to dim. vectors (n, dim).

    exp of the Shannon entropy of p_i = s_i^2 / sum of s^2, with s the singular values of the centred vectors
    of length 1. Roy and Vetterli (2007) take s_i / sum of s; squared, p are shares of variance. 1 if nothing
    is left after centring but rounding. Of a collapsed encoder it describes what little is left: read it
    beside the mean cosine.
    """
    units = unit(vectors)
    if not np.isfinite(units).all():
        return float("nan")
    centred = units - units.mean(0)
    variances = np.clip(np.linalg.eigvalsh(centred.T @ centred), 0.0, None)  # (dim,), squared singular values
    if variances.sum() <= NOTHING * len(units):
        return 1.0
    p = variances[variances > 0] / variances.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def singular_values(vectors: np.ndarray) -> np.ndarray:
    """Singular values of the sentence-vector matrix (n, dim), not centred, descending (MoCoSE, Figure 7)."""
    gram = vectors.T.astype(np.float64) @ vectors.astype(np.float64)  # (dim, dim)
    return np.sqrt(np.clip(np.linalg.eigvalsh(gram)[::-1], 0.0, None))


def mean_cosine_rows(vectors: Vectors, checkpoint: str, step: int) -> list[Row]:
    """The mean cosine as a row of task `dev`; none where a vector has no direction."""
    value = mean_cosine(vectors)
    return [Row(checkpoint, "dev", "mean_cosine", step, value)] if np.isfinite(value) else []


def direction_rows(vectors: np.ndarray, checkpoint: str, step: int) -> list[Row]:
    """Mean cosine and effective rank as rows of task `dev`; none where a vector has no direction."""
    rows = mean_cosine_rows(vectors, checkpoint, step)
    return [*rows, Row(checkpoint, "dev", "effective_rank", step, effective_rank(vectors))] if rows else []


def spectrum_rows(vectors: np.ndarray, checkpoint: str, step: int) -> list[Row]:
    """The singular values as rows of task `dev`, largest first; vectors (n, dim) are finite."""
    values = enumerate(singular_values(vectors))
    return [Row(checkpoint, "dev", f"singular_value_{i}", step, float(value)) for i, value in values]
