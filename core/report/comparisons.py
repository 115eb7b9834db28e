"""The comparisons of a claim on the runs, one by one: estimate, printed number, and where each
points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.config.result import Metric
from core.report.contrasts import Reading
from core.report.statistics import Estimate, alpha_at, leaves, over_seeds
from core.study.claim import Claim, Contrast, Joined, Labels, Predicate, Term, truth
from core.study.study import Study

Points = Literal["for", "against", ""]
Outcome = Literal["supported", "contradicted", "equivalent", "undecided", "not run", "no verdict"]
# from the worst for a claim to the best
OUTCOMES = ("contradicted", "no verdict", "not run", "undecided", "equivalent", "supported")
POINTS_ORDER = ("against", "", "for")
# metric, kind and terms of a contrast
Direction = tuple[Metric | None, str, tuple[tuple[float, Labels], ...]]
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
    count = len(readings)
    compared = []
    for contrast, sup, con in leaves(claim.predicate):
        reading = readings[contrast]
        low = level / count
        high = level / count
        if outcome == "supported":
            low = level / sup
        if outcome == "contradicted":
            high = level / con
        share = contrast.of == "share"
        compared.append(
            Comparison(
                contrast=contrast,
                estimate=over_seeds(reading.under(reading.seeds), share=share),
                printed=reading.printed,
                outcome=_own(over_seeds(reading.under(n), low, high, share), reading, outcome),
            )
        )
    return tuple(compared)


def _own(tested: Estimate, reading: Reading, outcome: Outcome) -> Outcome:
    """A comparison's own verdict, given its tested bounds and the claim's outcome."""
    if not reading.seeds:
        return "not run"
    if outcome == "no verdict":
        return "no verdict"
    if tested.low > 0:
        return "supported"
    if tested.high < 0:
        return "contradicted"
    return "undecided"


def points(predicate: Predicate, comparisons: Iterable[Comparison]) -> Points:
    """Where a claim's estimates point, by the claim's own logic over 95 % intervals: for, if as
    many comparisons as it needs lie on its side; against, if so many lie on the other that it
    cannot hold.
    """
    holds = {comparison.contrast: HOLDS[comparison.points] for comparison in comparisons}
    value = truth(predicate, holds.get)
    return next(word for word, side in HOLDS.items() if side is value)


class Line(NamedTuple):
    """A comparison as people read it: `left` minus `right` (empty: a number stands alone) has to
    lie above `above` and below `below`, as far as these are given; with both, and above not under
    below, one is enough. Of two directions of one comparison, that a claim has both makes one line.
    """

    left: str
    right: str
    above: float | None
    below: float | None
    printed: float | None
    estimate: Estimate
    points: Points
    outcome: Outcome
    contrast: Contrast


def lines_of(predicate: Predicate, comparisons: Sequence[Comparison], study: Study) -> list[Line]:
    """The comparisons of a claim for people, in order."""
    mirrors = _mirrors(predicate)
    by_contrast = {comparison.contrast: comparison for comparison in comparisons}
    lines = []
    for comparison in comparisons:
        if comparison.contrast in mirrors.values():
            continue
        mirror = mirrors.get(comparison.contrast)
        other = None if mirror is None else by_contrast[mirror]
        lines.append(_line(comparison, other, study))
    return lines


def _mirrors(predicate: Predicate) -> dict[Contrast, Contrast]:
    """The other direction of each contrast that makes one line with it, the earlier one first.

    Two bounds make one line where they stand in one group, which needs both and lie on both sides
    of a range, or needs one and lie outside it.
    """
    mirrors: dict[Contrast, Contrast] = {}
    for joined in _with_parts(predicate):
        contrasts = [part for part in joined.parts if isinstance(part, Contrast)]
        by_direction: dict[Direction, list[Contrast]] = {}
        for contrast in contrasts:
            by_direction.setdefault(direction(contrast), []).append(contrast)
        for place, contrast in enumerate(contrasts):
            others = by_direction.get(direction(contrast, turned=True), [])
            if len(others) != 1 or others[0] not in contrasts[place + 1 :]:
                continue
            is_range = contrast.above < -others[0].above
            needed_count = len(joined.parts) if is_range else 1
            unique = len(by_direction[direction(others[0], turned=True)]) == 1
            if joined.needed == needed_count and unique:
                mirrors[contrast] = others[0]
    return mirrors


def _line(comparison: Comparison, mirror: Comparison | None, study: Study) -> Line:
    contrast = comparison.contrast
    positive = [term for term in contrast.terms if term.weight > 0]
    negative = [term for term in contrast.terms if term.weight < 0]
    points = comparison.points
    outcome = comparison.outcome
    printed = comparison.printed
    estimate = comparison.estimate
    above: float | None = None
    below: float | None = None
    if positive:
        sign = 1
        left = _side(positive, study)
        right = _side(negative, study)
        required = above = contrast.above + 0.0  # + 0.0: no minus zero
    else:  # a number alone that has to lie below something
        sign = -1
        left = _side(negative, study)
        right = _side(positive, study)
        required = below = -contrast.above + 0.0
    if mirror is not None:
        other = -sign * mirror.contrast.above + 0.0
        above = required if positive else other
        below = other if positive else required
        pick = max if above >= below else min  # one of both is enough, or both are needed
        points = pick(points, mirror.points, key=POINTS_ORDER.index)
        outcome = pick(outcome, mirror.outcome, key=OUTCOMES.index)
    if contrast.of == "scatter":
        left = f"scatter over seeds: {left}"
    if contrast.metric is not None:
        left = f"{contrast.metric.title.lower()}: {left}"
    if printed is not None:
        printed = required + sign * printed
    low, high = sorted((required + sign * estimate.low, required + sign * estimate.high))
    return Line(
        left=left,
        right=right,
        above=above,
        below=below,
        printed=printed,
        estimate=estimate._replace(mean=required + sign * estimate.mean, low=low, high=high),
        points=points,
        outcome=outcome,
        contrast=contrast,
    )


def _side(terms: Sequence[Term], study: Study) -> str:
    if len(terms) > MOST_TERMS:
        return f"a weighted sum of {len(terms)} cells"
    return " plus ".join(term_words(term, study) for term in terms)


def term_words(term: Term, study: Study) -> str:
    """A cell of a contrast by its labels, with its weight unless that is 1."""
    labels = []
    for axis, label in zip(study.axes, term.cell, strict=True):
        labels.append(label or f"every {axis.title.lower()}")
    name = "/".join(labels)
    weight = abs(term.weight)
    if weight == 1.0:
        return name
    return f"{weight:.3g} × {name}"


def direction(contrast: Contrast, turned: bool = False) -> Direction:
    """What a contrast compares, without its bound: metric, kind and sorted terms; turned around it
    is that of the other direction."""
    sign = -1.0 if turned else 1.0
    terms = [(sign * term.weight, term.cell) for term in contrast.terms]
    return contrast.metric, contrast.of, tuple(sorted(terms, key=repr))


def needed(predicate: Predicate) -> str:
    """How many of a claim's comparisons it needs: all, one, a number, or a number of its groups;
    empty if it has one."""
    joined = _with_parts(predicate)
    if len(set(predicate.contrasts())) - len(_mirrors(predicate)) == 1:
        return ""
    if all(part.needed == len(part.parts) for part in joined):
        return "all"
    if all(part.needed == 1 for part in joined):
        return "one"
    if len(joined) == 1:
        return f"{joined[0].needed}"
    return f"{joined[0].needed} of {len(joined[0].parts)} groups"


def _with_parts(predicate: Predicate) -> list[Joined]:
    """Every predicate with parts, the outermost first."""
    if isinstance(predicate, Contrast):
        return []
    joined = [predicate]
    for part in predicate.parts:
        joined += _with_parts(part)
    return joined
