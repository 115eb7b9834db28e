"""The comparisons of a claim on the runs, one by one: estimate, printed number, and where each
points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.config.quantities import in_points
from core.config.result import unit
from core.report.contrasts import Reading
from core.report.statistics import Estimate, alpha_at, leaves, over_seeds
from core.study.claim import Claim, Contrast, Predicate, Term, truth
from core.study.study import Metric, Study

Points = Literal["for", "against", ""]
Outcome = Literal["supported", "contradicted", "equivalent", "undecided", "not run", "no verdict"]
# from the worst for a claim to the best
OUTCOMES = ("contradicted", "no verdict", "not run", "undecided", "equivalent", "supported")
POINTS_ORDER = ("against", "", "for")
HOLDS: dict[Points, bool | None] = {"for": True, "against": False, "": None}
MOST_TERMS = 4  # of a comparison, or of one side of it, that is spelled out


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A contrast of a claim on its runs.

    `estimate` is over all of its seeds, with its 95 % interval (of a share of runs Clopper and
    Pearson's), and `printed` is the same of the paper's numbers (None: not printed). Both are less
    what the claim requires, so the claim says that they are above 0. `outcome` is the comparison's
    own verdict at the claim's check.
    """

    contrast: Contrast
    estimate: Estimate
    printed: float | None
    outcome: Outcome

    @property
    def points(self) -> Points:
        """On which side of the claim the 95 % interval lies; empty if it contains 0."""
        if self.estimate.low > 0:
            return "for"
        if self.estimate.high < 0:
            return "against"
        return ""


def comparisons_of(
    claim: Claim, readings: Mapping[Contrast, Reading], outcome: Outcome, n: int, claims: int
) -> tuple[Comparison, ...]:
    """Every comparison of a claim, in its order, given the claim's outcome at its check with n
    seeds in a study of so many claims.

    The level of a comparison's own verdict is the claim's, divided by the number of its
    comparisons. On the side on which the claim is settled it is the level that settled the claim.
    """
    level = alpha_at(n, claims)
    compared = []
    for contrast, sup, con in leaves(claim.predicate):
        reading = readings[contrast]
        share = contrast.of == "share"
        low = level / (sup if outcome == "supported" else len(readings))
        high = level / (con if outcome == "contradicted" else len(readings))
        tested = over_seeds(reading.under(n), low, high, share)
        own: Outcome = "undecided"
        if not reading.seeds:
            own = "not run"
        elif outcome == "no verdict":
            own = "no verdict"
        elif tested.distinguishable:
            own = "supported" if tested.low > 0 else "contradicted"
        estimate = over_seeds(reading.under(reading.seeds), share=share)
        compared.append(
            Comparison(contrast=contrast, estimate=estimate, printed=reading.printed, outcome=own)
        )
    return tuple(compared)


def points(predicate: Predicate, comparisons: Iterable[Comparison]) -> Points:
    """Where a claim's estimates point, by the claim's own logic over 95 % intervals: for, if as
    many comparisons as it needs lie on its side; against, if so many lie on the other that it
    cannot hold.
    """
    holds = {comparison.contrast: HOLDS[comparison.points] for comparison in comparisons}
    value = truth(predicate, holds.get)
    return next(word for word, side in HOLDS.items() if side is value)


