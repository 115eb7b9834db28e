"""Figures from data frames: as the paper draws a study, as paired differences, over all runs of a
scale."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.config.methods import method
from core.config.quantities import in_points
from core.report.comparability import AFTER_TRAINING
from core.report.drawing import (
    BLUE,
    DIFFERENT,
    GREY,
    as_numbers,
    legend,
    number_axis,
    sheet,
    styled,
)
from core.report.frames import base_pattern
from core.report.numbers import number
from core.study.study import Axis, FigureSpec, Study

WIDEST = 30.0  # half of an interval, in points: a wider interval is cut there
MOST_INDEX = 50  # of a spectrum, as in the paper


class Style(NamedTuple):
    """How a row's number is drawn: colour, marker, whether it is tested and significant in words,
    and the words and columns of its interval."""

    colour: str
    marker: str
    words: str
    interval: str
    columns: str


STYLES = {  # by a row's column `different`
    "yes": Style(DIFFERENT, "D", "ours, significant", "tested interval", "tested"),
    "no verdict": Style(GREY, "o", "ours, no verdict", "95 % interval", "paired_ci95"),
    "no": Style(BLUE, "o", "ours", "tested interval", "tested"),
    "": Style(BLUE, "o", "ours", "95 % interval", "paired_ci95"),
}
SCORE = "average score, Spearman × 100"


class Scatter(NamedTuple):
    """A figure over all runs: two columns of runs.csv, the horizontal one in words, and both
    axes' titles."""

    x: str
    y: str
    x_name: str
    x_title: str
    y_title: str


