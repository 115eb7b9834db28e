"""How claims stand on stored runs and what each would be given next, on a store in memory; and the seeds that tables read."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from fake_store import FakeStore, config_of, edition
from known_jobs import ONE, TWO

from core.report import comparability
from core.report.cells import gather, read_runs
from core.runner.estimate import History
from core.runner.resolve.choosing import choices, missing, wall
from core.runner.resolve.command import Resolving
from core.runner.resolve.judging import Judge
from core.runner.resolve.ledger import Batch, Entry, Ledger
from core.runner.resolve.prospects import table


def filled(seeds: dict[str, int], levels: dict[str, float], sd: float = 0.5, gaps: tuple = ()) -> FakeStore:
    store = FakeStore()
    for label, count in seeds.items():
        for seed in range(count):
            if (label, seed) not in gaps:
                value = levels[label] + random.Random(f"{label} {seed}").gauss(0.0, sd)
                store.add(config_of(ONE, (label,), seed), value)
    return store


LEVELS = {"a": 56.0, "b": 50.0, "c": 53.0, "d": 52.5}


def judged(store, study=ONE) -> Judge:
    judge = Judge(study, edition(), store)
    assert judge.look({}, None) and not judge.look({}, None)  # nothing new the second time
    return judge


def labels(wish) -> str:
    return "".join(cell.labels[0] for cell in wish.cells)


def test_without_three_seeds_every_claim_asks_for_its_first_look_alone():
    judge = judged(filled({"a": 2, "b": 3}, LEVELS))
    for key, cells in {"K1": "ab", "K2": "abc", "K3": "cd"}.items():
        (wish,) = judge.standings[key].wishes
        assert (wish.leaning, wish.n, wish.chance, labels(wish)) == ("first look", 3, None, cells)
    assert [run.seed for run in missing(judge, judge.standings["K1"].wishes[0], 3)] == [2]  # the others are there
    assert len(missing(judge, judge.standings["K3"].wishes[0], 3)) == 6


def test_a_claim_that_leans_to_contradicted_needs_the_two_cells_of_its_worst_comparison():
    judge = judged(filled(dict.fromkeys("abcd", 3), LEVELS, sd=0.8))
    wishes = judge.standings["K2"].wishes
    against = [wish for wish in wishes if wish.leaning == "contradicted"]
    assert against and all(labels(wish) == "bc" and wish.n == 5 for wish in against)
    assert not [wish for wish in wishes if wish.leaning == "supported"]  # b is three points below c
    assert all(labels(wish) == "ab" for wish in judge.standings["K1"].wishes) or judge.standings["K1"].entry.settled


def test_a_claim_of_few_seeds_is_given_its_next_look_however_small_its_chance(monkeypatch):
    """Of fewer than eight seeds nothing is futile, so something has to come next; from eight on it is given up."""
    for seeds, next_look in ((3, 5), (5, 8), (8, None)):
        judge = Judge(ONE, edition(), filled(dict.fromkeys("abcd", seeds), dict.fromkeys("abcd", 50.0), sd=3.0))
        small = [
            SimpleNamespace(n=n, support=0.01, contradiction=0.03, equivalence=None, best=0.03) for n in judge.rules.LOOKS if n > seeds
        ]
        monkeypatch.setattr(judge, "_chances", lambda claim, small=small: tuple(small))
        judge.look({}, None)
        standing = judge.standings["K1"]
        assert standing.futile == (next_look is None)
        assert [(wish.n, wish.leaning, wish.chance, labels(wish)) for wish in standing.wishes] == (
            [] if next_look is None else [(next_look, "contradicted", 0.03, "ab")]
        )


def test_choices_put_first_looks_first_and_then_the_largest_chance_by_the_second():
    one = judged(filled({**dict.fromkeys("abcd", 3)}, LEVELS, sd=0.8))
    store = FakeStore()
    two = Judge(TWO, edition(), store)
    two.look({}, None)
    open_claims = {("mocose-one", key) for key in one.standings} | {("mocose-two", "L1")}
    found = choices([one, two], open_claims, History(), set())
    assert [(choice.wish.study, choice.wish.leaning) for choice in found[:2]] == [("mocose-two", "reference"), ("mocose-two", "first look")]
    rates = [choice.wish.chance / choice.seconds for choice in found[2:]]
    assert rates == sorted(rates, reverse=True) and len(rates) > 2
    assert not [choice for choice in choices([one, two], {("mocose-one", "K3")}, History(), set()) if choice.wish.claim != "K3"]
    failed = {choice.runs[0].run_id for choice in found[:2]}
    assert "mocose-two" not in {choice.wish.study for choice in choices([one, two], open_claims, History(), failed)}
    seconds = [History().seconds(run.config) for run in found[1].runs]
    assert wall(found[1].runs, History(), 2) == pytest.approx(sum(seconds) / 2) and wall(found[1].runs, History(), 99) == max(seconds)


def test_a_reference_runs_once_before_any_first_look_and_rules_its_study_out_if_it_does_not_learn():
    named = replace(ONE, reference=("d",))
    store = filled({"a": 2, "b": 3}, LEVELS)
    judge = judged(store, named)
    for standing in judge.standings.values():
        reference, first = standing.wishes
        assert (reference.leaning, labels(reference), reference.n, first.leaning) == ("reference", "d", 1, "first look")
    (run,) = missing(judge, reference, 1)
    made = store.add(run.config, 53.0)
    untrained = pd.DataFrame([("untrained", "avg", "spearman_all", 0, 50.0)], columns=made.rows.columns)
    made.rows = pd.concat([made.rows, untrained], ignore_index=True)
    assert judge.look({}, None)
    assert {standing.reason for standing in judge.standings.values()} == {
        "not comparable: the trained reference (d) is +3.00 points from the untrained [CLS] (at least +5; n = 1)"
    }
    made.rows.loc[made.rows["checkpoint"] == "untrained", "value"] = 40.0
    learnt = judged(store, named)
    assert {tuple(wish.leaning for wish in standing.wishes) for standing in learnt.standings.values()} == {("first look",)}


def test_a_study_that_cannot_carry_the_experiment_is_passed_over_with_its_reason(monkeypatch):
    monkeypatch.setattr(comparability, "judged", lambda result: replace(result, not_comparable="the queue turns over once; two epochs"))
    judge = judged(filled(dict.fromkeys("abcd", 12), LEVELS))
    for standing in judge.standings.values():
        assert standing.entry.outcome == "undecided" and not standing.wishes
        assert standing.reason == "not comparable: the queue turns over once; two epochs"


def test_a_claim_that_is_withheld_is_passed_over_alone_whatever_its_ledger_says(monkeypatch):
    monkeypatch.setattr(comparability, "judged", lambda result: replace(result, withheld={"K1": "two checks"}))
    judge = judged(filled(dict.fromkeys("abcd", 12), LEVELS))
    assert judge.standings["K1"].reason == "not comparable: two checks" and not judge.standings["K1"].wishes
    assert all(not standing.reason for key, standing in judge.standings.items() if key != "K1")
    entry = Entry(outcome="contradicted", look=4, n=12, p=(1.0, 0.001, 1.0))
    entries = {key: entry if key == "K1" else standing.entry for key, standing in judge.standings.items()}
    *lines, last = table([judge], {"mocose-one": SimpleNamespace(claims=entries, spent={"seconds": 0.0})})
    assert next(line for line in lines if "K1 " in line).endswith("not comparable: two checks")
    held = SimpleNamespace(known={"mocose-one": ledger(entries, "K1")}, store=judge.store, _once=pytest.fail)
    assert Resolving._entered(held, judge).batch is None and Resolving._entered(held, judge).claims["K1"] == entry
    held.known["mocose-one"] = ledger(entries, "K2")
    assert Resolving._entered(held, judge).batch is not None  # runs that were begun for an open claim are finished
    assert last.startswith(f"{sum(one.settled for key, one in entries.items() if key != 'K1')} of {len(entries)} claims are settled")


def ledger(entries, claim):
    """A ledger with these entries and a run begun for a claim."""
    batch = Batch(claim=claim, n=18, runs=("0" * 16,))
    return Ledger(study="mocose-one", registered={}, cells={}, claims=entries, batch=batch, spent={"runs": 0, "seconds": 0.0})


def test_a_look_counts_seeds_without_a_gap():
    judge = judged(filled(dict.fromkeys("abcd", 8), LEVELS, gaps=(("b", 4),)))
    assert judge.standings["K3"].entry.n >= 5 and judge.standings["K1"].entry.n == 3
    assert [run.seed for run in missing(judge, next(w for w in judge.standings["K4"].wishes), 12)] == [8, 8, 9, 9, 10, 10, 11, 11]


def test_tables_read_every_seed_that_is_stored_without_a_gap():
    store = filled({"a": 7, "b": 7, "c": 2}, LEVELS, gaps=(("b", 5),))
    result = gather(ONE, edition(), store)
    assert [len(cell.runs) for cell in result.cells] == [7, 5, 3, 3] and [cell.estimate.n for cell in result.cells] == [7, 5, 2, 0]
    assert [run.seed for run in result.cells[0].runs] == list(range(7))
    assert [len(read_runs(ONE, cell, edition(6), store)) for cell in ONE.cells] == [7, 6, 6, 6]
