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

from core.report.statistics import LOOKS, alpha_at, over_seeds
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

    claim: str
    effect: float
    seeds: int | None
    runs: Mapping[str, float]

    @property
    def words(self) -> str:
        """The cost in a line."""
        head = f"{self.claim}, weakest printed effect {self.effect:+.2f}".replace("-", "−")
        if self.seeds is None:
            return f"{head}: more than {LOOKS[-1]} seeds"
        return f"{head}: {self.seeds} seeds, {_spent(self.runs)}"


def power(claim: Claim, of: Mapping[Contrast, Normal], n: int, claims: int) -> dict[str, float]:
    """The chance of each verdict at the check with n seeds in a study of so many claims."""

    def chance(support: bool, shift: float = 0.0) -> float:
        shifted = {contrast: (mean + shift, sd) for contrast, (mean, sd) in of.items()}
        return _chance(claim.predicate, shifted, n, alpha_at(n, claims), support)

    margin = claim.margin
    same = 0.0 if margin is None else chance(True, margin) + chance(False, -margin) - 1.0
    return {"supported": chance(True), "contradicted": chance(False), "equivalent": max(0.0, same)}


def _chance(
    predicate: Predicate, of: Mapping[Contrast, Normal], n: int, level: float, support: bool
) -> float:
    """The chance that a predicate's p is at most a level, as `core.report.statistics.p_values` joins its
    parts."""
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
    (spread, _), claims, costs = spread_of(result.study), len(result.study.claims), []
    for verdict in result.verdicts:
        claim, readings = verdict.claim, verdict.readings.values()
        cells = {cell.name: cell for reading in readings for cell in reading.cells}.values()
        scores = all(cell.metric.quantity == "spearman" and cell.metric.task in AVERAGES for cell in cells)
        of = {
            reading.contrast: (reading.printed, spread * math.hypot(*reading.weights))
            for reading in readings
            if reading.printed is not None
        }
        runs_here = scores and len(of) == len(readings) and not any(cell.unavailable for cell in cells)
        if verdict.outcome == "no verdict" or not runs_here:
            continue
        above = {contrast: effect > 0 for contrast, (effect, _) in of.items()}
        outcome = "supported" if truth(claim.predicate, above.get) else "contradicted"
        seeds = next((n for n in LOOKS if power(claim, of, n, claims)[outcome] >= POWER), None)
        runs = [(result.study, cell.cell, seed) for cell in cells for seed in range(seeds or 0)]
        configs = [result.setup.config(*run) for run in runs]
        hours = {run_id(config): seconds(config) / 3600 for config in configs}
        costs.append(Cost(claim.key, verdict.printed_effect or 0.0, seeds, hours))
    return costs


def _spent(hours: Mapping[str, float]) -> str:
    return f"{counted(len(hours), 'run')}, {sum(hours.values()):,.0f} H100 hours"


def summary(costs: Sequence[Cost]) -> str:
    """What settles the claims that a check can settle, in a few words."""
    able = [cost for cost in costs if cost.seeds]
    settled = f"settle {len(able)} of {counted(len(costs), 'estimated claim')}"
    if not able:
        return f"{LOOKS[-1]} seeds would {settled}"
    hours = {run: spent for cost in able for run, spent in cost.runs.items()}
    return f"up to {max(cost.seeds or 0 for cost in able)} seeds, {_spent(hours)} would {settled}"


def lines(
    studies: Iterable[Study], setup: Setup, seconds: Callable[[RunConfig], float], devices: int
) -> list[str]:
    """What `--plan` prints: seeds, runs and hours by claim, and of all affordable claims together."""
    costs = {(one := study_result(study, setup)).study: of_study(one, seconds) for study in studies}
    every = [cost for own in costs.values() for cost in own]
    if not every:
        return ["None of these claims has printed scores and can be judged with these data."]
    spreads = [spread_of(study) for study in costs if costs[study]]
    each = {source: [f"{sd:.2f}" for sd, its in sorted(spreads) if its == source] for _, source in spreads}
    ends = {source: " to ".join(dict.fromkeys((sds[0], sds[-1]))) for source, sds in each.items()}
    sources = "; ".join(f"{of} points ({source})" for source, of in ends.items())
    return [
        f"What settles the printed effects with 80 % power. Spread of a run over seeds: {sources}.",
        *(f"  {study.name} {cost.words}" for study, own in costs.items() for cost in own),
        f"In all {summary(every)}; {counted(devices, 'GPU')} at once.",
    ]


def chances(verdict: Verdict, claims: int) -> dict[int, float]:
    """The chance that an undecided claim, of so many in its study, is settled by each later check, by seeds;
    empty before the first check."""
    known = {each: over_seeds(reading.under(verdict.seeds)) for each, reading in verdict.readings.items()}
    of = {contrast: (estimate.mean, estimate.sd) for contrast, estimate in known.items()}
    later = [n for n in LOOKS if n > verdict.seeds >= LOOKS[0]]
    each = (max(power(verdict.claim, of, n, claims).values()) for n in later)
    return dict(zip(later, itertools.accumulate(each, max), strict=True))
