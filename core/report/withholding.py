"""What a figure may not announce: where verdicts are withheld, its title says why, and no row is marked as different."""

from __future__ import annotations

from core.report.cells import StudyResult
from core.report.comparability import comparability, learner, reasons, unlearnt
from core.report.judgement import Check, Kind
from core.report.verdicts import verdicts
from core.spec import methods
from core.spec.claim import Labels, matches

SHORT: dict[Kind, str] = {  # a failed check in a title's words; its numbers stand below the figure
    "turnover": "the queue turns over too late in the run",
    "initial weights": "the momentum branch keeps too much of its initial weights",
    "updates": "cells have unequal numbers of updates",
    "gain": "{method} does not learn enough here",
    "selected": "{method} is at its best at the first check here",
}


def instead_of_finding(result: StudyResult) -> str:
    """The title of a figure none of whose claims can have a verdict here although one has run, with the reason; else "". A study
    without claims has one where what it starts from does not learn."""
    if not result.study.claims:
        failed = [check for check in comparability(result).checks if check.kind == "gain" and check.met is False]
        return f"Not the paper's experiment: {_whys(result)[0]}" if failed and result.not_comparable else ""
    outcomes = {one.outcome for one in verdicts(result)} - {"not run"}
    return f"Verdicts withheld: {'; '.join(_whys(result))}" if outcomes == {"not comparable"} else ""


def silent(result: StudyResult) -> set[Labels]:
    """The cells whose differences are not announced: all where the study has no verdict here, else those that have not learnt."""
    if len(parts := result.parts) > 1:
        return set().union(*map(silent, parts))
    if instead_of_finding(result):
        return {cell.cell.labels for cell in result.cells}
    failed = unlearnt(result) if result.withheld else {}
    return {cell.cell.labels for cell in result.cells if any(matches(labels, cell.cell.labels) for labels in failed)}


def in_full(result: StudyResult) -> str:
    """The reasons with their numbers, for the lines under a figure; "" if nothing is withheld."""
    said = "; ".join(reasons(result)) or result.not_comparable
    head = "Not comparable:" if not result.study.claims else "No verdict:" if result.not_comparable else "No verdict on"
    return f"{head} {said}." if said else ""


def _whys(result: StudyResult) -> list[str]:
    """Each reason in a title's words, once."""
    found: list[tuple[Check, Labels | None]]
    if result.not_comparable:
        cell = learner(result)
        found = [(check, None if cell is None else cell.cell.labels) for check in comparability(result).checks if check.met is False]
    else:
        found = [(check, _first(result, labels)) for labels, check in unlearnt(result).items()]
    said = [_short(check, labels, result) for check, labels in found]
    return list(dict.fromkeys(said)) or [result.reason(claim.key) for claim in result.study.claims][:1] or [result.not_comparable]


def _first(result: StudyResult, wanted: Labels) -> Labels:
    return next(cell.cell.labels for cell in result.cells if matches(wanted, cell.cell.labels) and cell.runs)


def _short(check: Check, labels: Labels | None, result: StudyResult) -> str:
    cell = next((one for one in result.cells if one.cell.labels == labels), None)
    method = (cell.cell.method if cell is not None else None) or result.study.method
    return SHORT[check.kind].format(method=methods.method(method).title)
