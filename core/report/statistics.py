"""Means, intervals and comparisons of cells over seeds: pure functions of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # scipy.stats has the same behind two seconds of imports

from core.report.looks import LOOKS, Interval, alpha_at, leaves, tested
from core.spec.claim import Claim, Contrast

Labels = tuple[str, ...]
LEAST_SEEDS = 5  # of a difference that a table may mark


class Estimate(NamedTuple):
    """A mean with its interval, in the unit of the values. `low`, `high` and `sd` are NaN where they are
    unknown."""

    mean: float
    low: float
    high: float
    n: int
    sd: float


NOT_TESTED = Interval(np.nan, np.nan, np.nan, 0)


def over_seeds(values: Sequence[float] | np.ndarray) -> Estimate:
    """Mean of n runs with mean ± t(0.975, n-1) * sd / sqrt(n); sd has n-1 below. One run has no interval."""
    n = len(values)
    mean = float(np.mean(values)) if n else np.nan
    if n < 2:
        return Estimate(mean, np.nan, np.nan, n, np.nan)
    sd = float(np.std(values, ddof=1))
    half = -float(stdtrit(n - 1, 0.025)) * sd / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, sd)


def comparisons(
    cells: Mapping[Labels, Mapping[int, float]], reference: Labels, claims: Sequence[Claim]
) -> dict[Labels, Interval]:
    """Each other cell's difference to the reference, paired by seed, with its tested interval.

    Where a claim compares the two cells, the interval is the claim's own at the latest check of both cells
    (the widest, where several claims do), so a figure and a verdict agree on whether zero lies inside. Other
    cells share 5 % among the table. Fewer than five seeds have an interval only where a claim's own leaves
    zero out.
    """
    differences = {}
    others = [labels for labels in cells if labels != reference]
    for labels in others:
        own, divisors = NOT_TESTED, divisors_of(labels, reference, claims)
        if divisors is not None:
            own = compared(cells[labels], cells[reference], divisors, len(claims))
        if own.n < LEAST_SEEDS and not own.distinguishable:
            own = paired(cells[labels], cells[reference], len(others))
        differences[labels] = own
    return differences


def paired(values: Mapping[int, float], reference: Mapping[int, float], pairs: int) -> Interval:
    """The tested interval of one of so many pairs in its table, at the latest check from five seeds on: at
    most one table in twenty has an interval that misses, at all checks together."""
    interval = compared(values, reference, (2, 2), pairs)
    return interval if interval.n >= LEAST_SEEDS else NOT_TESTED


def compared(
    values: Mapping[int, float], reference: Mapping[int, float], divisors: tuple[int, int], number: int
) -> Interval:
    """Values[seed] - reference[seed] at the latest check of both, with a level for each bound: that of one of
    so many claims or pairs, divided. Not tested before the first check."""
    reached = [
        (look, n)
        for look, n in enumerate(LOOKS)
        if all(seed in cell for cell in (values, reference) for seed in range(n))
    ]
    if not reached:
        return NOT_TESTED
    look, n = reached[-1]
    differences = np.array([values[seed] - reference[seed] for seed in range(n)])
    low, high = (alpha_at(look, number) / divisor for divisor in divisors)
    return tested(differences, low, high)


def divisors_of(labels: Labels, reference: Labels, claims: Sequence[Claim]) -> tuple[int, int] | None:
    """By what the claims that compare a pair divide its level, for the lower and the upper bound: the largest
    of each side. None if no claim compares it."""
    sides = [
        (support, contradiction) if contrast.terms[0].cell == labels else (contradiction, support)
        for claim in claims
        for contrast, support, contradiction in leaves(claim.predicate)
        if _is_pair(contrast, labels, reference)
    ]
    return (max(low for low, _ in sides), max(high for _, high in sides)) if sides else None


def _is_pair(contrast: Contrast, labels: Labels, reference: Labels) -> bool:
    """Whether a contrast is one of these cells minus the other, in what the table shows."""
    plain = contrast.metric is None and contrast.of == "value"
    weights = [term.weight for term in contrast.terms]
    return plain and weights == [1.0, -1.0] and {term.cell for term in contrast.terms} == {labels, reference}
