"""For maintainers: register the rules of claims, and when runs on a text were first seen.

`python -m tools.registered` adds a row to studies/reference/registered.csv for each new or changed
rule, under the time of now. It adds to results/published/commits.csv the commits that trained
published runs, and to first_runs.csv each text that published runs have, under the date of the
earliest of these commits. Rows of both files stay: a withdrawn run has been seen.

`python -m tools.registered --history` dates the present rules by the history of the main branch,
which must be whole: since when every commit has the rule as it is. It takes minutes.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from core.errors import HOME
from core.report.rule_age import date_of
from core.report.statistics import ALPHA, SHARES
from core.store.store import Store
from core.study.claim import Claim
from core.study.registered import (
    COMMITS,
    FIRST_RUNS,
    REGISTERED,
    dates,
    minute,
    rows_of,
)
from studies import CATALOGUE
from tools.rule_forms import checks_of, digest, form_of

SHIPPED = ("mocose", "esimcse", "simcse", "own")
COLUMNS = ("claim", "form", "rule", "date")
CHECKS = tuple(f"core/report/{name}.py" for name in ("statistics", "sequential", "looks"))
DECIDING = ("studies", "core/study", "core/spec", "core/config", *CHECKS)
STRIDE = 20  # commits
Rules = dict[str, list]  # by claim: its form, the number of claims beside it, the checks


def rule_of(claim: Claim, claims: int) -> str:
    """16 hex digits over everything that decides a claim: its form, the checks and what each
    spends, and how many claims of its study share that."""
    return digest([form_of(claim), ALPHA, [list(pair) for pair in SHARES.items()], claims])


def git(*words: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", "-C", str(HOME), *words], capture_output=True, check=True).stdout


def rules_at(commit: str) -> Rules:
    """The rules of a commit; empty where its studies cannot be read any more."""
    packed = git("archive", commit, "core", "studies", ":(exclude)core/assets")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        reader = Path(__file__).with_name("rule_forms.py")
        done = subprocess.run(
            [sys.executable, reader], cwd=folder, capture_output=True, check=False
        )
        if done.returncode:
            return {}
        places = [Path(folder, name) for name in CHECKS]  # where they stand, now or then
        checks = checks_of("".join(place.read_text() for place in places if place.exists()))
    return {key: [*rule, checks] for key, rule in json.loads(done.stdout).items()}


def held_since(rules: Callable[[int], Rules], commits: int) -> dict[str, int]:
    """By claim of commit 0, up to which commit before it each has the same rule without a break, of
    so many commits, latest first. Commits are asked a stride apart, and between two that differ."""
    now = rules(0)
    since = dict.fromkeys(now, 0)

    def same(place: int) -> set[str]:
        older = rules(place)
        return {key for key, rule in now.items() if older.get(key) == rule}

    def last(key: str, low: int, high: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if key in same(middle) else (low, middle)
        return low

    low = 0
    alive = set(now)
    while alive and low < commits - 1:
        high = min(low + STRIDE, commits - 1)
        kept = alive & same(high)
        since |= {key: last(key, low, high) for key in alive - kept}
        since |= dict.fromkeys(kept, high)
        alive, low = kept, high
    return since


def dates_by_history() -> dict[str, str]:
    """Since when the main branch has the present rule of each claim."""
    listed = git("log", "--first-parent", "--format=%H %ct", "--", *DECIDING).decode()
    commits = [line.split() for line in listed.splitlines()]
    asked: dict[int, Rules] = {}

    def rules(place: int) -> Rules:
        if place not in asked:
            asked[place] = rules_at(commits[place][0])
        return asked[place]

    return {
        key: minute(commits[place][1]) for key, place in held_since(rules, len(commits)).items()
    }


def published_runs() -> Iterator[tuple[str, str]]:
    """Text and commit of every published run."""
    published = FIRST_RUNS.parent
    for pack in Store(published, published).packs.values():
        for footer in pack.footers.values():
            text = json.loads(footer["config"])["run"]["data"]["digest"]
            yield text, json.loads(footer["provenance"])["commit"]


def write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def main() -> None:
    """Register what is new; with --history also date the present rules."""
    now = minute(datetime.now(UTC).timestamp())
    rows = [list(row.values()) for row in rows_of(REGISTERED)]
    since = dates_by_history() if "--history" in sys.argv else {}
    for group in SHIPPED:
        for study in CATALOGUE.groups[group]:
            for claim in study.claims:
                rule = rule_of(claim, len(study.claims))
                last = next((row for row in reversed(rows) if row[0] == claim.key), None)
                if last is None or last[2] != rule:
                    last = [claim.key, form_of(claim), rule, now]
                    rows.append(last)
                last[3] = since.get(claim.key, last[3])
    write(REGISTERED, COLUMNS, rows)

    commits = dict(dates(COMMITS))
    new: dict[str, str] = {}
    for text, commit in published_runs():
        date = date_of(commit)
        if date:
            commits[commit.rstrip("+")] = date
        new[text] = min(new.get(text, now), date or now)
    write(COMMITS, ("commit", "date"), sorted(commits.items()))
    write(FIRST_RUNS, ("text", "date"), sorted((new | dates(FIRST_RUNS)).items()))


if __name__ == "__main__":
    main()
