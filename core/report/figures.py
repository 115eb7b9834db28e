"""Figures from CSV files: as the paper draws a study, as paired differences, and over all runs of a scale."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report.drawing import (
    COLOURS,
    DIFFERENT,
    GREY,
    MARKERS,
    OURS,
    as_numbers,
    legend,
    number_axis,
    sheet,
)
from core.report.frames import POINTS, base_pattern
from core.report.tables import number
from core.spec.study import Study
from core.spec.table import Axis, FigureSpec

WIDEST = 30.0  # half of an interval, in points: a wider interval is cut there
MOST_INDEX = 50  # of a spectrum, as in the paper
PAIRED = ("paired_difference", "tested_low", "tested_high", "printed_difference")
LEVEL = ("mean", "ci95_low", "ci95_high", "printed")
STYLES = {  # of a row by its column `different`: colour, marker, words
    "yes": (DIFFERENT, "D", "ours, significant"),
    "no verdict": (GREY, "o", "ours, no verdict"),
    "no": (OURS, "o", "ours"),
    "": (OURS, "o", "ours"),
}
SCORE = "average score, Spearman × 100"
SCATTERS = {  # by file: x, y and their titles
    "mtd": ("mtd", "score", "Nominal MTD (maximum traceable distance)", SCORE),
    "uniformity": (
        "uniformity", "alignment", "Uniformity (lower: more uniform)", "alignment (lower: closer)",
    ),
    "rank": ("effective_rank", "score", "Effective rank of the vectors", SCORE),
}  # fmt: skip


def figures(
    study: Study, cells: pd.DataFrame, curves: pd.DataFrame, heading: str = "", judged: bool = True
) -> dict[str, Figure]:
    """A study's figures by file name: as the paper draws it, and `-differences`; inside `drawing()`.

    `cells` and `curves` are the study's CSV files. `heading` is the title where a study is not `judged`, and
    where no comparison along one axis can be stated. A figure of which most rows have no run is left out.
    """
    spec = study.figure
    if spec is None:
        return {}
    rows = _rows(study, spec, cells)
    if spec.kind != "cells":
        return {study.name: _curves(study, spec, rows, curves, heading)} if _mostly_run(rows) else {}
    title = judged and _difference(study, rows) or heading
    drawn = [_levels(study, spec, rows, title), _by_row(study, spec, rows, title)]
    return dict(zip((study.name, f"{study.name}-differences"), filter(None, drawn), strict=False))


def _rows(study: Study, spec: FigureSpec, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that can be run, with the number of labels in which each differs from its reference; of test
    sets the average alone, unless they are an axis of the figure."""
    texts = ["encoder", "reference", "different", "values", "printed_runs", "status", "unit"]
    empty = dict.fromkeys(texts, "")  # a file's empty columns are read as numbers
    axes = [axis.name for axis in study.axes]
    rows = cells.astype(dict.fromkeys([*texts, *axes], object)).fillna(empty)
    rows["key"] = rows[axes].astype(str).agg("/".join, axis=1)
    rows["by_seed"] = [dict(enumerate(as_numbers(text.split()))) for text in rows["values"].astype(str)]
    rows["is_base"] = rows["key"] == rows["reference"]
    bases = rows.drop_duplicates("key").set_index("key").reindex(rows["reference"])
    rows["steps"] = (rows[axes].to_numpy() != bases[axes].to_numpy()).sum(1)
    pairs = zip(rows["by_seed"], bases["by_seed"], strict=True)
    rows["differences"] = [
        [value - base[seed] for seed, value in own.items() if seed in base] if isinstance(base, dict) else []
        for own, base in pairs
    ]
    if study.tasks and "task" not in (spec.x, spec.series):
        rows = rows[rows["task"] == "avg"] if (rows["task"] == "avg").any() else rows
    return rows[~rows["status"].isin(("copied", "unavailable"))].reset_index(drop=True)


def _mostly_run(rows: pd.DataFrame) -> bool:
    return len(rows) > 0 and (rows["n"] > 0).mean() >= 0.5


