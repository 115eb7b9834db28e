"""A user's own scores, read strictly. Files and Python have one layout: the columns row, seed and
score, and set where a score is of one of several test sets."""

import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.result import TASKS
from core.config.section import decimal
from core.errors import UserError, refusing
from core.formatting import counted, shown
from core.store.files import regular

SCORE_COLUMNS = ("row", "seed", "score")
SET = "set"
LAYOUT = (
    "write a line for each score with row, seed and score, and set for several test sets; a mean "
    "over seeds cannot be judged"
)
LARGEST = 1e12  # score; squares of some larger ones are infinite
STEADY = 1.2  # times the lowest: so far apart are one row's scores on one set in one unit
PERCENT = 10.0  # above it a score is no fraction


class Scores(NamedTuple):
    """By row the scores (seeds,), each the mean over the test sets, in the order of the seeds: by
    number, then by name and the numbers in it. `words` say what was read."""

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
        mark = max(",;\t", key=text.partition("\n")[0].count)
        with refusing(f"{scores} is no CSV table", "mend that line", ValueError):
            lines = pd.read_csv(
                io.StringIO(text),
                sep=mark,
                header=None,
                dtype=str,
                keep_default_na=False,
                skip_blank_lines=False,
            )
        # A cut file is refused unless the cut lies within its last number: 4 places of 154 in ten
        # lines. Many whole files have no newline at their end, so nothing is said of that.
        lines.index += 1
        lines = lines[(lines != "").any(axis=1)]
        return _scores(lines[1:].set_axis(lines.iloc[0], axis=1), f"{scores}, line")
    with refusing("These scores are no table", LAYOUT, ValueError, TypeError, AttributeError):
        frame = pd.DataFrame(scores).astype(str).fillna("")
    return _scores(frame.set_axis(range(1, len(frame) + 1)), "The table, row")


def _scores(frame: pd.DataFrame, place: str) -> Scores:
    """The scores by row, of texts by line. Raises UserError unless each row has one finite number
    for each seed and set, there are two rows and seeds, and all are in one unit."""
    frame = frame.rename(columns=lambda name: one_line(str(name)).lower()).map(one_line)
    if sorted(frame.columns.drop(SET, errors="ignore")) != sorted(SCORE_COLUMNS):
        columns = shown(",".join(frame))
        raise UserError(f"{place.partition(',')[0]} has the columns {columns!r}; {LAYOUT}.")
    if SET not in frame:
        frame[SET] = ""
    frame["seed"] = frame["seed"].str.replace("^[+]?0*(?=[0-9])", "", regex=True)  # +01 is 1
    named = frame[SET].str.lower()
    numbers = frame["score"].map(decimal).astype(float)
    unnamed = (frame[["row", "seed"]] == "").any(axis=1)
    wrong = (
        (unnamed, "names no row or no seed; write it"),
        (
            ~(numbers.abs() <= LARGEST),
            f"has no score up to {LARGEST:g}; give a number with a decimal point",
        ),
        (named.isin(TASKS), "is of no test set of its own; leave it out"),
        (
            frame.assign(set=named).duplicated(["row", "seed", SET]),
            "gives a row a second score under one seed; leave one of them out",
        ),
    )
    for lines, words in wrong:
        for number in frame.index[lines]:
            raise UserError(f"{place} {number} {words}.")
    sets = named.nunique()
    by_seed = numbers.groupby([frame["row"], frame["seed"]])

    def turn(seed: str) -> tuple[bool, float, str]:
        padded = re.sub("[0-9]+", lambda number: number[0].zfill(20), seed)  # run2 before run10
        return decimal(seed) is None, decimal(seed) or 0.0, padded

    order = {"index": frame["row"].unique(), "columns": sorted(frame["seed"].unique(), key=turn)}
    counts = by_seed.size().unstack().reindex(**order)
    lacking = (counts != sets).stack()
    for row, seed in lacking.index[lacking]:
        raise UserError(
            f"Row {shown(row)!r} lacks a score under seed {seed}; give every row the same seeds "
            "and sets."
        )
    if min(counts.shape) < 2:
        raise UserError("There are fewer than 2 rows or 2 seeds; give more, to compare them.")
    _check_units(frame, numbers)
    rows = by_seed.mean().unstack().reindex(**order)
    words = f"Read as: {counted(len(rows), 'row')}, {counted(rows.shape[1], 'seed')}"
    if sets > 1:
        words += f", {counted(sets, 'set')} of which the mean counts"
    words += f", {counted(len(frame), 'score')}"
    if numbers.between(0, 1).all():
        words += ", all from 0 to 1, and so are margins"
    return Scores(dict(zip(rows.index, rows.to_numpy(), strict=True)), words)


def _check_units(frame: pd.DataFrame, numbers: pd.Series) -> None:
    """Raise UserError for fractions beside percents: they are as steady as a row's scores on one
    set, where a row at chance or a collapsed one scatters, or they are all of a set."""
    small = (numbers > 0) & (numbers <= 1)
    percents = numbers.where(~small, 100 * numbers).groupby([frame["row"], frame[SET]])
    steady = percents.transform("max") <= STEADY * percents.transform("min")
    fractions = frame[small & (steady | small.groupby(frame[SET]).transform("all"))]
    if len(fractions) and (numbers > PERCENT).any():
        names = ("row", "seed", SET) if frame[SET].any() else ("row", "seed")
        parts = [f"{part} {shown(', '.join(fractions[part].unique()))}" for part in names]
        raise UserError(
            f"The scores of {' and '.join(parts)} are fractions beside others above {PERCENT:g}; "
            "give all in one unit."
        )
