"""Baselines without training: the encoder's own [CLS], its first-last average, plain and whitened, a random
bag of words."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.data.sts import StsSet
from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.evaluation.length_bias import EXCESS, by_set, like_length_excess, splits
from core.engine.evaluation.metrics import direction_rows, mean_of_7, spectrum_rows
from core.engine.evaluation.scoring import Encode, Evaluation, Scorer, array, distinct_sentences, evaluate
from core.spec.errors import UserError
from core.spec.result import Row
from core.spec.run import RunConfig
from core.store.files import write_whole

NAMES = (
    "untrained",
    "bag_of_words",
    "untrained_first_last",
    "untrained_first_last_0",
    "whitening",
)  # as their rows
VERSION = 4  # of what is kept on disk: raised when a row comes, goes or means something else
WORD_VECTOR = 256  # numbers of a random word vector
ROUNDING = (
    1e-6  # of the vectors' length: a direction with a smaller standard deviation is rounding of float32
)


class Untrained(nn.Module):
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
    return (
        evaluate({pairs.name: pairs}, lambda texts: whitened(encode(texts), fitted_on)).scores[pairs.name].all
    )


def baseline_rows(scorer: Scorer, encoder: Encoder, kept: Path) -> list[Row]:
    """Rows of the baselines, at step 0. The file `kept` keeps them for every run of this encoder on this
    data.

    By baseline Spearman x 100 (`all`) of every set and of the tests' mean; of the encoder's own [CLS] also
    how much higher pairs of like length are rated (ESimCSE, Section 1; no row where a set cannot say), how
    the development sentences' vectors spread over directions, and their spectrum (MoCoSE, Figure 7).
    """
    tasks = {name: "dev" if name == scorer.dev else name for name in scorer.names}
    split = [name for name in scorer.names if splits(scorer.sets[name])]
    metrics = ["mean_cosine", "effective_rank", *(f"singular_value_{i}" for i in range(encoder.hidden))]
    wanted = [(name, task, "spearman_all") for name in NAMES for task in (*tasks.values(), "avg")]
    wanted += [("untrained", tasks[name], EXCESS) for name in split]
    wanted += [("untrained", "dev", metric) for metric in metrics]

    def make() -> list[Row]:
        untrained = scorer.score(Untrained(encoder), *scorer.names)
        rows = []
        for name, scores in _scores(scorer, encoder, untrained).items():
            rows += [Row(name, tasks[task], "spearman_all", 0, value) for task, value in scores.items()]
            rows.append(
                Row(name, "avg", "spearman_all", 0, mean_of_7([scores[task] for task in scorer.tests]))
            )
        excess = {name: like_length_excess(pairs) for name, pairs in by_set(untrained.pairs)}
        rows += [Row("untrained", tasks[name], EXCESS, 0, excess[scorer.sets[name].name]) for name in split]
        vectors = array(scorer.development_vectors(untrained))
        directions = direction_rows(vectors, "untrained", 0)
        return rows + directions + (spectrum_rows(vectors, "untrained", 0) if directions else [])

    return kept_rows(kept, wanted, make)


def kept_path(config: RunConfig, cache_dir: Path, what: str) -> Path:
    """The file that keeps rows of this encoder, untrained, on this evaluation data."""
    name = f"{config.encoder.digest[:16]}-{config.eval.digest[:16]}-{what}-{VERSION}.json"
    return Path(cache_dir) / "baselines" / name


def kept_rows(path: Path, wanted: Sequence[tuple[str, str, str]], make: Callable[[], list[Row]]) -> list[Row]:
    """The rows in a file, or those of `make`, which are then kept there. A file that cannot be read, or has
    other rows than `wanted` (checkpoint, task, metric), in that order, is made again."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        rows = [Row(*row) for row in json.loads(path.read_bytes())]
        if [row[:3] for row in rows] == list(wanted) and all(type(row.value) is float for row in rows):
            return rows
    rows = make()
    with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
        write_whole(path, json.dumps(rows, indent=0).encode())
    return rows


def _scores(scorer: Scorer, encoder: Encoder, untrained: Evaluation) -> dict[str, dict[str, float]]:
    """Spearman x 100 by baseline and set."""
    sets = {name: scorer.sets[name] for name in scorer.names}
    sentences = distinct_sentences(list(sets.values()))
    index = {text: place for place, text in enumerate(sentences)}
    averages = np.split(
        array(scorer.vectors(FirstLast(encoder), sentences)), 2, axis=1
    )  # (sentences, hidden) each

    def spearman(evaluation: Evaluation) -> dict[str, float]:
        return {name: score.all for name, score in evaluation.scores.items()}

    return {
        "untrained": spearman(untrained),
        "bag_of_words": spearman(evaluate(sets, bag_of_words)),
        "untrained_first_last": spearman(evaluate(sets, _among(averages[0], index))),
        "untrained_first_last_0": spearman(evaluate(sets, _among(averages[1], index))),
        "whitening": {
            name: whitened_score(pairs, _among(averages[0], index)) for name, pairs in sets.items()
        },
    }


def _among(vectors: np.ndarray, index: Mapping[str, int]) -> Encode:
    """Looks up sentences among vectors (sentences, dim) that were computed before."""
    return lambda texts: vectors[[index[text] for text in texts]]
