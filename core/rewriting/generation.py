"""Sentences that a language model continues, or that are translated and translated back (Table 5,
D28)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

TEXTS_AT_ONCE = 64
APPENDED = 30  # tokens at most, as D28 observed
# nlpaug's defaults
LIKELIEST_TOKENS = 50
NUCLEUS = 0.9


def continued(model: Any, tokenizer, texts: Sequence[str], seed: int) -> list[str]:
    """Each text followed by up to 30 tokens of the model, drawn among the 50 likeliest and of those
    the likeliest 90 %. A text of blanks stays. Only texts of equally many tokens go together: XLNet
    does not keep padding out of a continuation."""
    tokens = []
    for text in texts:
        if text.strip():
            tokens.append(tokenizer(text, add_special_tokens=False)["input_ids"])
        else:
            tokens.append([])
    devices = []
    if model.device.type == "cuda":
        devices.append(model.device)
    result = list(texts)
    # generate() draws from torch's own stream
    with torch.random.fork_rng(devices=devices), torch.inference_mode():
        torch.manual_seed(seed)
        for length in sorted({len(ids) for ids in tokens} - {0}):
            for places in _slices([i for i, ids in enumerate(tokens) if len(ids) == length]):
                ids = torch.tensor([tokens[i] for i in places], device=model.device)  # (B, length)
                generated = model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=True,
                    top_k=LIKELIEST_TOKENS,
                    top_p=NUCLEUS,
                    max_new_tokens=APPENDED,
                    pad_token_id=tokenizer.pad_token_id,
                )  # (B, length + at most 30)
                continuations = tokenizer.batch_decode(
                    generated[:, length:], skip_special_tokens=True
                )
                for i, more in zip(places, continuations, strict=True):
                    result[i] = f"{texts[i]} {' '.join(more.split())}".strip()
    return result


def translated(model: Any, tokenizer, texts: Sequence[str]) -> list[str]:
    """Each text in the other language, by the model's own search (no chance in it). A text of
    blanks stays."""
    result = list(texts)
    with torch.inference_mode():
        full = [i for i, text in enumerate(texts) if text.strip()]
        full.sort(key=lambda i: len(texts[i]))
        for places in _slices(full):
            encoded = tokenizer(
                [texts[i] for i in places], padding=True, truncation=True, return_tensors="pt"
            ).to(model.device)
            ids = model.generate(
                input_ids=encoded["input_ids"],
                attention_mask=encoded["attention_mask"],
                do_sample=False,
            )
            decoded = tokenizer.batch_decode(ids, skip_special_tokens=True)
            for i, text in zip(places, decoded, strict=True):
                result[i] = text.strip()
    return result


def _slices(places: list[int]) -> list[list[int]]:
    return [places[start : start + TEXTS_AT_ONCE] for start in range(0, len(places), TEXTS_AT_ONCE)]
