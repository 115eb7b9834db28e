"""The chance that an open claim is settled by seeds to come. It says what is worth a run, and never enters a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, ndtr, stdtrit

from core.report import shares
from core.report.forecast import forecast
from core.report.sequential import LOOKS, Samples, alpha_at, tested
from core.spec.claim import ROUNDING, Claim, Contrast, Predicate

PRIOR_SEEDS = 4  # that the noise study's SD counts for
FUTILE = 0.1  # a smaller chance at every look left is not worth a run
LEAST_KNOWN = 8  # seeds: fewer say too little of the chance for a claim to be given up
SHARES_OF_SIGMA = (np.arange(64) + 0.5) / 64  # quantiles at which an unknown SD is read


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


def chances(
    claim: Claim, samples: Samples, claims: int, seeds: Callable[[Contrast], int], prior: Callable[[Contrast], float | None]
) -> tuple[Chance, ...]:
    """The chance to be settled at each look that some of the claim's cells have not reached, on what is there now.

    `seeds` is how many seeds, from 0 on, a contrast has; `prior` the SD that its values should have by the noise study (None: not
    known). With n of them, mean x and SD s, a part reaches the level a at n_m seeds with the chance

        mean over sigma of Phi((x sqrt(n_m) - q s_m) / (sigma sqrt(n_m / n - 1))),   q = t.isf(a, n_m - 1)

    (the mean over n_m seeds, given x and no other knowledge of the effect). sigma is not known either: it is drawn as
    v / sigma^2 ~ chi^2_f / f, v = (4 prior^2 + (n - 1) s^2) / (n + 3) with f = n + 3 (without a prior v = s^2 and f = n - 1), and the
    SD at the look is s_m^2 = ((n - 1) s^2 + (n_m - n) sigma^2) / (n_m - 1). A part that has reached the look does or does not. Of parts
    the u-th largest chance of support counts and the (m - u + 1)-th largest of contradiction: as though they moved together.
    Equivalence takes both sides: max(0, one + other - 1), which is exact for a single contrast. Of claims of many comparisons the seeds to
    come are drawn (`core.report.forecast`), and the chance is that of being settled by then.
    """
    if (drawn := forecast(claim, samples, claims, seeds, prior)) is not None:
        return tuple(
            Chance(n, support, contradiction, None if claim.margin is None else equivalence)
            for n, support, contradiction, equivalence in drawn
        )
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
    """Whether eight seeds are there and the chance is below 0.1 at every look that is left. False while a chance is unknown; True if no
    look is left."""
    return all(one.n > LEAST_KNOWN and one.best is not None and one.best < FUTILE for one in found)


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
        tail = tested(contrast, values)(shift)
        return float((tail.up if sign > 0 else tail.down) <= level)
    values = samples(contrast, there) if there else None
    if values is None:
        return None
    if contrast.of == "share":
        return shares.chance(sign * (values + shift), n, level)
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
