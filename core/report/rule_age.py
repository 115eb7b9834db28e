"""Whether the rule of a claim is older than the runs that it judges: by the commits that trained
them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection
from functools import cache

from core.errors import HOME, UserError
from core.store import code
from core.study.registered import REGISTERED, registered, seen_before_rule

COMMIT = re.compile("[0-9a-f]{7,40}")  # as runs name it; `+` behind it says that files differed


def written_after_runs(key: str, commits: Collection[str]) -> bool:
    """Whether a claim's rule was written after runs were seen, and so judges these runs by what was
    seen: not all of their commits hold it."""
    if not seen_before_rule(key):
        return False
    rule = key, registered()[key][-1]["rule"]
    return not all(rule in rules_at(commit) for commit in commits)


@cache
def rules_at(commit: str) -> frozenset[tuple[str, str]]:
    """Claim and digest of every rule that is registered at a commit of this repository; none where
    the commit is not here."""
    commit = commit.rstrip("+")
    if not COMMIT.fullmatch(commit):
        return frozenset()
    try:
        text = code.git(HOME, "show", f"{commit}:{REGISTERED.relative_to(HOME)}")
    except UserError:
        return frozenset()
    return frozenset((row["claim"], row["rule"]) for row in csv.DictReader(io.StringIO(text)))
