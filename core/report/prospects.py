"""What it takes to settle a claim: the power of the verdicts' own test, by the paper's numbers or
by ours.

`of_study` answers by the printed numbers: it takes the printed effects as true, and a spread over
seeds with its source. `chances` orders the work of `--resolve`: it draws further seeds around the
stored ones. No verdict uses either. In `power` parts of a claim count as independent; parts that
share a cell move together, so the power of "all of them" is a lower bound.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc, chdtri, ndtr, stdtrit

from core.config.run import RunConfig
from core.errors import counted
from core.report.contrasts import Reading
from core.report.results import CellResult
from core.report.statistics import LOOKS, alpha_at, claim_p, scatter_by_seed, settled
from core.report.verdicts import Judged, Verdict, study_result
from core.study.claim import HALF, Claim, Contrast, Predicate, truth
from core.study.grid import Grid
from core.study.study import Cell

POWER = 0.8
QUANTILES = (np.arange(400) + 0.5) / 400
AVERAGES = ("avg", "dev")  # tasks whose spread over seeds is known
LEAST_FREEDOM = 12  # degrees of freedom; an SD of fewer is more than 20 % off in one case of three
AHEAD = 3  # checks that a chance is given of; a plan of all eight took a second longer
DRAWS = 500  # of further seeds; a chance is within 0.04 of that of endless draws
UNPRINTED = 1.0  # effect without a printed number, in spreads of the comparison
UNPRINTED_SHARE = 0.75  # of the runs of a cell
HOUR = 3600

# a contrast's mean over the threshold and its SD over seeds, taken as true
Normal = tuple[float, float]


class Spread(NamedTuple):
    """The SD of a run's score over seeds, in points."""

    sd: float
    source: str


SIMCSE_SPREAD = Spread(0.84, "hppRC's 50 seeds of SimCSE")


class Price(NamedTuple):
    """What settling a claim takes at a spread: `seeds` for 80 % power to show what the paper
    prints, and the hours of the `runs` of its cells up to there. No check has that power: None, and
    no runs."""

    spread: Spread
    seeds: int | None
    runs: Mapping[str, float]


class Cost(NamedTuple):
    """What settling a claim takes, at each of its spreads, the smallest first."""

    claim: str
    effect: float
    prices: tuple[Price, ...]

    @property
    def highest(self) -> Price:
        """The price at the largest spread."""
        return self.prices[-1]

    @property
    def words(self) -> str:
        """The cost in a line."""
        effect = f"{self.effect:+.2f}".replace("-", "−")
        seeds = _range(str(price.seeds or f"more than {LOOKS[-1]}") for price in self.prices)
        parts = [f"{self.claim}, weakest printed effect {effect}: {seeds} seeds"]
        able = [price.runs for price in self.prices if price.seeds]
        if able:
            least = "at least " if self.highest.seeds is None else ""
            parts.append(f"{least}{_range(str(len(runs)) for runs in able)} runs")
            parts.append(gpu_time(*(sum(runs.values()) for runs in able)))
        spreads = []
        for price in self.prices:
            spreads.append(f"{price.spread.sd:.2f} points ({price.spread.source})")
        return f"{', '.join(parts)}; spread {_range(spreads)}"


