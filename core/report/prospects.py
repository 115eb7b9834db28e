"""What it takes to settle a claim: the power of the verdicts' own test, by the paper's numbers or by ours.

`cost` answers for a study without runs: it takes the printed effects as true, and a spread over seeds with
its source. `chances` orders the work of `--resolve`: it takes the stored mean and spread as true. No verdict
uses either. Parts of a claim count as independent; parts that share a cell move together, so the power of
"all of them" is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, chdtri, ndtr, stdtrit

from core.report.comparability import comparability
from core.report.contrasts import Readings, cells_of, printed_value, weights
from core.report.looks import LOOKS, alpha_at
from core.report.results import NoRuns, StudyResult, gather
from core.report.verdicts import turning
from core.spec.claim import HALF, Claim, Contrast, Predicate, truth
from core.spec.errors import counted
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.setup import Setup
from core.spec.study import Study

POWER = 0.8
QUANTILES = (np.arange(400) + 0.5) / 400
AVERAGES = ("avg", "dev")  # tasks whose spread over seeds is known
MOST_SEEDS = 100  # that anybody trains
SIMCSE_SPREAD, SIMCSE_SOURCE = 0.84, "hppRC's 50 seeds of SimCSE"
FIGURES_SOURCE = "MoCoSE's single runs, read off its figures"


class Normal(NamedTuple):
    """A contrast's mean over the threshold and its SD over seeds, taken as true."""

    mean: float
    sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What settling a claim takes: `seeds` for 80 % power to show what the paper prints, the `runs` of its
    cells up to there and their `hours` on one device. `equivalent` are the seeds that show a difference below
    the margin instead; None if no check does, or if the printed effect exceeds the margin."""

    study: str
    claim: str
    effect: float
    spread: float
    source: str
    seeds: int
    equivalent: int | None
    runs: tuple[str, ...]
    hours: float

    @property
    def words(self) -> str:
        """The cost in a line."""
        sign = "−" if self.effect < 0 else "+"
        head = f"{self.claim}, printed {sign}{abs(self.effect):.2f}"
        instead = (
            "" if self.equivalent is None else f"; {self.equivalent} would show a difference below the margin"
        )
        if self.seeds > MOST_SEEDS:
            return f"{head}: more than {MOST_SEEDS} seeds (about {self.seeds:,}){instead}"
        runs = counted(len(self.runs), "run")
        return f"{head}: {self.seeds} seeds, {runs}, {self.hours:,.0f} H100 hours{instead}"


def power(claim: Claim, of: Callable[[Contrast], Normal], look: int, claims: int) -> dict[str, float]:
    """The chance of each verdict at a check (from 0) in a study of so many claims."""
    level, n, margin = alpha_at(look, claims), LOOKS[look], claim.margin
    chance = {
        "supported": _chance(claim.predicate, of, n, level, True),
        "contradicted": _chance(claim.predicate, of, n, level, False),
        "equivalent": 0.0,
    }
    if margin is not None:
        above = _chance(claim.predicate, _shifted(of, margin), n, level, True)
        below = _chance(claim.predicate, _shifted(of, -margin), n, level, False)
        chance["equivalent"] = max(0.0, above + below - 1.0)
    return chance


def _shifted(of: Callable[[Contrast], Normal], by: float) -> Callable[[Contrast], Normal]:
    return lambda contrast: Normal(of(contrast).mean + by, of(contrast).sd)


def _chance(
    predicate: Predicate, of: Callable[[Contrast], Normal], n: int, level: float, support: bool
) -> float:
    """The chance that a predicate's p is at most a level, as `core.report.looks.p_values` joins its parts."""
    if isinstance(predicate, Contrast):
        mean, sd = of(predicate)
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


def seeds_needed(
    claim: Claim, of: Callable[[Contrast], Normal], claims: int, outcomes: Sequence[str]
) -> int | None:
    """The seeds of the first check at which one of these verdicts has 80 % power; None if no check has."""
    for look, n in enumerate(LOOKS):
        chance = power(claim, of, look, claims)
        if max(chance[outcome] for outcome in outcomes) >= POWER:
            return n
    return None


def _beyond(claim: Claim, of: Callable[[Contrast], Normal], claims: int, support: bool) -> int:
    """The seeds beyond the last check at which its level would have 80 % power, to two digits; 10^6 at
    most."""
    low, high, level = LOOKS[-1], 10**6, alpha_at(len(LOOKS) - 1, claims)
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _chance(claim.predicate, of, middle, level, support) >= POWER else (middle, high)
        )
    return int(float(f"{high:.2g}"))


def spread_of(study: Study) -> tuple[float, str]:
    """The SD of a run over seeds, and its source: the study's printed single runs, else SimCSE's 50 seeds."""
    runs = [cell.published_runs for cell in study.cells if len(cell.published_runs) > 1 and not cell.copied]
    freedom = sum(len(one) - 1 for one in runs)
    if not freedom:
        return SIMCSE_SPREAD, SIMCSE_SOURCE
    return float(np.sqrt(sum(np.var(one, ddof=1) * (len(one) - 1) for one in runs) / freedom)), FIGURES_SOURCE


