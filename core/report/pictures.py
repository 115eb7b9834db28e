"""Figures that are no difference to a reference: levels by row, one configuration's seeds, learning curves, spectra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from core.report.cells import CellResult, RunResult, StudyResult
from core.report.findings import of_curves, of_noise, of_spectra
from core.report.findings import of_levels as said_of_levels
from core.report.naming import label_here
from core.report.quantities import curve, spectrum, unit
from core.report.sheet import ROOM_FOR_N, Sheet, notes_of, place, room, sheet, wrapped
from core.report.style import DASHED, GREY, LOOKS, OURS, PALE
from core.report.withholding import in_full, instead_of_finding

Curve = Sequence[tuple[float, float]]  # points of one of the paper's

PER_ROW = 0.235  # inches
STEPS_DOWN = 50  # of a run's own spectrum that are drawn: the paper draws about as many of 768
NAMED_INDEX = 10  # of a run's own spectrum: what the title speaks of
DODGED = 0.05  # of the panel's height: labels of lines that end closer are moved apart
LEAST_ROWS = 2  # of a figure by row: fewer compare nothing
APART = 1.0  # times the height of our curves: where the paper's lie farther off they have a panel of their own
PAPERS_SHARE, BREAK = 0.36, 0.05  # of the height: the panel of the paper's curves, and what is between the two
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def drawable(result: StudyResult) -> bool:
    """Whether a study without a base has a figure: bars have two rows at least."""
    return result.figure.kind in ("curve", "spectrum", "strip") or sum(cell.estimate.n > 0 for cell in result.cells) >= LEAST_ROWS


def of_levels(result: StudyResult) -> Figure:
    """The figure of a study without a base to take differences from."""
    kind = result.figure.kind
    draw = learning_curves if kind == "curve" else spectra if kind == "spectrum" else strip if kind == "strip" else bars
    return draw(result)


def bars(result: StudyResult) -> Figure:
    """One row a cell, in table order: mean, interval and single runs, with the paper's number hollow."""
    cells = [cell for cell in result.cells if cell.estimate.n]
    names = ["/".join(label_here(label, result) for label in cell.cell.labels) for cell in cells]
    finding = instead_of_finding(result) or said_of_levels(
        [cell.estimate.mean for cell in cells], [cell.cell.published for cell in cells], unit(result.study.metric)
    )
    line = f"{result.figure.caption}   ● ours, | one seed, line: 95 % interval of the mean   ○ as the paper prints it"
    made = sheet(result, finding, line, notes_of(result), height=0.12 + PER_ROW * len(cells), left=room(names), right=ROOM_FOR_N)
    axes = place(made.figure, made.boxes[0])
    _rows(axes, names)
    for row, cell in enumerate(cells):
        values = [run.value for run in cell.runs if run.value is not None]
        axes.plot(values, [row - 0.33] * len(values), linestyle="", marker="|", markersize=3.6, color=GREY, alpha=0.8, markeredgewidth=0.7)
        if cell.interval == "seeds":
            axes.hlines(row - 0.14, cell.estimate.low, cell.estimate.high, color=OURS, linewidth=1.2)
        axes.plot([cell.estimate.mean], [row - 0.14], marker="o", markersize=4.6, color=OURS, markeredgecolor="white", markeredgewidth=0.5)
        if cell.cell.published is not None:
            axes.plot(
                [cell.cell.published], [row + 0.2], marker="o", markersize=4.2, markerfacecolor="white", color=GREY, markeredgewidth=1.0
            )
        axes.text(1.01, row - 0.14, f"n = {cell.estimate.n}", transform=axes.get_yaxis_transform(), size=6, color=GREY, va="center")
    axes.set_xlabel(unit(result.study.metric), loc="left")
    return made.figure


def strip(result: StudyResult) -> Figure:
    """Every run around the mean of its cell, and the paper's values of one configuration around theirs, on one axis."""
    groups = []
    for cell in result.cells:
        values = [run.value for run in cell.runs if run.value is not None]
        groups += [("/".join(cell.cell.labels) + ", ours", values, True)] if values else []
        groups += [("as the paper prints it", list(cell.cell.published_runs), False)] if len(cell.cell.published_runs) > 1 else []
    ours = next((values for _, values, own in groups if own and len(values) > 1), [0.0, 0.0])
    finding = of_noise(ours, next((values for _, values, own in groups if not own), []))
    made = sheet(
        result,
        finding,
        f"{result.figure.caption}   bar: one standard deviation (SD) to each side of the mean",
        notes_of(result),
        height=0.1 + 0.62 * len(groups),
        left=room([name for name, _, _ in groups]),
    )
    axes = place(made.figure, made.boxes[0])
    _rows(axes, [name for name, _, _ in groups])
    axes.axvline(0, color="black", linewidth=0.8)
    for row, (_, values, own) in enumerate(groups):
        centred, sd = np.array(values) - np.mean(values), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        axes.plot(
            centred,
            row - 0.22 + _beeswarm(centred),
            linestyle="",
            marker="o",
            markersize=4,
            color=OURS if own else GREY,
            markerfacecolor=OURS if own else "white",
            alpha=0.85,
        )
        axes.hlines(row + 0.12, -sd, sd, color="black", linewidth=1.1)
        axes.text(
            0,
            row + 0.32,
            f"mean {np.mean(values):.2f}, SD {sd:.2f}, range {np.ptp(values):.1f}, n = {len(values)}",
            size=6.5,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )
    axes.margins(x=0.06)
    axes.set_xlabel("points around the mean", loc="left")
    return made.figure


