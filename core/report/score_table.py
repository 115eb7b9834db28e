"""A user's own scores: a CSV file with the columns row, seed and score, read strictly.

Seeds that are whole numbers go by their size, others in the order of the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from core.config.section import decimal, whole_number
from core.errors import UserError, refusing, shown
from core.store.files import regular

COLUMNS = ["row", "seed", "score"]
MOST_TABLE_BYTES = 1 << 24
MOST_TABLE_ROWS = 60  # that a figure has room for
LARGEST_SCORE = 1e12  # in size; squares of much larger numbers are not finite
MOST_TABLE_SEEDS = 1000

Scores = Mapping[str, np.ndarray]  # by row, (seeds,), in one order of the seeds
Entry = tuple[str, str, str, str]  # of a score: where it was written, row, seed and text


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
    with refusing(f"{name} is no CSV table", "mend that line", csv.Error):
        lines = list(csv.reader(text.splitlines(), strict=True))
    numbered = []
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line]
        if any(fields):
            numbered.append((f"{name}, line {number}", fields))
    if not numbered or [field.lower() for field in numbered[0][1]] != COLUMNS:
        raise UserError(f"{name} must have the columns {','.join(COLUMNS)}, a line for each score.")
    entries = []
    for place, fields in numbered[1:]:
        if len(fields) != len(COLUMNS):
            raise UserError(f"{place} has {len(fields)} fields; give row, seed and score.")
        row, seed, score = fields
        entries.append((place, row, seed, score))
    return checked(entries, name)


def checked_rows(rows: Mapping[str, Sequence[float]]) -> Scores:
    """The same of scores by row, each in the order of the seeds."""
    entries = []
    for row, values in rows.items():
        for seed, value in enumerate(values):
            entries.append(("The table", str(row), str(seed), str(value)))
    return checked(entries, "The table")


def checked(entries: Iterable[Entry], name: str) -> Scores:
    """The scores by row. Raises UserError unless each row has one finite number for each seed, and
    there are enough of both and not too many."""
    table: dict[str, dict[str, float]] = {}
    seeds: dict[str, None] = {}
    for place, row, seed, text in entries:
        if not row or not seed:
            raise UserError(f"{place} names no row or no seed; write it.")
        number = decimal(text)
        if number is None or abs(number) > LARGEST_SCORE:
            raise UserError(
                f"{place} has {shown(text) or 'nothing'!r} as its score; give a finite number of at "
                f"most {LARGEST_SCORE:g}."
            )
        if seed in table.setdefault(row, {}):
            raise UserError(
                f"{place} gives row {shown(row)!r} under seed {shown(seed)!r} a second score; leave "
                "one of them out."
            )
        table[row][seed] = number
        seeds[seed] = None
    for row, of_row in table.items():
        for seed in seeds:
            if seed not in of_row:
                raise UserError(
                    f"{name} has no score of row {shown(row)!r} under seed {shown(seed)!r}; give "
                    "every row the same seeds."
                )
    for count, most, noun in (
        (len(table), MOST_TABLE_ROWS, "row"),
        (len(seeds), MOST_TABLE_SEEDS, "seed"),
    ):
        if not 2 <= count <= most:
            raise UserError(f"{name} has {count} {noun}s; give 2 to {most}, to compare them.")
    order = list(seeds)
    if all(whole_number(seed) is not None for seed in order):
        order.sort(key=int)
    return {row: np.array([of_row[seed] for seed in order]) for row, of_row in table.items()}
