"""A study's table and verdicts as plain text, for the terminal in which its runs were trained."""

from __future__ import annotations

from tabulate import tabulate

from core.report import claims
from core.report.cells import StudyResult
from core.report.notes import setting, title
from core.report.tables import grid, marks
from core.report.verdicts import verdicts


def terminal(result: StudyResult) -> str:
    """Title, table, the marks' meaning and one line a claim; the files beside it hold the rest."""
    table = grid(result)
    align = ["left"] * table.lead + ["right"] * (len(table.headers) - table.lead)
    body = tabulate(
        [[entry.text for entry in row] for row in table.rows], table.headers, tablefmt="simple", colalign=align, disable_numparse=True
    )
    lines = ["", title(result), setting(result), "", *body.splitlines(), *(f"  {note}" for note in marks(result, table)), ""]
    for one in verdicts(result):
        why = f" ({one.reason})" if one.reason else ""
        lines.append(f"  {one.claim.key} {claims.MARKS[one.outcome]} {one.outcome}{why}: {one.claim.text}")
        lines += [f"     measured {effect}"] if (effect := claims.measured(one)) else []
    return "\n".join("".join(c if c.isprintable() else " " for c in line).rstrip() for line in lines)
