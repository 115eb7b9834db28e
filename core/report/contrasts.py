"""The values of a claim's contrasts on a study's runs, seed by seed, and on the paper's printed numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from core.report.looks import scatter_by_seed
from core.report.quantities import counted
from core.report.quantities import value as value_of
from core.report.results import CellResult, StudyResult
from core.spec.claim import Contrast
from core.spec.result import unit
from core.spec.table import Metric

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Readings:
    """Contrasts on the runs of a study: `samples` and `seeds` are what `core.report.looks` needs."""

    result: StudyResult
    read: dict[Metric | None, dict[Labels, dict[int, float]]] = field(default_factory=dict)

    def samples(self, contrast: Contrast, n: int) -> np.ndarray | None:
        """The contrast minus its threshold under seeds 0 … n-1; None if a cell lacks one of them.

        `of` scatter reads each cell's absolute deviations from its median over these n seeds.
        """
        by_cell = weights(contrast, self.result)
        numbers = [self.values(contrast.metric)[labels] for labels in by_cell]
        if n == 0 or any(seed not in one for one in numbers for seed in range(n)):
            return None
        values = np.array([[one[seed] for seed in range(n)] for one in numbers])  # (cells, seeds)
        if contrast.of == "scatter":
            return scatter_by_seed(values, np.array(list(by_cell.values())), contrast.above)
        total = np.full(n, -float(contrast.above))  # (seeds,)
        for weight, of_cell in zip(by_cell.values(), values, strict=True):
            total += weight * of_cell
        return total

    def seeds(self, contrast: Contrast) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        numbers = self.values(contrast.metric)
        return min(_without_gap(numbers[labels]) for labels in weights(contrast, self.result))

    def failed(self, contrast: Contrast) -> tuple[int, str, str, str] | None:
        """The first run of the contrast's cells that has failed and counts for nothing, since what is read
        has no worst value: its seed, its cell, how it failed, and what is read."""
        numbers = self.values(contrast.metric)
        failed = [
            (run.seed, "/".join(cell.cell.labels), run.status, unit(contrast.metric or cell.metric))
            for cell in cells_of(weights(contrast, self.result), self.result)
            for run in cell.runs
            if run.status in ("diverged", "collapsed") and run.seed not in numbers[cell.cell.labels]
        ]
        return min(failed, default=None)

    def values(self, metric: Metric | None) -> dict[Labels, dict[int, float]]:
        """By cell: what its runs count for by seed, in the cell's own metric (None) or in another.

        Times come only from seeds whose runs were all on one device, since others compare devices.
        """
        if metric not in self.read:
            numbers = {cell.cell.labels: self._of_cell(cell, metric) for cell in self.result.cells}
            if metric is not None and metric.checkpoint == "time":
                numbers = {
                    labels: {seed: number for seed, number in one.items() if self._on_one_device(seed)}
                    for labels, one in numbers.items()
                }
            self.read[metric] = numbers
        return self.read[metric]

    def _of_cell(self, cell: CellResult, metric: Metric | None) -> dict[int, float]:
        numbers = {}
        for run in cell.runs:
            number = run.value
            if metric is not None:
                aggregate, scale = self.result.aggregate, self.result.scale
                read = None if run.rows is None else value_of(run.rows, metric, aggregate, scale)
                number = counted(run.status, read, metric)
            if number is not None:
                numbers[run.seed] = number
        return numbers

    def _on_one_device(self, seed: int) -> bool:
        runs = (run for cell in self.result.cells for run in cell.runs if run.seed == seed)
        return len({run.provenance.get("device") for run in runs if run.rows is not None}) <= 1


def _without_gap(values: dict[int, float]) -> int:
    """How many seeds are present from 0 on."""
    return next(n for n in range(len(values) + 1) if n not in values)


def weights(contrast: Contrast, result: StudyResult) -> dict[Labels, float]:
    """The weight of each cell in a contrast; a wildcard spreads its weight over the cells that it matches."""
    by_cell: dict[Labels, float] = {}
    for term in contrast.terms:
        cells = result.study.matching(term.cell)
        for cell in cells:
            by_cell[cell.labels] = by_cell.get(cell.labels, 0.0) + term.weight / len(cells)
    return by_cell


def cells_of(labels: Collection[Labels], result: StudyResult) -> list[CellResult]:
    """The cells with these labels, in table order."""
    return [cell for cell in result.cells if cell.cell.labels in labels]


def printed_value(contrast: Contrast, result: StudyResult) -> float | None:
    """The contrast minus its threshold on the paper's printed numbers; None if the paper prints not all of
    them."""
    if contrast.metric is not None or contrast.of != "value":
        return None
    by_cell = weights(contrast, result)
    numbers = {cell.cell.labels: cell.cell.published for cell in cells_of(by_cell, result)}
    total = 0.0
    for labels, weight in by_cell.items():
        number = numbers[labels]
        if number is None:
            return None
        total += weight * number
    return float(total - contrast.above)
