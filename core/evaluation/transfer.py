"""Transfer tasks: a logistic regression reads labels off frozen sentence vectors (MoCoSE, Table 2;
D42).

The protocol is SentEval's with its scikit-learn classifier: 10 stratified folds, C from a grid of
powers of two chosen on development data, then a fit on all of the training data. Vectors go in as
they are, since the grid has its meaning on that scale. A pair's features are |u - v| and u * v. The
differences:

- The papers used SentEval's torch probe, which stops early and depends on a seed; this one is
  convex. The torch probe was 0.2 points lower on SST-2, and up to 2.3 apart on MRPC and 2.6 on CR.
- Sentences stay in file order, where SentEval sorts them by length before it makes the folds.
- Newton's method on doubles, to the solution: lbfgs needs hundreds of steps, and in single
  precision its line search gives up on the way (a path on MR ended 6 % short of the solution's
  weights). With more than two classes conjugate gradients find the step: TREC's matrix of second
  derivatives took 30 times as long.
- One multinomial model, an intercept that is not penalised, and no rounding before the average.
- Cross-validated tasks nest ten folds in each of ten. Here a fold's inner folds are the other nine
  outer ones, so the model without folds i and j serves both: 45 paths along C instead of 100. The
  fits of a path start from the solution for the previous, smaller C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from core.config.result import Measurement
from core.data.transfer import Part, TransferTask
from core.encoder.bert import Encoder
from core.encoder.vectors import array
from core.evaluation.baselines import Untrained
from core.evaluation.scoring import Scorer
from core.methods.contrastive import Contrastive

FOLDS = StratifiedKFold(10, shuffle=True, random_state=1111)  # SentEval's seed
# C where SentEval cross-validates or has a development part
WIDE_GRID = tuple(2.0**t for t in range(-2, 4))
HIGH_GRID = tuple(2.0**t for t in range(-1, 6))  # C where it develops on folds of train
# Of the gradient; with scikit-learn's 1e-4 a warm start can pass for the solution without a step.
TOLERANCE = 1e-5
MANY_TOLERANCE = 1e-8  # of the gradient with more than two classes, whose steps are cheap


class Accuracy(NamedTuple):
    """Accuracies x 100 on the development data at the chosen C (what MoCoSE printed, D42), and on
    test."""

    dev: float
    test: float


def accuracy_rows(
    scorer: Scorer, model: Contrastive, checkpoint: str, step: int
) -> list[Measurement]:
    """`accuracy_test` and `accuracy_dev` of each task of a run and of `avg_transfer`."""
    accuracies = transfer_accuracies(
        scorer.tasks, lambda texts: array(scorer.vectors(model, texts))
    )
    rows = []
    for name, accuracy in accuracies.items():
        rows.append(Measurement(checkpoint, name, "accuracy_test", step, accuracy.test))
        rows.append(Measurement(checkpoint, name, "accuracy_dev", step, accuracy.dev))
    return rows


def untrained_rows(scorer: Scorer, encoder: Encoder) -> list[Measurement]:
    """The same at step 0 for the encoder's [CLS], its first-last average (D77) and its last layer's
    mean."""
    layers = {"untrained": (), "untrained_first_last": (1,), "untrained_last": (-1,)}
    rows = []
    for name, early in layers.items():
        rows += accuracy_rows(scorer, Untrained(encoder, early), name, 0)
    return rows


def transfer_accuracies(
    tasks: Sequence[TransferTask], encode: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, Accuracy]:
    """Accuracies by task, and their plain means as `avg_transfer`; NaN where a vector is not
    finite. `encode` is called once with the distinct sentences of all tasks and returns (sentences,
    dim)."""
    texts: dict[str, None] = {}
    for task in tasks:
        texts.update(dict.fromkeys(task.sentences()))
    vectors = np.asarray(encode(list(texts)), dtype=np.float64)  # (sentences, dim)
    index = {text: place for place, text in enumerate(texts)}
    accuracies = {task.name: _accuracy(task, vectors, index) for task in tasks}
    dev = float(np.mean([accuracy.dev for accuracy in accuracies.values()]))
    test = float(np.mean([accuracy.test for accuracy in accuracies.values()]))
    return accuracies | {"avg_transfer": Accuracy(dev, test)}


def features(part: Part, vectors: np.ndarray, index: dict[str, int]) -> np.ndarray:
    """The sentences' vectors, (examples, dim), or |u - v| beside u * v of pairs, (examples, 2
    dim)."""
    u = vectors[[index[text] for text in part.first]]
    if not part.second:
        return u
    v = vectors[[index[text] for text in part.second]]
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _accuracy(task: TransferTask, vectors: np.ndarray, index: dict[str, int]) -> Accuracy:
    examples: list[np.ndarray] = []  # features and labels of each part in turn
    for part in task.parts.values():
        x = features(part, vectors, index)
        if not np.isfinite(x).all():
            return Accuracy(float("nan"), float("nan"))
        examples += [x, np.array(part.labels)]
    fits: dict[int, Callable] = {1: cross_validated, 2: developed_on_folds, 3: developed_on_part}
    return fits[len(task.parts)](*examples)


def cross_validated(x: np.ndarray, y: np.ndarray) -> Accuracy:
    """Ten folds, each tested once by a model of the other nine, C chosen on those nine in turn."""
    folds = [test for _, test in FOLDS.split(x, y)]

    def without(*left_out: int) -> np.ndarray:
        return np.concatenate([fold for k, fold in enumerate(folds) if k not in left_out])

    # [i, j]: accuracy on fold j of models without folds i and j
    held_out = np.zeros((len(folds), len(folds), len(WIDE_GRID)))
    for i, j in combinations(range(len(folds)), 2):
        train = without(i, j)
        for place, model in enumerate(path(x[train], y[train], WIDE_GRID)):
            held_out[i, j, place] = model.score(x[folds[j]], y[folds[j]])
            held_out[j, i, place] = model.score(x[folds[i]], y[folds[i]])
    dev = []
    test = []
    for i, fold in enumerate(folds):
        # (grid,), (examples,)
        scores = held_out[i].sum(0) / (len(folds) - 1)
        train = without(i)
        dev.append(scores.max())
        test.append(
            _fit(x[train], y[train], WIDE_GRID[int(scores.argmax())]).score(x[fold], y[fold])
        )
    return Accuracy(100.0 * float(np.mean(dev)), 100.0 * float(np.mean(test)))


def developed_on_folds(
    x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray
) -> Accuracy:
    """C by ten folds of train, then a fit on all of it. x (n, features), y (n,)."""
    by_fold = []
    for train, out in FOLDS.split(x, y):
        models = path(x[train], y[train], HIGH_GRID)
        by_fold.append([model.score(x[out], y[out]) for model in models])
    scores = np.mean(by_fold, axis=0)  # (grid,)
    test = _fit(x, y, HIGH_GRID[int(scores.argmax())]).score(test_x, test_y)
    return Accuracy(100.0 * float(scores.max()), 100.0 * test)


def developed_on_part(x, y, dev_x, dev_y, test_x, test_y) -> Accuracy:
    """C by the development part. x (n, features), y (n,)."""
    scores = [
        (model.score(dev_x, dev_y), model.score(test_x, test_y)) for model in path(x, y, WIDE_GRID)
    ]
    dev, test = max(scores, key=lambda score: score[0])  # the smallest C of equals
    return Accuracy(100.0 * dev, 100.0 * test)


def path(x: np.ndarray, y: np.ndarray, grid: Sequence[float]) -> Iterator[LogisticRegression]:
    """Yield the regression fitted for each C of an ascending grid, one object that is fitted
    again."""
    settings: dict[str, Any] = {"solver": "newton-cholesky", "tol": TOLERANCE}
    if len(np.unique(y)) > 2:
        settings = {"solver": "newton-cg", "tol": MANY_TOLERANCE, "max_iter": 1000}
    model = LogisticRegression(warm_start=True, **settings)
    for c in grid:
        model.C = c
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # where no double is nearer to the solution
            warnings.filterwarnings("ignore", "Rounding errors|The line search|Line Search failed")
            model.fit(x, y)
        yield model


def _fit(x: np.ndarray, y: np.ndarray, c: float) -> LogisticRegression:
    return next(path(x, y, (c,)))
