"""Figures that are not a score by an axis: bars, ranked differences, single runs in strips, learning curves, spectra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from core.report.cells import CellResult, StudyResult
from core.report.quantities import curve, spectrum, unit
from core.report.sheet import LEFT, key, name_of_numbers, notes_of, place, sheet, watermark
from core.report.style import GREY, LOOKS, PALE

PER_ROW = 0.2  # inches a horizontal bar
PER_LETTER, AROUND = 0.063, 0.2  # inches of a row's name, and beside it
STEPS_DOWN = 50  # of a run's own spectrum that are drawn: the paper draws about as many of 768
OURS = LOOKS[0].colour


def bars(result: StudyResult) -> Figure:
    """One row a cell, in table order: mean, interval and single runs, with the paper's number hollow."""
    cells = [cell for cell in _averages(result) if cell.estimate.n or cell.cell.published is not None]
    printed = any(cell.cell.published is not None for cell in cells)
    legend = [key("mean of this project", "o", OURS), key("single run", "o", GREY, size=2.4)]
    legend += [key("paper", "o", GREY, hollow=True)] if printed else []
    drawn, axes = _rows(result, cells, legend, notes_of(result))
    for row, cell in enumerate(cells):
        _row(axes, row, cell, lambda value: value)
        if cell.cell.published is not None:
            axes.plot([cell.cell.published], [row + 0.18], marker="o", markersize=5, markerfacecolor="white", color=GREY)
    axes.set_xlabel(unit(result.study.metric))
    return drawn


def ranked(result: StudyResult) -> Figure:
    """What each cell changes against the reference, seed by seed, the greatest loss first."""
    reference = next(cell for cell in result.cells if cell.is_reference)
    base = {run.seed: run.value for run in reference.runs if run.value is not None}
    known = [cell for cell in result.cells if not cell.is_reference and _differences(cell, base)]
    cells = sorted(known, key=lambda cell: float(np.mean(_differences(cell, base))), reverse=True)
    legend = [key("mean difference", "o", OURS), key("one seed", "o", GREY, size=2.4),
              Line2D([], [], color=OURS, linewidth=1.1, label="simultaneous interval"), key("told from zero", "D", LOOKS[4].colour)]
    assumed = any(cell.comparison.basis == "equal scatter" for cell in cells)
    notes = notes_of(result, f"Each is compared with {'/'.join(reference.cell.labels)} ({reference.estimate.mean:.2f}), seed by seed.",
                     "Intervals below five seeds assume equal scatter and tell nothing." if assumed else "")
    drawn, axes = _rows(result, cells, legend, notes)
    axes.axvline(0, color="black", linewidth=0.7)
    for row, cell in enumerate(cells):
        found = _differences(cell, base)
        told = cell.comparison.distinguishable
        axes.plot(found, [row - 0.18] * len(found), linestyle="", marker="o", markersize=2.4, color=GREY, alpha=0.75)
        if cell.comparison.basis:
            axes.hlines(row, cell.comparison.low, cell.comparison.high, color=LOOKS[4].colour if told else OURS, linewidth=1.1)
        axes.plot([np.mean(found)], [row], marker="D" if told else "o", markersize=5, color=LOOKS[4].colour if told else OURS, mec="white")
    _clip(axes, [value for cell in cells for value in _differences(cell, base)])
    axes.set_xlabel(f"difference, {unit(result.study.metric)}")
    return drawn


def strip(result: StudyResult) -> Figure:
    """Every run of every cell as a dot, with mean and standard deviation, beside the paper's runs."""
    papers = [cell for cell in result.cells if cell.cell.published_runs]
    legend = [key("one run", "o", OURS, size=4), key("mean ± one standard deviation", "|", "black", size=9)]
    drawn, boxes = sheet(result, legend, notes_of(result), panels=2 if papers else 1, height=max(1.5, 0.42 * len(result.cells)),
                         left=_room("/".join(cell.cell.labels) for cell in result.cells if len(result.cells) > 1))
    groups = [(f"this project ({result.scale.name})", [(c, [r.value for r in c.runs if r.value is not None]) for c in result.cells])]
    groups += [("paper: printed values of one configuration", [(c, list(c.cell.published_runs)) for c in papers])] if papers else []
    for box, (name, cells) in zip(boxes, groups, strict=True):
        axes = place(drawn, box)
        for row, (_, values) in enumerate(cells):
            if not values:
                continue
            mean, sd = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            axes.plot(values, row + _beeswarm(values), linestyle="", marker="o", markersize=4, color=LOOKS[row % 7].colour, alpha=0.75)
            axes.plot([mean], [row - 0.3], marker="|", markersize=9, color="black")
            axes.hlines(row - 0.3, mean - sd, mean + sd, color="black", linewidth=0.9)
            axes.text(mean, row - 0.36, f"{mean:.2f} ± {sd:.2f}, n = {len(values)}", ha="center", va="bottom", size=7)
        axes.set_ylim(len(cells) - 0.3, -0.6)
        labels = ["/".join(cell.cell.labels) for cell, _ in cells]
        named = len(cells) > 1 and box is boxes[0]
        axes.set_yticks(range(len(cells)), labels if named else [""] * len(cells), size=7)
        axes.set_title(name, loc="left", pad=4)
        axes.set_xlabel(unit(result.study.metric))
        axes.grid(axis="x", color=PALE, linewidth=0.6)
        axes.margins(x=0.12)
    if result.scale.watermark:
        watermark(drawn, boxes[0], result.scale.watermark)
    return drawn


def learning_curves(result: StudyResult) -> Figure:
    """The development score along training, a line for each cell with a run of its own: mean over seeds, and each seed pale."""
    return _along(result, lambda run, _: curve(run.rows, result.aggregate), "optimiser step", "development score, Spearman × 100", log=False)


