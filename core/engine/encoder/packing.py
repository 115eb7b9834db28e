"""Batches without padding: the tokens of all sentences in one line, with where each sentence starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Packed(NamedTuple):
    """A batch of sentences. T is the number of real tokens; no work is ever done on padding.

    ids, row, slot: (T,) token id, sentence it belongs to, place in its sentence. first: (B,) index of each sentence's first
    token ([CLS]). mask: (B, L) True at real tokens. cells: (T,) index of each token in the flattened (B * L) grid.
    """

    ids: Tensor
    row: Tensor
    slot: Tensor
    first: Tensor
    mask: Tensor
    cells: Tensor

    @property
    def batch(self) -> int:
        """Number of sentences."""
        return self.mask.shape[0]

    @property
    def width(self) -> int:
        """Tokens of the longest sentence."""
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
