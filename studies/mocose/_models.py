"""What several of MoCoSE's tables share: the standard settings, and the models of Tables 1 and
2."""

from __future__ import annotations

from core.methods.mocose.settings import rising
from core.study.study import Row

STANDARD: dict[str, object] = {
    "ema.start": 0.85,
    "queue.size": 512,
    "queue.init_size": 128,
    "train.batch_size": 64,
}
MAIN = {**STANDARD, **rising(0.75, 0.95)}
BATCH = "train.batch_size"
RATE = "train.learning_rate"
COPIED = Row(method="mocose", copied=True)
# SimCSE's settings are its scripts'
MODELS = {
    "SimCSE-BERT-base": Row({BATCH: 64, RATE: 3e-5}, method="simcse"),
    "MoCoSE-BERT-base": Row(method="mocose"),
    "SimCSE-RoBERTa-base": Row({BATCH: 512, RATE: 1e-5}, method="simcse", encoder="roberta-base"),
    "SimCSE-RoBERTa-large": Row({BATCH: 512, RATE: 3e-5}, method="simcse", encoder="roberta-large"),
    "SimCSE-BERT-large": Row({BATCH: 64, RATE: 1e-5}, method="simcse", encoder="bert-large"),
    "MoCoSE-BERT-large": Row({BATCH: 32, RATE: 1e-5}, method="mocose", encoder="bert-large"),
}
