"""What several of MoCoSE's tables share: the standard settings, and the models of Tables 1 and
2."""

from __future__ import annotations

from core.methods.mocose.settings import rising

STANDARD: dict[str, object] = {
    "ema.start": 0.85,
    "queue.size": 512,
    "queue.init_size": 128,
    "train.batch_size": 64,
}
MAIN = {**STANDARD, **rising(0.75, 0.95)}
BATCH = "train.batch_size"
RATE = "train.learning_rate"
# Method, encoder and changes; SimCSE's settings are its scripts'.
BERT: tuple[str, str, dict[str, object]] = ("mocose", "bert-base", {})
ROBERTA: tuple[str, str, dict[str, object]] = ("simcse", "roberta-base", {BATCH: 512, RATE: 1e-5})
MODELS: dict[str, tuple[str, str, dict[str, object]]] = {
    "SimCSE-BERT-base": ("simcse", "bert-base", {BATCH: 64, RATE: 3e-5}),
    "MoCoSE-BERT-base": BERT,
    "SimCSE-RoBERTa-base": ROBERTA,
    "SimCSE-RoBERTa-large": ("simcse", "roberta-large", {BATCH: 512, RATE: 3e-5}),
    "SimCSE-BERT-large": ("simcse", "bert-large", {BATCH: 64, RATE: 1e-5}),
    "MoCoSE-BERT-large": ("mocose", "bert-large", {BATCH: 32, RATE: 1e-5}),
}
