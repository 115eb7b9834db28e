"""What needs no training, beside what was trained: the encoder's own [CLS], its first-last average, a random bag of words."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.engine.encoder import Encoder
from core.engine.evaluation import Evaluation, evaluate
from core.engine.packing import Packed
from core.engine.scoring import Scorer
from core.runner.files import write_whole
from core.spec.config import RunConfig
from core.spec.errors import UserError

NAMES = ("untrained", "bag_of_words", "untrained_first_last", "untrained_first_last_0")  # in the order in which they are made
WORD_VECTOR = 256  # numbers of a random word vector


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


def baselines(config: RunConfig, encoder: Encoder, scorer: Scorer, cache_dir: Path) -> dict[str, dict[str, float]]:
    """Spearman x 100 (`all`) by baseline and set, kept on disk by encoder and evaluation data: every run of a study shares them."""
    path = Path(cache_dir) / "baselines" / f"{config.encoder.digest[:16]}-{config.eval.digest[:16]}.json"
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        known = json.loads(path.read_text())
        if {name: set(scores) for name, scores in known.items()} == dict.fromkeys(NAMES, set(scorer.names)):
            return {name: {task: known[name][task] for task in scorer.names} for name in NAMES}  # in the order of those that are new
    sets = {name: scorer.sets[name] for name in scorer.names}
    found = {
        "untrained": _scores(scorer.complete(Untrained(encoder), geometry=False)),
        "bag_of_words": _scores(evaluate(sets, bag_of_words)),
    }
    sentences = list(dict.fromkeys(text for pairs in sets.values() for side in (pairs.a, pairs.b) for text in side))
    index = {text: place for place, text in enumerate(sentences)}
    averages = np.split(scorer.vectors(FirstLast(encoder), sentences), 2, axis=1)  # (sentences, hidden) each
    for name, vectors in zip(("untrained_first_last", "untrained_first_last_0"), averages):
        found[name] = _scores(evaluate(sets, lambda texts: vectors[[index[text] for text in texts]]))
    with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
        write_whole(path, json.dumps(found, indent=1).encode())  # in the order of `found`, so that rows are too
    return found


def _scores(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.all for name, score in evaluation.scores.items()}
