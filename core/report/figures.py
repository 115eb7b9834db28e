"""Figures by difference: every row against the paper's reference, ours and the paper's on one axis, with what seeds alone make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report import pictures
from core.report.cells import StudyResult
from core.report.differences import Differences, Panel, Row, differences, frame
from core.report.findings import of_differences
from core.report.quantities import SCORE, unit
from core.report.sheet import RIGHT, ROOM_FOR_N, WIDTH, notes_of, place, room, sheet, wrapped
from core.report.style import BAND, DASHED, GREY, OURS, PALE, TOLD

PER_ROW, PER_WRAP = 0.235, 0.1  # inches a row, and for each further line of its name
MOST_COLUMNS = 4
ABOVE, BELOW = -0.16, 0.2  # of a row: ours, with its runs above; the paper's
OF_SEEDS = 0.23  # of a row: the runs above ours, clear of a number that stands at the edge
FROM_NOISE = "band: 95 % of what seeds alone make of such a difference, by the noise study"
FROM_REFERENCE = "band: the reference's own 95 % interval"


def figure(result: StudyResult) -> Figure:
    """The study's figure. To be called inside `style.drawing()`, on a study with at least one number of our own."""
    kind = result.figure.kind
    found = differences(result) if kind not in ("curve", "spectrum") else None
    return of_rows(result, found) if found is not None else pictures.of_levels(result)


def finding(drawn: Figure) -> str:
    """A figure's title in one line."""
    return next(" ".join(text.get_text().split()) for text in drawn.texts if text.get_fontweight() == "bold")


