"""MoCoSE's augmentations of embeddings: position shuffle, token cut-off, feature cut-off
(studies/reference/methods.md; D22 - D24)."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from core.encoder.packing import Packed
from core.methods.mocose.sections import Augmentation


def shuffled_positions(
    aug: Augmentation, packed: Packed, padded: int, generator: Generator | None
) -> Tensor:
    """Position of each token, (T,), after the shuffle; the plain slots when it is off.

    per_batch: one permutation for all sentences, [CLS] included; per_sentence: each its own. Range
    `padded` permutes the positions 0..padded-1, so a short sentence is scattered over padding's
    positions; `real_tokens` only its own (D24).
    """
    if aug.position_shuffle == "off":
        return packed.slot
    width = packed.width
    if aug.position_shuffle_range == "padded":
        width = max(padded, width)
    draws = 1 if aug.position_shuffle == "per_batch" else packed.batch
    noise = _noise(draws, width, generator, packed.slot.device).expand(packed.batch, width)
    if aug.position_shuffle_range == "real_tokens":
        # sorts last: real positions stay within the sentence
        noise = noise.masked_fill(~packed.mask, 2.0)
    return noise.argsort(1)[packed.row, packed.slot]


def cutoff_mask(
    aug: Augmentation, packed: Packed, padded: int, hidden: int, generator: Generator | None
) -> Tensor | None:
    """What word embeddings are multiplied with, (T, 1) or (T, hidden), or None without cut-off.

    Tokens: max(1, int(p * pool size)) slots per sentence, without replacement. The pool is all
    `padded` slots, padding and special tokens included (released), the real tokens, or the real
    tokens without the first and last (D22). Features: max(1, int(p * hidden)) columns per sentence,
    at all its slots (D23).
    """
    mask = None
    device = packed.slot.device
    if aug.token_cutoff > 0:
        width = max(padded, packed.width)
        noise = _noise(packed.batch, width, generator, device)
        # (width,), (B, 1)
        slots = torch.arange(width, device=device)
        lengths = packed.lengths.unsqueeze(1)
        pool = slots < lengths  # (B, width)
        if aug.token_cutoff_pool == "padded_all":
            pool = torch.ones_like(pool)
        elif aug.token_cutoff_pool == "real_tokens_no_special":
            pool = (slots > 0) & (slots < lengths - 1)
        count = (pool.sum(1, keepdim=True) * aug.token_cutoff).int().clamp(min=1)  # (B, 1)
        rank = noise.masked_fill(~pool, 2.0).argsort(1).argsort(1)  # outside the pool sorts last
        mask = ((rank >= count) | ~pool)[packed.row, packed.slot].float().unsqueeze(1)  # (T, 1)
    if aug.feature_cutoff > 0:
        noise = _noise(packed.batch, hidden, generator, device)  # (B, hidden)
        left = noise.argsort(1).argsort(1) >= max(1, int(aug.feature_cutoff * hidden))
        features = left[packed.row].float()  # (T, hidden)
        mask = features if mask is None else mask * features
    return mask


def _noise(rows: int, columns: int, generator: Generator | None, device: torch.device) -> Tensor:
    """Uniform numbers (rows, columns) on the device, of this CPU generator or the device's own."""
    if generator is None:
        return torch.rand(rows, columns, device=device)
    return torch.rand(rows, columns, generator=generator).to(device)
