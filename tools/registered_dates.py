"""When each registered rule was first written, and when its claim first had runs, from the history
of this repository: `python -m tools.registered_dates` fills the columns `first_form` and
`first_run` of studies/reference/registered.csv. It needs the whole history, and takes a minute.

A rule's first form is the commit that first wrote the claim's key. Its first run is the commit that
first published a table of its study with a run in it, at whatever scale.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime

from core.errors import HOME
from core.study.registered import REGISTERED
from studies import STUDIES

COMMIT = "commit "  # begins the line of a commit
LOG = ("log", "--reverse", "--no-merges", f"--format={COMMIT}%H %ct")


def git(*words: str) -> Iterator[str]:
    """The lines of what git prints."""
    command = ["git", "-C", str(HOME), *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            yield line.rstrip("\n")


def minute(seconds: str) -> str:
    """Seconds since 1970 as a date and time, such as 2026-11-21 14:27."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M")


def first_forms(keys: set[str]) -> dict[str, str]:
    """When each of these claims' keys was first written."""
    forms: dict[str, str] = {}
    when = ""
    for line in git(*LOG, "--patch", "--unified=0", "--", "*.py"):
        if line.startswith(COMMIT):
            when = minute(line.split()[2])
        elif line.startswith("+"):
            for key in re.findall('"([^"]{2,40})"', line):
                if key in keys:
                    forms.setdefault(key, when)
    return forms


def first_runs(names: set[str]) -> dict[str, str]:
    """When a table of each of these studies was first published with a run in it."""
    runs: dict[str, str] = {}
    commit = when = ""
    for line in git(*LOG, "--name-only", "--diff-filter=AM", "--", "results/*.csv"):
        if line.startswith(COMMIT):
            _, commit, seconds = line.split()
            when = minute(seconds)
        name = re.search(r"/([^/]+?)(?:_runs)?\.csv$", line)
        if name and name[1] in names and name[1] not in runs and _holds_run(commit, line):
            runs[name[1]] = when
    return runs


def _holds_run(commit: str, path: str) -> bool:
    """Whether a table of a commit holds a run: a row for it, or a number of seeds above 0."""
    rows = list(csv.DictReader(io.StringIO("\n".join(git("show", f"{commit}:{path}")))))
    if path.endswith("_runs.csv"):
        return bool(rows)
    return any(row.get("n") not in (None, "", "0") for row in rows)


def main() -> None:
    """Fill both columns. A claim that no commit has yet is written now."""
    with REGISTERED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of_study = {claim.key: study.name for study in STUDIES for claim in study.claims}
    forms = first_forms(set(of_study))
    runs = first_runs(set(of_study.values()))
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    for row in rows:
        row["first_form"] = forms.get(row["claim"], now)
        row["first_run"] = runs.get(of_study.get(row["claim"], ""), "")
    with REGISTERED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
