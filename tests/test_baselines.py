"""The untrained encoder and the bag of words: what they are, and that they are kept."""

import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tiny
from core.engine import baselines
from core.engine.scores import cosines, spearman
from core.engine.scoring import Scorer
from core.engine.sts import StsSet
from core.engine.tokens import TokenTable

TEXTS = ("a dog ran", "the dog ran", "rain fell", "rain fell softly", "a cat")


def pairs(name):
    return StsSet(name=name, subset=(name,) * 3, a=TEXTS[:3], b=TEXTS[1:4], gold=np.array([4.0, 0.5, 3.0]))


@pytest.fixture
def scorer():
    arrays = tiny.sentences(len(TEXTS))
    table = TokenTable(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)]))
    return Scorer({"D": pairs("D"), "T": pairs("T")}, "D", ["T"], [], TEXTS, table, torch.device("cpu"))


def test_a_sentence_is_the_mean_of_its_words_whatever_comes_before():
    one, two, both = baselines.bag_of_words(["Dog", "ran", "dog  RAN!"])
    assert both == pytest.approx((one + two) / 2, abs=1e-6)
    assert np.array_equal(baselines.bag_of_words(["other words", "dog ran"])[1], both)
    assert abs(one @ two) / np.linalg.norm(one) / np.linalg.norm(two) < 0.3


def test_baselines_are_the_encoder_s_own_cls_and_are_kept(scorer, tmp_path):
    config, encoder = tiny.config("mocose"), tiny.encoder(tiny.bert(), dropout=0.5)
    found = baselines.baselines(config, encoder.train(), scorer, tmp_path)
    cls = scorer.vectors(baselines.Untrained(encoder), TEXTS)
    unit = cls / np.linalg.norm(cls, axis=1, keepdims=True)
    order = np.argsort(np.argsort((unit[:3] * unit[1:4]).sum(1)))
    assert found["untrained"]["T"] == pytest.approx(100 * np.corrcoef(order, [2, 0, 1])[0, 1])
    again = baselines.baselines(config, encoder, scorer, tmp_path)
    assert [(name, list(scores.items())) for name, scores in again.items()] == [(n, list(s.items())) for n, s in found.items()]  # order too
    path = next(tmp_path.glob("baselines/*.json"))
    path.write_text(json.dumps({name: {"D": 1.0, "T": 2.0} for name in found}))
    assert baselines.baselines(config, encoder, scorer, tmp_path)["untrained"] == {"D": 1.0, "T": 2.0}
    path.write_text('{"untrained": 3')
    assert baselines.baselines(config, encoder, scorer, tmp_path) == found


@pytest.mark.parametrize("make", [tiny.bert, tiny.roberta])
def test_first_last_average_is_that_of_transformers(make, scorer):  # D77
    model, arrays = make(), tiny.sentences(len(TEXTS))
    ids, mask = tiny.padded(arrays, 9, pad=model.config.pad_token_id)
    with torch.no_grad():
        layers = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    both = scorer.vectors(baselines.FirstLast(tiny.encoder(make(), dropout=0.5)), TEXTS)
    for layer, found in zip((1, 0), np.split(both, 2, axis=1)):
        average = (layers[layer] + layers[-1]) / 2
        wanted = np.stack([average[i, : len(array)].mean(0) for i, array in enumerate(arrays)])
        assert found == pytest.approx(wanted, abs=1e-5)


def test_first_last_scores_are_those_of_its_two_halves(scorer, tmp_path):
    encoder = tiny.encoder(tiny.bert())
    found = baselines.baselines(tiny.config("mocose"), encoder, scorer, tmp_path)
    for name, half in zip(("untrained_first_last", "untrained_first_last_0"), (slice(0, 16), slice(16, 32))):
        vectors = scorer.vectors(baselines.FirstLast(encoder), TEXTS)[:, half]
        assert found[name]["T"] == pytest.approx(spearman(cosines(vectors[:3], vectors[1:4]), scorer.sets["T"].gold))


def test_vectors_are_taken_in_evaluation_mode_and_the_mode_is_put_back(scorer):
    model = baselines.Untrained(tiny.encoder(tiny.bert(), dropout=0.5)).train()
    assert np.array_equal(scorer.vectors(model, TEXTS), scorer.vectors(model, TEXTS))
    assert model.training


def test_vectors_do_not_depend_on_the_number_of_threads(scorer, monkeypatch):
    monkeypatch.setattr("core.engine.scoring.TOKENS_PER_BATCH", {"cpu": 7})
    model, seen = baselines.FirstLast(tiny.encoder(tiny.bert())), set()
    encode = model.sentence_vectors

    def watched(batch):
        seen.add((threading.current_thread() is threading.main_thread(), torch.get_num_threads()))
        return encode(batch)

    model.sentence_vectors = watched
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = scorer.vectors(model, TEXTS)
        torch.set_num_threads(3)
        assert seen == {(True, 1)}
        assert np.array_equal(scorer.vectors(model, TEXTS), alone) and torch.get_num_threads() == 3
        assert seen == {(True, 1), (False, 1)}
        model.draws_when_scored = True
        assert scorer.vectors(model, TEXTS) == pytest.approx(alone, abs=1e-6) and seen == {(True, 1), (False, 1), (True, 3)}
    finally:
        torch.set_num_threads(before)


def test_scores_do_not_depend_on_batching(scorer, monkeypatch):
    model = SimpleNamespace(training=False, eval=lambda: None, train=lambda mode: None)
    encoder = tiny.encoder(tiny.bert()).eval()
    model.sentence_vectors = encoder
    whole = scorer.vectors(model, TEXTS)
    monkeypatch.setattr("core.engine.scoring.TOKENS_PER_BATCH", {"cpu": 7})
    assert scorer.vectors(model, TEXTS) == pytest.approx(whole, abs=1e-5)
