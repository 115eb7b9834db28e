"""The values of a claim's contrasts on a study's runs, seed by seed, and on the paper's printed
numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from core.report.quantities import counted, worst_of
from core.report.results import CellResult, StudyResult
from core.report.statistics import Labels, scatter_by_seed
from core.study.claim import Contrast
from core.study.study import Metric


class Reading(NamedTuple):
    """A contrast on the runs of a study: its cells, the weights of these (cells,), and what their
    runs count for under the seeds from 0 on that all of them have: `values` (cells, seeds). Scores
    that a user brings are of no cells."""

    contrast: Contrast
    cells: tuple[CellResult, ...]
    weights: np.ndarray
    values: np.ndarray

    @property
    def seeds(self) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        return self.values.shape[1]

    @property
    def begun(self) -> bool:
        """Whether any run of each cell is stored."""
        return all(cell.begun for cell in self.cells)

    def under(self, n: int) -> np.ndarray | None:
        """The contrast minus its threshold under seeds 0 … n-1; None if a cell lacks one of them. A
        contrast of scatters reads each cell's absolute deviations from its median over these n
        seeds."""
        if not 0 < n <= self.seeds:
            return None
        values = self.values[:, :n]
        above = float(self.contrast.above)
        if self.contrast.of == "scatter":
            return scatter_by_seed(values, self.weights, above)
        # in the order of the terms: sums stay to the digit
        return sum(self.weights[:, None] * values, np.full(n, -above))

    @property
    def printed(self) -> float | None:
        """The contrast minus its threshold on the paper's printed numbers; None if the paper prints
        not all of them, or there is no paper."""
        numbers = [cell.cell.published for cell in self.cells]
        if self.contrast.metric is not None or self.contrast.of != "value" or None in numbers:
            return None
        if not numbers:
            return None
        pairs = zip(self.weights.tolist(), numbers, strict=True)
        return float(
            sum(weight * (number or 0.0) for weight, number in pairs) - self.contrast.above
        )


def readings(
    result: StudyResult, contrasts: Iterable[Contrast] | None = None
) -> dict[Contrast, Reading]:
    """These contrasts on a study's runs; by default those of its claims. A wildcard spreads its
    weight over the cells that it matches."""
    if contrasts is None:
        contrasts = chain.from_iterable(
            claim.predicate.contrasts() for claim in result.study.claims
        )
    by_labels = {cell.cell.labels: cell for cell in result.cells}
    by_contrast = {}
    for contrast in dict.fromkeys(contrasts):
        weights: dict[Labels, float] = {}
        for term in contrast.terms:
            matching = result.study.matching(term.cell)
            for cell in matching:
                weights[cell.labels] = weights.get(cell.labels, 0.0) + term.weight / len(matching)
        cells = [by_labels[labels] for labels in weights]
        by_seed = _by_seed(contrast.metric, cells, result)
        seeds = 0
        while all(seeds in numbers for numbers in by_seed):
            seeds += 1
        values = np.array([list(map(numbers.__getitem__, range(seeds))) for numbers in by_seed])
        shares = np.array(list(weights.values()))
        by_contrast[contrast] = Reading(contrast, tuple(cells), shares, values)
    return by_contrast


def _by_seed(
    metric: Metric | None, cells: Sequence[CellResult], result: StudyResult
) -> list[dict[int, float]]:
    """By cell what its runs count for under each seed, in the cell's own metric (None) or in
    another.

    A time counts only under seeds whose runs of these cells were all on one device, since others
    compare devices.
    """
    if metric is None:
        return [cell.by_seed for cell in cells]
    own_numbers = {}
    for cell in result.cells:
        for run in cell.runs:
            if run.rows is not None:
                number = run.read(metric, result.aggregate, result.setup.scale)
                own_numbers[run.run_id] = number
    worst = worst_of(metric, [number for number in own_numbers.values() if number is not None])
    mixed = set[int]()
    if metric.checkpoint == "time":
        mixed = _seeds_of_several_devices(cells)
    numbers = []
    for cell in cells:
        by_seed = {}
        for run in cell.runs:
            number = counted(run.status, own_numbers.get(run.run_id), metric, worst)
            if number is not None and run.seed not in mixed:
                by_seed[run.seed] = number
        numbers.append(by_seed)
    return numbers


def _seeds_of_several_devices(cells: Sequence[CellResult]) -> set[int]:
    """The seeds whose runs of these cells were not all on one device."""
    devices: dict[int, set[object]] = {}
    for cell in cells:
        for run in cell.runs:
            if run.rows is not None:
                devices.setdefault(run.seed, set()).add(run.provenance.get("device"))
    return {seed for seed, names in devices.items() if len(names) > 1}
