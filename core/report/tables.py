"""A study's table in the paper's layout, for Markdown and LaTeX, from its cell frame."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.config.quantities import UNITS
from core.errors import printable
from core.report.claims import verdict_sentences
from core.report.criteria import criterion
from core.report.frames import cell_frame
from core.report.numbers import number
from core.report.verdicts import Judged
from core.report.words import (
    READING,
    by_value,
    caution,
    mark_meanings,
    of_runs,
    reading,
    setting,
    title,
)
from core.study.study import Axis, Study

LAST_BIT = 1e-9  # runs that scatter by less read one number, and differ by its last bit
OURS = "ours"
PAPER = "paper"
PAIRED = "ours − reference (paired)"
PRINTED = "paper − reference"
LINES = {OURS: "mean", PAPER: "printed", PAIRED: "paired_difference", PRINTED: "printed_difference"}
COUNTS = {OURS: "n", PAIRED: "paired_n"}  # of the seeds that a line's numbers are over
MARK_MEANINGS = {
    "▲": "significantly higher than the reference, by the interval that verdicts are tested with",
    "▼": "significantly lower than the reference, by the interval that verdicts are tested with",
    "†": "the reference",
    "‡": "some runs diverged or collapsed; a run without a number counts as the worst that there "
    "is",
    "§": "one run",
    "(n=": "seeds, where cells have different numbers of seeds",
    "¶": "the two means differ in the other direction, since they are over other seeds; this "
    "difference is over the seeds that both cells have",
    "±": "half of the 95 % interval over seeds; paired: over the seeds that both cells have",
}
OF_PAPER = "On the paper and its code, at their own scale:"
STATUS = {"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}
STATUS |= dict.fromkeys(("no number", "partial"), "no number")


class Grid(NamedTuple):
    """Headers, rows of texts, and how many columns lead with labels; a filled first text begins a
    group. Of a table with the paper's columns also each row's line, such as `ours`, and its
    seeds where the line alone says them."""

    headers: list[str]
    rows: list[list[str]]
    lead: int
    lines: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()


def _lines_of_group(members: Sequence[dict], lines: Sequence[str]) -> Sequence[str]:
    """The lines that say something of a group: the reference has no differences."""
    if all(entry["status"] == "copied" for entry in members):
        return [PAPER]
    if all(entry["is_base"] for entry in members):
        return [line for line in lines if line in (OURS, PAPER)]
    return lines


def grid(study: Study, cells: pd.DataFrame, printed: bool = False) -> Grid:
    """The cells laid out as in the paper; under `--vary` once for each combination of values. With
    `printed` the paper's numbers alone."""
    entries = _entries(study, cells)
    lines = _lines(entries, printed)
    differing = {line for line, name in COUNTS.items() if len(_seed_counts(entries, name)) > 1}
    groups = _group_axes(study)
    titles = [axis.title for axis in groups]
    columns = study.column_axis

    body = []
    of_rows: list[tuple[str, str]] = []  # line and seeds
    for labels in itertools.product(*(axis.labels for axis in groups)):
        members = _members(entries, groups, labels)
        names = _names(study, labels, members)
        if columns is None:
            texts = [_entry(members[0], line, line in differing) for line in lines]
            body.append([*names, *texts])
            continue
        by_column = [_members(members, [columns], [label])[:1] for label in columns.labels]
        for line in _lines_of_group(members, lines):
            seeds, texts = _line_texts(by_column, line, line in differing)
            body.append([*names, f"{line}{seeds}", *texts])
            of_rows.append((line, seeds))
            names = [""] * len(names)  # a group's labels stand on its first line

    if columns is None:
        return Grid([*titles, *lines], body, len(titles))
    headers = [_label(label, _members(entries, [columns], [label])) for label in columns.labels]
    row_lines, row_seeds = zip(*of_rows, strict=True)
    return Grid([*titles, columns.title, *headers], body, len(titles) + 1, row_lines, row_seeds)


