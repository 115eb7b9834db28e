"""A study's table in the paper's layout, for Markdown, LaTeX and the terminal, from its cell frame."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.report.frames import cell_frame, claim_frame
from core.report.verdicts import Judged
from core.report.words import MARKS as VERDICT_MARKS
from core.report.words import (
    READING,
    by_value,
    meanings,
    of_runs,
    of_scale,
    reading,
    setting,
    text_here,
    title,
)
from core.spec.errors import counted, printable
from core.spec.study import Study
from core.spec.table import Axis

SAME = 1e-9  # runs that scatter by less read one number, and differ by its last bit
OURS, PAPER, PAIRED, PRINTED = "ours", "paper", "ours − reference (paired)", "paper − reference"
MARKS = {
    "▲": "significantly higher than the reference, by the interval that verdicts are tested with",
    "▼": "significantly lower than the reference, by the interval that verdicts are tested with",
    "†": "the reference",
    "‡": "some runs diverged or collapsed; a run without a number counts as the worst that there is",
    "§": "one run; an interval in brackets is a bootstrap over its test pairs",
}
BOLD = "bold: significantly better than every other cell"
SPREAD = "±: half of the 95 % interval over seeds. Paired: over the seeds that both cells have."
OF_PAPER = "On the paper and its code, at their own scale"
STATUS = {"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}


@dataclass(frozen=True, slots=True)
class Entry:
    """The text of one place in a table, in plain characters, and whether it is bold."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Headers, `lead` columns of labels, and rows of entries; `breaks` are rows with a rule above."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    lead: int
    breaks: tuple[int, ...]

    @property
    def text(self) -> str:
        """The text of all entries, one after the other."""
        return "".join(entry.text for row in self.rows for entry in row)


def number(value: float, places: int = 2, signed: bool = False) -> str:
    """A number with so many decimals and a real minus sign; no sign where it rounds to zero."""
    away = math.copysign(1e-9, value)  # an exact half is left by earlier rounding: away from zero
    text = f"{value + away:{'+' if signed else ''}.{places}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def grid(study: Study, cells: pd.DataFrame) -> Grid:
    """The cells laid out as in the paper; under `--vary` once for each combination of values."""
    rows = cells.replace({np.nan: None}).to_dict("records")
    table = {tuple(str(row[axis.name]) for axis in study.axes): row for row in rows}
    for labels, row in table.items():
        row["is_base"] = row["reference"] == "/".join(labels)
    usual = _usual([row["n"] for row in rows]), _usual([row["paired_n"] for row in rows])
    varied = study.axes[len(study.axes) - len(study.varied) :]
    count, body, breaks = len(study.axes) - len(varied), list[tuple[Entry, ...]](), list[int]()
    for chosen in itertools.product(*(axis.labels for axis in varied)):
        part = {labels[:count]: row for labels, row in table.items() if labels[count:] == chosen}
        headers, lines, lead, groups = _layout(study, part, _lines(rows), usual)
        breaks += [len(body) + place for place in groups if body or place]
        lead_in = [tuple(map(Entry, chosen)), *[tuple(Entry() for _ in chosen)] * (len(lines) - 1)]
        body += [(*values, *line) for values, line in zip(lead_in, lines, strict=True)]
    return Grid((*(axis.title for axis in varied), *headers), tuple(body), lead + len(varied), tuple(breaks))


def _usual(counts: Sequence[int]) -> int:
    """The most frequent number of seeds of a table's cells."""
    counts = [count for count in counts if count]
    return max(counts, key=counts.count, default=0)


def _lines(rows: Sequence[dict]) -> tuple[str, ...]:
    """The lines of a table: the paper's if it prints numbers, differences if there is a reference."""
    compared, printed = any(row["reference"] for row in rows), any(row["printed"] is not None for row in rows)
    lines = {OURS: True, PAPER: printed, PAIRED: compared, PRINTED: compared and printed}
    return tuple(line for line, wanted in lines.items() if wanted)


