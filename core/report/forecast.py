"""Whether a claim of many comparisons will be settled, by drawing the seeds to come for all its cells together.

Such a claim turns on the weakest of its comparisons, and the weakest of many is low by its noise as well as by its effect. So the cells'
means are drawn towards each other first, by as much as their scatter explains of their differences, and a claim counts as
settled by a look if any look up to it settles it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from core.report.sequential import LOOKS, Samples, alpha_at, claim_p, on_values, settled
from core.spec.claim import Claim, Contrast, Term

DRAWS = 400
LEAST_CONTRASTS = 3  # with fewer there is hardly a weakest
LEAST_CELLS = 3  # that are drawn together: of two there is no telling how far apart they are by nature
WEIGHT = 4  # seeds that all cells' variance counts for in each cell's own
ENOUGH = 8  # degrees of freedom: with fewer the noise study's variance, of which seeds share a part, makes up for the rest
OUTCOMES = (1, 2, 3)  # supported, contradicted, equivalent, as `settled` numbers them


class Cells(NamedTuple):
    """What is known of a claim's cells: their values, NaN where a seed is to come (cells, seeds of the last look); means and squared errors
    of these; the variance of a run, each cell's own and what seeds share, and the degrees of freedom that these are known to."""

    values: np.ndarray
    means: np.ndarray
    errors: np.ndarray
    own: np.ndarray
    shared: float
    freedom: int


def forecast(
    claim: Claim, samples: Samples, claims: int, seeds: Callable[[Contrast], int], prior: Callable[[Contrast], float | None]
) -> list[tuple[int, float, float, float]] | None:
    """At each look that some cell has not reached: its seeds, and the chances that the claim is supported, contradicted or found
    equivalent by then. None where the claim is not one of many values of one kind, or where too few runs are there."""
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    metrics = {(contrast.metric, contrast.of) for contrast in contrasts}
    if len(contrasts) < LEAST_CONTRASTS or len(metrics) > 1 or contrasts[0].of != "value":
        return None
    names = list(dict.fromkeys(term.cell for contrast in contrasts for term in contrast.terms))
    if len(names) < 2:
        return None
    single = [Contrast((Term(1.0, name),), 0.0, contrasts[0].metric) for name in names]
    there = [min(seeds(one), LOOKS[-1]) for one in single]
    known = [samples(one, n) for one, n in zip(single, there, strict=True)]
    found = _cells([one for one in known if one is not None], prior(single[0])) if all(there) else None
    if found is None:
        return None
    runs = _drawn(found)  # (draws, cells, seeds)
    weights = {contrast: [sum(t.weight for t in contrast.terms if t.cell == name) for name in names] for contrast in contrasts}
    values = {contrast: np.tensordot(runs, np.array(weight), (1, 0)) - contrast.above for contrast, weight in weights.items()}
    outcome, looks = np.zeros(DRAWS, dtype=int), list[tuple[int, float, float, float]]()
    for look, n in enumerate(LOOKS):
        if n <= min(there):
            continue  # looked at, and open
        p = claim_p(claim, on_values({contrast: one[:, :n] for contrast, one in values.items()}))
        outcome = np.where(outcome, outcome, settled(p, alpha_at(look, claims)))
        support, contradiction, equivalence = (float((outcome == one).mean()) for one in OUTCOMES)
        looks.append((n, support, contradiction, equivalence))
    return looks


def _cells(known: list[np.ndarray], noise: float | None) -> Cells | None:
    """Cells with these values by seed; None if nothing is known of their scatter. `noise` is the SD of one run by the noise study."""
    k, n = len(known), min(map(len, known))
    common = np.stack([one[:n] for one in known])  # (cells, seeds)
    apart = common - common.mean(1, keepdims=True) - common.mean(0) + common.mean()
    freedom = (k - 1) * (n - 1)
    weight = max(0, ENOUGH - freedom) if noise is not None else 0
    if freedom + weight == 0:
        return None
    pooled = (float((apart**2).sum()) + weight * (noise or 0.0) ** 2) / (freedom + weight)
    own = (WEIGHT * pooled + (apart**2).sum(1) * k / (k - 1)) / (WEIGHT + n - 1)  # (cells,)
    shared = max(0.0, float(common.mean(0).var(ddof=1)) - pooled / k) if n > 1 else 0.0
    values = np.full((k, LOOKS[-1]), np.nan)
    for row, one in zip(values, known, strict=True):
        row[: len(one)] = one
    means, errors = np.array([one.mean() for one in known]), own / [len(one) for one in known]
    return Cells(values, means, errors, own, shared, freedom + weight)


def _drawn(found: Cells) -> np.ndarray:
    """Runs of all cells up to the last look (draws, cells, seeds): those that are there, and others as they may come.

    How far the cells lie apart by nature is drawn as well: with k cells, the sum of squares S of their means about the grand mean and the
    squared error e^2 of one, a share max(0, 1 - e^2 chi^2_(k-1) / S) of a measured difference is theirs.
    """
    generator = np.random.default_rng(0)
    k, seeds = found.values.shape
    wider = np.sqrt(found.freedom / generator.chisquare(found.freedom, (DRAWS, 1)))  # the scatter is not known either
    apart = found.means - found.means.mean()
    theirs = np.ones((DRAWS, 1))
    if k >= LEAST_CELLS and (between := float((apart**2).sum())) > 0:
        theirs = np.maximum(0.0, 1.0 - found.errors.mean() / between * generator.chisquare(k - 1, (DRAWS, 1)))
    means = found.means.mean() + theirs * apart  # (draws, cells)
    means = means + np.sqrt(theirs * found.errors) * wider * generator.standard_normal((DRAWS, k))
    common = np.sqrt(found.shared) * generator.standard_normal((DRAWS, 1, seeds))
    own = np.sqrt(found.own)[:, None] * wider[..., None] * generator.standard_normal((DRAWS, k, seeds))
    return np.where(np.isnan(found.values), means[..., None] + common + own, found.values)
