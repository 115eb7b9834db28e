"""How figures look: style, sheet, legend, numeric axes. The same bytes on every machine."""

import io
import textwrap
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

BLUE = "#0072B2"
DIFFERENT = "#D55E00"
SKY = "#56B4E9"
GREY = "#555555"
PALE = "#DDDDDD"
# Okabe and Ito's
COLOURS = (BLUE, "#E69F00", "#009E73", "#CC79A7", SKY, "#000000", DIFFERENT)
MARKERS = "os^DvPX"
RC = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "text.parse_math": False,
    "legend.title_fontsize": 7,
    "axes.titlelocation": "left",
    "figure.titlesize": 9.5,
    "figure.titleweight": "bold",
    "pdf.fonttype": 3,  # fontTools subsets a font for each Type 42 picture: 0.3 s each
    "savefig.dpi": 150,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.08,
    "grid.color": PALE,
}
# of a figure in inches, and of a line of its title
WIDTH = 7.2
LETTERS = 84
LOG_RANGE = 16.0  # largest over smallest label, from which an axis is logarithmic
CROWDED = 0.05  # of an axis: if labels are nearer, every other one stands lower
# of a line of a legend, and what a handle takes of them
LEGEND_LETTERS = 126
HANDLE = 9


def drawing():
    """The context in which figures are made: this style on matplotlib's defaults."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "backend": "agg"})


def image(figure: Figure, kind: str) -> bytes:
    """The figure as `png` or `pdf`, without date and version stamps."""
    stamps = {"png": ("Software",), "pdf": ("CreationDate", "Creator", "Producer")}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=dict.fromkeys(stamps))
    return buffer.getvalue()


def blank_figure(title: str, panels: int, height: float, **options) -> tuple[Figure, list[Axes]]:
    """A figure with its finding as title, and axes for so many panels."""
    deep = -(-panels // 4)
    lines = textwrap.fill(title, LETTERS)
    columns = -(-panels // deep)
    figure = Figure(figsize=(WIDTH, deep * height + 0.9 + 0.17 * lines.count("\n")))
    figure.suptitle(lines, x=0.01, ha="left")
    axes = figure.subplots(deep, columns, squeeze=False, **options).flatten()
    for spare in axes[panels:]:
        spare.remove()
    for lowest in axes[:panels][-columns:]:
        lowest.tick_params(labelbottom=True)
    return figure, list(axes[:panels])


def legend(figure: Figure, axes: Iterable[Axes], setting: str) -> None:
    """One legend below the axes, each label once, under the setting of the runs; at most three
    columns, fewer for long labels."""
    handles = {}
    for panel in axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles[textwrap.fill(label, LEGEND_LETTERS - HANDLE)] = handle
    columns = min(3, LEGEND_LETTERS // (max(map(len, handles)) + HANDLE)) or 1
    look = {"title": textwrap.fill(setting, LEGEND_LETTERS), "alignment": "left", "ncols": columns}
    figure.legend([*handles.values()], [*handles], loc="outside lower left", **look)


def styled(groups: Iterable[tuple]) -> Iterator[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Each line of a figure by its name, with colour and marker."""
    for (name, rows), colour, marker in zip(groups, cycle(COLOURS), cycle(MARKERS), strict=False):
        yield str(name), rows, {"color": colour, "marker": marker}


def as_numbers(labels: Iterable[str]) -> pd.Series:
    """Labels as numbers; NaN for a word, such as `inf`. A series keeps its index."""
    numbers = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def number_axis(panel: Axes, labels: Iterable[str], title: str) -> None:
    """A numeric axis with ticks at the paper's values, logarithmic if they span much."""
    ticks = as_numbers(labels).set_axis(list(labels)).dropna().sort_values()
    logarithmic = ticks.min() > 0 and ticks.max() / ticks.min() >= LOG_RANGE
    places = np.log(ticks) if logarithmic else ticks
    names = list(ticks.index)
    if places.diff().min() < CROWDED * np.ptp(places):
        names[1::2] = [f"\n{name}" for name in names[1::2]]
    panel.set_xscale("log" if logarithmic else "linear")
    panel.set_xticks(ticks, names)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel(title)
    panel.grid(axis="y")
