"""Figures of studies: single runs as dots, means with intervals, the paper's numbers hollow, holes where nothing was run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from core.report import pictures
from core.report import points as at
from core.report.cells import StudyResult
from core.report.points import Point
from core.report.quantities import unit
from core.report.sheet import WIDTH, key, name_of_numbers, notes_of, sheet, watermark
from core.report.style import GREY, LOOKS, PALE, Look, without_ligatures

DASHED = (0, (4, 2))
PER_LETTER = 0.075  # inches of a label at 8 points
PAPER_LOOK = Look(GREY, "o")


def figure(result: StudyResult) -> Figure:
    """The study's figure. To be called inside `style.drawing()`, on a study with at least one number of our own."""
    draw = panels if result.study.figure.kind in ("line", "grouped") else pictures.DRAWN[result.study.figure.kind]
    return without_ligatures(draw(result))


def panels(result: StudyResult) -> Figure:
    """Cells by the labels of an axis, ours beside the paper's.

    Where our numbers and the paper's are near each other they share a panel; otherwise each has one, side by side.
    """
    axis = result.study.axis(result.study.figure.x)
    if result.study.figure.kind == "line":
        where, to_scale = at.positions(axis)
    else:
        where, to_scale = {label: float(place) for place, label in enumerate(axis.labels)}, True
    own, papers = at.ours(result, where), at.paper(result, where)
    if not papers:
        groups_of, names = [[(own, False)]], [""]
    elif at.comparable(own, papers):
        groups_of, names = [[(own, False), (papers, True)]], ["this project and the paper"]
    else:
        groups_of, names = [[(own, False)], [(papers, True)]], [f"this project ({result.scale.name})", "paper"]
    legend = _legend(result, own, papers)
    cut = any(at.cut_intervals(points, _parts(groups)) for groups in groups_of for points, _ in groups)
    notes = notes_of(result, "An interval that leaves its panel is cut." if cut else "")
    drawn, boxes = sheet(result, legend, notes, panels=len(groups_of))
    for box, groups, name in zip(boxes, groups_of, names, strict=True):
        axes = _panel(drawn, box, groups, result, where)
        axes[0].set_title(name, loc="left", pad=4)
        axes[-1].set_xlabel(axis.title + ("" if to_scale else " (not to scale)"))
        if not groups[0][1] and result.scale.watermark:
            watermark(drawn, box, result.scale.watermark)
    name_of_numbers(drawn, boxes[0], ", ".join(dict.fromkeys(unit(cell.metric) for cell in result.cells)))
    return drawn


def _parts(groups) -> list[tuple[float, float]]:
    """The y limits of a panel: one pair, or two (upper first) where most of its height would be a hole."""
    everything = [point for points, _ in groups for point in points]
    hole = at.axis_break(at.values(everything))
    if hole is None:
        return [at.limits(everything)]
    return [at.limits(everything, (hole[1], float("inf"))), at.limits(everything, (float("-inf"), hole[0]))]


def _panel(drawn: Figure, box, groups, result: StudyResult, where) -> list[Axes]:
    """One panel in a box of inches; two stacked axes where the axis is broken, the upper first."""
    x, y, width, height = box
    bounds = _parts(groups)
    lower = 0.32 * height
    places = [(y, height)] if len(bounds) == 1 else [(y + lower + 0.1, height - lower - 0.1), (y, lower)]
    axes = []
    for number, ((bottom, tall), ends) in enumerate(zip(places, bounds, strict=True)):
        one = drawn.add_axes((x / WIDTH, bottom / drawn.get_figheight(), width / WIDTH, tall / drawn.get_figheight()))
        lowest = number == len(places) - 1
        _furnish(one, result, where, lowest)
        for place, (points, hollow) in enumerate(groups):
            _draw(one, points, hollow, _slots(result, where, len(groups), place), result, lowest)
        one.set_ylim(ends)
        axes.append(one)
    if len(axes) == 2:
        _break_marks(axes)
    return axes


def _furnish(one: Axes, result: StudyResult, where, lowest: bool) -> None:
    one.grid(axis="y", color=PALE, linewidth=0.6)
    one.locator_params(axis="y", nbins=6 if lowest else 5)
    step = at.spacing(where)
    ends = sorted(where.values())
    one.set_xlim(ends[0] - 0.6 * step, ends[-1] + 0.6 * step)
    place = one.get_position().width * WIDTH / len(where)  # inches for a label
    size = min(8.0, 8.0 * place / (PER_LETTER * max(map(len, where))))
    one.set_xticks(list(where.values()), list(where) if lowest else [""] * len(where), size=max(5.0, size))
    if result.study.figure.kind == "grouped":
        one.tick_params(axis="x", length=0)
        for left, right in itertools.pairwise(ends):
            one.axvline((left + right) / 2, color=PALE, linewidth=0.8)
    elif not lowest:
        one.tick_params(axis="x", length=0)


