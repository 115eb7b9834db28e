"""Differences along training: paired development scores of stored runs, check by check."""

import functools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from core.report.contrasts import of_sum
from core.report.results import CellResult
from core.report.run_lengths import passes
from core.report.statistics import over_seeds
from core.report.verdicts import Verdict
from core.study.claim import ROUNDING

MARKED = 0.2  # of a run's checks


def by_check(cells: Sequence[CellResult], weights: Sequence[float], aggregate: str) -> pd.DataFrame:
    """The weighted sum of the cells' development scores (steps, seeds), paired by seed, from the
    first check of training on; NaN where a run has no score."""
    parts = []
    for cell, weight in zip(cells, weights, strict=True):
        curves = {run.seed: run.rows.curve(aggregate) for run in cell.runs if run.rows is not None}
        parts.append(weight * pd.DataFrame(curves, dtype=float))
    scores = functools.reduce(pd.DataFrame.add, parts)
    return scores[scores.index > 0].dropna(how="all")


def differs_along_training(verdict: Verdict, aggregate: str) -> bool:
    """Whether the difference of scores that decides a verdict has the other sign on the development
    set, significantly (95 %), at a fifth of the checks of the same runs or more."""
    cells = verdict.weakest.cells
    weights = verdict.weakest.weights.tolist()
    read = {metric.quantity for metric in verdict.weakest.metrics}
    if read != {"spearman"} or abs(sum(weights)) > ROUNDING:
        return False
    side = of_sum(verdict.weakest.contrast, verdict.weakest.estimate).mean
    other = []
    for _, scores in by_check(cells, weights, aggregate).iterrows():
        at_check = over_seeds(scores.dropna())
        other.append(at_check.distinguishable and at_check.mean * side < 0)
    return bool(other) and float(np.mean(other)) >= MARKED


def differences(cell: CellResult, base: CellResult, aggregate: str) -> Iterator[dict[str, float]]:
    """A cell minus its base at each check: step, passes over the text, difference, half of its 95 %
    interval, seeds."""
    if not (cell.begun and base.begun):
        return
    config = cell.config(0)
    for step, scores in by_check((cell, base), (1, -1), aggregate).iterrows():
        at_check = over_seeds(scores.dropna())
        yield {
            "step": step,
            "passes": passes(config) * float(step) / config.train.steps,
            "difference": at_check.mean,
            "half_width": at_check.high - at_check.mean,
            "seeds": at_check.n,
        }
