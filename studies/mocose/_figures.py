"""Numbers that were read off MoCoSE's figures: studies/reference/tables has the files."""

from __future__ import annotations

import csv
from typing import Any

from core.errors import HOME


def digitised(figure: int, *columns: str, metric: str = "run_") -> dict[str, Any]:
    """The numbers of a figure in ascending order, by label, column within column. By default the
    three runs behind each mean, else the rows whose metric begins otherwise."""
    numbers: dict[str, Any] = {}
    file = HOME / "studies" / "reference" / "tables" / f"mocose_fig{figure}_digitised.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["metric"].startswith(metric):
                *outer, last = (f"{float(row[column]):g}" for column in columns)
                part = numbers
                for label in outer:
                    part = part.setdefault(label, {})
                part[last] = tuple(sorted((*part.get(last, ()), float(row["value"]) + 0.0)))
    return numbers
