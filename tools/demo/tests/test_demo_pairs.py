"""The graded pairs: reproducible, graded over the whole range, unseen in training, and not solved by a bag of words."""

import hashlib

import numpy as np
import pytest

from core.data.sts import load_demo
from core.engine.evaluation.baselines import bag_of_words
from core.engine.evaluation.scoring import evaluate
from tools.demo.corpus import training_sentences
from tools.demo.pairs import DEV, TESTS, Pair, graded_pairs

PAIRS_DIGEST = "c94cfbcc0de6942f43c69d5b481da016b7bc2256f63b45388e4c2030e89691a5"
SETS = (DEV, *TESTS)


def test_names():
    assert DEV == "DEV" and TESTS == ("Para", "Length", "Roles", "Mixed")
    with pytest.raises(ValueError, match="there is no demo set"):
        graded_pairs("STS12")


def test_all_pairs_are_pinned():
    text = "\n".join(f"{p.a}\t{p.b}\t{p.gold}" for name in SETS for p in graded_pairs(name))
    assert hashlib.sha256(text.encode()).hexdigest() == PAIRS_DIGEST


@pytest.mark.parametrize("name", SETS)
def test_sets_are_large_graded_and_different_sentences(name):
    pairs = graded_pairs(name)
    gold = np.array([p.gold for p in pairs])
    assert len(pairs) >= 900 and isinstance(pairs[0], Pair)
    assert gold.min() == 0.0 and 3.8 <= gold.max() <= 5.0
    assert (gold < 1).mean() > 0.08 and (gold > 3).mean() > 0.15
    assert len(np.unique(gold)) > 50
    assert np.mean([p.a == p.b for p in pairs]) < 0.01


def test_no_evaluation_sentence_occurs_in_the_training_text():
    evaluated = {sentence for name in SETS for p in graded_pairs(name) for sentence in (p.a, p.b)}
    for seed in (0, 1):
        assert evaluated.isdisjoint(training_sentences(40_000, seed))


def test_development_and_test_sentences_hardly_overlap():
    development = {s for p in graded_pairs(DEV) for s in (p.a, p.b)}
    tests = {s for name in TESTS for p in graded_pairs(name) for s in (p.a, p.b)}
    assert len(development & tests) < 0.02 * len(development)


def test_length_pairs_a_short_sentence_with_a_long_one():
    short = [len(p.a.split()) for p in graded_pairs("Length")]
    long = [len(p.b.split()) for p in graded_pairs("Length")]
    assert np.mean(short) < 8 and np.mean(long) > 1.7 * np.mean(short)
    assert np.mean([b > a for a, b in zip(short, long, strict=True)]) > 0.95


def test_paraphrases_share_few_words():
    same = [p for p in graded_pairs("Para") if p.gold == 5.0]
    shared = [len(set(p.a.lower().split()) & set(p.b.lower().split())) / len(set(p.a.lower().split())) for p in same]
    assert len(same) > 200 and np.mean(shared) < 0.7


def test_roles_holds_pairs_of_the_same_words_with_lower_gold():
    words = [(sorted(p.a.lower().strip(".").split()), sorted(p.b.lower().strip(".").split()), p.gold) for p in graded_pairs("Roles")]
    twins = [gold for a, b, gold in words if a == b]
    assert len(twins) > 40 and np.mean(twins) < 4


def test_a_bag_of_words_does_not_solve_the_tests():
    scores = {name: score.all for name, score in evaluate(load_demo(), bag_of_words).scores.items()}
    assert set(scores) == set(SETS)
    assert scores["Roles"] < 25
    assert np.mean([scores[name] for name in TESTS]) < 40
