"""A study's table in the paper's layout, for Markdown, LaTeX and the terminal, from its cell
frame."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import mode
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.report.claims import verdict_sentences
from core.report.frames import cell_frame
from core.report.numbers import number
from core.report.verdicts import Judged
from core.report.words import READING, by_value, caution, meanings, of_runs, reading, setting, title
from core.spec.errors import printable
from core.spec.study import Study

SAME = 1e-9  # runs that scatter by less read one number, and differ by its last bit
OURS = "ours"
PAPER = "paper"
PAIRED = "ours − reference (paired)"
PRINTED = "paper − reference"
LINES = {OURS: "mean", PAPER: "printed", PAIRED: "paired_difference", PRINTED: "printed_difference"}
MARKS = {
    "▲": "significantly higher than the reference, by the interval that verdicts are tested with",
    "▼": "significantly lower than the reference, by the interval that verdicts are tested with",
    "†": "the reference",
    "‡": "some runs diverged or collapsed; a run without a number counts as the worst that there "
    "is",
    "§": "one run",
    "(n=": "seeds, where a cell has more or fewer than most",
    "±": "half of the 95 % interval over seeds; paired: over the seeds that both cells have",
}
OF_PAPER = "On the paper and its code, at their own scale:"
STATUS = {"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}
STATUS |= dict.fromkeys(("no number", "partial"), "no number")


class Grid(NamedTuple):
    """Headers, rows of texts, and how many columns lead with labels; a filled first text begins a
    group."""

    headers: list[str]
    rows: list[list[str]]
    lead: int


def grid(study: Study, cells: pd.DataFrame) -> Grid:
    """The cells laid out as in the paper; under `--vary` once for each combination of values."""
    rows = cells.replace({np.nan: None}).to_dict("records")
    for row in rows:
        row["is_base"] = row["reference"] == "/".join(str(row[axis.name]) for axis in study.axes)
    compared = any(row["reference"] for row in rows)
    printed = any(row["printed"] is not None for row in rows)
    wanted = {OURS: True, PAPER: printed, PAIRED: compared, PRINTED: compared and printed}
    lines = [line for line in wanted if wanted[line]]
    usual = {
        name: mode([row[name] for row in rows if row[name]] or [0]) for name in ("n", "paired_n")
    }

    columns = study.axis(study.columns) if study.columns else None
    down = study.axis(study.rows) if study.rows else None if columns else study.axes[0]
    groups = [*study.axes[len(study.axes) - len(study.varied) :], *([down] if down else [])]
    headers = [axis.title for axis in groups]
    body = list[list[str]]()
    for labels in itertools.product(*(axis.labels for axis in groups)):
        members = _at(rows, {axis.name: label for axis, label in zip(groups, labels, strict=True)})
        names = [*labels[:-1], _label(labels[-1], members)] if down else list(labels)
        if columns is None:
            body.append([*names, *(_entry(members[0], line, usual) for line in lines)])
            continue
        copied = all(row["status"] == "copied" for row in members)
        for line in [PAPER] if copied else lines:
            found = [_at(members, {columns.name: label})[:1] for label in columns.labels]
            body.append(
                [*names, line, *(_entry(cell[0], line, usual) if cell else "" for cell in found)]
            )
            names = [""] * len(names)
    if columns is None:
        return Grid([*headers, *lines], body, len(headers))
    titles = [_label(label, _at(rows, {columns.name: label})) for label in columns.labels]
    return Grid([*headers, columns.title, *titles], body, len(headers) + 1)


def _at(rows: Sequence[dict], labels: dict[str, str]) -> list[dict]:
    """The cells with these labels."""
    return [row for row in rows if all(str(row[axis]) == label for axis, label in labels.items())]


def _label(label: str, rows: Sequence[dict]) -> str:
    """A label as the paper has it, with the encoder that was run in the place of a BERT that it
    names."""
    run = {row["encoder"] for row in rows if row["encoder"] and row["scale"] != "paper"}
    return f"{label} ({', '.join(sorted(run))})" if "BERT" in label and run else label


def _entry(row: dict, line: str, usual: dict[str, int]) -> str:
    """What one line of a table says of a cell."""
    value = row[LINES[line]]
    of = "paired_" if line == PAIRED else ""
    if line in (PAIRED, PRINTED) and row["is_base"]:
        return "†" if line == PAIRED or value is not None else ""
    if value is None:
        return STATUS.get(row["status"], "—") if line == OURS else ""
    places = 0 if row["unit"] == "pairs" else 2 if row["unit"].endswith("× 100") else 3
    text = number(value, places, signed=line in (PAIRED, PRINTED))
    if line in (PAPER, PRINTED):
        return text
    high = row[f"{of}ci95_high"]
    n = row[f"{of}n"]
    if high is not None and high - value > SAME:
        text += f" ± {number(high - value, places)}"
    if line == OURS:
        marked = {"†": row["is_base"], "‡": row["failed_seeds"], "§": n == 1}
    else:
        above = (row["tested_low"] or 0) > 0
        differs = row["different"] == "yes"
        marked = {" ▲": differs and above, " ▼": differs and not above}
    text += "".join(mark for mark, there in marked.items() if there)
    return f"{text} (n={n})" if n > 1 and n != usual[f"{of}n"] else text


def marks(table: Grid) -> list[str]:
    """The meaning of each mark that the table uses, one sentence each."""
    text = "".join(map("".join, table.rows))
    return [f"{mark.strip('(=')}: {meaning}." for mark, meaning in MARKS.items() if mark in text]


def _laid_out(table: Grid, escape, style: str) -> str:
    """The table in one of tabulate's formats."""
    sides = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    rows = [list(map(escape, row)) for row in table.rows]
    headers = list(map(escape, table.headers))
    return tabulate(rows, headers, tablefmt=style, colalign=sides, disable_numparse=True)


