"""Figures by row: paired differences to the reference, or levels without one."""

from __future__ import annotations

import textwrap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.config.quantities import in_points
from core.report.drawing import BLUE, DIFFERENT, GREY, SKY, legend, sheet
from core.report.figure_labels import paper_words
from core.report.figure_words import (
    base_of,
    mostly_run,
    numbers_of,
    runs_shown,
    seeds_by,
    titled,
)
from core.report.numbers import number
from core.study.study import FigureSpec, Study

LEAST_HEIGHT = 0.8  # of a panel in inches
PANEL_LETTERS = 84  # of the titles of panels side by side
NO_NUMBER = {"no number": "no number", "partial": "no number"}  # of a row; others: not run
WIDEST = 3.0  # of an axis: how much longer than its points a bar may make it


class Style(NamedTuple):
    """How a row's number is drawn: colour, marker, and whether it is tested and significant."""

    colour: str
    marker: str
    words: str


STYLES = {  # by a row's column `different`
    "yes": Style(DIFFERENT, "D", "ours, significant"),
    "no verdict": Style(GREY, "o", "ours, no verdict"),
    "no": Style(BLUE, "o", "ours, not significant"),
    "": Style(SKY, "s", "ours, not tested"),
}
INTERVALS = {"tested": "tested interval", "paired_ci95": "95 % interval", "ci95": "95 % interval"}


