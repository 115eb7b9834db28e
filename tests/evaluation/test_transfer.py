"""The probe: against direct calls of scikit-learn, on separable data, and on labels that nothing
can tell."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from core.data.transfer import Part, TransferTask
from core.evaluation import transfer
from core.evaluation.transfer import HIGH_GRID, WIDE_GRID, Accuracy, transfer_accuracies


def examples(count, dim=6, noise=1.0, classes=2, seed=0):
    draw = np.random.default_rng(seed)
    y = np.arange(count) % classes
    centres = np.random.default_rng(99).normal(size=(classes, dim))
    return (centres[y] + noise * draw.normal(size=(count, dim))).astype(np.float32), y


def score(x, y, test_x, test_y, c):
    return LogisticRegression(C=c, max_iter=1000).fit(x, y).score(test_x, test_y)


def test_development_on_folds_is_that_of_direct_calls(monkeypatch):  # TREC, MRPC
    grid = HIGH_GRID[::3]
    monkeypatch.setattr(transfer, "HIGH_GRID", grid)
    x, y = examples(120, noise=1.5, classes=3)
    tx, ty = examples(60, noise=1.5, classes=3, seed=1)
    folds = [*StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y)]
    means = [np.mean([score(x[a], y[a], x[b], y[b], c) for a, b in folds]) for c in grid]
    wanted = Accuracy(100 * max(means), 100 * score(x, y, tx, ty, grid[int(np.argmax(means))]))
    assert transfer.developed_on_folds(x, y, tx, ty) == pytest.approx(wanted)
    assert 50 < wanted.test < 100


def test_development_on_a_part_is_that_of_direct_calls():  # SST-2
    (x, y), (dx, dy), (tx, ty) = (examples(100, noise=2.0, seed=seed) for seed in range(3))
    means = [score(x, y, dx, dy, c) for c in WIDE_GRID]
    wanted = Accuracy(100 * max(means), 100 * score(x, y, tx, ty, WIDE_GRID[int(np.argmax(means))]))
    assert transfer.developed_on_part(x, y, dx, dy, tx, ty) == pytest.approx(wanted)


def test_cross_validation_is_that_of_plain_loops(monkeypatch):  # MR, CR, SUBJ, MPQA
    grid = WIDE_GRID[::3]
    monkeypatch.setattr(transfer, "WIDE_GRID", grid)
    x, y = examples(90, noise=2.0)
    folds = [b for _, b in StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y)]
    dev = []
    test = []
    for i in range(10):
        means = []
        for c in grid:
            inner = []
            for j in range(10):
                if j != i:
                    a = [place for k in range(10) if k not in (i, j) for place in folds[k]]
                    inner.append(score(x[a], y[a], x[folds[j]], y[folds[j]], c))
            means.append(np.mean(inner))
        rest = [place for place in range(90) if place not in folds[i]]
        dev.append(max(means))
        test.append(score(x[rest], y[rest], x[folds[i]], y[folds[i]], grid[int(np.argmax(means))]))
    wanted = Accuracy(100 * np.mean(dev), 100 * np.mean(test))
    assert transfer.cross_validated(x, y) == pytest.approx(wanted)
    assert wanted.dev != wanted.test


@pytest.mark.parametrize("classes, grid", [(2, WIDE_GRID), (6, HIGH_GRID)])
def test_each_fit_of_a_path_is_the_solution(classes, grid):
    """On vectors far from the origin and a hundred times as wide in one direction as in another, by
    Newton's method with the whole matrix from a cold start: weights as good as equal, and the same
    labels."""
    x, y = examples(300, dim=24, noise=2.0, classes=classes)
    x = (x * np.geomspace(1, 0.01, 24, dtype=np.float32) + 5).astype(np.float64)
    for c, model in zip(grid, transfer.path(x, y, grid), strict=True):
        newton = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
        whole = LogisticRegression(C=c, **newton).fit(x, y)
        ours, theirs = (one.coef_ - one.coef_.mean(0) * (classes > 2) for one in (model, whole))
        assert model.C == c and ours == pytest.approx(theirs, abs=1e-3 * np.abs(whole.coef_).max())
        assert (model.predict(x) == whole.predict(x)).all()


def test_every_distinct_sentence_is_encoded_once_and_the_average_is_plain(monkeypatch):
    monkeypatch.setattr(transfer, "WIDE_GRID", (1.0,))
    words = tuple(f"s{i}" for i in range(80))
    labels = tuple(i % 2 for i in range(40))
    asked = []
    pairs = Part(words[:40], labels, words[40:])
    tasks = [
        TransferTask("A", {"train": Part(words[:40], labels)}),
        TransferTask("B", {"train": pairs, "test": pairs}),
    ]

    def encode(sentences):
        asked.append(sorted(sentences))
        return np.array([[int(s[1:]) % 2, 1.0] for s in sentences])

    found = transfer_accuracies(tasks, encode)
    assert asked == [sorted(words)]
    assert list(found) == ["A", "B", "avg_transfer"]
    assert found["A"] == (100.0, 100.0)
    assert found["avg_transfer"] == pytest.approx(np.mean([found["A"], found["B"]], axis=0))
    nowhere = transfer_accuracies(tasks, lambda s: np.full((len(s), 2), np.nan))
    assert math.isnan(nowhere["A"].test) and math.isnan(nowhere["avg_transfer"].dev)
