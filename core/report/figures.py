"""A study's figures, from its CSV files: as the paper draws them, and as paired differences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from core.report.curves import curves_figure
from core.report.drawing import (
    COLOURS,
    DIFFERENT,
    GREY,
    MARKERS,
    OURS,
    Row,
    as_number,
    legend,
    number_axis,
    setting,
    sheet,
)
from core.report.frames import POINTS, base_pattern
from core.report.statistics import over_seeds
from core.report.tables import number
from core.spec.study import Study
from core.spec.table import Axis, FigureSpec

WIDEST = 30.0  # half of an interval, in points: a wider interval is cut at the frame
PAIRED = ("paired_difference", "tested_low", "tested_high", "printed_difference")
LEVEL = ("mean", "ci95_low", "ci95_high", "printed")
Line = list[tuple[str, Sequence[Row]]]  # along an axis: label, and the cells that stand there


def figures(
    study: Study, cells: pd.DataFrame, curves: pd.DataFrame, no_verdict: str = ""
) -> dict[str, Figure]:
    """A study's figures by file name: as the paper draws it, and `-differences`; inside `drawing()`.

    `cells` and `curves` are the study's CSV files. `no_verdict` is why there is no verdict, then the title.
    A figure of which most rows have no run is left out.
    """
    spec = study.figure
    if spec is None:
        return {}
    rows, title = _rows(study, spec, cells), f"No verdict: {no_verdict}" if no_verdict else ""
    if spec.kind in ("curve", "spectrum"):
        run = len(curves) > 0 and _mostly_run(rows)
        return {study.name: curves_figure(study, spec, rows, curves, title)} if run else {}
    axis = _numeric(study, spec)
    averaged = axis is not None and spec.series is None and len(study.axes) - len(study.varied) > 1
    levels = None if axis is None else _levels(study, spec, axis, rows, title)
    differences = None if averaged else _by_row(study, spec, rows, title)
    drawn = [figure for figure in (levels, differences) if figure is not None]
    return dict(zip((study.name, f"{study.name}-differences"), drawn, strict=False))


def _rows(study: Study, spec: FigureSpec, cells: pd.DataFrame) -> list[Row]:
    """The cells that can be run; of test sets the average alone, unless they are an axis of the figure."""
    texts = ["encoder", "reference", "different", "values", "printed_runs", "status", "unit"]
    empty = dict.fromkeys(texts, "")  # a file's empty columns are read as numbers
    rows = cells.astype(dict.fromkeys(texts, object)).fillna(empty).to_dict("records")
    for row in rows:
        row["labels"] = {axis.name: str(row[axis.name]) for axis in study.axes}
        row["key"] = "/".join(row["labels"].values())
        row["is_base"] = row["key"] == row["reference"]
        values = enumerate(str(row["values"]).split())
        row["by_seed"] = {seed: float(value) for seed, value in values if value != "-"}
    if study.tasks and "task" not in (spec.x, spec.series):
        rows = [row for row in rows if row["task"] == "avg"] or rows
    return [row for row in rows if row["status"] not in ("copied", "unavailable")]


def _numeric(study: Study, spec: FigureSpec) -> Axis | None:
    """The axis of the figure whose labels are numbers, all but two at most; None if there is none."""
    for axis in study.axes:
        numbers = sum(as_number(label) is not None for label in axis.labels)
        fits = spec.x in (None, axis.name) and axis.name != spec.series
        if fits and numbers >= max(3, len(axis.labels) - 2):
            return axis
    return None


def _mostly_run(rows: Sequence[Row]) -> bool:
    return bool(rows) and 2 * sum(row["n"] > 0 for row in rows) >= len(rows)


# What titles say: the sign of a sentence is the sign of the number that is drawn.


def _lower(title: str) -> str:
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _titled(axis: Axis, label: str) -> str:
    """A label behind its axis' title if it says little alone: "queue size 512", "initial fill half"."""
    small = as_number(label) is not None or label.isalpha() and label.islower()
    return f"{_lower(axis.title)} {label}" if small else label


def _said(study: Study, labels: Sequence[str | None]) -> str:
    """A cell in a sentence."""
    named = zip(study.axes, labels, strict=False)
    return ", ".join(_titled(axis, label) for axis, label in named if label not in (None, "avg"))


