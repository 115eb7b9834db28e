"""When a claim may be called settled: looks at fixed numbers of seeds, and the error spent at each.

Pure functions of numbers. A contrast's value under a seed is its weighted sum of cells minus the threshold, so that the claim says
"above zero". Every function of values takes them along the last axis, seeds 0 … n-1 in order, and any axes before (many made-up
studies at once, in the simulation). A study looks at n = 3, 5, 8, … seeds and nowhere else; look k spends SHARES[k] of 5 % on the
claims of the study together (Bonferroni over claims and looks), whatever else has run. A seed that is not there makes a p of 1, so
no choice of runs can make an error more likely.

Student's t asks that means of a few seeds be about normal. Skew that few seeds do not show breaks it: where a cell fails outright now
and then, its mean lies far from what healthy seeds say. `benchmarks/simulation.py` has that world: a failure in one run of fifty makes three
studies of four wrong, in one of ten one of five, in three of ten one of eighty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtr

from core.report import shares
from core.spec.claim import ROUNDING, Claim, Contrast, Predicate

LOOKS = (3, 5, 8, 12, 18, 27, 40, 60)  # seeds
SHARES = (0.02, 0.08, 0.15, 0.20, 0.20, 0.15, 0.10, 0.10)  # of ALPHA, by look
ALPHA = 0.05  # of studies that may have a wrong verdict
SETTLED: tuple[Settled, ...] = ("undecided", "supported", "contradicted", "equivalent")  # by code

Settled = Literal["undecided", "supported", "contradicted", "equivalent"]
Samples = Callable[[Contrast, int], np.ndarray | None]  # a contrast's values under seeds 0 … n-1; None if one is not there


class Tail(NamedTuple):
    """One-sided p of a contrast: `up` against "not above zero", `down` against "not below zero". 1 where it cannot be tested."""

    up: np.ndarray | float
    down: np.ndarray | float


class PValues(NamedTuple):
    """p of a claim: of its support, its contradiction, and its equivalence (1 for a claim with a margin of its own)."""

    sup: np.ndarray | float
    con: np.ndarray | float
    eq: np.ndarray | float


class Decision(NamedTuple):
    """What the looks say of a claim: at look `look` (counted from 0; -1: none is complete) with n seeds, and the p there.

    Where nothing is settled these are of the latest look that all its cells have reached.
    """

    outcome: Settled
    look: int
    n: int
    p: PValues


NO_TAIL = Tail(1.0, 1.0)
NO_P = PValues(1.0, 1.0, 1.0)


def alpha_at(look: int, claims: int) -> float:
    """The level of a claim's p at a look (counted from 0) in a study of so many claims: 0.05 * share / claims."""
    return ALPHA * SHARES[look] / claims


class Moments(NamedTuple):
    """Mean of a contrast's values and the error of that mean, over n seeds; NaN if a seed is missing."""

    mean: np.ndarray | float
    error: np.ndarray | float
    n: int


def moments(values: np.ndarray) -> Moments:
    """Mean and standard error over the last axis, sd / sqrt(n); errors below rounding are none. The error of one value is NaN."""
    values = np.asarray(values, dtype=float)  # (..., seeds)
    n = values.shape[-1]
    error = values.std(-1, ddof=1) / np.sqrt(n) if n > 1 else np.full(values.shape[:-1], np.nan)
    return Moments(values.mean(-1), np.where(error <= ROUNDING, 0.0, error), n)


def tails(values: np.ndarray, shift: float = 0.0) -> Tail:
    """Student's t of mean(values + shift) over the last axis, n - 1 degrees of freedom: up = P(T >= t), down = P(T <= t).

    1 and 1 with a NaN among the values, with fewer than two, or if all are zero. Values that do not scatter are told by their
    sign alone: 0 and 1.
    """
    return _tail(moments(values), shift)


