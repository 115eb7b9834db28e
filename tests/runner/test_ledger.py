"""Ledgers: what they register, and one sentence with status 2 for those that cannot be believed, which stay as they are."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import replace

import known_jobs
import pytest
from known_jobs import ONE, A, B, C, D
from places import ROOT

import run_study
from core.report.sequential import ALPHA, LOOKS, SHARES
from core.runner.resolve.judging import Judge
from core.runner.resolve.ledger import Batch, Entry, Ledger, Ledgers, plain, registration
from core.spec.claim import Claim, above, all_of, any_of, greater, mean_above, scatters_more
from core.spec.errors import UserError
from core.spec.profiles import PROFILES
from core.spec.scale import SCALES
from core.spec.table import Metric
from core.store.store import Store
from studies import STUDIES

PLACE = ("mini", PROFILES[0])


def registered(claims=ONE.claims, **changes) -> dict:
    return registration(replace(ONE, claims=tuple(claims), **changes), ALPHA, LOOKS, SHARES)


def ledger(**changes) -> Ledger:
    entry = Entry(outcome="supported", look=2, n=5, p=(1e-6, 1.0, 0.5))
    return Ledger(**{
        "study": ONE.name, "registered": registered(), "cells": {"a": "0" * 16}, "claims": {"K1": entry},
        "batch": Batch(claim="K2", n=3, runs=("1" * 16,)), "spent": {"runs": 6, "seconds": 1.5}, **changes,
    })  # fmt: skip


def test_what_is_written_is_read_again_whole(tmp_path):
    ledgers = Ledgers(tmp_path, *PLACE)
    assert ledgers.read(ONE.name, registered(), {}) is None
    for one in (ledger(), ledger(batch=None, claims={})):
        ledgers.write(one)
        assert ledgers.read(ONE.name, registered(), {"a": "0" * 16, "b": "2" * 16}) == one
    assert [path.name for path in ledgers.folder.iterdir()] == ["mocose-one.json"]
    stamp = ledgers.path(ONE.name).stat().st_mtime_ns
    ledgers.write(one)
    assert ledgers.path(ONE.name).stat().st_mtime_ns == stamp  # what is there already is not written


def test_a_published_ledger_counts_for_its_own_runs_only(tmp_path):
    published, here = Ledgers(tmp_path / "published", *PLACE), Ledgers(tmp_path / "own", *PLACE, published=tmp_path / "published")
    published.write(ledger())
    assert here.read(ONE.name, registered(), {"a": "0" * 16}) == ledger()
    assert here.read(ONE.name, registered(), {"a": "3" * 16}) is None  # another encoder or text: registered anew
    assert here.read(ONE.name, registered(()), {"a": "3" * 16}) is None  # and whatever its claims are
    here.write(ledger())
    with pytest.raises(UserError, match="registered for other runs"):
        here.read(ONE.name, registered(), {"a": "3" * 16})


def test_a_predicate_is_registered_with_all_that_decides_it():
    mean, dev = mean_above([A], [B, (None,)]), Metric(task="dev", title="Development")
    read = ["avg", "spearman", "selected"]
    assert plain(greater(A, B, 0.5), ONE) == {
        "terms": [[1.0, [["a", read]]], [-1.0, [["b", read]]]], "above": 0.5, "of": "value"
    }  # fmt: skip
    assert plain(mean, ONE)["terms"][2] == [-0.5, [[label, read] for label in "abcd"]]  # a wildcard is spelled out
    assert plain(above(A, 1.0, dev), ONE)["terms"] == [[1.0, [["a", ["dev", "spearman", "selected"]]]]]
    assert plain(any_of(greater(A, B), scatters_more(A, C)), ONE)["needed"] == 1


K1 = ONE.claims[0]
CHANGES = {
    "threshold": (replace(K1, predicate=greater(A, B, 0.1)), *ONE.claims[1:]),
    "cell": (replace(K1, predicate=greater(A, C)), *ONE.claims[1:]),
    "margin": (replace(K1, margin=2.0), *ONE.claims[1:]),
    "no margin": (replace(K1, margin=None), *ONE.claims[1:]),
    "key": (replace(K1, key="K9"), *ONE.claims[1:]),
    "fewer": ONE.claims[1:],
    "more": (*ONE.claims, Claim(key="K9", text="", predicate=greater(D, A))),
    "needed": (ONE.claims[0], replace(ONE.claims[1], predicate=any_of(greater(A, B), greater(B, C))), *ONE.claims[2:]),
    "scatter": (replace(K1, predicate=scatters_more(A, B)), *ONE.claims[1:]),
    "metric": (replace(K1, predicate=replace(greater(A, B), metric=Metric(task="dev", title="Average"))), *ONE.claims[1:]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_claims_that_were_changed_after_registration_are_seen(what):
    now = registered(CHANGES[what])
    assert now["digest"] != registered()["digest"] and now != registered()


def test_words_may_be_mended_after_registration_and_looks_may_not():
    mended = (replace(K1, text="a beats b.", quote="…", note="!", decided_by="a against b"), *ONE.claims[1:])
    assert registered(mended) == registered()
    same = replace(ONE, claims=(K1,), metric=replace(ONE.metric, title="Mean"))
    assert registration(same, ALPHA, LOOKS, SHARES) == registered([K1])
    assert registration(ONE, ALPHA, LOOKS[1:], SHARES[1:]) != registered() != registration(ONE, 0.1, LOOKS, SHARES)


def test_what_withholds_a_claim_is_registered_with_it():
    """Or a verdict that nobody likes could be turned into none after the fact."""
    assert registered(must_learn=(A,)) != registered() != registered(reference=B if ONE.reference == A else A)


def test_a_study_without_claims_is_registered_anew_when_it_changes(tmp_path):
    """There is no verdict that a change could turn; a study that loses its claims, or gains some, is refused."""
    ledgers = Ledgers(tmp_path, *PLACE)
    ledgers.write(ledger(registered=registered(()), claims={}, batch=None))
    assert ledgers.read(ONE.name, registered((), must_learn=(B,)), {}) is None
    with pytest.raises(UserError, match="other claims"):
        ledgers.read(ONE.name, registered(must_learn=(B,)), {})
    ledgers.write(ledger())
    with pytest.raises(UserError, match="other claims"):
        ledgers.read(ONE.name, registered(()), {})


def test_every_published_ledger_is_of_the_claims_that_the_studies_have_now():
    """Another would refuse whoever gives --resolve for that study: a claim that is put right takes its ledgers along."""
    found = sorted((ROOT / "results" / "published").glob("*/*/ledger/*.json"))
    assert found
    for path in found:
        study = next(study for study in STUDIES if study.name == path.stem).at(SCALES[path.parts[-4]])
        assert json.loads(path.read_text())["ledger"]["registered"] == json.loads(json.dumps(registration(study, ALPHA, LOOKS, SHARES))), (
            path
        )


def test_one_at_a_time_holds_the_ledgers(tmp_path):
    ledgers, inside, most = Ledgers(tmp_path, *PLACE), [], []

    def enter():
        with Ledgers(tmp_path, *PLACE).hold():
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.05)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    with ledgers.hold():
        for thread in threads:
            thread.start()
        threading.Event().wait(0.2)
        assert not most
    for thread in threads:
        thread.join(10)
    assert most == [1, 1, 1, 1]


def resealed(text: str, old: str, new: str) -> str:
    """A ledger with another content under a checksum that fits."""
    assert old in text
    body = json.loads(text.replace(old, new))["ledger"]
    checksum = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return json.dumps({"checksum": checksum, "ledger": body})


HARM = {
    "edited": (lambda text: text.replace('"supported"', '"contradicted"'), "was changed or damaged .* checksum does not fit"),
    "cut": (lambda text: text[: len(text) // 2], "is no ledger of this project"),
    "empty": (lambda text: "", "is no ledger of this project"),
    "nonsense": (lambda text: "\x00\xff🙂", "is no ledger of this project"),
    "deep": (lambda text: "[" * 100_000, "is no ledger of this project"),
    "list": (lambda text: "[1, 2]", "is no ledger of this project"),
    "number": (lambda text: '{"checksum": 1, "ledger": 2}', "was changed or damaged"),
    "verdict": (lambda text: resealed(text, '"supported"', '"proved"'), "is no ledger of this project"),
    "version": (lambda text: resealed(text, '"version": 1', '"version": 7'), "another version of the code .version 7."),
    "look in words": (lambda text: resealed(text, '"look": 2', '"look": "two"'), "is no ledger of this project"),
    "look below 0": (lambda text: resealed(text, '"look": 2', '"look": -2'), "is no ledger of this project"),
    "run as a list": (lambda text: resealed(text, '"a": "', '"a": ["x"], "b": "'), "is no ledger of this project"),
    "study as a number": (lambda text: resealed(text, '"study": "mocose-one"', '"study": 5'), "is no ledger of this project"),
    "claim": (lambda text: resealed(text, '"K1": {', '"K0": {'), "is no ledger of this project"),
    "p above 1": (lambda text: resealed(text, "1e-06", "1.5"), "is no ledger of this project"),
    "p is nothing": (lambda text: resealed(text, "1e-06", "NaN"), "is no ledger of this project"),
    "p above its level": (lambda text: resealed(text, "1e-06", "0.04"), "is no ledger of this project"),
    "seeds of no look": (lambda text: resealed(text, '"n": 5', '"n": 6'), "is no ledger of this project"),
    "look beyond the last": (lambda text: resealed(text, '"look": 2', '"look": 9'), "is no ledger of this project"),
    "verdict without a look": (lambda text: resealed(resealed(text, '"look": 2', '"look": 0'), '"n": 5', '"n": 0'), "is no ledger of this project"),
    "field": (lambda text: resealed(text, '"look": 2', '"looks": 2'), "is no ledger of this project"),
    "margin": (lambda text: resealed(text, '"margin": null', '"margin": 3.0'), "registered for other claims, margins or looks"),
    "study": (lambda text: resealed(text, '"study": "mocose-one"', '"study": "mocose-two"'), "is the ledger of 'mocose-two'"),
    "runs": (lambda text: resealed(text, '"a": "', '"a": "f'), "registered for other runs"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HARM)
def test_a_ledger_that_cannot_be_believed_is_named_and_stays(desk, capsys, monkeypatch, kind):
    for name, value in desk.environment().items():
        monkeypatch.setenv(name, value)
    judge = Judge(ONE, desk.edition(3), Store(desk.results, None))
    ledgers = Ledgers(desk.results, *PLACE)
    ledgers.write(ledger(registered=judge.registered, cells=judge.first, batch=None))
    path = ledgers.path(ONE.name)
    harm, sentence = HARM[kind]
    path.write_text(harm(path.read_text()))
    before = path.read_bytes()
    around = run_study.Surroundings(
        studies=known_jobs.STUDIES, find=lambda name: ONE, job="tests.support.known_jobs:run", warm=(), home=desk.folder / "home"
    )
    places = ["--scale", "mini", "--data-dir", str(desk.folder / "data"), "--encoder", str(desk.folder / "encoder")]
    assert run_study.main(["mocose-one", "--resolve", "--budget", "1h", *places], around) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and re.search(sentence, said) and str(path) in said, said
    assert path.read_bytes() == before and not desk.started() and not (desk.results / "runs").exists()


def test_all_of_is_read_in_the_order_that_is_registered():
    assert plain(all_of(greater(A, B), greater(B, C)), ONE) != plain(all_of(greater(B, C), greater(A, B)), ONE)
