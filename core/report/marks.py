"""The marks of one row of a figure by difference: ours with its runs above, the paper's below, or why there is nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes

from core.report.differences import Panel, Row
from core.report.sheet import WIDTH
from core.report.style import GREY, OURS, TOLD

ABOVE, BELOW = -0.16, 0.2  # of a row: ours, with its runs above; the paper's
OF_SEEDS = 0.23  # of a row: the runs above ours, clear of a number that stands at the edge
WORD_SIZE, PER_LETTER = 6, 0.046  # points, and inches that a letter of a word takes
HALF_WORD = 0.34  # of a row: half the height of a word, with room around it
Bounds = tuple[float, float]


def draw_row(axes: Axes, panel: Panel, place: int, bounds: Bounds, joined: bool, untrained: float | None) -> None:
    """One row of a panel. `joined`: lines join the rows; a word keeps clear of these, of the paper's number and of the untrained line."""
    row = panel.rows[place]
    if row.mean is not None:
        _ours(axes, place + ABOVE, row, bounds)
    elif row.word:
        taken = [*([] if untrained is None else [(untrained, untrained)]), *_taken(panel, place, joined)]
        _word(axes, place + ABOVE, row.word, bounds, taken)
    _paper(axes, place, row, bounds)


def of_ours(row: Row) -> float | None:
    """Where a row stands on the line through ours; the reference is at zero."""
    return row.mean if row.mean is not None else 0.0 if row.word.startswith("reference") else None


def _taken(panel: Panel, place: int, joined: bool) -> list[tuple[float, float]]:
    """What lies at the height of a row's word: the paper's number, and the lines that pass there."""
    row = panel.rows[place]
    found = [] if row.printed is None else [(row.printed, row.printed)]
    for other in (place - 1, place + 1) if joined else ():
        if not 0 <= other < len(panel.rows):
            continue
        for of, shift in ((of_ours, ABOVE), (_printed, BELOW)):
            here, there = of(row), of(panel.rows[other])
            if here is not None and there is not None:
                low, high = (ABOVE + side * HALF_WORD - shift for side in (-1, 1))  # of a row, from where the line begins
                shares = [min(max(end * (other - place), 0.0), 1.0) for end in (low, high)]
                ends = [here + share * (there - here) for share in shares]
                found += [(min(ends), max(ends))] if shares[0] != shares[1] else []
    return found


def _printed(row: Row) -> float | None:
    return row.printed


def _word(axes: Axes, y: float, word: str, bounds: Bounds, taken: Sequence[tuple[float, float]]) -> None:
    """A word in the place of a point: beside zero where that is free, else where it covers least."""
    wide = (bounds[1] - bounds[0]) / (axes.get_position().width * WIDTH)  # of the axis, an inch
    start, covered = _free(len(word), bounds, taken, wide)
    if covered and ", " in word:
        word = word.replace(", ", ",\n")
        start, _ = _free(max(map(len, word.split("\n"))), bounds, taken, wide)
    axes.text(start, y, word, size=WORD_SIZE, color=GREY, va="center", ha="left", style="italic", linespacing=0.9)


def _free(letters: int, bounds: Bounds, taken: Sequence[tuple[float, float]], wide: float) -> tuple[float, int]:
    """Where so many letters begin, and how much they cover there; an inch is `wide`."""
    length, gap = letters * PER_LETTER * wide, 0.05 * wide
    zero = min(max(0.0, bounds[0]), bounds[1])
    starts = [zero + gap, zero - gap - length, bounds[0] + gap, bounds[1] - gap - length]
    starts += [side for low, high in taken for side in (high + 2 * gap, low - 2 * gap - length)]
    inside = [start for start in starts if bounds[0] <= start and start + length <= bounds[1]] or [bounds[0] + gap]

    def covered(start: float) -> int:
        return sum(low - gap < start + length and start < high + gap for low, high in taken)

    start = min(inside, key=covered)  # the first of those that cover least
    return start, covered(start)


def _ours(axes: Axes, y: float, row: Row, bounds: Bounds) -> None:
    assert row.mean is not None
    colour = TOLD if row.told else OURS
    _seeds(axes, y - OF_SEEDS, row, bounds)
    if not bounds[0] <= row.mean <= bounds[1]:
        text = f"{_signed(row.mean)} [{_signed(row.low)}, {_signed(row.high)}]" if row.basis else _signed(row.mean)
        _beyond(axes, y, row.mean, text, bounds, colour)
        return
    if row.basis:
        _interval(axes, y, row, bounds, colour)
    marker = "D" if row.told else "o"
    axes.plot([row.mean], [y], marker=marker, markersize=4.6, color=colour, markeredgecolor="white", markeredgewidth=0.5, zorder=5)


def _seeds(axes: Axes, y: float, row: Row, bounds: Bounds) -> None:
    """Single runs; how many lie beyond an edge is written there, and failed ones stand at it."""
    inside = [value for value in row.seeds if bounds[0] <= value <= bounds[1]]
    axes.plot(inside, [y] * len(inside), linestyle="", marker="|", markersize=3.6, color=GREY, alpha=0.8, zorder=3, markeredgewidth=0.7)
    failed = [min(max(value, bounds[0]), bounds[1]) for value in row.failed]
    axes.plot(failed, [y] * len(failed), linestyle="", marker="x", markersize=3.4, color=TOLD, zorder=3, clip_on=False)
    left, right = sum(value < bounds[0] for value in row.seeds), sum(value > bounds[1] for value in row.seeds)
    for count, x, text, side in ((left, bounds[0], f"← {left}", "left"), (right, bounds[1], f"{right} →", "right")):
        if count:
            axes.text(x, y, text, size=5.5, color=GREY, va="center", ha=side)


def _interval(axes: Axes, y: float, row: Row, bounds: Bounds, colour: str) -> None:
    """The interval, with an arrow at each end that leaves the frame; dashed where it assumes equal scatter."""
    low, high = max(row.low, bounds[0]), min(row.high, bounds[1])
    style: Literal["solid"] | tuple[float, Sequence[float]] = "solid" if row.basis == "own" else (0, (2, 1.2))
    axes.hlines(y, low, high, color=colour, linewidth=1.2, linestyles=style, zorder=4)
    for end, limit, marker in ((row.low, bounds[0], "<"), (row.high, bounds[1], ">")):
        if (end < limit) if marker == "<" else (end > limit):
            axes.plot([limit], [y], marker=marker, markersize=4, color=colour, clip_on=False, zorder=4, markeredgewidth=0)


def _paper(axes: Axes, place: int, row: Row, bounds: Bounds) -> None:
    if row.printed is None or (row.word.startswith("reference") and row.printed == 0):
        return
    y = place + BELOW
    if bounds[0] <= row.printed <= bounds[1]:
        axes.plot([row.printed], [y], marker="o", markersize=4.2, markerfacecolor="white", color=GREY, markeredgewidth=1.0, zorder=4)
    else:
        _beyond(axes, y, row.printed, _signed(row.printed), bounds, GREY)


def _beyond(axes: Axes, y: float, value: float, text: str, bounds: Bounds, colour: str) -> None:
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
    x = bounds[0] + 2 * step if left else bounds[1] - 2 * step
    axes.text(x, y, text, size=6.2, color=colour, va="center", ha="left" if left else "right")


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
