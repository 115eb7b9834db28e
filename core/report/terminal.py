"""A study as plain text: its table as wide as the terminal, and its verdicts."""

from dataclasses import dataclass

from core.formatting import printable
from core.report.sheet import Sheet
from core.report.tables import laid_out, markdown, marks
from core.report.text_table import AVERAGE_LABEL, TextTable, text_table


def terminal(sheet: Sheet, width: int | None = None, file: str = "") -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text.

    A table wider than `width` columns shows the average over the test sets alone, or is cut into
    parts below one another; `file` has all of it."""
    table = sheet.table
    body = _table_lines(table)
    whole = max(map(len, body))
    if width is not None and whole > width:
        words = []
        if sheet.study.rows and AVERAGE_LABEL in table.headers:
            table = text_table(sheet.study, sheet.cells, averages=True)
            takes = f"The whole table takes {whole} columns{file and f', or stands in {file}'}."
            words = ["", "This is the average over the test sets.", takes]
        headers = [
            header.replace("− ", "−\n").replace(", same", ",\nsame") for header in table.headers
        ]
        body = [*_parts(table._replace(headers=headers), width), *words]
    below = [*marks(table), *sheet.troubles]
    if sheet.setup.scale.generated:
        below.append(sheet.scope_note)
    below.append("")
    for sentence in sheet.sentences:
        below.append(f"{'    ' * sentence.depth}{sentence.text}")
    lines = ["", *filter(None, (sheet.title, sheet.setting, sheet.number_note)), ""]
    lines += [*body, *(f"  {line}" for line in below)]
    return "\n".join(printable(line).rstrip() for line in lines)


@dataclass(frozen=True)
class ShownTable:
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


def _parts(table: TextTable, width: int) -> list[str]:
    """The lines of a table in parts below one another, each with the leading columns and as many
    others as the width has room for, at least one."""
    lines = []
    first = table.lead
    while first < len(table.headers):
        for last in range(len(table.headers), first, -1):
            part = _table_lines(table.columns(first, last))
            if max(map(len, part)) <= width:
                break
        lines += [*part, ""]
        first = last
    return lines[:-1]
