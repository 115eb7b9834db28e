"""How figures look: style, layout of a sheet, legend, numeric axes. The same bytes on every machine."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from core.spec.study import Study

OURS, DIFFERENT, GREY, PALE = "#0072B2", "#D55E00", "#555555", "#DDDDDD"
COLOURS = (OURS, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#000000", DIFFERENT)  # Okabe and Ito's
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
RC = {
    "font.size": 8, "axes.titlesize": 8, "axes.spines.top": False, "axes.spines.right": False,
    "axes.axisbelow": True, "legend.fontsize": 7, "legend.frameon": False, "text.parse_math": False,
    "pdf.fonttype": 42, "savefig.dpi": 150, "lines.linewidth": 1.4, "lines.markersize": 4.5,
    "figure.constrained_layout.use": True, "figure.constrained_layout.w_pad": 0.08, "grid.color": PALE,
}  # fmt: skip
WIDTH, LETTERS = 7.2, 84  # of a figure in inches, and of a line of its title
Row = dict  # a cell of the CSV file, with `labels` by axis, `key`, `by_seed` and `is_base`
LOG_RANGE = 16.0  # largest over smallest label, from which an axis is logarithmic


def drawing():
    """The context in which figures are made: this style on matplotlib's defaults."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "backend": "agg"})


def image(figure: Figure, kind: str) -> bytes:
    """The figure as `png` or `pdf`, without date and version stamps."""
    stamps = {"png": ("Software",), "pdf": ("CreationDate", "Creator", "Producer")}[kind]
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=dict.fromkeys(stamps))
    return buffer.getvalue()


def title_of(figure: Figure) -> str:
    """A figure's title in one line: its finding."""
    return " ".join(figure.get_suptitle().split())


def sheet(title: str, setting: str, panels: int, height: float, **options) -> tuple[Figure, list[Axes]]:
    """A figure with its finding as title, its setting below, and axes for so many panels."""
    columns = panels if panels <= 4 else 3 if panels <= 6 else 4
    deep, lines = -(-panels // columns), textwrap.fill(title, LETTERS)
    figure = Figure(figsize=(WIDTH, deep * height + 0.9 + 0.17 * lines.count("\n")))
    figure.suptitle(lines, x=0.01, ha="left", weight="bold", size=9.5)
    (inner,) = figure.subfigures(1, 1, squeeze=False).flatten()
    inner.suptitle(setting, x=0.01, ha="left", size=7, color=GREY)
    axes = inner.subplots(deep, columns, squeeze=False, **options).flatten()
    for spare in axes[panels:]:
        spare.remove()
    return figure, list(axes[:panels])


def setting(study: Study | None, rows: Sequence[Row]) -> str:
    """Table, scale, encoder, profile and seeds."""
    encoders = ", ".join(sorted({str(row["encoder"]) for row in rows if row["encoder"]}))
    text = f"scale {rows[0]['scale']} ({encoders}) · profile {rows[0]['profile']}"
    seeds = sorted({int(row["n"]) for row in rows if study and row["n"]})
    counts = f" · {seeds[0]}{f' to {seeds[-1]}' if len(seeds) > 1 else ''} seeds" if seeds else ""
    return (f"{study.paper_name} {study.title} · " if study else "") + text + counts


def legend(figure: Figure, axes: Iterable[Axes]) -> None:
    """One legend below the axes, each label once."""
    pairs = [pair for each in axes for pair in zip(*each.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in reversed(pairs)}
    columns = max(1, min(5, 105 // (8 + max(map(len, handles), default=1))))
    labels = list(dict.fromkeys(label for _, label in pairs))
    figure.legend([handles[label] for label in labels], labels, loc="outside lower left", ncols=columns)


def as_number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


def number_axis(panel: Axes, labels: Sequence[str], title: str) -> None:
    """A numeric axis with ticks at the paper's values, logarithmic if they span much."""
    ticks = {value: label for label in labels if (value := as_number(label)) is not None}
    log = min(ticks) > 0 and max(ticks) / min(ticks) >= LOG_RANGE
    if log:
        panel.set_xscale("log", base=2 if min(ticks) >= 1 else 10)
    place = np.log if log else np.asarray
    kept: list[float] = []
    for value in sorted(ticks):  # labels that would stand on each other are left out
        apart = 0.05 * (place(max(ticks)) - place(min(ticks)))
        kept += [value] if not kept or place(value) - place(kept[-1]) > apart else []
    panel.set_xticks(kept, [ticks[value] for value in kept])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y")
    panel.set_xlabel(title)