def _styled(groups: Iterable[tuple]) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Each line of a figure by its name, with colour and marker."""
    for (name, rows), colour, marker in zip(groups, cycle(COLOURS), cycle(MARKERS), strict=False):
        yield str(name), rows, {"color": colour, "marker": marker}


def _setting(study: Study, rows: pd.DataFrame) -> str:
    """Table, scale, encoder, profile and seeds."""
    seeds = sorted({int(n) for n in rows["n"] if n})
    counts = "–".join(str(n) for n in dict.fromkeys((seeds[0], seeds[-1])))
    return f"{study.paper_name} {study.title} · {_of_scale(rows)} · {counts} seeds"


def _of_scale(rows: pd.DataFrame) -> str:
    encoders = ", ".join(sorted(set(rows["encoder"]) - {""}))
    return f"scale {rows['scale'].iloc[0]} ({encoders}) · profile {rows['profile'].iloc[0]}"


# What titles say: the sign of a sentence is the sign of the number that is drawn.


def _titled(axis: Axis, label: str) -> str:
    """A label behind its axis' title if it says little alone: "queue size 512", "initial fill half"."""
    title = axis.title if axis.title[1:2].isupper() else axis.title[:1].lower() + axis.title[1:]
    small = as_numbers([label]).notna().all() or label.isalpha() and label.islower()
    return f"{title} {label}" if small else label


def _named(study: Study, labels: Sequence[str | None]) -> str:
    """A cell in a sentence."""
    named = zip(study.axes, labels, strict=False)
    return ", ".join(_titled(axis, label) for axis, label in named if label not in (None, "avg"))


def _difference(study: Study, rows: pd.DataFrame) -> str:
    """The largest significant difference from the reference along one axis, and how many rows differ; empty
    if there is none to state."""
    rows = rows[(rows["paired_n"] > 0) & ~rows["is_base"]]
    different, tested = rows[rows["different"] == "yes"], (rows["different"] != "").sum()
    base = _named(study, base_pattern(study) or ()) or "the reference"
    if tested and not len(different):
        return f"No significant difference from {base}"
    rows = different if len(different) else rows
    rows = rows[rows["steps"] == 1]
    if not len(rows):
        return ""
    row = rows.loc[rows["paired_difference"].abs().idxmax()]
    size, unit = row["paired_difference"], "points" if row["unit"] in POINTS else row["unit"]
    amount = number(abs(size), 1 if unit == "points" else 3)
    name = _named(study, [row[axis.name] for axis in study.axes]) or "the average"
    text = f"{name} is {amount} {unit} {'above' if size > 0 else 'below'} {base}"
    tests = f"{len(different)} of {tested} tested rows differ" if tested else "too few seeds to test"
    return f"{text[0].upper()}{text[1:]}; {tests}"


# As the paper draws it: absolute scores along a numeric axis


