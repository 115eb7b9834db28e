"""What it takes to settle a claim: the power of the verdicts' own test, by the paper's numbers or by ours.

`of_study` answers by the printed numbers: it takes the printed effects as true, and a spread over seeds with
its source. `chances` orders the work of `--resolve`: it takes the stored mean and spread as true. No verdict
uses either. Parts of a claim count as independent; parts that share a cell move together, so the power of
"all of them" is a lower bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, chdtri, ndtr, stdtrit

from core.report.contrasts import Readings, cells_of, printed_value, weights
from core.report.looks import LOOKS, alpha_at
from core.report.verdicts import Judged, Verdict, study_result
from core.spec.claim import HALF, Claim, Contrast, Predicate, truth
from core.spec.errors import counted
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.setup import Setup
from core.spec.study import Study

POWER = 0.8
QUANTILES = (np.arange(400) + 0.5) / 400
AVERAGES = ("avg", "dev")  # tasks whose spread over seeds is known
SIMCSE_SPREAD, SIMCSE_SOURCE = 0.84, "hppRC's 50 seeds of SimCSE"
FIGURES_SOURCE = "MoCoSE's single runs, read off its figures"


Normal = tuple[float, float]  # a contrast's mean over the threshold and its SD over seeds, taken as true


class Cost(NamedTuple):
    """What settling a claim takes: `seeds` for 80 % power to show what the paper prints, and the hours of the
    `runs` of its cells up to there. No check has that power: None, and no runs."""

    study: str
    claim: str
    effect: float
    seeds: int | None
    runs: Mapping[str, float]

    @property
    def words(self) -> str:
        """The cost in a line."""
        head = f"{self.claim}, printed {self.effect:+.2f}".replace("-", "−")
        if self.seeds is None:
            return f"{head}: more than {LOOKS[-1]} seeds"
        return f"{head}: {self.seeds} seeds, {_spent(self.runs)}"


def power(claim: Claim, of: Mapping[Contrast, Normal], look: int, claims: int) -> dict[str, float]:
    """The chance of each verdict at a check (from 0) in a study of so many claims."""

    def chance(support: bool, shift: float = 0.0) -> float:
        shifted = {contrast: (mean + shift, sd) for contrast, (mean, sd) in of.items()}
        return _chance(claim.predicate, shifted, LOOKS[look], alpha_at(look, claims), support)

    margin = claim.margin
    same = 0.0 if margin is None else chance(True, margin) + chance(False, -margin) - 1.0
    return {"supported": chance(True), "contradicted": chance(False), "equivalent": max(0.0, same)}


def _chance(
    predicate: Predicate, of: Mapping[Contrast, Normal], n: int, level: float, support: bool
) -> float:
    """The chance that a predicate's p is at most a level, as `core.report.looks.p_values` joins its parts."""
    if isinstance(predicate, Contrast):
        mean, sd = of[predicate]
        mean = mean if support else -mean
        return _of_share(mean + HALF, n, level) if predicate.of == "share" else one_sided(mean, sd, n, level)
    m, u = len(predicate.parts), predicate.needed
    needed, divisor = (u, m - u + 1) if support else (m - u + 1, u)
    counts = np.array([1.0])  # the chance of each number of parts below the level
    for part in predicate.parts:
        chance = _chance(part, of, n, level / divisor, support)
        counts = np.convolve(counts, [1.0 - chance, chance])
    return float(min(1.0, counts[needed:].sum()))


def one_sided(mean: float, sd: float, n: int, level: float) -> float:
    """The power of Student's one-sided t test of n seeds against "not above zero": over the quantiles of the
    sample's SD, the chance that the mean exceeds t times its error (scipy's noncentral t fails where the mean
    is many errors)."""
    if sd <= 0.0:
        return float(mean > 0)
    errors = np.sqrt(chdtri(n - 1, QUANTILES) / (n - 1))  # of the sample, over the true error
    return float(ndtr(mean / sd * math.sqrt(n) + stdtrit(n - 1, level) * errors).mean())


def _of_share(share: float, n: int, level: float) -> float:
    """The same of the binomial test that more than half of the runs do something, if such a share does."""
    least = next((k for k in range(n + 1) if bdtrc(k - 1, n, HALF) <= level), None)
    return 0.0 if least is None else float(bdtrc(least - 1, n, min(1.0, max(0.0, share))))


def spread_of(study: Study) -> tuple[float, str]:
    """The SD of a run over seeds, and its source: the study's printed single runs, else SimCSE's 50 seeds."""
    runs = [cell.published_runs for cell in study.cells if len(cell.published_runs) > 1 and not cell.copied]
    if not runs:
        return SIMCSE_SPREAD, SIMCSE_SOURCE
    freedom = sum(len(one) - 1 for one in runs)
    return float(np.sqrt(sum(np.var(one) * len(one) for one in runs) / freedom)), FIGURES_SOURCE


