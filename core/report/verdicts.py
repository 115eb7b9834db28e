"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.spec.claim`), each paired by seed with its own scatter over seeds. Whether it is settled is
asked at fixed numbers of seeds (`core.report.sequential`); the interval that is shown is the one that was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from core.report import shares
from core.report.cells import RunResult, StudyResult, gather
from core.report.comparability import judged
from core.report.contrasts import Readings, printed_value, weights
from core.report.judgement import Against, Outcome, Verdict
from core.report.sequential import ALPHA, SETTLED, Tail, alpha_at, claim_p, decide, settled, tails
from core.spec.claim import Claim, Contrast, Joined, Labels, Predicate, Term, holds_as_printed
from core.spec.conditions import Edition
from core.spec.study import Study

RESAMPLES = 10_000
LEAST_RESAMPLED = 3  # seeds; fewer cannot be drawn anew


class Turn(NamedTuple):
    """The contrast on which a predicate turns, and by how much its level is divided there, for support and for contradiction."""

    contrast: Contrast
    support: int = 1
    contradiction: int = 1


class Interval(NamedTuple):
    """Mean of a contrast over n seeds with the two one-sided bounds that are tested; NaN before the first look."""

    effect: float
    low: float
    high: float
    n: int


def verdicts(result: StudyResult) -> tuple[Verdict, ...]:
    """The verdict on every claim of a study, in its order."""
    if result.verdicts is not None:
        return result.verdicts
    if len(parts := result.parts) > 1:
        return tuple(one for part in parts for one in verdicts(part))
    readings = Readings(result)
    return tuple(_verdict(claim, readings, result.reason(claim.key)) for claim in result.study.claims)


def settled_once(result: StudyResult) -> StudyResult:
    """The result with its verdicts, so that whoever asks for them again need not wait."""
    return replace(result, verdicts=verdicts(result))


def study_result(study: Study, edition: Edition, store, loaded: dict[str, RunResult], noise: float | None) -> StudyResult:
    """A study on its stored runs, with its checks and verdicts; `loaded` and `noise` as in `core.report.cells.gather`."""
    return settled_once(judged(gather(study, edition, store, loaded=loaded, noise=noise)))


def _verdict(claim: Claim, readings: Readings, reason: str) -> Verdict:
    result, number = readings.result, len(readings.result.study.claims)
    decision = decide(claim, readings.samples, number)
    seeds = {contrast: readings.seeds(contrast) for contrast in claim.predicate.contrasts()}
    waiting = decision.outcome == "undecided" and any(n == 0 for n in seeds.values())
    outcome = "not comparable" if reason else "not run" if waiting else decision.outcome
    reason = out_of_reach(claim, result) if outcome == "not run" else reason
    turn = turning(claim.predicate, _strengths(seeds, decision.n, readings), decision.outcome == "contradicted")
    shown = interval(turn, decision.n, decision.look, number, readings)
    now = readings.samples(turn.contrast, seeds[turn.contrast])
    numbers: dict[Labels, float | None] = {cell.cell.labels: cell.cell.published for cell in result.cells}
    return Verdict(
        claim=claim, outcome=outcome, reason=reason, contrast=turn.contrast, effect=shown.effect, low=shown.low, high=shown.high,
        n=shown.n, look=decision.look, p=decision.p, alpha=alpha_at(decision.look, number) if decision.look >= 0 else np.nan,
        effect_now=np.nan if now is None else float(now.mean()), n_now=seeds[turn.contrast],
        printed=holds_as_printed(claim.predicate, numbers, claim.read_to),
        printed_effect=printed_value(turn.contrast, result), against_printed=against_printed(turn.contrast, shown, result),
        paper_runs=on_paper_runs(claim, result), p_best=p_best(claim.predicate, readings),
    )  # fmt: skip


def out_of_reach(claim: Claim, result: StudyResult) -> str:
    """Why cells that a claim speaks of cannot be run at this scale; "" if they all can."""
    speaks = {cell.labels for cell in result.study.cells_of(claim.predicate.contrasts())}
    return "; ".join(dict.fromkeys(cell.unavailable for cell in result.cells if cell.cell.labels in speaks and cell.unavailable))


def interval(turn: Turn, n: int, look: int, claims: int, readings: Readings) -> Interval:
    """The contrast at a look, with the bounds that its tests exclude beyond: t.isf(a / divisor, n - 1) * s / sqrt(n) to each side, of a
    share of runs Clopper and Pearson's.

    Without a complete look: the mean over the stored seeds, without bounds.
    """
    values = readings.samples(turn.contrast, n) if look >= 0 else None
    if values is None:
        n = readings.seeds(turn.contrast)
        values = readings.samples(turn.contrast, n)
        return Interval(np.nan if values is None else float(values.mean()), np.nan, np.nan, n)
    effect, error, level = float(values.mean()), float(values.std(ddof=1) / np.sqrt(n)), alpha_at(look, claims)
    if turn.contrast.of == "share":
        return Interval(effect, *shares.bounds(values, level / turn.support, level / turn.contradiction), n)
    low, high = (-float(stdtrit(n - 1, level / divisor)) * error for divisor in (turn.support, turn.contradiction))
    return Interval(effect, effect - low, effect + high, n)


