"""What figures say: titles, the setting of their runs, and the names of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.config.quantities import in_points
from core.config.scale import SCALES
from core.errors import counted
from core.report.comparability import AFTER_TRAINING
from core.report.drawing import as_numbers
from core.report.frames import base_pattern
from core.report.numbers import number
from core.study.study import Axis, Study


def mostly_run(rows: pd.DataFrame) -> bool:
    return len(rows) > 0 and (rows["n"] > 0).mean() >= 0.5


def numbers_of(texts: pd.Series) -> pd.DataFrame:
    """Numbers between blanks, a column for each place."""
    return texts.str.split(expand=True).apply(as_numbers)


def runs_shown(study: Study, rows: pd.DataFrame) -> str:
    """Table, scale, encoder, profile and seeds."""
    seeds = rows["n"][rows["n"] > 0]
    counts = "–".join(str(n) for n in dict.fromkeys((seeds.min(), seeds.max())))
    words = f"{study.paper_name} {study.title} · {of_scale(rows)} · {counts} seeds"
    if study.figure is not None and study.figure.note:
        words += f" · {study.figure.note}"
    return words


def seeds_by(rows: pd.DataFrame, label: str, count: str) -> dict[Any, str]:
    """By label how many seeds its rows have, such as "3–5"; empty if all rows have as many."""
    rows = rows[rows[count] > 0]
    if rows[count].nunique() < 2:
        return {}
    words = {}
    for name, counts in rows.groupby(label, sort=False)[count]:
        ends = dict.fromkeys((counts.min(), counts.max()))
        words[name] = "–".join(map(str, ends))
    return words


def of_scale(rows: pd.DataFrame) -> str:
    encoders = ", ".join(sorted(set(rows["encoder"]) - {""}))
    name = rows["scale"].iloc[0]
    if name in SCALES and SCALES[name].generated:
        name = f"{name}, a made-up language"
    return f"scale {name} ({encoders}) · profile {rows['profile'].iloc[0]}"


# What titles say: the sign of a sentence is the sign of the number that is drawn.


def titled(axis: Axis, label: str) -> str:
    """A label behind its axis' title if it says little alone: "queue size 512", "initial fill
    half", "pairs that differ by more than 3"."""
    is_word = label.islower() and "," not in label and (label.isalpha() or label[-1].isdigit())
    is_number = as_numbers([label]).notna().all()
    if not is_word and not is_number:
        return label
    if axis.title[1:2].isupper():  # an abbreviation, such as MTD
        return f"{axis.title} {label}"
    return f"{axis.title[:1].lower()}{axis.title[1:]} {label}"


def _differing_labels(
    study: Study, row: pd.Series, base: str, every: pd.DataFrame
) -> tuple[str, str, str]:
    """What a title says of a row: the labels that it shares with its reference, its other labels,
    and those of the reference."""
    labels = [row[axis.name] for axis in study.axes]
    if row["reference"] not in every.index:
        return "", _cell_words(study, labels), base
    others = [every[axis.name][row["reference"]] for axis in study.axes]
    shared = []
    for axis, label, other in zip(study.axes, labels, others, strict=True):
        if label == other and label != "avg":
            words = titled(axis, label)
            shared.append(f"{'on' if words == label else 'at'} {words}")
    if not shared:
        return "", _cell_words(study, labels), base
    differs = [label != other for label, other in zip(labels, others, strict=True)]
    own = [label if unlike else None for label, unlike in zip(labels, differs, strict=True)]
    theirs = [label if unlike else None for label, unlike in zip(others, differs, strict=True)]
    if study.figure is None or not study.figure.base_name:
        base = _cell_words(study, theirs)
    return f"{', '.join(shared)}, ", _cell_words(study, own), base


def _cell_words(study: Study, labels: Sequence[str | None]) -> str:
    """A cell in a sentence: a plain word of a single axis is the row 'paper'."""
    if len(study.axes) == 1 and labels:
        only = labels[0]
        if only and only.isalpha() and only.islower():
            return f"the row '{only}'"
    words = []
    for axis, label in zip(study.axes, labels, strict=False):
        if label not in (None, "avg"):
            words.append(titled(axis, label))
    return ", ".join(words)


def base_of(study: Study) -> str:
    if study.figure is not None and study.figure.base_name:
        return study.figure.base_name
    return _cell_words(study, base_pattern(study) or ()) or "the reference"


def _trained_rows(study: Study, rows: pd.DataFrame) -> pd.Series:
    """Which rows are of a trained model, all if none is: a title speaks of no baseline without
    training."""
    names = [axis.name for axis in study.axes]
    labels = set()
    for cell in study.cells:
        untrained = (cell.method or study.method) == "untrained"
        if study.metric_of(cell).checkpoint in AFTER_TRAINING and not untrained:
            labels.add(cell.labels)
    trained = [tuple(map(str, row)) in labels for row in rows[names].to_numpy()]
    return pd.Series(trained or None, rows.index, dtype=bool) | (not any(trained))


def largest_difference(study: Study, rows: pd.DataFrame) -> str:
    """The largest significant difference along one axis, and how many rows differ; empty without
    one. Where the test sets have an average, it speaks of averages alone."""
    every = rows
    rows = rows[(rows["paired_n"] > 0) & ~rows["is_base"]]
    counted_as = "rows"
    base = base_of(study)
    if "task" in rows and (rows["task"] == "avg").any():
        rows = rows[rows["task"] == "avg"]
        counted_as = "averages"
        base = f"{base} on average"
    rows = rows[_trained_rows(study, rows)]
    different = rows[rows["different"] == "yes"]
    tested = (rows["different"] != "").sum()
    if tested and not len(different):
        few = "" if tested == len(rows) else f"; {tested} of {len(rows)} {counted_as} tested"
        return f"No significant difference from {base}{few}"
    if len(different):
        rows = different
    rows = rows[rows["steps"] == 1]
    if not len(rows):
        return ""

    row = rows.loc[rows["paired_difference"].abs().idxmax()]
    size = row["paired_difference"]
    amount = f"{number(abs(size), 3)} {row['unit']}"
    if in_points(row["unit"]):
        amount = f"{number(abs(size), 1)} points"
    side = "above" if size > 0 else "below"
    shared, name, against = _differing_labels(study, row, base_of(study), every)
    if base.endswith(" on average"):
        against += " on average"
    name = f"{shared}{name or 'the average'}"
    tests = f"{_same_side(row, every)}, too few to test"
    if tested:
        tests = f"{len(different)} of {tested} tested {counted_as} differ"
    return f"{name[0].upper()}{name[1:]} is {amount} {side} {against}; {tests}"


def _same_side(row: pd.Series, every: pd.DataFrame) -> str:
    """In how many seeds a row's difference has the sign of the mean."""
    seeds = numbers_of(every["values"].loc[[row.name, row["reference"]]])
    differences = (seeds.iloc[0] - seeds.iloc[1]).dropna()
    same = (np.sign(differences) == np.sign(row["paired_difference"])).sum()
    return f"so in {same} of {counted(len(differences), 'seed')}"