def learning_curves(result: StudyResult) -> Figure:
    """The development score along training, a line for each cell with a run of its own: mean over seeds, and each seed pale."""

    def ends(lines: Sequence[tuple[str, Mapping[float, float]]], papers: Sequence[Curve]) -> str:
        return of_curves([(name, list(mean.values())[-1]) for name, mean in lines if mean], [one[-1][1] for one in papers if one])

    steps = [curve(run.rows, result.aggregate).index.max() for run in result.runs if run.rows is not None]
    whole = float(np.nanmax(steps)) if steps else 1.0
    return _along(
        result, lambda run, _: curve(run.rows, result.aggregate), ends, "optimiser step", "development score, Spearman × 100", whole
    )


def spectra(result: StudyResult) -> Figure:
    """Singular values of the development sentences' vectors by index, over the largest: mean over seeds, and each seed pale."""

    def shares(run: RunResult, checkpoint: str) -> dict[int, float]:
        if run.rows is None:
            return {}
        values = spectrum(run.rows, checkpoint)[:STEPS_DOWN]
        return dict(enumerate(values / values[0], start=1)) if len(values) and values[0] > 0 else {}

    def left(lines: Sequence[tuple[str, Mapping[float, float]]], papers: Sequence[Curve]) -> str:
        return of_spectra([(name, mean[NAMED_INDEX]) for name, mean in lines if NAMED_INDEX in mean], NAMED_INDEX)

    width = max((len(spectrum(run.rows)) for run in result.runs if run.rows is not None), default=0)
    return _along(result, shares, left, "index of the singular value", "share of the largest", float(width), log=True)


