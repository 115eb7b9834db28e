"""The sheet that every figure is drawn on: the finding as title, what is drawn below it, a tag, panels side by side, and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report.cells import StudyResult
from core.report.notes import seeds_of
from core.report.style import GREY, PALE, blank
from core.spec.printable import are, counted

WIDTH = 7.2  # inches
LEFT, RIGHT, BETWEEN = 0.66, 0.14, 0.2
PER_TITLE_LINE, PER_LINE, PER_NOTE_LINE = 0.185, 0.15, 0.135
BELOW = 0.42  # tick labels and the axis' name
ABOVE_PANEL = 0.2  # a panel's own title, where there are several
TITLE_WIDTH, LINE_WIDTH, NOTE_WIDTH = 96, 136, 150  # characters
PER_LETTER, AROUND = 0.063, 0.14  # inches of a row's name, and beside it
WIDEST_NAMES = 2.7  # inches: longer names are wrapped


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A figure with everything around its panels, and the panels' boxes (left, bottom, width, height in inches), row by row."""

    figure: Figure
    boxes: list[tuple[float, float, float, float]]


def sheet(
    result: StudyResult,
    finding: str,
    line: str,
    notes: Sequence[str],
    *,
    panels: int = 1,
    columns: int = 1,
    height: float = 2.4,
    left: float = LEFT,
    right: float = RIGHT,
) -> Sheet:
    """An empty figure with title, line, tag and notes; to be called inside `style.drawing()`. `height` is that of one panel."""
    titles = textwrap.wrap(finding, TITLE_WIDTH) or [""]
    lines, below = textwrap.wrap(line, LINE_WIDTH), [one for note in notes if note for one in textwrap.wrap(note, NOTE_WIDTH)]
    rows = -(-panels // columns)
    above = 0.12 + 0.16 + PER_TITLE_LINE * len(titles) + PER_LINE * len(lines) + 0.08
    bottom = 0.08 + PER_NOTE_LINE * len(below)
    own_title = ABOVE_PANEL if panels > 1 else 0.04
    each = own_title + height + BELOW
    whole = above + rows * each + bottom
    drawn = blank(WIDTH, whole)
    edge = 0.12 / WIDTH
    drawn.text(
        edge,
        1 - 0.12 / whole,
        tag(result),
        size=6.5,
        va="top",
        color=GREY,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": PALE, "edgecolor": "none"},
    )
    drawn.text(edge, 1 - (0.12 + 0.18) / whole, "\n".join(titles), weight="bold", size=9, va="top", linespacing=1.2)
    drawn.text(
        edge, 1 - (0.12 + 0.2 + PER_TITLE_LINE * len(titles)) / whole, "\n".join(lines), size=7, color=GREY, va="top", linespacing=1.2
    )
    drawn.text(edge, (bottom - 0.02) / whole, "\n".join(below), size=6.5, color=GREY, va="top", linespacing=1.2)
    width = (WIDTH - left - right - BETWEEN * (columns - 1)) / columns
    boxes = [
        (left + (n % columns) * (width + BETWEEN), whole - above - (n // columns) * each - own_title - height, width, height)
        for n in range(panels)
    ]
    return Sheet(figure=drawn, boxes=boxes)


def place(drawn: Figure, box) -> Axes:
    """Axes in a box of inches."""
    x, y, width, height = box
    whole = drawn.get_figheight()
    return drawn.add_axes((x / WIDTH, y / whole, width / WIDTH, height / whole))


def tag(result: StudyResult) -> str:
    """Which table this is, and of which scale, profile and seeds: instead of a watermark across the data."""
    language = "made-up language" if result.scale.name == "demo" else result.sources.encoder_name
    paper = {"mocose": "MoCoSE ", "esimcse": "ESimCSE "}.get(result.study.paper, "")
    return (
        f"{paper}{result.study.title}   ·   scale {result.scale.name} ({language})   ·   profile {result.profile}   ·   {seeds_of(result)}"
    )


def room(names: Sequence[str]) -> float:
    """Inches that the names of rows need on the left, wrapped where they are long."""
    longest = max((len(line) for name in names for line in wrapped(name).split("\n")), default=0)
    return max(LEFT, AROUND + PER_LETTER * longest)


def wrapped(name: str) -> str:
    """A row's name in lines that fit."""
    return "\n".join(textwrap.wrap(name, int((WIDEST_NAMES - AROUND) / PER_LETTER))) or name


def notes_of(result: StudyResult, *more: str) -> list[str]:
    """The lines under a figure: what is missing, what failed, where runs come from."""
    text = []
    if result.missing:
        text.append(f"Missing: {result.missing} of {counted(len(result.runs), 'run')}.")
    diverged = sum(run.status == "diverged" for run in result.runs)
    if diverged:
        text.append(f"{counted(diverged, 'run')} diverged, counted as the worst.")
    if result.published:
        text.append(f"{are(result.published, 'run')} from the published results.")
    return [" ".join([*(one for one in more if one), *text])]
