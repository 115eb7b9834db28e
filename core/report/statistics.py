"""Means with intervals, and tests of claims at fixed numbers of seeds: pure functions of numbers.

A contrast's value under a seed is its weighted sum of cells minus the threshold, so the claim says
"above zero". Functions take values along the last axis, seeds 0 … n-1 in order, with any axes
before (many made-up studies at once, in the simulation). A study is checked at 3, 5, 8, … seeds and
nowhere else. The check at n seeds spends SHARES[n] of 5 % on the claims of the study together
(Bonferroni over claims and checks), whatever else has run. A seed that is missing makes a p of 1,
so no choice of runs can make an error more likely.

Student's t requires means of a few seeds to be about normal. Rare failures break that: where a cell
fails outright now and then, its mean lies far from what healthy seeds say.
`benchmarks/simulation.py` has that world: a failure in one run of fifty makes three studies of four
wrong, in one of ten one of five, in three of ten one of eighty.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy  # special (0.3 s) is imported at its first use; stats would take two seconds

from core.study.axes import Labels
from core.study.claim import HALF, ROUNDING, Claim, Contrast, Predicate, count_rules

ALPHA = 0.05  # of studies that may have a wrong verdict
# of ALPHA, by the number of seeds at a check
SHARES = {3: 0.02, 5: 0.08, 8: 0.15, 12: 0.20, 18: 0.20, 27: 0.15, 40: 0.10, 60: 0.10}
LOOKS = tuple(SHARES)
LEAST_SEEDS = 5  # of a difference that a table may mark
NORMAL_MEAN = float(np.sqrt(2 / np.pi))  # mean of |z| of a normal z
NORMAL_SD = float(np.sqrt(1 - 2 / np.pi))  # its SD
GRID = np.linspace(-9.0, 9.0, 3601)
AT_A_TIME = 100  # resamples: 3 MB an array with 4,000 pairs

Settled = Literal["undecided", "supported", "contradicted", "equivalent"]
CODED: tuple[Settled, ...] = get_args(Settled)  # by code
SETTLED_OUTCOMES = CODED[1:]
# one-sided p of a contrast: against "not above zero", and against "not below zero"; 1: no test
Tails = tuple[np.ndarray, np.ndarray]
NO_TEST: Tails = (np.ones(()), np.ones(()))


class Estimate(NamedTuple):
    """The mean of n values with its bounds and SD, in the unit of the values; NaN where they are
    unknown."""

    mean: float
    low: float
    high: float
    n: int
    sd: float

    @property
    def distinguishable(self) -> bool:
        """Whether the bounds leave zero out."""
        return self.low > 0 or self.high < 0


def over_seeds(
    values: Sequence[float] | np.ndarray | None,
    low: float = 0.025,
    high: float = 0.025,
    share: bool = False,
) -> Estimate:
    """The mean of values (n,) with the bounds of one-sided tests at these levels; by default its 95
    % interval. Bounds lie t.isf(level, n - 1) * sd / sqrt(n) to each side, where sd has n - 1
    below; those of a share of runs are Clopper and Pearson's. One value has no bounds; None stands
    for no values."""
    values = np.asarray(() if values is None else values, dtype=float)
    n = len(values)
    mean = float(values.mean()) if n else np.nan
    if n < 2:
        return Estimate(mean, np.nan, np.nan, n, np.nan)
    sd = float(values.std(ddof=1))
    if share:
        return Estimate(mean, *share_bounds(values, low, high), n, sd)
    below = float(scipy.special.stdtrit(n - 1, low)) * sd / np.sqrt(n)
    above = float(scipy.special.stdtrit(n - 1, high)) * sd / np.sqrt(n)
    return Estimate(mean, mean + below, mean - above, n, sd)


NOT_TESTED = over_seeds(())


def alpha_at(n: int, claims: int) -> float:
    """The level of a claim's p at the check with n seeds, in a study of so many claims: 0.05 *
    share / claims. At other numbers of seeds it is 0."""
    return ALPHA * SHARES.get(n, 0.0) / claims


def tails(contrast: Contrast, values: np.ndarray, shift: float = 0.0) -> Tails:
    """The tails of values plus a shift, over the last axis: Student's t with n - 1 degrees of
    freedom, or of a share of runs the binomial distribution.

    1 and 1 with a NaN among the values, or if all are zero. The sign alone decides on values that
    do not scatter: 0 and 1.
    """
    if contrast.of == "share":
        return share_tails(values + shift)
    n = values.shape[-1]
    mean = _without_rounding(values.mean(-1) + shift)
    error = _without_rounding(values.std(-1, ddof=1) / np.sqrt(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / error  # ± inf without scatter, NaN for 0 / 0
    no_test = np.isnan(t)
    above = scipy.special.stdtr(n - 1, -t)
    below = scipy.special.stdtr(n - 1, t)
    return np.where(no_test, 1.0, above), np.where(no_test, 1.0, below)


def _without_rounding(numbers: np.ndarray) -> np.ndarray:
    """Numbers with 0 in the place of what rounding leaves."""
    return np.where(np.abs(numbers) <= ROUNDING, 0.0, numbers)


def p_values(predicate: Predicate, of: Callable[[Contrast], Tails]) -> Tails:
    """(p_sup, p_con) of a predicate, given the tails of its contrasts; where u of m parts are
    needed, recursively

        p_sup = (m - u + 1) * (u-th smallest p_sup of the parts)    all: the largest
        p_con = u * ((m - u + 1)-th smallest p_con of the parts)    all: m times the smallest

    If fewer than u parts hold, at least m - u + 1 do not; u small p_sup then need one of these
    small, which Bonferroni over any m - u + 1 of them bounds, whatever their dependence.
    Contradiction is the mirror image.
    """
    if isinstance(predicate, Contrast):
        return of(predicate)
    sides = zip(*(p_values(part, of) for part in predicate.parts), strict=True)
    support, contradiction = (  # (parts, ...)
        np.sort(np.stack(np.broadcast_arrays(*side)), axis=0) for side in sides
    )
    m = len(predicate.parts)
    u = predicate.needed
    return np.minimum(1.0, (m - u + 1) * support[u - 1]), np.minimum(1.0, u * contradiction[m - u])


def leaves(predicate: Predicate, sup: int = 1, con: int = 1) -> list[tuple[Contrast, int, int]]:
    """Every contrast of a predicate with what its level is divided by there, as in `p_values`."""
    if isinstance(predicate, Contrast):
        return [(predicate, sup, con)]
    m = len(predicate.parts)
    u = predicate.needed
    below = []
    for part in predicate.parts:
        below += leaves(part, sup * (m - u + 1), con * u)
    return below


def claim_p(claim: Claim, values: Mapping[Contrast, np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """p of a claim's support, its contradiction and its equivalence (1 for a claim with a margin of
    its own), given the values of its contrasts; None stands for missing seeds.

    p_eq = max(p_sup with every threshold lowered by the margin, p_con with every threshold raised
    by it): that the claim misses its threshold by no more than the margin is shown from both sides.
    """

    def shifted(by: float) -> Tails:
        def of(contrast: Contrast) -> Tails:
            seeds = values[contrast]
            return NO_TEST if seeds is None else tails(contrast, seeds, by)

        return p_values(claim.predicate, of)

    sup, con = shifted(0.0)
    if claim.margin is None:
        return sup, con, np.ones_like(sup)
    return sup, con, np.maximum(shifted(claim.margin)[0], shifted(-claim.margin)[1])


def settled(p: Sequence[np.ndarray], level: float) -> np.ndarray:
    """The outcome at a level, as an index into CODED: supported, else contradicted, else
    equivalent, else undecided."""
    return np.select([side <= level for side in p], [1, 2, 3], 0)


def decide(
    claim: Claim, samples: Callable[[Contrast, int], np.ndarray | None], claims: int
) -> tuple[Settled, int]:
    """The outcome of a claim, of so many in its study, and the number of seeds at its check. The
    first verdict on the way through the checks stays; an undecided claim has the latest check that
    all its cells have reached (0: none).

    `samples` gives a contrast's values under seeds 0 … n-1; None if one is missing.
    """
    latest = 0
    for n in LOOKS:
        values = {contrast: samples(contrast, n) for contrast in claim.predicate.contrasts()}
        missing = [seeds is None for seeds in values.values()]
        if all(missing):
            break
        outcome = CODED[int(settled(claim_p(claim, values), alpha_at(n, claims)))]
        if outcome != "undecided":
            return outcome, n
        if not any(missing):
            latest = n
    return "undecided", latest


def comparisons(
    cells: Mapping[Labels, Mapping[int, float]], reference: Labels, claims: Sequence[Claim]
) -> dict[Labels, Estimate]:
    """Each other cell's difference to the reference, paired by seed, at the latest check that both
    have reached, with its tested interval.

    Where a claim compares the two cells, the interval is the claim's own (the widest, where several
    claims do), so a figure and a verdict agree on whether zero lies inside. Other cells share 5 %
    among the table: at most one table in twenty has an interval that misses, at all checks
    together. Fewer than five seeds have an interval only where a claim's own leaves zero out.
    """
    tested = {}
    others = [labels for labels in cells if labels != reference]
    for labels in others:
        values = cells[labels]
        base = cells[reference]
        by_claims = divisors(labels, reference, claims)
        seeds = next(seed for seed in itertools.count() if seed not in values or seed not in base)
        n = max((n for n in LOOKS if n <= seeds), default=0)
        sup, con = by_claims or (2, 2)
        level = alpha_at(n, count_rules(claims) if by_claims else len(others))
        paired = [values[seed] - base[seed] for seed in range(n)]
        difference = over_seeds(paired, level / sup, level / con)
        shown = n >= LEAST_SEEDS or (by_claims and difference.distinguishable)
        tested[labels] = difference if shown else NOT_TESTED
    return tested


def divisors(labels: Labels, reference: Labels, claims: Sequence[Claim]) -> tuple[int, int] | None:
    """By what the claims that compare a pair in what the table shows divide its level, for the
    lower and the upper bound: the largest of each side. None if no claim compares it."""
    sides = []
    for claim in claims:
        for contrast, sup, con in leaves(claim.predicate):
            if {*contrast.pair} == {labels, reference}:
                is_above = (contrast.pair[0] == labels) == (contrast.side == "above")
                sides.append((sup, con) if is_above else (con, sup))
    if not sides:
        return None
    lower, upper = map(max, zip(*sides, strict=True))
    return lower, upper


# Shares of runs that do something, such as collapse. A number of two kinds of runs has no normal
# mean: with three to five seeds of one kind Student's t sees no scatter at all. A value is above
# zero for a run that does what the claim says, below zero for a run that does not, and zero for a
# run that shows neither and counts against both sides.


def share_tails(values: np.ndarray) -> Tails:
    """One-sided p over the last axis that not more than half of the values lie above zero, and not
    fewer than half: P(B >= those above) and P(B <= those not below), B binomial of n and a half."""
    n = values.shape[-1]
    more = (values > ROUNDING).sum(-1)
    less = (values < -ROUNDING).sum(-1)
    return scipy.special.bdtrc(more - 1, n, HALF), scipy.special.bdtr(n - less, n, HALF)


def share_bounds(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds of the share above zero, less a half, each at its own level;
    values (n,)."""
    n = len(values)
    more = int((values > ROUNDING).sum())
    less = int((values < -ROUNDING).sum())
    least = float(scipy.special.betaincinv(more, n - more + 1, low)) if more else 0.0
    most = float(scipy.special.betaincinv(n - less + 1, less, 1 - high)) if less else 1.0
    return least - HALF, most - HALF


