"""Figures from data frames: as the paper draws a study, as paired differences, over all runs of a
scale."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report.drawing import (
    DIFFERENT,
    GREY,
    OURS,
    as_numbers,
    legend,
    number_axis,
    sheet,
    styled,
)
from core.report.frames import POINTS, base_pattern
from core.report.tables import number
from core.spec.methods import method
from core.spec.study import Axis, FigureSpec, Study

WIDEST = 30.0  # half of an interval, in points: a wider interval is cut there
MOST_INDEX = 50  # of a spectrum, as in the paper
# of a row by its column `different`: colour, marker, words, and the columns of its interval
STYLES = {
    "yes": (DIFFERENT, "D", "ours, significant, tested interval", "tested"),
    "no verdict": (GREY, "o", "ours, no verdict, 95 % interval", "paired_ci95"),
    "no": (OURS, "o", "ours, tested interval", "tested"),
    "": (OURS, "o", "ours, 95 % interval", "paired_ci95"),
}
SCORE = "average score, Spearman × 100"
SCATTERS = {  # by file: x, y and their titles
    "mtd": ("mtd", "score", "Nominal MTD (maximum traceable distance)", SCORE),
    "uniformity": (
        "uniformity",
        "alignment",
        "Uniformity (lower: more uniform)",
        "alignment (lower: closer)",
    ),
    "rank": ("effective_rank", "score", "Effective rank of the vectors", SCORE),
}


def figures(
    study: Study, cells: pd.DataFrame, curves: pd.DataFrame, heading: str = "", judged: bool = True
) -> dict[str, Figure]:
    """A study's figures by file name: as the paper draws it, and `-differences`; inside
    `drawing()`.

    `cells` and `curves` are the frames of its CSV files. `heading` is the title where a study is
    not `judged` or no difference can be stated. A figure of which most rows have no run is left
    out."""
    spec = study.figure
    if spec is None:
        return {}
    rows = _rows(study, spec, cells)
    if spec.kind != "cells":
        return (
            {study.name: _curves(study, spec, rows, curves, heading)} if _mostly_run(rows) else {}
        )
    rows = rows if judged else rows.assign(different="no verdict")
    title = judged and _difference(study, rows) or heading
    drawn = [_levels(study, spec, rows, title), _by_row(study, spec, rows, title)]
    return dict(zip((study.name, f"{study.name}-differences"), filter(None, drawn), strict=False))


def _rows(study: Study, spec: FigureSpec, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that can be run, by their labels; of test sets the average alone, unless the figure
    has them. `steps` counts the labels in which a cell differs from its reference."""
    axes = [axis.name for axis in study.axes]
    rows = cells.set_index(cells[axes].agg("/".join, axis=1))
    rows["is_base"] = rows.index == rows["reference"]
    rows["steps"] = (rows[axes].to_numpy() != rows[axes].reindex(rows["reference"]).to_numpy()).sum(
        1
    )
    if study.tasks and "task" not in (spec.x, spec.series) and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
    return rows[~rows["status"].isin(("copied", "unavailable"))]


def _mostly_run(rows: pd.DataFrame) -> bool:
    return len(rows) > 0 and (rows["n"] > 0).mean() >= 0.5


def _numbers(texts: pd.Series) -> pd.DataFrame:
    """Numbers between blanks, a column for each place."""
    return texts.str.split(expand=True).apply(as_numbers)


def _setting(study: Study, rows: pd.DataFrame) -> str:
    """Table, scale, encoder, profile and seeds."""
    seeds = rows["n"][rows["n"] > 0]
    counts = "–".join(str(n) for n in dict.fromkeys((seeds.min(), seeds.max())))
    return f"{study.paper_name} {study.title} · {_of_scale(rows)} · {counts} seeds"


def _of_scale(rows: pd.DataFrame) -> str:
    encoders = ", ".join(sorted(set(rows["encoder"]) - {""}))
    return f"scale {rows['scale'].iloc[0]} ({encoders}) · profile {rows['profile'].iloc[0]}"


# What titles say: the sign of a sentence is the sign of the number that is drawn.


def _titled(axis: Axis, label: str) -> str:
    """A label behind its axis' title if it says little alone: "queue size 512", "initial fill
    half", "pairs that differ by more than 3"."""
    title = axis.title if axis.title[1:2].isupper() else axis.title[:1].lower() + axis.title[1:]
    word = label.islower() and (label.isalpha() or label[-1].isdigit())
    small = word or as_numbers([label]).notna().all()
    return f"{title} {label}" if small else label


def _named(study: Study, labels: Sequence[str | None]) -> str:
    """A cell in a sentence: a plain word of a single axis is the row 'paper'."""
    only = labels[0] if len(study.axes) == 1 and labels else None
    if only and only.isalpha() and only.islower():
        return f"the row '{only}'"
    named = zip(study.axes, labels, strict=False)
    return ", ".join(_titled(axis, label) for axis, label in named if label not in (None, "avg"))


def _base(study: Study) -> str:
    return _named(study, base_pattern(study) or ()) or "the reference"


