"""Pretraining on masked words, for the encoders that the project ships."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import BertForPreTraining, BertTokenizer

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(len(SPECIALS))
# The untrained pair head, which no run reads, and the decoder, which is tied to the word
# embeddings.
UNTRAINED = ("cls.seq_relationship.", "cls.predictions.decoder.")


def tokenizer_of(pieces: list[str], positions: int) -> BertTokenizer:
    """A lower-casing WordPiece tokenizer of these pieces, in their order."""
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    return BertTokenizer(vocab=vocabulary, do_lower_case=True, model_max_length=positions)


def masked(
    ids: Tensor, vocabulary: int, rate: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """(corrupted ids, chosen places), both (B, L). BERT's rule: 80 % become [MASK], 10 % a random
    piece."""
    draws: dict[str, Any] = {"generator": generator, "device": ids.device}
    chosen = (torch.rand(ids.shape, **draws) < rate) & (ids > MASK)
    fate = torch.rand(ids.shape, **draws)
    noise = torch.randint(MASK + 1, vocabulary, ids.shape, **draws)
    corrupted = torch.where(chosen & (fate < 0.8), torch.full_like(ids, MASK), ids)
    return torch.where(chosen & (fate >= 0.9), noise, corrupted), chosen


def fit(
    model: BertForPreTraining,
    steps: int,
    rate: float,
    loss: Callable[[int], Tensor],
    warmup: float = 0.1,
    **adamw,
) -> None:
    """Train the model in place on `loss(step)`, steps counted from 1, without dropout.

    AdamW decays matrices alone. The rate warms up over a share of the steps, then falls
    linearly to zero.
    """
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=rate, **adamw)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / (warmup * steps), (steps - step) / ((1 - warmup) * steps)),
    )
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            # a text that is read once or twice, or never repeats, cannot be learned by heart
            module.p = 0.0
    for step in range(1, steps + 1):
        value = loss(step)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    model.eval()


def save(model: BertForPreTraining, tokenizer: BertTokenizer, out: Path, dtype: torch.dtype) -> str:
    """Write config, weights with the masked-word head, and tokenizer; return the SHA-256 of the
    weights file."""
    model.config.architectures = ["BertForMaskedLM"]
    kept = {
        name: tensor.to(dtype).contiguous()
        for name, tensor in model.state_dict().items()
        if not name.startswith(UNTRAINED)
    }
    out.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(out)
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(out)
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
