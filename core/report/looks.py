"""When a claim is settled: checks at fixed numbers of seeds, and the error that each check spends.

Pure functions of numbers. A contrast's value under a seed is its weighted sum of cells minus the threshold,
so the claim says "above zero". Functions take values along the last axis, seeds 0 … n-1 in order, with any
axes before (many made-up studies at once, in the simulation). A study is checked at 3, 5, 8, … seeds and
nowhere else. Check k spends SHARES[k] of 5 % on the claims of the study together (Bonferroni over claims and
checks), whatever else has run. A seed that is missing makes a p of 1, so no choice of runs can make an error
more likely.

Student's t requires means of a few seeds to be about normal. Rare failures break that: where a cell fails
outright now and then, its mean lies far from what healthy seeds say. `benchmarks/simulation.py` has that
world: a failure in one run of fifty makes three studies of four wrong, in one of ten one of five, in three of
ten one of eighty.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv, ndtr, stdtr, stdtrit

from core.spec.claim import HALF, ROUNDING, Claim, Contrast, Predicate

LOOKS = (3, 5, 8, 12, 18, 27, 40, 60)  # seeds
SHARES = (0.02, 0.08, 0.15, 0.20, 0.20, 0.15, 0.10, 0.10)  # of ALPHA, by check
ALPHA = 0.05  # of studies that may have a wrong verdict
SETTLED: tuple[Settled, ...] = ("undecided", "supported", "contradicted", "equivalent")  # by code
NORMAL_MEAN = float(np.sqrt(2 / np.pi))  # mean of |z| of a normal z
NORMAL_SD = float(np.sqrt(1 - 2 / np.pi))  # its SD
GRID = np.linspace(-9.0, 9.0, 3601)

Settled = Literal["undecided", "supported", "contradicted", "equivalent"]
# a contrast's values under seeds 0 … n-1; None: one is missing
Samples = Callable[[Contrast, int], np.ndarray | None]
# one-sided p of a contrast: against "not above zero", and against "not below zero"; 1: no test
Tails = tuple[np.ndarray, np.ndarray]


class PValues(NamedTuple):
    """p of a claim: of its support, its contradiction, and its equivalence (1 for a claim with a margin of
    its own)."""

    sup: np.ndarray
    con: np.ndarray
    eq: np.ndarray


class Decision(NamedTuple):
    """What the checks say of a claim: at check `look` (from 0; -1: none is complete) with n seeds.

    An undecided claim has the latest check that all its cells have reached.
    """

    outcome: Settled
    look: int
    n: int


class Interval(NamedTuple):
    """The mean of a contrast over n seeds with its tested bounds; NaN where it is not tested."""

    effect: float
    low: float
    high: float
    n: int

    @property
    def distinguishable(self) -> bool:
        """Whether the bounds leave zero out."""
        return self.low > 0 or self.high < 0


def alpha_at(look: int, claims: int) -> float:
    """The level of a claim's p at a check (from 0) in a study of so many claims: 0.05 * share / claims."""
    return ALPHA * SHARES[look] / claims


