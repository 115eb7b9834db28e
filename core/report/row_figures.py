"""Figures by row: paired differences to the reference, or levels without one."""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.config.quantities import in_points
from core.config.scale import OWN_SCORES
from core.report.drawing import BLUE, DIFFERENT, GREY, SKY, blank_figure
from core.report.figure_words import (
    base_of,
    by_place,
    mostly_run,
    read_on,
    titled,
)
from core.report.numbers import number
from core.study.study import FigureSpec, Study

MOST_ROOM = 0.5  # of our numbers' range: beyond it a printed number stands at the edge
LEAST_HEIGHT = 0.8  # of a panel in inches
PANEL_LETTERS = 84  # of the titles of panels side by side


STYLES = {  # colour, marker and words of a row's number, by its column `different`
    "yes": (DIFFERENT, "D", "ours, significant"),
    "no verdict": (GREY, "o", "ours, no verdict"),
    "no": (BLUE, "o", "ours, not significant"),
    "": (SKY, "s", "ours, not tested"),
}


def by_row(
    study: Study,
    spec: FigureSpec,
    rows: pd.DataFrame,
    title: str,
    names: Mapping[str, str],
) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without
    one. None for a single number of ours, unless a user brings it."""
    paired = bool((rows["reference"] != "").any())
    rows = _shown_rows(spec, rows, paired)
    dots = (rows["ours"].notna() & ~rows["is_base"]).sum()
    if dots < 2 and not (dots and rows["scale"].iloc[0] == OWN_SCORES.name):
        return None
    axes = [axis.name for axis in study.axes if axis.name != spec.series]
    if len(axes) > 1 and "task" in axes and set(rows["task"]) == {"avg"}:
        axes.remove("task")  # it has the average alone
    places, labels = pd.factorize(rows[axes].agg("/".join, axis=1))
    panels = rows.assign(y=places).groupby("panel", sort=False)
    height = max(LEAST_HEIGHT, 0.3 + 0.25 * len(labels))
    if len(panels) > 1:
        height += 0.3
    figure, drawn = blank_figure(title, len(panels), height, sharex=True, sharey=True)
    letters = PANEL_LETTERS // min(len(panels), 4)
    for panel, (name, of_panel) in zip(drawn, panels, strict=True):
        if spec.series:
            words = titled(study.axis(spec.series), str(name))
            panel.set_title(textwrap.fill(words, letters))
        _row_panel(panel, of_panel, paired)
    for panel, (_, of_panel) in zip(drawn, panels, strict=True):  # by now its limits are known
        _mark_rows(panel, of_panel, paired)

    first = drawn[0]
    first.set_yticks(range(len(labels)), [textwrap.fill(name, 46) for name in labels], size=7)
    first.set_ylim(len(labels) - 0.4, -0.6)
    if len(labels) > 2:
        first.set_ylabel(" / ".join(study.axis(name).title for name in axes))
    x_title = rows["unit"].iloc[0]
    if paired:
        unit = "points" if in_points(x_title) else x_title
        x_title = f"{unit} above {base_of(study, names)}".strip()
    x_title += read_on(rows)
    drawn[-1].set_xlabel(textwrap.fill(x_title, letters), loc="left")
    return figure


def _shown_rows(spec: FigureSpec, rows: pd.DataFrame, paired: bool) -> pd.DataFrame:
    """The rows of panels that have a number of ours, with what is drawn of each: levels, or
    `paired` differences to the reference. None where most have no run.

    A printed number far from ours stands at the edge (`paper_at`), with its value beside it."""
    kind = "paired_" if paired else ""
    seeds = by_place(rows["values"])
    if paired:
        seeds -= seeds.reindex(rows["reference"]).to_numpy()
    rows = rows.assign(
        panel=rows[spec.series] if spec.series else "",
        seeds=list(seeds.to_numpy()),
        ours=rows["paired_difference" if paired else "mean"],
        paper=rows["printed_difference" if paired else "printed"],
        low=rows[f"{kind}ci95_low"],
        high=rows[f"{kind}ci95_high"],
        count=rows[f"{kind}n"],
        is_tested=paired & rows["different"].isin(("yes", "no")),
    )
    rows = rows[(rows["n"] > 0) | rows["paper"].notna()]
    if not mostly_run(rows):
        return rows[:0]
    ours = rows[rows["ours"].notna() & ~rows["is_base"]]
    rows = rows[rows["panel"].isin(ours["panel"])]
    bounds = rows[["tested_low", "tested_high"]].where(rows["is_tested"])
    rows = rows.assign(**bounds)
    ends = rows[["low", "high", "ours", *bounds]]
    least, most = ends.min(axis=None), ends.max(axis=None)
    room = MOST_ROOM * (most - least)
    return rows.assign(paper_at=rows["paper"].clip(least - room, most + room))


def _row_panel(panel: Axes, rows: pd.DataFrame, paired: bool) -> None:
    """Rows of a panel: every seed, ours with its interval and, thin, the one that its colour is
    by, and the paper's number below."""
    panel.grid(axis="x")
    if paired:
        panel.axvline(0, color="black", lw=0.8)
    rows = rows[~rows["is_base"]]
    y = rows["y"] - 0.12
    seeds = np.stack(rows["seeds"])
    panel.plot(seeds, y, "|", color=GREY, ms=4, alpha=0.5, label="one seed")
    for different, group in rows[rows["ours"].notna()].groupby("different"):
        colour, marker, words = STYLES[different]
        errors = group[["low", "high"]].sub(group["ours"], axis=0).abs().T
        label = words if paired else "ours"
        if errors.notna().any(axis=None):
            label += ", 95 % interval"
        panel.errorbar(
            group["ours"],
            y[group.index],
            xerr=errors,
            elinewidth=2.6,
            fmt=marker,
            color=colour,
            label=label,
        )
    tested = rows[rows["is_tested"]]
    if len(tested):
        panel.hlines(
            y[tested.index],
            tested["tested_low"],
            tested["tested_high"],
            color="black",
            lw=0.8,
            label="tested interval",
        )
    paper = rows[rows["paper"].notna()]
    if len(paper):
        panel.plot(
            paper["paper_at"], paper["y"] + 0.22, "o", color=GREY, mfc="white", ms=4, label="paper"
        )


def _mark_rows(panel: Axes, rows: pd.DataFrame, paired: bool) -> None:
    """Write which row is the reference, which has no interval or no number, and what the paper
    prints beyond the edge."""
    middle = sum(panel.get_xlim()) / 2
    texts = []
    for row in rows.to_dict("records"):
        place = row["y"] - 0.12
        if row["is_base"]:
            texts.append((0.0, place, "reference"))
        elif not row["count"] > 0:
            words = "not run" if row["status"] == "missing" else "no number"
            texts.append((0.0 if paired else row["paper_at"], place, words))
        elif np.isnan(row["low"]):
            texts.append((row["ours"], place, "no interval"))
        if abs(row["paper"] - row["paper_at"]) > 0:
            text = number(row["paper"], signed=paired)
            texts.append((row["paper_at"], row["y"] + 0.22, text))
    for x, y, words in texts:
        side, away = ("left", 5) if x < middle else ("right", -5)
        panel.annotate(
            words,
            (x, y),
            (away, 0),
            textcoords="offset points",
            size=6,
            color=GREY,
            va="center",
            ha=side,
            bbox={"fc": "white", "ec": "none", "pad": 0.5},
        )
