"""Sentences that a language model goes on with, or that are translated and back (Table 5, D28)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

BATCH = 64
APPENDED = 30  # tokens at most, as D28 observed
TOP, NUCLEUS = 50, 0.9  # nlpaug's defaults


def continued(model: nn.Module, tokenizer, texts: Sequence[str], seed: int) -> list[str]:
    """Each text with up to 30 tokens of the model's behind it, drawn among the 50 likeliest and the likeliest 90 %.

    A tokenizer without padding pads with its end-of-text token, on the left, where generation does not see it.
    """
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    devices = [model.device] if model.device.type == "cuda" else []
    result = list(texts)
    with torch.random.fork_rng(devices=devices), torch.inference_mode():  # generate() draws from torch's own stream
        torch.manual_seed(seed)
        for places in _batches(texts):
            encoded = tokenizer([texts[i] for i in places], add_special_tokens=False, padding=True, return_tensors="pt").to(model.device)
            ids = model.generate(
                **encoded, do_sample=True, top_k=TOP, top_p=NUCLEUS, max_new_tokens=APPENDED, pad_token_id=tokenizer.pad_token_id
            )
            appended = tokenizer.batch_decode(ids[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
            for i, more in zip(places, appended):
                result[i] = f"{texts[i]} {' '.join(more.split())}".strip()
    return result


def translated(model: nn.Module, tokenizer, texts: Sequence[str]) -> list[str]:
    """Each text in the other language, by the model's own search (no chance in it). A text of blanks stays."""
    result = list(texts)
    with torch.inference_mode():
        for places in _batches(texts):
            encoded = tokenizer([texts[i] for i in places], padding=True, truncation=True, return_tensors="pt").to(model.device)
            ids = model.generate(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"], do_sample=False)
            for i, text in zip(places, tokenizer.batch_decode(ids, skip_special_tokens=True)):
                result[i] = text.strip()
    return result


def _batches(texts: Sequence[str]) -> list[list[int]]:
    order = sorted((i for i, text in enumerate(texts) if text.strip()), key=lambda i: len(texts[i]))
    return [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
