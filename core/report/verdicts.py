"""Verdicts: what the runs say of each claim of a study, and what the paper's own numbers say of it.

A claim comes down to contrasts (`core.spec.claim`), each paired by seed with its own scatter over
seeds. Claims are checked at fixed numbers of seeds (`core.report.statistics`); the interval beside
a verdict is the tested one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.report.comparability import Check, Method, configurations, gate, learning, trained
from core.report.comparisons import Comparison, Outcome, Points, comparisons_of, points
from core.report.contrasts import Reading, readings
from core.report.results import Loaded, StudyResult, gather
from core.report.statistics import Estimate, alpha_at, decide, leaves, over_seeds
from core.spec.claim import ROUNDING, Claim, Contrast, Predicate, truth
from core.spec.setup import Setup, unmeasured
from core.spec.study import Study

AS_PRINTED = "as printed, no difference above the margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for a claim, the readings of its contrasts, and each as a comparison. The numbers
    are those of `contrast`, the weakest that the claim needs; they lie above the claim's threshold,
    or below it if negative.

    `tested` is the effect with its tested bounds at the check that settled the claim, or the latest
    that all its cells have reached (n is 0 before the first). `estimate` is over all seeds, with
    its 95 % interval. `reason` says why there is no verdict, why it is provisional, or that the
    paper prints no difference above an equivalent claim's margin; `provisional` why it would be.
    `printed_effect` is the same contrast on the paper's numbers.
    """

    claim: Claim
    outcome: Outcome
    reason: str
    provisional: str
    readings: Mapping[Contrast, Reading]
    contrast: Contrast
    tested: Estimate
    estimate: Estimate
    printed_effect: float | None
    comparisons: tuple[Comparison, ...]

    @property
    def points(self) -> Points:
        """Where an undecided claim's estimates point; empty for every other."""
        if self.outcome != "undecided":
            return ""
        return points(self.claim.predicate, self.comparisons)

    @property
    def within_margin(self) -> bool:
        """Whether a claim is settled by an effect smaller than its margin: with every threshold
        moved by the margin, the estimates would not say so."""
        side = {"supported": 1, "contradicted": -1}.get(self.outcome)
        if side is None or self.claim.margin is None:
            return False
        shift = side * self.claim.margin
        beyond = {each.contrast: each.estimate.mean > shift for each in self.comparisons}
        return truth(self.claim.predicate, beyond.get) is not (side == 1)

    @property
    def seeds(self) -> int:
        """How many seeds, from 0 on, all cells of the claim have."""
        return min(reading.seeds for reading in self.readings.values())


@dataclass(frozen=True, kw_only=True)
class Judged(StudyResult):
    """A study with its checks and its verdicts, in the claims' order; with `--vary`, those of each
    part in turn, and no checks of the whole. `checks` has the worst cell of each kind."""

    checks: tuple[Check, ...]
    verdicts: tuple[Verdict, ...]
    by_value: tuple[Judged, ...] = ()

    @property
    def parts(self) -> tuple[Judged, ...]:
        """The study at each combination of varied values; itself if nothing is varied."""
        return self.by_value or (self,)


def judge(result: StudyResult) -> Judged:
    """The verdict on every claim of a study."""
    if result.by_value:
        parts = tuple(map(judge, result.by_value))
        verdicts = tuple(verdict for part in parts for verdict in part.verdicts)
        return Judged(**vars(result) | {"by_value": parts, "checks": (), "verdicts": verdicts})
    learns = learning(result)
    read = readings(result)
    worst = sorted(learns.values(), key=lambda check: (False, None, True).index(check.met))[:1]
    verdicts = tuple(_verdict(claim, read, learns, result) for claim in result.study.claims)
    checks = (*configurations(trained(result), result), *worst)
    return Judged(**vars(result) | {"checks": checks, "verdicts": verdicts})


def study_result(study: Study, setup: Setup, store=None, loaded: Loaded | None = None) -> Judged:
    """A study on its stored runs, judged; `store` and `loaded` as in
    `core.report.results.gather`."""
    return judge(gather(study, setup, store, loaded=loaded))


