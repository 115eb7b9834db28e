"""When a claim may be called settled: looks at fixed numbers of seeds, the error spent at each, and the chance to settle later.

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
from scipy.special import chdtri, ndtr, stdtr, stdtrit

from core.spec.claim import Claim, Contrast, Predicate

LOOKS = (3, 5, 8, 12, 18, 27, 40, 60)  # seeds
SHARES = (0.02, 0.08, 0.15, 0.20, 0.20, 0.15, 0.10, 0.10)  # of ALPHA, by look
ALPHA = 0.05  # of studies that may have a wrong verdict
SETTLED: tuple[Settled, ...] = ("undecided", "supported", "contradicted", "equivalent")  # by code
PRIOR_SEEDS = 4  # that the noise study's SD counts for
FUTILE = 0.1  # a smaller chance at every look left is not worth a run
SHARES_OF_SIGMA = (np.arange(64) + 0.5) / 64  # quantiles at which an unknown SD is read
ROUNDING = 1e-9  # of sums of stored numbers: less is no difference

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


class Chance(NamedTuple):
    """The chance to settle at a later look with n seeds, each way; None if a cell has no run."""

    n: int
    support: float | None
    contradiction: float | None
    equivalence: float | None

    @property
    def best(self) -> float | None:
        """The largest of the three; None if none is known."""
        return max((one for one in self[1:] if one is not None), default=None)


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
    found = {contrast: None if one is None else moments(one) for contrast, one in values.items()}

    def tail(contrast: Contrast, shift: float) -> Tail:
        one = found[contrast]
        return NO_TAIL if one is None else _tail(one, shift)

    return tail


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


def chances(
    claim: Claim, samples: Samples, claims: int, seeds: Callable[[Contrast], int], prior: Callable[[Contrast], float | None]
) -> tuple[Chance, ...]:
    """The chance to settle at each look that some of the claim's cells have not reached, on what is there now.

    `seeds` is how many seeds, from 0 on, a contrast has; `prior` the SD that its values should have by the noise study (None: not
    known). With n of them, mean x and SD s, a part reaches the level a at n_m seeds with the chance

        mean over sigma of Phi((x sqrt(n_m) - q s_m) / (sigma sqrt(n_m / n - 1))),   q = t.isf(a, n_m - 1)

    (the mean over n_m seeds, given x and no other knowledge of the effect). sigma is not known either: it is drawn as
    v / sigma^2 ~ chi^2_f / f, v = (4 prior^2 + (n - 1) s^2) / (n + 3) with f = n + 3 (without a prior v = s^2 and f = n - 1), and the
    SD at the look is s_m^2 = ((n - 1) s^2 + (n_m - n) sigma^2) / (n_m - 1). A part that has reached the look does or does not. Of parts
    the u-th largest chance of support counts and the (m - u + 1)-th largest of contradiction: as though they moved together.
    Equivalence takes both sides: max(0, one + other - 1), which is exact for a single contrast.
    """
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    there = {contrast: seeds(contrast) for contrast in contrasts}
    found = []
    for look, n in enumerate(LOOKS):
        if all(have >= n for have in there.values()):
            continue

        def ways(shift: float, look: int = look, n: int = n) -> tuple[float | None, float | None]:
            def reach(contrast: Contrast, sign: int, level: float) -> float | None:
                return _reach(contrast, sign, level, shift, n, there[contrast], samples, prior)

            level = alpha_at(look, claims)
            return _joined(claim.predicate, 1, level, reach), _joined(claim.predicate, -1, level, reach)

        support, contradiction = ways(0.0)
        one, other = (ways(claim.margin)[0], ways(-claim.margin)[1]) if claim.margin is not None else (None, None)
        found.append(Chance(n, support, contradiction, None if one is None or other is None else max(0.0, one + other - 1.0)))
    return tuple(found)


def futile(found: tuple[Chance, ...]) -> bool:
    """Whether the chance is below 0.1 at every look that is left. False while a chance is unknown; True if no look is left."""
    return all(one.best is not None and one.best < FUTILE for one in found)


def _joined(predicate: Predicate, sign: int, level: float, reach: Callable[[Contrast, int, float], float | None]) -> float | None:
    """The chance that a predicate's p_sup (sign 1) or p_con (-1) reaches a level: that of the part on which it turns."""
    if isinstance(predicate, Contrast):
        return reach(predicate, sign, level)
    m, u = len(predicate.parts), predicate.needed
    needed = u if sign > 0 else m - u + 1
    parts = [_joined(part, sign, level / (m - needed + 1), reach) for part in predicate.parts]
    known = [part for part in parts if part is not None]
    return sorted(known, reverse=True)[needed - 1] if len(known) == m else None


def _reach(
    contrast: Contrast,
    sign: int,
    level: float,
    shift: float,
    n: int,
    there: int,
    samples: Samples,
    prior: Callable[[Contrast], float | None],
) -> float | None:
    """The chance that a contrast's tail is at most `level` with n seeds; 0 or 1 if these seeds are stored; None without a run or a
    scatter."""
    values = samples(contrast, n) if there >= n else None
    if values is not None:
        tail = tails(values, shift)
        return float((tail.up if sign > 0 else tail.down) <= level)
    values = samples(contrast, there) if there else None
    if values is None:
        return None
    spread = shrunk(values, prior(contrast))
    if spread is None:
        return None
    distance = sign * (float(np.mean(values)) + shift)
    if spread <= ROUNDING:
        return float(distance > ROUNDING)
    freedom = there - 1 + (PRIOR_SEEDS if prior(contrast) is not None else 0)
    sigma = spread * np.sqrt(freedom / chdtri(freedom, SHARES_OF_SIGMA))  # (64,), equally likely
    then = np.sqrt(((there - 1) * np.var(values, ddof=min(1, there - 1)) + (n - there) * sigma**2) / (n - 1))
    quantile = -stdtrit(n - 1, level)
    return float(ndtr((distance * np.sqrt(n) - quantile * then) / (sigma * np.sqrt(n / there - 1))).mean())


def shrunk(values: np.ndarray, prior: float | None) -> float | None:
    """SD of a contrast drawn towards the noise study's, which counts as four seeds: sqrt((4 prior^2 + (n - 1) s^2) / (n + 3)).

    Without a prior it is the contrast's own SD; None for a single value without a prior.
    """
    n = len(values)
    own = float(np.var(values, ddof=1)) if n > 1 else 0.0
    if prior is None:
        return float(np.sqrt(own)) if n > 1 else None
    return float(np.sqrt((PRIOR_SEEDS * prior**2 + (n - 1) * own) / (n + PRIOR_SEEDS - 1)))