def by_row(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without
    one."""
    numbers = _differences(rows)
    rows = rows[(rows["n"] > 0) | rows[numbers.printed].notna()].assign(panel="")
    drawn = rows[rows[numbers.middle].notna() & ~rows["is_base"]]
    if not len(drawn) or not mostly_run(rows):
        return None
    if spec.series:
        rows["panel"] = rows[spec.series]
        rows = rows[rows["panel"].isin(drawn[spec.series])]
    axes = _row_axes(study, spec, rows)
    rows["y"], places = pd.factorize(rows[axes].agg("/".join, axis=1))
    of_rows, of_panels = _seed_words(rows[~rows["is_base"]], numbers.seeds_column)

    interval = _interval(rows, numbers)
    limits = _limits(rows, numbers, interval)
    panels = rows.groupby("panel", sort=False)
    papers = paper_words(study, rows)
    height = max(LEAST_HEIGHT, 0.3 + 0.25 * len(places))
    if len(panels) > 1:
        height += 0.3
    figure, sheet_axes = sheet(title, len(panels), height, sharex=True, sharey=True)
    for panel, (name, of_panel) in zip(sheet_axes, panels, strict=True):
        words = ""
        if spec.series:
            words = titled(study.axis(spec.series), str(name)) + of_panels.get(name, "")
        panel.set_title(textwrap.fill(words, PANEL_LETTERS // min(len(panels), 4)))
        _row_panel(panel, of_panel, numbers, interval, papers)
    for panel, (_, of_panel) in zip(sheet_axes, panels, strict=True):
        _mark_ends(panel, of_panel, numbers, interval, limits)

    # axes and their titles
    first = sheet_axes[0]
    names = [name + of_rows.get(y, "") for y, name in enumerate(places)]
    first.set_yticks(range(len(places)), [textwrap.fill(name, 46) for name in names], size=7)
    first.set_ylim(len(places) - 0.4, -0.6)
    if len(places) > 2:
        first.set_ylabel(" / ".join(study.axis(name).title for name in axes))
    x_title = rows["unit"].iloc[0]
    if numbers.paired:
        points = "points" if in_points(x_title) else x_title
        x_title = f"{points} above {base_of(study)}"
    _set_x_title(sheet_axes, x_title)
    legend(figure, sheet_axes, runs_shown(study, rows))
    return figure


def _set_x_title(panels: list[Axes], words: str) -> None:
    """The title of the horizontal axis, below the first panel of the last row."""
    lowest = min(reversed(panels), key=lambda panel: panel.get_position().x0)
    if len(panels) == 1:
        lowest.set_xlabel(words, loc="left")
        return
    # a wide title would push the next panel away, so a blank keeps its height
    lowest.set_xlabel(" ", loc="left")
    look: dict[str, Any] = {"xycoords": lowest.xaxis.label, "ha": "left", "va": "bottom"}
    title = lowest.annotate(words, (0, 0), **look, annotation_clip=False)
    title.set_in_layout(False)


def _seed_words(rows: pd.DataFrame, column: str) -> tuple[dict[Any, str], dict[Any, str]]:
    """What rows and panels say of their seeds, where these differ: the panels alone if the rows
    of each have as many."""
    words = []
    for place in ("y", "panel"):
        counts = seeds_by(rows, place, column).items()
        # no line break parts them
        words.append({name: f" (n\u00a0=\u00a0{count})" for name, count in counts})
    of_rows, of_panels = words
    if any("–" in count for count in of_panels.values()):
        return of_rows, {}
    return {} if of_panels else of_rows, of_panels


class Differences(NamedTuple):
    """What a figure by row shows: whether differences, every seed's number by row, and the columns
    of our number, of the paper's and of how many seeds ours has."""

    paired: bool
    seeds: pd.DataFrame
    middle: str
    printed: str
    seeds_column: str


def _differences(rows: pd.DataFrame) -> Differences:
    seeds = numbers_of(rows["values"])
    if not (rows["reference"] != "").any():
        return Differences(False, seeds, "mean", "printed", "n")
    seeds -= seeds.reindex(rows["reference"]).to_numpy()
    return Differences(True, seeds, "paired_difference", "printed_difference", "paired_n")


def _row_axes(study: Study, spec: FigureSpec, rows: pd.DataFrame) -> list[str]:
    """The axes whose labels name a row; a task axis that has the average alone does not."""
    axes = [axis.name for axis in study.axes if axis.name != spec.series]
    if len(axes) > 1 and "task" in axes and set(rows["task"]) == {"avg"}:
        axes.remove("task")
    return axes


def _interval(rows: pd.DataFrame, numbers: Differences) -> str:
    """The columns of the interval that all rows of a figure have: the tested one if each row with
    an interval is tested. Two kinds beside each other would make significant rows look less
    certain."""
    if not numbers.paired:
        return "ci95"
    rows = rows[~rows["is_base"] & rows["paired_ci95_low"].notna()]
    tested = rows["tested_low"].notna() & (rows["different"] != "no verdict")
    return "tested" if len(rows) and tested.all() else "paired_ci95"


def _limits(rows: pd.DataFrame, numbers: Differences, interval: str) -> tuple[float, float] | None:
    """The ends of the axis if a bar is too long to be drawn whole beside the points, else None."""
    rows = rows[~rows["is_base"]]
    points = rows[[numbers.middle, numbers.printed]].to_numpy().ravel()
    seeds = numbers.seeds.loc[rows.index].to_numpy().ravel()
    points = np.concatenate([points, seeds, [0.0] if numbers.paired else []])
    low = np.nanmin(points)
    high = np.nanmax(points)
    ends = rows[[f"{interval}_low", f"{interval}_high"]].to_numpy().ravel()
    ends = ends[np.isfinite(ends)]
    if not len(ends):
        return None
    most = WIDEST * (high - low)
    if ends.min() >= low - most and ends.max() <= high + most:
        return None
    near = ends[(ends >= low - most) & (ends <= high + most)]
    pad = 0.1 * (high - low)
    return min([low, *near]) - pad, max([high, *near]) + pad


def _mark_ends(
    panel: Axes,
    rows: pd.DataFrame,
    numbers: Differences,
    interval: str,
    limits: tuple[float, float] | None,
) -> None:
    """Write which row is the reference, and which has no interval or no number. Limit the axis, and
    write the number of each bar's end that lies beyond it at an arrow."""
    if limits is not None:
        panel.set_xlim(limits)
    low, high = panel.get_xlim()
    for row in rows.to_dict("records"):
        words = ""
        at = 0.0
        if row["is_base"]:
            words = "reference"
        elif not row[numbers.seeds_column] > 0:
            words = NO_NUMBER.get(row["status"], "not run")
            at = 0.0 if numbers.paired else row[numbers.printed]
        elif np.isnan(row[f"{interval}_low"]):
            words = "no interval"
            at = row[numbers.middle]
        side = "left" if at < (low + high) / 2 else "right"  # where there is room
        if words:
            look: dict[str, Any] = {"size": 6, "color": GREY, "va": "center", "ha": side}
            ground = {"fc": "white", "ec": "none", "pad": 0.5}
            away = 5 if side == "left" else -5
            panel.annotate(
                words,
                (at, row["y"] - 0.12),
                (away, 0),
                textcoords="offset points",
                bbox=ground,
                **look,
            )
    if limits is None:
        return
    for row in rows[~rows["is_base"] & rows[numbers.middle].notna()].to_dict("records"):
        left = row[f"{interval}_low"]
        right = row[f"{interval}_high"]
        look = {"size": 6, "color": GREY, "va": "bottom"}
        if left < low:
            panel.text(low, row["y"] - 0.15, f"← {number(left, 1, signed=True)}", ha="left", **look)
        if right > high:
            words = f"{number(right, 1, signed=True)} →"
            panel.text(high, row["y"] - 0.15, words, ha="right", **look)


def _row_panel(
    panel: Axes, rows: pd.DataFrame, numbers: Differences, interval: str, papers: str
) -> None:
    """Rows of a panel: every seed, ours with its interval, and the paper's number below."""
    panel.grid(axis="x")
    if numbers.paired:
        panel.axvline(0, color="black", lw=0.8)
    rows = rows[~rows["is_base"]]
    ours = rows["y"] - 0.12
    seeds = numbers.seeds.loc[rows.index]
    panel.plot(seeds, ours, "|", color=GREY, ms=4, alpha=0.5, label="one seed")

    for different, group in rows[rows[numbers.middle].notna()].groupby("different"):
        style = STYLES[different]
        ends = group[[f"{interval}_low", f"{interval}_high"]]
        errors = ends.sub(group[numbers.middle], axis=0).abs().T
        label = style.words if numbers.paired else "ours"
        if errors.notna().any(axis=None):
            label += f", {INTERVALS[interval]}"
        panel.errorbar(
            group[numbers.middle],
            ours[group.index],
            xerr=errors,
            fmt=style.marker,
            color=style.colour,
            label=label,
        )

    paper = rows[rows[numbers.printed].notna()]
    if len(paper):
        look: dict[str, Any] = {"color": GREY, "mfc": "white", "ms": 4, "label": papers}
        panel.plot(paper[numbers.printed], paper["y"] + 0.22, "o", **look)
