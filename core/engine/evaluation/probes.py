"""Transfer tasks: how well a logistic regression reads labels off frozen sentence vectors (MoCoSE, Table 2; D42).

The protocol is SentEval's with its scikit-learn classifier: 10 stratified folds, C from a grid of powers of two chosen on
development data, then a fit on all of the training data. Vectors go in as they are, neither centred nor scaled: the grid has
its meaning on that scale, and the papers' probes do the same. A pair's features are |u - v| and u * v.

Where this differs from SentEval:
- The papers used its torch probe: adam, batches of 64, epoch size 4, tenacity 5, weight decay 1e-5 to 1e-2. That one stops early and
  depends on a seed; this one is convex and depends on none. They need not agree.
- Newton's method on doubles, to the solution: on real vectors lbfgs needs hundreds of steps, and in single precision its line search
  gives up on the way (a path on MR ended 6 % short of the solution's weights). With more than two classes the Newton step is found by
  conjugate gradients: for TREC's six the whole matrix of second derivatives has 2,304 rows and took 30 times as long.
- One multinomial model and an intercept that is not penalised, where older releases of scikit-learn fitted one class against the
  rest with liblinear. Accuracies are not rounded before they are averaged.
- Cross-validated tasks (MR, CR, SUBJ, MPQA) nest ten folds in each of ten. Here the inner folds of a fold are the other nine
  outer ones, so that the model trained without folds i and j serves both: 45 paths along C instead of 100.
- The fits of one path start from the solution for the previous, smaller C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from core.data.transfer import Part, TransferTask
from core.spec.result import Row

FOLDS = 10
FOLD_SEED = 1111  # SentEval's
WIDE = tuple(2.0**t for t in range(-2, 4))  # C where SentEval cross-validates or has a development part
HIGH = tuple(2.0**t for t in range(-1, 6))  # C where it develops on folds of train
TOLERANCE = 1e-5  # of the gradient; with scikit-learn's own 1e-4 a warm start can pass for the solution without a step
MANY_TOLERANCE = 1e-8  # of the gradient with more than two classes, whose steps are cheap


class Accuracy(NamedTuple):
    """Accuracies x 100: on the development data at the chosen C (what MoCoSE printed, D42), and on the test data."""

    dev: float
    test: float


def transfer_accuracies(tasks: Sequence[TransferTask], encode: Callable[[Sequence[str]], np.ndarray]) -> dict[str, Accuracy]:
    """Accuracies by task, and their plain means as `avg_transfer`.

    `encode` is called once with the distinct sentences of all tasks and returns (sentences, dim). Vectors that are not finite
    give NaN.
    """
    sentences = list(dict.fromkeys(text for task in tasks for text in task.sentences()))
    vectors = np.asarray(encode(sentences), dtype=np.float64)  # (sentences, dim)
    index = {text: place for place, text in enumerate(sentences)}
    found = {task.name: _accuracy(task, vectors, index) for task in tasks}
    found["avg_transfer"] = Accuracy(*(float(np.mean(column)) for column in zip(*found.values(), strict=True)))
    return found


def transfer_rows(accuracies: dict[str, Accuracy], step: int) -> list[Row]:
    """The accuracies as rows of the selected checkpoint: `accuracy_test` and `accuracy_dev` of each task and of `avg_transfer`."""
    return [
        Row("selected", name, metric, step, value)
        for name, accuracy in accuracies.items()
        for metric, value in (("accuracy_test", accuracy.test), ("accuracy_dev", accuracy.dev))
    ]


def features(part: Part, vectors: np.ndarray, index: dict[str, int]) -> np.ndarray:
    """The sentences' vectors, (examples, dim), or |u - v| beside u * v of pairs, (examples, 2 dim)."""
    u = vectors[[index[text] for text in part.first]]
    if not part.second:
        return u
    v = vectors[[index[text] for text in part.second]]
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _accuracy(task: TransferTask, vectors: np.ndarray, index: dict[str, int]) -> Accuracy:
    def examples(part: Part) -> tuple[np.ndarray, np.ndarray]:
        return features(part, vectors, index), np.array(part.labels)

    train = examples(task.train)
    dev, test = (None if part is None else examples(part) for part in (task.dev, task.test))
    if not all(np.isfinite(part[0]).all() for part in (train, dev, test) if part is not None):
        return Accuracy(float("nan"), float("nan"))
    if test is None:
        return cross_validated(*train)
    return developed_on_folds(*train, *test) if dev is None else developed_on_part(*train, *dev, *test)


