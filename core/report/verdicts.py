"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.spec.claim`), each paired by seed with its own scatter over seeds.
Claims are checked at fixed numbers of seeds (`core.report.looks`); the interval beside a verdict is the
tested one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from core.report.comparability import Comparability, by_configuration, comparability
from core.report.contrasts import Readings, printed_value, weights
from core.report.looks import PValues, alpha_at, decide, share_bounds
from core.report.results import RunResult, StudyResult, gather
from core.report.statistics import NO_ESTIMATE, Estimate, over_seeds
from core.spec.claim import ROUNDING, Claim, Contrast, Labels, Predicate, holds_as_printed
from core.spec.setup import Setup, unmeasured
from core.spec.study import Study

Outcome = Literal["supported", "contradicted", "equivalent", "undecided", "not run", "no verdict"]
Against = Literal["", "smaller than printed", "larger than printed", "of the other sign than printed"]
SETTLED = ("supported", "contradicted", "equivalent")  # verdicts that stay
AS_PRINTED = "as printed, no difference above the margin"


class Turn(NamedTuple):
    """The contrast on which a predicate turns, and by how much its level is divided there, on either side."""

    contrast: Contrast
    support: int = 1
    contradiction: int = 1


class Interval(NamedTuple):
    """Mean of a contrast over n seeds with the two one-sided bounds that are tested; NaN before the first
    check."""

    effect: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for a claim. The numbers are those of the contrast on which it turns, the weakest that it
    needs.

    `tested` is the effect with its tested bounds at check `look` (from 0; -1: none is complete, and there are
    no bounds): the check that settled the claim, or the latest that all its cells have reached; the p there
    count at `level`. `estimate` is over all seeds, with its 95 % interval. Effects lie above the claim's
    threshold, or below it if negative. `reason` says why there is no verdict, or why it is provisional.
    `printed`: whether the claim holds on the paper's printed numbers (None: not printed); `printed_effect` is
    the same contrast there, and `against_printed` how ours compares with it if our interval leaves it out.
    """

    claim: Claim
    outcome: Outcome
    provisional: bool
    reason: str
    contrast: Contrast
    tested: Interval
    look: int
    p: PValues
    level: float
    estimate: Estimate
    printed: bool | None
    printed_effect: float | None
    against_printed: Against


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
    own = {field.name: getattr(result, field.name) for field in fields(StudyResult)}
    if result.by_value:
        parts = tuple(judge(part) for part in result.by_value)
        no_verdict = {key: why for part in parts for key, why in part.checks.no_verdict.items()}
        provisional = {key: why for part in parts for key, why in part.checks.provisional.items()}
        checks = Comparability((), no_verdict, provisional)
        verdicts = tuple(verdict for part in parts for verdict in part.verdicts)
        return Judged(**own | {"by_value": parts}, checks=checks, verdicts=verdicts)
    checks, readings = comparability(result), Readings(result)
    verdicts = tuple(_verdict(claim, readings, checks) for claim in result.study.claims)
    return Judged(**own, checks=checks, verdicts=verdicts)


def study_result(study: Study, setup: Setup, store, loaded: dict[str, RunResult] | None = None) -> Judged:
    """A study on its stored runs, judged; `loaded` as in `core.report.results.gather`."""
    return judge(gather(study, setup, store, loaded=loaded))


def not_begun(study: Study, setup: Setup) -> Judged:
    """A study without a run: its configurations alone say which claims this scale can judge."""
    return judge(by_configuration(study, setup))


def _verdict(claim: Claim, readings: Readings, checks: Comparability) -> Verdict:
    result, number = readings.result, len(readings.result.study.claims)
    decision = decide(claim, readings.samples, number)
    seeds = {contrast: readings.seeds(contrast) for contrast in claim.predicate.contrasts()}
    waiting = decision.outcome == "undecided" and any(n == 0 for n in seeds.values())
    barred, provisional = checks.no_verdict.get(claim.key, ""), checks.provisional.get(claim.key, "")
    outcome: Outcome = "no verdict" if barred else "not run" if waiting else decision.outcome
    missing = out_of_reach(claim, result) if outcome == "not run" else ""
    is_provisional = outcome in SETTLED and bool(provisional)
    turn = turning(
        claim.predicate, _strengths(seeds, decision.n, readings), decision.outcome == "contradicted"
    )
    tested = interval(turn, decision.n, decision.look, number, readings)
    every = readings.samples(turn.contrast, seeds[turn.contrast])
    numbers: dict[Labels, float | None] = {cell.cell.labels: cell.cell.published for cell in result.cells}
    return Verdict(
        claim=claim,
        outcome=outcome,
        provisional=is_provisional,
        reason=barred or missing or (provisional if is_provisional else ""),
        contrast=turn.contrast,
        tested=tested,
        look=decision.look,
        p=decision.p,
        level=alpha_at(decision.look, number) if decision.look >= 0 else np.nan,
        estimate=NO_ESTIMATE if every is None else over_seeds(every),
        printed=holds_as_printed(claim.predicate, numbers, claim.read_to),
        printed_effect=printed_value(turn.contrast, result),
        against_printed=against_printed(turn.contrast, tested, result),
    )


def out_of_reach(claim: Claim, result: StudyResult) -> str:
    """Why a claim cannot be run at this scale: cells that it lacks, or a number that its runs do not leave;
    else ""."""
    whys = []
    for contrast in claim.predicate.contrasts():
        named = weights(contrast, result)
        for cell in (cell for cell in result.cells if cell.cell.labels in named):
            if cell.unavailable:
                whys.append(cell.unavailable)
            elif contrast.metric is not None:
                transfer = result.setup.config(result.study, cell.cell, 0).eval.transfer
                whys.append(unmeasured(contrast.metric, transfer, result.scale) or "")
    return "; ".join(dict.fromkeys(why for why in whys if why))


def interval(turn: Turn, n: int, look: int, claims: int, readings: Readings) -> Interval:
    """The contrast at a check, with the bounds that its tests exclude beyond: t.isf(a / divisor, n - 1) * s /
    sqrt(n) to each side, of a share of runs Clopper and Pearson's. Without a complete check: the mean,
    without bounds."""
    values = readings.samples(turn.contrast, n) if look >= 0 else None
    if values is None:
        n = readings.seeds(turn.contrast)
        values = readings.samples(turn.contrast, n)
        return Interval(np.nan if values is None else float(values.mean()), np.nan, np.nan, n)
    effect, error, level = (
        float(values.mean()),
        float(values.std(ddof=1) / np.sqrt(n)),
        alpha_at(look, claims),
    )
    if turn.contrast.of == "share":
        return Interval(effect, *share_bounds(values, level / turn.support, level / turn.contradiction), n)
    low, high = (
        -float(stdtrit(n - 1, level / divisor)) * error for divisor in (turn.support, turn.contradiction)
    )
    return Interval(effect, effect - low, effect + high, n)


def turning(predicate: Predicate, strengths: Mapping[Contrast, float], refuted: bool) -> Turn:
    """The contrast on which a predicate turns: where u of its parts are needed, the u-th strongest (NaN: no
    run).

    A part without a run counts as the strongest if the claim is refuted without it, else as the weakest.
    """
    if isinstance(predicate, Contrast):
        return Turn(predicate)
    unknown = np.inf if refuted else -np.inf
    parts = [turning(part, strengths, refuted) for part in predicate.parts]
    strength = [strengths[part.contrast] for part in parts]
    known = [unknown if np.isnan(one) else one for one in strength]
    order = sorted(range(len(parts)), key=known.__getitem__, reverse=True)
    m, u = len(parts), predicate.needed
    part = parts[order[u - 1]]
    return Turn(part.contrast, part.support * (m - u + 1), part.contradiction * u)


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


def against_printed(contrast: Contrast, tested: Interval, result: StudyResult) -> Against:
    """Whether the printed effect lies outside our interval, and on which side of ours, seen from the printed
    direction.

    The sums of cells are compared, without what the claim requires of them. One cell alone is a level, of
    which more is no larger effect.
    """
    printed = printed_value(contrast, result)
    if (
        len(contrast.terms) == 1
        or printed is None
        or np.isnan(tested.low)
        or tested.low <= printed <= tested.high
    ):
        return ""
    # of an effect that is printed below zero, more of it lies further below
    positive = printed + contrast.above >= 0
    if (tested.high + contrast.above < 0) if positive else (tested.low + contrast.above > 0):
        return "of the other sign than printed"
    return "smaller than printed" if (printed > tested.high) == positive else "larger than printed"


def as_printed(verdict: Verdict) -> str:
    """Of an "equivalent" claim whose printed lead is below its margin: that the paper prints no larger
    one."""
    effect, margin = verdict.printed_effect, verdict.claim.margin
    small = effect is not None and margin is not None and abs(effect) < margin - ROUNDING
    return AS_PRINTED if verdict.outcome == "equivalent" and small else ""


def why_unmarked(result: Judged) -> str:
    """Why a figure marks no row: none of the claims that have run has a verdict here, or, without claims, the
    method does not learn; else ""."""
    if not result.study.claims:
        check = next(
            (check for check in result.checks.checks if check.kind == "gain" and check.met is False), None
        )
        return "" if check is None else f"No verdict: {check.words}"
    outcomes = {verdict.outcome for verdict in result.verdicts} - {"not run"}
    if outcomes != {"no verdict"}:
        return ""
    whys = (why for text in result.checks.no_verdict.values() for why in text.split("; "))
    return f"No verdict: {'; '.join(dict.fromkeys(whys))}"


def reasons(result: Judged) -> list[str]:
    """Why claims have no verdict, or a provisional one: a sentence for each reason, which names the
    claims."""
    sentences = []
    for head, whys in (("No verdict", result.checks.no_verdict), ("Provisional", result.checks.provisional)):
        by_why: dict[str, list[str]] = {}
        for key, why in whys.items():
            by_why.setdefault(why, []).append(key)
        every = len(result.study.claims)
        for why, keys in by_why.items():
            named = (
                ""
                if len(keys) == every > 1
                else f" on {', '.join(keys)}"
                if head == "No verdict"
                else f" {', '.join(keys)}"
            )
            sentences.append(f"{head}{named}: {why}.")
    return sentences
