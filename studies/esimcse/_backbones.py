"""What ESimCSE's paper and script and SimCSE's script set for each encoder, as changes (D66, D67).

The bases are those of bert-base, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

# By encoder (`core.study.study.ENCODERS`). The paper, 4.2: "3e-5 for ESimCSE-BERT-base model and
# 1e-5 for other models", "p = 0.1 for base models, p = 0.15 for large models" (D66); one repetition
# rate and one queue for all (5.2, 5.4; D67).
LARGE = {
    "train.learning_rate": 1e-5,
    "encoder.hidden_dropout": 0.15,
    "encoder.attention_dropout": 0.15,
}
ESIMCSE: Mapping[str, Mapping[str, object]] = {
    "bert-base": {},
    "bert-large": LARGE,
    "roberta-base": {"train.learning_rate": 1e-5},
    "roberta-large": LARGE,
}
# The script, as its logs have it: dropout 0.15 for RoBERTa-large alone; repetition rate and queue
# by encoder.
ESIMCSE_SCRIPT: Mapping[str, Mapping[str, object]] = {
    "bert-base": {},
    "bert-large": LARGE | {"encoder.hidden_dropout": 0.1, "encoder.attention_dropout": 0.1},
    "roberta-base": {"train.learning_rate": 1e-5, "dup.rate": 0.30},
    "roberta-large": {
        "train.learning_rate": 1e-5,
        "dup.rate": 0.28,
        "queue.size": 128,
        "encoder.hidden_dropout": 0.15,
        "encoder.attention_dropout": 0.15,
    },
}
SIMCSE: Mapping[str, Mapping[str, object]] = {
    "bert-base": {},
    "bert-large": {"train.learning_rate": 1e-5},
    "roberta-base": {"train.learning_rate": 1e-5, "train.batch_size": 512},
    "roberta-large": {"train.learning_rate": 3e-5, "train.batch_size": 512},
}
