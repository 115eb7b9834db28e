"""What the cells of a study's claims score at each learning rate, and each at the rate that is best for it on the development set.

A comparison at one rate for all cells asks which of them that rate suits as much as which is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.report.cells import CellResult, StudyResult
from core.report.differences import base_of
from core.report.quantities import decimals, unit
from core.report.quantities import value as value_of
from core.report.statistics import NO_ESTIMATE, Estimate, over_seeds
from core.report.worst import counted
from core.spec.table import Metric

DEVELOPMENT = Metric(task="dev", title="Development set")
Labels = tuple[str, ...]
LEAST_CHOSEN = 3  # seeds at a rate that may be chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class RateScore:
    """A cell at `factor` times the scale's learning rate, which is `rate` for it: mean over its seeds in the table's own metric, difference
    to its base over the seeds that both have (paired; 95 % t-interval of that mean), and mean development score (Spearman x 100)."""

    factor: float
    rate: float
    estimate: Estimate
    difference: Estimate
    development: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRates:
    """A cell at every learning rate, in ascending order. `base` is the cell that it is compared with; None: with none, or it is the base.

    `chosen` is the rate with the best mean development score, of those with LEAST_CHOSEN seeds; its difference is to the base at the
    base's own choice. None if there are not two rates to choose from. `printed` and `printed_difference` are the paper's, None if not
    printed.
    """

    labels: Labels
    base: Labels | None
    places: int
    printed: float | None
    printed_difference: float | None
    scores: tuple[RateScore, ...]
    chosen: RateScore | None


def by_rate(results: Sequence[StudyResult]) -> tuple[CellRates, ...]:
    """The cells that claims speak of, and their bases, as far as they are trained at another rate than the scale's; of one study's results
    at several rates in ascending order."""
    study = results[0].study
    spoken = {cell.labels for claim in study.claims for cell in study.cells_of(claim.predicate.contrasts())}
    columns = {one.cell.labels: [_at(result, one.cell.labels) for result in results] for one in results[0].cells}
    pattern = (study.figure.base if study.figure else None) or study.reference
    bases = {} if pattern is None else {labels: base_of(labels, pattern) for labels in spoken}
    found = []
    for labels, cells in columns.items():
        if labels in spoken | set(bases.values()) and _has_other_rates(cells, results):
            theirs = columns.get(bases.get(labels, ()))
            compared = theirs is not None and theirs is not cells and unit(theirs[0].metric) == unit(cells[0].metric)
            found.append(_rates(cells, theirs if compared else None, results))
    return tuple(found)


def _at(result: StudyResult, labels: Labels) -> CellResult:
    return next(cell for cell in result.cells if cell.cell.labels == labels)


def _has_other_rates(cells: Sequence[CellResult], results: Sequence[StudyResult]) -> bool:
    """Whether a cell is trained, and has a number at another rate than the scale's."""
    numbers = [result.scale.rate_factor != 1.0 and cell.estimate.n > 0 for cell, result in zip(cells, results, strict=True)]
    return any(numbers) and results[0].edition.config(results[0].study, cells[0].cell, 0).train.steps > 0


def _rates(cells: Sequence[CellResult], bases: Sequence[CellResult] | None, results: Sequence[StudyResult]) -> CellRates:
    scores = _scores(cells, bases, results)
    own, theirs = _choice(scores), None if bases is None else _choice(_scores(bases, None, results))
    difference = NO_ESTIMATE if bases is None or own is None or theirs is None else _difference(cells[own], bases[theirs])
    printed, base_printed = cells[0].cell.published, None if bases is None else bases[0].cell.published
    return CellRates(
        labels=cells[0].cell.labels,
        base=None if bases is None else bases[0].cell.labels,
        places=decimals(cells[0].metric),
        printed=printed,
        printed_difference=None if printed is None or base_printed is None else printed - base_printed,
        scores=scores,
        chosen=None if own is None else replace(scores[own], difference=difference),
    )


def _scores(cells: Sequence[CellResult], bases: Sequence[CellResult] | None, results: Sequence[StudyResult]) -> tuple[RateScore, ...]:
    """A cell at each rate, against its base at the same one."""
    return tuple(
        RateScore(
            factor=result.scale.rate_factor,
            rate=result.edition.config(result.study, cell.cell, 0).train.learning_rate,
            estimate=over_seeds(list(_values(cell).values())),
            difference=NO_ESTIMATE if bases is None else _difference(cell, bases[place]),
            development=_development(cell, result),
        )
        for place, (cell, result) in enumerate(zip(cells, results, strict=True))
    )


def _choice(scores: Sequence[RateScore]) -> int | None:
    """The place of the rate with the best development score; None if fewer than two can be chosen."""
    known = [place for place, one in enumerate(scores) if one.estimate.n >= LEAST_CHOSEN and np.isfinite(one.development)]
    return max(known, key=lambda place: scores[place].development) if len(known) > 1 else None


def _values(cell: CellResult) -> dict[int, float]:
    return {run.seed: run.value for run in cell.runs if run.value is not None}


def _difference(cell: CellResult, base: CellResult) -> Estimate:
    own, theirs = _values(cell), _values(base)
    return over_seeds([own[seed] - theirs[seed] for seed in sorted(own.keys() & theirs.keys())])


def _development(cell: CellResult, result: StudyResult) -> float:
    """The mean development score of a cell's runs at the selected checkpoint, a failed run's as the worst that there is."""
    read = [
        counted(run.status, value_of(run.rows, DEVELOPMENT, result.aggregate, result.scale), DEVELOPMENT)
        for run in cell.runs
        if run.rows is not None
    ]
    known = [value for value in read if value is not None]
    return float(np.mean(known)) if known else float("nan")