SCATTERS = {  # by file
    "mtd": Scatter(
        "mtd", "score", "Nominal MTD", "Nominal MTD (maximum traceable distance)", SCORE
    ),
    "uniformity": Scatter(
        "uniformity",
        "alignment",
        "Uniformity",
        "Uniformity (lower: more uniform)",
        "alignment (lower: closer)",
    ),
    "rank": Scatter(
        "effective_rank",
        "score",
        "Effective rank of the vectors",
        "Effective rank of the vectors",
        SCORE,
    ),
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
        if not _mostly_run(rows):
            return {}
        return {study.name: _curves(study, spec, rows, curves, heading)}
    title = heading
    if judged:
        title = _difference(study, rows) or heading
    else:
        rows = rows.assign(different="no verdict")
    drawn = [_levels(study, spec, rows, title), _by_row(study, spec, rows, title)]
    names = (study.name, f"{study.name}-differences")
    return dict(zip(names, filter(None, drawn), strict=False))


def _rows(study: Study, spec: FigureSpec, cells: pd.DataFrame) -> pd.DataFrame:
    """The cells that can be run, by their labels; of test sets the average alone, unless the figure
    has them. `steps` counts the labels in which a cell differs from its reference."""
    axes = [axis.name for axis in study.axes]
    rows = cells.set_index(cells[axes].agg("/".join, axis=1))
    rows["is_base"] = rows.index == rows["reference"]
    references = rows[axes].reindex(rows["reference"])
    rows["steps"] = (rows[axes].to_numpy() != references.to_numpy()).sum(1)
    if study.tasks and "task" not in (spec.x, spec.series) and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
    return rows[~rows["status"].isin(("copied", "unavailable"))]


def _mostly_run(rows: pd.DataFrame) -> bool:
    return len(rows) > 0 and (rows["n"] > 0).mean() >= 0.5


def _numbers(texts: pd.Series) -> pd.DataFrame:
    """Numbers between blanks, a column for each place."""
    return texts.str.split(expand=True).apply(as_numbers)


def _runs_shown(study: Study, rows: pd.DataFrame) -> str:
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
    is_word = label.islower() and "," not in label and (label.isalpha() or label[-1].isdigit())
    is_number = as_numbers([label]).notna().all()
    if not is_word and not is_number:
        return label
    if axis.title[1:2].isupper():  # an abbreviation, such as MTD
        return f"{axis.title} {label}"
    return f"{axis.title[:1].lower()}{axis.title[1:]} {label}"


def _named(study: Study, labels: Sequence[str | None]) -> str:
    """A cell in a sentence: a plain word of a single axis is the row 'paper'."""
    if len(study.axes) == 1 and labels:
        only = labels[0]
        if only and only.isalpha() and only.islower():
            return f"the row '{only}'"
    words = []
    for axis, label in zip(study.axes, labels, strict=False):
        if label not in (None, "avg"):
            words.append(_titled(axis, label))
    return ", ".join(words)


def _base(study: Study) -> str:
    if study.figure is not None and study.figure.base_name:
        return study.figure.base_name
    return _named(study, base_pattern(study) or ()) or "the reference"


def _trained(study: Study, rows: pd.DataFrame) -> pd.Series:
    """Which rows are of a trained model, all if none is: a title speaks of no baseline without
    training."""
    names = [axis.name for axis in study.axes]
    labels = {
        cell.labels for cell in study.cells if study.metric_of(cell).checkpoint in AFTER_TRAINING
    }
    trained = [tuple(map(str, row)) in labels for row in rows[names].to_numpy()]
    return pd.Series(trained or None, rows.index, dtype=bool) | (not any(trained))


def _difference(study: Study, rows: pd.DataFrame) -> str:
    """The largest significant difference along one axis, and how many rows differ; empty without
    one. Where the test sets have an average, it speaks of averages alone."""
    rows = rows[(rows["paired_n"] > 0) & ~rows["is_base"]]
    counted_as = "rows"
    base = _base(study)
    if "task" in rows and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
        counted_as = "averages"
        base = f"{base} on average"
    rows = rows[_trained(study, rows)]
    different = rows[rows["different"] == "yes"]
    tested = (rows["different"] != "").sum()
    if tested and not len(different):
        return f"No significant difference from {base}"
    if len(different):
        rows = different
    rows = rows[rows["steps"] == 1]
    if not len(rows):
        return ""

    row = rows.loc[rows["paired_difference"].abs().idxmax()]
    size = row["paired_difference"]
    amount = f"{number(abs(size), 3)} {row['unit']}"
    if in_points(row["unit"]):
        amount = f"{number(abs(size), 1)} points"
    side = "above" if size > 0 else "below"
    name = _named(study, [row[axis.name] for axis in study.axes]) or "the average"
    tests = "too few seeds to test"
    if tested:
        tests = f"{len(different)} of {tested} tested {counted_as} differ"
    return f"{name[0].upper()}{name[1:]} is {amount} {side} {base}; {tests}"


# As the paper draws it: absolute scores along a numeric axis


def _levels(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """Score along the paper's axis: ours with a band over seeds, the paper's points laid over; a
    panel for each unit. None without an axis whose labels are numbers, all but two at most."""
    axis = _numeric_axis(study, spec)
    if axis is None:
        return None
    rows = rows.assign(x=as_numbers(rows[axis.name]))
    on_axis = rows[rows["x"].notna()]
    if not _mostly_run(on_axis) or (on_axis["n"] > 0).sum() < 2:
        return None
    rows["line"] = _line_names(study, spec, rows, axis)
    rows = rows[rows["n"].groupby(rows["line"]).transform("sum") > 0]
    units = rows.groupby("unit", sort=False)
    figure, panels = sheet(title, len(units), 2.7)
    for panel, (unit, of_unit) in zip(panels, units, strict=True):
        for name, line, style in styled(of_unit.groupby("line", sort=False)):
            _draw_line(panel, line, axis, name, style)
        number_axis(panel, axis.labels, axis.title)
        panel.set_ylabel(unit)
    legend(figure, panels, _runs_shown(study, rows))
    return figure


def _numeric_axis(study: Study, spec: FigureSpec) -> Axis | None:
    """The first axis whose labels are numbers, all but two at most."""
    for axis in study.axes:
        enough = max(3, len(axis.labels) - 2)
        if spec.x in (None, axis.name) and as_numbers(axis.labels).count() >= enough:
            return axis
    return None


def _line_names(study: Study, spec: FigureSpec, rows: pd.DataFrame, axis: Axis) -> list[str]:
    """By row the name of its line: its labels along the series and the varied axes."""
    names = [name for name in (spec.series, *study.varied) if name and name != axis.name]
    series = [study.axis(name) for name in names]
    lines = []
    for row in rows.to_dict("records"):
        labels = [_titled(part, row[part.name]) for part in series]
        lines.append(", ".join(labels))
    return lines


def _draw_line(
    panel: Axes, line: pd.DataFrame, axis: Axis, name: str, style: dict[str, Any]
) -> None:
    """Our line with its band and every seed, and the paper's points; a cell off the axis is a level
    line."""
    off = line[line["x"].isna()].set_index(axis.name)
    line = line[line["x"].notna()].sort_values("x")
    for column, whose, colour in (("mean", "ours", style["color"]), ("printed", "paper", GREY)):
        for label, level in off[column].dropna().items():
            panel.axhline(level, color=colour, ls=":", label=f"{label}, {whose}")
    prefix = f"{name}: " if name else ""
    ours = f"{prefix}ours"
    if not name:
        band = ", 95 % interval" if line["ci95_low"].notna().any() else ""
        ours = f"ours: mean{band}, every seed"
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
            line["x"], line["printed"], "--", mfc="white", lw=0.9, label=f"{prefix}paper", **style
        )


# Paired differences, or levels, by row


def _by_row(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without
    one."""
    numbers = _differences(rows)
    rows = rows[(rows["n"] > 0) | rows[numbers.printed].notna()].assign(panel="")
    drawn = rows[rows[numbers.middle].notna() & ~rows["is_base"]]
    if not len(drawn) or not _mostly_run(rows):
        return None
    if spec.series:
        rows["panel"] = rows[spec.series]
        rows = rows[rows["panel"].isin(drawn[spec.series])]
    axes = _row_axes(study, spec, rows)
    rows["y"], places = pd.factorize(rows[axes].agg("/".join, axis=1))

    panels = rows.groupby("panel", sort=False)
    height = 0.3 + 0.25 * len(places)
    if len(panels) > 1:
        height += 0.3
    figure, sheet_axes = sheet(title, len(panels), height, sharex=True, sharey=True)
    for panel, (name, of_panel) in zip(sheet_axes, panels, strict=True):
        if spec.series:
            panel.set_title(_titled(study.axis(spec.series), str(name)))
        else:
            panel.set_title("")
        _row_panel(panel, of_panel, numbers)

    # axes and their titles
    first = sheet_axes[0]
    first.set_yticks(range(len(places)), [textwrap.fill(name, 46) for name in places], size=7)
    first.set_ylim(len(places) - 0.4, -0.6)
    if len(places) > 2:
        first.set_ylabel(" / ".join(study.axis(name).title for name in axes))
    x_title = rows["unit"].iloc[0]
    if numbers.paired:
        points = "points" if in_points(x_title) else x_title
        x_title = f"{points} above {_base(study)}"
    lowest = min(reversed(sheet_axes), key=lambda panel: panel.get_position().x0)
    lowest.set_xlabel(x_title, loc="left")
    legend(figure, sheet_axes, _runs_shown(study, rows))
    return figure


class Differences(NamedTuple):
    """What a figure by row shows: whether differences, every seed's number by row, and the columns
    of our number and of the paper's."""

    paired: bool
    seeds: pd.DataFrame
    middle: str
    printed: str


def _differences(rows: pd.DataFrame) -> Differences:
    seeds = _numbers(rows["values"])
    if not (rows["reference"] != "").any():
        return Differences(False, seeds, "mean", "printed")
    seeds -= seeds.reindex(rows["reference"]).to_numpy()
    return Differences(True, seeds, "paired_difference", "printed_difference")


def _row_axes(study: Study, spec: FigureSpec, rows: pd.DataFrame) -> list[str]:
    """The axes whose labels name a row; a task axis that has the average alone does not."""
    axes = [axis.name for axis in study.axes if axis.name != spec.series]
    if len(axes) > 1 and "task" in axes and set(rows["task"]) == {"avg"}:
        axes.remove("task")
    return axes


def _row_panel(panel: Axes, rows: pd.DataFrame, numbers: Differences) -> None:
    """Rows of a panel: every seed, ours with its interval, and the paper's number below."""
    panel.grid(axis="x")
    if numbers.paired:
        panel.axvline(0, color="black", lw=0.8)
    for y in rows[rows["is_base"]]["y"]:
        panel.text(0, y, " reference", size=6, color=GREY, va="center")
    rows = rows[~rows["is_base"]]
    ours = rows["y"] - 0.12
    seeds = numbers.seeds.loc[rows.index]
    panel.plot(seeds, ours, "|", color=GREY, ms=4, alpha=0.5, label="one seed")

    for different, group in rows[rows[numbers.middle].notna()].groupby("different"):
        style = STYLES[different]
        columns = style.columns if numbers.paired else "ci95"
        ends = group[[f"{columns}_low", f"{columns}_high"]]
        errors = ends.sub(group[numbers.middle], axis=0).abs().clip(upper=WIDEST).T
        label = style.words
        if errors.notna().any(axis=None):
            label += f", {style.interval}"
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
        look: dict[str, Any] = {"color": GREY, "mfc": "white", "ms": 4, "label": "paper"}
        panel.plot(paper[numbers.printed], paper["y"] + 0.22, "o", **look)


# Along training, spectra, and all runs of a scale


def _curves(
    study: Study, spec: FigureSpec, rows: pd.DataFrame, curves: pd.DataFrame, title: str
) -> Figure:
    """Means with bands of the seeds; the paper's curve dashed, by share of the run or of the
    width."""
    spectrum = spec.kind == "spectrum"
    width = float(curves["x"].max())
    most = MOST_INDEX if spectrum else width
    names = [spec.series] if spec.series else [axis.name for axis in study.axes]
    curves = curves[curves["x"] <= most]
    figure, (panel,) = sheet(title, 1, 3.0)
    by_name = curves.groupby(curves[names].agg("/".join, axis=1), sort=False)
    for name, curve, style in styled(by_name):
        by_x = curve.dropna().groupby("x")["value"]
        for share in (0.0, 0.25):
            low = by_x.quantile(share)
            high = by_x.quantile(1 - share)
            panel.fill_between(low.index, low, high, color=style["color"], alpha=0.15, lw=0)
        label = f"{name} (n = {curve['run_id'].nunique()})"
        panel.plot(by_x.mean(), markevery=max(1, len(by_x) // 12), label=label, **style)
        printed = {share * width: y for share, y in spec.curves.get(name, ())}
        paper = pd.Series(printed, dtype=float)
        if len(paper):
            look: dict[str, Any] = {"mfc": "white", "lw": 0.8, "ms": 3, "label": f"{name}, paper"}
            panel.plot(paper[paper.index <= most], "--", **look, **style)
    if spectrum:
        panel.set_xlabel("index of the singular value")
        panel.set_ylabel("share of the largest")
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    else:
        panel.set_xlabel("optimiser step")
        panel.set_ylabel("development score, Spearman × 100")
    panel.grid(axis="y")
    legend(
        figure, [panel], f"{_runs_shown(study, rows)} · bands: range and middle half of the seeds"
    )
    return figure


def scatters(runs: pd.DataFrame) -> dict[str, Figure]:
    """MTD against score, alignment against uniformity, effective rank against score: a point for
    each run."""
    drawn = {}
    for file, scatter in SCATTERS.items():
        x = scatter.x
        y = scatter.y
        numbers = runs[runs["status"] != "diverged"].dropna(subset=[x, y])
        if len(numbers) < 5 or numbers[x].nunique() < 3:
            continue
        rho = number(float(numbers[x].rank().corr(numbers[y].rank())), 2, signed=True)
        title = f"{scatter.x_name} and {y}: rank correlation {rho} over {len(numbers)} runs"
        figure, (panel,) = sheet(title, 1, 3.0)
        for name, points, style in styled(numbers.groupby("method")):
            label = f"{method(name).title} ({len(points)} runs)"
            panel.scatter(points[x], points[y], s=12, alpha=0.5, lw=0, label=label, **style)
        panel.set_xlabel(scatter.x_title)
        panel.set_ylabel(scatter.y_title)
        panel.grid()
        legend(figure, [panel], _of_scale(numbers))
        drawn[file] = figure
    return drawn