def cross_validated(x: np.ndarray, y: np.ndarray) -> Accuracy:
    """Ten folds, each tested once by a model of the other nine, C chosen on those nine in turn. x (n, features), y (n,)."""
    folds = [test for _, test in _folds(x, y)]
    held_out = np.zeros((FOLDS, FOLDS, len(WIDE)))  # [i, j]: accuracy on fold j of models without folds i and j
    for i, j in combinations(range(FOLDS), 2):
        kept = np.concatenate([folds[k] for k in range(FOLDS) if k not in (i, j)])
        for place, model in enumerate(path(x[kept], y[kept], WIDE)):
            held_out[i, j, place] = model.score(x[folds[j]], y[folds[j]])
            held_out[j, i, place] = model.score(x[folds[i]], y[folds[i]])
    dev, test = [], []
    for i in range(FOLDS):
        scores = held_out[i].sum(0) / (FOLDS - 1)  # (grid,)
        kept = np.concatenate([folds[k] for k in range(FOLDS) if k != i])
        dev.append(scores.max())
        test.append(_fit(x[kept], y[kept], WIDE[int(scores.argmax())]).score(x[folds[i]], y[folds[i]]))
    return Accuracy(100.0 * float(np.mean(dev)), 100.0 * float(np.mean(test)))


def developed_on_folds(x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray) -> Accuracy:
    """C by ten folds of train, then a fit on all of it. x (n, features), y (n,)."""
    by_fold = [[model.score(x[out], y[out]) for model in path(x[kept], y[kept], HIGH)] for kept, out in _folds(x, y)]
    scores = np.mean(by_fold, axis=0)  # (grid,)
    best = _fit(x, y, HIGH[int(scores.argmax())])
    return Accuracy(100.0 * float(scores.max()), 100.0 * best.score(test_x, test_y))


def developed_on_part(x, y, dev_x, dev_y, test_x, test_y) -> Accuracy:
    """C by the development part. x (n, features), y (n,)."""
    scores, tests = zip(*((model.score(dev_x, dev_y), model.score(test_x, test_y)) for model in path(x, y, WIDE)), strict=True)
    best = int(np.argmax(scores))
    return Accuracy(100.0 * scores[best], 100.0 * tests[best])


def path(x: np.ndarray, y: np.ndarray, grid: Sequence[float]):
    """Yield the logistic regression fitted for each C of an ascending grid; each is the same object, so use it at once."""
    model = _regression(y, warm_start=True)
    for c in grid:
        model.C = c
        yield _fitted(model, x, y)


def _fit(x: np.ndarray, y: np.ndarray, c: float) -> LogisticRegression:
    return _fitted(_regression(y, C=c), x, y)


def _regression(y: np.ndarray, **settings) -> LogisticRegression:
    """The unfitted model for these labels, of two classes or of more."""
    if len(np.unique(y)) > 2:
        return LogisticRegression(solver="newton-cg", tol=MANY_TOLERANCE, max_iter=1000, **settings)
    return LogisticRegression(solver="newton-cholesky", tol=TOLERANCE, **settings)


def _fitted(model: LogisticRegression, x: np.ndarray, y: np.ndarray) -> LogisticRegression:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Rounding errors|The line search|Line Search failed")  # where no double is nearer to the solution
        return model.fit(x, y)


def _folds(x: np.ndarray, y: np.ndarray):
    return StratifiedKFold(FOLDS, shuffle=True, random_state=FOLD_SEED).split(x, y)
