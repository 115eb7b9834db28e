"""The sheet that every figure is drawn on: the finding as title, what is drawn below it, a tag, panels side by side, and notes."""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from core.report.cells import StudyResult
from core.report.letters import families
from core.report.notes import seeds_of
from core.report.style import DPI, GREY, PALE, blank
from core.spec.errors import are, counted

WIDTH = 7.2  # inches
LEFT, RIGHT, BETWEEN = 0.66, 0.14, 0.2
ROOM_FOR_N = 0.42  # inches at the right of a panel
PER_TITLE_LINE, PER_LINE, PER_NOTE_LINE = 0.185, 0.15, 0.135
BELOW = 0.42  # tick labels and the axis' name
ABOVE_PANEL = 0.2  # a panel's own title, where there are several
EDGE = 0.12  # inches around all text
TITLE_SIZE, LINE_SIZE, NOTE_SIZE = 9, 7, 6.5  # points
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
    titled: bool = False,
) -> Sheet:
    """An empty figure with title, line, tag and notes; to be called inside `style.drawing()`. `height` is that of one panel; several panels
    have room for titles of their own, and so has one that is `titled`."""
    widest = WIDTH - 2 * EDGE
    titles = lines(finding, widest, TITLE_SIZE, "bold") or [""]
    said, below = lines(line, widest, LINE_SIZE), [one for note in notes for one in lines(note, widest, NOTE_SIZE)]
    rows = -(-panels // columns)
    above = EDGE + 0.16 + PER_TITLE_LINE * len(titles) + PER_LINE * len(said) + 0.08
    bottom = 0.08 + PER_NOTE_LINE * len(below)
    own_title = ABOVE_PANEL if titled or panels > 1 else 0.04
    each = own_title + height + BELOW
    whole = above + rows * each + bottom
    drawn = blank(WIDTH, whole)
    edge = EDGE / WIDTH
    drawn.text(
        edge,
        1 - EDGE / whole,
        tag(result),
        size=6.5,
        va="top",
        color=GREY,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": PALE, "edgecolor": "none"},
    )
    drawn.text(edge, 1 - (EDGE + 0.18) / whole, "\n".join(titles), weight="bold", size=TITLE_SIZE, va="top", linespacing=1.2)
    drawn.text(
        edge,
        1 - (EDGE + 0.2 + PER_TITLE_LINE * len(titles)) / whole,
        "\n".join(said),
        size=LINE_SIZE,
        color=GREY,
        va="top",
        linespacing=1.2,
    )
    drawn.text(edge, (bottom - 0.02) / whole, "\n".join(below), size=NOTE_SIZE, color=GREY, va="top", linespacing=1.2)
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
    language = "made-up language" if result.scale.generated else result.sources.encoder_name
    paper = {"mocose": "MoCoSE ", "esimcse": "ESimCSE "}.get(result.study.paper, "")
    return (
        f"{paper}{result.study.title}   ·   scale {result.scale.name} ({language})   ·   profile {result.profile}   ·   {seeds_of(result)}"
    )


def room(names: Sequence[str]) -> float:
    """Inches that the names of rows need on the left, wrapped where they are long."""
    longest = max((len(line) for name in names for line in wrapped(name).split("\n")), default=0)
    return max(LEFT, AROUND + PER_LETTER * longest)


def lines(text: str, inches: float, size: float, weight: str = "normal") -> list[str]:
    """A text in lines that are no wider than so many inches in a size of points, broken at spaces, and within a word only where it is wider
    than a line; to be called inside `style.drawing()`."""

    def width(part: str) -> float:
        return sum(_advance(letter, size, weight) for letter in part)

    made: list[str] = []
    left = 0.0  # inches, in the last line
    for word in re.findall(r"\s*\S+", text):
        if not made or width(word) > left:
            made.append("")
            word, left = word.lstrip(), inches
        for part in [word] if width(word) <= left else word:
            if width(part) > left:
                made.append("")
                left = inches
            made[-1] += part
            left -= width(part)
    return made


@functools.cache
def _advance(letter: str, size: float, weight: str) -> float:
    """Inches by which a letter moves the pen; a text's are the sum, since letters are not joined or kerned (`core.report.letters`)."""
    font = FontProperties(family=families(), size=size, weight=weight)
    return RendererAgg(1, 1, DPI).get_text_width_height_descent(letter, font, ismath=False)[0] / DPI


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
