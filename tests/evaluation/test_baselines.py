"""The untrained encoder and the bag of words: what they are, and that they are kept."""

import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch
from scipy.stats import spearmanr

from core.data.sts import StsSet
from core.engine.evaluation import baselines
from core.engine.evaluation.scoring import Scorer
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


def value(rows, checkpoint, task, metric="spearman_all"):
    (found,) = [row.value for row in rows if row[:3] == (checkpoint, task, metric)]
    return found


def test_baselines_are_the_encoder_s_own_cls_and_are_kept(scorer, tmp_path):
    encoder, path = tiny.encoder(tiny.bert(), dropout=0.5), tmp_path / "baselines.json"
    found = baselines.baseline_rows(scorer, encoder.train(), path)
    cls = scorer.vectors(baselines.Untrained(encoder), TEXTS)
    unit = cls / np.linalg.norm(cls, axis=1, keepdims=True)
    order = np.argsort(np.argsort((unit[:3] * unit[1:4]).sum(1)))
    assert value(found, "untrained", "T") == value(found, "untrained", "avg") == pytest.approx(100 * np.corrcoef(order, [2, 0, 1])[0, 1])
    kept = [row._replace(value=float(i)) for i, row in enumerate(found)]
    path.write_text(json.dumps(kept))
    assert baselines.baseline_rows(scorer, encoder, path) == kept
    for text in ('[["untrained", 3', json.dumps(found[:-1]), json.dumps([row._replace(value="1") for row in found])):
        path.write_text(text)  # torn or of another shape: made anew
        assert baselines.baseline_rows(scorer, encoder, path) == found
        assert json.loads(path.read_text()) == [list(row) for row in found]


def test_the_untrained_encoder_s_directions_are_those_of_its_cls(scorer, tmp_path):
    encoder = tiny.encoder(tiny.bert())
    found = baselines.baseline_rows(scorer, encoder, tmp_path / "baselines.json")
    cls = scorer.vectors(baselines.Untrained(encoder), TEXTS[:4]).astype(np.float64)  # the development set's distinct sentences
    spectrum = [value(found, "untrained", "dev", f"singular_value_{i}") for i in range(tiny.HIDDEN)]
    assert spectrum[:4] == pytest.approx(np.linalg.svd(cls, compute_uv=False), rel=1e-4) and max(spectrum[4:]) < 1e-4 * spectrum[0]
    unit = cls / np.linalg.norm(cls, axis=1, keepdims=True)
    wanted = np.mean([unit[i] @ unit[j] for i in range(4) for j in range(4) if i != j])
    assert value(found, "untrained", "dev", "mean_cosine") == pytest.approx(wanted, abs=1e-6)


def test_whitening_is_fitted_on_the_set_s_own_sentences_as_often_as_they_occur():
    draw = np.random.default_rng(2)
    texts = [f"s{i}" for i in range(40)]
    vectors = draw.standard_normal((40, 5)) @ draw.standard_normal((5, 5)) + 3
    a, b = ([texts[i] for i in draw.integers(0, 30, 200)] for _ in "ab")  # the last ten belong to no pair
    gold = draw.uniform(0, 5, 200)
    found = baselines.whitened_score(
        StsSet("A", ("A",) * 200, tuple(a), tuple(b), gold), lambda wanted: vectors[[texts.index(text) for text in wanted]]
    )
    rows_a, rows_b = (vectors[[texts.index(text) for text in side]] for side in (a, b))
    both = np.concatenate([rows_a, rows_b])
    inverse = np.linalg.inv(np.cov(both, rowvar=False, bias=True))
    x, y = rows_a - both.mean(0), rows_b - both.mean(0)
    cosine = [u @ inverse @ v / np.sqrt((u @ inverse @ u) * (v @ inverse @ v)) for u, v in zip(x, y, strict=True)]
    assert found == pytest.approx(100 * spearmanr(np.float32(cosine), gold).statistic, abs=1e-6)  # pairs repeat: ties
    flat = (draw.standard_normal((300, 3)) @ draw.standard_normal((3, 8)) + 5).astype(np.float32)
    white = baselines.whitened(flat, flat)  # directions without variance are left out, and what is not finite is passed on
    assert white.shape == (300, 3) and np.cov(white, rowvar=False, bias=True) == pytest.approx(np.eye(3), abs=1e-6)
    flat[7, 2] = np.inf
    assert np.isnan(baselines.whitened(flat, flat)).all()


@pytest.mark.parametrize("make", [tiny.bert, tiny.roberta])
def test_first_last_average_is_that_of_transformers(make, scorer):  # D77
    model, arrays = make(), tiny.sentences(len(TEXTS))
    ids, mask = tiny.padded(arrays, 9, pad=model.config.pad_token_id)
    with torch.no_grad():
        layers = model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    both = scorer.vectors(baselines.FirstLast(tiny.encoder(make(), dropout=0.5)), TEXTS)
    for layer, found in zip((1, 0), np.split(both, 2, axis=1), strict=True):
        average = (layers[layer] + layers[-1]) / 2
        wanted = np.stack([average[i, : len(array)].mean(0) for i, array in enumerate(arrays)])
        assert found == pytest.approx(wanted, abs=1e-5)
    last = scorer.vectors(baselines.LastMean(tiny.encoder(make(), dropout=0.5)), TEXTS)
    assert last == pytest.approx(np.stack([layers[-1][i, : len(array)].mean(0) for i, array in enumerate(arrays)]), abs=1e-5)


def test_vectors_do_not_depend_on_the_number_of_threads(scorer, monkeypatch):
    monkeypatch.setattr("core.engine.evaluation.scoring.TOKENS_PER_BATCH", {"cpu": 7})
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


def test_a_model_that_draws_gets_the_same_batches_on_every_device(scorer, monkeypatch):
    """Shuffled positions are drawn for a batch (D21): in other batches it has other scores, by three points in a table's row."""
    monkeypatch.setattr("core.engine.evaluation.scoring.TOKENS_PER_BATCH", {"cpu": 7, "cuda": 1_000})
    monkeypatch.setattr(scorer, "device", torch.device("meta"))
    sizes = []
    model = SimpleNamespace(training=False, eval=lambda: None, train=lambda mode: None)
    model.sentence_vectors = lambda batch: sizes.append(batch.batch) or torch.zeros(batch.batch, 2)
    model.draws_when_scored = True
    scorer.vectors(model, TEXTS)
    elsewhere, sizes[:] = sizes[:], []
    monkeypatch.setattr(scorer, "device", torch.device("cpu"))
    scorer.vectors(model, TEXTS)
    assert sizes == elsewhere and len(sizes) > 1
