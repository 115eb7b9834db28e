"""The sheet that every figure is drawn on: title and setting above, the legend, panels side by side, and notes below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from core.report.cells import StudyResult
from core.report.notes import seeds_of, setting, title, what
from core.report.style import GREY, blank

WIDTH = 7.2  # inches
LEFT, RIGHT, BETWEEN = 0.66, 0.12, 0.55
ABOVE, PER_LEGEND_LINE, PER_NOTE_LINE = 0.74, 0.19, 0.14
BELOW = 0.5  # tick labels and the axis' name
NOTE_WIDTH, LEGEND_WIDTH, TITLE_WIDTH, SETTING_WIDTH = 125, 125, 76, 130  # characters

Box = tuple[float, float, float, float]  # left, bottom, width, height in inches


def sheet(
    result: StudyResult, legend: Sequence[Line2D], notes: Sequence[str], *, panels: int = 1, height: float = 2.55, left: float = LEFT,
) -> tuple[Figure, list[Box]]:  # fmt: skip
    """An empty figure with everything around its panels, and the panels' boxes; to be called inside `style.drawing()`."""
    columns = legend_columns(legend)
    top = ABOVE + PER_LEGEND_LINE * -(-len(legend) // columns)
    bottom = BELOW + 0.08 + PER_NOTE_LINE * len(notes)
    whole = top + height + bottom
    drawn = blank(WIDTH, whole)
    width = (WIDTH - left - RIGHT - BETWEEN * (panels - 1)) / panels
    edge = LEFT / WIDTH
    size = min(9.5, 9.5 * TITLE_WIDTH / len(title(result)))
    drawn.text(edge, 1 - 0.14 / whole, title(result), weight="bold", size=size, va="top")
    named = setting(result)
    drawn.text(edge, 1 - 0.34 / whole, named, size=min(7.0, 7.0 * SETTING_WIDTH / len(named)), color=GREY, va="top")
    if legend:
        drawn.legend(handles=list(legend), loc="upper left", bbox_to_anchor=(edge - 0.08 / WIDTH, 1 - 0.46 / whole), ncols=columns,
                     handletextpad=0.4, columnspacing=1.4, borderpad=0.2)
    drawn.text(edge, (bottom - BELOW) / whole, "\n".join(notes), size=7, color=GREY, va="top", linespacing=1.25)
    return drawn, [(left + place * (width + BETWEEN), bottom, width, height) for place in range(panels)]


def legend_columns(legend: Sequence[Line2D]) -> int:
    """How many entries of a legend stand beside each other: at most five, fewer where the longest would leave the sheet."""
    longest = max((len(str(handle.get_label())) for handle in legend), default=0)
    return max(1, min(len(legend), 5, LEGEND_WIDTH // (longest + 6)))


def place(drawn: Figure, box: Box):
    """Axes in a box of inches."""
    x, y, width, height = box
    whole = drawn.get_figheight()
    return drawn.add_axes((x / WIDTH, y / whole, width / WIDTH, height / whole))


def name_of_numbers(drawn: Figure, box: Box, name: str) -> None:
    """The name of the vertical axis, at the sheet's left edge."""
    whole = drawn.get_figheight()
    drawn.text(0.13 / WIDTH, (box[1] + box[3] / 2) / whole, name, rotation=90, va="center", ha="center")


def watermark(drawn: Figure, box: Box, text: str) -> None:
    """The scale's watermark across a panel."""
    x, y, width, height = box
    size = min(30.0, 72 * width / (0.62 * len(text)))
    drawn.text((x + width / 2) / WIDTH, (y + height / 2) / drawn.get_figheight(), text, size=size, color="black", alpha=0.09,
               rotation=18, ha="center", va="center", zorder=10)


def key(label: str, marker: str, colour: str, hollow: bool = False, size: float = 5, linestyle="") -> Line2D:
    """A legend's entry."""
    return Line2D([], [], linestyle=linestyle, linewidth=1.0, marker=marker, markersize=size, color=colour, label=label,
                  markerfacecolor="white" if hollow else colour, markeredgewidth=1.1 if hollow or marker == "x" else 0.5)


def notes_of(result: StudyResult, *more: str) -> list[str]:
    """The lines under a figure: what the numbers are, and what is not in the picture."""
    there = max((sum(run.rows is not None for run in cell.runs) for cell in result.cells), default=0)
    seeds = f"{there} of {result.seeds} seeds" if there < result.seeds else seeds_of(result)
    caption, number = result.study.figure.caption, what(result, result.study.metric)
    text = "; ".join([caption, *([] if number.lower() in caption.lower() else [number]), seeds]) + "."
    if result.missing:
        text += f" {result.missing} of {len(result.runs)} runs are missing."
    diverged = sum(run.status == "diverged" for run in result.runs)
    if diverged:
        text += f" {diverged} runs diverged and count as the worst."
    if result.published:
        text += f" {result.published} runs come from the published results."
    return textwrap.wrap(" ".join([text, *(one for one in more if one)]), NOTE_WIDTH)
