"""Whether verdicts survive other learning rates: the same study at a third and at three times the scale's, from what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.report.by_rate import by_rate
from core.report.cells import CellResult, RunResult, StudyResult, gather
from core.report.comparability import judged
from core.report.contrasts import weights
from core.report.judgement import GIVEN, AtRate, Verdict
from core.report.verdicts import settled_once, verdicts
from core.spec.claim import Labels
from core.spec.edition import Edition
from core.spec.identity import run_id
from core.spec.scale import OTHER_RATES
from core.spec.study import Study
from core.spec.table import Cell


def found(study: Study, edition: Edition, store, loaded: dict[str, RunResult], noise: float | None) -> StudyResult:
    """A study as it stands in the store: judged, with its verdicts at the edition's learning rate and, as far as they are run, at others."""
    return with_rates(settled_once(judged(gather(study, edition, store, loaded=loaded, noise=noise))), store, loaded)


def with_rates(result: StudyResult, store, loaded: dict[str, RunResult]) -> StudyResult:
    """The result whose verdicts know the outcomes at other learning rates, with the numbers there. A claim none of whose rates has a run of every cell that it
    speaks of is left as it is, and so is one on cells without training alone or on time, which hangs on no rate."""
    usual: dict[Labels, CellResult] = {cell.cell.labels: cell for cell in result.cells if not cell.unavailable}
    editions = {factor: result.edition.at_rate(factor) for factor in OTHER_RATES}
    begun = set()
    for claim in result.study.claims:
        contrasts = claim.predicate.contrasts()
        if any((contrast.metric or result.study.metric).quantity == "step_seconds" for contrast in contrasts):
            continue
        cells = {labels for contrast in contrasts for labels in weights(contrast, result)}
        if usual.keys() >= cells and any(
            _begun(result.study, [usual[one].cell for one in cells], there, store) for there in editions.values()
        ):
            begun.add(claim.key)
    if not begun:
        return result
    there = {
        factor: judged(gather(result.study, edition, store, loaded=loaded, noise=result.noise)) for factor, edition in editions.items()
    }
    others = {factor: {one.claim.key: one for one in verdicts(at_rate)} for factor, at_rate in there.items()}
    ordered = [at_rate for _, at_rate in sorted({**there, 1.0: result}.items())]

    def known(one: Verdict) -> Verdict:
        if one.claim.key not in begun:
            return one
        return replace(one, at_rates=tuple(_at_rate(factor, others[factor][one.claim.key]) for factor in OTHER_RATES))

    return replace(result, verdicts=tuple(known(one) for one in verdicts(result)), rates=by_rate(ordered))


def _at_rate(factor: float, there: Verdict) -> AtRate:
    """What is said of a verdict at another rate: with the seeds that gave it, or, while it is open, with those that there are."""
    given = there.outcome in GIVEN
    effect = there.effect if given else there.effect_now if there.outcome == "undecided" else np.nan
    return AtRate(factor, there.outcome, there.n if given else there.n_now, effect, there.small)


def _begun(study: Study, cells: Sequence[Cell], edition: Edition, store) -> bool:
    """Whether the first seed of every one of these cells is stored at an edition's rate, and one of them is trained."""
    configs = [edition.config(study, cell, 0) for cell in cells]
    return any(config.train.steps for config in configs) and all(store.has(run_id(config), use_published=True) for config in configs)