# Scatter over seeds, as the mean absolute deviation from the median (Brown and Forsythe).
# Deviations from a sample's own median are too small in the mean (by 0.71 with three normal
# values), and where a cell scatters less than the claim's limit says, so does the error of its
# mean. Both would contradict claims too often; `scatter_by_seed` mends both, and
# `benchmarks/simulation.py` says how often they are wrong then.


@functools.cache
def correction(n: int) -> float:
    """What the mean absolute deviation of n normal values from their own median is multiplied with,
    to be the normal distribution's on the average; 1 for a single value.

    The sum of n values' deviations is the sum of their upper half less that of the lower; so its
    mean over n is 2 * integral of z phi(z) P(at least ceil(n / 2) of n - 1 others are below z).
    """
    if n < 2:
        return 1.0
    density = np.exp(-(GRID**2) / 2) / np.sqrt(2 * np.pi)
    below = scipy.special.bdtrc(-(-n // 2) - 1, n - 1, scipy.special.ndtr(GRID))
    return float(NORMAL_MEAN / (2 * np.trapezoid(GRID * density * below, GRID)))


def scatter_by_seed(values: np.ndarray, weights: np.ndarray, above: float) -> np.ndarray:
    """The weighted sum of cells' absolute deviations from their medians less `above`, by seed.

    values (..., cells, seeds) and weights (cells,) give (..., seeds). The mean is the contrast of
    scatters. The values lie around it so that its error is no smaller than that of normal values of
    which the contrast is 0: cells of the side that scatters too little get what is lacking, and
    cells of one side, which share seeds, count as moving together.
    """
    deviations = correction(values.shape[-1]) * np.abs(
        values - np.median(values, axis=-1, keepdims=True)
    )
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


# The pairs of a test set are a sample, too, which seeds do not show: a bootstrap over pairs.


def paired_bootstrap(
    gold: np.ndarray, a: np.ndarray, b: np.ndarray, resamples: int = 2000, seed: int = 0
) -> np.ndarray:
    """Spearman x 100 of a less that of b over resampled pairs of one set, (resamples,): the
    quantiles at 2.5 and 97.5 % are the bounds of the difference.

    gold, and the cosines a and b: (pairs,). A pair is drawn with its gold score and both cosines.
    Each set needs another seed. NaN where a resample has no rank correlation.
    """
    random = np.random.default_rng(seed)
    differences = []
    for start in range(0, resamples, AT_A_TIME):
        drawn = random.integers(0, len(gold), (min(AT_A_TIME, resamples - start), len(gold)))
        counts = np.stack([np.bincount(row, minlength=len(gold)) for row in drawn], axis=1)
        of_gold = _ranks(gold, counts)  # (pairs, block)
        length = (counts * of_gold**2).sum(0)
        scores = []
        for cosines in (a, b):
            ranks = _ranks(cosines, counts)
            with np.errstate(divide="ignore", invalid="ignore"):
                product = (counts * of_gold * ranks).sum(0)
                scores.append(product / np.sqrt(length * (counts * ranks**2).sum(0)))
        differences.append(100.0 * (scores[0] - scores[1]))
    return np.concatenate(differences)


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Ranks of values (pairs,) less their mean, each counted as `counts` (pairs, block) has it;
    ties share their mean rank. NaN throughout where a value is not finite."""
    order = np.argsort(values)
    _, firsts, place = np.unique(values[order], return_index=True, return_inverse=True)
    tied = np.add.reduceat(counts[order], firsts)  # (distinct values, block)
    ranks = np.empty(counts.shape)
    ranks[order] = (np.cumsum(tied, axis=0) - (tied - 1) / 2)[place]
    return ranks - (len(values) + 1) / 2 + 0.0 * values.sum()
