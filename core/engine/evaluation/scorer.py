"""Scoring a model in training: the sets' sentences are tokenised once, encoded once each, sorted by length."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from core.data.sts import StsSet
from core.engine.encoder.packing import Packed, looked_up, pack, padded
from core.engine.evaluation.encoding import length_batches
from core.engine.evaluation.evaluation import Encode, Evaluation, evaluate
from core.engine.evaluation.metrics import Vectors
from core.engine.streams import TOKENS_PER_BATCH, each
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

    def vectors(self, model: SentenceModel, sentences: Sequence[str]) -> Vectors:
        """The model's vectors of sentences that the scorer knows, in evaluation mode, (sentences, dim) float32."""
        return table_vectors(model, self.table, np.array([self.index[text] for text in sentences]), self.device)

    def of_development(self, found: Evaluation) -> Vectors:
        """The vectors of the distinct development sentences out of an evaluation that holds that set, (sentences, dim)."""
        dev = self.sets[self.dev]
        return found.vectors[[found.index[text] for text in dict.fromkeys(dev.a + dev.b)]]

    def development_vectors(self, found: Evaluation) -> np.ndarray:
        """The same, on the CPU."""
        return array(self.of_development(found))

    def _encoder(self, model: SentenceModel) -> Encode:
        return lambda sentences: self.vectors(model, sentences)


def array(vectors: Vectors) -> np.ndarray:
    """Vectors (n, dim) on the CPU."""
    return vectors.cpu().numpy() if isinstance(vectors, Tensor) else vectors


def table_vectors(model: SentenceModel, table: TokenTable, places: np.ndarray, device: torch.device) -> Vectors:
    """The model's vectors of some sentences of a token table, in evaluation mode, (places, dim) float32, in the order given: an array
    on a CPU, a tensor on a GPU, which has products in TF32.

    The model is put into evaluation mode here, whatever it was in: with dropout the scores would be others (D53).
    """
    was_training = model.training
    model.eval()
    lengths = table.offsets[places + 1] - table.offsets[places]
    order = np.argsort(lengths, kind="stable")
    in_order = getattr(model, "draws_when_scored", False)  # the one model that may draw says so
    on_gpu = pads(model, device)
    sorted_places = places[order]
    chosen = torch.from_numpy(sorted_places).to(device) if on_gpu else None

    def encoded(batch: slice) -> Tensor:
        with torch.inference_mode():
            if chosen is not None:
                held = padded(looked_up(*table.on(device), chosen[batch], int(lengths[order[batch.stop - 1]])))
            else:
                held = pack([table[i] for i in sorted_places[batch]], device)
            return model.sentence_vectors(held).float()

    batches = batches_of(lengths[order], padded=on_gpu)
    with tf32(device):
        pieces = [encoded(batch) for batch in batches] if in_order else each(encoded, batches, device.type)
    model.train(was_training)
    sorted_vectors = torch.cat(pieces)  # (places, dim)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return sorted_vectors[torch.from_numpy(back).to(device)] if on_gpu else sorted_vectors.cpu().numpy()[back]


def pads(model: SentenceModel, device: torch.device) -> bool:
    """Whether a model is scored in a GPU's own batches. Not where scores hang on the batches, which are the same on every device."""
    return device.type == "cuda" and not (getattr(model, "draws_when_scored", False) or getattr(model, "scored_by_slot", False))


def batches_of(lengths: np.ndarray, *, padded: bool) -> list[slice]:
    """Batches of ascending lengths: slices of them. With padding, which takes as much memory as tokens, it counts as they do."""
    return length_batches(lengths, TOKENS_PER_BATCH["cuda"]) if padded else token_batches(lengths, TOKENS_PER_BATCH["cpu"])


@contextlib.contextmanager
def tf32(device: torch.device) -> Iterator[None]:
    """Within this context a GPU rounds what products read to TF32's 11 bits; training has its own setting."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or device.type == "cuda"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def token_batches(lengths: np.ndarray, budget: int) -> list[slice]:
    """Slices of an array of ascending lengths, each of at most `budget` tokens (or one sentence)."""
    batches, start, total = [], 0, 0
    for place, length in enumerate(lengths):
        if total and total + length > budget:
            batches.append(slice(start, place))
            start, total = place, 0
        total += int(length)
    return batches + [slice(start, len(lengths))]
