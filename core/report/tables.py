"""Markdown and LaTeX tables with the paper's rows and columns in its order: ours, the paper's number, the difference."""

from __future__ import annotations

from dataclasses import dataclass

from tabulate import tabulate

from core.report import claims
from core.report.cells import CellResult, StudyResult
from core.report.dialects import md, tex
from core.report.naming import label_here, text_here
from core.report.notes import meanings, of_paper, of_runs, reading, setting, title
from core.report.quantities import decimals
from core.report.verdicts import verdicts
from core.spec.claim import Claim

SAME = 1e-9  # runs that scatter by less read one number, and differ by its last bit
LINES = ("ours", "paper", "ours − paper")
TESTED = "the interval of the difference, paired by seed, that its claim is tested with (no claim: simultaneous over the table)"
MARKS = {
    "▲": f"higher than the reference: zero lies outside {TESTED}",
    "▼": f"lower than the reference: zero lies outside {TESTED}",
    "†": "the reference: the others are compared with it",
    "‡": "a collapsed or diverged run is among them; without a number of its own it counts as the worst that there is",
    "§": "one run: no spread over seeds is known; an interval in brackets is a bootstrap over its test pairs",
}
BOLD = "bold: the best, told from every other cell (the same rule, simultaneous over all pairs)"
OF_PAPER = "On the paper and its code, at their own scale"
PLAIN_MARKS = {"†": "the reference: the others are compared with it, and no difference can be told from zero"}


@dataclass(frozen=True, slots=True)
class Entry:
    """The text of one place in a table, in plain characters, and whether it is bold."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table without a dialect: headers, `lead` columns of labels, and rows of entries; `breaks` are rows with a rule above."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    lead: int
    breaks: tuple[int, ...]


def grid(result: StudyResult) -> Grid:
    """The study's cells laid out as in the paper. Lines without a paper's number are left out."""
    study = result.study
    lines = LINES if any(cell.cell.published is not None for cell in result.cells) else LINES[:1]
    if study.columns is None:
        rows = study.axes[0] if study.rows is None else study.axis(study.rows)
        body = [
            (Entry(label_here(label, result)), *(_entry(result.at(**{rows.name: label}), line, result) for line in lines))
            for label in rows.labels
        ]
        return Grid((rows.title, *lines), tuple(body), 1, ())
    columns = study.axis(study.columns)
    groups: tuple[str | None, ...] = study.axis(study.rows).labels if study.rows else (None,)
    body, breaks = [], []
    for group in groups:
        breaks += [len(body)] if body and len(lines) > 1 else []
        shown = _lines(result, study.rows, group, lines)
        for line in shown:
            entries = []
            for label in columns.labels:
                labels = {columns.name: label} | ({study.rows: group} if study.rows and group is not None else {})
                entries.append(_entry(result.at(**labels), line, result))
            lead = [] if group is None else [Entry(label_here(group, result) if line == shown[0] else "")]
            body.append((*lead, Entry(line), *entries))
    headers = (columns.title,) if study.rows is None else (study.axis(study.rows).title, columns.title)
    return Grid((*headers, *(label_here(label, result) for label in columns.labels)), tuple(body), len(headers), tuple(breaks))


def _lines(result: StudyResult, axis: str | None, group: str | None, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a group of rows; the paper's line alone if no cell of the group is ever run."""
    cells = [cell for cell in result.cells if axis is None or cell.cell.labels[result.study.axes.index(result.study.axis(axis))] == group]
    return ("paper",) if cells and all(cell.cell.copied for cell in cells) else lines


def markdown(result: StudyResult) -> str:
    """The whole Markdown page of a study: title, setting, table, marks, footnotes."""
    table = grid(result)
    rows = [[f"**{md(e.text)}**" if e.bold else md(e.text) for e in row] for row in table.rows]
    align = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    body = tabulate(rows, [md(h) for h in table.headers], tablefmt="pipe", colalign=align, disable_numparse=True)
    watermark = [f"**{md(result.scale.watermark)}**", ""] if result.scale.watermark else []
    notes = [f"- {md(note)}" for note in (*marks(result, table), *of_runs(result))]
    if of_paper(result):
        notes += ["", f"{OF_PAPER}:", "", *(f"- {md(note)}" for note in (*of_paper(result), *meanings(result)))]
    text = [f"# {md(title(result))}", "", md(setting(result)), "", *watermark, md(reading(result)), "", body, "", *notes, *_claims(result)]
    return "\n".join(text).rstrip() + "\n"


