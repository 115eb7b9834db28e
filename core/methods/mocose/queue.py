"""MoCoSE's queue of keys, and what stands for its entries in the loss: they, their mean, or
clusters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from core.methods.contrastive import Checkpointed, placed
from core.methods.mocose.sections import NegativeQueue

LLOYD_STEPS = 10


class KeyQueue(Checkpointed):
    """MoCoSE's queue. Index 0 is the newest key; the oldest fall off the end (D14, D15, D17).

    `paper_grow`: init_size random unit vectors, grows by a batch a step to `size`, then first in,
    first out. `released_2022`: `size` random vectors. A counter starts at init_size and grows by a
    batch a step; the first counter + init_size entries enter the loss, or all once these are `size`
    or more. The queue is first cut when the counter exceeds `size`. With init_size 0 the first keys
    replace all of it.
    """

    checkpointed = ("entries", "counter")  # no buffer, since the length changes

    def __init__(
        self, config: NegativeQueue, dim: int, generator: torch.Generator, device: torch.device
    ):
        super().__init__()
        self.config = config
        self.counter = config.init_size
        allocated = config.init_size
        if config.init == "released_2022":
            allocated = config.size
        # on the unit sphere after scaling
        random = torch.randn(allocated, dim, generator=generator)
        self.entries = (random / random.norm(dim=1, keepdim=True)).to(device)  # (allocated, dim)

    def visible(self) -> Tensor:
        """The negatives that enter the loss now, (width, dim)."""
        width = self.counter
        if self.config.init == "released_2022":
            width += self.config.init_size
        if width < self.config.size:
            return self.entries[:width]
        if self.config.slice is None:
            return self.entries
        return torch.cat([self.entries[start:stop] for start, stop in self.config.slice])

    def push(self, keys: Tensor) -> None:
        """Put a batch of keys (batch, dim) in front, as they are, without gradient."""
        keys = keys.detach().to(self.entries.dtype)
        if self.counter == 0:
            entries = keys.clone()
        else:
            entries = torch.cat([keys, self.entries])
        self.counter += len(keys)
        if self.config.init == "paper_grow" or self.counter > self.config.size:
            entries = entries[: self.config.size]
        self.entries = placed(entries, self.entries)

    def form(self) -> tuple[int, int]:
        """What changes while the queue fills, and never afterwards."""
        return min(self.counter, self.config.size + 1), len(self.entries)


def summarised(config: NegativeQueue, entries: Tensor, generator: torch.Generator) -> Tensor:
    """The negatives that stand for the queue's visible entries (width, dim): the entries
    themselves, their mean (1, dim), or `queue.clusters` centres (clusters, dim), for which
    `generator` draws.

    The slides give the number of clusters and the scores, nothing else; the rest is a guess.
    Entries are brought to unit length, as the loss is in cosines; no more entries than clusters
    stay as they are.
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
    """Centres (k, dim) after so many of Lloyd's steps from the given ones, on unit vectors `points`
    (width, dim). A point belongs to the centre of highest cosine, the first of equals; a centre
    without points stays where it is. Each step is one product with a matrix of memberships, so that
    a GPU gives the same sums each time."""
    for _ in range(steps):
        nearest = (points @ F.normalize(centres, dim=1).T).argmax(1)  # (width,)
        member = F.one_hot(nearest, len(centres)).to(points.dtype)  # (width, k)
        count = member.sum(0).unsqueeze(1)  # (k, 1)
        centres = torch.where(count > 0, member.T @ points / count.clamp(min=1), centres)
    return centres
