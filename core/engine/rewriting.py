"""Rewritten training text (Table 5): made once per text and rewriter, kept as token ids, shared by all
seeds."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from core.data.encoders import DEMO_ENCODER
from core.data.hub import model_folders
from core.data.text import training_text
from core.engine.streams import stream_seed
from core.engine.tokens import TokenTable, cached_table, tokenise
from core.spec.errors import UserError
from core.spec.run import OWN_ENCODER, Execution, RunConfig
from core.store import locks

VERSION = 1  # raised when a change of code is meant to change what is written
TARGET, ONLINE = "target", "online"
WAIT = 0.2  # seconds between looks at another process that is rewriting the same text


def rewritten_table(
    config: RunConfig, execution: Execution, tokenizer, view: str, device: torch.device
) -> TokenTable:
    """Token ids of the rewritten training text for one view, a row for each sentence, cut at data.max_length.

    The random draws depend on the view and on no seed of the run, since the text is rewritten once. Of
    several processes, one rewrites and the others wait. Raises UserError if the model is missing or lacks a
    head.
    """
    text, data, cache = config.rewriting, config.data, Path(execution.cache_dir)
    assert text is not None, "the caller knows that the run rewrites its text"
    key: list[str | int] = [
        "text view", VERSION, view, text.kind, repr(text.rate), text.detokenize, text.model or "",
        data.digest, data.reader, data.max_length, config.encoder.digest,
    ]  # fmt: skip

    def build() -> TokenTable:
        texts = source_texts(config, training_text(data, execution.corpus_path), tokenizer)
        return tokenise(tokenizer, rewritten(config, execution, texts, view, device), data.max_length)

    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]
    with alone(cache / "tokens" / f"{name}.lock"):
        return cached_table(cache, key, build)


def source_texts(config: RunConfig, texts: list[str], tokenizer) -> list[str]:
    """The rewriter's input: the sentences, or their word pieces joined by blanks, "##" included (D26).

    The pieces are cut at data.max_length, without the two special tokens.
    """
    if config.rewriting is None or config.rewriting.detokenize == "original_text":
        return texts
    table = tokenise(tokenizer, texts, config.data.max_length)
    return [" ".join(tokenizer.convert_ids_to_tokens(table[i][1:-1].tolist())) for i in range(len(table))]


def rewritten(
    config: RunConfig, execution: Execution, texts: list[str], view: str, device: torch.device
) -> list[str]:
    """The texts after the rewriter (D26 - D28)."""
    from tools.rewriting.rewrite import (
        rewrite,
    )  # most runs rewrite nothing, and a kept table needs no rewriter

    text, folders = config.rewriting, []
    assert text is not None, "the caller knows that the run rewrites its text"
    if text.model == OWN_ENCODER:
        folders = [Path(execution.encoder_path) if execution.encoder_path else DEMO_ENCODER]
    elif text.model is not None:
        folders = model_folders(text.model, Path(execution.cache_dir))
    return rewrite(text, texts, stream_seed(0, f"text view {text.kind} {view}"), folders, device)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, waiting for another holder. Without a lock, two processes may do the same
    work."""
    try:
        while (descriptor := locks.hold(path)) is None:
            time.sleep(WAIT)
    except UserError:
        descriptor = None
    try:
        yield
    finally:
        if descriptor is not None:
            locks.release(descriptor)
