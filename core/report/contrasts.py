"""The values of a claim's contrasts on a study's runs, seed by seed, and on the paper's printed
numbers."""

import functools
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from core.report.results import CellResult, StudyResult, in_metric
from core.report.statistics import Estimate, over_seeds, scatter_by_seed
from core.study.axes import Labels
from core.study.claim import Contrast, Predicate, truth
from core.study.study import Metric

Direction = Literal["for", "against", ""]
HOLDS: dict[bool | None, Direction] = {True: "for", False: "against", None: ""}


class MeasuredContrast(NamedTuple):
    """A contrast on the runs of a study: its cells, the weights of these (cells,), and what their
    runs count for under the seeds from 0 on that all of them have: `values` (cells, seeds). Scores
    that a user brings are of no cells."""

    contrast: Contrast
    cells: tuple[CellResult, ...]
    weights: np.ndarray
    values: np.ndarray
    z: list[list[float]] | None = None  # of an interaction: the same in Fisher's z

    @property
    def seeds(self) -> int:
        """How many seeds, from 0 on, all cells of the contrast have."""
        return self.values.shape[1]

    @property
    def begun(self) -> bool:
        """Whether any run of each cell is stored."""
        return all(cell.begun for cell in self.cells)

    @property
    def metrics(self) -> list[Metric]:
        """What is read of each of its cells' runs."""
        return [self.contrast.metric or cell.metric for cell in self.cells]

    def under(self, n: int) -> np.ndarray | None:
        """How far the contrast lies beyond its threshold under seeds 0 … n-1; None if a cell lacks
        one."""
        return self.beyond(self.values[:, :n]) if 0 < n <= self.seeds else None

    def beyond(self, values: np.ndarray) -> np.ndarray:
        """How far the contrast lies beyond its threshold by seed, of values (..., cells, seeds). A
        contrast of scatters reads each cell's absolute deviations from its median over these
        seeds."""
        sign = self.contrast.sign
        if self.contrast.of == "scatter":
            return scatter_by_seed(values, sign * self.weights, sign * self.contrast.threshold)
        total = np.array(-float(self.contrast.threshold))
        for cell, weight in enumerate(self.weights):  # in order: sums stay to the digit
            total = total + weight * values[..., cell, :]
        return sign * total

    @property
    def depends_on_unit(self) -> bool:
        """Whether an interaction has another sign in Fisher's z than in points."""
        if self.z is None or not self.seeds:
            return False
        points, z = (self.weights @ np.mean(values, -1) for values in (self.values, self.z))
        return bool(points * z < 0)

    @property
    def estimate(self) -> Estimate:
        """How far the contrast lies beyond its threshold over all its seeds, with its 95 % interval
        (of a share of runs Clopper and Pearson's)."""
        return over_seeds(self.under(self.seeds), share=self.contrast.of == "share")

    @property
    def holds(self) -> bool | None:
        """Whether the 95 % interval lies on the claim's side; None if it contains 0, or if the side
        depends on the unit."""
        if self.depends_on_unit or not self.estimate.distinguishable:
            return None
        return self.estimate.low > 0

    @property
    def printed(self) -> float | None:
        """How far the contrast lies beyond its threshold on the paper's printed numbers; None if
        the paper prints not all of them, or there is no paper."""
        numbers = [cell.cell.published for cell in self.cells]
        if self.contrast.metric is not None or self.contrast.of in ("scatter", "share"):
            return None
        if not numbers or None in numbers:
            return None
        pairs = zip(self.weights.tolist(), numbers, strict=True)
        return float(
            self.contrast.beyond(sum(weight * (number or 0.0) for weight, number in pairs))
        )


def of_sum(contrast: Contrast, beyond: Estimate) -> Estimate:
    """How far a contrast lies beyond its threshold as an estimate of its sum, in raw numbers."""
    mean, *bounds = (contrast.threshold + contrast.sign * number for number in beyond[:3])
    low, high = sorted(bounds)
    return beyond._replace(mean=mean, low=low, high=high)


def measured_contrasts(
    result: StudyResult, contrasts: Iterable[Contrast] | None = None
) -> dict[Contrast, MeasuredContrast]:
    """These contrasts on a study's runs; by default those of its claims. A wildcard spreads its
    weight over the cells that it matches. A time counts only up to a seed whose runs of these cells
    were on several devices."""
    if contrasts is None:
        contrasts = chain.from_iterable(
            claim.predicate.contrasts() for claim in result.study.claims
        )
    read = functools.cache(functools.partial(in_metric, result))
    by_contrast = {}
    for contrast in dict.fromkeys(contrasts):
        weights: dict[Labels, float] = {}
        for term in contrast.terms:
            matching = result.study.matching(term.cell)
            for cell in matching:
                weights[cell.labels] = weights.get(cell.labels, 0.0) + term.weight / len(matching)
        cells = [read(None)[labels] for labels in weights]
        metric = contrast.metric
        by_seed = [read(metric)[labels].by_seed for labels in weights]
        is_time = metric is not None and metric.checkpoint == "time"
        seeds = 0
        while all(seeds in numbers for numbers in by_seed):
            if is_time and len({cell.runs[seeds].provenance.get("device") for cell in cells}) > 1:
                break
            seeds += 1
        values = np.array([list(map(numbers.__getitem__, range(seeds))) for numbers in by_seed])
        z = None
        if contrast.of == "interaction":
            in_z = read(metric, in_z=True)
            z = [[in_z[labels].by_seed[seed] for seed in range(seeds)] for labels in weights]
        shares = np.array(list(weights.values()))
        by_contrast[contrast] = MeasuredContrast(contrast, tuple(cells), shares, values, z)
    return by_contrast


def direction(predicate: Predicate, of: Mapping[Contrast, MeasuredContrast]) -> Direction:
    """Where a claim's estimates point, by the claim's own logic over 95 % intervals: for, if as
    many comparisons as it needs lie on its side; against, if so many lie on the other that it
    cannot hold."""
    return HOLDS[truth(predicate, lambda contrast: of[contrast].holds)]