def cost(claim: Claim, result: StudyResult, seconds: Callable[[RunConfig], float]) -> Cost | None:
    """What settling a claim takes at its study's scale; None for a claim whose numbers are not printed, are
    no scores, or that the scale cannot judge. `seconds` expects a run's time."""
    contrasts, claims = claim.predicate.contrasts(), len(result.study.claims)
    cells = cells_of({labels for one in contrasts for labels in weights(one, result)}, result)
    effects = {contrast: printed_value(contrast, result) for contrast in contrasts}
    scores = all(cell.metric.quantity == "spearman" and cell.metric.task in AVERAGES for cell in cells)
    if not scores or any(cell.unavailable for cell in cells) or None in effects.values():
        return None
    spread, source = spread_of(result.study)

    def of(contrast: Contrast) -> Normal:
        squares = sum(weight**2 for weight in weights(contrast, result).values())
        return Normal(float(effects[contrast] or 0.0), spread * math.sqrt(squares))

    support = truth(claim.predicate, lambda contrast: of(contrast).mean > 0)
    outcome = "supported" if support else "contradicted"
    seeds = seeds_needed(claim, of, claims, (outcome,)) or _beyond(claim, of, claims, bool(support))
    equivalent = seeds_needed(claim, of, claims, ("equivalent",))
    trained = range(seeds if seeds <= MOST_SEEDS else 0)
    configs = [result.setup.config(result.study, cell.cell, seed) for seed in trained for cell in cells]
    runs = {run_id(config): config for config in configs}
    strengths = {contrast: of(contrast).mean / of(contrast).sd for contrast in contrasts}
    turn = turning(claim.predicate, strengths, not support)
    return Cost(
        study=result.study.name,
        claim=claim.key,
        effect=of(turn.contrast).mean,
        spread=spread,
        source=source,
        seeds=seeds,
        equivalent=equivalent if equivalent is not None and equivalent < seeds else None,
        runs=tuple(runs),
        hours=sum(map(seconds, runs.values())) / 3600,
    )


def of_study(result: StudyResult, seconds: Callable[[RunConfig], float]) -> list[Cost]:
    """The cost of every claim of a study that its scale can judge and whose scores are printed."""
    barred = comparability(result).no_verdict
    costs = (cost(claim, result, seconds) for claim in result.study.claims if claim.key not in barred)
    return [one for one in costs if one is not None]


def summary(costs: Sequence[Cost]) -> str:
    """What settles the claims that up to a hundred seeds settle, in a few words."""
    able = [one for one in costs if one.seeds <= MOST_SEEDS]
    hours: dict[str, float] = {}
    for one in able:
        hours |= dict.fromkeys(one.runs, one.hours / len(one.runs))
    total, most = sum(hours.values()), max((one.seeds for one in able), default=0)
    settled = f"{len(able)} of {counted(len(costs), 'claim')}"
    if not able:
        return f"{settled} settled by {MOST_SEEDS} seeds"
    return (
        f"up to {most} seeds, {counted(len(hours), 'run')} and {total:,.0f} H100 hours would settle {settled}"
    )


def lines(
    studies: Iterable[Study], setup: Setup, seconds: Callable[[RunConfig], float], devices: int
) -> list[str]:
    """What `--plan` prints: seeds, runs and hours by claim, and of all affordable claims together."""
    every = [one for study in studies for one in of_study(gather(study, setup, NoRuns()), seconds)]
    if not every:
        return ["None of these claims has printed scores and can be judged with these data."]
    sources = "; ".join(dict.fromkeys(f"{one.spread:.2f} points ({one.source})" for one in every))
    return [
        f"To settle what is printed, with 80 % power; a run varies over seeds by {sources}:",
        *(f"  {one.study} {one.words}" for one in every),
        f"In all {summary(every)}; {counted(devices, 'GPU')} at once.",
    ]


def chances(claim: Claim, readings: Readings, claims: int) -> dict[int, float]:
    """The chance that an undecided claim is settled by each later check, by seeds; empty before the first
    check."""
    contrasts = tuple(dict.fromkeys(claim.predicate.contrasts()))
    n = min(readings.seeds(contrast) for contrast in contrasts)
    if n < LOOKS[0]:
        return {}
    values = {contrast: readings.samples(contrast, n) for contrast in contrasts}
    of = {
        contrast: Normal(float(one.mean()), float(one.std(ddof=1)))
        for contrast, one in values.items()
        if one is not None
    }
    chance, best = {}, 0.0
    for look, seeds in enumerate(LOOKS):
        if seeds > n:
            best = max(best, *power(claim, of.__getitem__, look, claims).values())
            chance[seeds] = min(1.0, best)
    return chance