def spectra(result: StudyResult) -> Figure:
    """Singular values of the development sentences' vectors by index, over the largest: mean over seeds, and each seed pale."""

    def shares(run, checkpoint):
        values = spectrum(run.rows, checkpoint)[:STEPS_DOWN]
        return dict(enumerate(values / values[0], start=1)) if len(values) and values[0] > 0 else {}

    return _along(result, shares, "index of the singular value", "share of the largest", log=True)


def _along(result: StudyResult, points: Callable, x_name: str, y_name: str, log: bool) -> Figure:
    cells = _distinct(result)
    legend = [key(_name(result, cell), LOOKS[n % 7].marker, LOOKS[n % 7].colour, linestyle="-") for n, cell in enumerate(cells)]
    drawn, boxes = sheet(result, legend, notes_of(result))
    axes = place(drawn, boxes[0])
    for number, cell in enumerate(cells):
        look = LOOKS[number % 7]
        found = [dict(points(run, cell.metric.checkpoint)) for run in cell.runs if run.rows is not None]
        found = [one for one in found if one]
        for one in found:
            axes.plot(list(one), list(one.values()), color=look.colour, linewidth=0.5, alpha=0.4)
        common = sorted(set.intersection(*(set(one) for one in found))) if found else []
        means = [float(np.mean([one[x] for one in found])) for x in common]
        axes.plot(common, means, color=look.colour, linewidth=1.4, marker=look.marker, markersize=3.5, markevery=max(1, len(common) // 12))
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color=PALE, linewidth=0.6)
    axes.set_xlabel(x_name)
    name_of_numbers(drawn, boxes[0], y_name)
    if result.scale.watermark:
        watermark(drawn, boxes[0], result.scale.watermark)
    return drawn


def _distinct(result: StudyResult) -> list[CellResult]:
    """The cells with runs, one for each set of runs and checkpoint."""
    found: dict[tuple[str, ...], CellResult] = {}
    for cell in result.cells:
        if any(run.rows is not None for run in cell.runs):
            found.setdefault((cell.metric.checkpoint, *(run.run_id for run in cell.runs)), cell)
    return list(found.values())


def _name(result: StudyResult, cell: CellResult) -> str:
    series = result.study.figure.series
    places = [n for n, axis in enumerate(result.study.axes) if series is None or axis.name == series]
    return "/".join(cell.cell.labels[n] for n in places)


def _room(names: Iterable[str]) -> float:
    """Inches that the names of rows need on the left."""
    return max(LEFT, AROUND + PER_LETTER * max(map(len, names), default=0))


def _rows(result: StudyResult, cells: Sequence[CellResult], legend, notes) -> tuple[Figure, Axes]:
    """A figure with a row for each cell, the first at the top."""
    drawn, boxes = sheet(result, legend, notes, height=0.3 + PER_ROW * len(cells), left=_room(_label(result, cell) for cell in cells))
    axes = place(drawn, boxes[0])
    axes.set_yticks(range(len(cells)), [_label(result, cell) for cell in cells], size=7)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    if result.scale.watermark:
        watermark(drawn, boxes[0], result.scale.watermark)
    return drawn, axes


def _averages(result: StudyResult) -> list[CellResult]:
    """The cells, of those by task only the averages where there are any."""
    if result.study.tasks is None:
        return list(result.cells)
    task = result.study.axes.index(result.study.axis("task"))
    return [cell for cell in result.cells if cell.cell.labels[task] == "avg"] or list(result.cells)


def _label(result: StudyResult, cell: CellResult) -> str:
    """The cell's labels, without the task where it is the average."""
    return "/".join(label for axis, label in zip(result.study.axes, cell.cell.labels, strict=True) if (axis.name, label) != ("task", "avg"))


def _row(axes: Axes, row: int, cell: CellResult, shift) -> None:
    if not cell.estimate.n:
        if cell.unavailable == "" or not cell.cell.copied:
            axes.text(0.01, row, "n/a" if cell.unavailable else cell.status, transform=axes.get_yaxis_transform(), va="center",
                      size=6.5, color=GREY)
        return
    values = [shift(run.value) for run in cell.runs if run.value is not None]
    axes.plot(values, [row - 0.18] * len(values), linestyle="", marker="o", markersize=2.4, color=GREY, alpha=0.75)
    if cell.interval == "seeds":
        axes.hlines(row, shift(cell.estimate.low), shift(cell.estimate.high), color=OURS, linewidth=1.1)
    axes.plot([shift(cell.estimate.mean)], [row], marker="o", markersize=5, color=OURS, markeredgecolor="white")


def _differences(cell: CellResult, base: Mapping[int, float]) -> list[float]:
    return [run.value - base[run.seed] for run in cell.runs if run.value is not None and run.seed in base]


def _clip(axes: Axes, values: Sequence[float]) -> None:
    """x limits around the single values, so that an interval of few seeds does not flatten everything."""
    if values:
        low, high = min(0.0, *values), max(0.0, *values)
        room = 0.12 * max(high - low, 1.0)
        axes.set_xlim(low - room, high + room)


def _beeswarm(values: Sequence[float]) -> np.ndarray:
    """Small vertical shifts by rank, so that runs with nearly the same score are both seen."""
    order = np.argsort(np.argsort(values))
    return 0.3 * ((order % 3) - 1) / 2.0


DRAWN: Mapping[str, Callable[[StudyResult], Figure]] = {
    "bars": bars, "ranked": ranked, "strip": strip, "curve": learning_curves, "spectrum": spectra,
}