def comparison_rows(
    predicate: Predicate, comparisons: Sequence[Comparison], study: Study
) -> list[dict[str, object]]:
    """The comparisons of a claim for people, in order, by the columns of comparisons.csv.

    `left` minus `right` (empty: a number stands alone) has to lie above `above` and below `below`,
    as far as these are given; with both, and above not under below, one is enough.
    """
    by_contrast = {comparison.contrast: comparison for comparison in comparisons}
    rows: list[dict[str, object]] = []
    for contrast, *others in sides(predicate):
        comparison = by_contrast[contrast]
        sign = 1 if any(term.weight > 0 for term in contrast.terms) else -1
        required = sign * contrast.above + 0.0  # + 0.0: no minus zero
        above = required if sign > 0 else None
        below = None if sign > 0 else required
        points = comparison.points
        outcome = comparison.outcome
        for other in others:
            bounds = [required, -sign * other.above + 0.0]
            above, below = bounds[::sign]
            worse = max if above >= below else min  # one is enough, or both are needed
            points = worse(points, by_contrast[other].points, key=POINTS_ORDER.index)
            outcome = worse(outcome, by_contrast[other].outcome, key=OUTCOMES.index)
        left, right = names_of_sides(contrast, study)
        estimate = comparison.estimate
        low, high = sorted((required + sign * estimate.low, required + sign * estimate.high))
        printed = comparison.printed
        rows.append(
            {
                "left": left,
                "right": right,
                "above": above,
                "below": below,
                "unit": unit_of(contrast, study),
                "printed": None if printed is None else required + sign * printed,
                "estimate": required + sign * estimate.mean,
                "ci95_low": low,
                "ci95_high": high,
                "n": estimate.n,
                "points": points,
                "verdict": outcome,
            }
        )
    return rows


def sides(predicate: Predicate) -> list[Sequence[Contrast]]:
    """The comparisons of a predicate in order: each contrast, or the two sides of one."""
    if isinstance(predicate, Contrast):
        return [(predicate,)]
    paired = 2 * predicate.pairs
    contrasts = predicate.contrasts()[:paired]
    below: list[Sequence[Contrast]] = list(zip(contrasts[::2], contrasts[1::2], strict=True))
    for part in predicate.parts[paired:]:
        below += sides(part)
    return below


def names_of_sides(contrast: Contrast, study: Study) -> tuple[str, str]:
    """What a contrast compares: left minus right, or left alone."""
    positive = [term for term in contrast.terms if term.weight > 0]
    negative = [term for term in contrast.terms if term.weight < 0]
    left = _side(positive or negative, study)
    if contrast.of == "scatter":
        left = f"scatter over seeds: {left}"
    if contrast.metric is not None:
        left = f"{contrast.metric.title.lower()}: {left}"
    return left, _side(negative, study) if positive else ""


def difference_words(left: str, right: str) -> str:
    """Left minus right; left alone without a right."""
    if " plus " in right:
        right = f"({right})"
    return f"{left} minus {right}" if right else left


def unit_of(contrast: Contrast, study: Study) -> str:
    """What a contrast's numbers are: "points" of a score, else the metric's unit; "" if units
    differ."""
    metrics: Iterable[Metric] = map(study.metric_of, study.cells_of([contrast]))
    if contrast.metric is not None:
        metrics = [contrast.metric]
    units = {unit(metric) for metric in metrics}
    names = {"points" if in_points(name) else name for name in units}
    return names.pop() if len(names) == 1 else ""


def _side(terms: Sequence[Term], study: Study) -> str:
    """A sum of cells by their labels, each with its weight unless that is 1."""
    if len(terms) > MOST_TERMS:
        return f"a weighted sum of {len(terms)} cells"
    words = []
    for term in terms:
        labels = []
        for axis, label in zip(study.axes, term.cell, strict=True):
            labels.append(label or f"every {axis.title.lower()}")
        weight = abs(term.weight)
        words.append("/".join(labels) if weight == 1.0 else f"{weight:.3g} × {'/'.join(labels)}")
    return " plus ".join(words)


def needed(predicate: Predicate) -> str:
    """How many of a claim's comparisons it needs: all, one, a number, or a number of its groups;
    empty if it has one."""
    if len(sides(predicate)) == 1 or isinstance(predicate, Contrast):
        return ""
    groups = predicate.groups()
    if all(group.needed == len(group.parts) for group in groups):
        return "all"
    if all(group.needed == 1 for group in groups):
        return "one"
    of_groups = f" of {len(predicate.parts)} groups" if len(groups) > 1 else ""
    return f"{predicate.needed}{of_groups}"
