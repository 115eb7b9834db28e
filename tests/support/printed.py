"""The papers' printed numbers, as studies/reference/tables has them."""

import csv

from places import ROOT

TABLES = ROOT / "studies" / "reference" / "tables"


def printed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table ("mocose_table3")."""
    with (TABLES / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