def _line_texts(
    by_column: Sequence[Sequence[dict]], line: str, differing: bool
) -> tuple[str, list[str]]:
    """The seeds of a line, where its cells have as many and others not, and its texts by column."""
    seeds = ""
    shown = [entry for in_column in by_column for entry in in_column]
    if differing and len(_seed_counts(shown, COUNTS[line])) == 1:
        seeds = f" (n={_seed_counts(shown, COUNTS[line]).pop()})"
    each = differing and not seeds
    texts = []
    for in_column in by_column:
        texts.append(_entry(in_column[0], line, each) if in_column else "")
    return seeds, texts


def _entries(study: Study, cells: pd.DataFrame) -> list[dict]:
    """The cells by column, None where there is no number, whether each is the reference, and
    whether its mean and the reference's differ in the other direction than their seeds do, as
    far as is shown."""
    entries = cells.replace({np.nan: None}).to_dict("records")
    means = {}
    for entry in entries:
        name = "/".join(str(entry[axis.name]) for axis in study.axes)
        entry["is_base"] = entry["reference"] == name
        means[name] = entry["mean"]
    for entry in entries:
        of_means = 0.0
        if entry["mean"] is not None and means.get(entry["reference"]) is not None:
            of_means = entry["mean"] - means[entry["reference"]]
        paired = round(entry["paired_difference"] or 0.0, UNITS[entry["unit"]].decimals)
        entry["turned"] = of_means * paired < -LAST_BIT
    return entries


def _lines(entries: Sequence[dict], printed_alone: bool) -> list[str]:
    """Which of ours, paper, ours − reference and paper − reference the table has."""
    compared = any(entry["reference"] for entry in entries)
    printed = any(entry["printed"] is not None for entry in entries)
    lines = [OURS]
    if printed:
        lines.append(PAPER)
    if compared:
        lines.append(PAIRED)
    if compared and printed:
        lines.append(PRINTED)
    if printed_alone:
        return [line for line in lines if line in (PAPER, PRINTED)]
    return lines


def _seed_counts(entries: Sequence[dict], name: str) -> set[int]:
    """The different numbers of seeds of these cells."""
    counts = set()
    for entry in entries:
        compared = name == "n" or not entry["is_base"]
        if entry[name] and compared:
            counts.add(entry[name])
    return counts


def _group_axes(study: Study) -> list[Axis]:
    """The axes whose labels lead a row: those of `--vary`, then the table's rows."""
    varied = list(study.axes[len(study.axes) - len(study.varied) :])
    if study.row_axis:
        return [*varied, study.row_axis]
    if study.columns:
        return varied
    return [*varied, study.axes[0]]


def _members(entries: Sequence[dict], axes: Sequence[Axis], labels: Sequence[str]) -> list[dict]:
    """The cells with these labels along the axes."""
    members = list(entries)
    for axis, label in zip(axes, labels, strict=True):
        members = [entry for entry in members if str(entry[axis.name]) == label]
    return members


def _names(study: Study, labels: Sequence[str], members: Sequence[dict]) -> list[str]:
    """The labels that lead a row; the last is a row of the paper's, unless all are of `--vary`."""
    if study.columns and not study.rows:
        return list(labels)
    return [*labels[:-1], _label(labels[-1], members)]


def _label(label: str, rows: Sequence[dict]) -> str:
    """A label as the paper has it, with the encoder that was run in the place of a BERT that it
    names."""
    encoders = {row["encoder"] for row in rows if row["encoder"] and row["scale"] != "paper"}
    if "BERT" not in label or not encoders:
        return label
    return f"{label} ({', '.join(sorted(encoders))})"


def _entry(row: dict, line: str, says_seeds: bool) -> str:
    """What one line of a table says of a cell, with its seeds where cells have different ones."""
    value = row[LINES[line]]
    difference = line in (PAIRED, PRINTED)
    if difference and row["is_base"]:
        return "†" if line == PAIRED or value is not None else ""
    if value is None:
        return STATUS.get(row["status"], "—") if line == OURS else ""
    places = UNITS[row["unit"]].decimals
    text = number(value, places, signed=difference)
    if line in (PAPER, PRINTED):
        return text

    high = row["paired_ci95_high" if line == PAIRED else "ci95_high"]
    if high is not None and high - value > LAST_BIT:
        text += f" ± {number(high - value, places)}"
    text += _marked(row, line)
    if says_seeds and "§" not in text:
        text += f" (n={row[COUNTS[line]]})"
    return text


