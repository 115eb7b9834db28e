"""Spearman, aggregations, alignment, uniformity and selection scores, against scipy and plain
double loops."""

import math

import numpy as np
import pytest
import tiny
import torch
from scipy.stats import spearmanr

from core.config.result import Measurement
from core.data.sts import StsSet
from core.encoder.packing import looked_up, pack, padded, token_matrix
from core.encoder.tokens import TokenTable
from core.encoder.vectors import cosines
from core.evaluation import metrics
from core.evaluation.baselines import Untrained

draw = np.random.default_rng(0)


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_spearman_is_scipys(levels):
    cosine = draw.integers(0, levels, 200) / 7.0
    gold = draw.integers(0, 6, 200)
    expected = 100 * spearmanr(cosine, gold).statistic
    assert metrics.spearman(cosine, gold) == pytest.approx(expected, abs=1e-10)


def test_aggregates():
    gold = draw.integers(0, 6, 100).astype(float)
    cosine = draw.random(100).astype(np.float32)
    pairs = StsSet("set", ("x",) * 30 + ("y",) * 70, ("",) * 100, ("",) * 100, gold)
    found = metrics.aggregates(pairs, cosine)
    x, y = (
        100 * spearmanr(cosine[part], gold[part]).statistic for part in (slice(30), slice(30, None))
    )
    assert found["all"] == pytest.approx(100 * spearmanr(cosine, gold).statistic)
    assert found["mean"] == pytest.approx((x + y) / 2)
    assert found["wmean"] == pytest.approx(0.3 * x + 0.7 * y)
    cosine[:30] = 0.5  # a subset without score leaves no mean
    found = metrics.aggregates(pairs, cosine)
    assert math.isfinite(found["all"]) and math.isnan(found["mean"]) and math.isnan(found["wmean"])


def test_cosines():
    x = draw.normal(size=(20, 5)).astype(np.float32)
    y = draw.normal(size=(20, 5)).astype(np.float32)
    found = cosines(x, y)
    assert found.dtype == np.float32
    assert cosines(x * 1e20, y).tolist() == pytest.approx(found.tolist())
    plain = [u @ v / math.sqrt((u @ u) * (v @ v)) for u, v in zip(x, y, strict=True)]
    assert found.tolist() == pytest.approx(plain, abs=1e-6)
    assert (cosines(x, x) == 1).all() and (cosines(x, -3 * x) == -1).all()


def test_what_has_no_number_is_nan():
    for cosine in ([0.5, 0.5, 0.5], [0.1, math.nan, 0.3], [0.1, math.inf, 0.3]):
        assert math.isnan(metrics.spearman(np.array(cosine), np.array([1.0, 2.0, 3.0])))
    x = np.array([[0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0], [1.0, 0.0]])
    assert np.isnan(cosines(x, np.ones((4, 2)))).tolist() == [True, True, True, False]
    for zero in (np.array([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.0]])):
        assert math.isnan(metrics.uniformity(zero, "global"))
        assert math.isnan(metrics.mean_cosine(zero))
    few = np.ones((63, 3))  # no full batch
    assert math.isnan(metrics.uniformity(few, "batched64"))
    assert math.isnan(metrics.alignment(few, few, "batched64"))
    assert math.isnan(metrics.alignment(few[:0], few[:0], "global"))


def slow_alignment(x, y):
    def unit(p):
        return [value / math.sqrt(sum(a * a for a in p)) for value in p]

    return [
        sum((a - b) ** 2 for a, b in zip(unit(p), unit(q), strict=True))
        for p, q in zip(x, y, strict=True)
    ]


def slow_uniformity(x):
    kernels = [
        math.exp(-2 * slow_alignment([x[i]], [x[j]])[0]) for i in range(len(x)) for j in range(i)
    ]
    return math.log(sum(kernels) / len(kernels))


def test_alignment_and_uniformity(monkeypatch):
    monkeypatch.setattr(metrics, "_BLOCK", 67)
    x = draw.normal(size=(150, 6)) + 0.5
    y = draw.normal(size=(150, 6))
    distances = slow_alignment(x, y)
    assert metrics.alignment(x, y, "global") == pytest.approx(sum(distances) / 150)
    # the last 22 are dropped
    assert metrics.alignment(x, y, "batched64") == pytest.approx(sum(distances[:128]) / 128)
    assert metrics.uniformity(x, "global") == pytest.approx(slow_uniformity(x.tolist()), abs=1e-6)
    batches = [slow_uniformity(x[start : start + 64].tolist()) for start in (0, 64)]
    assert metrics.uniformity(x, "batched64") == pytest.approx(sum(batches) / 2, abs=1e-6)
    assert metrics.uniformity(np.ones((10, 3)), "global") == pytest.approx(0.0, abs=1e-6)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert metrics.uniformity(opposite, "global") == pytest.approx(-8.0, abs=1e-6)


