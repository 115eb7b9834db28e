"""Scores of sentence vectors on graded pairs: every distinct sentence is encoded once, every pair's cosine is
kept, and every score is taken from those cosines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from core.data.sts import StsSet
from core.engine.encoder.packing import Packed, looked_up, pack, padded
from core.engine.evaluation import metrics
from core.engine.evaluation.metrics import Vectors
from core.engine.streams import TOKENS_PER_BATCH, each
from core.engine.tokens import TokenTable
from core.spec.result import PairBlock, Row

Encode = Callable[[Sequence[str]], Vectors]  # n sentences -> (n, dim)
AGGREGATES = ("all", "mean", "wmean")


@dataclass(frozen=True)
class SetScore:
    """A set's Spearmans x 100. `status`: `ok`; `constant`, all cosines equal; `non_finite`, some embedding
    has no direction. Whenever the status is not `ok`, `all` is NaN."""

    name: str
    pairs: int
    all: float
    mean: float
    wmean: float
    status: str


@dataclass(frozen=True)
class Evaluation:
    """Scores by set name, the pairs behind them, and alignment and uniformity by metric name (empty if not
    computed).

    `vectors` (distinct sentences, dim) is what all of it was computed from; `index` gives each sentence's
    place.
    """

    scores: dict[str, SetScore]
    pairs: tuple[PairBlock, ...]
    geometry: dict[str, float]
    vectors: Vectors = field(repr=False, compare=False)
    index: Mapping[str, int] = field(repr=False, compare=False)

    def average(self, tests: Sequence[str], aggregate: str = "all") -> float:
        """The mean over the test sets of one aggregation; NaN if a set is missing or has no score."""
        if any(name not in self.scores for name in tests):
            return float("nan")
        return metrics.mean_of_7([getattr(self.scores[name], aggregate) for name in tests])

    def rows(
        self, tests: Sequence[str], checkpoint: str, step: int, geometry_task: str = "STS-B"
    ) -> list[Row]:
        """Result rows: three Spearmans a set, their `avg` over the tests if all are there, and the
        geometry."""
        rows = []
        for aggregate in AGGREGATES:
            metric = f"spearman_{aggregate}"
            rows += [
                Row(checkpoint, s.name, metric, step, getattr(s, aggregate)) for s in self.scores.values()
            ]
            if all(name in self.scores for name in tests):
                rows.append(Row(checkpoint, "avg", metric, step, self.average(tests, aggregate)))
        return rows + [Row(checkpoint, geometry_task, metric, step, x) for metric, x in self.geometry.items()]


def evaluate(sets: Mapping[str, StsSet], encode: Encode, geometry_of: Sequence[StsSet] = ()) -> Evaluation:
    """The scores of these sets, with every pair's float32 cosine, from which the scores are taken.

    `encode` is called once with the distinct sentences and returns (sentences, dim) of floats, an array or a
    tensor on a GPU, of any length. `geometry_of` are the sets, in order, whose pairs together give alignment
    and uniformity (D43: STS-B train, dev, test). Embeddings that are not finite give NaN scores and the
    status `non_finite`.
    """
    sentences = distinct_sentences([*sets.values(), *geometry_of])
    vectors = encode(sentences)  # (distinct, dim)
    if vectors.ndim != 2 or len(vectors) != len(sentences):
        raise ValueError(f"encode returned {vectors.shape} for {len(sentences)} sentences")
    index = {text: i for i, text in enumerate(sentences)}
    scores: dict[str, SetScore] = {}
    blocks: list[PairBlock] = []
    for name, pairs in sets.items():
        a, b = ([index[text] for text in side] for side in (pairs.a, pairs.b))
        cosine = metrics.cosines(vectors[a], vectors[b])  # (pairs,)
        values = metrics.aggregates(pairs, cosine)
        status = "constant" if np.isnan(values["all"]) else "ok"
        status = status if np.isfinite(cosine).all() else "non_finite"
        scores[name] = SetScore(pairs.name, len(pairs), **values, status=status)
        blocks += _pair_blocks(pairs, cosine)
    geometry = _geometry(vectors, index, geometry_of) if geometry_of else {}
    return Evaluation(scores, tuple(blocks), geometry, vectors, index)


def distinct_sentences(sets: Sequence[StsSet]) -> list[str]:
    """The sentences of these sets, each once, in their order."""
    return list(dict.fromkeys(text for pairs in sets for side in (pairs.a, pairs.b) for text in side))


def _pair_blocks(pairs: StsSet, cosine: np.ndarray) -> list[PairBlock]:
    """The set's pairs as stored, a block a subset, in file order; words are blank-separated."""
    labels = np.array(pairs.subset)
    blocks = []
    for subset in dict.fromkeys(pairs.subset):
        rows = np.flatnonzero(labels == subset)
        words_a, words_b = ([len(side[i].split()) for i in rows] for side in (pairs.a, pairs.b))
        blocks.append(PairBlock(pairs.name, subset, pairs.gold[rows], cosine[rows], words_a, words_b))
    return blocks


