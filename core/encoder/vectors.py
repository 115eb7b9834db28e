"""Sentence vectors, numpy arrays or tensors on a GPU, and their cosines."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from torch import Tensor

Vectors: TypeAlias = Any  # (n, dim): an array, or a tensor on a GPU
# what is not defined becomes NaN
undefined = np.errstate(invalid="ignore", divide="ignore", over="ignore")


def array(vectors: Vectors) -> np.ndarray:
    """Vectors or numbers as an array on the CPU."""
    return vectors.cpu().numpy() if isinstance(vectors, Tensor) else np.asarray(vectors)


def float64(x: Vectors) -> Vectors:
    return x.double() if isinstance(x, Tensor) else np.asarray(x, dtype=np.float64)


def _lengths(x: Vectors) -> Vectors:
    """The rows' lengths, (n, 1)."""
    return (x * x).sum(1, keepdims=True) ** 0.5


@undefined
def unit_vectors(x: Vectors) -> Vectors:
    """Rows scaled to length 1, float64; x (n, dim). NaN rows where the length is 0 or not
    finite."""
    x = float64(x)
    return x / _lengths(x)


@undefined
def cosines(x: Vectors, y: Vectors) -> np.ndarray:
    """x_i . y_i / (|x_i| |y_i|), row by row, float32.

    x, y (n, dim) -> (n,). Computed in float64 and rounded once, so that equal rows give exactly 1.
    NaN where a row is zero or not finite.
    """
    x = float64(x)
    y = float64(y)
    product = (x * y).sum(1) if isinstance(x, Tensor) else np.einsum("nd,nd->n", x, y)
    return array(product / (_lengths(x) * _lengths(y))[:, 0]).astype(np.float32)
