"""Figures from data frames: as the paper draws a study, and as paired differences."""

import functools
from collections.abc import Mapping
from operator import mul
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.config.run import PAPER_STEPS
from core.report.drawing import (
    GREY,
    as_numbers,
    blank_figure,
    legend,
    number_axis,
    styled,
)
from core.report.figure_words import (
    base_of,
    by_place,
    mostly_run,
    read_on,
    titled,
    without_run,
)
from core.report.frames import SETTING, by_cell_name
from core.report.numbers import signed
from core.report.quantities import PAPER_WIDTH
from core.report.row_figures import by_row
from core.report.words import names_of
from core.study.study import Axis, FigureSpec, Study

MOST_INDEX = 128  # of a spectrum: the width of the small encoders


def study_figures(
    study: Study, cells: pd.DataFrame, curves: pd.DataFrame, title: str, setting: str
) -> dict[str, Figure]:
    """A study's figures by file name: as the paper draws it, and `-differences`; inside
    `drawing()`.

    `cells` and `curves` are the frames of its CSV files, `setting` that of its runs. Rows are the
    cells that can be run; of test sets the average alone, unless the figure has them. A figure of
    which most rows have no run is left out.
    """
    spec = study.figure
    if spec is None:
        return {}
    axes = [axis.name for axis in study.axes]
    rows = by_cell_name(study, cells)
    if study.tasks and "task" not in (spec.x, spec.series) and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
    rows = rows[rows["status"] != "copied"]
    names = names_of(study, cells)
    setting += without_run(study, rows, names)
    rows = rows[rows["status"] != "unavailable"]
    drawn: list[tuple[Figure | None, str]] = []  # with what a legend says of bars and bands
    if spec.kind == "cells":
        rows = rows.assign(**rows[axes].replace(names))
        levels = _levels(study, spec, rows, title)
        drawn.append((levels, " · bars: 95 % intervals, dots: seeds"))
        drawn.append((by_row(study, spec, rows, title, names), ""))
    elif mostly_run(rows) and spec.kind == "along":
        along = _along(study, rows, curves, title, names)
        drawn.append((along, " · bands: 95 % intervals over seeds"))
    elif mostly_run(rows):
        lines = _curves(spec, curves, title, names)
        drawn.append((lines, " · bands: range and middle half of the seeds"))
    figures = []
    for figure, bars in drawn:
        if figure is not None:
            legend(figure, figure.axes, setting + bars)
            figures.append(figure)
    return dict(zip((study.name, f"{study.name}-differences"), figures, strict=False))


# As the paper draws it: absolute scores along a numeric axis


def _levels(study: Study, spec: FigureSpec, rows: pd.DataFrame, title: str) -> Figure | None:
    """Score along the paper's axis: ours with intervals over seeds, the paper's points beside it,
    on the same axis if they share numbers, else on one of the same length; a panel for each unit.
    None without an axis whose labels are numbers, all but two at most."""
    numeric = []
    for axis in study.axes:
        enough = max(3, len(axis.labels) - 2)
        if spec.x in (None, axis.name) and as_numbers(axis.labels).count() >= enough:
            numeric.append(axis)
    if not numeric:
        return None
    axis = numeric[0]
    rows = rows.assign(x=as_numbers(rows[axis.name]))
    on_axis = rows[rows["x"].notna()]
    if not mostly_run(on_axis) or (on_axis["n"] > 0).sum() < 2:
        return None

    # a line for each combination of labels along the series and the varied axes
    series = [
        study.axis(name) for name in (spec.series, *study.varied) if name not in (None, axis.name)
    ]
    names = []
    for row in rows.to_dict("records"):
        names.append(", ".join(titled(part, row[part.name]) for part in series))
    rows = rows.assign(line=names)
    rows = rows[rows["n"].groupby(rows["line"]).transform("sum") > 0]
    units = rows.groupby("unit", sort=False)
    each = 2 if rows["printed"].notna().any() else 1
    figure, panels = blank_figure(title, each * len(units), 2.7)
    for place, (unit, of_unit) in enumerate(units):
        ours, *others = panels[each * place : each * place + each]
        paper = others[0] if others else ours
        for name, line, style in styled(of_unit.groupby("line", sort=False)):
            _draw_line(ours, paper, line, axis, name, style)
        shown = of_unit[of_unit["x"].notna() & ((of_unit["n"] > 0) | of_unit["printed"].notna())]
        labels = list(dict.fromkeys(shown[axis.name]))
        number_axis(ours, labels, axis.title)
        ours.set_ylabel(f"{unit}{read_on(of_unit)}")
        if not others:
            continue
        number_axis(paper, labels, axis.title)
        (low, high), (paper_low, paper_high) = (side.get_ylim() for side in (ours, paper))
        ours.set_title("ours")
        if paper_low < high and low < paper_high:
            paper.set_title("paper, on the same axis")
            for side in (ours, paper):
                side.set_ylim(min(low, paper_low), max(high, paper_high))
            continue
        paper.set_title("paper, at the same span")  # each around its own numbers
        span = max(high - low, paper_high - paper_low)
        for side in (ours, paper):
            middle = sum(side.get_ylim()) / 2
            side.set_ylim(middle - span / 2, middle + span / 2)
    return figure


