"""How likely later seeds are to settle a claim: the order of `--resolve`'s work. No verdict uses it."""

from __future__ import annotations

import numpy as np

from core.report.contrasts import Readings
from core.report.sequential import LOOKS, alpha_at, claim_p, on_values, settled
from core.spec.claim import Claim

DRAWS = 200  # futures of a claim


def chances(claim: Claim, readings: Readings, claims: int) -> dict[int, float]:
    """The chance that an open claim is settled by each later check, by seeds; empty before the first check.

    A later seed repeats a stored seed or an earlier drawn one, each with the same chance (Polya's urn, the
    predictive distribution of the Bayesian bootstrap). Every comparison takes the same seeds, so they move
    together as in the stored runs. `claims` is the number of claims among which a check's level is divided.
    """
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    n = min(readings.seeds(contrast) for contrast in contrasts)
    if n < LOOKS[0]:
        return {}
    values = {contrast: readings.samples(contrast, n) for contrast in contrasts}  # each (n,)
    drawn = _urn(n, max(n, LOOKS[-1]))
    ended, found = np.zeros(DRAWS, dtype=bool), dict[int, float]()
    for look, seeds in enumerate(LOOKS):
        if seeds > n:
            places = drawn[:, :seeds]  # (draws, seeds)
            seen = {one: array[places] for one, array in values.items() if array is not None}
            ended |= settled(claim_p(claim, on_values(seen)), alpha_at(look, claims)) > 0
            found[seeds] = float(ended.mean())
    return found


def _urn(stored: int, seeds: int) -> np.ndarray:
    """Which stored seed each seed repeats (draws, seeds); the first `stored` are themselves."""
    generator = np.random.default_rng(0)
    drawn = np.tile(np.arange(seeds), (DRAWS, 1))
    for place in range(stored, seeds):
        drawn[:, place] = drawn[np.arange(DRAWS), generator.integers(0, place, DRAWS)]
    return drawn