def _along(result: StudyResult, points: Callable, finding: Callable, x_name: str, y_name: str, whole: float, log: bool = False) -> Figure:
    """Lines of means over seeds, named where they end; each seed's own line is pale. The paper's are dashed, at their shares of `whole`."""
    lines, labels = [], []
    for cell in _distinct(result):
        found = [one for run in cell.runs if run.rows is not None for one in (dict(points(run, cell.metric.checkpoint)),) if one]
        common = sorted(set.intersection(*(set(one) for one in found))) if found else []
        labels.append(_series(result, cell))
        lines.append((_name(result, cell), {x: float(np.mean([one[x] for one in found])) for x in common}, found))
    papers = [result.figure.curves.get(label, ()) for label in labels]
    line = f"{result.figure.caption}   thick: mean over seeds   thin: one seed"
    line += f"   dashed, hollow: the paper's, of its own encoder, by share of the {'width' if log else 'run'}" if any(papers) else ""
    line += "   gap: a seed's vectors are all alike there, so it has no score" if _gaps(found for _, _, found in lines) else ""
    names = [f"{name} (n = {len(found)})" for name, _, found in lines]
    made = sheet(
        result,
        instead_of_finding(result) or finding([(name, mean) for name, mean, _ in lines], papers),
        line,
        notes_of(result, in_full(result)),
        left=0.62,
        right=0.2 + max((0.058 * len(name) for name in names), default=0),
        height=2.7,
    )
    values = [value for _, _, found in lines for one in found for value in one.values() if np.isfinite(value)]
    axes, below = _panels(made, values, [y for paper in papers for _, y in paper], log)
    for number, (_, mean, found) in enumerate(lines):
        look, dashes = LOOKS[number % len(LOOKS)], DASHES[number // len(LOOKS) % len(DASHES)]
        for one in found:
            axes.plot(list(one), list(one.values()), color=look.colour, linewidth=0.4, alpha=0.3)
        axes.plot(
            list(mean),
            list(mean.values()),
            color=look.colour,
            linewidth=1.5,
            linestyle=dashes,
            marker=look.marker,
            markersize=3.4,
            markevery=max(1, len(mean) // 10),
        )
        below.plot(
            [share * whole for share, _ in papers[number]],
            [y for _, y in papers[number]],
            color=look.colour,
            linewidth=0.8,
            linestyle=DASHED,
            marker=look.marker,
            markersize=3.0,
            markerfacecolor="white",
            markevery=max(1, len(papers[number]) // 16),
        )
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    for panel in (axes, below):
        panel.grid(axis="y", color=PALE, linewidth=0.6)
    below.set_xlabel(x_name, loc="left")
    axes.set_ylabel(y_name)
    if below is not axes:
        axes.set_ylabel(y_name.replace(", ", ",\n"), size=7)
        below.set_ylabel("the paper's", size=7)
        _same_width(axes, below)
    _name_ends(axes, [(names[n], end, LOOKS[n % len(LOOKS)].colour) for n, (_, mean, _) in enumerate(lines) if (end := _end(mean))])
    return made.figure


def _end(mean: Mapping[float, float]) -> tuple[float, float] | None:
    """The last point of a line that has a value."""
    return next(((x, y) for x, y in reversed(list(mean.items())) if np.isfinite(y)), None)


def _gaps(lines: Iterable[Sequence[Mapping[float, float]]]) -> bool:
    return any(not np.isfinite(y) for found in lines for one in found for y in one.values())


def _panels(made: Sheet, ours: Sequence[float], papers: Sequence[float], log: bool) -> tuple[Axes, Axes]:
    """Axes for our lines and for the paper's: the same, or two above each other where the paper's lie so far below that ours would be one
    line."""
    left, bottom, width, height = made.boxes[0]
    if log or not ours or not papers or min(ours) - max(papers) <= APART * float(np.ptp(ours)):
        axes = place(made.figure, made.boxes[0])
        return axes, axes
    theirs, between = PAPERS_SHARE * height, BREAK * height
    upper = place(made.figure, (left, bottom + theirs + between, width, height - theirs - between))
    return upper, place(made.figure, (left, bottom, width, theirs))


def _same_width(upper: Axes, lower: Axes) -> None:
    """One x for both panels, named below the lower one, and a break between them."""
    ends = [end for axes in (upper, lower) for end in axes.get_xlim()]
    for axes in (upper, lower):
        axes.set_xlim(min(ends), max(ends))
    upper.spines["bottom"].set_visible(False)
    upper.tick_params(axis="x", bottom=False, labelbottom=False)
    for axes, height in ((upper, 0.0), (lower, 1.0)):
        axes.plot([0], [height], transform=axes.transAxes, marker=[(-1, -0.6), (1, 0.6)], markersize=7, color="black", linestyle="",
                  markeredgewidth=0.8, clip_on=False)  # fmt: skip


def _name_ends(axes: Axes, lines: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    """Each line's name at its end, moved apart where ends are near each other."""
    axes.autoscale_view()  # limits are set lazily, and the ends are placed by them
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = sorted((float(to_axes.transform(end)[1]), name, colour) for name, end, colour in lines)
    heights = [end for end, *_ in ends]
    for n in range(1, len(heights)):
        heights[n] = max(heights[n], heights[n - 1] + DODGED)
    for n in reversed(range(len(heights))):
        heights[n] = min(heights[n], 1.0 if n == len(heights) - 1 else heights[n + 1] - DODGED)
    for height, (end, name, colour) in zip(heights, ends, strict=False):
        axes.annotate(
            name,
            xy=(1.0, end),
            xytext=(1.02, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            size=6.5,
            va="center",
            color="#333333",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)},
        )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_yticks(range(len(names)), [wrapped(name) for name in names], size=7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=PALE, linewidth=0.6)


def _distinct(result: StudyResult) -> list[CellResult]:
    """The cells with runs, one for each set of runs and checkpoint."""
    found: dict[tuple[str, ...], CellResult] = {}
    for cell in result.cells:
        if any(run.rows is not None for run in cell.runs):
            found.setdefault((cell.metric.checkpoint, *(run.run_id for run in cell.runs)), cell)
    return list(found.values())


def _name(result: StudyResult, cell: CellResult) -> str:
    series = result.figure.series
    places = [n for n, axis in enumerate(result.study.axes) if series is None or axis.name == series]
    return "/".join(label_here(cell.cell.labels[n], result) for n in places)


def _series(result: StudyResult, cell: CellResult) -> str:
    """The cell's label along the figure's series, as the study has it."""
    return next((label for axis, label in zip(result.study.axes, cell.cell.labels, strict=False) if axis.name == result.figure.series), "")


def _beeswarm(values: Sequence[float]) -> np.ndarray:
    """Small vertical shifts by rank, so that runs with nearly the same score are both seen."""
    order = np.argsort(np.argsort(values))
    return 0.22 * ((order % 3) - 1) / 2.0