def _layout(study: Study, table: dict, lines: Sequence[str], usual: tuple[int, int]) -> tuple:
    """Headers, rows, number of label columns, and the rows that begin a group."""
    names = [axis.name for axis in study.axes]

    def at(axis: Axis | None, label: str) -> list[dict]:
        place = names.index(axis.name) if axis else 0
        return [row for labels, row in table.items() if axis is None or labels[place] == label]

    rows = study.axis(study.rows) if study.rows else None
    body: list[tuple[Entry, ...]] = []
    if study.columns is None:
        rows = rows or study.axes[0]
        for label in rows.labels:
            row = at(rows, label)[0]
            body.append((Entry(_label(label, row)), *(_entry(row, line, usual) for line in lines)))
        return (rows.title, *lines), body, 1, [0]
    columns, breaks = study.axis(study.columns), []
    for group in rows.labels if rows else ("",):
        in_group = at(rows, group)
        both = [[row for row in at(columns, label) if row in in_group] for label in columns.labels]
        breaks.append(len(body))
        copied = all(row["status"] == "copied" for row in in_group)
        for line in (PAPER,) if copied else lines:
            name = Entry(_label(group, *in_group) if len(body) == breaks[-1] else "")
            entries = [_entry(found[0] if found else None, line, usual) for found in both]
            body.append((*([name] if rows else []), Entry(line), *entries))
    headers = (rows.title, columns.title) if rows else (columns.title,)
    labels = [_label(label, *at(columns, label)) for label in columns.labels]
    return (*headers, *labels), body, len(headers), breaks


def _label(label: str, *rows: dict | None) -> str:
    """A label as the paper has it, with the encoder that was run in the place of a BERT that it names."""
    run = {row["encoder"] for row in rows if row and row["encoder"] and row["scale"] != "paper"}
    return f"{label} ({', '.join(sorted(run))})" if "BERT" in label and run else label


def _entry(row: dict | None, line: str, usual: tuple[int, int]) -> Entry:
    if row is None:
        return Entry()
    name, is_base = {PAPER: "printed", PRINTED: "printed_difference"}.get(line), row["is_base"]
    places = 0 if row["unit"] == "pairs" else 2 if row["unit"].endswith("× 100") else 3
    if name:
        value = row[name]
        if value is None or (line == PRINTED and is_base):
            return Entry("" if value is None else "†")
        return Entry(number(value, places, signed=line == PRINTED))
    if line == OURS:
        return Entry(_ours(row, places, usual[0], is_base), bool(row["best"]))
    if is_base or not row["paired_n"]:
        return Entry("†" if is_base else "")
    text = number(row["paired_difference"], places, signed=True)
    if row["paired_ci95_high"] is not None and row["paired_ci95_high"] - row["paired_difference"] > SAME:
        text += f" ± {number(row['paired_ci95_high'] - row['paired_difference'], places)}"
    if row["different"] == "yes":
        text += " ▲" if row["tested_low"] > 0 else " ▼"
    return Entry(text + _seeds(row["paired_n"], usual[1]))


def _ours(row: dict, places: int, usual: int, is_base: bool) -> str:
    if not row["n"]:
        return STATUS.get(row["status"], "—")
    text = number(row["mean"], places)
    if row["ci95_over"] == "seeds" and row["sd"] > SAME:
        text += f" ± {number(row['ci95_high'] - row['mean'], places)}"
    elif row["ci95_over"] == "pairs":
        text += f" [{number(row['ci95_low'], places)}, {number(row['ci95_high'], places)}]"
    marks = ("†" if is_base else "", "‡" if row["failed_seeds"] else "", "§" if row["n"] == 1 else "")
    return text + "".join(marks) + _seeds(row["n"], usual)


def _seeds(n: int, usual: int) -> str:
    return f" (n={n})" if n != usual and n > 1 else ""


def markdown(result: Judged) -> str:
    """The whole Markdown page of a study: title, setting, table, marks, claims, footnotes."""
    cells = cell_frame(result)
    table = grid(result.study, cells)
    bold = "**{}**".format
    rows = [[bold(md(e.text)) if e.bold else md(e.text) for e in row] for row in table.rows]
    body = _plain(rows, list(map(md, table.headers)), table.lead, "pipe")
    watermark = [f"**{md(result.scale.watermark)}**", ""] if result.scale.watermark else []
    notes = [f"- {md(note)}" for note in (*marks(table), *of_runs(result))]
    if result.study.footnotes:
        notes += [
            "",
            f"{OF_PAPER}:",
            "",
            *(f"- {md(note)}" for note in (*result.study.footnotes, *meanings(result))),
        ]
    head = [f"# {md(title(result))}", "", md(setting(result)), "", *watermark, md(reading(result)), ""]
    return "\n".join([*head, body, "", *notes, *_claims(result)]).rstrip() + "\n"


