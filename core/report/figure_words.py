"""What figures say of rows: their titles, their reference, and which have no run."""

from collections.abc import Mapping

import pandas as pd

from core.config.quantities import in_points
from core.report.drawing import as_numbers
from core.report.verdicts import base_pattern
from core.study.study import Axis, Study

MOST_NAMED = 6  # rows without a run
SETS = {
    "avg": "mean of the test sets",
    "dev": "development set",
    "avg_transfer": "mean of transfer",
}


def mostly_run(rows: pd.DataFrame) -> bool:
    return (rows["n"] > 0).mean() >= 0.5


def by_place(lists: pd.Series) -> pd.DataFrame:
    """The numbers of a column of lists, a column for each place; NaN for None."""
    return lists.apply(pd.Series, dtype=float)


def without_run(study: Study, rows: pd.DataFrame, names: Mapping[str, str]) -> str:
    """The rows of which there is no run, behind a dot; empty without any."""
    axes = [axis.name for axis in study.axes if axis.name != "task"]
    absent = rows.loc[rows["n"] == 0, axes].replace(names).drop_duplicates()
    lacking = ["/".join(labels) for labels in absent.itertuples(index=False)]
    if not lacking:
        return ""
    more = f" and {len(lacking) - MOST_NAMED} more" if len(lacking) > MOST_NAMED else ""
    return f" · without a run: {', '.join(lacking[:MOST_NAMED])}{more}"


def read_on(rows: pd.DataFrame) -> str:
    """The set that scores are of, where it is one, behind a comma; empty for other numbers."""
    tasks = set(rows["metric"].str.split(":").str[1])
    if len(tasks) != 1 or not all(map(in_points, rows["unit"])):
        return ""
    return f", {SETS.get(*tasks, *tasks)}"


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


def base_of(study: Study, names: Mapping[str, str]) -> str:
    """What the differences of a figure are to."""
    words = []
    pattern = base_pattern(study)
    if study.figure is not None and study.figure.against:
        pattern = tuple(study.figure.against.values())[:1]
    for axis, label in zip(study.axes, pattern, strict=False):
        if label not in (None, "avg"):
            words.append(titled(axis, names.get(label, label)))
    return ", ".join(words) or "the reference"