def _of_series(study: Study, spec: FigureSpec, name: str) -> str:
    return _titled(study.axis(spec.series), name) if spec.series and "/" not in name else name


def _amount(value: float, row: Row) -> str:
    return number(value, 1 if row["unit"] in POINTS else 3)


def _difference(study: Study, rows: Sequence[Row]) -> str:
    """The largest significant difference from the reference; without one the largest, and that it is none."""
    paired = [row for row in rows if row["paired_n"] and not row["is_base"]]
    if not paired:
        return ""
    different = [row for row in paired if row["different"] == "yes"]
    tested = [row for row in paired if row["different"]]
    row = max(different or paired, key=lambda row: abs(row["paired_difference"]))
    size, unit = row["paired_difference"], "points" if row["unit"] in POINTS else row["unit"]
    base = _said(study, base_pattern(study) or ()) or "the reference"
    if tested and not different:
        return f"No significant difference from {base}"
    name = _said(study, list(row["labels"].values())) or "the average"
    text = f"{name} is {_amount(abs(size), row)} {unit} {'above' if size > 0 else 'below'} {base}"
    tests = f"{len(different)} of {len(tested)} tested rows differ" if tested else "too few seeds to test"
    return f"{text[0].upper()}{text[1:]}; {tests}"


def _extremes(study: Study, rows: Sequence[Row]) -> str:
    """The highest and the lowest row; of a single row its scatter."""
    run = [row for row in rows if row["n"]]
    high, low = (choose(run, key=lambda row: row["mean"]) for choose in (max, min))
    if high is low:
        spread = np.ptp(list(high["by_seed"].values()))
        return f"SD {_amount(high['sd'], high)}, range {_amount(spread, high)} over {high['n']} seeds"
    names = [
        f"{_said(study, list(row['labels'].values()))} ({_amount(row['mean'], row)})" for row in (high, low)
    ]
    return f"Highest: {names[0]}; lowest: {names[1]}"


# As the paper draws it: absolute scores along a numeric axis


def _levels(study: Study, spec: FigureSpec, axis: Axis, rows: list[Row], title: str) -> Figure | None:
    """Score along the paper's axis: ours with a band over seeds, the paper's points laid over."""
    keep = [name for name in (spec.series, *study.varied) if name and name != axis.name]
    names = ["/".join(row["labels"][name] for name in keep) for row in rows]
    lines: dict[str, Line] = {}
    for name in dict.fromkeys(name for name, row in zip(names, rows, strict=True) if row["n"]):
        mine = [row for own, row in zip(names, rows, strict=True) if own == name]
        places = {label: [row for row in mine if row["labels"][axis.name] == label] for label in axis.labels}
        lines[name] = [(label, found) for label, found in places.items() if found]
    on_axis = [row for row in rows if as_number(row["labels"][axis.name]) is not None]
    if not lines or not _mostly_run(on_axis) or sum(row["n"] > 0 for row in on_axis) < 2:
        return None
    units = {name: line[0][1][0]["unit"] for name, line in lines.items()}
    apart = len(set(units.values())) > 1
    groups = [[name] for name in lines] if apart else [list(lines)]
    averaged = any(len(found) > 1 for line in lines.values() for _, found in line)
    said = [_peaks(study, spec, axis, lines), "" if averaged else _difference(study, rows)]
    title = title or (study.caption if apart else ". ".join(filter(None, said)))
    figure, axes = sheet(title, setting(study, rows), len(groups), 2.2 if apart else 2.7)
    for panel, group in zip(axes, groups, strict=True):
        shift = _shift([point for name in group for point in lines[name]])
        theirs = panel.twinx() if shift else panel
        for name, colour, marker in zip(group, cycle(COLOURS), cycle(MARKERS), strict=False):
            of = f"{_of_series(study, spec, name)}: " if name and not apart else ""
            _line(panel, theirs, lines[name], colour, marker, of)
        number_axis(panel, axis.labels, axis.title)
        panel.set_ylabel(units[group[0]])
        panel.set_title(group[0] if apart else "", loc="left")
        if shift:
            (a, b), (c, d) = panel.get_ylim(), theirs.get_ylim()
            low, high = min(a, c - shift), max(b, d - shift)
            panel.set_ylim(low, high)
            theirs.set_ylim(low + shift, high + shift)
            theirs.spines["right"].set_visible(True)
            theirs.set_ylabel("the paper's, same spacing", color=GREY, size=7)
    legend(figure, figure.subfigs[0].axes)
    return figure