def _claims(result: Judged) -> list[str]:
    """The verdicts in Markdown, under their heading; nothing for a study without claims."""
    claims = result.study.claims
    if not claims:
        return []
    lines = [f"- {VERDICT_MARKS[row.verdict]} {md(sentence)}" for row, sentence in _sentences(result)]
    said = [f"- {md(text)}" for text in by_value(result)]
    notes = []
    for claim in result.parts[0].study.claims:  # at other values the claims are the same
        place = f" ({claim.place})" if claim.place else ""
        quote = f"“{claim.quote}”{place}. " if claim.quote else ""
        decided = f"Decided by: {claim.decided_by.rstrip('.')}." if claim.decided_by else ""
        said_of_it = (f"{claim.key}: {claim.text} {quote}{decided}", claim.note)
        notes += [f"- {md(text_here(text, result))}" for text in said_of_it if text]
    return ["", "## Claims", "", *said, *lines, "", md(READING), "", md(of_scale(result)), "", *notes]


def _sentences(result: Judged) -> Iterator[tuple]:
    """Each claim's row, and its verdict as a sentence of at most 20 words."""
    for row in claim_frame([result]).itertuples():
        yield row, verdict_sentence(row)


def filled(readme: str, file: Path) -> str:
    """A README with the claims' rows between its marks, as claims.csv has them at scale mini, profile paper.

    The first mark lists the claims: `<!-- results E7.1 T3.2 -->`; `<!-- end -->` ends them.
    """
    claims = pd.read_csv(file)
    rows = claims[(claims["scale"] == "mini") & (claims["profile"] == "paper")].set_index("claim")

    def table(marks: re.Match) -> str:
        lines = ["| claim | printed | here | verdict |", "|---|--:|--:|---|"]
        for key in marks[2].split():
            row = rows.loc[key.replace("_", " ")]
            interval = f"{signed(row.estimate)} [{signed(row.ci95_low)}, {signed(row.ci95_high)}]"
            printed = "" if pd.isna(row.printed) else signed(row.printed)
            seeds = f" ({int(row.n)} seeds)" if row.n else ""
            lines.append(f"| {row.text} | {printed} | {interval if row.n else ''} | {row.verdict}{seeds} |")
        return "\n".join([marks[1], *lines, marks[3]])

    return re.sub(r"(<!-- results (.*?) -->)\n.*?(<!-- end -->)", table, readme, flags=re.DOTALL)


def verdict_sentence(row) -> str:
    """A claim's verdict in words, such as "T7.2 undecided (3 seeds): −0.40 points; printed −1.90."; what is
    not judged has its estimate, too, and the reason."""
    text = f"{row.claim} {row.verdict}{' in full' if row.n and row.verdict == 'not run' else ''}"
    if row.n:
        seeds = f"at {row.tested_n} of {row.n} seeds" if 0 < row.tested_n < row.n else counted(row.n, "seed")
        text += f" ({seeds}): {signed(row.estimate)} {row.unit}".rstrip()
        if np.isfinite(row.ci95_low):
            text += f", 95 % interval {signed(row.ci95_low)} to {signed(row.ci95_high)}"
        if np.isfinite(row.printed):
            text += f"; printed {signed(row.printed)}"
    reason = row.reason.rstrip(".")
    return f"{text}{'; ' if row.n and reason else ': ' if reason else ''}{reason}."


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    return number(value, 2 if abs(value) >= 0.1 or value == 0 else 3, signed=True)


