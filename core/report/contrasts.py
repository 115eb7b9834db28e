"""The values of a claim's contrasts on a study's runs, seed by seed, and on the paper's printed numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.report.quantities import counted, worst_of
from core.report.results import CellResult, StudyResult
from core.report.statistics import Labels, scatter_by_seed
from core.spec.claim import Contrast
from core.spec.study import Metric


class Reading(NamedTuple):
    """A contrast on the runs of a study: its cells, the weights of these (cells,), and what their runs count
    for under the seeds from 0 on that all of them have: `values` (cells, seeds)."""

    contrast: Contrast
    cells: tuple[CellResult, ...]
    weights: np.ndarray
    values: np.ndarray

    @property
    def seeds(self) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        return self.values.shape[1]

    def under(self, n: int) -> np.ndarray | None:
        """The contrast minus its threshold under seeds 0 … n-1; None if a cell lacks one of them. A contrast
        of scatters reads each cell's absolute deviations from its median over these n seeds."""
        if not 0 < n <= self.seeds:
            return None
        values, above = self.values[:, :n], float(self.contrast.above)
        if self.contrast.of == "scatter":
            return scatter_by_seed(values, self.weights, above)
        # in the order of the terms: sums stay to the digit
        return sum(self.weights[:, None] * values, np.full(n, -above))

    @property
    def printed(self) -> float | None:
        """The contrast minus its threshold on the paper's printed numbers; None if the paper prints not all
        of them."""
        numbers = [cell.cell.published for cell in self.cells]
        if self.contrast.metric is not None or self.contrast.of != "value" or None in numbers:
            return None
        pairs = zip(self.weights.tolist(), numbers, strict=True)
        return float(sum(weight * (number or 0.0) for weight, number in pairs) - self.contrast.above)


def readings(result: StudyResult) -> dict[Contrast, Reading]:
    """Every contrast of a study's claims on its runs. A wildcard spreads its weight over the cells that it
    matches."""
    contrasts = dict.fromkeys(each for claim in result.study.claims for each in claim.predicate.contrasts())
    numbers = {metric: _numbers(metric, result) for metric in {contrast.metric for contrast in contrasts}}
    cells, made = {cell.cell.labels: cell for cell in result.cells}, {}
    for contrast in contrasts:
        weights: dict[Labels, float] = {}
        for term in contrast.terms:
            matching = result.study.matching(term.cell)
            for cell in matching:
                weights[cell.labels] = weights.get(cell.labels, 0.0) + term.weight / len(matching)
        by_seed = [numbers[contrast.metric][labels] for labels in weights]
        seeds = next(n for n in range(1 + min(map(len, by_seed))) if any(n not in own for own in by_seed))
        values = np.array([[own[seed] for seed in range(seeds)] for own in by_seed])
        factors = np.array(list(weights.values()))
        made[contrast] = Reading(contrast, tuple(cells[labels] for labels in weights), factors, values)
    return made


def _numbers(metric: Metric | None, result: StudyResult) -> dict[Labels, dict[int, float]]:
    """By cell and seed what runs count for, in the cell's own metric (None) or in another. Times come only
    from seeds whose runs were all on one device, since others compare devices."""
    if metric is None:
        return {cell.cell.labels: cell.by_seed for cell in result.cells}
    stored = [run for cell in result.cells for run in cell.runs if run.rows is not None]
    devices = {(run.seed, run.provenance.get("device")) for run in stored}
    seeds = [seed for seed, _ in devices if metric.checkpoint == "time"]
    own = {run.run_id: run.read(metric, result.aggregate, result.setup.scale) for run in stored}
    worst = worst_of(metric, [number for number in own.values() if number is not None])
    return {
        cell.cell.labels: {
            run.seed: number
            for run in cell.runs
            if seeds.count(run.seed) < 2
            and (number := counted(run.status, own.get(run.run_id), metric, worst)) is not None
        }
        for cell in result.cells
    }
