"""The rules of claims as they were registered: a row for each rule, and a new row for each change.
`tools/registered.py` writes them."""

from __future__ import annotations

import csv
from functools import cache

from core.errors import HOME

REGISTERED = HOME / "studies" / "reference" / "registered.csv"


@cache
def registered() -> dict[str, list[dict[str, str]]]:
    """Every registered rule by claim, in the order of the file: `rule` is its digest, `date` the
    day of its registration, `after_runs` whether runs of the claim had been seen by then under
    another rule. `first_form` and `first_run` are the claim's: when it was first written, and when
    a run of its study was first published (empty: never)."""
    rules: dict[str, list[dict[str, str]]] = {}
    with REGISTERED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rules.setdefault(row["claim"], []).append(row)
    return rules


def seen_before_rule(key: str) -> bool:
    """Whether runs of a claim had been seen when its rule, or the first form of it, was written."""
    return any(
        row["after_runs"] == "yes" or "" < row["first_run"] < row["first_form"]
        for row in registered().get(key, ())
    )
