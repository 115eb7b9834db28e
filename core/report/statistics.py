"""Means, intervals and comparisons. Pure functions of numbers; every random step takes a Generator.

Two uncertainties are kept apart: over seeds (a t-interval; what a repetition of the experiment would give), and over test
pairs (a bootstrap; what another sample of sentences would give), which is all that a single run has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
ALPHA = 0.05
BLOCK = 128  # resamples at a time: small enough for the processor's cache


class Estimate(NamedTuple):
    """A point with its interval, in the unit of the values. `low`, `high` and `sd` are NaN where they cannot be known."""

    mean: float
    low: float
    high: float
    n: int
    sd: float


class Comparison(NamedTuple):
    """Difference to the reference, paired by seed, with its interval, its n, and p before and after Holm's correction."""

    difference: float
    low: float
    high: float
    n: int
    p: float
    p_holm: float

    @property
    def distinguishable(self) -> bool:
        """Whether the corrected p is below 0.05; never so where there is no p."""
        return self.p_holm < ALPHA


NO_ESTIMATE = Estimate(np.nan, np.nan, np.nan, 0, np.nan)
NO_COMPARISON = Comparison(np.nan, np.nan, np.nan, 0, np.nan, np.nan)


def over_seeds(values: Sequence[float]) -> Estimate:
    """Mean of n runs with mean ± t(0.975, n-1) * sd / sqrt(n); sd has n-1 below. One run has a mean and no interval."""
    values = np.asarray(values, dtype=float)
    if values.size == 0:
        return NO_ESTIMATE
    if values.size == 1:
        return Estimate(float(values[0]), np.nan, np.nan, 1, np.nan)
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    half = float(stats.t.ppf((1 + LEVEL) / 2, values.size - 1)) * sd / np.sqrt(values.size)
    return Estimate(mean, mean - half, mean + half, int(values.size), sd)


