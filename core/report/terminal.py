"""A study as plain text: its table as wide as the terminal, its verdicts, and English in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import printable
from core.report.sheet import Sheet
from core.report.statistics import JUDGED
from core.report.tables import (
    AVERAGE_LABEL,
    PAIRED,
    PRINTED,
    TextTable,
    grid,
    laid_out,
    markdown,
    marks,
)
from core.report.verdicts import Judged

SHORT_HEADERS = {PAIRED: "ours −\nreference", PRINTED: "paper −\nreference"}


def terminal(sheet: Sheet, width: int | None = None, whole: str = "") -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text.

    A table wider than `width` columns shows the average over the test sets alone, or is cut into
    parts below one another; `whole` is the file that has all of it."""
    table = grid(sheet.study, sheet.cells)
    body = _table_lines(table)
    if width is not None and _width(body) > width:
        body = _narrow(sheet, table, width, whole)
    below = [*marks(table), *sheet.troubles]
    if sheet.made_up:
        below.append(sheet.caution)
    below.append("")
    for sentence in sheet.sentences:
        below.append(f"{'    ' * sentence.depth}{sentence.text}")
    lines = ["", sheet.title, sheet.setting, sheet.reading, ""]
    lines += [*body, *(f"  {line}" for line in below)]
    return "\n".join(printable(line).rstrip() for line in lines)


@dataclass(frozen=True)
class Table:
    """A table with its verdicts: Markdown in a notebook, plain text elsewhere."""

    sheet: Sheet

    def _repr_markdown_(self) -> str:
        return markdown(self.sheet)

    def __str__(self) -> str:
        return terminal(self.sheet).lstrip("\n")

    __repr__ = __str__


def _table_lines(table: TextTable) -> list[str]:
    """The lines of a table; line breaks of its headers stay."""
    return laid_out(
        table, lambda text: "\n".join(map(printable, text.split("\n"))), "simple"
    ).splitlines()


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _narrow(sheet: Sheet, table: TextTable, width: int, whole: str) -> list[str]:
    """The lines of a table that is too wide: the average and its differences, or parts that are as
    wide as the terminal, each with the leading columns and at least one other."""
    if sheet.study.rows and AVERAGE_LABEL in table.headers:
        averages = grid(sheet.study, sheet.cells, averages=True)
        headers = [SHORT_HEADERS.get(header, header) for header in averages.headers]
        body = _table_lines(averages._replace(headers=headers))
        if _width(body) <= width:
            whole_width = f"{_width(_table_lines(table))} columns"
            place = f"{whole}, or {whole_width}" if whole else whole_width
            return [*body, "", f"Shown is the average over the test sets; all: {place}."]
    lines: list[str] = []
    first = table.lead
    while first < len(table.headers):
        last = first + 1
        part = _table_lines(_columns(table, first, last))
        while last < len(table.headers):
            wider = _table_lines(_columns(table, first, last + 1))
            if _width(wider) > width:
                break
            part = wider
            last += 1
        lines += [*part, ""]
        first = last
    return lines[:-1]


def _columns(table: TextTable, first: int, last: int) -> TextTable:
    """The table's leading columns and those from `first` to `last`."""
    headers = table.headers[: table.lead] + table.headers[first:last]
    rows = [row[: table.lead] + row[first:last] for row in table.rows]
    return TextTable(headers, rows, table.lead)


def english(result: Judged) -> str:
    """What a study's runs in English say, in a sentence: the claims that are settled."""
    sources = {run.source for run in result.runs if run.source}
    runs = " and ".join(sorted(sources))
    settled: dict[str, list[str]] = {}
    for verdict in result.verdicts:
        if verdict.outcome in JUDGED:
            settled.setdefault(verdict.outcome, []).append(verdict.claim.key)
    parts = [f"{outcome}: {', '.join(keys)}" for outcome, keys in settled.items()]
    words = "; ".join(parts) or "no claim is settled"
    where = f"In English (scale {result.setup.scale.name}, {runs} runs)"
    return f"{where}: {words}; `run_study.py show {result.study.name}`."
