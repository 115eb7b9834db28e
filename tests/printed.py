"""The papers' printed numbers, as studies/reference/tables has them."""

import csv
from pathlib import Path

TABLES = Path(__file__).resolve().parents[1] / "studies" / "reference" / "tables"


def printed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table ("mocose_table3")."""
    with (TABLES / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
