"""Markdown and LaTeX tables with the paper's rows and columns in its order: ours, the paper's number, the difference."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from core.report import claims
from core.report.cells import CellResult, StudyResult
from core.report.dialects import md, tex
from core.report.grids import Entry, Grid, latex_table, markdown_table, number
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
    "‡": "a run that diverged, or whose vectors have one direction at the selected checkpoint, is among them; without a number of its own it counts as the worst that there is",
    "§": "one run: no spread over seeds is known; an interval in brackets is a bootstrap over its test pairs",
}
BOLD = "bold: the best, told from every other cell (the same rule, simultaneous over all pairs)"
OF_PAPER = "On the paper and its code, at their own scale"
PLAIN_MARKS = {"†": "the reference: the others are compared with it, and no difference can be told from zero"}


def grid(result: StudyResult) -> Grid:
    """The study's cells laid out as in the paper, once for each combination of varied values. Lines without a paper's number are left out."""
    lines = _printed(result)
    if not (count := len(result.study.varied)):
        return _grid(result, lines)
    body: list[tuple[Entry, ...]] = []
    breaks: list[int] = []
    for part in result.parts:
        table, axes = _grid(part, lines if part.study.columns is None else _printed(part)), part.study.axes[-count:]
        breaks += [len(body), *(len(body) + place for place in table.breaks)] if body else table.breaks
        leads = [tuple(Entry(axis.labels[0] if place == 0 else "") for axis in axes) for place in range(len(table.rows))]
        body += [(*lead, *row) for lead, row in zip(leads, table.rows, strict=True)]
    return Grid((*(axis.title for axis in axes), *table.headers), tuple(body), count + table.lead, tuple(breaks))


def _printed(result: StudyResult) -> tuple[str, ...]:
    """The lines of a table: ours alone if the paper prints no number."""
    return LINES if any(cell.cell.published is not None for cell in result.cells) else LINES[:1]


def _grid(result: StudyResult, lines: tuple[str, ...]) -> Grid:
    """The table of a study, or of one part of a study whose fields are varied."""
    study = result.study
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
    watermark = [f"**{md(result.scale.watermark)}**", ""] if result.scale.watermark else []
    notes = [f"- {md(note)}" for note in (*marks(result, table), *of_runs(result))]
    if of_paper(result):
        notes += ["", f"{OF_PAPER}:", "", *(f"- {md(note)}" for note in (*of_paper(result), *meanings(result)))]
    head = [f"# {md(title(result))}", "", md(setting(result)), "", *watermark, md(reading(result)), ""]
    text = [*head, markdown_table(table), "", *notes, *_claims(result)]
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
    asked = verdicts(result.parts[0])  # at other values the claims are the same
    notes = [f"- {one.claim.key}: {md(text)}" for one in asked for text in (text_here(_quoted(one.claim), result), one.claim.note) if text]
    held = [line for said in claims.by_value(result) for line in (f"- {md(said)}",)]
    return ["", "## Claims", "", *held, *([""] if held else []), body, "", md(claims.READING), "", md(claims.of_scale(result)), "", *notes]


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
    notes = (*marks(result, table), *of_runs(result), *([f"{OF_PAPER}:"] if of_paper(result) else []), *of_paper(result), *meanings(result))
    lines = [r"% needs \usepackage{booktabs,amssymb,adjustbox}", *_float(result, table), *_small(notes)]
    return "\n".join(lines) + "\n"


def _float(result: StudyResult, table: Grid) -> list[str]:
    """A table as a float with its caption and its label."""
    label = "".join(c if c.isalnum() else "-" for c in result.study.name)
    watermark = [rf"\textbf{{{tex(result.scale.watermark)}}}\par\smallskip"] if result.scale.watermark else []
    return [
        r"\begin{table}[tp]",
        r"\centering\small",
        rf"\caption{{{tex(title(result))}. {tex(setting(result))}. {tex(reading(result))}}}",
        rf"\label{{tab:{label}-{result.scale.name}-{result.profile}}}",
        *watermark,
        *latex_table(table),
        r"\end{table}",
    ]


def _small(notes: Sequence[str]) -> list[str]:
    return [r"\begingroup\footnotesize\raggedright", *(rf"\noindent {tex(note)}\par" for note in notes), r"\endgroup"]


def marks(result: StudyResult, table: Grid) -> tuple[str, ...]:
    """The meaning of each mark that the table uses, one sentence each."""
    told = any(cell.comparison.distinguishable for cell in result.cells)
    meanings = MARKS if told else MARKS | PLAIN_MARKS
    used = [f"{mark} {meaning}." for mark, meaning in meanings.items() if mark in table.text]
    return (*used, *([BOLD + "."] if any(entry.bold for row in table.rows for entry in row) else []))


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