def _ours(rows: Sequence[Row]) -> tuple[float, ...]:
    """The values of one cell by seed, or of the mean over several cells, taken seed by seed."""
    seeds = sorted(set.intersection(*(set(row["by_seed"]) for row in rows)))
    return tuple(float(np.mean([row["by_seed"][seed] for row in rows])) for seed in seeds)


def _printed(rows: Sequence[Row]) -> float:
    known = [row["printed"] for row in rows if np.isfinite(row["printed"])]
    return float(np.mean(known)) if known else np.nan


def _shift(points: Line) -> float:
    """How far the paper's numbers lie above ours if one axis for both would flatten them; else 0."""
    both = np.array([(np.mean(ours), _printed(rows)) for _, rows in points if (ours := _ours(rows))])
    both = both[np.isfinite(both).all(1)] if len(both) else np.zeros((0, 2))
    gap = float(np.median(both[:, 1] - both[:, 0])) if len(both) else 0.0
    return gap if len(both) and abs(gap) > max(1.0, *np.ptp(both, axis=0)) else 0.0


def _line(panel: Axes, theirs: Axes, line: Line, colour: str, marker: str, name: str) -> None:
    """Our line with its band and every seed, and the paper's points; a cell off the axis is a level line."""
    x, ours, printed = list[float](), list[tuple[float, ...]](), list[float]()
    for label, rows in line:
        place, values, paper = as_number(label), _ours(rows), _printed(rows)
        if place is None:
            level = float(np.mean(values or np.nan))
            panel.axhline(level, color=colour, linestyle=":", label=f"{label}, ours" if values else "")
            theirs.axhline(
                paper, color=GREY, linestyle=":", label=f"{label}, paper" if np.isfinite(paper) else ""
            )
            continue
        x, ours, printed = [*x, place], [*ours, over_seeds(values)[:3]], [*printed, paper]
        panel.plot([place] * len(values), values, ".", color=colour, markersize=2.5, alpha=0.5)
        single = [float(run) for run in str(rows[0]["printed_runs"] or "").split()] if len(rows) == 1 else []
        theirs.plot(
            [place] * len(single), single, marker, color=colour, mfc="none", markersize=2.5, alpha=0.7
        )
    mean, low, high = np.array(ours).T
    panel.plot(
        x,
        mean,
        color=colour,
        marker=marker,
        label=f"{name}ours" if name else "ours: mean, 95 % interval, every seed",
    )
    panel.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    if np.isfinite(printed).any():
        theirs.plot(x, printed, "--", marker=marker, color=colour, mfc="white", lw=0.9, label=f"{name}paper")


def _peaks(study: Study, spec: FigureSpec, axis: Axis, lines: dict[str, Line]) -> str:
    """Where our drawn mean is highest, and where the paper's is."""
    ours, paper = list[tuple[float, str]](), list[tuple[float, str]]()
    for name, line in lines.items():
        for label, rows in ((label, rows) for label, rows in line if as_number(label) is not None):
            place = f"{label}, {_of_series(study, spec, name)}" if name else label
            ours.append((float(np.mean(_ours(rows) or -np.inf)), place))
            paper.append((_printed(rows), place))
    row = next(iter(lines.values()))[0][1][0]
    printed = [point for point in paper if np.isfinite(point[0])]
    said = [
        f"{place} ({_amount(value, row)})"
        for value, place in (max(ours), *([max(printed)] if printed else []))
    ]
    return f"Highest at {_lower(axis.title)} {'; as printed at '.join(said)}"


# Paired differences, or levels, by row


