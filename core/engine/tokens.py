"""Token tables: texts tokenised once, kept on disk, shared by all runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.spec.errors import UserError
from core.store.files import whole

CHUNK = 10_000  # sentences tokenised at a time, so that memory stays flat


class TokenTable:
    """Token ids of many sentences. `ids` is one flat int32 array, sentence i is ids[offsets[i]:offsets[i +
    1]]."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray):
        self.ids, self.offsets = ids, offsets
        self._held: tuple[Tensor, Tensor] | None = None

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """`ids` and `offsets` on a GPU, where they stay."""
        if self._held is None:
            ids, offsets = (torch.from_numpy(np.array(part)).to(device) for part in (self.ids, self.offsets))
            self._held = ids, offsets
        return self._held

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


def tokenise(tokenizer, texts: Sequence[str], max_length: int) -> TokenTable:
    """Tokenise with special tokens, cut at `max_length` tokens."""
    pieces, lengths = [], []
    for start in range(0, len(texts), CHUNK):
        encoded = _token_ids(tokenizer, list(texts[start : start + CHUNK]), max_length)
        lengths += [len(ids) for ids in encoded]
        pieces.append(np.fromiter(chain.from_iterable(encoded), dtype=np.int32))
    return TokenTable(np.concatenate(pieces), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def _token_ids(tokenizer, texts: list[str], max_length: int) -> list[list[int]]:
    """Token ids of each text; from the compiled tokenizer directly if there is one, without offsets and
    masks."""
    if not tokenizer.is_fast:
        return tokenizer(texts, truncation=True, max_length=max_length)["input_ids"]
    compiled = tokenizer.backend_tokenizer
    compiled.enable_truncation(max_length, direction=tokenizer.truncation_side)
    compiled.no_padding()
    try:
        return [encoded.ids for encoded in compiled.encode_batch_fast(texts)]
    except Exception as error:  # such as a vocabulary without a token for unknown words
        raise UserError(f"The tokenizer cannot read the text ({error}); copy the encoder's own.") from error


def unknown(table: TokenTable, tokenizer) -> str:
    """How many of the tokens the tokenizer does not know, in a sentence; "" for fewer than one in twenty."""
    share = float((table.ids == tokenizer.unk_token_id).mean())
    hint = "it may be of another language or case than the text"
    return f"{share:.0%} of the tokens are unknown to the tokenizer; {hint}." if share > 0.05 else ""


def cached_table(cache_dir: Path, key: Sequence[str | int], build: Callable[[], TokenTable]) -> TokenTable:
    """The table kept under this key, or the table that `build` makes, which is then kept.

    `key` names everything that the ids depend on, by content. A damaged file is not used: the table is built
    again. On a full or read-only disk the table is in memory alone.
    """
    name = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:24]
    path = Path(cache_dir) / "tokens" / f"{name}.npz"
    with (
        contextlib.suppress(Exception),
        np.load(path, allow_pickle=False) as kept,
    ):  # zip files have checksums, and many errors
        return TokenTable(kept["ids"], kept["offsets"])
    table = build()
    with contextlib.suppress(UserError), whole(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, ids=table.ids, offsets=table.offsets)
    return table