def _difference(study: Study, rows: pd.DataFrame) -> str:
    """The largest significant difference along one axis, and how many rows differ; empty without
    one. Where the test sets have an average, it speaks of averages alone."""
    rows = rows[(rows["paired_n"] > 0) & ~rows["is_base"]]
    what = "rows"
    base = _base(study)
    if "task" in rows and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
        what = "averages"
        base = f"{base} on average"
    different = rows[rows["different"] == "yes"]
    tested = (rows["different"] != "").sum()
    if tested and not len(different):
        return f"No significant difference from {base}"
    rows = different if len(different) else rows
    rows = rows[rows["steps"] == 1]
    if not len(rows):
        return ""
    row = rows.loc[rows["paired_difference"].abs().idxmax()]
    size = row["paired_difference"]
    unit = "points" if row["unit"] in POINTS else row["unit"]
    amount = number(abs(size), 1 if unit == "points" else 3)
    name = _named(study, [row[axis.name] for axis in study.axes]) or "the average"
    text = f"{name} is {amount} {unit} {'above' if size > 0 else 'below'} {base}"
    tests = (
        f"{len(different)} of {tested} tested {what} differ" if tested else "too few seeds to test"
    )
    return f"{text[0].upper()}{text[1:]}; {tests}"


# As the paper draws it: absolute scores along a numeric axis