def _claims(result: StudyResult) -> list[str]:
    """The claims' table in Markdown, under its heading; nothing for a study without claims."""
    found = verdicts(result)
    if not found:
        return []
    rows = [
        [
            one.claim.key,
            md(text_here(one.claim.text, result)),
            md(f"{claims.MARKS[one.outcome]} {one.outcome}{_why(one.reason)}"),
            claims.measured(one),
            claims.printed(one),
        ]
        for one in found
    ]
    body = tabulate(rows, ["claim", "it says", "verdict", "effect", "as printed"], tablefmt="pipe", disable_numparse=True)
    notes = [f"- {one.claim.key}: {md(text)}" for one in found for text in (text_here(_quoted(one.claim), result), one.claim.note) if text]
    return ["", "## Claims", "", body, "", md(claims.READING), "", md(claims.of_scale(result)), "", *notes]


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""


def _quoted(claim: Claim) -> str:
    """The paper's words with their place, and the comparison that decides the claim."""
    place = f" ({claim.place})" if claim.place else ""
    parts = [f"“{claim.quote}”{place}." if claim.quote else "", f"Decided by: {claim.decided_by.rstrip('.')}." if claim.decided_by else ""]
    return " ".join(part for part in parts if part)


def latex(result: StudyResult) -> str:
    r"""The table as a LaTeX fragment: a `table` float that needs the packages booktabs, amssymb and adjustbox.

    A table that is too wide or too tall is scaled to fit; the notes stand behind the float, since they may be longer than a page.
    """
    table = grid(result)
    lines = [
        r"% needs \usepackage{booktabs,amssymb,adjustbox}",
        r"\begin{table}[tp]",
        r"\centering\small",
        rf"\caption{{{tex(title(result))}. {tex(setting(result))}. {tex(reading(result))}}}",
        rf"\label{{tab:{''.join(c if c.isalnum() else '-' for c in result.study.name)}-{result.scale.name}-{result.profile}}}",
    ]
    if result.scale.watermark:
        lines.append(rf"\textbf{{{tex(result.scale.watermark)}}}\par\smallskip")
    lines += [
        r"\begin{adjustbox}{max width=\linewidth,max totalheight=0.8\textheight}",
        rf"\begin{{tabular}}{{{'l' * table.lead}{'r' * (len(table.headers) - table.lead)}}}",
        r"\toprule",
        " & ".join(tex(header) for header in table.headers) + r" \\",
        r"\midrule",
    ]
    for place, row in enumerate(table.rows):
        lines += [r"\addlinespace"] if place in table.breaks else []
        lines.append(" & ".join(rf"\textbf{{{tex(e.text)}}}" if e.bold else tex(e.text) for e in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}", r"\end{table}", r"\begingroup\footnotesize\raggedright"]
    notes = (*marks(result, table), *of_runs(result), *([f"{OF_PAPER}:"] if of_paper(result) else []), *of_paper(result), *meanings(result))
    lines += [rf"\noindent {tex(note)}\par" for note in notes]
    return "\n".join([*lines, r"\endgroup"]) + "\n"


def marks(result: StudyResult, table: Grid) -> tuple[str, ...]:
    """The meaning of each mark that the table uses, one sentence each."""
    text = "".join(entry.text for row in table.rows for entry in row)
    told = any(cell.comparison.distinguishable for cell in result.cells)
    meanings = MARKS if told else MARKS | PLAIN_MARKS
    used = [f"{mark} {meaning}." for mark, meaning in meanings.items() if mark in text]
    return (*used, *([BOLD + "."] if any(entry.bold for row in table.rows for entry in row) else []))


def number(value: float, signed: bool = False, places: int = 2) -> str:
    """A number with so many decimals and a real minus sign."""
    return f"{value:{'+' if signed else ''}.{places}f}".replace("-", "−")


def _entry(cell: CellResult | None, line: str, result: StudyResult) -> Entry:
    if cell is None:
        return Entry()
    places = decimals(cell.metric)
    if line == "paper":
        return Entry("" if cell.cell.published is None else number(cell.cell.published, places=places))
    if line == "ours − paper":
        return Entry("" if cell.difference is None else number(cell.difference, signed=True, places=places))
    if not cell.estimate.n:
        return Entry({"diverged": "div.‡", "collapsed": "no number‡", "unavailable": "n/a", "copied": ""}.get(cell.status, "—"))
    return Entry(_ours(cell, result.seeds, places), cell.is_best)


def _ours(cell: CellResult, seeds: int, places: int) -> str:
    estimate = cell.estimate
    text = number(estimate.mean, places=places)
    if cell.interval == "seeds" and estimate.sd > SAME:
        text += f" ± {number(estimate.high - estimate.mean, places=places)}"
    elif cell.interval == "pairs":
        text += f" [{number(estimate.low, places=places)}, {number(estimate.high, places=places)}]"
    if cell.comparison.distinguishable:
        text += " ▲" if cell.comparison.difference > 0 else " ▼"
    text += (
        ("†" if cell.is_reference else "")
        + ("‡" if cell.count("collapsed") + cell.count("diverged") else "")
        + ("§" if estimate.n == 1 else "")
    )
    return text + (f" (n={estimate.n})" if estimate.n > 1 and estimate.n != seeds else "")
