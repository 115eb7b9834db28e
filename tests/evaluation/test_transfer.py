"""The probe: against direct calls of scikit-learn, on separable data, and on labels that nothing can tell."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from core.data.transfer import Part, TransferTask
from core.engine.evaluation import transfer
from core.engine.evaluation.transfer import HIGH, WIDE, Accuracy, transfer_accuracies


def examples(count, dim=6, noise=1.0, classes=2, seed=0):
    draw = np.random.default_rng(seed)
    y = np.arange(count) % classes
    centres = np.random.default_rng(99).normal(size=(classes, dim))
    return (centres[y] + noise * draw.normal(size=(count, dim))).astype(np.float32), y


def score(x, y, test_x, test_y, c):
    return LogisticRegression(C=c, max_iter=1000).fit(x, y).score(test_x, test_y)


def test_development_on_folds_is_that_of_direct_calls():  # TREC, MRPC
    (x, y), (tx, ty) = examples(120, noise=1.5, classes=3), examples(60, noise=1.5, classes=3, seed=1)
    means = [
        np.mean([score(x[a], y[a], x[b], y[b], c) for a, b in StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y)])
        for c in HIGH
    ]
    wanted = Accuracy(100 * max(means), 100 * score(x, y, tx, ty, HIGH[int(np.argmax(means))]))
    assert transfer.developed_on_folds(x, y, tx, ty) == pytest.approx(wanted)
    assert 50 < wanted.test < 100


def test_development_on_a_part_is_that_of_direct_calls():  # SST-2
    (x, y), (dx, dy), (tx, ty) = (examples(100, noise=2.0, seed=seed) for seed in range(3))
    means = [score(x, y, dx, dy, c) for c in WIDE]
    wanted = Accuracy(100 * max(means), 100 * score(x, y, tx, ty, WIDE[int(np.argmax(means))]))
    assert transfer.developed_on_part(x, y, dx, dy, tx, ty) == pytest.approx(wanted)


def test_cross_validation_is_that_of_plain_loops():  # MR, CR, SUBJ, MPQA
    x, y = examples(90, noise=2.0)
    folds = [b for _, b in StratifiedKFold(10, shuffle=True, random_state=1111).split(x, y)]
    dev, test = [], []
    for i in range(10):
        means = []
        for c in WIDE:
            inner = []
            for j in range(10):
                if j != i:
                    a = [place for k in range(10) if k not in (i, j) for place in folds[k]]
                    inner.append(score(x[a], y[a], x[folds[j]], y[folds[j]], c))
            means.append(np.mean(inner))
        rest = [place for place in range(90) if place not in folds[i]]
        dev.append(max(means))
        test.append(score(x[rest], y[rest], x[folds[i]], y[folds[i]], WIDE[int(np.argmax(means))]))
    wanted = Accuracy(100 * np.mean(dev), 100 * np.mean(test))
    assert transfer.cross_validated(x, y) == pytest.approx(wanted)
    assert wanted.dev != wanted.test


@pytest.mark.parametrize("widths", [np.ones(20), np.geomspace(1, 0.01, 20)], ids=["round", "like an encoder's"])
def test_a_path_moves_at_every_c_and_ends_where_a_cold_start_does(widths):
    x, y = examples(400, dim=20, noise=4.0)
    x = x.astype(np.float64) * widths + 5 * (widths[-1] < 1)  # far from the origin, and a hundred times as wide in one direction
    for c, model in zip(WIDE, transfer.path(x, y, WIDE), strict=True):
        cold = LogisticRegression(C=c, max_iter=100_000, tol=1e-9).fit(x, y)
        assert model.C == c and model.coef_ == pytest.approx(cold.coef_, abs=1e-3)


def test_more_than_two_classes_end_at_the_solution_of_newtons_method_with_the_whole_matrix():
    """Six classes along a path, on vectors a hundred times as wide in one direction as in another: weights as good as equal, the same
    labels, and nearer to the solution than the whole matrix's own fits of two classes are asked to be."""
    x, y = examples(300, dim=24, noise=2.0, classes=6)
    x = (x * np.geomspace(1, 0.01, 24, dtype=np.float32) + 5).astype(np.float64)
    for c, model in zip(HIGH, transfer.path(x, y, HIGH), strict=True):
        whole = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, y)
        centred = model.coef_ - model.coef_.mean(0)
        near = 1e-3 * np.abs(whole.coef_).max()
        assert model.solver == "newton-cg" and centred == pytest.approx(whole.coef_ - whole.coef_.mean(0), abs=near)
        assert (model.predict(x) == whole.predict(x)).all()
    share = model.predict_proba(x) - np.eye(6)[y]  # the gradient of the mean loss with its penalty, in the weights
    assert np.abs(share.T @ x + model.coef_ / HIGH[-1]).max() / len(x) < 1e-6


def tasks():
    words = [f"s{i}" for i in range(80)]
    single = TransferTask("A", Part(tuple(words[:40]), tuple(i % 2 for i in range(40))))
    pairs = Part(tuple(words[:40]), tuple(i % 2 for i in range(40)), tuple(words[40:]))
    return [single, TransferTask("B", pairs, None, pairs)]


def test_every_distinct_sentence_is_encoded_once_and_the_average_is_plain(monkeypatch):
    monkeypatch.setattr(transfer, "WIDE", (1.0,))
    asked = []

    def encode(sentences):
        asked.append(list(sentences))
        return np.array([[int(s[1:]) % 2, 1.0] for s in sentences])

    found = transfer_accuracies(tasks(), encode)
    assert len(asked) == 1 and sorted(asked[0]) == sorted({f"s{i}" for i in range(80)})
    assert list(found) == ["A", "B", "avg_transfer"] and found["A"] == (100.0, 100.0)
    nowhere = transfer_accuracies(tasks(), lambda s: np.full((len(s), 2), np.nan))
    assert math.isnan(nowhere["A"].test) and math.isnan(nowhere["avg_transfer"].dev)
    assert found["avg_transfer"] == pytest.approx(np.mean([found["A"], found["B"]], axis=0))