def _tail(found: Moments, shift: float) -> Tail:
    mean = np.asarray(found.mean) + shift  # (...)
    mean = np.where(np.abs(mean) <= ROUNDING, 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / found.error  # ± inf without scatter, NaN for 0 / 0
    untold = np.isnan(t)
    return Tail(np.where(untold, 1.0, stdtr(found.n - 1, -t)), np.where(untold, 1.0, stdtr(found.n - 1, t)))


def p_values(predicate: Predicate, of: Callable[[Contrast], Tail]) -> tuple[np.ndarray, np.ndarray]:
    """(p_sup, p_con) of a predicate, given the tails of its contrasts; where u of m parts are needed, recursively

        p_sup = (m - u + 1) * (u-th smallest p_sup of the parts)        all of them: the largest
        p_con = u * ((m - u + 1)-th smallest p_con of the parts)        all of them: m times the smallest

    If fewer than u parts hold, at least m - u + 1 do not; u small p_sup then need one of these small, which Bonferroni over any
    m - u + 1 of them bounds, whatever their dependence. Contradiction is the mirror image.
    """
    if isinstance(predicate, Contrast):
        tail = of(predicate)
        return np.asarray(tail.up, dtype=float), np.asarray(tail.down, dtype=float)
    parts = [p_values(part, of) for part in predicate.parts]
    support, contradiction = (np.sort(np.stack(np.broadcast_arrays(*side)), axis=0) for side in zip(*parts, strict=True))  # (parts, ...)
    m, u = len(parts), predicate.needed
    return np.minimum(1.0, (m - u + 1) * support[u - 1]), np.minimum(1.0, u * contradiction[m - u])


def claim_p(claim: Claim, tail: Callable[[Contrast, float], Tail]) -> PValues:
    """p of a claim, given the tails of its contrasts with so much added to their values.

    p_eq = max(p_sup with every threshold lowered by the margin, p_con with every threshold raised by it): that the claim misses its
    threshold by no more than the margin is shown from both sides.
    """
    sup, con = p_values(claim.predicate, lambda contrast: tail(contrast, 0.0))
    margin = claim.margin
    if margin is None:
        return PValues(sup, con, np.ones_like(sup))
    low, _ = p_values(claim.predicate, lambda contrast: tail(contrast, margin))
    _, high = p_values(claim.predicate, lambda contrast: tail(contrast, -margin))
    return PValues(sup, con, np.maximum(low, high))


def on_values(values: Mapping[Contrast, np.ndarray | None]) -> Callable[[Contrast, float], Tail]:
    """The tails of contrasts with these values; None stands for missing seeds."""
    found = {contrast: None if one is None else tested(contrast, one) for contrast, one in values.items()}

    def tail(contrast: Contrast, shift: float) -> Tail:
        one = found[contrast]
        return NO_TAIL if one is None else one(shift)

    return tail


def tested(contrast: Contrast, values: np.ndarray) -> Callable[[float], Tail]:
    """The tails of a contrast's values plus a shift: Student's t, or of a share of runs the binomial distribution."""
    if contrast.of == "share":
        return lambda shift: Tail(*shares.tail(values + shift))
    found = moments(values)
    return lambda shift: _tail(found, shift)


def settled(p: PValues, level: float) -> np.ndarray:
    """The outcome at a level, as an index into SETTLED: supported, else contradicted, else equivalent, else undecided."""
    return np.select([np.asarray(p.sup) <= level, np.asarray(p.con) <= level, np.asarray(p.eq) <= level], [1, 2, 3], 0)


def decide(claim: Claim, samples: Samples, claims: int) -> Decision:
    """The first verdict on the way through the looks, up to the last that any of the claim's cells has reached; it stays."""
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    latest = Decision("undecided", -1, 0, NO_P)
    for look, n in enumerate(LOOKS):
        values = {contrast: samples(contrast, n) for contrast in contrasts}
        if all(one is None for one in values.values()):
            break
        p = PValues(*(float(one) for one in claim_p(claim, on_values(values))))
        outcome = SETTLED[int(settled(p, alpha_at(look, claims)))]
        if outcome != "undecided":
            return Decision(outcome, look, n, p)
        if not any(one is None for one in values.values()):
            latest = Decision("undecided", look, n, p)
    return latest
