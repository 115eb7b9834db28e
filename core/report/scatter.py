"""Scatter over seeds as a number that a claim can be tested on: the mean absolute deviation from the median, after Brown and Forsythe.

Deviations from a sample's own median are too small in the mean (by 0.71 with three normal values, 0.98 with forty), and where a cell scatters less
than the claim's limit says, so does the error of its mean. Both would contradict claims too often: `by_seed` mends both, and
`benchmarks/simulation.py` says how often they are wrong then.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import bdtrc, ndtr

from core.spec.claim import ROUNDING

NORMAL_MEAN = float(np.sqrt(2 / np.pi))  # mean of |z| of a normal z
NORMAL_SD = float(np.sqrt(1 - 2 / np.pi))  # its SD
GRID = np.linspace(-9.0, 9.0, 3601)


@functools.cache
def correction(n: int) -> float:
    """What the mean absolute deviation of n normal values from their own median is to be multiplied with, for that of the normal
    distribution on the average; 1 for a single value, which has none.

    The n values' sum of deviations is the sum of their upper half less that of the lower; so its mean over n is
    2 * integral of z phi(z) P(at least ceil(n / 2) of n - 1 others are below z).
    """
    if n < 2:
        return 1.0
    density = np.exp(-(GRID**2) / 2) / np.sqrt(2 * np.pi)
    found = 2 * np.trapezoid(GRID * density * bdtrc(-(-n // 2) - 1, n - 1, ndtr(GRID)), GRID)
    return float(NORMAL_MEAN / found)


def by_seed(values: np.ndarray, weights: np.ndarray, above: float) -> np.ndarray:
    """The weighted sum of cells' absolute deviations from their medians less `above`, by seed: values (..., cells, seeds) and weights
    (cells,) give (..., seeds). The mean is the contrast of scatters; values lie around it so that its error is no smaller
    than that of normal values of which the contrast is 0: cells of the side that scatters too little have what is lacking, too, and
    cells of one side, which share their seeds, count as though they moved together."""
    deviations = correction(values.shape[-1]) * np.abs(values - np.median(values, axis=-1, keepdims=True))  # (..., cells, seeds)
    found = np.einsum("c,...cn->...n", weights, deviations) - above  # (..., seeds)
    mean = found.mean(-1, keepdims=True)  # (..., 1)
    more, less = (max(float(np.abs(weights[side]).sum()), ROUNDING) for side in (weights > 0, weights < 0))
    lacking = np.where(weights > 0, np.maximum(0.0, -mean) / more, np.maximum(0.0, mean) / less)  # (..., cells)
    limit = deviations.mean(-1) + lacking
    sides = ((weights * limit * side).sum(-1, keepdims=True) for side in (weights > 0, weights < 0))  # each (..., 1)
    least = NORMAL_SD / NORMAL_MEAN * np.sqrt(sum(side**2 for side in sides))
    sd = found.std(-1, ddof=1, keepdims=True) if values.shape[-1] > 1 else np.zeros_like(mean)
    return mean + (found - mean) * np.maximum(1.0, least / np.where(sd > ROUNDING, sd, np.inf))
