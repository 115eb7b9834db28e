"""Baselines without training: the encoder's own [CLS], its first-last average, plain and whitened, a random
bag of words."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.data.sts import StsSet
from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.evaluation.length_bias import EXCESS, length_rows
from core.engine.evaluation.metrics import array, direction_rows, mean_of_7, spectrum_rows
from core.engine.evaluation.scoring import Encode, Evaluation, Scorer, distinct_sentences, evaluate
from core.methods.contrastive import Contrastive
from core.spec.errors import UserError
from core.spec.result import Row
from core.spec.run import RunConfig
from core.store.files import write_whole

VERSION = 4  # of what is kept on disk: raised when a row comes, goes or means something else
WORD_VECTOR = 256  # numbers of a random word vector
ROUNDING = 1e-6  # of the vectors' length: a direction with a smaller deviation is rounding of float32


class Untrained(Contrastive):
    """The pretrained encoder as it is: last-layer [CLS], whatever the method scores after training."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """[CLS], (B, hidden)."""
        return self.encoder(batch)


class LastMean(Untrained):
    """The mean of the pretrained encoder's last layer over a sentence's tokens, special ones included
    (Reimers and Gurevych 2019)."""

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """The mean, (B, hidden)."""
        return _token_mean(self.layers(batch)[-1], batch)

    def layers(self, batch: Packed) -> list[Tensor]:
        """The embeddings and what each layer makes of them, (T, hidden) each."""
        return self.encoder.stack.every(self.encoder.embeddings(batch), batch)


class FirstLast(LastMean):
    """The pretrained encoder's first-last average: mean over a sentence's tokens of the mean of an early and
    the last layer.

    The early one is the first transformer layer, or the embedding output (D77: eval.first_layer 1 | 0).
    Special tokens count.
    """

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Both averages side by side, (B, 2 hidden): with the first transformer layer, then with the
        embeddings."""
        layers = self.layers(batch)
        return _token_mean(torch.cat([layers[1] + layers[-1], layers[0] + layers[-1]], dim=1) / 2, batch)


def _token_mean(tokens: Tensor, batch: Packed) -> Tensor:
    """The means over each sentence's tokens, (B, dim) of (T, dim)."""
    if batch.bias is not None:
        tokens = tokens * batch.mask.flatten().unsqueeze(1)  # no padding in the mean
    sums = tokens.new_zeros(batch.batch, tokens.shape[1]).index_add(0, batch.row, tokens)
    return sums / batch.lengths.unsqueeze(1)


def bag_of_words(sentences: Sequence[str]) -> np.ndarray:
    """The mean of fixed random vectors of each sentence's lower-cased words, (sentences, 256)."""
    vectors: dict[str, np.ndarray] = {}
    means = np.empty((len(sentences), WORD_VECTOR), dtype=np.float32)
    for place, sentence in enumerate(sentences):
        words = re.findall(r"\w+", sentence.lower()) or [sentence]
        for word in words:
            if word not in vectors:
                vectors[word] = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(WORD_VECTOR)
        means[place] = np.mean([vectors[word] for word in words], axis=0)
    return means


def whitened(vectors: np.ndarray, fitted_on: np.ndarray) -> np.ndarray:
    """(x - mu) W with W = U Lambda^(-1/2), from the mean mu and the covariance U Lambda U^T of `fitted_on`
    (Su et al. 2021).

    vectors (n, dim), fitted_on (m, dim) -> (n, kept) float64. All directions are kept but those without
    variance, which rounding alone would fill. NaN for vectors that are not finite.
    """
    fitted_on = np.asarray(fitted_on, dtype=np.float64)
    if not np.isfinite(fitted_on).all():
        return np.full_like(vectors, np.nan)
    mean = fitted_on.mean(0)  # (dim,)
    variances, directions = np.linalg.eigh(np.cov(fitted_on, rowvar=False, bias=True))  # (dim,), (dim, dim)
    kept = variances > ROUNDING**2 * (fitted_on**2).sum(1).mean()
    return (vectors - mean) @ (directions[:, kept] / np.sqrt(variances[kept]))


def whitened_score(pairs: StsSet, encode: Encode) -> float:
    """Spearman x 100 of a set with vectors whitened on all sentences of that set, those of both sides, as
    often as they occur.

    This is Su et al.'s "target" variant, which sees the set's sentences and no label. The papers' tables copy
    the variant that is fitted on NLI sentences, which no run here reads. It needs more sentences than
    dimensions.
    """
    fitted_on = encode([*pairs.a, *pairs.b])
    found = evaluate({pairs.name: pairs}, lambda texts: whitened(encode(texts), fitted_on))
    return found.scores[pairs.name]["all"]


def baseline_rows(scorer: Scorer, encoder: Encoder) -> list[Row]:
    """Rows of the baselines, at step 0.

    By baseline Spearman x 100 (`all`) of every set and of the tests' mean; of the encoder's own [CLS] also
    how much higher pairs of like length are rated (ESimCSE, Section 1; no row where a set cannot say), how
    the development sentences' vectors spread over directions, and their spectrum (MoCoSE, Figure 7).
    """
    sentences = distinct_sentences(list(scorer.sets.values()))
    index = {text: place for place, text in enumerate(sentences)}
    averages = np.split(array(scorer.vectors(FirstLast(encoder), sentences)), 2, axis=1)  # (n, hidden) each
    first, first_0 = (lambda texts, of=of: of[[index[text] for text in texts]] for of in averages)
    untrained = scorer.score(Untrained(encoder), *scorer.names)
    scores = {
        "untrained": _all(untrained),
        "bag_of_words": _all(evaluate(scorer.sets, bag_of_words)),
        "untrained_first_last": _all(evaluate(scorer.sets, first)),
        "untrained_first_last_0": _all(evaluate(scorer.sets, first_0)),
        "whitening": {name: whitened_score(pairs, first) for name, pairs in scorer.sets.items()},
    }
    rows = []
    for name, values in scores.items():
        values = {scorer.task(task): value for task, value in values.items()}
        values["avg"] = mean_of_7([values[task] for task in scorer.tests])
        rows += [Row(name, task, "spearman_all", 0, value) for task, value in values.items()]
    lengths = length_rows(untrained.pairs, "untrained", scorer.dev, 0)
    rows += [row for row in lengths if row.metric == EXCESS]
    vectors = array(untrained.of(scorer.dev_sentences))
    directions = direction_rows(vectors, "untrained", 0)
    return rows + directions + (spectrum_rows(vectors, "untrained", 0) if directions else [])


def _all(found: Evaluation) -> dict[str, float]:
    return {name: score["all"] for name, score in found.scores.items()}


def kept_rows(config: RunConfig, cache_dir: Path, what: str, make: Callable[[], list[Row]]) -> list[Row]:
    """The rows that `make` gives for this encoder, untrained, on this evaluation data. The cache keeps them
    for all its runs; a file that cannot be read is made again."""
    name = f"{config.encoder.digest[:16]}-{config.eval.digest[:16]}-{what}-{VERSION}.json"
    path = cache_dir / "baselines" / name
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [Row(*row) for row in json.loads(path.read_bytes())]
    rows = make()
    with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
        write_whole(path, json.dumps(rows, indent=0).encode())
    return rows
