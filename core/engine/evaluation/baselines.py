"""Baselines without training: the encoder's own [CLS], its first-last average, plain and whitened, a random
bag of words."""

from __future__ import annotations

import contextlib
import hashlib
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
from core.engine.evaluation.evaluation import Encode, Evaluation, evaluate
from core.engine.evaluation.length_bias import EXCESS, by_set, like_length_excess, splits
from core.engine.evaluation.metrics import direction_rows, mean_of_7, spectrum_rows
from core.engine.evaluation.scorer import Scorer, array
from core.spec.errors import UserError
from core.spec.result import Row
from core.spec.run import RunConfig
from core.store.files import content, write_whole

NAMES = ("untrained", "bag_of_words", "untrained_first_last", "untrained_first_last_0", "whitening")  # in the order of their rows
VERSION = 3  # of what is kept on disk: raised when a row comes, goes or means something else
MOST_BYTES = 64 << 20  # of what is kept on disk
WORD_VECTOR = 256  # numbers of a random word vector
ROUNDING = 1e-6  # of the vectors' length: a direction with a smaller standard deviation is rounding of float32


class Untrained(nn.Module):
    """The pretrained encoder as it is: last-layer [CLS], whatever the method scores after training."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """[CLS], (B, hidden)."""
        return self.encoder(batch)


class FirstLast(nn.Module):
    """The pretrained encoder's first-last average: mean over a sentence's tokens of the mean of an early and the last layer.

    The early one is the first transformer layer, or the embedding output (D77: eval.first_layer 1 | 0). Special tokens count.
    """

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Both averages side by side, (B, 2 hidden): with the first transformer layer, then with the embedding output."""
        layers = self.encoder.stack.every(self.encoder.embeddings(batch), batch)  # (T, hidden) each
        tokens = torch.cat([layers[1] + layers[-1], layers[0] + layers[-1]], dim=1) / 2  # (T, 2 hidden)
        if batch.bias is not None:
            tokens = tokens * batch.mask.flatten().unsqueeze(1)  # no padding in the mean
        sums = tokens.new_zeros(batch.batch, tokens.shape[1]).index_add(0, batch.row, tokens)
        return sums / batch.lengths.unsqueeze(1)


