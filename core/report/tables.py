"""A study's table in the paper's layout, for Markdown, LaTeX and the terminal, from its cell frame."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mode
from typing import NamedTuple

import numpy as np
import pandas as pd
from tabulate import tabulate

from core.report.frames import cell_frame, claim_frame
from core.report.verdicts import Judged
from core.report.words import MARKS as VERDICT_MARKS
from core.report.words import READING, by_value, caution, meanings, of_runs, reading, setting, title
from core.spec.errors import counted, printable
from core.spec.study import Study

SAME = 1e-9  # runs that scatter by less read one number, and differ by its last bit
OURS, PAPER, PAIRED, PRINTED = "ours", "paper", "ours − reference (paired)", "paper − reference"
LINES = {OURS: "mean", PAPER: "printed", PAIRED: "paired_difference", PRINTED: "printed_difference"}
MARKS = {
    "▲": "significantly higher than the reference, by the interval that verdicts are tested with",
    "▼": "significantly lower than the reference, by the interval that verdicts are tested with",
    "†": "the reference",
    "‡": "some runs diverged or collapsed; a run without a number counts as the worst that there is",
    "§": "one run",
    "(n=": "seeds, where a cell has more or fewer than most",
    "±": "half of the 95 % interval over seeds; paired: over the seeds that both cells have",
}
OF_PAPER = "On the paper and its code, at their own scale:"
STATUS = {"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}
STATUS |= dict.fromkeys(("no number", "partial"), "no number")


class Grid(NamedTuple):
    """Headers, rows of texts, and how many columns lead with labels; a filled first text begins a group."""

    headers: list[str]
    rows: list[list[str]]
    lead: int


def number(value: float, places: int = 2, signed: bool = False) -> str:
    """A number with so many decimals and a real minus sign; no sign where it rounds to zero."""
    away = math.copysign(1e-9, value)  # an exact half is left by earlier rounding: away from zero
    text = f"{value + away:{'+' if signed else ''}.{places}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    return number(value, 2 if abs(value) >= 0.1 or value == 0 else 3, signed=True)


def interval(low: float, high: float) -> str:
    """An interval in brackets; empty where its bounds are unknown."""
    return f"[{signed(low)}, {signed(high)}]" if np.isfinite(low) else ""


def grid(study: Study, cells: pd.DataFrame) -> Grid:
    """The cells laid out as in the paper; under `--vary` once for each combination of values."""
    rows = cells.replace({np.nan: None}).to_dict("records")
    for row in rows:
        row["is_base"] = row["reference"] == "/".join(str(row[axis.name]) for axis in study.axes)
    compared, printed = any(row["reference"] for row in rows), any(row["printed"] is not None for row in rows)
    wanted = {OURS: True, PAPER: printed, PAIRED: compared, PRINTED: compared and printed}
    lines = [line for line in wanted if wanted[line]]
    usual = {name: mode([row[name] for row in rows if row[name]] or [0]) for name in ("n", "paired_n")}

    columns = study.axis(study.columns) if study.columns else None
    down = study.axis(study.rows) if study.rows else None if columns else study.axes[0]
    groups = [*study.axes[len(study.axes) - len(study.varied) :], *([down] if down else [])]
    headers, body = [axis.title for axis in groups], list[list[str]]()
    for labels in itertools.product(*(axis.labels for axis in groups)):
        members = _at(rows, {axis.name: label for axis, label in zip(groups, labels, strict=True)})
        names = [*labels[:-1], _label(labels[-1], members)] if down else list(labels)
        if columns is None:
            body.append([*names, *(_entry(members[0], line, usual) for line in lines)])
            continue
        copied = all(row["status"] == "copied" for row in members)
        for line in [PAPER] if copied else lines:
            found = [_at(members, {columns.name: label})[:1] for label in columns.labels]
            body.append([*names, line, *(_entry(cell[0], line, usual) if cell else "" for cell in found)])
            names = [""] * len(names)
    if columns is None:
        return Grid([*headers, *lines], body, len(headers))
    titles = [_label(label, _at(rows, {columns.name: label})) for label in columns.labels]
    return Grid([*headers, columns.title, *titles], body, len(headers) + 1)


def _at(rows: Sequence[dict], labels: dict[str, str]) -> list[dict]:
    """The cells with these labels."""
    return [row for row in rows if all(str(row[axis]) == label for axis, label in labels.items())]


def _label(label: str, rows: Sequence[dict]) -> str:
    """A label as the paper has it, with the encoder that was run in the place of a BERT that it names."""
    run = {row["encoder"] for row in rows if row["encoder"] and row["scale"] != "paper"}
    return f"{label} ({', '.join(sorted(run))})" if "BERT" in label and run else label


def _entry(row: dict, line: str, usual: dict[str, int]) -> str:
    """What one line of a table says of a cell."""
    value, of = row[LINES[line]], "paired_" if line == PAIRED else ""
    if line in (PAIRED, PRINTED) and row["is_base"]:
        return "†" if line == PAIRED or value is not None else ""
    if value is None:
        return STATUS.get(row["status"], "—") if line == OURS else ""
    places = 0 if row["unit"] == "pairs" else 2 if row["unit"].endswith("× 100") else 3
    text = number(value, places, signed=line in (PAIRED, PRINTED))
    if line in (PAPER, PRINTED):
        return text
    high, n = row[f"{of}ci95_high"], row[f"{of}n"]
    if high is not None and high - value > SAME:
        text += f" ± {number(high - value, places)}"
    if line == OURS:
        marked = {"†": row["is_base"], "‡": row["failed_seeds"], "§": n == 1}
    else:
        above, differs = (row["tested_low"] or 0) > 0, row["different"] == "yes"
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
    table, of_paper = grid(result.study, cell_frame(result)), of_the_paper(result)
    lines = [
        f"# {md(title(result))}", "", md(setting(result)), "", md(reading(result)), "",
        _laid_out(table, md, "pipe"), "", *_items(*marks(table), *of_runs(result)),
        *(["", of_paper[0], "", *_items(*of_paper[1:])] if of_paper else []),
    ]  # fmt: skip
    if result.study.claims:
        lines += ["", "## Claims", "", *_items(*by_value(result), *_verdicts(result)), "", md(READING), ""]
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


def _verdicts(result: Judged) -> list[str]:
    """Each claim's mark and verdict, in a sentence of at most 20 words."""
    rows = claim_frame([result]).itertuples()
    return [f"{VERDICT_MARKS[row.verdict]} {verdict_sentence(row)}" for row in rows]


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


