"""What it takes to settle a claim: the power of the verdicts' own test, by the paper's numbers or
by ours.

`of_study` answers by the printed numbers: it takes the printed effects as true, and a spread over
seeds with its source. `chances` orders the work of `--resolve`: it draws further seeds around the
stored ones. No verdict uses either. In `power` contrasts count as independent; those that share a
cell move together, so the power of "all of them" is a lower bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from core.config.run import RunConfig
from core.errors import counted, spoken
from core.report.results import CellResult
from core.report.statistics import CODED, LOOKS, alpha_at, claim_p, settled
from core.report.verdicts import Judged, Verdict, study_result
from core.study.claim import HALF, Claim, Contrast, truth
from core.study.grid import Grid
from core.study.study import Cell

POWER = 0.8
AVERAGES = ("avg", "dev")  # tasks whose spread over seeds is known
LEAST_FREEDOM = 12  # degrees of freedom; an SD of fewer is more than 20 % off in one case of three
AHEAD = 3  # checks that a chance is given of; a plan of all eight took a second longer
DRAWS = 1000  # of further seeds; a chance is within 0.04 of that of endless draws
UNPRINTED = 1.0  # effect without a printed number, in spreads of the comparison
UNPRINTED_SHARE = 0.75  # of the runs of a cell

# a contrast's mean over the threshold and its SD over seeds, taken as true
Normal = tuple[float, float]


SIMCSE_SPREAD = 0.84  # SD of a run's score over seeds, in points: hppRC's 50 seeds of SimCSE


class Cost(NamedTuple):
    """What settling a claim takes: `seeds` for 80 % power to show what the paper prints, and the
    seconds of the `runs` of its cells up to there. No check has that power: None, and no runs."""

    claim: str
    spread: float
    seeds: int | None
    runs: Mapping[str, float]


def power(claim: Claim, of: Mapping[Contrast, Normal], n: int, claims: int) -> dict[str, float]:
    """The chance of each verdict at the check with n seeds in a study of so many claims, over draws
    of seeds; contrasts count as independent."""
    random = np.random.default_rng(0)
    values = {}
    for contrast, (mean, sd) in of.items():
        if contrast.of == "share":
            share = min(1.0, max(0.0, mean + HALF))
            values[contrast] = (random.random((DRAWS, n)) < share) - HALF
        else:
            values[contrast] = mean + sd * random.normal(size=(DRAWS, n))
    outcomes = settled(claim_p(claim, values), alpha_at(n, claims))
    return {name: float((outcomes == code).mean()) for code, name in enumerate(CODED) if code}


def spread_of(cells: Iterable[Cell]) -> float:
    """The spread of a comparison of these cells: that of their printed single runs, pooled.

    With fewer than twelve degrees of freedom, or without single runs of some cells, it is at least
    SimCSE's.
    """
    cells = list(cells)
    several = []
    for cell in cells:
        if not cell.copied and len(cell.published_runs) > 1:
            several.append(cell.published_runs)
    if not several:
        return SIMCSE_SPREAD
    freedom = sum(len(scores) - 1 for scores in several)
    squares = sum(float(np.var(scores)) * len(scores) for scores in several)
    pooled = math.sqrt(squares / freedom)
    reliable = len(several) == len(cells) and freedom >= LEAST_FREEDOM
    return pooled if reliable else max(pooled, SIMCSE_SPREAD)


def of_study(result: Judged, seconds: Callable[[RunConfig], float]) -> list[Cost]:
    """What settling each claim of a study takes at its scale. `seconds` expects a run's time.

    Claims are left out that the scale cannot judge or whose numbers are not printed or no scores.
    """
    costs = []
    for verdict in result.verdicts:
        claim = verdict.claim
        cells = _compared_cells(verdict)
        runnable = all(cell.unavailable is None for cell in cells)
        if verdict.outcome == "no verdict" or not runnable or not _printed_scores(verdict):
            continue
        spread = spread_of(cell.cell for cell in cells)
        of = _as_printed(verdict, spread)
        above = {contrast: effect > 0 for contrast, (effect, _) in of.items()}
        outcome = "supported" if truth(claim.predicate, above.get) else "contradicted"
        powers = ((n, power(claim, of, n, len(result.verdicts))[outcome]) for n in LOOKS)
        seeds = next((n for n, chance in powers if chance >= POWER), None)
        runs = {}
        for cell, seed in itertools.product(cells, range(seeds or 0)):
            runs[cell.place.run_id(seed)] = seconds(cell.place.config(seed))
        costs.append(Cost(claim.key, spread, seeds, runs))
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


def _as_printed(verdict: Verdict, spread: float) -> dict[Contrast, Normal]:
    """The contrasts of a claim at the printed scores, with the spread of a run over seeds."""
    return {
        reading.contrast: (reading.printed or 0.0, spread * math.hypot(*reading.weights))
        for reading in verdict.readings.values()
    }


def summary(costs: Sequence[Cost]) -> str:
    """What settles the claims that a check can settle, each run once; empty without a claim."""
    if not costs:
        return ""
    runs = dict[str, float]()
    for cost in costs:
        runs |= cost.runs
    settled = [cost.seeds for cost in costs if cost.seeds]
    ending = f"settle {len(settled)} of {counted(len(costs), 'estimated claim')}"
    if not settled:
        return f"{LOOKS[-1]} seeds would {ending}"
    time = f"{spoken(sum(runs.values()))} of an H100"
    return f"up to {max(settled)} seeds, {counted(len(runs), 'run')}, {time} would {ending}"


def lines(grids: Iterable[Grid], seconds: Callable[[RunConfig], float]) -> list[str]:
    """What `--plan` prints: seeds, runs, hours and spread by claim, and of all affordable claims
    together."""
    every = []
    listed = []
    for grid in grids:
        result = study_result(grid)
        costs = of_study(result, seconds)
        every += costs
        for cost in costs:
            words = f"more than {LOOKS[-1]} seeds"
            if cost.seeds:
                time = spoken(sum(cost.runs.values()))
                words = f"{cost.seeds} seeds, {len(cost.runs)} runs, {time} of an H100"
            line = f"{result.study.name} {cost.claim}: {words} (spread {cost.spread:.2f} points)"
            listed.append(f"  {line}")
    if not every:
        return ["None of these claims has printed scores and can be judged with these data."]
    return [
        "What settles the printed effects with 80 % power, by the spread of a run over seeds.",
        *listed,
        f"In all {summary(every)}.",
    ]


def chances(verdict: Verdict, claims: int, ahead: int = AHEAD) -> dict[int, float]:
    """The chance that an undecided claim, of so many in its study, is settled by each of its next
    `ahead` checks, by seeds.

    From the first check on it is the share of draws of further seeds that the verdict's own test
    settles. Before, it takes the printed effect as true, with the claim's spread. An effect
    that is not printed counts as one spread of the comparison, and a share of runs that is not as
    three quarters.
    """
    later = [n for n in LOOKS if n > verdict.seeds][:ahead]
    if verdict.seeds < LOOKS[0]:
        if _printed_scores(verdict):
            spread = spread_of(cell.cell for cell in _compared_cells(verdict))
            of = _as_printed(verdict, spread)
        else:
            effects = {"share": UNPRINTED_SHARE - HALF}
            of = {
                contrast: (effects.get(contrast.of, UNPRINTED), 1.0)
                for contrast in verdict.readings
            }
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
            values[contrast] = verdict.readings[contrast].of(runs[..., :n])
        done |= settled(claim_p(verdict.claim, values), alpha_at(n, claims)) > 0
        by_check[n] = float(done.mean())
    return by_check


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
