"""A user's own scores: a CSV file of one of three layouts, read strictly.

    row,seed,score      a line for each score
    row,0,1,2           a line for each row, a column for each seed
    seed,SimCSE,Mine    a line for each seed, a column for each row

Seeds that are whole numbers go by their size, others in the order of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.config.section import decimal, whole_number
from core.errors import UserError, refusing, shown
from core.store.files import regular

LONG = ("row", "seed", "score")
LAYOUTS = "row,seed,score; or row and then a column a seed; or seed and then a column a row"
MOST_TABLE_BYTES = 1 << 24
MOST_TABLE_ROWS = 60  # that a figure has room for
LARGEST_SCORE = 1e12  # in size; squares of much larger numbers are not finite
MOST_TABLE_SEEDS = 1000
SEPARATORS = (",", ";", "\t")

Scores = Mapping[str, np.ndarray]  # by row, (seeds,), in one order of the seeds


class Entry(NamedTuple):
    """One score as it was written: where, of which row, under which seed."""

    place: str
    row: str
    seed: str
    text: str


def read_scores(path: Path) -> Scores:
    """The scores of a file. Raises UserError of one sentence for anything but one finite number for
    each row and seed."""
    with refusing(f"{path} cannot be read", "give a CSV file in UTF-8", OSError, UnicodeError):
        size = regular(path).stat().st_size
        if size > MOST_TABLE_BYTES:
            raise UserError(f"{path} has {size} bytes; give at most {MOST_TABLE_BYTES}.")
        text = path.read_text(encoding="utf-8-sig")
    return parsed_table(text, str(path))


def parsed_table(text: str, name: str) -> Scores:
    """The scores of a CSV text, which messages call `name`. Raises UserError."""
    head = text.partition("\n")[0]
    separator = max(SEPARATORS, key=head.count)
    with refusing(f"{name} is no CSV table", "mend that line", csv.Error):
        lines = list(csv.reader(text.splitlines(), delimiter=separator, strict=True))
    numbered = []
    for number, line in enumerate(lines, start=1):
        if any(field.strip() for field in line):
            numbered.append((f"{name}, line {number}", [field.strip() for field in line]))
    if len(numbered) < 2:
        raise UserError(f"{name} has no scores; its columns are {LAYOUTS}.")
    (_, header), *body = numbered
    for place, fields in body:
        if len(fields) != len(header):
            raise UserError(
                f"{place} has {len(fields)} fields and the header {len(header)}; give each line "
                "as many."
            )
    return checked(_table_entries(header, body, name), name)


def _table_entries(
    header: Sequence[str], body: Iterable[tuple[str, Sequence[str]]], name: str
) -> Iterator[Entry]:
    """Every score of the table. Raises UserError for a header of no layout."""
    names = [field.lower() for field in header]
    is_long = {*LONG} <= {*names}
    if is_long and len(names) == len(LONG):
        row, seed, score = map(names.index, LONG)
        for place, fields in body:
            yield Entry(place, fields[row], fields[seed], fields[score])
        return
    if is_long or names[0] not in ("row", "seed") or len(names) < 2 or names[1] in LONG:
        columns = shown(", ".join(header))
        raise UserError(f"{name} has the columns {columns}; they must be {LAYOUTS}.")
    twice = next((field for field in header if header.count(field) > 1), None)
    if twice is not None:
        raise UserError(f"{name} has two columns {shown(twice)!r}; give each its own name.")
    for place, fields in body:
        for column, text in zip(header[1:], fields[1:], strict=True):
            if names[0] == "row":
                yield Entry(place, fields[0], column, text)
            else:
                yield Entry(place, column, fields[0], text)


def checked(entries: Iterable[Entry], name: str) -> Scores:
    """The scores by row. Raises UserError unless each row has one finite number for each seed."""
    table: dict[str, dict[str, float]] = {}
    seeds: dict[str, None] = {}
    for entry in entries:
        number = _score(entry)
        of_row = table.setdefault(entry.row, {})
        if entry.seed in of_row:
            raise UserError(
                f"{entry.place} gives {_named_column(entry)} a second score; leave one of them out."
            )
        of_row[entry.seed] = number
        seeds[entry.seed] = None
    for row, of_row in table.items():
        for seed in seeds:
            if seed not in of_row:
                raise UserError(
                    f"{name} has no score of row {shown(row)!r} under seed {shown(seed)!r}; give "
                    "every row the same seeds."
                )
    _check_size(len(table), len(seeds), name)
    order = list(seeds)
    if all(whole_number(seed) is not None for seed in order):
        order.sort(key=int)
    return {row: np.array([of_row[seed] for seed in order]) for row, of_row in table.items()}


def checked_rows(rows: Mapping[str, Sequence[float]]) -> Scores:
    """The same of scores by row, each in the order of the seeds."""
    entries = []
    for row, values in rows.items():
        for seed, value in enumerate(values):
            entries.append(Entry("The table", str(row), str(seed), str(value)))
    return checked(entries, "The table")


def _score(entry: Entry) -> float:
    """The number of an entry. Raises UserError for text, and for what is not finite."""
    if not entry.row or not entry.seed:
        raise UserError(f"{entry.place} names no row or no seed; write it.")
    number = decimal(entry.text)
    if number is None or abs(number) > LARGEST_SCORE:
        raise UserError(
            f"{entry.place} has {shown(entry.text) or 'nothing'!r} as the score of "
            f"{_named_column(entry)}; give a finite number of at most {LARGEST_SCORE:g}."
        )
    return number


def _named_column(entry: Entry) -> str:
    return f"row {shown(entry.row)!r} under seed {shown(entry.seed)!r}"


def _check_size(rows: int, seeds: int, name: str) -> None:
    """Raises UserError for too few or too many rows or seeds."""
    if rows < 2:
        raise UserError(f"{name} has one row; give at least two, to compare them.")
    if seeds < 2:
        raise UserError(f"{name} has one seed; give at least two, or a difference has no error.")
    if rows > MOST_TABLE_ROWS or seeds > MOST_TABLE_SEEDS:
        raise UserError(
            f"{name} has {rows} rows and {seeds} seeds; give at most {MOST_TABLE_ROWS} rows and "
            f"{MOST_TABLE_SEEDS} seeds."
        )
