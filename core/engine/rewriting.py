"""Rewritten training text (Table 5): made once per text and rewriter, and kept as token ids."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import torch

from core.data.encoders import DEMO_ENCODER
from core.data.hub import model_folders
from core.data.text import training_text
from core.engine.streams import stream_seed
from core.engine.tokens import TokenTable, cached_table, tokenise
from core.spec.run import OWN_ENCODER, Execution, RunConfig, TextView
from core.store import locks

VERSION = 1  # raised when a change of code is meant to change what is written
TARGET, ONLINE = "target", "online"


def rewritten_table(
    config: RunConfig, text: TextView, execution: Execution, tokenizer, device: torch.device, view: str
) -> TokenTable:
    """Token ids of the training text that `text` rewrites for one view, cut at data.max_length.

    The random draws depend on the view and on no seed of the run, since the text is rewritten once. Of
    several processes, one rewrites and the others wait. Raises UserError if the model is missing or lacks a
    head.
    """
    data, cache = config.data, Path(execution.cache_dir)
    key: list[str | int] = [
        "text view", VERSION, view, text.kind, repr(text.rate), text.detokenize, text.model or "",
        data.digest, data.reader, data.max_length, config.encoder.digest,
    ]  # fmt: skip

    def build() -> TokenTable:
        from tools.rewriting.rewrite import rewrite  # most runs rewrite nothing, or read a kept table

        texts = source_texts(config, text, training_text(data, execution.corpus_path), tokenizer)
        folders = [Path(execution.encoder_path) if execution.encoder_path else DEMO_ENCODER]
        if text.model != OWN_ENCODER:
            folders = model_folders(text.model, cache) if text.model is not None else []
        seed = stream_seed(0, f"text view {text.kind} {view}")
        return tokenise(tokenizer, rewrite(text, texts, seed, folders, device), data.max_length)

    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    with locks.waiting(cache / "tokens" / f"{name}.lock", "its rewriting of the same text"):
        return cached_table(cache, key, build)


def source_texts(config: RunConfig, text: TextView, sentences: list[str], tokenizer) -> list[str]:
    """The rewriter's input: the sentences, or their word pieces joined by blanks, "##" included (D26).

    The pieces are cut at data.max_length, without the two special tokens.
    """
    if text.detokenize == "original_text":
        return sentences
    table = tokenise(tokenizer, sentences, config.data.max_length)
    return [" ".join(tokenizer.convert_ids_to_tokens(table[i][1:-1].tolist())) for i in range(len(table))]