def turning(predicate: Predicate, strengths: Mapping[Contrast, float], refuted: bool) -> Turn:
    """The contrast on which a predicate turns: where u of its parts are needed, the u-th strongest (NaN: no run).

    A part without a run counts as the strongest if the claim is refuted without it, else as the weakest.
    """
    if isinstance(predicate, Contrast):
        return Turn(predicate)
    unknown = np.inf if refuted else -np.inf
    parts = [turning(part, strengths, refuted) for part in predicate.parts]
    found = [unknown if np.isnan(strengths[part.contrast]) else strengths[part.contrast] for part in parts]
    order = sorted(range(len(parts)), key=found.__getitem__, reverse=True)
    m, u = len(parts), predicate.needed
    part = parts[order[u - 1]]
    return Turn(part.contrast, part.support * (m - u + 1), part.contradiction * u)


def _strengths(seeds: Mapping[Contrast, int], n: int, readings: Readings) -> dict[Contrast, float]:
    """How far each contrast is above zero in units of its error, at a look, or (n = 0) on all stored seeds; NaN without a run.

    Where no contrast has a run, how far each is above zero as printed, so that a claim that waits turns on what decides it in print.
    """

    def of(contrast: Contrast) -> float:
        values = readings.samples(contrast, n or seeds[contrast])
        if values is None:
            return np.nan
        mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 1.0
        return mean / error if error > 0 else np.copysign(np.inf, mean) if mean else 0.0

    if any(seeds.values()):
        return {contrast: of(contrast) for contrast in seeds}
    printed = {contrast: printed_value(contrast, readings.result) for contrast in seeds}
    return {contrast: np.nan if value is None else value for contrast, value in printed.items()}


def against_printed(contrast: Contrast, shown: Interval, result: StudyResult) -> Against:
    """Whether the printed effect lies outside our interval, and if so whether ours is smaller or larger in the printed direction, or
    lies with the whole interval in the other direction.

    Compared are the weighted sums themselves, without the claim's threshold. Of a single cell's level nothing is said: it is no effect.
    """
    theirs = printed_value(contrast, result)
    if len(contrast.terms) == 1 or theirs is None or not np.isfinite(shown.low) or shown.low <= theirs <= shown.high:
        return ""
    positive = theirs + contrast.above >= 0  # of an effect that is printed below zero, more of it lies further below
    if (shown.high + contrast.above < 0) if positive else (shown.low + contrast.above > 0):
        return "of the other sign than printed"
    return "smaller than printed" if (theirs > shown.high) == positive else "larger than printed"


def on_paper_runs(claim: Claim, result: StudyResult) -> Outcome:
    """The outcome on the paper's own single runs, taken as independent (Welch), at 5 % over the study's claims, with a single look."""
    every = claim.predicate.contrasts()
    tested = {contrast: tail for contrast in every if (tail := _welch(contrast, result)) is not None}
    if len(tested) < len(set(every)):
        return "not run"
    p = claim_p(claim, lambda contrast, shift: tested[contrast](shift))
    return SETTLED[int(settled(p, ALPHA / len(result.study.claims)))]


def _welch(contrast: Contrast, result: StudyResult) -> Callable[[float], Tail] | None:
    """The tails of a contrast (plus a shift) on the paper's single runs; None if the paper's runs are not known."""
    found = weights(contrast, result)
    runs = {cell.cell.labels: cell.cell.published_runs for cell in result.cells if cell.cell.labels in found}
    if contrast.metric is not None or contrast.of != "value" or any(len(values) < 2 for values in runs.values()):
        return None
    parts = [found[labels] ** 2 * np.var(values, ddof=1) / len(values) for labels, values in runs.items()]
    effect = float(sum(found[labels] * np.mean(values) for labels, values in runs.items()) - contrast.above)
    spread = sum(part**2 / (len(values) - 1) for part, values in zip(parts, runs.values(), strict=True))
    if spread == 0:
        return lambda shift: tails(np.full(2, effect + shift))
    error, freedom = float(np.sqrt(sum(parts))), float(sum(parts) ** 2 / spread)
    return lambda shift: Tail(float(stdtr(freedom, -(effect + shift) / error)), float(stdtr(freedom, (effect + shift) / error)))


def p_best(predicate: Predicate, readings: Readings) -> float | None:
    """How often the cell that a claim calls best has the highest mean when the seeds are drawn anew, all cells together; else None."""
    cells = called_best(predicate)
    if not cells:
        return None
    single = [Contrast((Term(1.0, cell),)) for cell in cells]
    n = min(readings.seeds(contrast) for contrast in single)
    if n < LEAST_RESAMPLED:
        return None
    values = np.stack([found for one in single if (found := readings.samples(one, n)) is not None])  # (cells, seeds); all have n
    drawn = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
    means = values[:, drawn].mean(2)  # (cells, resamples)
    return float((means[0] > means[1:].max(0)).mean())


def called_best(predicate: Predicate) -> tuple[Labels, ...]:
    """The cell that a predicate calls best, and the others, if the predicate is `best(a, others)` with two others or more; else nothing."""
    if not isinstance(predicate, Joined) or predicate.needed < len(predicate.parts) or len(predicate.parts) < 2:
        return ()
    pairs = []
    for part in predicate.parts:
        if isinstance(part, Joined) or part.metric is not None or part.of != "value" or [t.weight for t in part.terms] != [1.0, -1.0]:
            return ()
        pairs.append((part.terms[0].cell, part.terms[1].cell))
    firsts, others = {a for a, _ in pairs}, {b for _, b in pairs}
    return (pairs[0][0], *(b for _, b in pairs)) if len(firsts) == 1 and len(others) == len(pairs) else ()
