"""Spearman, aggregations, alignment, uniformity and selection scores, against scipy and plain double loops."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.data.sts import StsSet
from core.engine.evaluation import metrics

draw = np.random.default_rng(0)


def pairs(counts, gold):
    subset = tuple(name for name, count in counts.items() for _ in range(count))
    text = tuple(str(i) for i in range(len(subset)))
    return StsSet("set", subset, text, text, np.asarray(gold, dtype=np.float64))


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_spearman_is_scipys(levels):
    cosine, gold = draw.integers(0, levels, 200) / 7.0, draw.integers(0, 6, 200)
    assert metrics.spearman(cosine, gold) == pytest.approx(100 * spearmanr(cosine, gold).statistic, abs=1e-10)


@pytest.mark.parametrize("cosine", [[0.5, 0.5, 0.5], [0.1, math.nan, 0.3], [0.1, math.inf, 0.3]])
def test_spearman_of_nothing_is_nan(cosine):
    assert math.isnan(metrics.spearman(np.array(cosine), np.array([1.0, 2.0, 3.0])))


def test_spearman_needs_two_pairs_and_equal_lengths():
    assert math.isnan(metrics.spearman(np.array([0.5]), np.array([1.0])))
    with pytest.raises(ValueError):
        metrics.spearman(np.array([0.5, 0.1]), np.array([1.0]))


def test_aggregates():
    gold, cosine = draw.integers(0, 6, 100), draw.random(100).astype(np.float32)
    found = metrics.aggregates(pairs({"x": 30, "y": 70}, gold), cosine)
    x, y = (100 * spearmanr(cosine[part], gold[part]).statistic for part in (slice(30), slice(30, None)))
    assert found["all"] == pytest.approx(100 * spearmanr(cosine, gold).statistic)
    assert found["mean"] == pytest.approx((x + y) / 2)
    assert found["wmean"] == pytest.approx(0.3 * x + 0.7 * y)


def test_a_subset_without_score_leaves_no_mean():
    cosine = np.concatenate([np.full(10, 0.5), draw.random(10)])
    found = metrics.aggregates(pairs({"x": 10, "y": 10}, draw.random(20)), cosine)
    assert math.isfinite(found["all"]) and math.isnan(found["mean"]) and math.isnan(found["wmean"])


def test_cosines():
    x, y = draw.normal(size=(20, 5)).astype(np.float32), draw.normal(size=(20, 5)).astype(np.float32)
    found = metrics.cosines(x, y)
    assert found.dtype == np.float32
    for i in range(20):
        assert found[i] == pytest.approx(x[i] @ y[i] / math.sqrt((x[i] @ x[i]) * (y[i] @ y[i])), abs=1e-6)
    assert (metrics.cosines(x, x) == 1).all() and (metrics.cosines(x, -3 * x) == -1).all()
    assert metrics.cosines(x * 1e20, y).tolist() == pytest.approx(found.tolist())


def test_cosines_of_zero_or_infinite_vectors_are_nan():
    x = np.array([[0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0], [1.0, 0.0]])
    assert np.isnan(metrics.cosines(x, np.ones((4, 2)))).tolist() == [True, True, True, False]


def slow_alignment(x, y):
    return [sum((a / norm(p) - b / norm(q)) ** 2 for a, b in zip(p, q, strict=True)) for p, q in zip(x, y, strict=True)]


def slow_uniformity(x):
    total, count = 0.0, 0
    for i in range(len(x)):
        for j in range(i):
            total += math.exp(-2 * slow_alignment([x[i]], [x[j]])[0])
            count += 1
    return math.log(total / count)


def norm(p):
    return math.sqrt(sum(a * a for a in p))


@pytest.mark.parametrize("kind, threshold", [("gold>4", 4.0), ("all", -1.0)])
def test_alignment(kind, threshold):
    x, y, gold = draw.normal(size=(400, 6)), draw.normal(size=(400, 6)), draw.integers(0, 11, 400) / 2
    kept = [i for i in range(400) if gold[i] > threshold]
    distances = slow_alignment(x[kept], y[kept])
    assert metrics.alignment(x, y, gold, "global", kind) == pytest.approx(sum(distances) / len(kept))
    full = len(kept) // 64 * 64
    assert 0 < full < len(kept)  # some are dropped
    assert metrics.alignment(x, y, gold, "batched64", kind) == pytest.approx(sum(distances[:full]) / full)


def test_exactly_4_is_not_positive():
    x = np.eye(2)
    assert metrics.alignment(x, x[::-1], np.array([4.0, 4.1]), "global", "gold>4") == pytest.approx(2.0)
    assert math.isnan(metrics.alignment(x, x, np.array([4.0, 4.0]), "global", "gold>4"))
    assert math.isnan(metrics.alignment(x, x, np.array([5.0, 5.0]), "batched64", "all"))  # no full batch


def test_uniformity():
    x = draw.normal(size=(150, 6)) + 0.5
    assert metrics.uniformity(x, "global") == pytest.approx(slow_uniformity(x.tolist()), abs=1e-6)
    batches = [slow_uniformity(x[start : start + 64].tolist()) for start in (0, 64)]
    assert metrics.uniformity(x, "batched64") == pytest.approx(sum(batches) / 2, abs=1e-6)
    assert metrics.uniformity(x, "batched64") != pytest.approx(metrics.uniformity(x, "global"), abs=1e-4)


def test_uniformity_by_blocks(monkeypatch):
    x = draw.normal(size=(50, 4))
    whole = metrics.uniformity(x, "global")
    monkeypatch.setattr(metrics, "_BLOCK", 7)
    assert metrics.uniformity(x, "global") == pytest.approx(whole, abs=1e-6)


def test_uniformity_at_the_ends():
    assert metrics.uniformity(np.ones((10, 3)), "global") == pytest.approx(0.0, abs=1e-6)
    assert metrics.uniformity(np.array([[1.0, 0.0], [-1.0, 0.0]]), "global") == pytest.approx(-8.0, abs=1e-6)
    assert math.isnan(metrics.uniformity(np.array([[1.0, 0.0], [0.0, 0.0]]), "global"))
    assert math.isnan(metrics.uniformity(np.ones((63, 3)), "batched64"))


def test_selection_scores():
    seven = [71.484, 81.396, 74.471, 83.449, 78.994, 78.676, 72.444]
    assert metrics.mean_of_7(seven) == pytest.approx(sum(seven) / 7)
    # 71.48 81.40 74.47 83.45 78.99 78.68 72.44: mean 77.2728… rounds to 77.27; (540.91 + 77.27) / 8
    assert metrics.mean_of_8_rounded(seven) == pytest.approx(77.2725)
    assert round(metrics.mean_of_8_rounded(seven) / 0.00125) * 0.00125 == pytest.approx(metrics.mean_of_8_rounded(seven))
    for function in (metrics.mean_of_7, metrics.mean_of_8_rounded):
        assert math.isnan(function([*seven[:6], math.nan])) and math.isnan(function([]))
