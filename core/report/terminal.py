"""A study's table and verdicts as plain text, for the terminal in which its runs were trained."""

from __future__ import annotations

from core.report import claims
from core.report.cells import StudyResult
from core.report.grids import plain_table
from core.report.notes import setting, title
from core.report.tables import grid, marks
from core.report.verdicts import verdicts


def terminal(result: StudyResult) -> str:
    """Title, table, the marks' meaning, one line a claim; the files beside it hold the rest."""
    table = grid(result)
    lines = ["", title(result), setting(result), "", *plain_table(table).splitlines(), *(f"  {note}" for note in marks(result, table)), ""]
    for one in verdicts(result):
        why = f" ({one.reason})" if one.reason else ""
        lines.append(f"  {one.claim.key} {claims.MARKS[one.outcome]} {one.outcome}{why}: {one.claim.text}")
        lines += [f"     measured {effect}"] if (effect := claims.measured(one)) else []
    lines += [f"  {line}" for line in claims.by_value(result)]
    return "\n".join("".join(c if c.isprintable() else " " for c in line).rstrip() for line in lines)