def test_selection_scores():
    seven = [71.484, 81.396, 74.471, 83.449, 78.994, 78.676, 72.444]
    assert metrics.mean_of_7(seven) == pytest.approx(sum(seven) / 7)
    # 71.48 81.40 74.47 83.45 78.99 78.68 72.44: mean 77.2728… rounds to 77.27; (540.91 + 77.27) / 8
    assert metrics.mean_of_8_rounded(seven) == pytest.approx(77.2725)
    for function in (metrics.mean_of_7, metrics.mean_of_8_rounded):
        assert math.isnan(function([*seven[:6], math.nan]))


def test_directions_are_those_of_pairs_and_of_the_singular_values():
    three = np.array([[2.0, 0.0], [0.0, 5.0], [3.0, 3.0]])  # cosines 0, 1 / sqrt 2, 1 / sqrt 2
    assert metrics.mean_cosine(three) == pytest.approx(math.sqrt(2) / 3)
    some = (draw.standard_normal((50, 7)) * np.arange(1, 8) + 2).astype(np.float32)
    wide = some.astype(float)
    unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    squares = np.linalg.svd(unit - unit.mean(0), compute_uv=False) ** 2
    p = squares / squares.sum()
    cosine, rank = metrics.direction_rows(some, "last", 5)
    assert cosine[:4] == ("last", "dev", "mean_cosine", 5)
    assert rank[:4] == ("last", "dev", "effective_rank", 5)
    mean = np.mean([u @ v for i, u in enumerate(unit) for v in unit[:i]])
    assert cosine.value == pytest.approx(mean, abs=1e-12)
    assert rank.value == pytest.approx(math.exp(-(p * np.log(p)).sum()))
    values = enumerate(np.linalg.svd(wide, compute_uv=False))
    spectrum = metrics.spectrum_rows(some, "untrained", 0)
    assert spectrum == [
        Measurement("untrained", "dev", f"singular_value_{i}", 0, pytest.approx(value))
        for i, value in values
    ]
    for broken in (np.nan, np.inf, 0.0):
        some[3] = broken
        assert metrics.direction_rows(some, "last", 5) == []
        assert metrics.mean_cosine_rows(some, "curve", 5) == []


def test_metrics_of_tensors_are_those_of_arrays():
    x, y = (
        np.random.default_rng(seed).standard_normal((600, 24)).astype(np.float32)
        for seed in range(2)
    )
    a = torch.from_numpy(x)
    b = torch.from_numpy(y)
    assert np.allclose(cosines(a, b), cosines(x, y), rtol=1e-6, atol=0)
    for mode in metrics.MODES:
        alignment = metrics.alignment(x, y, mode)
        assert metrics.alignment(a, b, mode) == pytest.approx(alignment, rel=1e-12)
        assert metrics.uniformity(a, mode) == pytest.approx(metrics.uniformity(x, mode), rel=1e-6)
    assert metrics.mean_cosine(a) == pytest.approx(metrics.mean_cosine(x), rel=1e-9)


@pytest.mark.parametrize("make", [tiny.bert, tiny.roberta])
def test_padded_vectors_are_the_packed_ones(make):
    """Batches as a GPU makes them: looked up in a table on the device, and padded."""
    encoder = tiny.encoder(make()).double().eval()
    arrays = tiny.sentences(9, seed=4)
    table = TokenTable(np.concatenate(arrays), np.cumsum([0, *map(len, arrays)], dtype=np.int64))
    chosen = [5, 0, 6]
    matrix = looked_up(*table.on(torch.device("cpu")), torch.tensor(chosen), 12)
    assert torch.equal(matrix, token_matrix([arrays[i] for i in chosen], 12))
    for model in (encoder, Untrained(encoder, (1, 0)).sentence_vectors):
        packed = model(pack([arrays[i] for i in chosen]))
        assert torch.allclose(model(padded(matrix)), packed, rtol=1e-12, atol=1e-12)
