"""A cell against its reference. A verdict on the same pair is tested with the same interval; tables and figures show no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from core.report.sequential import LOOKS, alpha_at, moments
from core.report.statistics import LEAST_SEEDS, Comparison, against_reference
from core.spec.claim import Claim, Contrast, Predicate

Labels = tuple[str, ...]
Values = Mapping[Labels, Mapping[int, float]]  # by cell and seed


class Divisors(NamedTuple):
    """By what a claim's level is divided at a pair of cells: for the lower and for the upper bound of their difference."""

    low: int
    high: int


def comparisons(cells: Values, reference: Labels, claims: Sequence[Claim]) -> dict[Labels, Comparison]:
    """Each other cell's difference to the reference, paired by seed, with its interval.

    Where a claim compares the two cells, the interval is the one that the claim is tested with at the latest look of both (the widest,
    where several do): whoever sees zero outside it in a figure finds the same in the verdict. Other cells share 5 % among the table
    (`core.report.statistics`). Three seeds tell a pair only as a claim does; else their interval assumes equal scatter.
    """
    found = dict(against_reference(cells, reference))
    for labels in found:
        by = divisors(labels, reference, claims)
        tested = None if by is None else _tested(cells[labels], cells[reference], by, len(claims))
        if tested is not None and (tested.n >= LEAST_SEEDS or tested.distinguishable):
            found[labels] = tested
    return found


def divisors(labels: Labels, reference: Labels, claims: Sequence[Claim]) -> Divisors | None:
    """How a pair's level is divided in the claims that compare the pair, the largest of each side; None if no claim compares it."""
    sides = [
        Divisors(support, contradiction) if contrast.terms[0].cell == labels else Divisors(contradiction, support)
        for claim in claims
        for contrast, support, contradiction in _leaves(claim.predicate)
        if _is_pair(contrast, labels, reference)
    ]
    return Divisors(max(one.low for one in sides), max(one.high for one in sides)) if sides else None


def _leaves(predicate: Predicate, support: int = 1, contradiction: int = 1) -> Iterator[tuple[Contrast, int, int]]:
    """Every contrast of a predicate with what its level is divided by there, as in `core.report.sequential.p_values`."""
    if isinstance(predicate, Contrast):
        yield predicate, support, contradiction
        return
    m, u = len(predicate.parts), predicate.needed
    for part in predicate.parts:
        yield from _leaves(part, support * (m - u + 1), contradiction * u)


def _is_pair(contrast: Contrast, labels: Labels, reference: Labels) -> bool:
    """Whether a contrast is one of these cells minus the other, in what the table shows."""
    plain = contrast.metric is None and contrast.of == "value" and [term.weight for term in contrast.terms] == [1.0, -1.0]
    return plain and {term.cell for term in contrast.terms} == {labels, reference}


def _tested(values: Mapping[int, float], reference: Mapping[int, float], by: Divisors, claims: int) -> Comparison | None:
    """mean -+ t.isf(level / divisor, n - 1) * sd / sqrt(n) at the latest look that both cells have reached; None before the first."""
    reached = [k for k, n in enumerate(LOOKS) if all(seed in values and seed in reference for seed in range(n))]
    if not reached:
        return None
    look, n = reached[-1], LOOKS[reached[-1]]
    found = moments(np.array([values[seed] - reference[seed] for seed in range(n)]))
    mean, error, level = float(found.mean), float(found.error), alpha_at(look, claims)
    low, high = (-float(stdtrit(n - 1, level / divisor)) * error for divisor in by)
    return Comparison(mean, mean - low, mean + high, n, "own")
