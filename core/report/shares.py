"""Claims about how many runs do something, such as collapse: each seed says yes or no, and the share that does is tested exactly.

A number of two kinds of runs has no normal mean: with three to five seeds of one kind Student's t sees no scatter at all. A value is
above zero for a run that does what the claim says, below zero for one that does not, and zero for one that tells neither; that more
than half of runs do is tested by the binomial distribution, where a run that tells neither counts against either side.
"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv

from core.spec.claim import HALF, ROUNDING


def told(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of the values along the last axis lie above zero, and how many below."""
    return (values > ROUNDING).sum(-1), (values < -ROUNDING).sum(-1)


def tail(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One-sided p over the last axis, of "not more than half lie above zero" and of "not fewer than half": P(B >= those above) and
    P(B <= those not below), B binomial of n and a half."""
    n, (more, less) = values.shape[-1], told(values)
    return bdtrc(more - 1, n, HALF), bdtr(n - less, n, HALF)


def bounds(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds of the share above zero, less a half, each at its own level; values (n,)."""
    n, (more, less) = len(values), told(values)
    least = float(betaincinv(more, n - more + 1, low)) if more else 0.0
    most = float(betaincinv(n - less + 1, less, 1 - high)) if less else 1.0
    return least - HALF, most - HALF