def _slots(result: StudyResult, where, groups: int, place: int) -> tuple[list[float], float]:
    """By series: the shift of its centre from the label's place; and the width of one slot. All in x units."""
    series = result.study.axis(result.study.figure.series).labels if result.study.figure.series else ("",)
    spread = 0.84 if result.study.figure.kind == "grouped" else 0.3 if groups == 1 else 0.44
    slot = spread * at.spacing(where) / (len(series) * groups)
    middle = (len(series) * groups - 1) / 2
    return [(number * groups + place - middle) * slot for number in range(len(series))], slot


def _draw(one: Axes, points: Sequence[Point], hollow: bool, slots, result: StudyResult, lowest: bool) -> None:
    shifts, slot = slots
    on_line = result.study.figure.kind == "line"  # then the mean stays on the line, and only its runs step aside
    aside = -0.4 * slot
    for series, shift in enumerate(shifts):
        look = PAPER_LOOK if hollow and not result.study.figure.series else LOOKS[series % len(LOOKS)]
        mine = [point for point in points if point.series == series]
        if on_line:
            xs = [point.x + shift for point in mine]
            means = [float("nan") if point.mean is None else point.mean for point in mine]
            one.plot(xs, means, color=look.colour, linewidth=1.0, linestyle=DASHED if hollow else "-", zorder=2)
        for point in mine:
            _draw_point(one, point, point.x + shift, (aside, 0.0) if on_line else (0.68 * aside, -0.35 * aside), look, hollow, lowest)


def _draw_point(one: Axes, point: Point, x: float, shifts: tuple[float, float], look, hollow: bool, lowest: bool) -> None:
    """One cell: its runs and its mean, each shifted from x by its part of `shifts`; or the word that explains its gap."""
    if point.mean is None:
        if lowest:
            one.text(x, 0.03, point.gap, transform=one.get_xaxis_transform(), ha="center", va="bottom", size=6.5, color=GREY, rotation=90)
        return
    aside = x + shifts[0]
    alone = len(point.runs) + len(point.collapsed) <= 1
    if not alone:
        face = "white" if hollow else look.colour
        one.plot([aside] * len(point.runs), point.runs, linestyle="", marker="o", markersize=2.4, markerfacecolor=face,
                 markeredgecolor=look.colour, markeredgewidth=0.5, alpha=0.75, zorder=3)
    one.plot([aside] * len(point.collapsed), point.collapsed, linestyle="", marker="x", markersize=4, color=look.colour, zorder=3)
    middle = x if alone and not point.collapsed else x + shifts[1]
    if point.low is not None:
        one.vlines(middle, point.low, point.high, color=look.colour, linewidth=1.1,
                   linestyles=(0, (1, 1)) if point.over_pairs else "solid", zorder=3)
    one.plot([middle], [point.mean], linestyle="", marker=look.marker, markersize=5, markerfacecolor="white" if hollow else look.colour,
             markeredgecolor=look.colour if hollow else "white", markeredgewidth=1.1 if hollow else 0.5, zorder=4)


def _break_marks(axes: Sequence[Axes]) -> None:
    """Two slanted strokes where the axis is cut."""
    upper, lower = axes
    upper.spines["bottom"].set_visible(False)
    style = {"marker": [(-1, -0.6), (1, 0.6)], "markersize": 7, "linestyle": "none", "color": "black", "mew": 0.8, "clip_on": False}
    upper.plot([0], [0], transform=upper.transAxes, **style)
    lower.plot([0], [1], transform=lower.transAxes, **style)


def _legend(result: StudyResult, own: Sequence[Point], papers: Sequence[Point]) -> list[Line2D]:
    figure_spec = result.study.figure
    if figure_spec.series:
        axis = result.study.axis(figure_spec.series)
        handles = [key(f"{axis.title.lower()}: {label}", LOOKS[n % len(LOOKS)].marker, LOOKS[n % len(LOOKS)].colour)
                   for n, label in enumerate(axis.labels) if any(point.series == n for point in (*own, *papers))]
    else:
        handles = [key("mean of this project", LOOKS[0].marker, LOOKS[0].colour, linestyle="-" if figure_spec.kind == "line" else "")]
    if papers:
        handles.append(key("paper (hollow)" if figure_spec.series else "paper", "o", GREY, hollow=True,
                            linestyle=DASHED if figure_spec.kind == "line" else ""))
    if any(len(p.runs) + len(p.collapsed) > 1 for p in (*own, *papers)):
        handles.append(key("single run", "o", GREY, size=2.4))
    if any(p.collapsed for p in own):
        handles.append(key("collapsed or diverged run", "x", GREY, size=4))
    if any(p.low is not None and not p.over_pairs for p in own):
        handles.append(Line2D([], [], color=GREY, linewidth=1.1, label="95 % interval over seeds"))
    if any(p.over_pairs for p in own):
        handles.append(Line2D([], [], color=GREY, linewidth=1.1, linestyle=(0, (1, 1)), label="one run: 95 % over pairs"))
    return handles
