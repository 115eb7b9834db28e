"""A study's table in the paper's layout, as texts, from its cell frame."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.quantities import UNITS
from core.report.frames import by_cell_name
from core.report.numbers import number, significance, significant
from core.report.words import names_of
from core.study.axes import Labels
from core.study.claim import ROUNDING
from core.study.study import Study

OURS = "ours"
SEEDS = "seeds"
PAPER = "paper"
OURS_PAIRED = "ours, same seeds"
REFERENCE_PAIRED = "reference, same seeds"
PAIRED = "ours − reference (paired)"
PAPER_DIFFERENCE = "paper − reference"
COLUMN_OF_LINE = {
    OURS: "mean",
    SEEDS: "n",
    PAPER: "printed",
    OURS_PAIRED: "paired_mean",
    REFERENCE_PAIRED: "paired_reference",
    PAIRED: "paired_difference",
    PAPER_DIFFERENCE: "printed_difference",
}
ENDS = {OURS: "ci95_high", PAIRED: "paired_ci95_high"}
OF_PAPER = (PAPER, PAPER_DIFFERENCE)
COMPARED = (OURS_PAIRED, REFERENCE_PAIRED, PAIRED, PAPER_DIFFERENCE)
AVERAGE_LABEL = "avg"  # the column with the average over the test sets
STATUS = {
    "diverged": "div.‡",
    "collapsed": "no number‡",
    "no number": "no number",
    "partial": "no number",
    "unavailable": "n/a",
    "copied": "",
}


class TextTable(NamedTuple):
    """Headers, rows of texts, and how many columns lead with labels; a filled first text begins a
    group."""

    headers: list[str]
    rows: list[list[str]]
    lead: int

    def changed(self, change: Callable[[list[str]], list[str]]) -> TextTable:
        """The table with each of its lines changed."""
        headers, *rows = map(change, (self.headers, *self.rows))
        return TextTable(headers, rows, self.lead)

    def columns(self, first: int, last: int) -> TextTable:
        """The leading columns and those from `first` to `last`."""
        return self.changed(lambda line: line[: self.lead] + line[first:last])


def text_table(
    study: Study, cells: pd.DataFrame, printed: bool = False, averages: bool = False
) -> TextTable:
    """The cells laid out as in the paper; under `--vary` once for each combination of values. With
    `printed` the paper's numbers alone, with `averages` of a table over test sets these alone."""
    columns = study.column_axis
    if averages and columns is not None:
        cells = cells[cells[columns.name] == AVERAGE_LABEL]
        columns = None
    groups = list(study.axes[len(study.axes) - len(study.varied) :])
    if study.rows:
        groups.append(study.axis(study.rows))
    elif columns is None:
        groups.append(study.axes[0])
    called = names_of(study, cells)
    by_name = by_cell_name(study, cells)
    lines = _lines(by_name, printed)
    by_labels: dict[Labels, dict] = {}
    for row in by_name.to_dict("records"):
        labels = tuple(row[axis.name] for axis in (*groups, columns) if axis is not None)
        by_labels.setdefault(labels, row)

    body = []
    for labels in itertools.product(*(axis.labels for axis in groups)):
        members = {place: row for place, row in by_labels.items() if place[: len(groups)] == labels}
        names = list(labels)
        if study.rows or not study.columns:  # else all of them are of `--vary`
            names[-1] = called[names[-1]]
        if columns is None:
            body.append([*names, *(_cell_text(members[labels], line) for line in lines)])
        else:
            of_group = [members.get((*labels, label)) for label in columns.labels]
            body += _group(names, of_group, lines)

    titles = [axis.title for axis in groups]
    if columns is None:
        return TextTable([*titles, *lines], body, len(titles))
    headers = map(called.__getitem__, columns.labels)
    return TextTable([*titles, columns.title, *headers], body, len(titles) + 1)


def _lines(cells: pd.DataFrame, printed: bool) -> list[str]:
    """What a table says of its cells by name, as far as it has a number for it. Seeds stand in the
    row where they differ, and means over the seeds of a difference where these are fewer."""
    lines = list(OF_PAPER if printed else COLUMN_OF_LINE)
    counts = cells["n"]
    of_reference = cells["reference"].map(counts)
    paired = cells["paired_n"].where(cells["paired_n"] > 0)
    without = {
        SEEDS: counts[counts > 0].nunique() < 2,
        OURS_PAIRED: not (paired < counts).any(),
        REFERENCE_PAIRED: not (paired < of_reference).any(),
    }
    if not cells["printed"].notna().any():
        without |= dict.fromkeys(OF_PAPER, True)
    if not (cells["reference"] != "").any():
        without |= dict.fromkeys(COMPARED, True)
    return [line for line in lines if not without.get(line)]


def _group(names: list[str], of_group: list[dict | None], lines: list[str]) -> list[list[str]]:
    """The lines of cells beside one another; their labels stand on the first."""
    rows = list(filter(None, of_group))
    if all(row["status"] == "copied" for row in rows):
        lines = [PAPER]
    elif all(row["is_base"] for row in rows):  # it has no differences
        lines = [line for line in lines if line not in COMPARED]
    body: list[list[str]] = []
    for line in lines:
        texts = [_cell_text(row, line) for row in of_group]
        if any(texts):
            body.append([*(names if not body else [""] * len(names)), line, *texts])
    return body


def _cell_text(row: dict | None, line: str) -> str:
    """What one line of a table says of a cell."""
    if row is None:
        return ""
    value = row[COLUMN_OF_LINE[line]]
    if line == SEEDS:
        return str(value or "")
    difference = line in (PAIRED, PAPER_DIFFERENCE)
    if line in COMPARED and row["is_base"]:
        return "†" if line == PAIRED or (difference and np.isfinite(value)) else ""
    if np.isnan(value):
        return STATUS.get(row["status"], "—") if line == OURS else ""
    half = row[ENDS[line]] - value if line in ENDS else np.nan
    decimals = UNITS[row["unit"]].decimals
    if decimals is None:
        decimals = significant(half)
    text = number(value, decimals, signed=difference)
    if half > ROUNDING:
        text += f" ± {number(half, decimals)}"
    if line == PAIRED:
        text += significance(row["different"], row["tested_low"])
    elif line == OURS:
        text += "†" if row["is_base"] else ""
        text += "‡" if row["failed_seeds"] else ""
    return text
