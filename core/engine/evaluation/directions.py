"""How sentence vectors spread over directions: numbers that show collapse without graded pairs.

All of them are of the distinct development sentences. They are computed in float64 from float32 vectors; where a vector has no
direction (zero, or not finite) they are NaN.
"""

from __future__ import annotations

import numpy as np

from core.engine.evaluation.metrics import Vectors, unit
from core.spec.result import Row

NOTHING = float(np.finfo(np.float32).eps) ** 2  # a mean squared distance of unit vectors that is rounding of float32


def mean_cosine(vectors: Vectors) -> float:
    """Mean cosine over the pairs of different rows, in [-1 / (n - 1), 1]; 1 when all have one direction. vectors (n, dim).

    (|sum of the unit vectors|^2 - n) / (n (n - 1)): n of the n^2 products are a row with itself. NaN for fewer than two rows.
    """
    n = len(vectors)
    if n < 2:
        return float("nan")
    total = unit(vectors).sum(0)  # (dim,)
    return float((total @ total - n) / (n * (n - 1)))


def spread(vectors: np.ndarray) -> float:
    """1 - |mean of the unit vectors|^2, in [0, 1]; 0 when all sentences have one direction. vectors (n, dim)."""
    mean = unit(vectors).mean(0)  # (dim,)
    return float(1.0 - mean @ mean)


def effective_rank(vectors: np.ndarray) -> float:
    """In how many directions the unit vectors differ, from 1 to dim. vectors (n, dim).

    exp of the Shannon entropy of p_i = s_i^2 / sum of s^2, with s the singular values of the centred vectors of length 1. Roy and
    Vetterli (2007) take s_i / sum of s; squared, p are shares of variance. 1 if nothing is left after centring but rounding. Of a
    collapsed encoder it describes what little is left: read it beside the mean cosine.
    """
    units = unit(vectors)
    if not np.isfinite(units).all():
        return float("nan")
    centred = units - units.mean(0)
    variances = np.clip(np.linalg.eigvalsh(centred.T @ centred), 0.0, None)  # (dim,), squares of the singular values
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
    return [Row(checkpoint, "dev", f"singular_value_{i}", step, float(v)) for i, v in enumerate(singular_values(vectors))]