def of_study(result: Judged, seconds: Callable[[RunConfig], float]) -> list[Cost]:
    """What settling each claim of a study takes at its scale. `seconds` expects a run's time.

    Claims are left out that the scale cannot judge or whose numbers are not printed or no scores.
    """
    costs = (
        _cost(verdict, result, seconds)
        for verdict in result.verdicts
        if verdict.claim.key not in result.checks.no_verdict
    )
    return [cost for cost in costs if cost is not None]


def _cost(verdict: Verdict, result: Judged, seconds: Callable[[RunConfig], float]) -> Cost | None:
    claim, spread, claims = verdict.claim, spread_of(result.study)[0], len(result.study.claims)
    effects = {contrast: printed_value(contrast, result) for contrast in claim.predicate.contrasts()}
    cells = cells_of(effects, result)
    scores = all(cell.metric.quantity == "spearman" and cell.metric.task in AVERAGES for cell in cells)
    if not scores or any(cell.unavailable for cell in cells) or None in effects.values():
        return None
    factors = {contrast: math.hypot(*weights(contrast, result).values()) for contrast in effects}
    of = {contrast: (effect or 0.0, spread * factors[contrast]) for contrast, effect in effects.items()}
    support = truth(claim.predicate, lambda contrast: of[contrast][0] > 0)
    outcome = "supported" if support else "contradicted"
    able = (n for look, n in enumerate(LOOKS) if power(claim, of, look, claims)[outcome] >= POWER)
    seeds = next(able, None)
    configs = (
        result.setup.config(result.study, cell.cell, seed) for seed in range(seeds or 0) for cell in cells
    )
    hours = {run_id(config): seconds(config) / 3600 for config in configs}
    return Cost(result.study.name, claim.key, verdict.printed_effect or 0.0, seeds, hours)


def _spent(hours: Mapping[str, float]) -> str:
    return f"{counted(len(hours), 'run')}, {sum(hours.values()):,.0f} H100 hours"


def summary(costs: Sequence[Cost]) -> str:
    """What settles the claims that a check can settle, in a few words."""
    able = [cost for cost in costs if cost.seeds]
    settled = f"{len(able)} of {counted(len(costs), 'claim')}"
    if not able:
        return f"{settled} settled by {LOOKS[-1]} seeds"
    hours = {run: spent for cost in able for run, spent in cost.runs.items()}
    return f"up to {max(cost.seeds or 0 for cost in able)} seeds, {_spent(hours)} would settle {settled}"


def lines(
    studies: Iterable[Study], setup: Setup, seconds: Callable[[RunConfig], float], devices: int
) -> list[str]:
    """What `--plan` prints: seeds, runs and hours by claim, and of all affordable claims together."""
    results = [study_result(study, setup) for study in studies]
    every = [cost for result in results for cost in of_study(result, seconds)]
    if not every:
        return ["None of these claims has printed scores and can be judged with these data."]
    named = [result.study for result in results if any(cost.study == result.study.name for cost in every)]
    spreads: dict[str, list[float]] = {}
    for spread, source in map(spread_of, named):
        spreads.setdefault(source, []).append(spread)
    ends = {source: (f"{min(of):.2f}", f"{max(of):.2f}") for source, of in spreads.items()}
    sources = "; ".join(f"{' to '.join(dict.fromkeys(of))} points ({source})" for source, of in ends.items())
    return [
        f"What settles the printed effects with 80 % power. Spread of a run over seeds: {sources}.",
        *(f"  {cost.study} {cost.words}" for cost in every),
        f"In all {summary(every)}; {counted(devices, 'GPU')} at once.",
    ]


def chances(claim: Claim, readings: Readings, claims: int) -> dict[int, float]:
    """The chance that an undecided claim is settled by each later check, by seeds; empty before the first
    check."""
    contrasts = claim.predicate.contrasts()
    n = min(readings.seeds(contrast) for contrast in contrasts)
    if n < LOOKS[0]:
        return {}
    values = {contrast: readings.samples(contrast, n) for contrast in contrasts}
    of = {
        contrast: (float(one.mean()), float(one.std(ddof=1)))
        for contrast, one in values.items()
        if one is not None
    }
    later = {seeds: look for look, seeds in enumerate(LOOKS) if seeds > n}
    each = (max(power(claim, of, look, claims).values()) for look in later.values())
    return dict(zip(later, itertools.accumulate(each, max), strict=True))
