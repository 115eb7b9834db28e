"""The rules of claims as they were registered: a row for each rule, and a new row for each
change."""

from __future__ import annotations

import csv
import hashlib
import json
from functools import cache
from typing import NamedTuple

from core.errors import HOME
from core.study.claim import Claim, Contrast, Predicate

REGISTERED = HOME / "studies" / "reference" / "registered.csv"


class Rule(NamedTuple):
    """A row of the file: a claim's key, the digest of its rule, the day on which it was registered,
    and whether runs of the claim had been seen by then under another rule; when the claim's first
    form was written, and when a run of its study was first published ("": never)."""

    claim: str
    rule: str
    date: str
    after_runs: str
    first_form: str
    first_run: str


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
    terms = [[term.weight, *term.cell] for term in predicate.terms]
    return [terms, predicate.above, read, predicate.of]


@cache
def registered() -> dict[str, tuple[Rule, ...]]:
    """Every registered rule by claim, in the order of the file."""
    rules: dict[str, tuple[Rule, ...]] = {}
    with REGISTERED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rule = Rule(**row)
            rules[rule.claim] = (*rules.get(rule.claim, ()), rule)
    return rules


def written_after_runs(key: str) -> bool:
    """Whether runs of a claim had been seen when its rule, or the first form of it, was written."""
    return any(
        rule.after_runs == "yes" or "" < rule.first_run < rule.first_form
        for rule in registered().get(key, ())
    )
