"""Means, intervals and comparisons of cells. Pure functions of numbers; every random step takes a Generator.

Two uncertainties are kept apart: over seeds (a t-interval: what a repetition of the experiment would give),
and over test pairs (a bootstrap: what another sample of sentences would give), which is all that a single run
has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import stdtrit  # scipy.stats has the same behind two seconds of imports

from core.report.looks import LOOKS, alpha_at, moments
from core.spec.claim import Claim, Contrast, Predicate

Key = TypeVar("Key")  # what names a cell
Labels = tuple[str, ...]
LEVEL = 0.95
HOLDS_95 = 1.96  # standard deviations of a normal number to each side that hold 95 %
LEAST_SEEDS = 5  # of a difference that a table may mark
BLOCK = 128  # resamples at a time: small enough for the processor's cache


class Estimate(NamedTuple):
    """A point with its interval, in the unit of the values. `low`, `high` and `sd` are NaN where they are
    unknown."""

    mean: float
    low: float
    high: float
    n: int
    sd: float


class Comparison(NamedTuple):
    """Difference to another cell over seeds that both have; its tested interval (`core.report.looks`), or
    NaN."""

    difference: float
    low: float
    high: float
    n: int

    @property
    def distinguishable(self) -> bool:
        """Whether the tested interval leaves zero out."""
        return self.low > 0 or self.high < 0


class Divisors(NamedTuple):
    """By what a claim's level is divided at a pair of cells: for the lower and for the upper bound of the
    difference."""

    low: int
    high: int


NO_ESTIMATE = Estimate(np.nan, np.nan, np.nan, 0, np.nan)
NO_COMPARISON = Comparison(np.nan, np.nan, np.nan, 0)


def over_seeds(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> Estimate:
    """Mean of n runs with mean ± t(0.975, n-1) * sd / sqrt(n); sd has n-1 below. One run has no interval."""
    runs = np.asarray(values, dtype=float)
    if runs.size == 0:
        return NO_ESTIMATE
    if runs.size == 1:
        return Estimate(float(runs[0]), np.nan, np.nan, 1, np.nan)
    mean, sd = float(runs.mean()), float(runs.std(ddof=1))
    half = -float(stdtrit(runs.size - 1, (1 - level) / 2)) * sd / np.sqrt(runs.size)
    return Estimate(mean, mean - half, mean + half, int(runs.size), sd)


def comparisons(
    cells: Mapping[Labels, Mapping[int, float]], reference: Labels, claims: Sequence[Claim]
) -> dict[Labels, Comparison]:
    """Each other cell's difference to the reference, paired by seed, with its tested interval.

    Where a claim compares the two cells, the interval is the claim's own at the latest check of both cells
    (the widest, where several claims do), so a figure and a verdict agree on whether zero lies inside. Other
    cells share 5 % among the table. Fewer than five seeds have an interval only where a claim's own leaves
    zero out.
    """
    others = [labels for labels in cells if labels != reference]
    differences = {labels: paired(cells[labels], cells[reference], len(others)) for labels in others}
    for labels in others:
        divisors = divisors_of(labels, reference, claims)
        if divisors is not None:
            own = _tested(cells[labels], cells[reference], divisors, len(claims))
            if own is not None and (own.n >= LEAST_SEEDS or own.distinguishable):
                differences[labels] = own
    return differences


def paired(values: Mapping[int, float], reference: Mapping[int, float], pairs: int) -> Comparison:
    """Mean of values[seed] - reference[seed] with its tested t-interval, one of so many pairs in its table.

    The seeds are 0 … n-1 of the latest check k of both, from five on; the level is 1 - 0.05 * share_k /
    pairs, so that at most one table in twenty has an interval that misses, at all checks together. Below
    five: no interval.
    """
    looks = [look for look in _reached(values, reference) if LOOKS[look] >= LEAST_SEEDS]
    if not looks:
        common = sorted(set(values) & set(reference))
        mean = float(np.mean([values[seed] - reference[seed] for seed in common])) if common else np.nan
        return Comparison(mean, np.nan, np.nan, len(common))
    differences = [values[seed] - reference[seed] for seed in range(LOOKS[looks[-1]])]
    return Comparison(*over_seeds(differences, 1 - alpha_at(looks[-1], pairs))[:4])


def _reached(*cells: Mapping[int, float]) -> list[int]:
    """The checks, from 0, that all of these cells have reached."""
    return [look for look, n in enumerate(LOOKS) if all(seed in cell for cell in cells for seed in range(n))]


def _tested(
    values: Mapping[int, float], reference: Mapping[int, float], divisors: Divisors, claims: int
) -> Comparison | None:
    """mean -+ t.isf(level / divisor, n - 1) * sd / sqrt(n) at the latest check of both cells; None before the
    first."""
    reached = _reached(values, reference)
    if not reached:
        return None
    n, level = LOOKS[reached[-1]], alpha_at(reached[-1], claims)
    of = moments(np.array([values[seed] - reference[seed] for seed in range(n)]))
    mean, error = float(of.mean), float(of.error)
    low, high = (-float(stdtrit(n - 1, level / divisor)) * error for divisor in divisors)
    return Comparison(mean, mean - low, mean + high, n)


def divisors_of(labels: Labels, reference: Labels, claims: Sequence[Claim]) -> Divisors | None:
    """How the claims that compare a pair divide its level, the largest of each side; None if no claim
    compares it."""
    sides = [
        Divisors(support, contradiction)
        if contrast.terms[0].cell == labels
        else Divisors(contradiction, support)
        for claim in claims
        for contrast, support, contradiction in _leaves(claim.predicate)
        if _is_pair(contrast, labels, reference)
    ]
    return Divisors(max(one.low for one in sides), max(one.high for one in sides)) if sides else None


def _leaves(
    predicate: Predicate, support: int = 1, contradiction: int = 1
) -> Iterator[tuple[Contrast, int, int]]:
    """Every contrast of a predicate with what its level is divided by there, as in
    `core.report.looks.p_values`."""
    if isinstance(predicate, Contrast):
        yield predicate, support, contradiction
        return
    m, u = len(predicate.parts), predicate.needed
    for part in predicate.parts:
        yield from _leaves(part, support * (m - u + 1), contradiction * u)


def _is_pair(contrast: Contrast, labels: Labels, reference: Labels) -> bool:
    """Whether a contrast is one of these cells minus the other, in what the table shows."""
    plain = contrast.metric is None and contrast.of == "value"
    weights = [term.weight for term in contrast.terms]
    return plain and weights == [1.0, -1.0] and {term.cell for term in contrast.terms} == {labels, reference}


def clear_best(cells: Mapping[Key, Mapping[int, float]]) -> Key | None:
    """The cell with the highest mean, if its paired intervals leave zero out against each other cell; else
    None.

    Which cell is best comes from the data, so the intervals are simultaneous over all pairs of cells. A cell
    without a value is not compared; a cell with too few seeds leaves the question open.
    """
    means = {key: float(np.mean(list(runs.values()))) for key, runs in cells.items() if runs}
    if len(means) < 2:
        return None
    best = max(means, key=lambda cell: means[cell])
    pairs = len(means) * (len(means) - 1) // 2
    rivals = [paired(cells[best], cells[key], pairs) for key in means if key != best]
    return best if all(one.low > 0 for one in rivals) else None


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

    Gold and cosine of a pair stay together. The score is the mean over `tasks` of each task's aggregate:
    `all` (one Spearman over the subsets put together), `mean` (of the subsets), `wmean` (weighted by their
    pairs). The point is the score of the pairs as they are, from the same arithmetic; n is 1 and sd NaN.
    Deterministic, given the generator.
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
    """How often each pair is drawn in the resamples of this block; resample 0 has each pair once."""
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
    scores = [_weighted_spearman(*subset, counts) for subset, counts in zip(subsets, draws, strict=True)]
    weights = [len(subset.gold) if aggregate == "wmean" else 1 for subset in subsets]
    return np.average(np.array(scores), axis=0, weights=weights)


def _weighted_spearman(gold: np.ndarray, cosine: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Spearman x 100 of each row of counts (rows, pairs): a pair counted k times is k tied pairs.

    Sorting is done once: in a resample the mid-rank of a group of ties is (copies below) + (copies in it + 1)
    / 2.
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
