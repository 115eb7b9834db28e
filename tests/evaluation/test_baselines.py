"""The untrained encoder and the bag of words: what they are, and that they are kept."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from scipy.stats import spearmanr

from core.data.sts import StsSet
from core.encoder.tokens import TokenTable
from core.encoder.vectors import cosines
from core.evaluation import baselines
from core.evaluation.metrics import mean_cosine
from core.evaluation.scoring import Scorer

TEXTS = ("a dog ran", "the dog ran", "rain fell", "rain fell softly")
ARRAYS = tiny.sentences(len(TEXTS))


def pairs(name):
    return StsSet(
        name=name, subset=(name,) * 3, a=TEXTS[:3], b=TEXTS[1:], gold=np.array([4.0, 0.5, 3.0])
    )


@pytest.fixture
def scorer():
    table = TokenTable(np.concatenate(ARRAYS), np.cumsum([0, *map(len, ARRAYS)]))
    return Scorer(
        {"T": pairs("T"), "dev": pairs("D")}, [], [], lambda texts: table, torch.device("cpu")
    )


def test_a_sentence_is_the_mean_of_its_words_whatever_comes_before():
    one, two, both = baselines.bag_of_words(["Dog", "ran", "dog  RAN!"])
    assert both == pytest.approx((one + two) / 2, abs=1e-6)
    assert np.array_equal(baselines.bag_of_words(["other words", "dog ran"])[1], both)
    assert abs(one @ two) / np.linalg.norm(one) / np.linalg.norm(two) < 0.3


def test_baselines_are_of_the_encoder_s_own_cls(scorer):
    encoder = tiny.encoder(tiny.bert(), dropout=0.5).train()
    rows = {row[:3]: row.value for row in baselines.baseline_rows(scorer, encoder)}
    cls = scorer.vectors(baselines.Untrained(encoder), TEXTS).astype(np.float64)
    score = 100 * spearmanr(cosines(cls[:3], cls[1:]), [4.0, 0.5, 3.0]).statistic
    for task in ("T", "avg"):
        assert rows["untrained", task, "spearman_all"] == pytest.approx(score)
    for metric, value in {
        "singular_value_0": np.linalg.norm(cls, 2),
        "mean_cosine": mean_cosine(cls),
    }.items():
        assert rows["untrained", "dev", metric] == pytest.approx(value, rel=1e-4)


def test_rows_are_kept(scorer, tmp_path):
    """What may be wrong with a kept file is in tests/store/test_cache.py."""
    rows = baselines.baseline_rows(scorer, tiny.encoder(tiny.bert()))
    made = []

    def make():
        made.append(1)
        return rows

    def kept():
        config = tiny.config("simcse")
        return baselines.cached_rows(config, tmp_path, "baselines", torch.device("cpu"), make)

    assert kept() == kept() == rows and len(made) == 1


def test_whitening_is_fitted_on_the_set_s_own_sentences_as_often_as_they_occur():
    draw = np.random.default_rng(2)
    texts = [f"s{i}" for i in range(40)]
    vectors = draw.standard_normal((40, 5)) @ draw.standard_normal((5, 5)) + 3

    def of(sentences):
        return vectors[[texts.index(text) for text in sentences]]

    # the last ten belong to no pair, and pairs repeat: ties
    a, b = (tuple(texts[i] for i in draw.integers(0, 30, 200)) for _ in "ab")
    gold = draw.uniform(0, 5, 200)
    score = baselines.whitened_score(StsSet("A", ("A",) * 200, a, b, gold), of)["all"]
    both = np.concatenate([of(a), of(b)])
    inverse = np.linalg.inv(np.cov(both, rowvar=False, bias=True))
    cosine = [
        u @ inverse @ v / np.sqrt((u @ inverse @ u) * (v @ inverse @ v))
        for u, v in zip(of(a) - both.mean(0), of(b) - both.mean(0), strict=True)
    ]
    assert score == pytest.approx(100 * spearmanr(np.float32(cosine), gold).statistic, abs=1e-6)
    flat = (draw.standard_normal((300, 3)) @ draw.standard_normal((3, 8)) + 5).astype(np.float32)
    # directions without variance are left out, and what is not finite is passed on
    white = baselines.whitened(flat, flat)
    assert white.shape == (300, 3)
    assert np.cov(white, rowvar=False, bias=True) == pytest.approx(np.eye(3), abs=1e-6)
    flat[7, 2] = np.inf
    assert np.isnan(baselines.whitened(flat, flat)).all()


@pytest.mark.parametrize("make", [tiny.bert, tiny.roberta])
def test_first_last_average_is_that_of_transformers(make, scorer):  # D77
    model = make()
    ids, mask = tiny.padded(ARRAYS, 9, pad=model.config.pad_token_id)
    with torch.no_grad():
        layers = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    early = (1, 0, -1)
    averages = scorer.vectors(baselines.Untrained(tiny.encoder(make(), dropout=0.5), early), TEXTS)
    for layer, vectors in zip(early, np.split(averages, 3, axis=1), strict=True):
        average = (layers[layer] + layers[-1]) / 2
        means = [average[i, : len(tokens)].mean(0) for i, tokens in enumerate(ARRAYS)]
        assert vectors == pytest.approx(np.stack(means), abs=1e-5)


def test_vectors_do_not_depend_on_the_number_of_threads(scorer, monkeypatch):
    monkeypatch.setattr("core.evaluation.scoring.TOKENS_PER_BATCH", {"cpu": 7})
    model = baselines.Untrained(tiny.encoder(tiny.bert()), (-1,))
    seen = set()
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
        assert np.array_equal(scorer.vectors(model, TEXTS), alone) and torch.get_num_threads() == 3
        assert seen == {(True, 1), (False, 1)}
        monkeypatch.setattr(baselines.Untrained, "draws_when_scored", True)
        assert scorer.vectors(model, TEXTS) == pytest.approx(alone, abs=1e-6)
        assert seen == {(True, 1), (False, 1), (True, 3)}
    finally:
        torch.set_num_threads(before)


def test_a_model_that_draws_gets_the_same_batches_on_every_device(scorer, monkeypatch):
    """Shuffled positions are drawn for a batch (D21): in other batches it has other scores, by
    three points in a table's row."""
    monkeypatch.setattr("core.evaluation.scoring.TOKENS_PER_BATCH", {"cpu": 7, "cuda": 1_000})
    monkeypatch.setattr(scorer, "device", torch.device("meta"))
    sizes = []
    model = SimpleNamespace(
        training=False, eval=lambda: None, train=lambda mode: None, draws_when_scored=True
    )
    model.sentence_vectors = lambda batch: sizes.append(batch.batch) or torch.zeros(batch.batch, 2)
    scorer.vectors(model, TEXTS)
    elsewhere, sizes[:] = sizes[:], []
    monkeypatch.setattr(scorer, "device", torch.device("cpu"))
    scorer.vectors(model, TEXTS)
    assert sizes == elsewhere and len(sizes) > 1
