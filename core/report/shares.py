"""Claims about how many runs do something, such as collapse: each seed says yes or no, and the share that does is tested exactly.

A number of two kinds of runs has no normal mean: with three to five seeds of one kind Student's t sees no scatter at all. A value is
above zero for a run that does what the claim says, below zero for one that does not, and zero for one that tells neither; that more
than half of runs do is tested by the binomial distribution, where a run that tells neither counts against either side.
"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv, betaln, gammaln

from core.spec.claim import HALF, ROUNDING

JEFFREYS = 0.5  # of each kind of run, before any was seen


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


def chance(values: np.ndarray, n: int, level: float) -> float:
    """The chance that more than half are above zero at a level with n seeds, given these first ones: beta-binomial, from Jeffreys' prior."""
    there, more = len(values), int(told(values)[0])
    to_come, total = n - there, np.arange(n + 1)
    needed = int(np.argmax(np.append(bdtrc(total - 1.0, n, HALF), 0.0) <= level))  # n + 1 where no share would do
    a, b, more_to_come = more + JEFFREYS, there - more + JEFFREYS, np.arange(to_come + 1)
    ways = gammaln(to_come + 1) - gammaln(more_to_come + 1) - gammaln(to_come - more_to_come + 1)
    likely = np.exp(ways + betaln(more_to_come + a, to_come - more_to_come + b) - betaln(a, b))
    return float(likely[more_to_come >= needed - more].sum())
