"""What a figure shows, before it is drawn: points with their single runs, where they stand, and where an axis is broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from core.report.cells import CellResult, StudyResult
from core.report.statistics import over_seeds
from core.spec.table import Axis

COMPARABLE = 4.0  # points between medians: beyond that, one axis would flatten both sides
BREAK_SHARE = 0.4  # a hole that takes this much of the range is cut out of the axis …
BREAK_POINTS = 5.0  # … if it is this many points wide
FAILED = ("collapsed", "diverged")
CROWDED = 0.12  # of the axis: labels closer than this would run into each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A mean with its interval and its single runs at one place. `series` counts from 0; `mean` None leaves a gap, marked `gap`."""

    x: float
    series: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    over_pairs: bool = False  # the interval is a bootstrap of one run
    runs: tuple[float, ...] = ()
    collapsed: tuple[float, ...] = ()
    gap: str = ""


def positions(axis: Axis) -> tuple[dict[str, float], bool]:
    """Where each label stands on x, and whether that is to scale: evenly spaced if not numbers, or too crowded to read."""
    even = {label: float(place) for place, label in enumerate(axis.labels)}
    try:
        numbers = [float(label) for label in axis.labels]
    except ValueError:
        return even, True
    if len(numbers) < 2:
        return even, True
    gaps = [b - a for a, b in pairwise(numbers)]
    if min(gaps) / (numbers[-1] - numbers[0]) < CROWDED:
        return even, False
    return dict(zip(axis.labels, numbers, strict=True)), True


def ours(result: StudyResult, where: dict[str, float]) -> list[Point]:
    """Our cells as points; a cell without a number is a gap that says why. Cells that share a place are averaged run by run."""
    points = []
    for (x, series), cells in _places(result, where).items():
        if len(cells) > 1:
            points.append(_pooled(x, series, cells))
            continue
        cell = cells[0]
        if not cell.estimate.n:
            gap = "not run" if cell.status == "missing" else cell.status
            points.append(Point(x=x, series=series, mean=None, gap=gap))
            continue
        known = cell.interval != "none"
        points.append(
            Point(
                x=x, series=series, mean=cell.estimate.mean,
                low=cell.estimate.low if known else None, high=cell.estimate.high if known else None,
                over_pairs=cell.interval == "pairs",
                runs=tuple(r.value for r in cell.runs if r.value is not None and r.status not in FAILED),
                collapsed=tuple(r.value for r in cell.runs if r.value is not None and r.status in FAILED),
            )
        )
    return points


def paper(result: StudyResult, where: dict[str, float]) -> list[Point]:
    """The paper's numbers as points, with its single runs where they are known; it gives no intervals."""
    points = []
    for (x, series), cells in _places(result, where, copied=True).items():
        numbers = [cell.cell.published for cell in cells if cell.cell.published is not None]
        if numbers:
            runs = cells[0].cell.published_runs if len(cells) == 1 else ()
            points.append(Point(x=x, series=series, mean=sum(numbers) / len(numbers), runs=runs))
    return points


def _places(result: StudyResult, where: dict[str, float], copied: bool = False) -> dict[tuple[float, int], list[CellResult]]:
    """The cells that stand at each x and series."""
    found: dict[tuple[float, int], list[CellResult]] = {}
    for cell in result.cells:
        if copied or not cell.unavailable:  # why a cell is unavailable is said below the table
            found.setdefault(_place(result, cell.cell.labels, where), []).append(cell)
    return found


def _pooled(x: float, series: int, cells: Sequence[CellResult]) -> Point:
    """The mean over several cells, seed by seed where all of them have the seed."""
    by_seed = [{run.seed: run.value for run in cell.runs if run.value is not None} for cell in cells]
    common = sorted(set.intersection(*(set(values) for values in by_seed)))
    means = [sum(values[seed] for values in by_seed) / len(by_seed) for seed in common]
    if not means:
        return Point(x=x, series=series, mean=None, gap="not run")
    estimate = over_seeds(means)
    known = estimate.n > 1
    return Point(x=x, series=series, mean=estimate.mean, low=estimate.low if known else None, high=estimate.high if known else None,
                 runs=tuple(means))


def values(points: Sequence[Point]) -> list[float]:
    """Every number among points but interval ends."""
    return [v for p in points if p.mean is not None for v in (p.mean, *p.runs, *p.collapsed)]


def comparable(one: Sequence[Point], other: Sequence[Point]) -> bool:
    """Whether two sets of points can share an axis and both still be read: their medians are within 4 points."""
    a, b = ([p.mean for p in points if p.mean is not None] for points in (one, other))
    return abs(median(a) - median(b)) <= COMPARABLE


def axis_break(numbers: Sequence[float]) -> tuple[float, float] | None:
    """The widest hole among numbers (below, above), if it takes at least 40 % of their range and 5 points; else None."""
    ordered = sorted(numbers)
    if len(ordered) < 3:
        return None
    below, above = max(pairwise(ordered), key=lambda pair: pair[1] - pair[0])
    wide = above - below
    return (below, above) if wide >= BREAK_POINTS and wide >= BREAK_SHARE * (ordered[-1] - ordered[0]) else None


def limits(points: Sequence[Point], within: tuple[float, float] = (float("-inf"), float("inf"))) -> tuple[float, float]:
    """y limits around the numbers inside `within`, with room for their intervals up to 0.6 times the spread of the numbers themselves."""
    shown = [v for v in values(points) if within[0] <= v <= within[1]]
    low, high = min(shown), max(shown)
    room = 0.6 * max(high - low, 1.0)
    known = [p for p in points if p.mean is not None and p.low is not None and within[0] <= p.mean <= within[1]]
    ends = [end for p in known for end in (p.low, p.high)]
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    margin = max(0.08 * (high - low), (1.0 - (high - low)) / 2)  # never less than a point: noise should not look like an effect
    return low - margin, high + margin


def cut_intervals(points: Sequence[Point], bounds: Sequence[tuple[float, float]]) -> bool:
    """Whether an interval leaves every axis that its mean lies in."""
    for p in points:
        for low, high in bounds:
            if p.mean is not None and p.low is not None and low <= p.mean <= high and (p.low < low or p.high > high):
                return True
    return False


def spacing(where: dict[str, float]) -> float:
    """The smallest distance between neighbouring places; 1 for a single place."""
    return min((b - a for a, b in pairwise(sorted(where.values()))), default=1.0)


def _place(result: StudyResult, labels: tuple[str, ...], where: dict[str, float]) -> tuple[float, int]:
    by_axis = dict(zip((axis.name for axis in result.study.axes), labels, strict=True))
    figure = result.study.figure
    series = result.study.axis(figure.series).labels.index(by_axis[figure.series]) if figure.series else 0
    return where[by_axis[figure.x]], series