def _levels(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """Score along the paper's axis: ours with a band over seeds, the paper's points laid over; a panel for
    each unit. None without an axis whose labels are numbers, all but two at most."""
    axes = [axis for axis in study.axes if spec.x in (None, axis.name)]
    numeric = [axis for axis in axes if as_numbers(axis.labels).count() >= max(3, len(axis.labels) - 2)]
    if not numeric:
        return None
    axis = numeric[0]
    rows = rows.assign(x=as_numbers(rows[axis.name]))
    on_axis = rows[rows["x"].notna()]
    if not _mostly_run(on_axis) or (on_axis["n"] > 0).sum() < 2:
        return None
    series = [study.axis(name) for name in (spec.series, *study.varied) if name and name != axis.name]
    labels = [[_titled(part, label) for label in rows[part.name]] for part in series]
    rows["line"] = [f"{', '.join(names)}: " for names in zip(*labels, strict=True)] if series else ""
    rows = rows[rows["n"].groupby(rows["line"]).transform("sum") > 0]
    units = rows.groupby("unit", sort=False)
    figure, panels = sheet(title, len(units), 2.7)
    for panel, (unit, mine) in zip(panels, units, strict=True):
        shift = _shift(mine)
        for name, line, style in _styled(mine.groupby("line", sort=False)):
            _line(panel, line, axis, name, style, shift)
        number_axis(panel, axis.labels, axis.title)
        panel.set_ylabel(unit)
        if shift:
            to_theirs, to_ours = partial(np.add, shift), partial(np.add, -shift)
            theirs = panel.secondary_yaxis("right", functions=(to_theirs, to_ours))
            theirs.set_ylabel("the paper's, same spacing", color=GREY, size=7)
    legend(figure, panels, _setting(study, rows))
    return figure


def _shift(rows: pd.DataFrame) -> float:
    """How far the paper's numbers lie above ours if one axis for both would flatten them; else 0."""
    both = rows[["mean", "printed"]].dropna()
    gap = float((both["printed"] - both["mean"]).median()) if len(both) else 0.0
    return gap if len(both) and abs(gap) > max(1.0, *np.ptp(both, axis=0)) else 0.0


def _line(
    panel: Axes, line: pd.DataFrame, axis: Axis, name: str, style: dict[str, Any], shift: float
) -> None:
    """Our line with its band and every seed, and the paper's points; a cell off the axis is a level line."""
    levels = (("mean", "ours", style["color"], 0.0), ("printed", "paper", GREY, shift))
    for row, (column, whose, colour, less) in product(line[line["x"].isna()].to_dict("records"), levels):
        if np.isfinite(row[column]):
            panel.axhline(row[column] - less, color=colour, ls=":", label=f"{row[axis.name]}, {whose}")
    line = line[line["x"].notna()].sort_values("x")
    label = f"{name}ours" if name else "ours: mean, 95 % interval, every seed"
    panel.plot(line["x"], line["mean"], label=label, **style)
    panel.fill_between(line["x"], line["ci95_low"], line["ci95_high"], color=style["color"], alpha=0.15, lw=0)
    for x, seeds, runs in zip(line["x"], line["by_seed"], line["printed_runs"], strict=True):
        panel.plot([x] * len(seeds), list(seeds.values()), ".", color=style["color"], ms=2.5, alpha=0.5)
        theirs = as_numbers(str(runs).split()) - shift
        panel.plot([x] * len(theirs), theirs, lw=0, mfc="none", ms=2.5, alpha=0.7, **style)
    if line["printed"].notna().any():
        panel.plot(
            line["x"], line["printed"] - shift, "--", mfc="white", lw=0.9, label=f"{name}paper", **style
        )


# Paired differences, or levels, by row


def _by_row(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without one."""
    paired = (rows["reference"] != "").any()
    middle, low, high, printed = PAIRED if paired else LEVEL
    rows = rows[(rows["n"] > 0) | rows[printed].notna()]
    drawn = rows[rows[middle].notna() & ~rows["is_base"]]
    if not len(drawn) or not _mostly_run(rows):
        return None
    of = rows[spec.series] if spec.series else pd.Series("", rows.index)
    panels = list(of[drawn.index].unique())
    rows, of = rows[of.isin(panels)], of[of.isin(panels)]
    kept = [axis.name for axis in study.axes if axis.name != spec.series]
    kept = [name for name in kept if name != "task" or set(rows[name]) != {"avg"} or len(kept) == 1]
    rows = rows.assign(row=rows[kept].agg("/".join, axis=1))
    places = list(rows["row"].unique())
    rows["y"] = rows["row"].map(places.index)
    height = 0.3 + 0.25 * len(places) + 0.3 * (len(panels) > 1)
    figure, axes = sheet(title, len(panels), height, sharex=True, sharey=True)
    for panel, name in zip(axes, panels, strict=True):
        mine = rows[of == name]
        if paired:
            panel.axvline(0, color="black", lw=0.8)
        for y in mine[mine["is_base"]]["y"]:
            panel.text(0, y, " reference", size=6, color=GREY, va="center")
        mine = mine[~mine["is_base"]]
        seeds = mine["differences"] if paired else mine["by_seed"].map(lambda values: list(values.values()))
        each = seeds.explode().astype(float)
        panel.plot(each, mine["y"][each.index] - 0.12, "|", color=GREY, ms=4, alpha=0.5, label="one seed")
        for different, group in mine.groupby("different"):
            colour, marker, label = STYLES[different]
            errors = group[[low, high]].sub(group[middle], axis=0).abs().clip(upper=WIDEST).T
            label += ", tested interval" if paired else ", 95 % interval"
            panel.errorbar(
                group[middle], group["y"] - 0.12, xerr=errors, fmt=marker, color=colour, label=label
            )
        theirs = mine[mine[printed].notna()]
        if len(theirs):
            panel.plot(theirs[printed], theirs["y"] + 0.22, "o", color=GREY, mfc="white", ms=4, label="paper")
        panel.grid(axis="x")
        panel.set_title(_titled(study.axis(spec.series), name) if spec.series else "")
    axes[0].set_yticks(range(len(places)), [textwrap.fill(name, 46) for name in places], size=7)
    axes[0].set_ylim(len(places) - 0.4, -0.6)
    unit, base = rows["unit"].iloc[0], _named(study, base_pattern(study) or ()) or "the reference"
    label = f"{'points' if unit in POINTS else unit} above {base}" if paired else unit
    axes[0].set_xlabel(label, loc="left")
    legend(figure, axes, _setting(study, rows))
    return figure


# Along training, spectra, and all runs of a scale


def _curves(study: Study, spec: FigureSpec, rows: pd.DataFrame, curves: pd.DataFrame, title: str) -> Figure:
    """Means over seeds with each seed pale; the paper's curve dashed, by share of the run or of the width."""
    spectrum, whole = spec.kind == "spectrum", float(curves["x"].max())
    most = MOST_INDEX if spectrum else whole
    names = [spec.series] if spec.series else [axis.name for axis in study.axes]
    curves = curves[curves["x"] <= most].assign(line=curves[names].astype(str).agg("/".join, axis=1))
    means = curves.groupby(["line", "x"], sort=False)["value"].mean().dropna()
    figure, (panel,) = sheet(title, 1, 3.0)
    for name, mine, style in _styled(curves.groupby("line", sort=False)):
        for _, run in mine.groupby("run_id"):
            panel.plot(run["x"], run["value"], color=style["color"], lw=0.4, alpha=0.4)
        mean = means[name]
        label = f"{name} (n = {mine['run_id'].nunique()})"
        panel.plot(mean.index, mean, markevery=max(1, len(mean) // 12), label=label, **style)
        paper = np.array([point for point in spec.curves.get(name, ()) if point[0] * whole <= most])
        if len(paper):
            x, y = paper.T
            panel.plot(x * whole, y, "--", mfc="white", lw=0.8, ms=3, label=f"{name}, paper", **style)
    panel.set_xlabel("index of the singular value" if spectrum else "optimiser step")
    panel.set_ylabel("share of the largest" if spectrum else "development score, Spearman × 100")
    if spectrum:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    panel.grid(axis="y")
    legend(figure, [panel], _setting(study, rows))
    return figure


def scatters(runs: pd.DataFrame) -> dict[str, Figure]:
    """MTD against score, alignment against uniformity, effective rank against score: a point for each run."""
    made = {}
    for file, (x, y, x_title, y_title) in SCATTERS.items():
        known = runs.dropna(subset=[x, y])[lambda frame: frame["status"] != "diverged"]
        if len(known) < 5 or known[x].nunique() < 3:
            continue
        rho = number(float(known[x].rank().corr(known[y].rank())), 2, signed=True)
        what = f"{x_title.partition(' (')[0]} and {y}"
        figure, (panel,) = sheet(f"{what}: rank correlation {rho} over {len(known)} runs", 1, 3.0)
        for method, mine, style in _styled(known.groupby("method")):
            label = f"{method} ({len(mine)} runs)"
            panel.scatter(mine[x], mine[y], s=12, alpha=0.5, lw=0, label=label, **style)
        panel.set_xlabel(x_title)
        panel.set_ylabel(y_title)
        panel.grid()
        legend(figure, [panel], _of_scale(known))
        made[file] = figure
    return made
