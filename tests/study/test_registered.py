"""Rules of claims: each is registered with its digest, which any change of the rule changes."""

import functools
import math
import operator
from dataclasses import replace

import pytest
from fake_store import SOURCES
from places import ROOT, SHIPPED
from small_study import result, small, stored

import tools.registered
from core.errors import UserError
from core.report import rule_age as rule_age_of
from core.report.rule_age import SEEN, YOUNGER, date_of, rule_age
from core.report.statistics import SHARES
from core.study.catalogue import catalogue
from core.study.claim import changed
from core.study.registered import COMMITS, FIRST_RUNS, dates, registered
from studies import CATALOGUE, STUDIES, find
from tools.registered import held_since, published_runs, rule_of
from tools.rule_forms import checks_of, form_of

OURS = [study for folder in SHIPPED for study in CATALOGUE.groups[folder]]  # their rules are kept


def whole_rules(studies):
    """Every claim with the digest of everything that decides it."""
    return [(claim, rule_of(claim, len(each.claims))) for each in studies for claim in each.claims]


def test_every_rule_is_registered():
    """Everything that decides. `python -m tools.registered` adds a row for a changed rule."""
    last = {key: rows[-1] for key, rows in registered().items()}
    rules = {key: row["rule"] for key, row in last.items()}
    assert rules == {claim.key: rule for claim, rule in whole_rules(OURS)}
    forms = {claim.key: form_of(claim) for study in OURS for claim in study.claims}
    assert forms == {key: row["form"] for key, row in last.items()}


def test_every_published_run_has_been_seen_and_its_commit_has_a_date():
    """`python -m tools.registered` adds what is lacking. A copy without the history draws the same
    marks by these two files."""
    for text, commit in published_runs():
        assert text in dates(FIRST_RUNS)
        assert commit == "unknown" or commit.rstrip("+") in dates(COMMITS), commit


RULE, BEFORE, AFTER = "2026-11-26 12:00", "2026-11-26 11:00", "2026-11-27 09:00"


def aged(monkeypatch, commits, first):
    """The flags of a claim on runs of commits with these dates, where a run on their text was first
    seen at `first`, if ever."""
    monkeypatch.setattr(rule_age_of, "registered", lambda: {"X.0": [{"date": RULE}]})
    store = stored(small(), a=[50.0] * len(commits))
    for run, date in zip(store.runs.values(), commits, strict=True):
        run.provenance = {"commit": date}
    monkeypatch.setattr(rule_age_of, "date_of", lambda commit: commit)
    seen = {SOURCES.corpus_digest: first} if first else {"another text": BEFORE}
    monkeypatch.setattr(rule_age_of, "dates", lambda file: seen)
    cells = result(small(), store).cells
    assert not rule_age("X.1", cells)  # of a claim that is not registered
    return rule_age("X.0", cells)


@pytest.mark.parametrize(
    "commits, first, expected",
    [
        ([AFTER, AFTER], None, ""),
        ([AFTER, AFTER], AFTER, ""),  # these runs were the first
        ([RULE], RULE, ""),  # the commit that wrote the rule holds it
        ([AFTER, AFTER], BEFORE, SEEN),  # under the same seeds, perhaps
        ([AFTER, ""], BEFORE, YOUNGER),  # a run of no commit
        ([""], None, ""),  # on a text of the user's
        ([AFTER, BEFORE], None, YOUNGER),
        ([AFTER, BEFORE], BEFORE, YOUNGER),
        ([], BEFORE, ""),
    ],
)
def test_a_rule_is_younger_than_these_runs_or_than_the_first_on_their_text(
    commits, first, expected, monkeypatch
):
    assert aged(monkeypatch, commits, first) == expected