def _draw_line(
    panel: Axes,
    paper: Axes,
    line: pd.DataFrame,
    axis: Axis,
    name: str,
    style: dict[str, Any],
) -> None:
    """Our line with its intervals and every seed, and the paper's points; a cell off the axis is a
    level line."""
    off = line[line["x"].isna()].set_index(axis.name)
    line = line[line["x"].notna()].sort_values("x")
    ours_off = ("mean", "ours", style["color"], panel)
    for column, whose, colour, into in (ours_off, ("printed", "paper", GREY, paper)):
        for label, level in off[column].dropna().items():
            into.axhline(level, color=colour, ls=":", label=f"{label}, {whose}")
    prefix = f"{name}: " if name else ""
    half = line["ci95_high"] - line["mean"]
    panel.errorbar(
        line["x"], line["mean"], yerr=half, elinewidth=0.8, label=f"{prefix}ours", **style
    )
    panel.plot(line["x"], by_place(line["values"]), ".", color=style["color"], ms=2.5, alpha=0.5)
    paper.plot(
        line["x"], by_place(line["printed_runs"]), lw=0, mfc="none", ms=2.5, alpha=0.7, **style
    )
    if line["printed"].notna().any():
        paper.plot(
            line["x"],
            line["printed"],
            "--",
            mfc="white",
            lw=0.9,
            clip_on=False,
            label=f"{prefix}paper",
            **style,
        )


# Along training, and spectra


def _curves(spec: FigureSpec, curves: pd.DataFrame, title: str, names: Mapping[str, str]) -> Figure:
    """Means with bands of the seeds; the paper's curve dashed, by share of the run or of the
    width, which a second axis counts as the paper does."""
    spectrum = spec.kind == "spectrum"
    column = "singular_value" if spectrum else "value"
    width = float(curves["x"].max())
    most = MOST_INDEX if spectrum else width
    curves = curves[curves["x"] <= most]
    figure, (panel,) = blank_figure(title, 1, 3.0)
    columns = list(curves.columns)
    series = [spec.series] if spec.series else columns[len(SETTING) : columns.index("seed")]
    of_lines = curves.groupby(curves[series].agg(", ".join, axis=1), sort=False)
    for place, (name, curve, style) in enumerate(styled(of_lines)):
        by_x = curve.dropna().groupby("x")[column]
        for share in (0.0, 0.25):
            low = by_x.quantile(share)
            high = by_x.quantile(1 - share)
            panel.fill_between(low.index, low, high, color=style["color"], alpha=0.15, lw=0)
        label = f"{names.get(name, name)} (n = {curve['run_id'].nunique()})"
        # a line that covers an earlier one is thinner, with its markers at other places
        every = max(1, len(by_x) // 12)
        marks = (place * every // len(of_lines), every)
        wide = 1.0 + 2.4 * (1 - place / len(of_lines))
        panel.plot(by_x.mean(), markevery=marks, lw=wide, label=label, **style)
        printed = {share * width: y for share, y in spec.curves.get(name, ())}
        paper = pd.Series(printed, dtype=float)
        if len(paper):
            paper = paper[paper.index <= most]
            panel.plot(paper, "--", mfc="white", lw=0.8, ms=3, label=f"{name}, paper", **style)
    of_paper = PAPER_WIDTH if spectrum else PAPER_STEPS
    if spec.curves and width != of_paper:
        words = f"the paper's index, of {PAPER_WIDTH}" if spectrum else "the paper's step"
        _second_axis(panel, of_paper / width, words)
    if spectrum:
        panel.set_xlabel(f"index, of {width:g} singular values")
        panel.set_ylabel("singular value")
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    else:
        y_title = "development score, Spearman × 100"
        if spec.curves:
            y_title += "\n(the paper: average of the test sets)"
        panel.set_xlabel("optimiser step")
        panel.set_ylabel(y_title)
    panel.grid(axis="y")
    return figure


def _second_axis(panel: Axes, ratio: float, words: str) -> None:
    """Above the panel, another count of its axis, `ratio` for each of ours."""
    functions = functools.partial(mul, ratio), functools.partial(mul, 1 / ratio)
    panel.secondary_xaxis("top", functions=functions).set_xlabel(words)


def _along(
    study: Study,
    rows: pd.DataFrame,
    curves: pd.DataFrame,
    title: str,
    names: Mapping[str, str],
) -> Figure:
    """Differences to the reference by step with 95 % bands, each with the printed one as a line;
    above the panel, passes over the text."""
    figure, (panel,) = blank_figure(title, 1, 3.4)
    panel.axhline(0, color="black", lw=0.8)
    axes = [axis.name for axis in study.axes]
    for name, line, style in styled(curves.groupby(curves[axes].agg("/".join, axis=1), sort=False)):
        x, y, half = (line[column] for column in ("step", "difference", "half_width"))
        panel.fill_between(x, y - half, y + half, color=style["color"], alpha=0.2, lw=0)
        printed = rows.loc[name, "printed_difference"]
        label = f"{names.get(name, name)} (dashed: printed, {signed(printed)})"
        panel.plot(x, y, markevery=10, label=label, **style)
        panel.axhline(printed, color=style["color"], ls="--", lw=0.9)
    panel.set_xlabel("optimiser step")
    panel.set_ylabel(f"development score, points above {base_of(study, names)}")
    each = float(curves["passes"].iloc[0] / curves["step"].iloc[0])
    _second_axis(panel, each, "passes over the text")
    panel.margins(x=0)
    panel.grid(axis="y")
    return figure
