"""Means, intervals and comparisons. Pure functions of numbers; every random step takes a Generator.

Two uncertainties are kept apart: over seeds (a t-interval; what a repetition of the experiment would give), and over test
pairs (a bootstrap; what another sample of sentences would give), which is all that a single run has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit  # scipy.stats has the same behind two seconds of imports

from core.report.sequential import ALPHA, LOOKS, alpha_at

Key = TypeVar("Key")  # what names a cell
LEVEL = 0.95
HOLDS_95 = 1.96  # standard deviations of a normal number to each side that hold 95 %
LEAST_SEEDS = 5  # of a difference that a table may mark
BLOCK = 128  # resamples at a time: small enough for the processor's cache


class Estimate(NamedTuple):
    """A point with its interval, in the unit of the values. `low`, `high` and `sd` are NaN where they cannot be known."""

    mean: float
    low: float
    high: float
    n: int
    sd: float


class Comparison(NamedTuple):
    """Difference to another cell over seeds that both have, with its interval and what that rests on.

    `basis` "own": the scatter of this very difference, tested at a look (`core.report.sequential`) at the level of the whole table;
    "equal scatter": too few seeds for that, and all cells are assumed to scatter alike; nothing is told by it. "": no interval.
    """

    difference: float
    low: float
    high: float
    n: int
    basis: Literal["own", "equal scatter", ""]

    @property
    def distinguishable(self) -> bool:
        """Whether the tested interval leaves zero out."""
        return self.basis == "own" and (self.low > 0 or self.high < 0)


NO_ESTIMATE = Estimate(np.nan, np.nan, np.nan, 0, np.nan)
NO_COMPARISON = Comparison(np.nan, np.nan, np.nan, 0, "")


def over_seeds(values: Sequence[float], level: float = LEVEL) -> Estimate:
    """Mean of n runs with mean ± t(0.975, n-1) * sd / sqrt(n); sd has n-1 below. One run has a mean and no interval."""
    runs = np.asarray(values, dtype=float)
    if runs.size == 0:
        return NO_ESTIMATE
    if runs.size == 1:
        return Estimate(float(runs[0]), np.nan, np.nan, 1, np.nan)
    mean, sd = float(runs.mean()), float(runs.std(ddof=1))
    half = -float(stdtrit(runs.size - 1, (1 - level) / 2)) * sd / np.sqrt(runs.size)
    return Estimate(mean, mean - half, mean + half, int(runs.size), sd)


def paired(values: Mapping[int, float], reference: Mapping[int, float], comparisons: int) -> Comparison:
    """Mean of values[seed] - reference[seed] with the t-interval that is tested, one of so many in its table.

    The seeds are 0 … n-1 of the latest look k that both have reached, from five on; the level is 1 - 0.05 * share_k / comparisons, so
    that of a table's intervals at all looks together one in twenty tables has one that misses. Below: the mean over all common
    seeds, without an interval.
    """
    common = sorted(set(values) & set(reference))
    look = latest_look(values, reference)
    if look is None:
        mean = float(np.mean([values[seed] - reference[seed] for seed in common])) if common else np.nan
        return Comparison(mean, np.nan, np.nan, len(common), "")
    found = over_seeds([values[seed] - reference[seed] for seed in range(LOOKS[look])], 1 - alpha_at(look, comparisons))
    return Comparison(found.mean, found.low, found.high, found.n, "own")


def latest_look(*cells: Mapping[int, float]) -> int | None:
    """The latest look of five seeds or more that all cells have reached; None if they have reached no such look."""
    return next((k for k in reversed(range(len(LOOKS))) if LOOKS[k] >= LEAST_SEEDS and all(_reached(c, LOOKS[k]) for c in cells)), None)


def _reached(values: Mapping[int, float], seeds: int) -> bool:
    return all(seed in values for seed in range(seeds))


def pooled(cells: Iterable[Mapping[int, float]]) -> tuple[float, int]:
    """SD of what cell means and seed means leave of cells x seeds, and its degrees of freedom, (cells - 1)(seeds - 1).

    Of the seeds that all cells with a value have; (NaN, 0) for fewer than two cells or seeds. Of use if all cells scatter alike.
    """
    rows = [values for values in cells if values]
    seeds = sorted(set.intersection(*(set(values) for values in rows))) if rows else []
    if len(rows) < 2 or len(seeds) < 2:
        return np.nan, 0
    table = np.array([[values[seed] for seed in seeds] for values in rows])  # (cells, seeds)
    residual = table - table.mean(1, keepdims=True) - table.mean(0, keepdims=True) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(np.sqrt((residual**2).sum() / freedom)), freedom


def against_reference(cells: Mapping[Key, Mapping[int, float]], reference: Key) -> dict[Key, Comparison]:
    """Each other cell's paired comparison with the reference: one of as many as there are other cells, whatever has run.

    Where there are too few seeds for that, the interval is the table's pooled one: ± t(1 - 0.025 / comparisons) * SD * sqrt(2 / n).
    """
    others = [key for key in cells if key != reference]
    scatter, freedom = pooled(cells.values())
    found = {}
    for key in others:
        one = paired(cells[key], cells[reference], len(others))
        if not one.basis and one.n and freedom:
            half = -float(stdtrit(freedom, ALPHA / (2 * len(others)))) * scatter * float(np.sqrt(2 / one.n))
            one = one._replace(low=one.difference - half, high=one.difference + half, basis="equal scatter")
        found[key] = one
    return found


def clear_best(cells: Mapping[Key, Mapping[int, float]]) -> Key | None:
    """The cell with the highest mean, if it is told from each of the others by its own paired interval; else None.

    Which cell is best is itself learnt from the data, so the intervals are simultaneous over all pairs of cells. A cell without a
    value is not compared; one with too few seeds leaves the question open.
    """
    means = {key: float(np.mean(list(runs.values()))) for key, runs in cells.items() if runs}
    if len(means) < 2:
        return None
    best = max(means, key=lambda cell: means[cell])
    pairs = len(means) * (len(means) - 1) // 2
    found = [paired(cells[best], cells[key], pairs) for key in means if key != best]
    return best if all(one.distinguishable and one.difference > 0 for one in found) else None


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
    scores = np.array([_weighted_spearman(subset.gold, subset.cosine, counts) for subset, counts in zip(subsets, draws, strict=True)])
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
