"""A study as plain text: its table as wide as the terminal, its verdicts, and English in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from core.config.quantities import UNITS
from core.errors import printable
from core.report.claims import JUDGED, verdict_sentences
from core.report.frames import cell_frame
from core.report.numbers import number
from core.report.tables import OURS, PAIRED, PAPER, PRINTED, Grid, grid, laid_out, marks
from core.report.verdicts import Judged
from core.report.words import by_value, caution, damaged, setting, title
from core.study.study import Study

AVERAGE_LABEL = "avg"  # the column with the average over the test sets
SHORT_TABLE = {
    PAIRED: "ours −\nreference",
    PRINTED: "paper −\nreference",
}  # headers of a narrow table
MOST_NAMED_ROWS = 4  # of a table that a line names
WHOSE = {"own": "your", "published": "published", "imported": "contributed"}


def terminal(result: Judged, width: int | None = None, whole: str = "") -> str:
    """Title, table, the marks' meaning and a sentence for each claim, as plain text.

    A table wider than `width` columns shows the average over the test sets alone, or is cut into
    parts below one another; `whole` is the file that has all of it."""
    table = _without_empty(grid(result.study, cell_frame(result)))
    body = _without_marks(table)
    if width is not None and _width(body) > width:
        body = _narrow(result.study, table, width, whole, _width(body))
    below = [*marks(table), *damaged(result)]
    if result.setup.scale.generated:
        below.append(caution(result))
    below.append("")
    for sentence in verdict_sentences(result):
        below.append(f"{'    ' * sentence.depth}{sentence.text}")
    below += by_value(result)
    lines = ["", title(result), setting(result), "", *body, *(f"  {line}" for line in below)]
    return "\n".join(printable(line).rstrip() for line in lines)


def _without_marks(table: Grid, escape=printable) -> list[str]:
    """The lines of a table."""
    return laid_out(table, escape, "simple").splitlines()


def _without_empty(table: Grid) -> Grid:
    """The table without lines that have no number at all."""
    kept = []
    for place, row in enumerate(table.rows):
        if any(row[: table.lead - 1]) or any(row[table.lead :]):
            kept.append(place)
    return table._replace(
        rows=[table.rows[place] for place in kept],
        lines=tuple(table.lines[place] for place in kept if table.lines),
        seeds=tuple(table.seeds[place] for place in kept if table.seeds),
    )


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _narrow(study: Study, table: Grid, width: int, whole: str, wide: int) -> list[str]:
    """The lines of a table that is too wide: the average and its differences, or several parts."""
    if study.rows and study.columns and AVERAGE_LABEL in table.headers:
        body = _without_marks(_average_rows(table), _kept_breaks)
        if _width(body) <= width:
            place = f"{whole}, or a terminal of {wide} columns" if whole else f"{wide} columns"
            return [*body, "", f"  This is the average over the test sets; all: {place}."]
    lines: list[str] = []
    for part in _table_parts(table, width):
        lines += [*_without_marks(part), ""]
    return lines[:-1]


def _kept_breaks(text: str) -> str:
    """The text without what moves a cursor, but for the line breaks of headers."""
    return "\n".join(map(printable, text.split("\n")))


def _average_rows(table: Grid) -> Grid:
    """The column of the averages with its lines as columns: a row for each of the table's rows."""
    column = table.headers.index(AVERAGE_LABEL)
    names = table.lead - 1  # the last leading column names the line
    lines = list(dict.fromkeys(table.lines))
    rows: list[list[str]] = []
    for row, line, seeds in zip(table.rows, table.lines, table.seeds, strict=True):
        if line in (OURS, PAPER) and any(row[:names]):
            rows.append([*row[:names], *[""] * len(lines)])
        text = row[column]
        rows[-1][names + lines.index(line)] = f"{text}{seeds}" if text else ""
    headers = [SHORT_TABLE.get(line, line) for line in lines]
    return Grid([*table.headers[:names], *headers], rows, names)


def _table_parts(table: Grid, width: int) -> Iterator[Grid]:
    """The table in parts that are as wide as the terminal, each with the leading columns and at
    least one other."""
    first = table.lead
    while first < len(table.headers):
        last = first + 1
        while last < len(table.headers):
            if _width(_without_marks(_column_parts(table, first, last + 1))) > width:
                break
            last += 1
        yield _column_parts(table, first, last)
        first = last


def _column_parts(table: Grid, first: int, last: int) -> Grid:
    """The table's leading columns and those from `first` to `last`."""
    headers = table.headers[: table.lead] + table.headers[first:last]
    rows = [row[: table.lead] + row[first:last] for row in table.rows]
    return Grid(headers, rows, table.lead)


def english(result: Judged) -> str:
    """What a study's runs in English say, in a sentence: the first rows of the table and the
    claims that are settled."""
    cells = cell_frame(result)
    sources = {run.source for run in result.runs if run.source}
    runs = " and ".join(WHOSE[name] for name in sorted(sources))
    settled: dict[str, list[str]] = {}
    for verdict in result.verdicts:
        if verdict.outcome in JUDGED:
            settled.setdefault(verdict.outcome, []).append(verdict.claim.key)
    words = f"In English (scale {result.setup.scale.name}, {runs} runs): {_rows_in_words(cells)}"
    for outcome, keys in settled.items():
        words += f"; {outcome}: {', '.join(keys)}"
    return f"{words}; `run_study.py show {result.study.name}`."


def _rows_in_words(cells: pd.DataFrame) -> str:
    """The first rows of a table with their differences to the reference, or their means; of a
    table over test sets the averages alone."""
    axes = list(cells.columns[3 : cells.columns.get_loc("mean")])
    rows = cells
    for axis in axes:
        if (rows[axis] == AVERAGE_LABEL).any():
            rows = rows[rows[axis] == AVERAGE_LABEL]
    names = rows[axes].apply(lambda labels: "/".join(labels[labels != AVERAGE_LABEL]), axis=1)
    against = rows["reference"].str.removesuffix(f"/{AVERAGE_LABEL}")
    differences = rows["paired_difference"].notna() & (names != against)
    if differences.any():
        column = "paired_difference"
        rows = rows[differences]
    else:
        column = "mean"
        rows = rows[rows["mean"].notna()]
    parts = []
    for place, value in rows[column].head(MOST_NAMED_ROWS).items():
        places = UNITS[rows["unit"][place]].decimals
        text = number(value, places, signed=column == "paired_difference")
        parts.append(f"{names[place]} {text}")
    words = ", ".join(parts)
    if len(rows) > MOST_NAMED_ROWS:
        words += ", …"
    references = against[rows.index].unique()
    if column == "paired_difference" and len(references) == 1:
        words += f" against {references[0]}"
    return words
