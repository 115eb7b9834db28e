"""For maintainers: register the rules of claims in studies/reference/registered.csv.

`python -m tools.registered` adds a row for each new or changed rule, under today's date, and fills
the columns `first_form` and `first_run` from the history of this repository, which must be whole. A
rule's first form is the commit that first wrote the claim's key. Its first run is the commit that first
published a table of its study with a run in it, at whatever scale. Runs had been seen (`after_runs`)
if there is such a commit.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime

from core.errors import HOME
from core.study.claim import Claim, Contrast, Predicate
from core.study.registered import REGISTERED, registered
from studies import CATALOGUE

SHIPPED = ("mocose", "esimcse", "simcse", "own")
COLUMNS = ("claim", "rule", "date", "after_runs", "first_form", "first_run")
COMMIT = "commit "  # begins the line of a commit
LOG = ("log", "--reverse", "--no-merges", f"--format={COMMIT}%H %at")


def rule_of(claim: Claim) -> str:
    """16 hex digits over what decides a claim: predicate, margin, gate, what the untrained encoder
    shows."""
    rule = [_plain(claim.predicate), claim.margin, claim.gate]
    if claim.untrained is not None:
        rule.append(_plain(claim.untrained))
    return hashlib.sha256(json.dumps(rule).encode()).hexdigest()[:16]


def _plain(predicate: Predicate) -> list[object]:
    if not isinstance(predicate, Contrast):
        return [predicate.needed, *map(_plain, predicate.parts)]
    metric = predicate.metric
    read = metric and [metric.task, metric.quantity, metric.checkpoint]
    terms = [[predicate.sign * term.weight, *term.cell] for term in predicate.terms]
    above = predicate.threshold
    if predicate.side == "below":  # as rules are registered: the negative sum lies above
        terms.reverse()
        above = 0.0 - above
    return [terms, above, read, predicate.of]


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
    """Register the rules of the shipped studies. A claim that no commit has yet is written now."""
    shipped = [study for group in SHIPPED for study in CATALOGUE.groups[group]]
    claims = {claim.key: (study.name, claim) for study in shipped for claim in study.claims}
    forms = first_forms(set(claims))
    runs = first_runs({name for name, _ in claims.values()})
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    with REGISTERED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for key, (name, claim) in claims.items():
        rules = registered().get(key, [])
        if not rules or rules[-1]["rule"] != rule_of(claim):
            seen = "yes" if name in runs else "no"
            rows.append(dict(zip(COLUMNS, (key, rule_of(claim), now[:10], seen), strict=False)))
    for row in rows:
        row["first_form"] = forms.get(row["claim"], now)
        row["first_run"] = runs.get(claims[row["claim"]][0], "") if row["claim"] in claims else ""
    with REGISTERED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