def _levels(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """Score along the paper's axis: ours with a band over seeds, the paper's points laid over; a
    panel for each unit. None without an axis whose labels are numbers, all but two at most."""
    axes = [axis for axis in study.axes if spec.x in (None, axis.name)]
    numeric = [
        axis for axis in axes if as_numbers(axis.labels).count() >= max(3, len(axis.labels) - 2)
    ]
    if not numeric:
        return None
    axis = numeric[0]
    rows = rows.assign(x=as_numbers(rows[axis.name]))
    on_axis = rows[rows["x"].notna()]
    if not _mostly_run(on_axis) or (on_axis["n"] > 0).sum() < 2:
        return None
    series = [
        study.axis(name) for name in (spec.series, *study.varied) if name and name != axis.name
    ]
    rows["line"] = [
        ", ".join(_titled(part, row[part.name]) for part in series)
        for row in rows.to_dict("records")
    ]
    rows = rows[rows["n"].groupby(rows["line"]).transform("sum") > 0]
    units = rows.groupby("unit", sort=False)
    figure, panels = sheet(title, len(units), 2.7)
    for panel, (unit, mine) in zip(panels, units, strict=True):
        for name, line, style in styled(mine.groupby("line", sort=False)):
            _line(panel, line, axis, f"{name}: " if name else "", style)
        number_axis(panel, axis.labels, axis.title)
        panel.set_ylabel(unit)
    legend(figure, panels, _setting(study, rows))
    return figure


def _line(panel: Axes, line: pd.DataFrame, axis: Axis, name: str, style: dict[str, Any]) -> None:
    """Our line with its band and every seed, and the paper's points; a cell off the axis is a level
    line."""
    off = line[line["x"].isna()].set_index(axis.name)
    line = line[line["x"].notna()].sort_values("x")
    for column, whose, colour in (("mean", "ours", style["color"]), ("printed", "paper", GREY)):
        for label, level in off[column].dropna().items():
            panel.axhline(level, color=colour, ls=":", label=f"{label}, {whose}")
    band = ", 95 % interval" if line["ci95_low"].notna().any() else ""
    ours = f"{name}ours" if name else f"ours: mean{band}, every seed"
    panel.plot(line["x"], line["mean"], label=ours, **style)
    panel.fill_between(
        line["x"], line["ci95_low"], line["ci95_high"], color=style["color"], alpha=0.15, lw=0
    )
    panel.plot(line["x"], _numbers(line["values"]), ".", color=style["color"], ms=2.5, alpha=0.5)
    panel.plot(
        line["x"], _numbers(line["printed_runs"]), lw=0, mfc="none", ms=2.5, alpha=0.7, **style
    )
    if line["printed"].notna().any():
        panel.plot(
            line["x"], line["printed"], "--", mfc="white", lw=0.9, label=f"{name}paper", **style
        )


# Paired differences, or levels, by row


def _by_row(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without
    one."""
    paired = (rows["reference"] != "").any()
    seeds = _numbers(rows["values"])
    middle, printed = ("paired_difference", "printed_difference") if paired else ("mean", "printed")
    if paired:
        seeds -= seeds.reindex(rows["reference"]).to_numpy()
    rows = rows[(rows["n"] > 0) | rows[printed].notna()].assign(panel="")
    drawn = rows[rows[middle].notna() & ~rows["is_base"]]
    if not len(drawn) or not _mostly_run(rows):
        return None
    if spec.series:
        rows["panel"] = rows[spec.series]
        rows = rows[rows["panel"].isin(drawn[spec.series])]
    kept = [axis.name for axis in study.axes if axis.name != spec.series]
    kept = [name for name in kept if name != "task" or set(rows[name]) != {"avg"} or len(kept) == 1]
    rows["y"], places = pd.factorize(rows[kept].agg("/".join, axis=1))
    panels = rows.groupby("panel", sort=False)
    height = 0.3 + 0.25 * len(places) + 0.3 * (len(panels) > 1)
    figure, axes = sheet(title, len(panels), height, sharex=True, sharey=True)
    for panel, (name, mine) in zip(axes, panels, strict=True):
        panel.set_title(_titled(study.axis(spec.series), str(name)) if spec.series else "")
        panel.grid(axis="x")
        if paired:
            panel.axvline(0, color="black", lw=0.8)
        for y in mine[mine["is_base"]]["y"]:
            panel.text(0, y, " reference", size=6, color=GREY, va="center")
        mine = mine[~mine["is_base"]]
        each = seeds.loc[mine.index]
        panel.plot(each, mine["y"] - 0.12, "|", color=GREY, ms=4, alpha=0.5, label="one seed")
        for different, group in mine[mine[middle].notna()].groupby("different"):
            colour, marker, label, interval = STYLES[different]
            ends = [f"{interval if paired else 'ci95'}_{end}" for end in ("low", "high")]
            errors = group[ends].sub(group[middle], axis=0).abs().clip(upper=WIDEST).T
            label = label if errors.notna().any(axis=None) else label.rpartition(",")[0]
            panel.errorbar(
                group[middle], group["y"] - 0.12, xerr=errors, fmt=marker, color=colour, label=label
            )
        theirs = mine[mine[printed].notna()]
        if len(theirs):
            panel.plot(
                theirs[printed],
                theirs["y"] + 0.22,
                "o",
                color=GREY,
                mfc="white",
                ms=4,
                label="paper",
            )
    axes[0].set_yticks(range(len(places)), [textwrap.fill(name, 46) for name in places], size=7)
    axes[0].set_ylim(len(places) - 0.4, -0.6)
    if len(places) > 2:
        axes[0].set_ylabel(" / ".join(study.axis(name).title for name in kept))
    unit = rows["unit"].iloc[0]
    points = "points" if unit in POINTS else unit
    lowest = min(reversed(axes), key=lambda panel: panel.get_position().x0)
    lowest.set_xlabel(f"{points} above {_base(study)}" if paired else unit, loc="left")
    legend(figure, axes, _setting(study, rows))
    return figure


# Along training, spectra, and all runs of a scale


def _curves(
    study: Study, spec: FigureSpec, rows: pd.DataFrame, curves: pd.DataFrame, title: str
) -> Figure:
    """Means with bands of the seeds; the paper's curve dashed, by share of the run or of the
    width."""
    spectrum = spec.kind == "spectrum"
    whole = float(curves["x"].max())
    most = MOST_INDEX if spectrum else whole
    names = [spec.series] if spec.series else [axis.name for axis in study.axes]
    curves = curves[curves["x"] <= most]
    figure, (panel,) = sheet(title, 1, 3.0)
    for name, mine, style in styled(
        curves.groupby(curves[names].agg("/".join, axis=1), sort=False)
    ):
        by_x = mine.dropna().groupby("x")["value"]
        for share in (0.0, 0.25):
            low = by_x.quantile(share)
            high = by_x.quantile(1 - share)
            panel.fill_between(low.index, low, high, color=style["color"], alpha=0.15, lw=0)
        label = f"{name} (n = {mine['run_id'].nunique()})"
        panel.plot(by_x.mean(), markevery=max(1, len(by_x) // 12), label=label, **style)
        paper = pd.Series({share * whole: y for share, y in spec.curves.get(name, ())}, dtype=float)
        if len(paper):
            label = f"{name}, paper"
            panel.plot(
                paper[paper.index <= most], "--", mfc="white", lw=0.8, ms=3, label=label, **style
            )
    panel.set_xlabel("index of the singular value" if spectrum else "optimiser step")
    panel.set_ylabel("share of the largest" if spectrum else "development score, Spearman × 100")
    if spectrum:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    panel.grid(axis="y")
    legend(figure, [panel], f"{_setting(study, rows)} · bands: range and middle half of the seeds")
    return figure


def scatters(runs: pd.DataFrame) -> dict[str, Figure]:
    """MTD against score, alignment against uniformity, effective rank against score: a point for
    each run."""
    made = {}
    for file, (x, y, x_title, y_title) in SCATTERS.items():
        known = runs.dropna(subset=[x, y])[lambda frame: frame["status"] != "diverged"]
        if len(known) < 5 or known[x].nunique() < 3:
            continue
        rho = number(float(known[x].rank().corr(known[y].rank())), 2, signed=True)
        what = f"{x_title.partition(' (')[0]} and {y}"
        made[file], (panel,) = sheet(
            f"{what}: rank correlation {rho} over {len(known)} runs", 1, 3.0
        )
        for name, mine, style in styled(known.groupby("method")):
            label = f"{method(name).title} ({len(mine)} runs)"
            panel.scatter(mine[x], mine[y], s=12, alpha=0.5, lw=0, label=label, **style)
        panel.set_xlabel(x_title)
        panel.set_ylabel(y_title)
        panel.grid()
        legend(made[file], [panel], _of_scale(known))
    return made