class LastMean(nn.Module):
    """The mean of the pretrained encoder's last layer over a sentence's tokens, special ones included (Reimers and Gurevych 2019)."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """The mean, (B, hidden)."""
        tokens = self.encoder.stack.every(self.encoder.embeddings(batch), batch)[-1]  # (T, hidden)
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
    """(x - mu) W with W = U Lambda^(-1/2), from the mean mu and the covariance U Lambda U^T of `fitted_on` (Su et al. 2021).

    vectors (n, dim), fitted_on (m, dim) -> (n, kept) float64. All directions are kept but those without variance, which rounding
    alone would fill. NaN for vectors that are not finite.
    """
    fitted_on = np.asarray(fitted_on, dtype=np.float64)
    if not np.isfinite(fitted_on).all():
        return np.full_like(vectors, np.nan)
    mean = fitted_on.mean(0)  # (dim,)
    variances, directions = np.linalg.eigh(np.cov(fitted_on, rowvar=False, bias=True))  # (dim,), (dim, dim)
    kept = variances > ROUNDING**2 * (fitted_on**2).sum(1).mean()
    return (vectors - mean) @ (directions[:, kept] / np.sqrt(variances[kept]))


def whitened_score(pairs: StsSet, encode: Encode) -> float:
    """Spearman x 100 of a set with vectors whitened on all sentences of that set, those of both sides, as often as they occur.

    This is Su et al.'s "target" variant, which sees the set's sentences and no label. The papers' tables copy the variant that is
    fitted on NLI sentences, which no run here reads. It wants more sentences than dimensions.
    """
    fitted_on = encode([*pairs.a, *pairs.b])
    return evaluate({pairs.name: pairs}, lambda texts: whitened(encode(texts), fitted_on)).scores[pairs.name].all


def baseline_rows(config: RunConfig, encoder: Encoder, scorer: Scorer, cache_dir: Path) -> list[Row]:
    """Rows of the baselines, at step 0, kept on disk by encoder and evaluation data: every run of a study shares them.

    By baseline Spearman x 100 (`all`) of every set and of the tests' mean; of the encoder's own [CLS] also how much higher pairs of like
    length are rated (ESimCSE, Section 1; no row where a set cannot say), how the development sentences' vectors spread over directions, and
    their spectrum (MoCoSE, Figure 7).
    """
    tasks = [*("dev" if name == scorer.dev else name for name in scorer.names), "avg"]
    metrics = ["mean_cosine", "effective_rank", *(f"singular_value_{i}" for i in range(encoder.hidden))]
    wanted = [(name, task, "spearman_all") for name in NAMES for task in tasks]
    wanted += [("untrained", task, EXCESS) for name, task in zip(scorer.names, tasks, strict=False) if splits(scorer.sets[name])]
    wanted += [("untrained", "dev", metric) for metric in metrics]
    return kept_rows(kept_path(config, cache_dir, "baselines"), wanted, lambda: _made(encoder, scorer))


def kept_path(config: RunConfig, cache_dir: Path, what: str) -> Path:
    """The file that keeps rows of this encoder, untrained, on this evaluation data."""
    return Path(cache_dir) / "baselines" / f"{config.encoder.digest[:16]}-{config.eval.digest[:16]}-{what}-{VERSION}.json"


def kept_rows(path: Path, wanted: Sequence[tuple[str, str, str]], make: Callable[[], list[Row]]) -> list[Row]:
    """The rows in a file, or those that `make` gives, which are then kept there. A file that is damaged, or has other rows than
    `wanted` (checkpoint, task, metric), in that order, is made anew."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        kept = json.loads(content(path, MOST_BYTES))
        rows = [Row(*row) for row in kept["rows"]]
        if (
            kept["checksum"] == _checksum(rows)
            and [row[:3] for row in rows] == list(wanted)
            and all(row.step == 0 and type(row.value) is float for row in rows)
        ):
            return rows
    rows = make()
    with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
        write_whole(path, json.dumps({"checksum": _checksum(rows), "rows": rows}, indent=0).encode())
    return rows


def _checksum(rows: list[Row]) -> str:
    """SHA-256 of the rows: one digit that turned into another would be a number of every run to come."""
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _made(encoder: Encoder, scorer: Scorer) -> list[Row]:
    sets = {name: scorer.sets[name] for name in scorer.names}
    untrained = scorer.complete(Untrained(encoder), geometry=False)
    found = {"untrained": _scores(untrained), "bag_of_words": _scores(evaluate(sets, bag_of_words))}
    sentences = list(dict.fromkeys(text for pairs in sets.values() for side in (pairs.a, pairs.b) for text in side))
    index = {text: place for place, text in enumerate(sentences)}
    averages = np.split(array(scorer.vectors(FirstLast(encoder), sentences)), 2, axis=1)  # (sentences, hidden) each
    for name, vectors in zip(("untrained_first_last", "untrained_first_last_0"), averages, strict=True):
        found[name] = _scores(evaluate(sets, _among(vectors, index)))
    found["whitening"] = {name: whitened_score(pairs, _among(averages[0], index)) for name, pairs in sets.items()}
    rows = []
    for name, scores in found.items():
        rows += [Row(name, "dev" if task == scorer.dev else task, "spearman_all", 0, value) for task, value in scores.items()]
        rows.append(Row(name, "avg", "spearman_all", 0, mean_of_7([scores[task] for task in scorer.tests])))
    rows += [
        Row("untrained", "dev" if task == scorer.dev else task, EXCESS, 0, like_length_excess(pairs))
        for task, pairs in by_set(untrained.pairs)
        if splits(scorer.sets[task])
    ]
    vectors = scorer.development_vectors(untrained)
    directions = direction_rows(vectors, "untrained", 0)
    return rows + directions + (spectrum_rows(vectors, "untrained", 0) if directions else [])


def _among(vectors: np.ndarray, index: Mapping[str, int]) -> Encode:
    """Looks up sentences among vectors (sentences, dim) that were computed before."""
    return lambda texts: vectors[[index[text] for text in texts]]


def _scores(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.all for name, score in evaluation.scores.items()}