def tails(contrast: Contrast, values: np.ndarray) -> Callable[[float], Tails]:
    """The tails of values plus a shift, over the last axis: Student's t with n - 1 degrees of freedom, or of
    a share of runs the binomial distribution.

    1 and 1 with a NaN among the values, or if all are zero. The sign alone decides on values that do not
    scatter: 0 and 1.
    """
    if contrast.of == "share":
        return lambda shift: share_tails(values + shift)
    n, mean = values.shape[-1], values.mean(-1)
    error = values.std(-1, ddof=1) / np.sqrt(n)
    error = np.where(error <= ROUNDING, 0.0, error)

    def of(shift: float) -> Tails:
        shifted = np.where(np.abs(mean + shift) <= ROUNDING, 0.0, mean + shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = shifted / error  # ± inf without scatter, NaN for 0 / 0
        up, down = (np.where(np.isnan(t), 1.0, stdtr(n - 1, side)) for side in (-t, t))
        return up, down

    return of


def tested(values: np.ndarray, low: float, high: float, share: bool = False) -> Interval:
    """The mean of values (n,) with the bounds that its two one-sided tests exclude beyond, each at its own
    level: t.isf(level, n - 1) * sd / sqrt(n) to each side, of a share of runs Clopper and Pearson's."""
    n, mean = len(values), float(values.mean())
    if share:
        return Interval(mean, *share_bounds(values, low, high), n)
    error = float(values.std(ddof=1)) / np.sqrt(n)
    below, above = (-float(stdtrit(n - 1, level)) * error for level in (low, high))
    return Interval(mean, mean - below, mean + above, n)


def p_values(predicate: Predicate, of: Callable[[Contrast], Tails]) -> Tails:
    """(p_sup, p_con) of a predicate, given the tails of its contrasts; where u of m parts are needed,
    recursively

        p_sup = (m - u + 1) * (u-th smallest p_sup of the parts)        all of them: the largest
        p_con = u * ((m - u + 1)-th smallest p_con of the parts)        all of them: m times the smallest

    If fewer than u parts hold, at least m - u + 1 do not; u small p_sup then need one of these small, which
    Bonferroni over any m - u + 1 of them bounds, whatever their dependence. Contradiction is the mirror
    image.
    """
    if isinstance(predicate, Contrast):
        return of(predicate)
    sides = zip(*(p_values(part, of) for part in predicate.parts), strict=True)
    # (parts, ...)
    support, contradiction = (np.sort(np.stack(np.broadcast_arrays(*side)), axis=0) for side in sides)
    m, u = len(predicate.parts), predicate.needed
    return np.minimum(1.0, (m - u + 1) * support[u - 1]), np.minimum(1.0, u * contradiction[m - u])


def leaves(
    predicate: Predicate, support: int = 1, contradiction: int = 1
) -> Iterator[tuple[Contrast, int, int]]:
    """Every contrast of a predicate with what its level is divided by there, as in
    `p_values`."""
    if isinstance(predicate, Contrast):
        yield predicate, support, contradiction
        return
    m, u = len(predicate.parts), predicate.needed
    for part in predicate.parts:
        yield from leaves(part, support * (m - u + 1), contradiction * u)


def claim_p(claim: Claim, values: Mapping[Contrast, np.ndarray | None]) -> PValues:
    """p of a claim, given the values of its contrasts; None stands for missing seeds.

    p_eq = max(p_sup with every threshold lowered by the margin, p_con with every threshold raised by it):
    that the claim misses its threshold by no more than the margin is shown from both sides.
    """
    one = np.ones(())
    of = {each: None if given is None else tails(each, given) for each, given in values.items()}

    def shifted(by: float) -> Tails:
        return p_values(claim.predicate, lambda each: (one, one) if (t := of[each]) is None else t(by))

    sup, con = shifted(0.0)
    if claim.margin is None:
        return PValues(sup, con, np.ones_like(sup))
    return PValues(sup, con, np.maximum(shifted(claim.margin)[0], shifted(-claim.margin)[1]))


def settled(p: PValues, level: float) -> np.ndarray:
    """The outcome at a level, as an index into SETTLED: supported, else contradicted, else equivalent, else
    undecided."""
    return np.select([side <= level for side in p], [1, 2, 3], 0)


def decide(claim: Claim, samples: Samples, claims: int) -> Decision:
    """The first verdict on the way through the checks, up to the last that any of the claim's cells has
    reached."""
    latest = Decision("undecided", -1, 0)
    for look, n in enumerate(LOOKS):
        values = {contrast: samples(contrast, n) for contrast in claim.predicate.contrasts()}
        missing = [one is None for one in values.values()]
        if all(missing):
            break
        outcome = SETTLED[int(settled(claim_p(claim, values), alpha_at(look, claims)))]
        if outcome != "undecided":
            return Decision(outcome, look, n)
        latest = latest if any(missing) else Decision("undecided", look, n)
    return latest


# Shares of runs that do something, such as collapse. A number of two kinds of runs has no normal mean: with
# three to five seeds of one kind Student's t sees no scatter at all. A value is above zero for a run that
# does what the claim says, below zero for a run that does not, and zero for a run that shows neither and
# counts against both sides.


def share_tails(values: np.ndarray) -> Tails:
    """One-sided p over the last axis that not more than half of the values lie above zero, and not fewer than
    half: P(B >= those above) and P(B <= those not below), B binomial of n and a half."""
    n, more, less = values.shape[-1], (values > ROUNDING).sum(-1), (values < -ROUNDING).sum(-1)
    return bdtrc(more - 1, n, HALF), bdtr(n - less, n, HALF)


def share_bounds(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds of the share above zero, less a half, each at its own level; values
    (n,)."""
    n, more, less = len(values), int((values > ROUNDING).sum()), int((values < -ROUNDING).sum())
    least = float(betaincinv(more, n - more + 1, low)) if more else 0.0
    most = float(betaincinv(n - less + 1, less, 1 - high)) if less else 1.0
    return least - HALF, most - HALF


# Scatter over seeds, as the mean absolute deviation from the median (Brown and Forsythe). Deviations from a
# sample's own median are too small in the mean (by 0.71 with three normal values), and where a cell scatters
# less than the claim's limit says, so does the error of its mean. Both would contradict claims too often;
# `scatter_by_seed` mends both, and `benchmarks/simulation.py` says how often they are wrong then.


@functools.cache
def correction(n: int) -> float:
    """What the mean absolute deviation of n normal values from their own median is multiplied with, to be the
    normal distribution's on the average; 1 for a single value.

    The sum of n values' deviations is the sum of their upper half less that of the lower; so its mean over n
    is 2 * integral of z phi(z) P(at least ceil(n / 2) of n - 1 others are below z).
    """
    if n < 2:
        return 1.0
    density = np.exp(-(GRID**2) / 2) / np.sqrt(2 * np.pi)
    below = bdtrc(-(-n // 2) - 1, n - 1, ndtr(GRID))
    return float(NORMAL_MEAN / (2 * np.trapezoid(GRID * density * below, GRID)))


def scatter_by_seed(values: np.ndarray, weights: np.ndarray, above: float) -> np.ndarray:
    """The weighted sum of cells' absolute deviations from their medians less `above`, by seed.

    values (..., cells, seeds) and weights (cells,) give (..., seeds). The mean is the contrast of scatters.
    The values lie around it so that its error is no smaller than that of normal values of which the contrast
    is 0: cells of the side that scatters too little get what is lacking, and cells of one side, which share
    seeds, count as moving together.
    """
    deviations = correction(values.shape[-1]) * np.abs(values - np.median(values, axis=-1, keepdims=True))
    sums = np.einsum("c,...cn->...n", weights, deviations) - above  # (..., seeds)
    mean = sums.mean(-1, keepdims=True)  # (..., 1)
    least = np.zeros_like(mean)  # the smallest variance
    for sign in (1, -1):
        side = np.maximum(sign * weights, 0.0)  # (cells,)
        lacking = np.maximum(0.0, -sign * mean) / max(float(side.sum()), ROUNDING)
        least += (side * (deviations.mean(-1) + lacking)).sum(-1, keepdims=True) ** 2
    sd = sums.std(-1, ddof=1, keepdims=True) if values.shape[-1] > 1 else np.zeros_like(mean)
    least = NORMAL_SD / NORMAL_MEAN * np.sqrt(least)
    return mean + (sums - mean) * np.maximum(1.0, least / np.where(sd > ROUNDING, sd, np.inf))