def filled(readme: str, file: Path, times: Mapping[str, str]) -> str:
    """A README with claims' rows and times between its marks: rows as claims.csv has them at scale mini and
    profile paper, and how long a run takes by scale.

    `<!-- results E7.1 T3.2 -->` lists claims, `<!-- time demo -->` names a scale; `<!-- end -->` ends both.
    """
    claims = pd.read_csv(file)
    rows = claims[(claims["scale"] == "mini") & (claims["profile"] == "paper")].set_index("claim")

    def table(marks: re.Match) -> str:
        lines = ["| claim | printed | here | verdict |", "|---|--:|--:|---|"]
        for key in marks[2].split():
            row = rows.loc[key.replace("_", " ")]
            here = f"{signed(row.estimate)} {interval(row.ci95_low, row.ci95_high)}" if row.n else ""
            printed = "" if pd.isna(row.printed) else signed(row.printed)
            seeds = f" ({int(row.n)} seeds)" if row.n else ""
            lines.append(f"| {row.text} | {printed} | {here} | {row.verdict}{seeds} |")
        return "\n".join([marks[1], *lines, marks[3]])

    readme = re.sub(r"(<!-- results (.*?) -->)\n.*?(<!-- end -->)", table, readme, flags=re.DOTALL)
    return re.sub(
        r"(<!-- time (\w+) -->)(.*?)(<!-- end -->)",
        lambda mark: mark[1] + times.get(mark[2], mark[3]) + mark[4],
        readme,
    )


def terminal(result: Judged) -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text."""
    table = grid(result.study, cell_frame(result))
    below = [f"  {line}" for line in (*marks(table), "", *_verdicts(result), *by_value(result))]
    body = _laid_out(table, printable, "simple").splitlines()
    lines = ["", title(result), setting(result), "", *body, *below]
    return "\n".join(printable(line).rstrip() for line in lines)


def latex(result: Judged) -> str:
    r"""The table as a LaTeX fragment: a `table` float that needs amssymb and adjustbox. Its notes, which may
    fill a page, stand behind the float."""
    table = grid(result.study, cell_frame(result))
    notes = (*marks(table), *of_runs(result), *of_the_paper(result))
    lines = [
        r"% needs \usepackage{amssymb,adjustbox}, and LuaLaTeX for names in other scripts",
        r"\begin{table}[tp]", r"\centering\small",
        rf"\caption{{{tex(title(result))}. {tex(setting(result))}. {tex(reading(result))}}}",
        rf"\label{{tab:{result.study.name}-{result.setup.scale.name}-{result.setup.profile}}}",
        r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}",
        _laid_out(table, tex, "latex_raw"),
        r"\end{adjustbox}", r"\end{table}", r"\begingroup\footnotesize\raggedright",
        *(rf"\noindent {tex(note)}\par" for note in notes), r"\endgroup",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


MARKDOWN = str.maketrans({  # an entity for \\, since one before the other of `\\|` would end the cell
    "\\": "&#92;", "&": "&amp;", **{c: f"\\{c}" for c in "|*_<`$~!"},
})  # fmt: skip
LATEX = str.maketrans({  # [ and * would be options of the line break before them
    "\\": r"\textbackslash{}", **{c: f"\\{c}" for c in "{}$&%#_"}, **{c: f"{{{c}}}" for c in "[]*`"},
    '"': "''", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "±": r"$\pm$", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "η": r"$\eta$", "λ": r"$\lambda$",
    "ε": r"$\epsilon$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\to$", "≈": r"$\approx$", "τ": r"$\tau$",
    "θ": r"$\theta$", "▲": r"$^{\blacktriangle}$", "▼": r"$^{\blacktriangledown}$",
    "†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "§": r"$^{\S}$",
})  # fmt: skip


def md(text: str) -> str:
    """The text in Markdown, in a table or outside."""
    return printable(text).translate(MARKDOWN).replace("](", r"]\(").replace("][", r"]\[")


def tex(text: str) -> str:
    """The text in LaTeX with amssymb. Two hyphens in a row would be set as a dash."""
    return printable(text).translate(LATEX).replace("--", "-{-}")
