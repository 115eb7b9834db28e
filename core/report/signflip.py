"""What seeds alone do: to one configuration run many times, and to a table whose cells would all be worth the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from core.report.cells import StudyResult
from core.report.notes import title

NOISE = "noise"  # the study of one configuration under many seeds
LEAST_RUNS = 10  # fewer runs of one configuration say too little of its scatter
LEAST_SEEDS = 6  # fewer cannot be flipped to a p below 1/32
EXACT = 12  # seeds: up to here every flip is counted
DRAWS = 10_000
BLOCK = 500
TIES = 1e-9  # of a statistic: flips that differ by less, relatively, are as large


class Flat(NamedTuple):
    """Whether a table's cells differ by more than seeds explain: range of the cell means, p, cells and seeds."""

    range: float
    p: float
    cells: int
    seeds: int


def flat(values: np.ndarray, generator: np.random.Generator) -> Flat:
    """The sign-flip test that all cells are worth the same. `values`: (seeds, cells), a row for each seed.

    Each row less its mean is how the cells differ under that seed; if they are worth the same, it is as likely with the other sign.
    Whole rows are flipped, so that whatever the cells share under a seed stays. Statistic: sum over cells of (mean over seeds)^2.
    p: the share of all 2^n flips that give as much, up to 12 seeds; else (1 + as much) / (1 + 10,000 drawn). NaN below six seeds.
    The test asks that rows be symmetric around their mean, which holds if all cells scatter alike.
    """
    values = np.asarray(values, dtype=float)
    seeds, cells = values.shape
    spread = float(np.ptp(values.mean(0)))
    if seeds < LEAST_SEEDS:
        return Flat(spread, np.nan, cells, seeds)
    centred = values - values.mean(1, keepdims=True)  # (seeds, cells)
    gram = centred @ centred.T / seeds**2  # (seeds, seeds): the statistic of flips s is s @ gram @ s
    observed = gram.sum() * (1 - TIES)
    if seeds <= EXACT:
        signs = np.array(list(product((1.0, -1.0), repeat=seeds)))  # (2^seeds, seeds), the first as observed
        return Flat(spread, float((_statistics(signs, gram) >= observed).mean()), cells, seeds)
    as_much = 0
    for _ in range(DRAWS // BLOCK):
        signs = generator.choice((1.0, -1.0), (BLOCK, seeds))
        as_much += int((_statistics(signs, gram) >= observed).sum())
    return Flat(spread, (1 + as_much) / (1 + DRAWS), cells, seeds)


def _statistics(signs: np.ndarray, gram: np.ndarray) -> np.ndarray:
    return ((signs @ gram) * signs).sum(1)  # (flips,)


def noise_sd(result: StudyResult | None) -> float | None:
    """SD of one run, by the noise study; None below ten runs."""
    values = _runs(result)
    return float(np.std(values, ddof=1)) if len(values) >= LEAST_RUNS else None


def sentences(results: Sequence[StudyResult]) -> list[str]:
    """What seeds alone do to one configuration (with the noise study), and whether each table of scores differs by more than that."""
    source = next((result for result in results if result.study.name == NOISE), None)
    values, said = _runs(source), []
    if len(values) >= LEAST_RUNS:
        said.append(
            f"One configuration under {len(values)} seeds scores {np.mean(values):.2f} with a standard deviation of "
            f"{np.std(values, ddof=1):.2f}; its best and worst run differ by {max(values) - min(values):.2f}."
        )
    return said + [sentence for result in results if (sentence := _of_table(result))]


def _of_table(result: StudyResult) -> str:
    """The range of a paper's table with the p of the sign-flip test; "" where there is nothing to compare."""
    cells = [cell for cell in result.cells if cell.metric == result.study.metric and cell.estimate.n]
    if result.study.paper == "ours" or len(cells) < 3:
        return ""
    by_cell = [{run.seed: run.value for run in cell.runs if run.value is not None} for cell in cells]
    seeds = sorted(set.intersection(*(set(found) for found in by_cell)))
    if len(seeds) < 2:
        return ""
    found = flat(np.array([[one[seed] for one in by_cell] for seed in seeds]), np.random.default_rng(0))
    head = f"{title(result)}: its {found.cells} cells, each over {found.seeds} seeds, range over {found.range:.2f}"
    if np.isnan(found.p):
        return f"{head}; below {LEAST_SEEDS} seeds it is not tested whether seeds alone give as much."
    return f"{head}; sign-flip test over seeds: p = {found.p:.2g}."


def _runs(result: StudyResult | None) -> list[float]:
    return [run.value for run in result.cells[0].runs if run.value is not None] if result else []
