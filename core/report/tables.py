"""A study's table in Markdown and LaTeX, and the meaning of its marks."""

from __future__ import annotations

import re

from tabulate import tabulate

from core.formatting import printable
from core.report.sheet import Sheet
from core.report.text_table import (
    OURS,
    OURS_PAIRED,
    PAIRED,
    PAPER_DIFFERENCE,
    REFERENCE_PAIRED,
    SEEDS,
    TextTable,
    text_table,
)
from core.report.words import FLAGS, verdict_note

MOST_COLUMNS = 6  # of a table in one of two columns of text
HEADS = {  # in LaTeX
    SEEDS: "n",
    OURS_PAIRED: "oursₙ",
    REFERENCE_PAIRED: "ref.ₙ",
    PAIRED: "Δ ours",
    PAPER_DIFFERENCE: "Δ paper",
}
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
    table = sheet.table
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
