"""The values of a claim's contrasts on a study's runs, seed by seed, and on the paper's printed numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from core.report.looks import scatter_by_seed
from core.report.results import CellResult, StudyResult
from core.report.statistics import Labels
from core.spec.claim import Contrast
from core.spec.study import Metric


@dataclass(frozen=True, slots=True)
class Readings:
    """Contrasts on the runs of a study: `samples` and `seeds` are what `core.report.looks` needs."""

    result: StudyResult
    read: dict[Metric | None, dict[Labels, dict[int, float]]] = field(default_factory=dict)

    def samples(self, contrast: Contrast, n: int) -> np.ndarray | None:
        """The contrast minus its threshold under seeds 0 … n-1; None if a cell lacks one of them.

        `of` scatter reads each cell's absolute deviations from its median over these n seeds.
        """
        if not 0 < n <= self.seeds(contrast):
            return None
        by_cell, numbers = weights(contrast, self.result), self.values(contrast.metric)
        values = np.array([[numbers[labels][seed] for seed in range(n)] for labels in by_cell])
        factors = np.array(list(by_cell.values()))  # (cells,); values are (cells, seeds)
        if contrast.of == "scatter":
            return scatter_by_seed(values, factors, contrast.above)
        total = np.full(n, -float(contrast.above))
        for row in factors[:, None] * values:  # in the order of the terms: sums stay to the digit
            total += row
        return total

    def seeds(self, contrast: Contrast) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        numbers = self.values(contrast.metric)
        cells = [numbers[labels] for labels in weights(contrast, self.result)]
        return next(n for n in range(1 + min(map(len, cells))) if any(n not in cell for cell in cells))

    def values(self, metric: Metric | None) -> dict[Labels, dict[int, float]]:
        """By cell: what its runs count for by seed, in the cell's own metric (None) or in another.

        Times come only from seeds whose runs were all on one device, since others compare devices.
        """
        if metric not in self.read:
            self.read[metric] = {
                cell.cell.labels: cell.by_seed if metric is None else self._of_cell(cell, metric)
                for cell in self.result.cells
            }
        return self.read[metric]

    def _of_cell(self, cell: CellResult, metric: Metric) -> dict[int, float]:
        timed, of = metric.checkpoint == "time", (metric, self.result.aggregate, self.result.scale)
        runs = (run for run in cell.runs if not timed or self._on_one_device(run.seed))
        return {run.seed: number for run in runs if (number := run.read(*of)) is not None}

    def _on_one_device(self, seed: int) -> bool:
        runs = (run for cell in self.result.cells for run in cell.runs if run.seed == seed)
        return len({run.provenance.get("device") for run in runs if run.rows is not None}) <= 1


def weights(contrast: Contrast, result: StudyResult) -> dict[Labels, float]:
    """The weight of each cell in a contrast; a wildcard spreads its weight over the cells that it matches."""
    by_cell: dict[Labels, float] = {}
    for term in contrast.terms:
        cells = result.study.matching(term.cell)
        for cell in cells:
            by_cell[cell.labels] = by_cell.get(cell.labels, 0.0) + term.weight / len(cells)
    return by_cell


def cells_of(contrasts: Iterable[Contrast], result: StudyResult) -> list[CellResult]:
    """The cells of these contrasts, in table order."""
    labels = {cell.labels for cell in result.study.cells_of(contrasts)}
    return [cell for cell in result.cells if cell.cell.labels in labels]


def printed_value(contrast: Contrast, result: StudyResult) -> float | None:
    """The contrast minus its threshold on the paper's printed numbers; None if the paper prints not all of
    them."""
    by_cell = weights(contrast, result)
    printed = {cell.cell.labels: cell.cell.published for cell in cells_of([contrast], result)}
    numbers = [(weight, printed[labels]) for labels, weight in by_cell.items()]
    if contrast.metric is not None or contrast.of != "value" or any(one is None for _, one in numbers):
        return None
    return float(sum(weight * one for weight, one in numbers if one is not None) - contrast.above)
