"""Whether verdicts survive other learning rates: the same study at a third and at three times the scale's, from what is stored."""

from __future__ import annotations

from dataclasses import replace

from core.report.cells import RunResult, StudyResult, gather
from core.report.comparability import judged
from core.report.judgement import AtRate, Verdict
from core.report.verdicts import verdicts
from core.spec.edition import Edition
from core.spec.identity import run_id
from core.spec.scale import OTHER_RATES


def with_rates(result: StudyResult, store, loaded: dict[str, RunResult]) -> StudyResult:
    """The result whose verdicts know the outcomes at other learning rates; unchanged where no run of the study is stored at any."""
    editions = {factor: result.edition.at_rate(factor) for factor in OTHER_RATES}
    if not result.study.claims or not any(_begun(result, edition, store) for edition in editions.values()):
        return result
    found = {factor: _verdicts(result, edition, store, loaded) for factor, edition in editions.items()}

    def known(one: Verdict) -> Verdict:
        there = {factor: found[factor][one.claim.key] for factor in OTHER_RATES}
        return replace(one, at_rates=tuple(AtRate(factor, other.outcome, other.n_now) for factor, other in there.items()))

    return replace(result, verdicts=tuple(known(one) for one in verdicts(result)))


def _begun(result: StudyResult, edition: Edition, store) -> bool:
    """Whether the first seed of any cell is stored at an edition's rate. Cells that do not train have the same run at every rate, which
    says nothing."""
    usual = {run.run_id for run in result.runs}
    first = {run_id(edition.config(result.study, cell.cell, 0)) for cell in result.cells if not cell.unavailable}
    return any(store.has(identity, use_published=True) for identity in first - usual)


def _verdicts(result: StudyResult, edition: Edition, store, loaded: dict[str, RunResult]) -> dict[str, Verdict]:
    there = judged(gather(result.study, edition, store, loaded=loaded, noise=result.noise))
    return {one.claim.key: one for one in verdicts(there)}