def paired(values: Mapping[int, float], reference: Mapping[int, float]) -> Comparison:
    """Mean of values[seed] - reference[seed] over the seeds that both have, its t-interval and two-sided p.

    p is uncorrected and p_holm NaN: `against_reference` corrects. With fewer than two common seeds there is no p. Differences
    that do not vary at all have p = 0 (or 1 if they are zero).
    """
    seeds = sorted(set(values) & set(reference))
    if not seeds:
        return NO_COMPARISON
    estimate = over_seeds([values[seed] - reference[seed] for seed in seeds])
    if estimate.n < 2:
        return Comparison(estimate.mean, np.nan, np.nan, estimate.n, np.nan, np.nan)
    error = estimate.sd / np.sqrt(estimate.n)
    if error == 0:
        p = 1.0 if estimate.mean == 0 else 0.0
    else:
        p = float(2 * stats.t.sf(abs(estimate.mean) / error, estimate.n - 1))
    return Comparison(estimate.mean, estimate.low, estimate.high, estimate.n, p, np.nan)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Holm's step-down adjusted p-values, in the order given: max over i <= k of (m - i + 1) * p_(i), at most 1.

    NaN (a comparison that cannot be made) stays NaN and does not count towards m.
    """
    p_values = np.asarray(p_values, dtype=float)
    adjusted = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    stepped = p_values[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


def against_reference(cells: Mapping[object, Mapping[int, float]], reference: object) -> dict[object, Comparison]:
    """Each cell compared with the reference cell, corrected over all of them; the reference itself is left out."""
    found = {key: paired(runs, cells[reference]) for key, runs in cells.items() if key != reference}
    corrected = holm([comparison.p for comparison in found.values()])
    return {key: comparison._replace(p_holm=float(p)) for (key, comparison), p in zip(found.items(), corrected)}


def clear_best(cells: Mapping[object, Mapping[int, float]]) -> object | None:
    """The cell with the highest mean, if it can be told from each of the others; else None.

    Which cell is best is itself learnt from the data, so the correction runs over all pairs of cells. A cell without a
    value is not compared; one with a value and no p (a single common seed) leaves the question open.
    """
    means = {key: float(np.mean(list(runs.values()))) for key, runs in cells.items() if runs}
    if len(means) < 2:
        return None
    best = max(means, key=means.get)
    keys = list(means)
    pairs = [(a, b) for place, a in enumerate(keys) for b in keys[place + 1 :]]
    corrected = holm([paired(cells[a], cells[b]).p for a, b in pairs])
    clear = all(p < ALPHA for (a, b), p in zip(pairs, corrected) if best in (a, b))
    return best if clear else None


class Subset(NamedTuple):
    """The pairs of one subset of one test set: gold scores and cosines, equally long."""

    gold: np.ndarray
    cosine: np.ndarray


def spearman(gold: np.ndarray, cosine: np.ndarray) -> float:
    """Spearman's rho x 100: Pearson's correlation of mid-ranks. NaN if either side is constant."""
    return float(_weighted_spearman(gold, cosine, np.ones((1, len(gold))))[0])


def bootstrap_over_pairs(
    tasks: Sequence[Sequence[Subset]], aggregate: str, generator: np.random.Generator, resamples: int = 1000
) -> Estimate:
    """Score x 100 of one run with its percentile interval when the pairs of every subset are drawn anew.

    Gold and cosine of a pair stay together. The score is the mean over `tasks` of each task's aggregate: `all` (one Spearman
    over the subsets put together), `mean` (of the subsets), `wmean` (weighted by their pairs). The point is the score of the
    pairs as they are, from the same arithmetic; n is 1 and sd NaN: this is one run. Deterministic, given the generator.
    """
    scores = np.zeros(1 + resamples)
    for subsets in tasks:
        sizes = [len(subset.gold) for subset in subsets]
        for start in range(0, 1 + resamples, BLOCK):
            block = slice(start, min(start + BLOCK, 1 + resamples))
            draws = [_draws(size, block, generator) for size in sizes]
            scores[block] += _task_scores(subsets, draws, aggregate) / len(tasks)
    low, high = np.quantile(scores[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(scores[0]), float(low), float(high), 1, np.nan)


def _draws(size: int, block: slice, generator: np.random.Generator) -> np.ndarray:
    """How often each pair is drawn in the resamples of this block; number 0 is the pairs as they are, each once."""
    counts = np.ones((block.stop - block.start, size))  # (resamples, pairs)
    for row in range(block.start == 0, len(counts)):
        counts[row] = np.bincount(generator.integers(0, size, size), minlength=size)
    return counts


def _task_scores(subsets: Sequence[Subset], draws: list[np.ndarray], aggregate: str) -> np.ndarray:
    if aggregate == "all":
        gold, cosine = (np.concatenate([subset[side] for subset in subsets]) for side in (0, 1))
        return _weighted_spearman(gold, cosine, np.concatenate(draws, axis=1))
    if aggregate not in ("mean", "wmean"):
        raise ValueError(f"there is no aggregate {aggregate!r}")
    scores = np.array([_weighted_spearman(subset.gold, subset.cosine, counts) for subset, counts in zip(subsets, draws)])
    weights = [len(subset.gold) if aggregate == "wmean" else 1 for subset in subsets]
    return np.average(scores, axis=0, weights=weights)


def _weighted_spearman(gold: np.ndarray, cosine: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Spearman x 100 of each row of counts (rows, pairs): a pair counted k times is k tied pairs.

    Sorting is done once: in a resample the mid-rank of a group of ties is (copies below) + (copies in it + 1) / 2.
    """
    x, y = _midranks(np.asarray(gold), counts), _midranks(np.asarray(cosine), counts)
    total = counts.sum(axis=1, keepdims=True)
    x -= (total + 1) / 2  # the mean of mid-ranks, whatever the ties
    y -= (total + 1) / 2
    covariance = np.einsum("ij,ij,ij->i", counts, x, y)
    spread = np.einsum("ij,ij,ij->i", counts, x, x) * np.einsum("ij,ij,ij->i", counts, y, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100 * covariance / np.sqrt(spread)


def _midranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(distinct.size))
    copies = np.add.reduceat(counts[:, order], starts, axis=1)  # (rows, groups)
    return (np.cumsum(copies, axis=1) - copies + (copies + 1) / 2)[:, group]
