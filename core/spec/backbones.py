"""What ESimCSE's and SimCSE's scripts set for each of the papers' encoders, as changes of the method's base (D66, D67).

The bases are those of bert-base, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

# By encoder (`core.spec.layout.ENCODERS`). The paper's text has dropout 0.15 for both large encoders; its logs, for RoBERTa's alone.
ESIMCSE: Mapping[str, Mapping[str, object]] = {
    "bert-base": {},
    "bert-large": {"train.learning_rate": 1e-5},
    "roberta-base": {"train.learning_rate": 1e-5, "dup.rate": 0.30},
    "roberta-large": {
        "train.learning_rate": 1e-5, "dup.rate": 0.28, "queue.size": 128,
        "encoder.hidden_dropout": 0.15, "encoder.attention_dropout": 0.15,
    },
}  # fmt: skip
SIMCSE: Mapping[str, Mapping[str, object]] = {
    "bert-base": {},
    "bert-large": {"train.learning_rate": 1e-5},
    "roberta-base": {"train.learning_rate": 1e-5, "train.batch_size": 512},
    "roberta-large": {"train.learning_rate": 3e-5, "train.batch_size": 512},
}