def terminal(result: Judged) -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text."""
    table = grid(result.study, cell_frame(result))
    rows = [[entry.text for entry in row] for row in table.rows]
    body = _plain(rows, table.headers, table.lead, "simple")
    said = [f"{VERDICT_MARKS[row.verdict]} {sentence}" for row, sentence in _sentences(result)]
    below = [f"  {line}" for line in (*marks(table), "", *said, *by_value(result))]
    lines = ["", title(result), setting(result), "", *body.splitlines(), *below]
    return "\n".join(printable(line).rstrip() for line in lines)


def marks(table: Grid) -> tuple[str, ...]:
    """The meaning of each mark that the table uses, one sentence each."""
    used = [f"{mark} {meaning}." for mark, meaning in MARKS.items() if mark in table.text]
    used += [f"{BOLD}."] if any(entry.bold for row in table.rows for entry in row) else []
    used += ["n: seeds, where a cell has more or fewer than most."] if "(n=" in table.text else []
    return (*used, *([SPREAD] if "±" in table.text else []))


def _plain(rows: Sequence[Sequence[str]], headers: Sequence[str], lead: int, style: str) -> str:
    sides = ["left"] * lead + ["right"] * (len(headers) - lead)
    return tabulate(rows, headers, tablefmt=style, colalign=sides, disable_numparse=True)


def latex(result: Judged) -> str:
    r"""The table as a LaTeX fragment: a `table` float that needs booktabs, amssymb and adjustbox.

    A table that is too large is scaled to fit. The notes, which may fill a page, stand behind the float.
    """
    table = grid(result.study, cell_frame(result))
    paper = [f"{OF_PAPER}:", *result.study.footnotes] if result.study.footnotes else []
    notes = (*marks(table), *of_runs(result), *paper, *meanings(result))
    name = f"{result.study.name}-{result.scale.name}-{result.profile}"
    label = "".join(c if c.isalnum() else "-" for c in name)
    watermark = [rf"\textbf{{{tex(result.scale.watermark)}}}\par\smallskip"] if result.scale.watermark else []
    body = []
    for place, row in enumerate(table.rows):
        body += [r"\addlinespace"] if place in table.breaks else []
        body.append(" & ".join(rf"\textbf{{{tex(e.text)}}}" if e.bold else tex(e.text) for e in row) + r" \\")
    lines = [
        r"% needs \usepackage{booktabs,amssymb,adjustbox}",
        r"\begin{table}[tp]", r"\centering\small",
        rf"\caption{{{tex(title(result))}. {tex(setting(result))}. {tex(reading(result))}}}",
        rf"\label{{tab:{label}}}",
        *watermark,
        r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}",
        rf"\begin{{tabular}}{{{'l' * table.lead}{'r' * (len(table.headers) - table.lead)}}}", r"\toprule",
        " & ".join(map(tex, table.headers)) + r" \\", r"\midrule",
        *body, r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}",
        r"\end{table}", r"\begingroup\footnotesize\raggedright",
        *(rf"\noindent {tex(note)}\par" for note in notes),
        r"\endgroup",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


MARKDOWN = str.maketrans({  # an entity for \\, since one before the other of `\\|` would end the cell
    "\\": "&#92;", "&": "&amp;", **{c: f"\\{c}" for c in "|*_<`$~!"},
})  # fmt: skip
# One character at a time, so that nothing is escaped twice.
LATEX = {
    "\\": r"\textbackslash{}", **{c: f"\\{c}" for c in "{}$&%#_"}, "[": "{[}", "]": "{]}", "*": "{*}",
    "`": "{`}", '"': "''",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$", "±": r"$\pm$",
    "−": "$-$", "—": "---", "–": "--", "×": r"$\times$", "·": r"$\cdot$", "η": r"$\eta$", "λ": r"$\lambda$",
    "…": r"\ldots{}", "ε": r"$\epsilon$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", "“": "``", "”": "''",
    "’": "'", "≈": r"$\approx$", "τ": r"$\tau$", "θ": r"$\theta$", "▲": r"$^{\blacktriangle}$",
    "▼": r"$^{\blacktriangledown}$", "†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "§": r"$^{\S}$",
    "ß": r"\ss{}",
}  # fmt: skip
ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327", "`'^~\"rvc", strict=True))


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb, in ASCII; a letter that LaTeX cannot set by its number, as U+6A21."""
    pairs = itertools.pairwise(f" {printable(text)}")
    # Two hyphens in a row would be set as a dash.
    return "".join("{-}" if before + c == "--" else _letter(c) for before, c in pairs)


def _letter(c: str) -> str:
    if c in LATEX:
        return LATEX[c]
    if c.isascii():
        return c
    base, *accents = list(unicodedata.normalize("NFD", c))
    if base.isascii() and base.isalpha() and len(accents) == 1 and accents[0] in ACCENTS:
        return rf"\{ACCENTS[accents[0]]}{{{base}}}"
    return f"U+{ord(c):04X}"
