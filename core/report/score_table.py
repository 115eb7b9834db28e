"""A user's own scores, read strictly. Files and Python have one layout: the columns row, seed and
score, and set where a score is of one of several test sets."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.section import decimal
from core.errors import UserError, refusing
from core.formatting import counted, shown
from core.store.files import regular

COLUMNS = ("row", "seed", "score")
SET = "set"
LAYOUT = (
    "write row, seed and score, and set for several test sets, with commas between them and a "
    "point in each number"
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
        names = lines.pop(0)[1] if lines else []
        for number, line in lines:
            if len(line) != len(names):
                raise UserError(
                    f"{scores}, line {number} has {len(line)} fields and not {len(names)}; "
                    f"{LAYOUT}."
                )
        index = [number for number, _ in lines]
        frame = pd.DataFrame([line for _, line in lines], index=index, columns=names)
        return _scores(frame, f"{scores}, line")
    with refusing("These scores are no table", LAYOUT, ValueError, TypeError, AttributeError):
        frame = pd.DataFrame(scores).astype(str).fillna("")
    return _scores(frame.set_axis(range(1, len(frame) + 1)), "The table, row")


def _scores(frame: pd.DataFrame, place: str) -> Scores:
    """The scores by row, of texts by line. Raises UserError unless each row has one finite number
    for each seed and set, there are two rows and seeds, and all may be in one unit."""
    columns = shown(",".join(map(str, frame)))
    frame = frame.rename(columns=lambda name: one_line(str(name)).lower()).map(one_line)
    if sorted(frame) not in (sorted(COLUMNS), sorted((*COLUMNS, SET))):
        raise UserError(f"{place.partition(',')[0]} has the columns {columns!r}; {LAYOUT}.")
    if SET not in frame:
        frame[SET] = ""
    frame["seed"] = frame["seed"].str.replace("^[+]?0*(?=[0-9])", "", regex=True)  # +01 is 1
    numbers = frame["score"].map(decimal).astype(float)
    unnamed = (frame[["row", "seed"]] == "").any(axis=1)
    again = frame.duplicated(["row", "seed", SET])
    wrong = (
        (unnamed, "names no row or no seed; write it"),
        (
            ~(numbers.abs() <= LARGEST),
            f"has no score up to {LARGEST:g}; give a number with a decimal point",
        ),
        (again, "gives a row a second score under one seed; leave one of them out"),
    )
    for lines, words in wrong:
        for number in frame.index[lines]:
            raise UserError(f"{place} {number} {words}.")
    sets = frame[SET].nunique()
    by_seed = numbers.groupby([frame["row"], frame["seed"]])
    order = {"index": frame["row"].unique(), "columns": frame["seed"].unique()}
    counts = by_seed.size().unstack().reindex(**order)
    lacking = (counts != sets).stack()
    for row, seed in lacking.index[lacking]:
        raise UserError(
            f"Row {shown(row)!r} lacks a score under seed {seed}; give every row the same seeds "
            "and sets."
        )
    if min(counts.shape) < 2:
        raise UserError("There are fewer than 2 rows or 2 seeds; give more, to compare them.")
    rows = by_seed.mean().unstack().reindex(**order)
    sizes = rows.abs().median(axis=1)
    largest = sizes.idxmax()
    smallest = sizes.idxmin()
    if sizes[smallest] and sizes[largest] >= MOST_APART * sizes[smallest]:
        raise UserError(
            f"The scores of {shown(largest)} are {sizes[largest] / sizes[smallest]:.0f} times "
            f"those of {shown(smallest)}; give all rows in one unit."
        )
    words = f"Read as: {counted(len(rows), 'row')}, {counted(rows.shape[1], 'seed')}"
    if sets > 1:
        words += f", {counted(sets, 'set')} of which the mean counts"
    scores = dict(zip(rows.index, rows.to_numpy(), strict=True))
    return Scores(scores, f"{words}, {counted(len(frame), 'score')}")
