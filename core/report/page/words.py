"""What a card says of a claim in sentences: the comparison that decides it, when it counts as equivalent, and what a look has shown."""

from __future__ import annotations

import math
from typing import NamedTuple

from core.report.cells import StudyResult
from core.report.claims import signed
from core.report.judgement import Verdict
from core.report.naming import contrast_here, label_here
from core.report.quantities import unit
from core.spec.claim import Claim, Contrast, Labels
from core.spec.study import Study

POINTS = "points"
OF_POINTS = ("Spearman × 100", "accuracy × 100", "difference of Spearman × 100")  # units of which a difference is in points
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
LEAST_P = 0.00001  # a smaller one is said to be below it
INTERACTION = [1.0, -1.0, -1.0, 1.0]  # a gain minus another: its weights


def unit_of(contrast: Contrast, study: Study) -> str:
    """What a contrast's numbers are: "points" of a score, else the metric's unit; "" where its cells have several units."""
    metrics = (
        [contrast.metric] if contrast.metric else [study.metric_of(cell) for term in contrast.terms for cell in study.matching(term.cell)]
    )
    units = {POINTS if found in OF_POINTS else found for found in map(unit, metrics)}
    return units.pop() if len(units) == 1 else ""


def amount(value: float, of: str) -> str:
    """A size with its unit, the unit left out where it is not known: "1 point", "0.05 cosine"."""
    return f"{plain(value)} {'point' if of == POINTS and value == 1 else of}".rstrip()


def plain(value: float) -> str:
    """A number as it was written, with a minus that is one."""
    return f"{value:g}".replace("-", "−")


def turns_on(contrast: Contrast, result: StudyResult) -> str:
    """What a comparison asks, as a clause after "whether": "“0.85” is above “0.9”". Sums of other forms are given as such."""
    weights, of = [term.weight for term in contrast.terms], unit_of(contrast, result.study)
    names, shared = _named([term.cell for term in contrast.terms], result)
    said = ""
    if len(weights) == 1 and abs(weights[0]) == 1.0:
        level = f"{plain(contrast.above * weights[0])}{' points' if of == POINTS else ''}"
        said = f"{names[0]} is {'above' if weights[0] > 0 else 'below'} {level}"
    elif len(weights) == 2 and weights[0] > 0 > weights[1]:
        first, second = (_times(abs(weight), name) for weight, name in zip(weights, names, strict=True))
        said = f"{first} is {_by(contrast.above, of)} {second}"
    elif weights == INTERACTION and not contrast.above:
        said = f"{names[0]} exceeds {names[1]} by more than {names[2]} exceeds {names[3]}"
    if not said:
        return contrast_here(contrast, result)
    what = [contrast.metric.title.lower()] if contrast.metric is not None else []
    what += ["the scatter over seeds"] if contrast.of == "scatter" else []
    return said + "".join(f", {one}" for one in shared) + (f" ({', '.join(what)})" if what else "")


def _times(weight: float, name: str) -> str:
    return name if weight == 1.0 else f"{weight:.3g} × {name}"


def _by(threshold: float, of: str) -> str:
    """How far a cell is said to lie above another."""
    if threshold > 0:
        return f"more than {amount(threshold, of)} above"
    return f"less than {amount(-threshold, of)} below" if threshold < 0 else "above"


def _named(cells: list[Labels], result: StudyResult) -> tuple[list[str], list[str]]:
    """Each cell by the labels in which they differ, and what they have in common."""
    axes = result.study.axes
    alike = [len(cells) > 1 and len({cell[place] for cell in cells}) == 1 for place in range(len(axes))]

    def part(cell: Labels, place: int) -> str:
        label = cell[place]
        return f"every {axes[place].title.lower()}" if label is None else label_here(label, result)

    names = ["“" + ", ".join(part(cell, n) for n in range(len(axes)) if not alike[n]) + "”" for cell in cells]
    return names, [_where(part(cells[0], n), cells[0][n], axes[n].name) for n in range(len(axes)) if alike[n]]


def _where(said: str, label: str | None, axis: str) -> str:
    if label is None:
        return f"mean over {said}"
    return {"avg": "on average"}.get(label, f"{axis} {said}")


def equivalence(claim: Claim, study: Study) -> str:
    """When a claim with a margin counts as equivalent, in a sentence; "" for one without."""
    if claim.margin is None:
        return ""
    units = {unit_of(contrast, study) for contrast in claim.predicate.contrasts()}
    size = amount(claim.margin, units.pop() if len(units) == 1 else "")
    return f"If neither holding nor failing is shown, but what it misses or exceeds that by is shown to be under {size}, it counts as equivalent."


def level(one: Verdict, of: str) -> str:
    """The comparison's own value beside what is asked of it, where that is not zero: "Measured 0.000, asked: above 0.001."; else ""."""
    found = asked(one, of)
    return f"Measured {found.measured}{' points' if of == POINTS else ''}, asked: {found.threshold}." if found else ""


class Asked(NamedTuple):
    """A comparison's own value, what is asked of it, and its value in the paper's numbers ("" if not printed), written out."""

    measured: str
    threshold: str
    printed: str


def asked(one: Verdict, of: str) -> Asked | None:
    """What a comparison that asks for more than a sign measures; None of one that asks for a sign, or has no run."""
    terms = one.contrast.terms
    if not math.isfinite(one.effect) or (not one.contrast.above and len(terms) > 1):
        return None
    sign = -1.0 if len(terms) == 1 and terms[0].weight < 0 else 1.0
    threshold = sign * one.contrast.above
    places = max(2 if of == POINTS else 3, len(f"{threshold:g}".partition(".")[2]))

    def value(effect: float) -> str:
        found = sign * (effect + one.contrast.above)
        return f"{found:.{places}f}".replace("-", "" if round(found, places) == 0 else "−")

    printed = "" if one.printed_effect is None else value(one.printed_effect)
    return Asked(value(one.effect), f"{'above' if sign > 0 else 'below'} {plain(threshold)}", printed)


def look_says(one: Verdict) -> str:
    """What the look has shown: "Third look (8 seeds): p = 0.00008 against the claim; 0.0015 was needed."; "" before the first."""
    if one.look < 0:
        return ""
    sides = {"supported": [(one.p.sup, "for the claim")], "contradicted": [(one.p.con, "against the claim")],
             "equivalent": [(one.p.eq, "for a difference below the margin")]}  # fmt: skip
    found = sides.get(one.outcome, [(one.p.sup, "for the claim"), (one.p.con, "against it")])
    said = ", ".join(f"p {chance(float(p))} {side}" for p, side in found)
    needed = "is needed" if one.outcome == "undecided" else "was needed"
    return f"{ORDINALS[one.look].capitalize()} look ({one.n} seeds): {said}; {chance(one.alpha).removeprefix('= ')} {needed}."


def chance(p: float) -> str:
    """A p without powers of ten: "= 0.0016", "below 1 in 100,000"."""
    if p < LEAST_P:
        return f"below 1 in {1 / LEAST_P:,.0f}"
    places = min(5, max(2, 1 - math.floor(math.log10(p))))
    return f"= {p:.{places}f}".rstrip("0").rstrip(".") if p < 1 else "= 1"


def in_words(one: Verdict, of: str) -> str:
    """An effect that stands on no axis of points, with its interval and its unit."""
    bounds = f" [{signed(one.low)}, {signed(one.high)}]" if math.isfinite(one.low) else ""
    return f"{signed(one.effect)}{bounds}{f' {of}' if of else ''}"
