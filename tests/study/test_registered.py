"""Rules of claims: each is registered with its digest, which any change of the rule changes."""

import functools
import math
import operator
from dataclasses import replace

import pandas as pd
import pytest
from places import ROOT, SHIPPED

from core.report.rule_age import rules_at, written_after_runs
from core.store import code
from core.study.catalogue import catalogue
from core.study.claim import changed
from core.study.registered import registered, seen_before_rule
from studies import CATALOGUE, STUDIES, find
from tools.registered import rule_of

OURS = [study for folder in SHIPPED for study in CATALOGUE.groups[folder]]  # their rules are kept


def test_every_rule_is_registered():
    """Predicate, margin and gate. `python -m tools.registered` adds a row for a changed rule."""
    rules = {key: rows[-1]["rule"] for key, rows in registered().items()}
    assert rules == {claim.key: rule_of(claim) for study in OURS for claim in study.claims}
    for rows in registered().values():
        assert [row["date"] for row in rows] == sorted(row["date"] for row in rows)


def test_a_rule_says_that_runs_were_seen_where_runs_are_older():
    """A later row may say "no" only if no run of the claim is published. That the first form of a
    rule is younger than the first table of its study is said, too."""
    claims = pd.read_csv(ROOT / "results" / "published" / "claims.csv")
    begun = set(claims[claims["n"] > 0]["claim"])
    for key, rows in registered().items():
        assert all(row["after_runs"] == "yes" for row in rows[1:] if key in begun), key
        assert rows[0]["first_run"] or key not in begun, key
        assert rows[0]["first_form"][:10] <= rows[-1]["date"], key
    assert seen_before_rule("E4.2") and not seen_before_rule("S3.1")


def test_runs_of_a_commit_that_holds_the_rule_are_younger_than_the_rule():
    commit, unknown = code.current_commit()
    if unknown:
        pytest.skip("this folder is no repository")
    assert ("E4.2", registered()["E4.2"][-1]["rule"]) in rules_at(commit[:12])
    assert not written_after_runs("E4.2", [commit[:12]])
    for other in ("unknown", "--help", "0" * 12):
        assert written_after_runs("E4.2", [commit, other])
    assert not written_after_runs("S3.1", ["unknown"])  # no run had been seen


def test_no_rule_depends_on_how_floats_are_added(monkeypatch):
    """`sum` adds floats more exactly from Python 3.12 on than before."""
    rules = [rule_of(claim) for study in STUDIES for claim in study.claims]

    def exact(values, start=0):
        values = [start, *values]
        return math.fsum(values) if float in map(type, values) else in_turn(values)

    def in_turn(values, start=0):
        return functools.reduce(operator.add, values, start)

    for add in (exact, in_turn):
        monkeypatch.setattr("builtins.sum", add)
        again = catalogue(*CATALOGUE.folders).studies
        assert [rule_of(claim) for study in again for claim in study.claims] == rules


def test_any_change_of_a_rule_changes_its_digest():
    claim = find("table7").claims[0]
    other = replace(
        claim, predicate=changed(claim.predicate, lambda each: replace(each, threshold=0.1))
    )
    others = [replace(claim, margin=0.3), replace(claim, gate="none"), other]
    assert len({rule_of(each) for each in (claim, *others)}) == 4
    assert rule_of(replace(claim, text="Other words.", note="A note.")) == rule_of(claim)