def markdown(result: Judged) -> str:
    """The whole Markdown page of a study: title, setting, table, marks, claims, footnotes."""
    table = grid(result.study, cell_frame(result))
    of_paper = of_the_paper(result)
    lines = [
        f"# {md(title(result))}",
        "",
        md(setting(result)),
        "",
        md(reading(result)),
        "",
        _laid_out(table, md, "pipe"),
        "",
        *_items(*marks(table), *of_runs(result)),
        *(["", of_paper[0], "", *_items(*of_paper[1:])] if of_paper else []),
    ]
    if result.study.claims:
        verdicts = [f"{'  ' * each.depth}- {md(each.text)}" for each in verdict_sentences(result)]
        lines += ["", "## Claims", "", *_items(*by_value(result)), *verdicts, "", md(READING), ""]
        lines += [md(caution(result)), "", *_items(*_claims(result))]
    return "\n".join(lines).rstrip() + "\n"


def of_the_paper(result: Judged) -> list[str]:
    """Footnotes and the meaning of D-numbers, below their heading."""
    notes = [*result.study.footnotes, *meanings(result)]
    return [OF_PAPER, *notes] if notes else []


def _items(*texts: str) -> list[str]:
    return [f"- {md(text)}" for text in texts]


def _claims(result: Judged) -> Iterator[str]:
    """Each claim with its quotation and what decides it."""
    for claim in result.parts[0].study.claims:  # at other values the claims are the same
        place = f" ({claim.place})" if claim.place else ""
        quote = f" “{claim.quote}”{place}." if claim.quote else ""
        decided = f" Decided by: {claim.decided_by.rstrip('.')}." if claim.decided_by else ""
        yield f"{claim.key}: {claim.text}{quote}{decided}"
        if claim.note:
            yield claim.note


def terminal(result: Judged) -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text."""
    table = grid(result.study, cell_frame(result))
    verdicts = [f"{'    ' * each.depth}{each.text}" for each in verdict_sentences(result)]
    below = [f"  {line}" for line in (*marks(table), "", *verdicts, *by_value(result))]
    body = _laid_out(table, printable, "simple").splitlines()
    lines = ["", title(result), setting(result), "", *body, *below]
    return "\n".join(printable(line).rstrip() for line in lines)


def latex(result: Judged) -> str:
    r"""The table as a LaTeX fragment: a `table` float that needs amssymb and adjustbox. Its notes,
    which may fill a page, stand behind the float."""
    table = grid(result.study, cell_frame(result))
    notes = (*marks(table), *of_runs(result), *of_the_paper(result))
    lines = [
        r"% needs \usepackage{amssymb,adjustbox}, and LuaLaTeX for names in other scripts",
        r"\begin{table}[tp]",
        r"\centering\small",
        rf"\caption{{{tex(title(result))}. {tex(setting(result))}. {tex(reading(result))}}}",
        rf"\label{{tab:{result.study.name}-{result.setup.scale.name}-{result.setup.profile}}}",
        r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}",
        _laid_out(table, tex, "latex_raw"),
        r"\end{adjustbox}",
        r"\end{table}",
        r"\begingroup\footnotesize\raggedright",
        *(rf"\noindent {tex(note)}\par" for note in notes),
        r"\endgroup",
    ]
    return "\n".join(lines) + "\n"


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
