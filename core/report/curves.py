"""Curves along training, spectra, and scatters over all runs of a scale and profile, from the CSV files."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from core.report.drawing import COLOURS, LOG_RANGE, MARKERS, Row, legend, setting, sheet
from core.report.tables import number
from core.spec.study import Study
from core.spec.table import FigureSpec

MOST_INDEX = 50  # of the spectrum, as in the paper
SCATTERS = {  # by file: x, y and their titles
    "mtd": ("mtd", "score", "nominal MTD (maximum traceable distance)", "average score, Spearman × 100"),
    "uniformity": (
        "uniformity",
        "alignment",
        "uniformity (lower: more uniform)",
        "alignment (lower: closer)",
    ),
    "rank": ("effective_rank", "score", "effective rank of the vectors", "average score, Spearman × 100"),
}


def curves_figure(
    study: Study, spec: FigureSpec, rows: list[Row], curves: pd.DataFrame, title: str
) -> Figure:
    """Means over seeds with each seed pale; the paper's curve dashed, by share of the run or of the width."""
    spectrum, whole = spec.kind == "spectrum", float(curves["x"].max())
    names = [spec.series] if spec.series else [axis.name for axis in study.axes]
    most = MOST_INDEX if spectrum else whole
    curves = curves[curves["x"] <= most]
    lines = dict(list(curves.groupby(curves[names].astype(str).agg("/".join, axis=1), sort=False)))
    means = {str(name): mine.groupby("x")["value"].mean().dropna() for name, mine in lines.items()}
    ends = {name: float(mean.iloc[-1]) for name, mean in means.items() if len(mean)}
    said = [
        f"{name} ({number(ends[name], 3 if spectrum else 1)})" for name in sorted(ends, key=ends.__getitem__)
    ]
    where = f"At index {MOST_INDEX}" if spectrum else "At the end"
    ranked = f"{where}, highest: {said[-1]}" + (f"; lowest: {said[0]}" if len(said) > 1 else "")
    figure, (panel,) = sheet(title or ranked, setting(study, rows), 1, 3.0)
    for (name, mine), colour, marker in zip(lines.items(), cycle(COLOURS), cycle(MARKERS), strict=False):
        for _, one in mine.groupby("run_id"):
            panel.plot(one["x"], one["value"], color=colour, linewidth=0.4, alpha=0.4)
        style: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "markevery": max(1, len(means[name]) // 12),
        }
        panel.plot(means[name].index, means[name], label=f"{name} (n = {mine['run_id'].nunique()})", **style)
        paper = [(share * whole, y) for share, y in spec.curves.get(name, ()) if share * whole <= most]
        if paper:
            panel.plot(
                *np.array(paper).T,
                "--",
                color=colour,
                marker=marker,
                mfc="white",
                lw=0.8,
                ms=3,
                label=f"{name}, paper",
            )
    if spectrum:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel("index of the singular value" if spectrum else "optimiser step")
    panel.set_ylabel(
        "share of the largest singular value" if spectrum else "development score, Spearman × 100"
    )
    panel.grid(axis="y")
    legend(figure, [panel])
    return figure


def scatters(runs: pd.DataFrame) -> dict[str, Figure]:
    """MTD against score, alignment against uniformity, effective rank against score: a point for each run."""
    made = {}
    for file, (x, y, x_title, y_title) in SCATTERS.items():
        known = runs[np.isfinite(runs[x]) & np.isfinite(runs[y]) & (runs["status"] != "diverged")]
        if len(known) >= 5 and known[x].nunique() > 2:
            made[file] = _scatter(known, x, y, x_title, y_title)
    return made


def _scatter(runs: pd.DataFrame, x: str, y: str, x_title: str, y_title: str) -> Figure:
    rho = float(runs[x].rank().corr(runs[y].rank()))
    strength = "Hardly any" if abs(rho) < 0.2 else "A weak" if abs(rho) < 0.5 else "A clear"
    relation = f"{strength} {'positive' if rho > 0 else 'negative'} relation of {x.replace('_', ' ')} and {y}"
    title = f"{relation}: rank correlation {number(rho, 2, signed=True)} over {len(runs)} runs".replace(
        "mtd", "MTD"
    )
    figure, (panel,) = sheet(title, setting(None, runs.to_dict("records")), 1, 3.0)
    for (method, mine), colour, marker in zip(runs.groupby("method"), COLOURS, MARKERS, strict=False):
        style: dict[str, Any] = {"s": 12, "alpha": 0.5, "linewidth": 0, "color": colour, "marker": marker}
        panel.scatter(mine[x], mine[y], label=f"{method} ({len(mine)} runs)", **style)
    if x == "mtd" and runs[x].max() / max(runs[x].min(), 0.1) > LOG_RANGE:
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlabel(x_title)
    panel.set_ylabel(y_title)
    panel.grid()
    legend(figure, [panel])
    return figure
