"""Embedding-level augmentations of MoCoSE: position shuffle, token cut-off, feature cut-off
(studies/reference/methods.md; D22 - D24); and what stands for the queue's negatives (the slide deck's mean
and clusters)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.engine.encoder.packing import Packed
from core.methods.mocose.settings import Augmentation, NegativeQueue

LLOYD_STEPS = 10


def shuffled_positions(
    aug: Augmentation, packed: Packed, padded: int, generator: torch.Generator | None
) -> Tensor:
    """Position of each token, (T,), after the shuffle; the plain slots when it is off.

    per_batch: one permutation for all sentences, [CLS] included; per_sentence: each its own. Range `padded`
    permutes the positions 0..padded-1, so a short sentence is scattered over padding's positions;
    `real_tokens` only its own (D24).
    """
    if aug.position_shuffle == "off":
        return packed.slot
    width = max(padded, packed.width) if aug.position_shuffle_range == "padded" else packed.width
    draws = 1 if aug.position_shuffle == "per_batch" else packed.batch
    noise = _noise(draws, width, generator, packed.slot.device)  # (1 or B, width)
    noise = noise.expand(packed.batch, width)
    if aug.position_shuffle_range == "real_tokens":
        # padding sorts last, so real positions stay within the sentence
        noise = noise.masked_fill(~packed.mask, 2.0)
    return noise.argsort(1)[packed.row, packed.slot]


def cutoff_mask(
    aug: Augmentation, packed: Packed, padded: int, hidden: int, generator: torch.Generator | None
) -> Tensor | None:
    """What word embeddings are multiplied with, (T, 1) or (T, hidden), or None without cut-off.

    Tokens: max(1, int(p * pool size)) slots per sentence, without replacement. The pool is all `padded`
    slots, padding and special tokens included (released), the real tokens, or the real tokens without the
    first and last (D22). Features: max(1, int(p * hidden)) columns per sentence, at all its slots (D23).
    """
    mask, device = None, packed.slot.device
    if aug.token_cutoff > 0:
        width = max(padded, packed.width)
        noise = _noise(packed.batch, width, generator, device)
        slots, lengths = torch.arange(width, device=device), packed.lengths.unsqueeze(1)  # (width,), (B, 1)
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
        kept = noise.argsort(1).argsort(1) >= max(1, int(aug.feature_cutoff * hidden))
        features = kept[packed.row].float()  # (T, hidden)
        mask = features if mask is None else mask * features
    return mask


def _noise(rows: int, columns: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
    """Uniform numbers (rows, columns) on the device, of this CPU generator or the device's own."""
    if generator is None:
        return torch.rand(rows, columns, device=device)
    return torch.rand(rows, columns, generator=generator).to(device)


def summarised(config: NegativeQueue, entries: Tensor, generator: torch.Generator) -> Tensor:
    """The negatives that stand for the queue's visible entries (width, dim): the entries themselves, their
    mean (1, dim), or `queue.clusters` centres (clusters, dim).

    The slides give the number of clusters and the scores, nothing else; the rest is a guess. Lengths are left
    aside, as the loss is in cosines: entries are brought to unit length first, and the clusters are
    spherical. A queue that holds no more entries than clusters is left as it is, and an empty one stays
    empty. `generator` is drawn from for kmeans alone.
    """
    if config.negatives == "entries" or not len(entries):
        return entries
    points = F.normalize(entries, dim=1)  # (width, dim)
    if config.clusters is None:  # then it is their mean
        return points.mean(0, keepdim=True)
    if len(points) <= config.clusters:
        return entries
    start = torch.randperm(len(points), generator=generator)[: config.clusters]
    return spherical_kmeans(points, points[start.to(points.device)], LLOYD_STEPS)


def spherical_kmeans(points: Tensor, centres: Tensor, steps: int) -> Tensor:
    """Centres (k, dim) after so many of Lloyd's steps from the given ones, on unit vectors `points` (width,
    dim).

    A step gives each point to the centre of highest cosine (the first of equals) and puts each centre at the
    mean of its points; a centre without points stays where it is. Each step is one product with a matrix of
    memberships, so that a GPU gives the same sums each time.
    """
    for _ in range(steps):
        nearest = (points @ F.normalize(centres, dim=1).T).argmax(1)  # (width,)
        member = F.one_hot(nearest, len(centres)).to(points.dtype)  # (width, k)
        count = member.sum(0).unsqueeze(1)  # (k, 1)
        centres = torch.where(count > 0, member.T @ points / count.clamp(min=1), centres)
    return centres