def of_rows(result: StudyResult, found: Differences) -> Figure:
    """Panels of rows against their base, four beside each other at most."""
    columns = min(MOST_COLUMNS, len(found.panels))
    names = [row.label for row in found.panels[0].rows]
    more = sum(wrapped(name).count("\n") for name in names)
    height = 0.12 + PER_ROW * max(len(panel.rows) for panel in found.panels) + PER_WRAP * more
    made = sheet(
        result,
        of_differences(found),
        _line(result, found),
        notes_of(result, *_notes(result, found)),
        panels=len(found.panels),
        columns=columns,
        height=height,
        left=room(names),
        right=ROOM_FOR_N if columns == 1 else RIGHT,
        titled=any(panel.title for panel in found.panels),
    )
    bounds = frame(found.panels)
    for number, (box, panel) in enumerate(zip(made.boxes, found.panels, strict=False)):
        axes = place(made.figure, box)
        _furnish(axes, panel, names if number % columns == 0 else None, bounds)
        _draw(axes, panel, bounds, found.ordered, counts=columns == 1)
        axes.set_xlabel(
            f"{'points' if panel.unit == SCORE else panel.unit} above {found.base}" if number % columns == 0 else "", loc="left"
        )
    untrained = _untrained(result)
    if untrained is not None and bounds[0] <= untrained <= bounds[1]:
        for axes in made.figure.axes:
            axes.axvline(untrained, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    return made.figure


def _furnish(axes: Axes, panel: Panel, names: Sequence[str] | None, bounds: tuple[float, float]) -> None:
    axes.set_xlim(bounds)
    axes.set_ylim(len(panel.rows) - 0.45, -0.55)
    axes.set_yticks(range(len(panel.rows)), [wrapped(name) for name in names] if names is not None else [""] * len(panel.rows), size=7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.locator_params(axis="x", nbins=8 if axes.get_position().width * WIDTH > 3 else 4)
    for place_, row in enumerate(panel.rows):
        if row.band is not None:
            axes.barh(place_, 2 * row.band, left=-row.band, height=1.0, color=BAND, linewidth=0, zorder=0)
    axes.set_xlim(bounds)
    axes.axvline(0, color="black", linewidth=0.8, zorder=3.5)  # above the white behind a word
    if panel.title:
        axes.set_title(panel.title, loc="left", pad=3, size=7.5)


def _draw(axes: Axes, panel: Panel, bounds: tuple[float, float], ordered: bool, counts: bool) -> None:
    if ordered:
        _lines(axes, panel, bounds)
    for place_, row in enumerate(panel.rows):
        _ours(axes, place_, row, bounds)
        _paper(axes, place_, row, bounds)
        if counts and row.n and row.mean is not None:
            axes.text(1.01, place_ + ABOVE, f"n = {row.n}", transform=axes.get_yaxis_transform(), size=6, color=GREY, va="center")


def _lines(axes: Axes, panel: Panel, bounds: tuple[float, float]) -> None:
    """Rows that are numbers in order are joined, ours and the paper's; the reference is at zero, and what is not known leaves a gap."""
    ours = [row.mean if row.mean is not None else 0.0 if row.word.startswith("reference") else np.nan for row in panel.rows]
    papers = [np.nan if row.printed is None or not bounds[0] <= row.printed <= bounds[1] else row.printed for row in panel.rows]
    rows = np.arange(len(panel.rows))
    axes.plot(ours, rows + ABOVE, color=OURS, linewidth=0.8, alpha=0.6, zorder=2)
    axes.plot(papers, rows + BELOW, color=GREY, linewidth=0.7, linestyle=DASHED, alpha=0.7, zorder=2)


def _ours(axes: Axes, place_: int, row: Row, bounds: tuple[float, float]) -> None:
    y = place_ + ABOVE
    if row.mean is None:
        if row.word:
            x = 0 if bounds[0] < 0 < bounds[1] else bounds[0]
            side = "left" if x < sum(bounds) / 2 else "right"  # of the text; it stands where there is more room
            axes.text(
                x,
                y,
                f" {row.word} ",
                size=6,
                color=GREY,
                va="center",
                ha=side,
                style="italic",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0},
            )
        return
    colour = TOLD if row.told else OURS
    inside = [value for value in row.seeds if bounds[0] <= value <= bounds[1]]
    axes.plot(
        inside, [y - OF_SEEDS] * len(inside), linestyle="", marker="|", markersize=3.6, color=GREY, alpha=0.8, zorder=3, markeredgewidth=0.7
    )
    failed = [min(max(value, bounds[0]), bounds[1]) for value in row.failed]
    axes.plot(failed, [y - OF_SEEDS] * len(failed), linestyle="", marker="x", markersize=3.4, color=TOLD, zorder=3, clip_on=False)
    if not bounds[0] <= row.mean <= bounds[1]:
        _beyond(axes, y, row.mean, bounds, colour)
        return
    if row.basis:
        _interval(axes, y, row, bounds, colour)
    axes.plot(
        [row.mean],
        [y],
        marker="D" if row.told else "o",
        markersize=4.6,
        color=colour,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=5,
    )


def _interval(axes: Axes, y: float, row: Row, bounds: tuple[float, float], colour: str) -> None:
    """The interval, with an arrow at each end that leaves the frame; dashed where it assumes equal scatter."""
    low, high = max(row.low, bounds[0]), min(row.high, bounds[1])
    style: Literal["solid"] | tuple[float, Sequence[float]] = "solid" if row.basis == "own" else (0, (2, 1.2))
    axes.hlines(y, low, high, color=colour, linewidth=1.2, linestyles=style, zorder=4)
    for end, limit, marker in ((row.low, bounds[0], "<"), (row.high, bounds[1], ">")):
        if (end < limit) if marker == "<" else (end > limit):
            axes.plot([limit], [y], marker=marker, markersize=4, color=colour, clip_on=False, zorder=4, markeredgewidth=0)


def _paper(axes: Axes, place_: int, row: Row, bounds: tuple[float, float]) -> None:
    if row.printed is None or (row.word.startswith("reference") and row.printed == 0):
        return
    y = place_ + BELOW
    if bounds[0] <= row.printed <= bounds[1]:
        axes.plot([row.printed], [y], marker="o", markersize=4.2, markerfacecolor="white", color=GREY, markeredgewidth=1.0, zorder=4)
    else:
        _beyond(axes, y, row.printed, bounds, GREY)


def _beyond(axes: Axes, y: float, value: float, bounds: tuple[float, float], colour: str) -> None:
    """A number beyond the frame: an arrow at the edge, and the number beside it."""
    left = value < bounds[0]
    step = 0.015 * (bounds[1] - bounds[0])
    axes.plot(
        [bounds[0] if left else bounds[1]],
        [y],
        marker="<" if left else ">",
        markersize=4.4,
        color=colour,
        clip_on=False,
        zorder=5,
        markerfacecolor="white" if colour == GREY else colour,
    )
    axes.text(
        bounds[0] + 2 * step if left else bounds[1] - 2 * step,
        y,
        f"{value:+.1f}".replace("-", "−"),
        size=6.2,
        color=colour,
        va="center",
        ha="left" if left else "right",
    )


def _line(result: StudyResult, found: Differences) -> str:
    """What the symbols are, in one line above the panels."""
    rows = found.rows
    parts = [result.figure.caption.rstrip(".")] if result.figure.caption else []
    parts.append("● ours, | one seed")
    if any(row.told for row in rows):
        parts.append("◆ told from the reference")
    if any(row.printed is not None for row in rows):
        parts.append("○ as the paper prints it")
    if any(row.failed for row in rows):
        parts.append("× collapsed or diverged")
    if any(row.band is not None for row in rows):
        parts.append(FROM_NOISE if found.from_noise else FROM_REFERENCE)
    return "   ".join(parts)


def _notes(result: StudyResult, found: Differences) -> list[str]:
    said = []
    if any(row.basis == "own" for row in found.rows):
        said.append("Solid: the interval that a verdict is tested with.")
    if any(row.basis == "equal scatter" for row in found.rows):
        said.append("Dashed: below five seeds, assumes equal scatter of all rows; tells nothing.")
    if any(row.word == "cannot act here" for row in found.rows):
        said.append("Cannot act here: every number equals the reference's at this scale.")
    if found.left_out:
        said.append(f"Not run yet, and not drawn: {found.left_out} rows.")
    shown = {row.n for row in found.rows if row.mean is not None}
    if len(found.panels) > 1 and shown:
        said.append(
            f"n = {min(shown)} seeds a row." if len(shown) == 1 else f"n = {min(shown)} to {max(shown)} seeds a row; the table has each."
        )
    untrained = _untrained(result)
    if untrained is not None:
        said.append(
            f"Untrained, the encoder is {untrained:+.1f} points from the reference (dotted, where it is in the frame).".replace("-", "−")
        )
    return said


def _untrained(result: StudyResult) -> float | None:
    """The untrained encoder's [CLS] less the reference's mean, for a table of average scores with a reference; else None."""
    base = next((cell for cell in result.cells if cell.is_reference and cell.estimate.n), None)
    if base is None or unit(base.metric) != SCORE or base.metric.task not in ("avg", "dev") or result.figure.base is not None:
        return None
    for run in base.runs:
        if run.rows is not None and (found := run.rows.one("untrained", base.metric.task, "spearman_all")) is not None:
            return found.value - base.estimate.mean
    return None