def _verdict(
    claim: Claim,
    every: Mapping[Contrast, Reading],
    learns: Mapping[Method, Check],
    result: StudyResult,
) -> Verdict:
    read = {each: every[each] for each in claim.predicate.contrasts()}
    claims = len(result.study.claims)
    decided, n = decide(claim, lambda contrast, seeds: read[contrast].under(seeds), claims)
    barred, provisional = gate(claim, list(read.values()), learns, result)
    waiting = decided == "undecided" and not all(reading.seeds for reading in read.values())
    outcome: Outcome = "no verdict" if barred else "not run" if waiting else decided
    weakest = read[
        _turning(claim.predicate, _strengths(read.values(), n, decided == "contradicted"))
    ]
    level = alpha_at(n, claims)
    divisors = {leaf: by for leaf, *by in leaves(claim.predicate)}
    low, high = (level / divisor for divisor in divisors[weakest.contrast])
    printed = weakest.printed
    notes = [barred or (_out_of_reach(read.values(), result) if waiting else "")]
    if provisional and outcome not in ("undecided", "not run"):
        notes.append(f"provisional: {provisional}")
    if (
        outcome == "equivalent"
        and printed is not None
        and abs(printed) < (claim.margin or 0.0) - ROUNDING
    ):
        notes.append(AS_PRINTED)
    return Verdict(
        claim=claim,
        outcome=outcome,
        reason="; ".join(note for note in notes if note),
        provisional=provisional,
        readings=read,
        contrast=weakest.contrast,
        tested=over_seeds(weakest.under(n), low, high, weakest.contrast.of == "share"),
        estimate=over_seeds(weakest.under(weakest.seeds)),
        printed_effect=printed,
        comparisons=comparisons_of(claim, read, outcome, n, claims),
    )


def _out_of_reach(read: Iterable[Reading], result: StudyResult) -> str:
    """Why a claim cannot be run at this scale: cells that it lacks, or a number that its runs do
    not leave; else ""."""
    study = result.study
    setup = result.setup
    whys = [
        cell.unavailable
        or (
            metric
            and unmeasured(metric, setup.config(study, cell.cell, 0).eval.transfer, setup.scale)
        )
        for metric, cells in ((reading.contrast.metric, reading.cells) for reading in read)
        for cell in result.cells
        if cell in cells
    ]
    return "; ".join(dict.fromkeys(why for why in whys if why))


def _strengths(read: Collection[Reading], seeds: int, refuted: bool) -> dict[Contrast, float]:
    """How far each contrast is above zero in units of its error, at a check or (0) on all stored
    seeds.

    Where no contrast has a run, how far each is above zero as printed, so that a waiting claim
    turns on what decides it in print. A contrast without a number counts as the strongest if the
    claim is refuted without it, else as the weakest.
    """
    strengths = {}
    unknown = np.inf if refuted else -np.inf
    for reading in read:
        mean, _, _, n, sd = over_seeds(reading.under(seeds or reading.seeds))
        error = sd / np.sqrt(n) if n > 1 else 1.0
        strength = mean / error if error > 0 else np.copysign(np.inf, mean) if mean else 0.0
        if not any(other.seeds for other in read) and reading.printed is not None:
            strength = reading.printed
        strengths[reading.contrast] = unknown if np.isnan(strength) else float(strength)
    return strengths


def _turning(predicate: Predicate, strengths: Mapping[Contrast, float]) -> Contrast:
    """The contrast on which a predicate turns: where u of its parts are needed, the u-th
    strongest."""
    if isinstance(predicate, Contrast):
        return predicate
    parts = [_turning(part, strengths) for part in predicate.parts]
    return sorted(parts, key=strengths.__getitem__, reverse=True)[predicate.needed - 1]


def why_unmarked(result: Judged) -> str:
    """Why a figure marks no row: none of the claims that have run has a verdict here, or, without
    claims, the method does not learn; else ""."""
    whys = [check.words for check in result.checks if check.kind == "gain" and check.met is False]
    if result.study.claims:
        ran = [verdict for verdict in result.verdicts if verdict.outcome != "not run"]
        barred = all(verdict.outcome == "no verdict" for verdict in ran)
        whys = [why for verdict in ran if barred for why in verdict.reason.split("; ")]
    return f"No verdict: {'; '.join(dict.fromkeys(whys))}" if whys else ""


def reasons(result: Judged) -> list[str]:
    """Why claims have no verdict, or a provisional one: a sentence for each reason, which names the
    claims."""
    verdicts = result.verdicts
    sentences = []
    barred = {
        verdict.claim.key: verdict.reason for verdict in verdicts if verdict.outcome == "no verdict"
    }
    provisional = {
        verdict.claim.key: verdict.provisional for verdict in verdicts if verdict.provisional
    }
    for head, whys in (("No verdict on", barred), ("Provisional", provisional)):
        for why in dict.fromkeys(whys.values()):
            keys = [key for key in whys if whys[key] == why]
            whole = len(keys) == len(verdicts) > 1
            named = head.removesuffix(" on") if whole else f"{head} {', '.join(keys)}"
            sentences.append(f"{named}: {why}.")
    return sentences


def judged_at(studies: Sequence[Study], setup: Setup) -> list[str]:
    """Which claims of each study this scale can judge, and why not the others."""
    lines = []
    for result in (study_result(study, setup) for study in studies if study.claims):
        able = sum(not verdict.reason for verdict in result.verdicts)
        every = len(result.verdicts)
        lines.append(
            f"{result.study.name}: {able} of {every} claims can be judged at scale "
            f"{setup.scale.name}."
        )
        lines += [f"  {reason}" for reason in reasons(result)]
    return lines
