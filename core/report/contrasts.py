"""The values that contrasts of claims have on a study's runs, seed by seed, and on the paper's printed numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from core.report import scatter
from core.report.cells import CellResult, StudyResult
from core.report.quantities import unit
from core.report.quantities import value as value_of
from core.report.worst import counted
from core.spec.claim import Contrast
from core.spec.table import Metric

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Readings:
    """Contrasts on the runs of a study: `samples` and `seeds` are what `core.report.sequential` asks for."""

    result: StudyResult
    read: dict[Metric | None, dict[Labels, dict[int, float]]] = field(default_factory=dict)
    weighed: dict[Contrast, dict[Labels, float]] = field(default_factory=dict)

    def samples(self, contrast: Contrast, n: int) -> np.ndarray | None:
        """The contrast minus its threshold under seeds 0 … n-1; None if a cell lacks one of them.

        `of` scatter takes of each cell the absolute deviations from its median over these n seeds (`core.report.scatter`).
        """
        weights = self.weights(contrast)
        found = [self.values(contrast.metric)[labels] for labels in weights]
        if n == 0 or any(seed not in one for one in found for seed in range(n)):
            return None
        values = np.array([[one[seed] for seed in range(n)] for one in found])  # (cells, seeds)
        if contrast.of == "scatter":
            return scatter.by_seed(values, np.array(list(weights.values())), contrast.above)
        total = np.full(n, -float(contrast.above))  # (seeds,)
        for weight, of_cell in zip(weights.values(), values, strict=True):
            total += weight * of_cell
        return total

    def seeds(self, contrast: Contrast) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        found = self.values(contrast.metric)
        return min(reached(found[labels]) for labels in self.weights(contrast))

    def failed(self, contrast: Contrast) -> tuple[int, str, str, str] | None:
        """The first run of the contrast's cells that has failed and counts for nothing in it, since what is read has no worst value: its
        seed, its cell, how it failed, and what is read."""
        numbers = self.values(contrast.metric)
        found = [
            (run.seed, "/".join(cell.cell.labels), run.status, unit(contrast.metric or cell.metric))
            for cell in self._cells(self.weights(contrast))
            for run in cell.runs
            if run.rows is not None and run.status in ("diverged", "collapsed") and run.seed not in numbers[cell.cell.labels]
        ]
        return min(found, default=None)

    def weights(self, contrast: Contrast) -> dict[Labels, float]:
        """The weight of each cell in a contrast."""
        if contrast not in self.weighed:
            self.weighed[contrast] = weights(contrast, self.result)
        return self.weighed[contrast]

    def values(self, metric: Metric | None) -> dict[Labels, dict[int, float]]:
        """By cell: what its runs count for by seed, in the cell's own metric (None) or in another; times alone of seeds whose runs were
        all on one device, since others compare devices."""
        if metric not in self.read:
            found = {cell.cell.labels: self._of_cell(cell, metric) for cell in self.result.cells}
            if metric is not None and metric.checkpoint == "time":
                found = {labels: {seed: each for seed, each in one.items() if self._on_one_device(seed)} for labels, one in found.items()}
            self.read[metric] = found
        return self.read[metric]

    def prior(self, noise: float | None) -> Callable[[Contrast], float | None]:
        """By contrast: the SD that it should have over seeds if every run scatters like those of the noise study.

        `noise` is the SD of one run; cells that do not share their scatter give noise * sqrt(sum of squared weights). Seeds that
        cells share make it less. Known for scores alone.
        """

        def of(contrast: Contrast) -> float | None:
            found = self.weights(contrast)
            metrics = [contrast.metric] if contrast.metric else [cell.metric for cell in self._cells(found)]
            if noise is None or any(metric.quantity != "spearman" for metric in metrics):
                return None
            spread = noise * float(np.sqrt(sum(weight**2 for weight in found.values())))
            return scatter.NORMAL_SD * spread if contrast.of == "scatter" else spread

        return of

    def _of_cell(self, cell: CellResult, metric: Metric | None) -> dict[int, float]:
        found = {}
        for run in cell.runs:
            value = run.value
            if metric is not None:
                read = None if run.rows is None else value_of(run.rows, metric, self.result.aggregate, self.result.scale)
                value = counted(run.status, read, metric)
            if value is not None:
                found[run.seed] = value
        return found

    def _on_one_device(self, seed: int) -> bool:
        runs = [run for cell in self.result.cells for run in cell.runs if run.seed == seed and run.rows is not None]
        return len({run.provenance.get("device") for run in runs}) <= 1

    def _cells(self, labels: dict[Labels, float]) -> list[CellResult]:
        return [cell for cell in self.result.cells if cell.cell.labels in labels]


def reached(values: dict[int, float]) -> int:
    """How many seeds are present from 0 on, without a gap."""
    return next(n for n in range(len(values) + 1) if n not in values)


def weights(contrast: Contrast, result: StudyResult) -> dict[Labels, float]:
    """The weight of each cell in a contrast; a wildcard spreads its weight over the cells that it matches."""
    found: dict[Labels, float] = {}
    for term in contrast.terms:
        cells = result.study.matching(term.cell)
        for cell in cells:
            found[cell.labels] = found.get(cell.labels, 0.0) + term.weight / len(cells)
    return found


def printed_value(contrast: Contrast, result: StudyResult) -> float | None:
    """The contrast minus its threshold on the paper's printed numbers; None if the paper does not print every number that this needs."""
    if contrast.metric is not None or contrast.of != "value":
        return None
    numbers = {cell.cell.labels: cell.cell.published for cell in result.cells}
    found = weights(contrast, result)
    total = 0.0
    for labels, weight in found.items():
        number = numbers[labels]
        if number is None:
            return None
        total += weight * number
    return float(total - contrast.above)
