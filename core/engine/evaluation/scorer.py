"""Scoring a model in training: the sets' sentences are tokenised once, encoded once each, sorted by length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from core.data.sts import StsSet
from core.engine.encoder.packing import Packed, pack
from core.engine.evaluation.evaluation import Encode, Evaluation, evaluate
from core.engine.threads import TOKENS_PER_BATCH, each
from core.engine.tokens import TokenTable


class SentenceModel(Protocol):
    """What can be scored: a module that makes vectors of sentences. One with `draws_when_scored` true gets its batches in order (D21)."""

    training: bool

    def eval(self) -> object:
        """Go into evaluation mode."""

    def train(self, mode: bool) -> object:
        """Go into training mode, or out of it."""

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, dim)."""


class Scorer:
    """Development check and final evaluation of one run's model, by test-set names of its scale."""

    def __init__(
        self,
        sets: dict[str, StsSet],
        dev: str,
        tests: Sequence[str],
        geometry_of: Sequence[StsSet],
        sentences: Sequence[str],
        table: TokenTable,
        device: torch.device,
    ):
        self.sets, self.dev, self.tests, self.geometry_of = sets, dev, tuple(tests), tuple(geometry_of)
        self.names = (*self.tests, dev)
        self.index = {text: i for i, text in enumerate(sentences)}
        self.table, self.device = table, device

    def development(self, model: SentenceModel) -> Evaluation:
        """Scores on the development set."""
        return evaluate({self.dev: self.sets[self.dev]}, self._encoder(model))

    def test(self, model: SentenceModel) -> Evaluation:
        """Scores on all test sets."""
        return evaluate({name: self.sets[name] for name in self.tests}, self._encoder(model))

    def complete(self, model: SentenceModel, geometry: bool) -> Evaluation:
        """Scores on tests and development set, with alignment and uniformity over `geometry_of` if asked for."""
        sets = {name: self.sets[name] for name in self.names}
        return evaluate(sets, self._encoder(model), self.geometry_of if geometry else ())

    def vectors(self, model: SentenceModel, sentences: Sequence[str]) -> np.ndarray:
        """The model's vectors of sentences that the scorer knows, in evaluation mode, (sentences, dim) float32."""
        return table_vectors(model, self.table, np.array([self.index[text] for text in sentences]), self.device)

    def development_vectors(self, found: Evaluation) -> np.ndarray:
        """The vectors of the distinct development sentences out of an evaluation that holds that set, (sentences, dim)."""
        dev = self.sets[self.dev]
        return found.vectors[[found.index[text] for text in dict.fromkeys(dev.a + dev.b)]]

    def _encoder(self, model: SentenceModel) -> Encode:
        return lambda sentences: self.vectors(model, sentences)


def table_vectors(model: SentenceModel, table: TokenTable, places: np.ndarray, device: torch.device) -> np.ndarray:
    """The model's vectors of some sentences of a token table, in evaluation mode, (places, dim) float32, in the order given.

    The model is put into evaluation mode here, whatever it was in: with dropout the scores would be others (D53).
    """
    was_training = model.training
    model.eval()
    lengths = table.offsets[places + 1] - table.offsets[places]
    order = np.argsort(lengths, kind="stable")

    def encoded(batch: slice) -> Tensor:
        with torch.inference_mode():
            return model.sentence_vectors(pack([table[places[i]] for i in order[batch]], device)).float()

    in_order = getattr(model, "draws_when_scored", False)  # the one model that may draw says so
    budget = TOKENS_PER_BATCH["cpu" if in_order else device.type]  # what is drawn hangs on the batches: the same on every device
    batches = token_batches(lengths[order], budget)
    pieces = [encoded(batch) for batch in batches] if in_order else each(encoded, batches, device.type)
    model.train(was_training)
    sorted_vectors = torch.cat(pieces).cpu().numpy()  # (places, dim)
    vectors = np.empty_like(sorted_vectors)
    vectors[order] = sorted_vectors
    return vectors


def token_batches(lengths: np.ndarray, budget: int) -> list[slice]:
    """Slices of an array of ascending lengths, each of at most `budget` tokens (or one sentence)."""
    batches, start, total = [], 0, 0
    for place, length in enumerate(lengths):
        if total and total + length > budget:
            batches.append(slice(start, place))
            start, total = place, 0
        total += int(length)
    return batches + [slice(start, len(lengths))]
