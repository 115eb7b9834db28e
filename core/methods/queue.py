"""The queues of negatives: MoCoSE's (newest first, with random vectors at the start) and ESimCSE's (oldest
first, empty)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from core.methods.esimcse.settings import MomentumQueue
from core.methods.mocose.settings import NegativeQueue


class KeyQueue(nn.Module):
    """MoCoSE's queue. Index 0 is the newest key; the oldest fall off the end (D14, D15, D17).

    `paper_grow`: init_size random unit vectors, grows by a batch a step to `size`, then first in, first out.
    `released_2022`: `size` random vectors from the start; while counter + init_size < size only the first
    counter + init_size columns enter the loss, where the counter starts at init_size and grows by a batch a
    step; the width overshoots until the counter exceeds `size`, when it is cut for the first time. With
    init_size 0 the first keys replace all of it.
    """

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
        size = self.config.size
        if self.config.init == "released_2022":
            filling = self.counter + self.config.init_size < size
            width = self.counter + self.config.init_size if filling else len(self.entries)
        else:
            filling = self.counter < size
            width = len(self.entries)
        if self.config.slice is None or filling:
            return self.entries[:width]
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

    def get_extra_state(self) -> dict[str, Any]:
        """What the queue holds; no buffer, since its length changes."""
        return {"entries": self.entries, "counter": self.counter}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_extra_state` gave. Raises KeyError."""
        self.entries, self.counter = state["entries"], state["counter"]


class VectorQueue(nn.Module):
    """ESimCSE's queue of momentum-encoder vectors: empty at first, newest last, `size` kept (D70)."""

    def __init__(self, config: MomentumQueue):
        super().__init__()
        self.config = config
        self.entries: Tensor | None = None

    def visible(self) -> Tensor | None:
        """The negatives that enter the loss now, (width, dim), or None before the first push."""
        return self.entries

    def push(self, vectors: Tensor) -> None:
        """Append a batch (batch, dim) without gradient."""
        vectors = vectors.detach()
        if self.entries is None:
            self.entries = (vectors[-self.config.size :] if self.config.cut_first_batch else vectors).clone()
        else:
            self.entries = _kept(self.entries, torch.cat([self.entries, vectors])[-self.config.size :])

    def get_extra_state(self) -> dict[str, Tensor | None]:
        """What the queue holds; no buffer, since its length changes."""
        return {"entries": self.entries}

    def set_extra_state(self, state: dict[str, Tensor | None]) -> None:
        """Put back what `get_extra_state` gave. Raises KeyError."""
        self.entries = state["entries"]


def _kept(held: Tensor, entries: Tensor) -> Tensor:
    """The new entries, in the old ones' memory if they fit there: a CUDA graph finds them in one place."""
    return held.copy_(entries) if held.shape == entries.shape else entries
