"""Scores of sentence vectors on graded pairs, and the rows that a run's evaluations leave.

Every distinct sentence is encoded once, and every score is taken from the pairs' cosines, which are
kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.config.result import Measurement, PairBlock, Status
from core.config.run import RunConfig
from core.data.sts import StsSet, load_split
from core.data.transfer import TransferTask
from core.encoder.packing import looked_up, pack, padded
from core.encoder.streams import TOKENS_PER_BATCH, in_parallel
from core.encoder.tokens import TokenTable
from core.encoder.vectors import Vectors, array, cosines
from core.errors import UserError
from core.evaluation import metrics
from core.evaluation.metrics import AGGREGATES, mean_of_7, mean_of_8_rounded
from core.methods.contrastive import Contrastive

Encode = Callable[[Sequence[str]], Vectors]  # n sentences -> (n, dim)
SetScores = dict[str, dict[str, float]]  # Spearman x 100 by set and aggregation
COLLAPSED_SPREAD = 1e-4  # below it all development sentences point the same way


class EvaluationResult(NamedTuple):
    """The scores, the pairs behind them, alignment and uniformity by metric if computed, and `of`,
    which gives the vectors of these sets' sentences.

    A set whose cosines are all equal, or not all finite, has NaN.
    """

    scores: SetScores
    pairs: tuple[PairBlock, ...]
    geometry: dict[str, float]
    of: Encode


class Candidate(NamedTuple):
    """A checkpoint that may be selected: its step, its development score, and the weights that
    scoring reads."""

    step: int
    score: float
    state: dict


class FinalEvaluation(NamedTuple):
    """The end of a run: its status, the pairs of the selected checkpoint, and the rows."""

    status: Status
    pairs: tuple[PairBlock, ...]
    rows: list[Measurement]


def evaluate(
    sets: Mapping[str, StsSet], encode: Encode, geometry_of: Sequence[StsSet] = ()
) -> EvaluationResult:
    """The scores of these sets, with every pair's float32 cosine, from which the scores are taken.

    `encode` is called once with the distinct sentences and returns (sentences, dim) of floats, an
    array or a tensor on a GPU, of any length. `geometry_of` are the sets, in order, whose pairs
    together give alignment and uniformity in both modes of D43 (STS-B train, dev, test):
    alignment_<mode> over pairs with gold above 4, alignment_all_<mode> over all,
    uniformity_batched64 over first sentences in file order, as released, and uniformity_global over
    the distinct sentences of both sides. Sentences are not cut at 32 tokens.
    """
    places = {text: i for i, text in enumerate(distinct_sentences([*sets.values(), *geometry_of]))}
    vectors = encode(list(places))
    scores = {}
    blocks = []

    def of(texts: Sequence[str]) -> Vectors:
        return vectors[[places[text] for text in texts]]

    for name, pairs in sets.items():
        cosine = cosines(of(pairs.a), of(pairs.b))  # (pairs,)
        scores[name] = metrics.aggregates(pairs, cosine)
        for subset in dict.fromkeys(pairs.subset):  # a block a subset, in file order
            rows = np.flatnonzero(np.array(pairs.subset) == subset)
            words_a = [len(pairs.a[i].split()) for i in rows]
            words_b = [len(pairs.b[i].split()) for i in rows]
            block = PairBlock(pairs.name, subset, pairs.gold[rows], cosine[rows], words_a, words_b)
            blocks.append(block)
    geometry = {}
    if geometry_of:
        a: list[str] = []
        b: list[str] = []
        for pairs in geometry_of:
            a += pairs.a
            b += pairs.b
        x = of(a)
        y = of(b)
        # SimCSE's convention
        positive = np.flatnonzero(np.concatenate([pairs.gold for pairs in geometry_of]) > 4.0)
        for mode in metrics.MODES:
            geometry[f"alignment_{mode}"] = metrics.alignment(x[positive], y[positive], mode)
            geometry[f"alignment_all_{mode}"] = metrics.alignment(x, y, mode)
        geometry["uniformity_global"] = metrics.uniformity(of(list(dict.fromkeys(a + b))), "global")
        geometry["uniformity_batched64"] = metrics.uniformity(x, "batched64")
    return EvaluationResult(scores, tuple(blocks), geometry, of)


def mean_score(scores: SetScores, tests: Sequence[str], aggregate: str = "all") -> float:
    """The mean over the test sets of one aggregation; NaN if a set has no score."""
    return mean_of_7([scores[name][aggregate] for name in tests])


def distinct_sentences(sets: Iterable[StsSet]) -> list[str]:
    """The sentences of these sets, each once, in their order."""
    texts: dict[str, None] = {}
    for pairs in sets:
        texts.update(dict.fromkeys(pairs.a))
        texts.update(dict.fromkeys(pairs.b))
    return list(texts)


class Scorer:
    """Scores one run's model on the sets of its scale and on transfer tasks, if any.

    `sets` are the tests and, named `dev`, the development set; alignment and uniformity are over
    `geometry_of`. `tokenised` gives the token ids of sentences.
    """

    def __init__(
        self,
        sets: dict[str, StsSet],
        geometry_of: Sequence[StsSet],
        tasks: Sequence[TransferTask],
        tokenised: Callable[[list[str]], TokenTable],
        device: torch.device,
    ):
        self.sets = sets
        self.geometry_of = geometry_of
        self.tasks = tasks
        self.device = device
        self.tests = [name for name in sets if name != "dev"]
        self.dev = sets["dev"].name
        self.dev_sentences = distinct_sentences([sets["dev"]])
        sentences = distinct_sentences([*sets.values(), *geometry_of])
        for task in tasks:
            sentences += task.sentences()
        self.index = {text: place for place, text in enumerate(dict.fromkeys(sentences))}
        self.table = tokenised(list(self.index))

    def vectors(self, model: Contrastive, sentences: Sequence[str]) -> Vectors:
        """The model's vectors of sentences of the sets, in evaluation mode, (sentences, dim)
        float32."""
        places = np.array([self.index[text] for text in sentences])
        return table_vectors(model, self.table, places, self.device)

    def score(
        self, model: Contrastive, names: Iterable[str], geometry_of: Sequence[StsSet] = ()
    ) -> EvaluationResult:
        """The model's scores on these sets; alignment and uniformity over `geometry_of`, if any."""
        sets = {name: self.sets[name] for name in names}
        return evaluate(sets, lambda texts: self.vectors(model, texts), geometry_of)

    def count_rows(self, root: Path | None) -> list[Measurement]:
        """Pairs by set (ESimCSE, Table 3): what is scored, and the other splits of STS-B and
        SICK-R.

        A SICK-R split that is missing or not as published has no row, since runs do not read it
        otherwise.
        """
        sets = dict(self.sets)
        for pairs in self.geometry_of:
            if pairs.name != self.dev:
                sets[pairs.name] = pairs
        if root is not None:
            for split in ("train", "dev"):
                with contextlib.suppress(UserError):
                    sets[f"SICK-R {split}"] = load_split(root, "SICK-R", split)
        return [
            Measurement("data", name, "pairs", 0, float(len(pairs))) for name, pairs in sets.items()
        ]

    def check(
        self, model: Contrastive, config: RunConfig, step: int
    ) -> tuple[float, list[Measurement]]:
        """One check during training: the score that selects the checkpoint (D40, D41), and its
        rows."""
        aggregate = config.sts.aggregate
        metric = f"spearman_{aggregate}"
        development = self.score(model, ["dev"])
        score = development.scores["dev"][aggregate]
        rows = [Measurement("curve", "dev", metric, step, score)]
        rows += metrics.mean_cosine_rows(development.of(self.dev_sentences), "curve", step)
        if config.select.metric != "sts_test_avg" or not step:
            return score, rows
        tests = self.score(model, self.tests)
        scores = [by_aggregate[aggregate] for by_aggregate in tests.scores.values()]
        mean = mean_of_7(scores)
        rows.append(Measurement("curve", "avg", metric, step, mean))
        if config.select.score == "mean_of_7":
            return mean, rows
        return mean_of_8_rounded(scores), rows

    def final_evaluation(
        self,
        model: Contrastive,
        config: RunConfig,
        candidate: Candidate | None,
        diverged_at: int | None,
    ) -> FinalEvaluation:
        """Status, pairs and rows of the last and of the selected checkpoint, whose weights the
        model has afterwards. `diverged_at` is the first step that was not finite, if any was."""
        steps = config.train.steps
        if diverged_at is not None or candidate is None:
            step = steps if diverged_at is None else diverged_at
            row = Measurement("last", "train", "diverged_at", step, float("nan"))
            return FinalEvaluation("diverged", (), [row])
        step = candidate.step

        # the last checkpoint
        geometry_of = self.geometry_of if step == steps else ()
        last = selected = self.score(model, self.sets, geometry_of)
        rows = self._rows(last, "last", steps)
        rows += metrics.direction_rows(array(last.of(self.dev_sentences)), "last", steps)

        # the selected checkpoint
        if step != steps:
            model.scored_parts().load_state_dict(candidate.state)
            selected = self.score(model, self.sets, self.geometry_of)
        rows += self._rows(selected, "selected", step)
        vectors = array(selected.of(self.dev_sentences))  # (sentences, dim)
        if not np.isfinite(vectors).all():
            return FinalEvaluation("diverged", (), rows)
        spread = metrics.spread(vectors)
        rows += metrics.direction_rows(vectors, "selected", step)
        rows.append(Measurement("selected", "dev", "spread", step, spread))
        rows += metrics.spectrum_rows(vectors, "selected", step)
        rows += metrics.length_rows(selected.pairs, "selected", self.dev, step)
        rows += model.method_rows(step)
        status: Status = "ok"
        if spread < COLLAPSED_SPREAD:
            status = "collapsed"
        return FinalEvaluation(status, selected.pairs, rows)

    def score_rows(
        self, scores: SetScores, checkpoint: str, step: int, aggregates: Sequence[str] = ("all",)
    ) -> list[Measurement]:
        """The Spearmans of every set in these aggregations, and their `avg` over the tests."""
        rows = []
        for aggregate in aggregates:
            metric = f"spearman_{aggregate}"
            for name, score in scores.items():
                rows.append(Measurement(checkpoint, name, metric, step, score[aggregate]))
            mean = mean_score(scores, self.tests, aggregate)
            rows.append(Measurement(checkpoint, "avg", metric, step, mean))
        return rows

    def _rows(self, evaluation: EvaluationResult, checkpoint: str, step: int) -> list[Measurement]:
        """Three Spearmans a set, their `avg` over the tests, and the geometry."""
        rows = self.score_rows(evaluation.scores, checkpoint, step, AGGREGATES)
        task = "dev"
        if len(self.geometry_of) > 1:
            task = "STS-B"
        for metric, value in evaluation.geometry.items():
            rows.append(Measurement(checkpoint, task, metric, step, value))
        return rows


