"""Claims whose comparison says nothing, whatever the runs: of a run with itself, of numbers of two kinds, with a margin of another unit, or
on a number that no run of the scale leaves."""

from __future__ import annotations

from collections.abc import Iterator

from core.report.cells import StudyResult
from core.report.contrasts import weights
from core.report.quantities import unit
from core.spec.claim import POINT, ROUNDING, Claim, Contrast
from core.spec.study import unmeasured

HUNDREDS = "× 100"  # how units end of which a point is one


def ill_posed(claim: Claim, result: StudyResult) -> list[str]:
    """Why a claim cannot be asked of this study at this scale, each reason once; none for a sound claim."""
    return list(dict.fromkeys(why for contrast in claim.predicate.contrasts() for why in _reasons(claim, contrast, result)))


def _reasons(claim: Claim, contrast: Contrast, result: StudyResult) -> Iterator[str]:
    cells = {cell.cell.labels: cell for cell in result.cells if cell.runs}
    found = weights(contrast, result)
    if not cells.keys() >= found.keys():
        return  # some cell cannot be run, and the claim says so
    names = " and ".join(dict.fromkeys("/".join(label or "any" for label in term.cell) for term in contrast.terms))
    metrics = {labels: contrast.metric or cells[labels].metric for labels in found}
    units = sorted({unit(metric) for metric in metrics.values()})
    sums: dict[object, float] = {}
    for labels, weight in found.items():
        read = cells[labels].runs[0].run_id, metrics[labels]
        sums[read] = sums.get(read, 0.0) + weight
    if all(abs(weight) < ROUNDING for weight in sums.values()):
        yield f"{names} are one run here, which would be compared with itself"
    if len(units) > 1:
        yield f"{names} are numbers of different kinds: {' and '.join(units)}"
    elif claim.margin == POINT and not units[0].endswith(HUNDREDS):
        yield f"{claim.key}'s margin is a point, and its numbers are no such points ({units[0]}); the claim needs a margin of its own, or None"
    for labels, metric in metrics.items():
        transfer = result.edition.config(result.study, cells[labels].cell, 0).eval.transfer
        if (why := unmeasured(metric, transfer, result.scale)) is not None:
            yield why
