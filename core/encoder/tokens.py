"""Token tables: texts tokenised once, kept on disk, shared by all runs; and rewritten text (Table
5)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.config.run import OWN_ENCODER, RunConfig
from core.config.scale import Sources
from core.data.encoders import DEMO_ENCODER, versions
from core.data.hub import model_folders
from core.data.text import READERS_VERSION, training_text
from core.encoder.streams import stream_seed
from core.errors import refusing
from core.methods.mocose.sections import TextView
from core.store import locks
from core.store.cache import cached, key_digest

CHUNK = 10_000  # sentences tokenised at a time, so that memory stays flat
REWRITING_VERSION = 1  # raised when a change of code is meant to change what is rewritten


class TokenTable:
    """Token ids of many sentences: sentence i is ids[offsets[i]:offsets[i + 1]] of the flat int32
    `ids`. Sentences are read-only: every epoch and every run of the process reads them."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray):
        self.ids = ids.view()
        self.ids.flags.writeable = False
        self.offsets = offsets
        self._held: tuple[Tensor, Tensor] | None = None

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """`ids` and `offsets` on a GPU, where they stay."""
        if self._held is None:
            ids = torch.from_numpy(np.array(self.ids)).to(device)
            offsets = torch.from_numpy(np.array(self.offsets)).to(device)
            self._held = (ids, offsets)
        return self._held

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


def tokenise(tokenizer, texts: Sequence[str], max_length: int) -> TokenTable:
    """Tokenise with special tokens, cut at `max_length` tokens; with a compiled tokenizer without
    offsets and masks."""
    pieces = []
    lengths = []
    if tokenizer.is_fast:
        compiled = tokenizer.backend_tokenizer
        compiled.enable_truncation(max_length, direction=tokenizer.truncation_side)
        compiled.no_padding()
    for start in range(0, len(texts), CHUNK):
        chunk = list(texts[start : start + CHUNK])
        if tokenizer.is_fast:
            # it may know no [UNK]
            with refusing("The tokenizer cannot read the text", "copy the encoder's own"):
                encoded = [line.ids for line in compiled.encode_batch_fast(chunk)]
        else:
            encoded = tokenizer(chunk, truncation=True, max_length=max_length)["input_ids"]
        lengths += [len(ids) for ids in encoded]
        pieces.append(np.fromiter(chain.from_iterable(encoded), dtype=np.int32))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TokenTable(np.concatenate(pieces), offsets)


def unknown_tokens(table: TokenTable, tokenizer) -> str:
    """How many of the tokens the tokenizer does not know, in a sentence; "" for fewer than one in
    twenty."""
    share = float((table.ids == tokenizer.unk_token_id).mean())
    if share <= 0.05:
        return ""
    hint = "it may be of another language or case than the text"
    return f"{share:.0%} of the tokens are unknown to the tokenizer; {hint}."


def cached_table(
    cache_dir: Path, key: Sequence[str | int], build: Callable[[], TokenTable]
) -> TokenTable:
    """The table kept under this key, or the table that `build` makes, which is then kept. `key`
    names everything that the ids depend on, by content, but for readers and libraries."""
    folder = cache_dir / "tokens"
    key = [READERS_VERSION, *versions(), *key]
    return cached(folder, key, build, load=_from_bytes, dump=_to_bytes, ending="npz")


def _to_bytes(table: TokenTable) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, ids=table.ids, offsets=table.offsets)
    return buffer.getvalue()


def _from_bytes(content: bytes) -> TokenTable:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return TokenTable(arrays["ids"], arrays["offsets"])


def rewritten_table(
    config: RunConfig,
    text: TextView,
    sources: Sources,
    cache: Path,
    tokenizer,
    device: torch.device,
    view: str,
) -> TokenTable:
    """Token ids of the training text that `text` rewrites for a view, target or online, cut at
    data.max_length.

    The random draws depend on the view and on no seed of the run: the text is rewritten once. Of
    several processes, one rewrites and the others wait. Raises UserError if the model is missing or
    lacks a head.
    """
    data = config.data

    # what the ids depend on
    key: list[str | int] = [
        "text view",
        REWRITING_VERSION,
        view,
        text.kind,
        repr(text.rate),
        text.detokenize,
        text.model or "",
        data.digest,
        data.reader,
        data.max_length,
        config.encoder.digest,
    ]

    def build() -> TokenTable:
        # most runs rewrite nothing, or read a kept table
        from core.rewriting.rewrite import rewrite

        texts = source_texts(config, text, training_text(data, sources.corpus), tokenizer)
        folders = []
        if text.model == OWN_ENCODER:
            encoder = sources.encoder_of(config.encoder.digest)
            folders = [encoder.folder or DEMO_ENCODER]
        elif text.model:
            folders = model_folders(text.model, cache)
        seed = stream_seed(0, f"text view {text.kind} {view}")
        rewritten = rewrite(text, texts, seed, folders, device)
        return tokenise(tokenizer, rewritten, data.max_length)

    # one process rewrites
    lock = cache / "tokens" / f"{key_digest(key)}.lock"
    with locks.waiting(lock, "its rewriting of the same text"):
        return cached_table(cache, key, build)


def source_texts(config: RunConfig, text: TextView, sentences: list[str], tokenizer) -> list[str]:
    """The rewriter's input: the sentences, or their word pieces, cut at data.max_length without the
    two special tokens and joined by blanks, "##" included (D26)."""
    if text.detokenize == "original_text":
        return sentences
    table = tokenise(tokenizer, sentences, config.data.max_length)
    texts = []
    for i in range(len(table)):
        pieces = tokenizer.convert_ids_to_tokens(table[i][1:-1].tolist())
        texts.append(" ".join(pieces))
    return texts