def table_vectors(
    model: Contrastive, table: TokenTable, places: np.ndarray, device: torch.device
) -> Vectors:
    """The model's vectors of the sentences at these places of a token table, (places, dim) float32:
    an array on a CPU, a tensor on a GPU, which multiplies in TF32.

    The model is in evaluation mode afterwards: with dropout the scores would differ (D53). A batch
    has sentences of near-equal length, one or at most TOKENS_PER_BATCH tokens, padding included. A
    GPU does not pad where scores depend on the batches, which are then the same on every device.
    """
    in_order = model.draws_when_scored
    pads = device.type == "cuda" and not in_order and not model.scored_by_slot
    lengths = np.diff(table.offsets)[places]

    # places in `lengths`, shortest first
    order = np.argsort(lengths, kind="stable")
    budget = TOKENS_PER_BATCH["cuda" if pads else "cpu"]
    cuts = []
    start = 0
    total = 0
    for place, length in enumerate(lengths[order].tolist()):
        if pads:
            total = (place + 1 - start) * length
        else:
            total += length
        if place > start and total > budget:
            cuts.append(place)
            start = place
            total = length
    batches = np.split(order, cuts)

    @torch.inference_mode()
    def encoded(batch: np.ndarray) -> Tensor:
        if pads:
            chosen = torch.from_numpy(places[batch]).to(device)
            packed = padded(looked_up(*table.on(device), chosen, int(lengths[batch[-1]])))
        else:
            packed = pack([table[place] for place in places[batch]], device)
        return model.sentence_vectors(packed).float()

    model.eval()
    products = torch.backends.cuda.matmul
    training = products.allow_tf32
    products.allow_tf32 = products.allow_tf32 or device.type == "cuda"
    if in_order:
        parts = [encoded(batch) for batch in batches]
    else:
        parts = in_parallel(encoded, batches, device.type)
    products.allow_tf32 = training  # its own setting
    vectors = torch.cat(parts)
    vectors = vectors[torch.from_numpy(np.argsort(order)).to(vectors.device)]
    if pads:
        return vectors
    return array(vectors)
