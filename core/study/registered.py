"""The rules of claims as they were registered, and when runs on each text were first seen.
`tools/registered.py` writes both."""

import csv
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from core.errors import HOME

REGISTERED = HOME / "studies" / "reference" / "registered.csv"
PUBLISHED = HOME / "results" / "published"
FIRST_RUNS = PUBLISHED / "first_runs.csv"
COMMITS = PUBLISHED / "commits.csv"
# what is known of encoders, texts and test pairs, by their digests
KNOWN_DATA = PUBLISHED / "known_data.csv"


@cache
def registered() -> dict[str, list[dict[str, str]]]:
    """Every registered rule by claim, in the order of the file, a row for each change. `rule` is
    the digest of everything that decides but the arithmetic (empty where a row is older than such
    digests), `form` that of predicate, margin and gate; `date` is since when the history has the
    rule."""
    rules: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(REGISTERED):
        rules.setdefault(row["claim"], []).append(row)
    return rules


@cache
def dates(path: Path) -> dict[str, str]:
    """The dates in a file of two columns, by the first: FIRST_RUNS, when a run on a text was first
    published, by the text's digest; COMMITS, of the commits that trained published runs, for copies
    without the history."""
    return {key: date for key, date in map(dict.values, rows_of(path))}


@cache
def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, read once."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def minute(seconds: str | float) -> str:
    """Seconds since 1970 as a date and time, such as 2026-11-21 14:27."""
    return datetime.fromtimestamp(float(seconds), UTC).strftime("%Y-%m-%d %H:%M")
