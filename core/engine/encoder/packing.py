"""Batches of sentences: the tokens of all in one line without padding, or with it, so that every batch has one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Packed(NamedTuple):
    """A batch of sentences in one line of T tokens: real ones alone on a CPU, or padded to T = B * L on a GPU.

    ids, row, slot: (T,) token id, sentence it belongs to, place in its sentence. first: (B,) index of each sentence's first
    token ([CLS]). mask: (B, L) True at real tokens. cells: (T,) index of each token in the flattened (B * L) grid.
    bias: of a padded batch, (B, L) float32, 0 at real tokens and -inf at padding; None without padding.
    """

    ids: Tensor
    row: Tensor
    slot: Tensor
    first: Tensor
    mask: Tensor
    cells: Tensor
    bias: Tensor | None = None

    @property
    def batch(self) -> int:
        """Number of sentences."""
        return self.mask.shape[0]

    @property
    def width(self) -> int:
        """L: tokens of the longest sentence, or slots of each in a padded batch."""
        return self.mask.shape[1]

    @property
    def lengths(self) -> Tensor:
        """Real tokens per sentence, (B,)."""
        return self.mask.sum(1)


def pack(sentences: Sequence[np.ndarray], device: torch.device | str = "cpu") -> Packed:
    """Pack token-id arrays, special tokens included, one per sentence."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)  # (B,)
    width = int(lengths.max())
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    row = np.repeat(np.arange(len(lengths)), lengths)  # (T,)
    slot = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)  # (T,)
    ids = np.concatenate(sentences).astype(np.int64)
    mask = np.arange(width)[None, :] < lengths[:, None]
    arrays = (ids, row, slot, starts, mask, row * width + slot)
    return Packed(*(torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True) for array in arrays))


def rows(sentences: Sequence[np.ndarray], width: int | None = None) -> Tensor:
    """Token-id arrays as one matrix (B, 1 + L) int64 on the CPU: each sentence's length, then its tokens and zeros behind them.

    L is `width`, or the longest sentence's number of tokens. `padded` makes a batch of it, on any device.
    """
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))  # (B,)
    width = int(lengths.max()) if width is None else width
    matrix = np.zeros((len(lengths), 1 + width), np.int64)
    matrix[:, 0] = lengths
    matrix[:, 1:][np.arange(width) < lengths[:, None]] = np.concatenate(sentences)
    return torch.from_numpy(matrix)


def looked_up(ids: Tensor, offsets: Tensor, chosen: Tensor, width: int) -> Tensor:
    """The matrix that `rows` makes of some sentences of a token table, made on its device: (B, 1 + L) int64.

    ids, offsets: the table, as `TokenTable` has it. chosen: (B,) sentences' places in it, none longer than `width`.
    """
    start, lengths = offsets[chosen], offsets[chosen + 1] - offsets[chosen]  # (B,) each
    slots = torch.arange(width, device=ids.device)
    tokens = ids[(start[:, None] + slots).clamp(max=len(ids) - 1)].where(slots < lengths[:, None], 0)  # (B, L)
    return torch.cat([lengths[:, None], tokens], dim=1).to(torch.int64)


class Places(NamedTuple):
    """What all padded batches of one shape (B, L) share: row, slot and cells (B * L,), first (B,), as `Packed` has them."""

    row: Tensor
    slot: Tensor
    first: Tensor
    cells: Tensor


def places(batch: int, width: int, device: torch.device | str) -> Places:
    """The places of padded batches of B sentences of L slots."""
    cells = torch.arange(batch * width, device=device)
    return Places(cells // width, cells % width, torch.arange(batch, device=device) * width, cells)


def padded(matrix: Tensor, shared: Places | None = None) -> Packed:
    """The batch of a matrix (B, 1 + L) from `rows`, on its device. Padding holds token 0; no real token attends to it and no
    loss reads it. `shared` saves making the places of this shape again."""
    batch, width = matrix.shape[0], matrix.shape[1] - 1
    row, slot, first, cells = shared or places(batch, width, matrix.device)
    mask = slot.view(batch, width) < matrix[:, :1]
    bias = torch.zeros((), device=matrix.device).where(mask, float("-inf"))  # (B, L)
    return Packed(matrix[:, 1:].reshape(-1), row, slot, first, mask, cells, bias)


def on(device: torch.device | str, sentences: Sequence[np.ndarray]) -> Packed:
    """A batch of these token-id arrays in the form that this device computes with: without padding on a CPU, padded elsewhere."""
    if torch.device(device).type == "cpu":
        return pack(sentences, device)
    return padded(rows(sentences).to(device))
