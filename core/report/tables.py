"""A study's table in the paper's layout, for Markdown and LaTeX, from its cell frame."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.config.quantities import UNITS
from core.formatting import printable
from core.report.frames import by_cell_name
from core.report.numbers import number, significance, significant
from core.report.sheet import Sheet
from core.report.words import FLAGS, names_of, verdict_note
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
MOST_COLUMNS = 6  # of a table in one of two columns of text
HEADS = {  # in LaTeX
    SEEDS: "n",
    OURS_PAIRED: "oursₙ",
    REFERENCE_PAIRED: "ref.ₙ",
    PAIRED: "Δ ours",
    PAPER_DIFFERENCE: "Δ paper",
}
AVERAGE_LABEL = "avg"  # the column with the average over the test sets
MARK_MEANINGS = {
    "▲": "significantly above the reference; the tested interval is wider than ±",
    "▼": "significantly below the reference; the tested interval is wider than ±",
    "†": "the reference",
    "‡": "some runs failed; a failed run without a number counts as the worst value",
    "±": "half of the 95 % interval over seeds, on fixed test pairs",
    "(paired)": "the mean difference over the seeds that both rows have",
    "same seeds": "the means of which this difference is taken",
    "Δ": "minus the reference; ours is paired by seed",
    "oursₙ": "the row over the seeds of Δ",
    "ref.ₙ": "the reference over the seeds of Δ",
}
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


def marks(table: TextTable) -> list[str]:
    """The meaning of each mark that the table uses, one sentence each."""
    text = "".join(map("".join, (table.headers, *table.rows)))
    return [f"{mark}: {meaning}." for mark, meaning in MARK_MEANINGS.items() if mark in text]


def laid_out(table: TextTable, escape, style: str) -> str:
    """The table in one of tabulate's formats."""
    sides = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    headers, rows, _ = table.changed(lambda line: list(map(escape, line)))
    return tabulate(rows, headers, tablefmt=style, colalign=sides, disable_numparse=True)


def markdown(sheet: Sheet) -> str:
    """The whole Markdown page: title, setting, table, marks, claims, footnotes."""
    table = text_table(sheet.study, sheet.cells)
    lines = [f"# {md(sheet.title)}", ""]
    for words in filter(None, (sheet.setting, sheet.number_note)):
        lines += [md(words), ""]
    lines += [laid_out(table, md, "pipe"), "", *_items(*marks(table), *sheet.notes)]
    lines += ["", md(sheet.scope_note)] if sheet.scope_note else []
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
            *_items(*sheet.statements),
        ]
    return "\n".join(lines).rstrip() + "\n"


def latex(sheet: Sheet, averages: bool = False) -> str:
    """The table as a LaTeX float at 8 pt with booktabs, with the meaning of its marks below;
    `averages` as in `text_table`. A table without columns of the paper's is as wide as the column
    of the text, and its labels break; a wide one stands over both."""
    cells = sheet.cells
    encoders = set(cells["encoder"]) - {""}
    caption = sheet.title
    if len(encoders) == 1 and sheet.setup.scale.name != "paper":
        caption += f" ({encoders.pop()})"
        cells = cells.assign(encoder="")  # no label repeats it
    table = text_table(sheet.study, cells, averages=averages)
    table = table.changed(lambda line: [HEADS.get(text, text) for text in line])
    in_a_column = OURS in table.headers
    kind = "table" if in_a_column or len(table.headers) <= MOST_COLUMNS else "table*"
    lines = [
        r"% needs \usepackage{amssymb,booktabs,graphicx,tabularx}",
        "% names in other scripts need LuaLaTeX",
        f"% {printable(sheet.setting)}",
        rf"\begin{{{kind}}}[tp]",
        r"\centering\fontsize{8}{9.5}\selectfont\setlength{\tabcolsep}{2pt}",
        rf"\caption{{{tex(caption)}}}",
        rf"\label{{tab:{sheet.name}{'-short' if averages else ''}}}",
        _tabular(table, in_a_column),
        r"\par\smallskip\raggedright",
        " ".join(map(tex, _latex_notes(sheet, table))),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _tabular(table: TextTable, in_a_column: bool) -> str:
    """A tabular with the rules of booktabs: of a column's width, or its own up to the width of the
    text."""
    of_labels = r">{\raggedright\arraybackslash}X" if in_a_column else "l"
    columns = table.lead * of_labels + (len(table.headers) - table.lead) * "r"
    lines = [" & ".join(map(_tex_entry, line)) + r" \\" for line in (table.headers, *table.rows)]
    body = [rf"{{@{{}}{columns}@{{}}}}", r"\toprule", lines[0], r"\midrule", *lines[1:]]
    text = "\n".join([*body, r"\bottomrule"])
    if in_a_column:
        return rf"\begin{{tabularx}}{{\linewidth}}{text}" + "\n\\end{tabularx}"
    width = r"\ifdim\width>\linewidth\linewidth\else\width\fi"
    text = rf"\begin{{tabular}}{text}" + "\n\\end{tabular}"
    return rf"\resizebox{{{width}}}{{!}}{{%" + f"\n{text}}}"


def _tex_entry(text: str) -> str:
    """A text of a table in LaTeX, with what stands behind ± as an index."""
    parts = re.fullmatch(r"(.*\d) ± ([\d.]+)(.*)", text)
    if parts is None:
        return tex(text)
    return f"{tex(parts[1])}$_{{\\pm {parts[2]}}}${tex(parts[3])}"


def _latex_notes(sheet: Sheet, table: TextTable) -> list[str]:
    """What a table in LaTeX says below: its numbers, its marks, of which encoder it is, and which
    claims have a rule that is younger than the runs."""
    scale = sheet.setup.scale
    notes = [sheet.number_note, *marks(table)]
    if scale.generated:
        notes.append(sheet.scope_note)
    elif set(sheet.cells["encoder"]) - {""} and scale.name != "paper":
        notes.append("The encoder is not the paper's.")
    late = [row.claim for row in sheet.claims.itertuples() if row.n and "⚑" in row.flags]
    if late:
        notes.append(f"⚑: {FLAGS['⚑']}, {', '.join(late)}.")
    return notes


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
SYMBOLS = r"""
    " '' ~ \textasciitilde{} ^ \textasciicircum{} < $<$ > $>$ | $|$
    ± $\pm$ − $-$ × $\times$ · $\cdot$ ≤ $\leq$ ≥ $\geq$ → $\to$ ≈ $\approx$
    η $\eta$ λ $\lambda$ ε $\epsilon$ τ $\tau$ θ $\theta$ Δ $\Delta$ ₙ $_n$
    ▲ $^{\blacktriangle}$ ▼ $^{\blacktriangledown}$ † $^{\dagger}$ ‡ $^{\ddagger}$
    ⚑ $\vartriangleright$
    """.split()  # each with its LaTeX
LATEX = str.maketrans(
    {  # [ and * would be options of the line break before them
        "\\": r"\textbackslash{}",
        **{c: f"\\{c}" for c in "{}$&%#_"},
        **{c: f"{{{c}}}" for c in "[]*`"},
        **dict(zip(SYMBOLS[::2], SYMBOLS[1::2], strict=True)),
    }
)


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb. Two hyphens in a row would be set as a dash."""
    return printable(text).translate(LATEX).replace("--", "-{-}")