def _by_row(study: Study, spec: FigureSpec, rows: list[Row], title: str) -> Figure | None:
    """One row a cell, a panel for each of `series`: differences to the reference, or levels without one."""
    by_key, series = {row["key"]: row for row in rows}, spec.series
    paired = any(row["reference"] for row in rows)
    columns = PAIRED if paired else LEVEL
    rows = [row for row in rows if row["n"] or np.isfinite(row[columns[-1]])]
    drawn = [row for row in rows if np.isfinite(row[columns[0]]) and not row["is_base"]]
    if not drawn or not _mostly_run(rows):
        return None
    panels: dict[str, list[Row]] = {row["labels"][series] if series else "": [] for row in drawn}
    for name, mine in panels.items():
        mine += [row for row in rows if not series or row["labels"][series] == name]
    names = {row["key"]: _without(row, series) for mine in panels.values() for row in mine}
    places = list(dict.fromkeys(names.values()))
    title = title or (_difference(study, rows) if paired else _extremes(study, rows))
    height = 0.3 + 0.25 * len(places) + 0.3 * (len(panels) > 1)
    figure, axes = sheet(title, setting(study, rows), len(panels), height, sharex=True, sharey=True)
    for panel, (name, mine) in zip(axes, panels.items(), strict=True):
        for row in mine:
            _row(panel, places.index(names[row["key"]]), row, by_key.get(row["reference"]), columns)
        panel.grid(axis="x")
        panel.set_title(_of_series(study, spec, name), loc="left")
    axes[0].set_yticks(range(len(places)), [textwrap.fill(name, 46) for name in places], size=7)
    axes[0].set_ylim(len(places) - 0.4, -0.6)
    unit, base = rows[0]["unit"], _said(study, base_pattern(study) or ()) or "the reference"
    label = f"{'points' if unit in POINTS else unit} above {base}" if paired else unit
    figure.subfigs[0].supxlabel(label, size=7.5)
    _limits(axes[0], drawn, rows, columns)
    legend(figure, axes)
    return figure


def _without(row: Row, series: str | None) -> str:
    """A row's labels without its panel's, and without the task if that is the average."""
    kept = {axis: label for axis, label in row["labels"].items() if axis != series}
    return "/".join(
        label for axis, label in kept.items() if (axis, label) != ("task", "avg") or len(kept) == 1
    )


def _row(panel: Axes, y: int, row: Row, base: Row | None, columns: Sequence[str]) -> None:
    """Ours with its interval and every seed, and the paper's number hollow below."""
    mean, low, high, printed = (row[name] for name in columns)
    seeds, interval = list(row["by_seed"].values()), "95 % interval"
    if columns is PAIRED:
        panel.axvline(0, color="black", linewidth=0.8)
        theirs, interval = base["by_seed"] if base else {}, "tested interval"
        seeds = [value - theirs[seed] for seed, value in row["by_seed"].items() if seed in theirs]
    if row["is_base"]:
        panel.text(0, y, " reference", size=6, color=GREY, va="center")
        return
    colour = {"yes": DIFFERENT, "no verdict": GREY}.get(row["different"], OURS)
    name = {"yes": "ours, significant", "no verdict": "ours, no verdict"}.get(row["different"], "ours")
    heights, marker = [y - 0.12] * len(seeds), "D" if colour == DIFFERENT else "o"
    label = "one seed" if seeds else ""
    panel.plot(seeds, heights, "|", color=GREY, markersize=4, alpha=0.5, label=label)
    if np.isfinite(low):
        panel.hlines(y - 0.12, low, high, color=colour, label=interval)
    if np.isfinite(mean):
        panel.plot([mean], [y - 0.12], marker, color=colour, zorder=4, label=name)
    if np.isfinite(printed):
        panel.plot([printed], [y + 0.22], "o", color=GREY, mfc="white", markersize=4, zorder=3, label="paper")


def _limits(panel: Axes, drawn: Sequence[Row], rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Limits that hold our means, intervals up to a width, and the paper's numbers in that neighbourhood."""
    mean, low, high = (np.array([row[name] for row in drawn], dtype=float) for name in columns[:3])
    printed = np.array([row[columns[-1]] for row in rows], dtype=float)
    ends = np.concatenate([mean, np.maximum(low, mean - WIDEST), np.minimum(high, mean + WIDEST)])
    reach, more = np.inf, [value for row in drawn for value in row["by_seed"].values()]
    if columns is PAIRED:
        reach, more = 2.5 * max(1.0, float(np.nanmax(np.abs(ends)))), [0.0]
    beyond = np.abs(printed) > reach
    shown = np.concatenate([ends, more, printed[~beyond]])
    pad = 0.05 * (np.nanmax(shown) - np.nanmin(shown) or 1.0)
    panel.set_xlim(np.nanmin(shown) - pad, np.nanmax(shown) + pad)
    if beyond.any():
        panel.plot([], [], " ", label=f"beyond the frame: the paper's {beyond.sum()} largest")