def test_a_commit_has_its_stored_date_or_that_of_the_history(monkeypatch):
    asked = []

    def git(*words):
        asked.append(words[-1])
        if words[-1] != "b" * 12:
            raise UserError("unknown revision")
        return "1764072000\n"

    monkeypatch.setattr(rule_age_of, "dates", lambda file: {"a" * 12: BEFORE})
    monkeypatch.setattr(rule_age_of.code, "git", git)
    read = [date_of.__wrapped__(f"{letter * 12}+") for letter in "abc"]
    assert read == [BEFORE, "2025-11-25 12:00", ""]
    assert not date_of.__wrapped__("unknown") and not date_of.__wrapped__("--help")
    assert asked == ["b" * 12, "c" * 12]


def test_the_date_of_a_rule_is_since_when_the_history_has_the_whole_rule():
    """A claim more in the study, or another check, is another rule; what came and went does not
    count."""
    checks, now = [[3, 0.02]], 60
    history = []
    for place in range(now):
        old = {
            "A": ["a", 5, checks],
            "B": ["b" if place < 7 else "other", 5, checks],
            "C": ["c", 5, []],
        }
        history.append(
            old if place < 41 else {key: [form, 7, checks] for key, (form, *_) in old.items()}
        )
    history[0] |= {"C": ["c", 5, checks], "D": ["d", 5, checks]}
    asked = set()

    def rules(place):
        asked.add(place)
        return history[place]

    assert held_since(rules, now) == {"A": 40, "B": 6, "C": 0, "D": 0}
    assert len(asked) < 20


def test_mini_s_six_claims_keep_their_mark_and_english_txt_has_none():
    """Six claims are older than their runs of 27 November, but their seeds had been seen on the same
    text. Their rules, and Table 7's, are older than the first run on english.txt."""
    usual = "13c1061765cca8532f490e7812cae41c09a9b4f5e9227ab1b94a3d13e1182a9c"
    english = "37f8d3a9324c481d32d4c6a0d79d00c9b28e7b452d435729a9c786089d96b153"
    for key in ("T1.6", "F5.2", "F5.3", "F6.1", "F6.2", "F7.2"):
        assert dates(FIRST_RUNS)[usual] < registered()[key][-1]["date"], key
    for key in ("E4.2", "E5.3", "E6.1", "E6.2", "E6.3", "E7.1", "E7.2", "E7.3"):
        assert registered()[key][-1]["date"] <= dates(FIRST_RUNS)[english], key


def test_no_rule_depends_on_how_floats_are_added(monkeypatch):
    """`sum` adds floats more exactly from Python 3.12 on than before."""
    rules = whole_rules(STUDIES)

    def exact(values, start=0):
        values = [start, *values]
        return math.fsum(values) if float in map(type, values) else in_turn(values)

    def in_turn(values, start=0):
        return functools.reduce(operator.add, values, start)

    for add in (exact, in_turn):
        monkeypatch.setattr("builtins.sum", add)
        again = catalogue(*CATALOGUE.folders).studies
        assert whole_rules(again) == rules


def test_any_change_of_what_decides_changes_the_digest(monkeypatch):
    claim = find("table7").claims[0]
    other = replace(
        claim, predicate=changed(claim.predicate, lambda each: replace(each, threshold=0.1))
    )
    others = [replace(claim, margin=0.3), replace(claim, gate="none"), other]
    digests = {rule_of(each, 6) for each in (claim, *others)} | {rule_of(claim, 7)}
    assert rule_of(replace(claim, text="Other words.", note="A note."), 6) in digests
    for name, value in {"ALPHA": 0.1, "SHARES": {3: 1.0}}.items():
        with monkeypatch.context() as patch:
            patch.setattr(tools.registered, name, value)
            digests.add(rule_of(claim, 6))
    assert len(digests) == 7
    assert len({form_of(each) for each in (claim, *others)}) == 4


def test_checks_are_read_as_every_commit_states_them():
    here = (ROOT / "core" / "report" / "statistics.py").read_text()
    then = "LOOKS = (3, 5)  # seeds\nSHARES = (0.02, 0.08)  # of ALPHA, by check\n"
    assert checks_of(here) == [list(pair) for pair in SHARES.items()]
    assert checks_of(then) == [[3, 0.02], [5, 0.08]] and checks_of("") == []