def _range(ends: Iterable[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def gpu_time(*hours: float) -> str:
    """Hours of an H100, in minutes below two hours; several are a range."""
    if max(hours) < 2:
        return f"{_range(f'{60 * time:.0f}' for time in hours)} H100 minutes"
    texts = []
    for time in hours:
        texts.append(f"{time:,.0f}" if time >= 10 else f"{time:.1f}")
    return f"{_range(texts)} H100 hours"


def power(claim: Claim, of: Mapping[Contrast, Normal], n: int, claims: int) -> dict[str, float]:
    """The chance of each verdict at the check with n seeds in a study of so many claims."""

    def chance(support: bool, shift: float = 0.0) -> float:
        shifted = {contrast: (mean + shift, sd) for contrast, (mean, sd) in of.items()}
        return _chance(claim.predicate, shifted, n, alpha_at(n, claims), support)

    same = 0.0
    if claim.margin is not None:
        same = chance(True, claim.margin) + chance(False, -claim.margin) - 1.0
    return {"supported": chance(True), "contradicted": chance(False), "equivalent": max(0.0, same)}


def _chance(
    predicate: Predicate, of: Mapping[Contrast, Normal], n: int, level: float, support: bool
) -> float:
    """The chance that a predicate's p is at most a level, as `core.report.statistics.p_values`
    joins its parts."""
    if isinstance(predicate, Contrast):
        mean, sd = of[predicate]
        if not support:
            mean = -mean
        if predicate.of == "share":
            return _of_share(mean + HALF, n, level)
        return one_sided(mean, sd, n, level)
    m = len(predicate.parts)
    needed = predicate.needed
    divisor = m - needed + 1
    if not support:
        needed, divisor = divisor, needed
    counts = np.array([1.0])  # the chance of each number of parts below the level
    for part in predicate.parts:
        chance = _chance(part, of, n, level / divisor, support)
        counts = np.convolve(counts, [1.0 - chance, chance])
    return float(min(1.0, counts[needed:].sum()))


def one_sided(mean: float, sd: float, n: int, level: float) -> float:
    """The power of Student's one-sided t test of n seeds against "not above zero": over the
    quantiles of the sample's SD, the chance that the mean exceeds t times its error (scipy's
    noncentral t fails where the mean is many errors)."""
    if sd <= 0.0:
        return float(mean > 0)
    return float(ndtr(mean / sd * math.sqrt(n) + stdtrit(n - 1, level) * _errors(n)).mean())


@functools.cache  # the quantiles took most of the time of a plan's chances
def _errors(n: int) -> np.ndarray:
    """Quantiles of the standard error of n seeds, over the true error."""
    return np.sqrt(chdtri(n - 1, QUANTILES) / (n - 1))


def _of_share(share: float, n: int, level: float) -> float:
    """The same of the binomial test that more than half of the runs do something, if such a share
    does."""
    least = next((k for k in range(n + 1) if bdtrc(k - 1, n, HALF) <= level), None)
    if least is None:
        return 0.0
    return float(bdtrc(least - 1, n, min(1.0, max(0.0, share))))


def spreads(cells: Iterable[Cell]) -> tuple[Spread, ...]:
    """The spread of a comparison of these cells: that of their printed single runs, pooled.

    With fewer than twelve degrees of freedom, or without single runs of some cells, it is at least
    SimCSE's. Where few runs of every cell say less than SimCSE's, both are given: the smaller is
    not to be relied on.
    """
    cells = list(cells)
    several = []
    for cell in cells:
        if not cell.copied and len(cell.published_runs) > 1:
            several.append(cell.published_runs)
    if not several:
        return (SIMCSE_SPREAD,)
    freedom = sum(len(scores) - 1 for scores in several)
    squares = sum(float(np.var(scores)) * len(scores) for scores in several)
    printed = counted(sum(map(len, several)), "printed run")
    pooled = Spread(math.sqrt(squares / freedom), f"{printed} of its cells")
    whole = len(several) == len(cells)
    if pooled.sd >= SIMCSE_SPREAD.sd or (whole and freedom >= LEAST_FREEDOM):
        return (pooled,)
    return (pooled, SIMCSE_SPREAD) if whole else (SIMCSE_SPREAD,)


def of_study(result: Judged, seconds: Callable[[RunConfig], float]) -> list[Cost]:
    """What settling each claim of a study takes at its scale. `seconds` expects a run's time.

    Claims are left out that the scale cannot judge or whose numbers are not printed or no scores.
    """
    costs = []
    for verdict in result.verdicts:
        cells = _compared_cells(verdict)
        runnable = all(cell.unavailable is None for cell in cells)
        if verdict.outcome != "no verdict" and runnable and _printed_scores(verdict):
            every = spreads(cell.cell for cell in cells)
            prices = tuple(_price(verdict, spread, result, seconds) for spread in every)
            costs.append(Cost(verdict.claim.key, verdict.printed_effect or 0.0, prices))
    return costs


def _compared_cells(verdict: Verdict) -> list[CellResult]:
    """The cells that a claim compares."""
    cells = dict[str, CellResult]()
    for reading in verdict.readings.values():
        cells |= {cell.name: cell for cell in reading.cells}
    return list(cells.values())


def _printed_scores(verdict: Verdict) -> bool:
    """Whether a claim compares printed scores whose spread over seeds is known."""
    metrics = [cell.metric for cell in _compared_cells(verdict)]
    scores = all(metric.quantity == "spearman" and metric.task in AVERAGES for metric in metrics)
    return scores and all(reading.printed is not None for reading in verdict.readings.values())


def _as_printed(verdict: Verdict, spread: Spread) -> dict[Contrast, Normal]:
    """The contrasts of a claim at the printed scores, with the spread of a run over seeds."""
    return {
        reading.contrast: (reading.printed or 0.0, spread.sd * math.hypot(*reading.weights))
        for reading in verdict.readings.values()
    }


def _price(
    verdict: Verdict, spread: Spread, result: Judged, seconds: Callable[[RunConfig], float]
) -> Price:
    """What settling a claim takes at a spread."""
    claim = verdict.claim
    study = result.study
    of = _as_printed(verdict, spread)
    above = {contrast: effect > 0 for contrast, (effect, _) in of.items()}
    outcome = "contradicted"
    if truth(claim.predicate, above.get):
        outcome = "supported"
    powers = ((n, power(claim, of, n, len(study.claims))[outcome]) for n in LOOKS)
    seeds = next((n for n, chance in powers if chance >= POWER), None)
    runs = itertools.product(_compared_cells(verdict), range(seeds or 0))
    hours = {
        cell.place.run_id(seed): seconds(cell.place.config(seed)) / HOUR for cell, seed in runs
    }
    return Price(spread, seeds, hours)


class Total(NamedTuple):
    """What settles the claims that a check can settle, at their largest spread: how many of the
    estimated `claims` these are, their most seeds, and the hours of their runs, each once."""

    able: int
    claims: int
    seeds: int
    runs: Mapping[str, float]


def total(costs: Sequence[Cost]) -> Total:
    """The costs of several claims together."""
    able = [cost.highest for cost in costs if cost.highest.seeds]
    runs = dict[str, float]()
    for price in able:
        runs |= price.runs
    seeds = max((price.seeds or 0 for price in able), default=0)
    return Total(len(able), len(costs), seeds, runs)


def summary(costs: Sequence[Cost]) -> str:
    """The same in a few words."""
    of = total(costs)
    ending = f"settle {of.able} of {counted(of.claims, 'estimated claim')}"
    if not of.able:
        return f"{LOOKS[-1]} seeds would {ending}"
    time = gpu_time(sum(of.runs.values()))
    return f"up to {of.seeds} seeds, {counted(len(of.runs), 'run')}, {time} would {ending}"


def lines(grids: Iterable[Grid], seconds: Callable[[RunConfig], float], devices: int) -> list[str]:
    """What `--plan` prints: seeds, runs, hours and spread by claim, and of all affordable claims
    together."""
    every = []
    listed = []
    for grid in grids:
        result = study_result(grid)
        costs = of_study(result, seconds)
        every += costs
        listed += [f"  {result.study.name} {cost.words}" for cost in costs]
    if not every:
        return ["None of these claims has printed scores and can be judged with these data."]
    return [
        "What settles the printed effects with 80 % power, by the spread of a run over seeds.",
        *listed,
        f"In all {summary(every)}; {counted(devices, 'GPU')} at once.",
    ]


def chances(verdict: Verdict, claims: int, ahead: int = AHEAD) -> dict[int, float]:
    """The chance that an undecided claim, of so many in its study, is settled by each of its next
    `ahead` checks, by seeds.

    From the first check on it is the share of draws of further seeds that the verdict's own test
    settles. Before, it takes the printed effect as true, with the claim's larger spread. An effect
    that is not printed counts as one spread of the comparison, and a share of runs that is not as
    three quarters.
    """
    later = [n for n in LOOKS if n > verdict.seeds][:ahead]
    if verdict.seeds < LOOKS[0]:
        of = _before_runs(verdict)
        powers = [sum(power(verdict.claim, of, n, claims).values()) for n in later]
        highest = itertools.accumulate((min(1.0, chance) for chance in powers), max)
        return dict(zip(later, highest, strict=True))
    drawn = {}
    if later:
        drawn = _drawn(verdict, later[-1])
    done = np.zeros(DRAWS, dtype=bool)
    by_check = dict[int, float]()
    for n in later:
        values = {}
        for contrast, runs in drawn.items():
            values[contrast] = _under(verdict.readings[contrast], runs[..., :n])
        done |= settled(claim_p(verdict.claim, values), alpha_at(n, claims)) > 0
        by_check[n] = float(done.mean())
    return by_check


def _before_runs(verdict: Verdict) -> dict[Contrast, Normal]:
    """What the contrasts of a claim are taken for before its first check."""
    if _printed_scores(verdict):
        return _as_printed(verdict, spreads(cell.cell for cell in _compared_cells(verdict))[-1])
    effects = {"share": UNPRINTED_SHARE - HALF}
    return {contrast: (effects.get(contrast.of, UNPRINTED), 1.0) for contrast in verdict.readings}


def _drawn(verdict: Verdict, seeds: int) -> dict[Contrast, np.ndarray]:
    """The stored seeds of a claim's cells, by contrast, followed by draws of the others:
    (draws, cells, seeds).

    A draw's mean and SD are Student's predictive ones: the SD of few seeds is itself uncertain.
    Cells keep their correlation over the stored seeds.
    """
    stored = verdict.seeds
    random = np.random.default_rng(0)
    free = stored - 1
    error = random.normal(size=(DRAWS, stored, 1)) / math.sqrt(stored)  # of the stored mean
    noise = error + random.normal(size=(DRAWS, stored, seeds - stored))
    # all quantiles: fewer draws are enough
    squares = chdtri(free, (np.arange(DRAWS) + 0.5) / DRAWS)
    noise *= np.sqrt(free / squares)[:, None, None]
    drawn = {}
    for contrast, reading in verdict.readings.items():
        values = reading.values[:, :stored]
        if contrast.of == "share":
            yes = values.sum()
            share = random.beta(HALF + yes, HALF + stored - yes, (DRAWS, 1, 1))
            further = (random.random((DRAWS, 1, seeds - stored)) < share).astype(float)
        else:
            mean = values.mean(-1, keepdims=True)
            further = mean + (values - mean) / math.sqrt(free) @ noise
        drawn[contrast] = np.concatenate(
            (np.broadcast_to(values, (DRAWS, *values.shape)), further), axis=-1
        )
    return drawn


def _under(reading: Reading, values: np.ndarray) -> np.ndarray:
    """A contrast minus its threshold by seed, of drawn runs (draws, cells, seeds)."""
    if reading.contrast.of == "scatter":
        return scatter_by_seed(values, reading.weights, reading.contrast.above)
    return np.einsum("c,dcn->dn", reading.weights, values) - reading.contrast.above
