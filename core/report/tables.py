"""A study's table in the paper's layout, for Markdown and LaTeX, from its cell frame."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.config.quantities import UNITS
from core.formatting import printable
from core.report.frames import by_cell_name
from core.report.numbers import LAST_BIT, number, places, significance
from core.report.sheet import Sheet
from core.report.words import verdict_note, with_encoder
from core.study.axes import Labels
from core.study.study import Study

OURS = "ours"
PAPER = "paper"
PAIRED = "ours − reference (paired)"
PRINTED = "paper − reference"
COLUMN_OF_LINE = {
    OURS: "mean",
    PAPER: "printed",
    PAIRED: "paired_difference",
    PRINTED: "printed_difference",
}
ENDS = {OURS: "ci95_high", PAIRED: "paired_ci95_high"}
MOST_COLUMNS = 6  # of a table in one of two columns of text
AVERAGE_LABEL = "avg"  # the column with the average over the test sets
MARK_MEANINGS = {
    "▲": "significantly higher than the reference, by the interval that verdicts are tested with",
    "▼": "significantly lower than the reference, by the interval that verdicts are tested with",
    "†": "the reference",
    "‡": "some runs diverged or collapsed; a run without a number counts as the worst that there "
    "is",
    "§": "one run",
    "±": "half of the 95 % interval over seeds, on fixed test data; paired: over the seeds that "
    "both cells have, and so not always the difference of the means; ▲ and ▼ come from a wider "
    "interval",
}
STATUS = {"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}
STATUS |= dict.fromkeys(("no number", "partial"), "no number")


class TextTable(NamedTuple):
    """Headers, rows of texts, and how many columns lead with labels; a filled first text begins a
    group."""

    headers: list[str]
    rows: list[list[str]]
    lead: int

    def columns(self, first: int, last: int) -> TextTable:
        """The leading columns and those from `first` to `last`."""
        lines = [line[: self.lead] + line[first:last] for line in (self.headers, *self.rows)]
        return TextTable(lines[0], lines[1:], self.lead)


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
    if study.row_axis:
        groups.append(study.row_axis)
    elif columns is None:
        groups.append(study.axes[0])
    lines = _lines(cells, printed)
    by_labels: dict[Labels, dict] = {}
    for row in by_cell_name(study, cells).to_dict("records"):
        labels = tuple(row[axis.name] for axis in (*groups, columns) if axis is not None)
        by_labels.setdefault(labels, row)

    body = []
    for labels in itertools.product(*(axis.labels for axis in groups)):
        members = {place: row for place, row in by_labels.items() if place[: len(groups)] == labels}
        names = list(labels)
        if study.rows or not study.columns:  # else all of them are of `--vary`
            names[-1] = with_encoder(names[-1], members.values())
        if columns is None:
            body.append([*names, *(_entry(members[labels], line) for line in lines)])
        else:
            of_group = [members.get((*labels, label)) for label in columns.labels]
            body += _group(names, of_group, lines)

    titles = [axis.title for axis in groups]
    if columns is None:
        return TextTable([*titles, *lines], body, len(titles))
    headers = []
    for label in columns.labels:
        of_label = [row for place, row in by_labels.items() if place[-1] == label]
        headers.append(with_encoder(label, of_label))
    return TextTable([*titles, columns.title, *headers], body, len(titles) + 1)


def _lines(cells: pd.DataFrame, printed: bool) -> list[str]:
    """What a table says of its cells, as far as it has a number for it."""
    lines = [PAPER, PRINTED] if printed else [OURS, PAPER, PAIRED, PRINTED]
    if not cells["printed"].notna().any():
        lines = [line for line in lines if line not in (PAPER, PRINTED)]
    if not (cells["reference"] != "").any():
        lines = [line for line in lines if line in (OURS, PAPER)]
    return lines


def _group(names: list[str], of_group: list[dict | None], lines: list[str]) -> list[list[str]]:
    """The lines of cells beside one another; their labels stand on the first."""
    rows = list(filter(None, of_group))
    if all(row["status"] == "copied" for row in rows):
        lines = [PAPER]
    elif all(row["is_base"] for row in rows):  # it has no differences
        lines = [line for line in lines if line in (OURS, PAPER)]
    body: list[list[str]] = []
    for line in lines:
        texts = [_entry(row, line) for row in of_group]
        if any(texts):
            body.append([*(names if not body else [""] * len(names)), line, *texts])
    return body


def _entry(row: dict | None, line: str) -> str:
    """What one line of a table says of a cell."""
    if row is None:
        return ""
    value = row[COLUMN_OF_LINE[line]]
    difference = line in (PAIRED, PRINTED)
    if difference and row["is_base"]:
        return "†" if line == PAIRED or np.isfinite(value) else ""
    if np.isnan(value):
        return STATUS.get(row["status"], "—") if line == OURS else ""
    half = row[ENDS[line]] - value if line in ENDS else np.nan
    decimals = UNITS[row["unit"]].decimals
    if decimals is None:
        decimals = places(half)
    text = number(value, decimals, signed=difference)
    if half > LAST_BIT:
        text += f" ± {number(half, decimals)}"
    if line == PAIRED:
        text += significance(row["different"], row["tested_low"])
    elif line == OURS:
        text += "†" if row["is_base"] else ""
        text += "‡" if row["failed_seeds"] else ""
        text += "§" if row["n"] == 1 else ""
    return text


def marks(table: TextTable) -> list[str]:
    """The meaning of each mark that the table uses, one sentence each."""
    text = "".join(map("".join, table.rows))
    return [f"{mark}: {meaning}." for mark, meaning in MARK_MEANINGS.items() if mark in text]


def laid_out(table: TextTable, escape, style: str) -> str:
    """The table in one of tabulate's formats."""
    sides = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    rows = [list(map(escape, row)) for row in table.rows]
    headers = list(map(escape, table.headers))
    return tabulate(rows, headers, tablefmt=style, colalign=sides, disable_numparse=True)


