"""What needs no training, printed beside what was trained: the encoder's own [CLS], and a random bag of words."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor, nn

from core.engine.encoder import Encoder
from core.engine.evaluation import Evaluation, evaluate
from core.engine.packing import Packed
from core.engine.scoring import Scorer
from core.runner.files import write_whole
from core.spec.config import RunConfig
from core.spec.errors import UserError

WORD_VECTOR = 256  # numbers of a random word vector


class Untrained(nn.Module):
    """The pretrained encoder as it is: last-layer [CLS], whatever the method scores after training."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """[CLS], (B, hidden)."""
        return self.encoder(batch)


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
        if {name: set(scores) for name, scores in known.items()} == dict.fromkeys(("untrained", "bag_of_words"), set(scorer.names)):
            return known
    sets = {name: scorer.sets[name] for name in scorer.names}
    found = {
        "untrained": _scores(scorer.complete(Untrained(encoder), geometry=False)),
        "bag_of_words": _scores(evaluate(sets, bag_of_words)),
    }
    with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
        write_whole(path, json.dumps(found, indent=1, sort_keys=True).encode())
    return found


def _scores(evaluation: Evaluation) -> dict[str, float]:
    return {name: score.all for name, score in evaluation.scores.items()}
