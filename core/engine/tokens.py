"""Token tables: texts tokenised once, kept on disk memory-mapped, shared by all runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.spec.errors import UserError
from core.store.files import whole_folder

CHUNK = 10_000  # sentences tokenised at a time, so that memory stays flat


class TokenTable:
    """Token ids of many sentences. `ids` is one flat int32 array, sentence i is ids[offsets[i]:offsets[i + 1]]."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray):
        self.ids, self.offsets = np.asarray(ids), np.asarray(offsets)  # of a memory map its plain view, whose slices cost less
        self._held: tuple[Tensor, Tensor] | None = None

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """`ids` and `offsets` on a GPU, where they stay."""
        if self._held is None:
            self._held = torch.from_numpy(np.array(self.ids)).to(device), torch.from_numpy(np.array(self.offsets)).to(device)
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
    """Token ids of each text; from the compiled tokenizer directly where there is one, without offsets and masks."""
    if not tokenizer.is_fast:
        return tokenizer(texts, truncation=True, max_length=max_length)["input_ids"]
    compiled = tokenizer.backend_tokenizer
    compiled.enable_truncation(max_length)
    compiled.no_padding()
    return [encoded.ids for encoded in compiled.encode_batch_fast(texts)]


def cached_table(cache_dir: Path, key: Sequence[str | int], build: Callable[[], TokenTable]) -> TokenTable:
    """The table kept under this key, or the one that `build` makes, which is then kept.

    `key` names everything that the ids depend on, by content. A damaged file is not used: the table is built again.
    """
    name = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:24]
    folder = Path(cache_dir) / "tokens" / name
    table = _load(folder)
    if table is None:
        table = build()
        _save(folder, table)
    return table


def _load(folder: Path) -> TokenTable | None:
    places = [folder / name for name in ("checksums.json", "ids.npy", "offsets.npy")]
    if not all(place.is_file() for place in places):  # nor a FIFO, which would keep us waiting
        return None
    try:
        checksums = json.loads(places[0].read_text())
        ids = np.load(places[1], mmap_mode="r", allow_pickle=False)
        offsets = np.load(places[2], mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, RecursionError):
        return None
    if not _is_table(ids, offsets) or checksums != _checksums(ids, offsets):
        return None
    return TokenTable(ids, offsets)


def _is_table(ids: np.ndarray, offsets: np.ndarray) -> bool:
    """Whether two arrays can be a token table: sentences one behind the other, from the first id to the last, and no id below 0."""
    shaped = ids.ndim == offsets.ndim == 1 and len(offsets) > 0 and (ids.dtype, offsets.dtype) == (np.int32, np.int64)
    ordered = shaped and offsets[0] == 0 and offsets[-1] == len(ids) and bool((np.diff(offsets) >= 0).all())
    return ordered and not (len(ids) and int(ids.min()) < 0)


def _save(folder: Path, table: TokenTable) -> None:
    """Put the table in its place whole. The cache is a convenience: on a full or read-only disk the table is in memory alone."""
    with contextlib.suppress(UserError), whole_folder(folder) as part:
        np.save(part / "ids.npy", table.ids)
        np.save(part / "offsets.npy", table.offsets)
        (part / "checksums.json").write_text(json.dumps(_checksums(table.ids, table.offsets)))


def _checksums(ids: np.ndarray, offsets: np.ndarray) -> list[int]:
    return [zlib.crc32(np.ascontiguousarray(array).data) for array in (ids, offsets)]
