"""One evaluation: every distinct sentence encoded once, every pair's cosine kept, every score taken from those cosines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from core.data.sts import StsSet
from core.engine.evaluation import metrics
from core.spec.result import PairBlock, Row

ScoreStatus = Literal["ok", "constant", "non_finite"]
Encode = Callable[[Sequence[str]], metrics.Vectors]  # n sentences -> (n, dim)


@dataclass(frozen=True)
class SetScore:
    """A set's Spearmans x 100. `status`: `ok`; `constant`, all cosines equal; `non_finite`, some embedding has no direction.

    Whenever the status is not `ok`, `all` is NaN.
    """

    name: str
    pairs: int
    all: float
    mean: float
    wmean: float
    status: ScoreStatus


@dataclass(frozen=True)
class Evaluation:
    """Scores by set name, the pairs behind them, and alignment and uniformity by metric name (empty if not asked for).

    `vectors` (distinct sentences, dim) is what all of it was computed from; `index` gives each sentence's place in it.
    """

    scores: dict[str, SetScore]
    pairs: tuple[PairBlock, ...]
    geometry: dict[str, float]
    vectors: metrics.Vectors = field(repr=False, compare=False)
    index: Mapping[str, int] = field(repr=False, compare=False)

    @property
    def finite(self) -> bool:
        """Whether every embedding had a direction: finite and not zero."""
        return all(score.status != "non_finite" for score in self.scores.values())


def evaluate(sets: Mapping[str, StsSet], encode: Encode, geometry_of: Sequence[StsSet] = ()) -> Evaluation:
    """The scores of these sets, with every pair's float32 cosine, from which the scores are taken.

    `encode` is called once with the distinct sentences and returns (sentences, dim) of floats, an array or a tensor on a GPU, not
    necessarily of length 1.
    `geometry_of` are the sets, in order, whose pairs together give alignment and uniformity (D43: STS-B train, dev, test).
    Embeddings that are not finite give NaN scores and the status `non_finite`.
    """
    sentences = list(dict.fromkeys(text for s in (*sets.values(), *geometry_of) for side in (s.a, s.b) for text in side))
    vectors = encode(sentences)  # (distinct, dim)
    if vectors.ndim != 2 or len(vectors) != len(sentences):
        raise ValueError(f"encode returned {vectors.shape} for {len(sentences)} sentences")
    index = {text: i for i, text in enumerate(sentences)}
    found, blocks = {}, []
    for name, pairs in sets.items():
        cosine = metrics.cosines(vectors[[index[t] for t in pairs.a]], vectors[[index[t] for t in pairs.b]])  # (pairs,)
        found[name] = set_score(pairs, cosine)
        blocks += pair_blocks(pairs, cosine)
    return Evaluation(found, tuple(blocks), geometry(vectors, index, geometry_of) if geometry_of else {}, vectors, index)


def set_score(pairs: StsSet, cosine: np.ndarray) -> SetScore:
    """The three Spearmans of one set, and whether they mean anything; cosine (pairs,)."""
    values = metrics.aggregates(pairs, cosine)
    status: ScoreStatus = "constant" if np.isnan(values["all"]) else "ok"
    if not np.isfinite(cosine).all():
        status = "non_finite"
    return SetScore(pairs.name, len(pairs), values["all"], values["mean"], values["wmean"], status)


def pair_blocks(pairs: StsSet, cosine: np.ndarray) -> list[PairBlock]:
    """The set's pairs as stored, a block a subset, in file order; words are blank-separated."""
    labels = np.array(pairs.subset)
    blocks = []
    for subset in dict.fromkeys(pairs.subset):
        rows = np.flatnonzero(labels == subset)
        words_a, words_b = ([len(side[i].split()) for i in rows] for side in (pairs.a, pairs.b))
        blocks.append(PairBlock(pairs.name, subset, pairs.gold[rows], cosine[rows], words_a, words_b))
    return blocks


def geometry(vectors: metrics.Vectors, index: Mapping[str, int], sets: Sequence[StsSet]) -> dict[str, float]:
    """Alignment and uniformity of the sets' pairs together, in both modes of D43; vectors (distinct, dim).

    alignment_<mode> is over pairs with gold above 4, alignment_all_<mode> over all. uniformity_batched64 is over first
    sentences in file order, as released; uniformity_global over the distinct sentences of both sides. Sentences come as they
    were encoded, not cut at 32 tokens.
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


def average(evaluation: Evaluation, tests: Sequence[str], aggregate: str = "all") -> float:
    """The mean over the test sets of one aggregation; NaN if a set is missing or has no score: a partial mean is no mean."""
    if any(name not in evaluation.scores for name in tests):
        return float("nan")
    return metrics.mean_of_7([getattr(evaluation.scores[name], aggregate) for name in tests])


def rows(evaluation: Evaluation, tests: Sequence[str], checkpoint: str, step: int, geometry_task: str = "STS-B") -> list[Row]:
    """The evaluation as result rows: three Spearmans a set, their `avg` over the tests if all are there, and the geometry."""
    found = []
    for aggregate in ("all", "mean", "wmean"):
        metric = f"spearman_{aggregate}"
        found += [Row(checkpoint, s.name, metric, step, getattr(s, aggregate)) for s in evaluation.scores.values()]
        if all(name in evaluation.scores for name in tests):
            found.append(Row(checkpoint, "avg", metric, step, average(evaluation, tests, aggregate)))
    found += [Row(checkpoint, geometry_task, metric, step, value) for metric, value in evaluation.geometry.items()]
    return found
