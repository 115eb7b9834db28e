"""Baselines without training: the encoder's [CLS], its first-last average, whitening, a bag of
words."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.config.quantities import EXCESS
from core.config.result import Measurement
from core.config.run import RunConfig
from core.data.encoders import versions
from core.data.sts import StsSet
from core.encoder.bert import Encoder
from core.encoder.packing import Packed
from core.encoder.pooling import mean_of
from core.encoder.vectors import array
from core.evaluation.metrics import direction_rows, length_rows, spectrum_rows
from core.evaluation.scoring import Encode, Scorer, distinct_sentences, evaluate
from core.methods.contrastive import Contrastive
from core.store.cache import cached

# of what is kept on disk: raised when a row comes, goes or means something else
BASELINES_VERSION = 4
# of the vectors' length: a direction with a smaller deviation is rounding of float32
LEAST_DEVIATION = 1e-6


class Untrained(Contrastive):
    """The pretrained encoder as it is, whatever the method scores after training: last-layer [CLS];
    or, for each layer of `early`, the mean over tokens, special ones included, of this layer's and
    the last one's mean, side by side.

    Layer 0 is the embedding output, 1 the first transformer layer (D77), and -1 gives the last
    layer alone, Reimers and Gurevych's mean (2019).
    """

    def __init__(self, encoder: Encoder, early: Sequence[int] = ()):
        super().__init__()
        self.encoder = encoder
        self.early = early

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """[CLS], (B, hidden), or the means, (B, layers x hidden)."""
        if not self.early:
            return self.encoder(batch)
        layers = self.encoder.layers(batch)  # (T, hidden) each
        tokens = torch.cat([layers[i] + layers[-1] for i in self.early], dim=1) / 2
        return mean_of(tokens, batch, batch.mask[batch.row, batch.slot])


def bag_of_words(sentences: Sequence[str]) -> np.ndarray:
    """The mean of fixed random vectors of each sentence's lower-cased words, (sentences, 256)."""
    vectors: dict[str, np.ndarray] = {}
    means = []
    for sentence in sentences:
        words = re.findall(r"\w+", sentence.lower()) or [sentence]
        for word in words:
            if word not in vectors:
                stream = np.random.default_rng(zlib.crc32(word.encode()))
                vectors[word] = stream.standard_normal(256)
        means.append(np.mean([vectors[word] for word in words], axis=0))
    return np.array(means, dtype=np.float32)


def whitened(vectors: np.ndarray, fitted_on: np.ndarray) -> np.ndarray:
    """(x - mu) W with W = U Lambda^(-1/2), from mean and covariance U Lambda U^T of `fitted_on` (Su
    et al. 2021). vectors (n, dim), fitted_on (m, dim) -> (n, directions with variance) float64; NaN
    for vectors that are not finite."""
    fitted_on = np.asarray(fitted_on, dtype=np.float64)
    if not np.isfinite(fitted_on).all():
        return np.full_like(vectors, np.nan)
    mean = fitted_on.mean(0)  # (dim,)
    # (dim,), (dim, dim)
    variances, directions = np.linalg.eigh(np.cov(fitted_on, rowvar=False, bias=True))
    varying = variances > LEAST_DEVIATION**2 * (fitted_on**2).sum(1).mean()
    return (vectors - mean) @ (directions[:, varying] / np.sqrt(variances[varying]))


def whitened_score(pairs: StsSet, encode: Encode) -> dict[str, float]:
    """Spearman x 100 of a set with vectors whitened on its own sentences, as often as they occur:
    Su et al.'s "target" variant, which sees no label and needs more sentences than dimensions. The
    papers' tables copy the variant that is fitted on NLI sentences."""
    fitted_on = encode([*pairs.a, *pairs.b])
    return evaluate({"set": pairs}, lambda texts: whitened(encode(texts), fitted_on)).scores["set"]


def baseline_rows(scorer: Scorer, encoder: Encoder) -> list[Measurement]:
    """Rows of the baselines, at step 0.

    By baseline Spearman x 100 (`all`) of every set and of the tests' mean; of the encoder's own
    [CLS] also how much higher pairs of like length are rated (ESimCSE, Section 1), how the
    development sentences' vectors spread over directions, and their spectrum (MoCoSE, Figure 7).
    """
    sets = scorer.sets
    untrained = scorer.score(Untrained(encoder), scorer.sets)
    averages = array(scorer.vectors(Untrained(encoder, (1, 0)), distinct_sentences(sets.values())))
    # of the sentences that `evaluate` asks for, in their order
    halves = np.split(averages, 2, axis=1)
    first = evaluate(sets, lambda _: halves[0])
    first_0 = evaluate(sets, lambda _: halves[1])
    scores = {
        "untrained": untrained.scores,
        "bag_of_words": evaluate(sets, bag_of_words).scores,
        "untrained_first_last": first.scores,
        "untrained_first_last_0": first_0.scores,
        "whitening": {name: whitened_score(pairs, first.of) for name, pairs in sets.items()},
    }
    rows: list[Measurement] = []
    for name, by_set in scores.items():
        rows += scorer.score_rows(by_set, name, 0)
    for row in length_rows(untrained.pairs, "untrained", scorer.dev, 0):
        if row.metric == EXCESS:
            rows.append(row)
    vectors = array(untrained.of(scorer.dev_sentences))
    directions = direction_rows(vectors, "untrained", 0)
    rows += directions
    if directions:
        rows += spectrum_rows(vectors, "untrained", 0)
    return rows


def cached_rows(
    config: RunConfig,
    cache_dir: Path,
    name: str,
    device: torch.device,
    make: Callable[[], list[Measurement]],
) -> list[Measurement]:
    """The rows that `make` gives for this untrained encoder on this evaluation data and device,
    cached for all its runs."""
    digests = config.encoder.digest, config.eval.digest
    key = [*digests, name, device.type, versions(), BASELINES_VERSION]

    def load(content: bytes) -> list[Measurement]:
        return [Measurement(*row) for row in json.loads(content)]

    return cached(cache_dir / "baselines", key, make, load=load)