def markdown(sheet: Sheet) -> str:
    """The whole Markdown page: title, setting, table, marks, claims, footnotes."""
    table = text_table(sheet.study, sheet.cells)
    lines = [f"# {md(sheet.title)}", ""]
    for words in filter(None, (sheet.setting, sheet.number_note)):
        lines += [md(words), ""]
    lines += [laid_out(table, md, "pipe"), "", *_items(*marks(table), *sheet.notes)]
    if sheet.paper_notes:
        lines += ["", sheet.paper_notes[0], "", *_items(*sheet.paper_notes[1:])]
    if len(sheet.claims):
        lines += ["", "## Claims", ""]
        for sentence in sheet.sentences:
            lines.append(f"{'  ' * sentence.depth}- {md(sentence.text)}")
        lines += [
            "",
            md(verdict_note(sheet.claims)),
            "",
            md(sheet.scope_note),
            "",
            *_items(*sheet.statements),
        ]
    return "\n".join(lines).rstrip() + "\n"


def latex(sheet: Sheet, averages: bool = False) -> str:
    r"""The table as a LaTeX float that needs amssymb and graphicx, over both columns of the text if
    it is wide, with the meaning of its marks inside; `averages` as in `text_table`."""
    table = text_table(sheet.study, sheet.cells, averages=averages)
    kind = "table*" if len(table.headers) > MOST_COLUMNS else "table"
    lines = [
        r"% needs \usepackage{amssymb,graphicx}, and LuaLaTeX for names in other scripts",
        rf"\begin{{{kind}}}[tp]",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{tex(sheet.title)}}}",
        rf"\label{{tab:{sheet.name}{'-short' if averages else ''}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"{laid_out(table, tex, 'latex_raw')}}}",
        r"\par\smallskip\footnotesize\raggedright",
        " ".join(map(tex, (f"{sheet.setting}.", sheet.number_note, *marks(table)))),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _items(*texts: str) -> list[str]:
    return [f"- {md(text)}" for text in texts]


# an entity for \\, since one before the other of `\\|` would end the cell
MARKDOWN = str.maketrans(
    {
        "\\": "&#92;",
        "&": "&amp;",
        **{c: f"\\{c}" for c in "|*_<`$~!"},
    }
)
LATEX = str.maketrans(
    {  # [ and * would be options of the line break before them
        "\\": r"\textbackslash{}",
        **{c: f"\\{c}" for c in "{}$&%#_"},
        **{c: f"{{{c}}}" for c in "[]*`"},
        '"': "''",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "±": r"$\pm$",
        "−": "$-$",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "η": r"$\eta$",
        "λ": r"$\lambda$",
        "ε": r"$\epsilon$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "→": r"$\to$",
        "≈": r"$\approx$",
        "τ": r"$\tau$",
        "θ": r"$\theta$",
        "▲": r"$^{\blacktriangle}$",
        "▼": r"$^{\blacktriangledown}$",
        "†": r"$^{\dagger}$",
        "‡": r"$^{\ddagger}$",
        "§": r"$^{\S}$",
    }
)


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb. Two hyphens in a row would be set as a dash."""
    return printable(text).translate(LATEX).replace("--", "-{-}")
