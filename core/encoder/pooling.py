"""A batch as its encoder leaves it, and the usual ways to make one vector of a sentence."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from core.encoder.bert import Encoder
from core.encoder.packing import Packed
from core.errors import UserError


class Encoded:
    """The last layer of an encoder over a batch of B sentences with T tokens in all.

    Each attribute is computed when it is read. A method that reads both reads `every` first: then
    both are of one pass.
    """

    def __init__(self, encoder: Encoder, packed: Packed):
        self.encoder = encoder
        self.packed = packed

    @cached_property
    def first(self) -> Tensor:
        """The vectors of the first tokens, [CLS], (B, hidden)."""
        if "every" in self.__dict__:
            return self.every.index_select(0, self.packed.first)
        return self.encoder(self.packed)

    @cached_property
    def every(self) -> Tensor:
        """The vectors of all tokens, (T, hidden). Rows of padding hold arbitrary numbers."""
        return self.encoder.every(self.packed)


def cls(encoded: Encoded) -> Tensor:
    """The first token of each sentence, (B, hidden)."""
    return encoded.first


def mean(encoded: Encoded) -> Tensor:
    """The mean of each sentence's tokens, special tokens included, (B, hidden)."""
    packed = encoded.packed
    return mean_of(encoded.every, packed, packed.mask[packed.row, packed.slot])


def mask(encoded: Encoded) -> Tensor:
    """The mean of each sentence's [MASK] tokens, (B, hidden). Raises UserError on a CPU if a
    sentence has no [MASK]; a GPU gives NaN."""
    packed = encoded.packed
    masked = packed.ids.eq(-1 if encoded.encoder.mask_token is None else encoded.encoder.mask_token)
    if packed.ids.device.type == "cpu" and len(packed.row[masked].unique()) < packed.batch:
        raise UserError(
            "Pooling by [MASK] needs a [MASK] in each sentence, in training and in scoring; put it "
            "into the tokens, or pool with cls or mean."
        )
    return mean_of(encoded.every, packed, masked)


KEPT_POOLINGS = {"cls": cls, "mean": mean}  # those that a kept model's folder can state


def mean_of(vectors: Tensor, packed: Packed, chosen: Tensor) -> Tensor:
    """The mean of each sentence's chosen tokens, (B, width), of vectors (T, width) and chosen
    (T,)."""
    tokens = torch.where(chosen.unsqueeze(1), vectors, 0.0)  # (T, width)
    sums = tokens.new_zeros(packed.batch, tokens.shape[1]).index_add(0, packed.row, tokens)
    counts = chosen.new_zeros(packed.batch, dtype=tokens.dtype)
    counts = counts.index_add(0, packed.row, chosen.to(tokens.dtype))  # (B,)
    return sums / counts.unsqueeze(1)
