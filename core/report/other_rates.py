"""Whether verdicts survive other learning rates: the same study at a third and at three times the scale's, from what is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.report.cells import CellResult, RunResult, StudyResult, gather
from core.report.comparability import judged
from core.report.contrasts import weights
from core.report.judgement import GIVEN, AtRate, Verdict
from core.report.verdicts import verdicts
from core.spec.claim import Claim, Labels
from core.spec.edition import Edition
from core.spec.identity import run_id
from core.spec.scale import OTHER_RATES


def with_rates(result: StudyResult, store, loaded: dict[str, RunResult]) -> StudyResult:
    """The result whose verdicts know the outcomes at other learning rates. A claim none of whose rates has a run of every cell that it
    speaks of is left as it is, and so is one that speaks of cells without training alone."""
    needed = {claim.key: _cells(claim, result) for claim in result.study.claims}
    editions = {factor: result.edition.at_rate(factor) for factor in OTHER_RATES}
    begun = {key for key, cells in needed.items() if any(_begun(result, cells, edition, store) for edition in editions.values())}
    if not begun:
        return result
    found = {factor: _verdicts(result, edition, store, loaded) for factor, edition in editions.items()}

    def known(one: Verdict) -> Verdict:
        if one.claim.key not in begun:
            return one
        return replace(one, at_rates=tuple(_at_rate(factor, found[factor][one.claim.key]) for factor in OTHER_RATES))

    return replace(result, verdicts=tuple(known(one) for one in verdicts(result)))


def _at_rate(factor: float, there: Verdict) -> AtRate:
    """What is said of a verdict at another rate: with the seeds that gave it, or, while it is open, with those that there are."""
    return AtRate(factor, there.outcome, there.n if there.outcome in GIVEN else there.n_now)


def _cells(claim: Claim, result: StudyResult) -> set[Labels]:
    """The cells that a claim speaks of."""
    return {labels for contrast in claim.predicate.contrasts() for labels in weights(contrast, result)}


def _begun(result: StudyResult, cells: Iterable[Labels], edition: Edition, store) -> bool:
    """Whether the first seed of every one of these cells is stored at an edition's rate, and one of them is trained."""
    usual: dict[Labels, CellResult] = {cell.cell.labels: cell for cell in result.cells if not cell.unavailable}
    if not all(labels in usual for labels in cells):
        return False
    configs = (edition.config(result.study, usual[labels].cell, 0) for labels in cells)
    steps = []
    for config in configs:  # most are not there, and then none of the others is asked for
        if not store.has(run_id(config), use_published=True):
            return False
        steps.append(config.train.steps)
    return any(steps)


def _verdicts(result: StudyResult, edition: Edition, store, loaded: dict[str, RunResult]) -> dict[str, Verdict]:
    there = judged(gather(result.study, edition, store, loaded=loaded, noise=result.noise))
    return {one.claim.key: one for one in verdicts(there)}
