"""Whether the rule of a claim is older than the runs that it judges, and than the first runs on
their text."""

import re
from collections.abc import Iterable
from functools import cache

from core.errors import HOME, UserError
from core.report.results import CellResult
from core.store import code
from core.study.registered import COMMITS, FIRST_RUNS, dates, minute, registered

YOUNGER = "⚑"  # flags of `core.report.words`
SEEN = "⚑⚐"


def rule_age(key: str, cells: Iterable[CellResult]) -> str:
    """The flags of a claim that the 5 % do not cover on the runs of these cells; empty where its
    rule is older than these runs, and than the first published run on their texts, whose numbers
    an earlier form of a cell may have shown. Runs of an unknown commit count by their text."""
    if key not in registered():
        return ""
    rule = registered()[key][-1]["date"]
    begun = [cell for cell in cells if cell.begun]
    texts = {cell.config(0).data.digest for cell in begun}
    runs = [run for cell in begun for run in cell.runs if run.rows is not None]
    trained = {date_of(str(run.provenance.get("commit"))) for run in runs}
    if any("" < date < rule for date in trained):
        return YOUNGER
    if any(dates(FIRST_RUNS).get(text, rule) < rule for text in texts):
        return SEEN if all(trained) else YOUNGER
    return ""


@cache
def date_of(commit: str) -> str:
    """When a commit of this repository was made, as it is stored or as git has it; empty where that
    is not known."""
    commit = commit.rstrip("+")  # files differed from it
    if commit in dates(COMMITS) or not re.fullmatch("[0-9a-f]{7,40}", commit):
        return dates(COMMITS).get(commit, "")
    try:
        return minute(code.git(HOME, "show", "--no-patch", "--format=%ct", commit))
    except UserError:
        return ""
