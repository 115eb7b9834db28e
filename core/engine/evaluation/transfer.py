"""Transfer tasks: how well a logistic regression reads labels off frozen sentence vectors (MoCoSE, Table 2;
D42).

The protocol is SentEval's with its scikit-learn classifier: 10 stratified folds, C from a grid of powers of
two chosen on development data, then a fit on all of the training data. Vectors go in as they are, neither
centred nor scaled: the grid has its meaning on that scale, and the papers' probes do the same. A pair's
features are |u - v| and u * v.

Where this differs from SentEval:
- The papers used its torch probe: adam, batches of 64, epoch size 4, tenacity 5, weight decay 1e-5 to 1e-2.
  That probe stops early and depends on a seed; this one is convex and depends on none. They need not agree:
  the torch probe was 0.2 points lower on SST-2, and up to 2.3 apart on MRPC and 2.6 on CR.
- SentEval sorts the sentences by length before it makes the folds. Here they stay in file order.
- Newton's method on doubles, to the solution: on real vectors lbfgs needs hundreds of steps, and in single
  precision its line search gives up on the way (a path on MR ended 6 % short of the solution's weights). With
  more than two classes the Newton step is found by conjugate gradients: for TREC's six the whole matrix of
  second derivatives has 2,304 rows and took 30 times as long.
- One multinomial model and an intercept that is not penalised, where older releases of scikit-learn fitted
  one class against the rest with liblinear. Accuracies are not rounded before they are averaged.
- Cross-validated tasks (MR, CR, SUBJ, MPQA) nest ten folds in each of ten. Here the inner folds of a fold are
  the other nine outer ones, so that the model trained without folds i and j serves both: 45 paths along C
  instead of 100.
- The fits of one path start from the solution for the previous, smaller C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from core.data.transfer import Part, TransferTask
from core.engine.encoder.bert import Encoder
from core.engine.evaluation.baselines import FirstLast, LastMean, Untrained, kept_rows
from core.engine.evaluation.scoring import SentenceModel, array, table_vectors
from core.engine.tokens import TokenTable
from core.spec.result import Row

FOLDS = 10
FOLD_SEED = 1111  # SentEval's
WIDE = tuple(2.0**t for t in range(-2, 4))  # C where SentEval cross-validates or has a development part
HIGH = tuple(2.0**t for t in range(-1, 6))  # C where it develops on folds of train
TOLERANCE = (
    1e-5  # of the gradient; with scikit-learn's 1e-4 a warm start can pass for the solution without a step
)
MANY_TOLERANCE = 1e-8  # of the gradient with more than two classes, whose steps are cheap
METRICS = ("accuracy_test", "accuracy_dev")


class Accuracy(NamedTuple):
    """Accuracies x 100: on the development data at the chosen C (what MoCoSE printed, D42), and on the test
    data."""

    dev: float
    test: float


class Transfer:
    """The transfer tasks of one run. `table` has the token ids of `sentences(tasks)`."""

    def __init__(self, tasks: Sequence[TransferTask], table: TokenTable, device: torch.device):
        self.tasks, self.table, self.device = tasks, table, device

    def rows(self, model: SentenceModel, checkpoint: str, step: int, part: slice = slice(None)) -> list[Row]:
        """`accuracy_test` and `accuracy_dev` of each task and of `avg_transfer`, from this part of the
        vectors."""
        vectors = array(table_vectors(model, self.table, np.arange(len(self.table)), self.device))
        accuracies = transfer_accuracies(self.tasks, lambda texts: vectors[:, part])
        return [
            Row(checkpoint, name, metric, step, value)
            for name, accuracy in accuracies.items()
            for metric, value in zip(METRICS, (accuracy.test, accuracy.dev), strict=True)
        ]

    def untrained_rows(self, encoder: Encoder, kept: Path) -> list[Row]:
        """The same at step 0 for the encoder's own [CLS], its first-last average (first transformer layer,
        D77) and its last layer's mean. They take as long as two finished runs' rows, so the file `kept` keeps
        them."""
        first = slice(encoder.hidden)  # of the two averages side by side
        models = {
            "untrained": (Untrained(encoder), slice(None)),
            "untrained_first_last": (FirstLast(encoder), first),
            "untrained_last": (LastMean(encoder), slice(None)),
        }
        names = [*(task.name for task in self.tasks), "avg_transfer"]
        wanted = [(checkpoint, name, metric) for checkpoint in models for name in names for metric in METRICS]

        def make() -> list[Row]:
            rows = (self.rows(model, name, 0, part) for name, (model, part) in models.items())
            return [row for part in rows for row in part]

        return kept_rows(kept, wanted, make)


def sentences(tasks: Sequence[TransferTask]) -> list[str]:
    """The distinct sentences of all tasks."""
    return list(dict.fromkeys(text for task in tasks for text in task.sentences()))


def transfer_accuracies(
    tasks: Sequence[TransferTask], encode: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, Accuracy]:
    """Accuracies by task, and their plain means as `avg_transfer`.

    `encode` is called once with the distinct sentences of all tasks and returns (sentences, dim). Vectors
    that are not finite give NaN.
    """
    texts = sentences(tasks)
    vectors = np.asarray(encode(texts), dtype=np.float64)  # (sentences, dim)
    index = {text: place for place, text in enumerate(texts)}
    accuracies = {task.name: _accuracy(task, vectors, index) for task in tasks}
    columns = zip(*accuracies.values(), strict=True)
    return accuracies | {"avg_transfer": Accuracy(*(float(np.mean(column)) for column in columns))}


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
    """Ten folds, each tested once by a model of the other nine, C chosen on those nine in turn. x (n,
    features), y (n,)."""
    folds = [test for _, test in _folds(x, y)]
    held_out = np.zeros(
        (FOLDS, FOLDS, len(WIDE))
    )  # [i, j]: accuracy on fold j of models without folds i and j
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
    folds = _folds(x, y)
    by_fold = [[model.score(x[out], y[out]) for model in path(x[kept], y[kept], HIGH)] for kept, out in folds]
    scores = np.mean(by_fold, axis=0)  # (grid,)
    best = _fit(x, y, HIGH[int(scores.argmax())])
    return Accuracy(100.0 * float(scores.max()), 100.0 * best.score(test_x, test_y))


def developed_on_part(x, y, dev_x, dev_y, test_x, test_y) -> Accuracy:
    """C by the development part. x (n, features), y (n,)."""
    scores = [(model.score(dev_x, dev_y), model.score(test_x, test_y)) for model in path(x, y, WIDE)]
    dev, test = max(scores, key=lambda score: score[0])  # the smallest C of equals
    return Accuracy(100.0 * dev, 100.0 * test)


def path(x: np.ndarray, y: np.ndarray, grid: Sequence[float]) -> Iterator[LogisticRegression]:
    """Yield the logistic regression fitted for each C of an ascending grid; each is the same object, so use
    it at once."""
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
        where = (
            "Rounding errors|The line search|Line Search failed"  # where no double is nearer to the solution
        )
        warnings.filterwarnings("ignore", where)
        return model.fit(x, y)


def _folds(x: np.ndarray, y: np.ndarray):
    return StratifiedKFold(FOLDS, shuffle=True, random_state=FOLD_SEED).split(x, y)
