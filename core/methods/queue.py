"""The queues of negatives: MoCoSE's (newest first, with random vectors at the start) and ESimCSE's (oldest
first, empty)."""

from __future__ import annotations

import torch
from torch import Tensor

from core.methods.contrastive import Kept
from core.methods.esimcse.settings import MomentumQueue
from core.methods.mocose.settings import NegativeQueue


class KeyQueue(Kept):
    """MoCoSE's queue. Index 0 is the newest key; the oldest fall off the end (D14, D15, D17).

    `paper_grow`: init_size random unit vectors, grows by a batch a step to `size`, then first in, first out.
    `released_2022`: `size` random vectors from the start; while counter + init_size < size only the first
    counter + init_size columns enter the loss, where the counter starts at init_size and grows by a batch a
    step; the width overshoots until the counter exceeds `size`, when it is cut for the first time. With
    init_size 0 the first keys replace all of it.
    """

    kept = ("entries", "counter")  # no buffer, since the length changes

    def __init__(self, config: NegativeQueue, dim: int, generator: torch.Generator, device: torch.device):
        super().__init__()
        self.config = config
        allocated = config.size if config.init == "released_2022" else config.init_size
        # (allocated, dim), on the unit sphere after scaling
        random = torch.randn(allocated, dim, generator=generator)
        self.entries = (random / random.norm(dim=1, keepdim=True)).to(device)
        self.counter = config.init_size

    def visible(self) -> Tensor:
        """The negatives that enter the loss now, (width, dim)."""
        released = self.config.init == "released_2022"
        width = self.counter + (self.config.init_size if released else 0)
        if width < self.config.size:
            return self.entries[:width]
        if self.config.slice is None:
            return self.entries
        return torch.cat([self.entries[start:stop] for start, stop in self.config.slice])

    def push(self, keys: Tensor) -> None:
        """Put a batch of keys (batch, dim) in front, as they are, without gradient."""
        keys = keys.detach().to(self.entries.dtype)
        entries = keys.clone() if self.counter == 0 else torch.cat([keys, self.entries])
        self.counter += len(keys)
        if self.config.init == "paper_grow" or self.counter > self.config.size:
            entries = entries[: self.config.size]
        self.entries = _kept(self.entries, entries)

    def form(self) -> tuple[int, int]:
        """What changes while the queue fills, and never afterwards."""
        return min(self.counter, self.config.size + 1), len(self.entries)


class VectorQueue(Kept):
    """ESimCSE's queue of momentum-encoder vectors: empty at first, newest last, `size` kept (D70)."""

    kept = ("entries",)

    def __init__(self, config: MomentumQueue):
        super().__init__()
        self.config = config
        self.entries: Tensor | None = None  # (width, dim), the negatives; None before the first push

    def push(self, vectors: Tensor) -> None:
        """Append a batch (batch, dim) without gradient."""
        vectors = vectors.detach()
        if self.entries is None:
            self.entries = (vectors[-self.config.size :] if self.config.cut_first_batch else vectors).clone()
        else:
            self.entries = _kept(self.entries, torch.cat([self.entries, vectors])[-self.config.size :])


def _kept(held: Tensor, entries: Tensor) -> Tensor:
    """The new entries, in the old ones' memory if they fit there: a CUDA graph finds them in one place."""
    return held.copy_(entries) if held.shape == entries.shape else entries
