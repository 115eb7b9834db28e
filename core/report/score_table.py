"""A user's own scores, read strictly. Files and Python have one layout: the columns row, seed and
score, and set where a score is of one of several test sets."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.section import decimal, whole_number
from core.errors import UserError, counted, refusing, shown
from core.store.files import regular

COLUMNS = ("row", "seed", "score")
SET = "set"
LAYOUT = (
    "write row, seed and score, and set for several test sets, with commas between them and a point "
    "in each number"
)
LARGEST = 1e12  # score; squares of some larger ones are infinite
MOST_APART = 30.0  # times the scores of another row: fractions stand beside percents


class Scores(NamedTuple):
    """By row the scores (seeds,), each the mean over the test sets, in the order in which the seeds
    first come; `words` say what was read."""

    rows: Mapping[str, np.ndarray]
    words: str


def one_line(text: str) -> str:
    """A name as it is compared: composed letters, and one blank for each gap."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def read_scores(scores: Path | pd.DataFrame | Mapping[str, Sequence[object]]) -> Scores:
    """The scores of a CSV file, of a frame, or of columns by name. Raises UserError of one sentence
    for anything but one finite number for each row, seed and set."""
    if isinstance(scores, Path):
        with refusing(
            f"{scores} cannot be read", "give a CSV file in UTF-8", OSError, UnicodeError
        ):
            text = regular(scores).read_bytes().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        with refusing(f"{scores} is no CSV table", "mend that line", csv.Error):
            lines = [(reader.line_num, line) for line in reader if any(line)]
        return _scores(lines, f"{scores}, line ")
    with refusing("These scores are no table", LAYOUT, ValueError, TypeError, AttributeError):
        frame = pd.DataFrame(scores)
        texts = frame.astype(str).fillna("").to_numpy().tolist()
    return _scores(enumerate([list(map(str, frame.columns)), *texts]), "The table, row ")


def _scores(numbered: Iterable[tuple[int, Sequence[str]]], place: str) -> Scores:
    """The scores by row. Raises UserError unless each row has one finite number for each seed and
    set, there are two rows and seeds, and all may be in one unit."""
    lines = iter(numbered)
    _, header = next(lines, (0, []))
    names = [one_line(name).lower() for name in header]
    if sorted(names) not in (sorted(COLUMNS), sorted((*COLUMNS, SET))):
        columns = shown(",".join(header))
        raise UserError(f"{place.rpartition(',')[0]} has the columns {columns!r}; {LAYOUT}.")
    table: dict[str, dict[int | str, dict[str, float]]] = {}
    seeds: dict[int | str, None] = {}
    sets: dict[str, None] = {}
    for number, line in lines:
        where = f"{place}{number}"
        if len(line) != len(names):
            raise UserError(f"{where} has {len(line)} fields and not {len(names)}; {LAYOUT}.")
        fields = dict(zip(names, map(one_line, line), strict=True))
        row, text, of = fields["row"], fields["score"], fields.get(SET, "")
        whole = whole_number(fields["seed"])
        seed = fields["seed"] if whole is None else whole
        if not row or seed == "":
            raise UserError(f"{where} names no row or no seed; write it.")
        score = decimal(text)
        if score is None or abs(score) > LARGEST:
            raise UserError(
                f"{where} has {shown(text) or 'nothing'!r} as its score; give a number with a "
                f"decimal point, up to {LARGEST:g}."
            )
        of_seed = table.setdefault(row, {}).setdefault(seed, {})
        if of in of_seed:
            raise UserError(
                f"{where} gives row {shown(row)!r} under seed {seed} a second score; leave one of "
                "them out."
            )
        of_seed[of] = score
        seeds[seed] = None
        sets[of] = None
    for row, by_seed in table.items():
        for seed in seeds:
            if len(by_seed.get(seed, ())) < len(sets):
                raise UserError(
                    f"Row {shown(row)!r} lacks a score under seed {seed}; give every row the same "
                    "seeds and sets."
                )
    if len(table) < 2 or len(seeds) < 2:
        raise UserError("There are fewer than 2 rows or 2 seeds; give more, to compare them.")
    rows = {}
    for row, by_seed in table.items():
        rows[row] = np.array([np.mean(list(by_seed[seed].values())) for seed in seeds])
    sizes = {row: float(np.median(np.abs(values))) for row, values in rows.items()}
    largest = max(sizes, key=sizes.__getitem__)
    smallest = min(sizes, key=sizes.__getitem__)
    if sizes[smallest] and sizes[largest] >= MOST_APART * sizes[smallest]:
        raise UserError(
            f"The scores of {shown(largest)} are {sizes[largest] / sizes[smallest]:.0f} times those "
            f"of {shown(smallest)}; give all rows in one unit."
        )
    scores = len(rows) * len(seeds) * len(sets)
    words = f"Read as: {counted(len(rows), 'row')}, {counted(len(seeds), 'seed')}"
    if len(sets) > 1:
        words += f", {counted(len(sets), 'set')} of which the mean counts"
    return Scores(rows, f"{words}, {counted(scores, 'score')}")