def _marked(row: dict, line: str) -> str:
    """The marks behind a number of ours."""
    if line == PAIRED:
        text = "¶" if row["turned"] else ""
        if row["different"] == "yes":
            text += " ▲" if (row["tested_low"] or 0) > 0 else " ▼"
        return text
    text = ""
    if row["is_base"]:
        text += "†"
    if row["failed_seeds"]:
        text += "‡"
    if row["n"] == 1:
        text += "§"
    return text


def marks(table: Grid) -> list[str]:
    """The meaning of each mark that the table uses, one sentence each."""
    text = "".join(map("".join, table.rows))
    return [
        f"{mark.strip('(=')}: {meaning}." for mark, meaning in MARK_MEANINGS.items() if mark in text
    ]


def laid_out(table: Grid, escape, style: str) -> str:
    """The table in one of tabulate's formats."""
    sides = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    rows = [list(map(escape, row)) for row in table.rows]
    headers = list(map(escape, table.headers))
    return tabulate(rows, headers, tablefmt=style, colalign=sides, disable_numparse=True)


def markdown_table(table: Grid) -> str:
    """A table in Markdown."""
    return laid_out(table, md, "pipe")


def markdown(result: Judged) -> str:
    """The whole Markdown page of a study: title, setting, table, marks, claims, footnotes."""
    table = grid(result.study, cell_frame(result))
    lines = [
        f"# {md(title(result))}",
        "",
        md(setting(result)),
        "",
        md(reading(result)),
        "",
        laid_out(table, md, "pipe"),
        "",
        *_items(*marks(table), *of_runs(result)),
    ]
    of_paper = of_the_paper(result)
    if of_paper:
        lines += ["", of_paper[0], "", *_items(*of_paper[1:])]
    if result.study.claims:
        lines += ["", "## Claims", "", *_items(*by_value(result))]
        for sentence in verdict_sentences(result):
            lines.append(f"{'  ' * sentence.depth}- {md(sentence.text)}")
        lines += ["", md(READING), "", md(caution(result)), "", *_items(*_claims(result))]
    return "\n".join(lines).rstrip() + "\n"


def html(result: Judged) -> str:
    """A study's title, setting, table, marks and verdicts as HTML, for a notebook."""
    table = grid(result.study, cell_frame(result))
    notes = [*marks(table)]
    if result.setup.scale.generated:
        notes.append(caution(result))
    for sentence in verdict_sentences(result):
        notes.append(f"{'· ' * sentence.depth}{sentence.text}")
    head = f"<p><b>{escape(title(result))}</b><br>{escape(setting(result))}</p>"
    body = laid_out(table, printable, "html")  # tabulate escapes
    return "\n".join([head, body, f"<p>{'<br>'.join(map(escape, notes))}</p>"])


def of_the_paper(result: Judged) -> list[str]:
    """Footnotes and the meaning of D-numbers, below their heading."""
    notes = [*result.study.footnotes, *mark_meanings(result)]
    return [OF_PAPER, *notes] if notes else []


def _items(*texts: str) -> list[str]:
    return [f"- {md(text)}" for text in texts]


def _claims(result: Judged) -> Iterator[str]:
    """Each claim with its quotation and what decides it."""
    for claim in result.parts[0].study.claims:  # at other values the claims are the same
        sentences = f"{claim.key}: {claim.text}"
        if claim.quote:
            place = f" ({claim.place})" if claim.place else ""
            sentences += f" “{claim.quote}”{place}."
        sentences += f" Decided by: {criterion(claim, result.parts[0].study)}."
        yield sentences
        if claim.note:
            yield claim.note


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
        laid_out(table, tex, "latex_raw"),
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
        "¶": r"$^{\P}$",
    }
)


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb. Two hyphens in a row would be set as a dash."""
    return printable(text).translate(LATEX).replace("--", "-{-}")