def _geometry(vectors: Vectors, index: Mapping[str, int], sets: Sequence[StsSet]) -> dict[str, float]:
    """Alignment and uniformity of the sets' pairs together, in both modes of D43; vectors (distinct, dim).

    alignment_<mode> is over pairs with gold above 4, alignment_all_<mode> over all. uniformity_batched64 is
    over first sentences in file order, as released; uniformity_global over the distinct sentences of both
    sides. Sentences are not cut at 32 tokens.
    """
    a = [index[text] for pairs in sets for text in pairs.a]
    b = [index[text] for pairs in sets for text in pairs.b]
    gold = np.concatenate([pairs.gold for pairs in sets])
    x, y = vectors[a], vectors[b]
    values = {}
    for mode in ("global", "batched64"):
        values[f"alignment_{mode}"] = metrics.alignment(x, y, gold, mode, "gold>4")
        values[f"alignment_all_{mode}"] = metrics.alignment(x, y, gold, mode, "all")
    values["uniformity_global"] = metrics.uniformity(vectors[list(dict.fromkeys(a + b))], "global")
    values["uniformity_batched64"] = metrics.uniformity(x, "batched64")
    return values


class SentenceModel(Protocol):
    """A module that makes vectors of sentences. With `draws_when_scored` true it gets its batches in order
    (D21)."""

    training: bool

    def eval(self) -> object:
        """Go into evaluation mode."""

    def train(self, mode: bool) -> object:
        """Go into training mode, or out of it."""

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, dim)."""


class Scorer:
    """Scores one run's model on the sets of its scale. `table` has the token ids of `sentences`; alignment
    and uniformity are over `geometry_of`."""

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
        self.index = {text: i for i, text in enumerate(sentences)}
        self.table, self.device = table, device

    @property
    def names(self) -> tuple[str, ...]:
        """The test sets and the development set."""
        return (*self.tests, self.dev)

    def score(self, model: SentenceModel, *names: str, geometry: bool = False) -> Evaluation:
        """Scores on these sets, with alignment and uniformity if `geometry`."""
        sets = {name: self.sets[name] for name in names}
        return evaluate(sets, lambda texts: self.vectors(model, texts), self.geometry_of if geometry else ())

    def vectors(self, model: SentenceModel, sentences: Sequence[str]) -> Vectors:
        """The model's vectors of sentences of the sets, in evaluation mode, (sentences, dim) float32."""
        return table_vectors(
            model, self.table, np.array([self.index[text] for text in sentences]), self.device
        )

    def development_vectors(self, evaluation: Evaluation) -> Vectors:
        """The vectors of the distinct development sentences, (sentences, dim), of an evaluation of that
        set."""
        return evaluation.vectors[
            [evaluation.index[text] for text in distinct_sentences([self.sets[self.dev]])]
        ]


def array(vectors: Vectors) -> np.ndarray:
    """Vectors (n, dim) on the CPU."""
    return vectors.cpu().numpy() if isinstance(vectors, Tensor) else vectors


def table_vectors(
    model: SentenceModel, table: TokenTable, places: np.ndarray, device: torch.device
) -> Vectors:
    """The model's vectors of some sentences of a token table, in evaluation mode, (places, dim) float32, in
    the order of `places`: an array on a CPU, a tensor on a GPU, which multiplies in TF32.

    The model is put into evaluation mode here, whatever it was in: with dropout the scores would differ
    (D53). A GPU does not pad where scores depend on the batches, which are then the same on every device.
    """
    was_training = model.training
    model.eval()
    lengths = table.offsets[places + 1] - table.offsets[places]
    order = np.argsort(lengths, kind="stable")
    lengths, sorted_places = lengths[order], places[order]
    in_order = getattr(model, "draws_when_scored", False)  # the one model that may draw says so
    pads = device.type == "cuda" and not in_order and not getattr(model, "scored_by_slot", False)
    chosen = torch.from_numpy(sorted_places).to(device) if pads else None

    def encoded(batch: slice) -> Tensor:
        with torch.inference_mode():
            if chosen is not None:
                packed = padded(looked_up(*table.on(device), chosen[batch], int(lengths[batch.stop - 1])))
            else:
                packed = pack([table[i] for i in sorted_places[batch]], device)
            return model.sentence_vectors(packed).float()

    batches = length_batches(lengths, TOKENS_PER_BATCH["cuda" if pads else "cpu"], padding=pads)
    with tf32(device):
        pieces = [encoded(batch) for batch in batches] if in_order else each(encoded, batches, device.type)
    model.train(was_training)
    sorted_vectors = torch.cat(pieces)  # (places, dim)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return sorted_vectors[torch.from_numpy(back).to(device)] if pads else sorted_vectors.cpu().numpy()[back]


def length_batches(lengths: np.ndarray, budget: int, *, padding: bool) -> list[slice]:
    """Slices of ascending lengths, each of at most `budget` tokens or one sentence. Padding takes as much
    memory as tokens, so it counts where there is any."""
    batches, start, total = [], 0, 0
    for place, length in enumerate(lengths.tolist()):
        total = (place + 1 - start) * length if padding else total + length
        if place > start and total > budget:
            batches.append(slice(start, place))
            start, total = place, length
    return [*batches, slice(start, len(lengths))] if len(lengths) else []


@contextlib.contextmanager
def tf32(device: torch.device) -> Iterator[None]:
    """Within this context a GPU rounds what products read to TF32's 11 bits; training has its own setting."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or device.type == "cuda"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
