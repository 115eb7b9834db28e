"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.spec.claim`), each paired by seed with its own scatter over seeds.
Claims are checked at fixed numbers of seeds (`core.report.looks`); the interval beside a verdict is the
tested one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.report.comparability import Comparability, comparability
from core.report.contrasts import Readings, cells_of, printed_value
from core.report.looks import Decision, Interval, alpha_at, decide, leaves, tested
from core.report.results import RunResult, StudyResult, gather
from core.report.statistics import NOT_TESTED, Estimate, over_seeds
from core.spec.claim import ROUNDING, Claim, Contrast, Predicate
from core.spec.setup import Setup, unmeasured
from core.spec.study import Study

Outcome = Literal["supported", "contradicted", "equivalent", "undecided", "not run", "no verdict"]
AS_PRINTED = "as printed, no difference above the margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for a claim. The numbers are those of the weakest contrast that it needs.

    `tested` is the effect with its tested bounds at the check that settled the claim, or the latest that all
    its cells have reached (n is 0 before the first). `estimate` is over all seeds, with its 95 % interval.
    Effects lie above the claim's threshold, or below it if negative. `reason` says why there is no verdict,
    why it is provisional, or that the paper prints no difference above an equivalent claim's margin.
    `printed_effect` is the same contrast on the paper's numbers.
    """

    claim: Claim
    outcome: Outcome
    reason: str
    contrast: Contrast
    tested: Interval
    estimate: Estimate
    printed_effect: float | None


@dataclass(frozen=True, kw_only=True)
class Judged(StudyResult):
    """A study with its checks and its verdicts, in the claims' order; with `--vary`, those of each part in
    turn."""

    checks: Comparability
    verdicts: tuple[Verdict, ...]
    by_value: tuple[Judged, ...] = ()

    @property
    def parts(self) -> tuple[Judged, ...]:
        """The study at each combination of varied values; itself if nothing is varied."""
        return self.by_value or (self,)


def judge(result: StudyResult) -> Judged:
    """The verdict on every claim of a study."""
    if result.by_value:
        parts = tuple(judge(part) for part in result.by_value)
        no_verdict = {key: why for part in parts for key, why in part.checks.no_verdict.items()}
        provisional = {key: why for part in parts for key, why in part.checks.provisional.items()}
        judged = {
            "by_value": parts,
            "checks": Comparability((), no_verdict, provisional),
            "verdicts": tuple(verdict for part in parts for verdict in part.verdicts),
        }
    else:
        checks, readings = comparability(result), Readings(result)
        verdicts = (_verdict(claim, readings, checks) for claim in result.study.claims)
        judged = {"checks": checks, "verdicts": tuple(verdicts)}
    return Judged(**vars(result) | judged)


def study_result(
    study: Study, setup: Setup, store=None, loaded: dict[str, RunResult] | None = None
) -> Judged:
    """A study on its stored runs, judged; `store` and `loaded` as in `core.report.results.gather`."""
    return judge(gather(study, setup, store, loaded=loaded))


def _verdict(claim: Claim, readings: Readings, checks: Comparability) -> Verdict:
    decision = decide(claim, readings.samples, len(readings.result.study.claims))
    seeds = {contrast: readings.seeds(contrast) for contrast in claim.predicate.contrasts()}
    waiting = decision.outcome == "undecided" and not all(seeds.values())
    barred = checks.no_verdict.get(claim.key, "")
    outcome: Outcome = "no verdict" if barred else "not run" if waiting else decision.outcome
    notes = [barred or (_out_of_reach(claim, readings.result) if waiting else "")]
    weakest = turning(claim.predicate, _strengths(seeds, decision.n, readings), decision)
    every, printed = readings.samples(weakest, seeds[weakest]), printed_value(weakest, readings.result)
    if claim.key in checks.provisional and outcome not in ("undecided", "not run"):
        notes.append(f"provisional: {checks.provisional[claim.key]}")
    if outcome == "equivalent" and printed is not None and abs(printed) < (claim.margin or 0.0) - ROUNDING:
        notes.append(AS_PRINTED)
    return Verdict(
        claim=claim,
        outcome=outcome,
        reason="; ".join(note for note in notes if note),
        contrast=weakest,
        tested=_tested(claim, weakest, decision, readings),
        estimate=over_seeds(() if every is None else every),
        printed_effect=printed,
    )


def _out_of_reach(claim: Claim, result: StudyResult) -> str:
    """Why a claim cannot be run at this scale: cells that it lacks, or a number that its runs do not leave;
    else ""."""
    whys = [
        cell.unavailable
        or contrast.metric
        and unmeasured(
            contrast.metric, result.setup.config(result.study, cell.cell, 0).eval.transfer, result.scale
        )
        for contrast in claim.predicate.contrasts()
        for cell in cells_of([contrast], result)
    ]
    return "; ".join(dict.fromkeys(why for why in whys if why))


def _tested(claim: Claim, contrast: Contrast, decision: Decision, readings: Readings) -> Interval:
    """The contrast at a check, with the bounds that its tests exclude beyond; no bounds without a complete
    check."""
    values = readings.samples(contrast, decision.n)
    if values is None:
        return NOT_TESTED
    level = alpha_at(decision.look, len(readings.result.study.claims))
    support, contradiction = {leaf: divisors for leaf, *divisors in leaves(claim.predicate)}[contrast]
    return tested(values, level / support, level / contradiction, contrast.of == "share")


def turning(predicate: Predicate, strengths: Mapping[Contrast, float], decision: Decision) -> Contrast:
    """The contrast on which a predicate turns: where u of its parts are needed, the u-th strongest (NaN: no
    run).

    A part without a run counts as the strongest if the claim is refuted without it, else as the weakest.
    """
    if isinstance(predicate, Contrast):
        return predicate
    unknown = np.inf if decision.outcome == "contradicted" else -np.inf
    parts = [turning(part, strengths, decision) for part in predicate.parts]
    known = {part: unknown if np.isnan(strengths[part]) else strengths[part] for part in parts}
    return sorted(parts, key=known.__getitem__, reverse=True)[predicate.needed - 1]


def _strengths(seeds: Mapping[Contrast, int], n: int, readings: Readings) -> dict[Contrast, float]:
    """How far each contrast is above zero in units of its error, at a check, or (n = 0) on all stored seeds;
    NaN: no run.

    Where no contrast has a run, how far each is above zero as printed, so that a waiting claim turns on what
    decides it in print.
    """

    def of(contrast: Contrast) -> float:
        values = readings.samples(contrast, n or seeds[contrast])
        if values is None:
            return np.nan
        mean = float(values.mean())
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 1.0
        return mean / error if error > 0 else np.copysign(np.inf, mean) if mean else 0.0

    if any(seeds.values()):
        return {contrast: of(contrast) for contrast in seeds}
    printed = {contrast: printed_value(contrast, readings.result) for contrast in seeds}
    return {contrast: np.nan if value is None else value for contrast, value in printed.items()}


def why_unmarked(result: Judged) -> str:
    """Why a figure marks no row: none of the claims that have run has a verdict here, or, without claims, the
    method does not learn; else ""."""
    whys = [check.words for check in result.checks.checks if check.kind == "gain" and check.met is False]
    if result.study.claims:
        outcomes = {verdict.outcome for verdict in result.verdicts} - {"not run"}
        every = result.checks.no_verdict.values() if outcomes == {"no verdict"} else ()
        whys = [why for text in every for why in text.split("; ")]
    return f"No verdict: {'; '.join(dict.fromkeys(whys))}" if whys else ""


def reasons(result: Judged) -> list[str]:
    """Why claims have no verdict, or a provisional one: a sentence for each reason, which names the
    claims."""
    sentences, every = [], len(result.study.claims)
    for head, on, whys in (
        ("No verdict", " on ", result.checks.no_verdict),
        ("Provisional", " ", result.checks.provisional),
    ):
        for why in dict.fromkeys(whys.values()):
            keys = [key for key in whys if whys[key] == why]
            named = "" if len(keys) == every > 1 else f"{on}{', '.join(keys)}"
            sentences.append(f"{head}{named}: {why}.")
    return sentences


def judged_at(studies: Sequence[Study], setup: Setup) -> list[str]:
    """Which claims of each study this scale can judge, and why not the others."""
    lines = []
    for study in (study for study in studies if study.claims):
        result, every = study_result(study, setup), len(study.claims)
        able = sum(
            claim.key not in result.checks.no_verdict
            and all(
                any(setup.unavailable(result.study, cell) is None for cell in result.study.matching(labels))
                for labels in claim.cells()
            )
            for claim in study.claims
        )
        lines.append(f"{study.name}: {able} of {every} claims can be judged at scale {setup.scale.name}.")
        lines += [f"  {reason}" for reason in reasons(result)]
    return lines
