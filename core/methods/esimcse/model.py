"""ESimCSE: SimCSE with repetition in the second view and a momentum queue
(studies/reference/methods.md)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from torch import Tensor, nn

from core.encoder.bert import Encoder
from core.encoder.layers import INITIAL_SPREAD
from core.encoder.packing import Packed
from core.encoder.pooling import Encoded
from core.encoder.streams import torch_stream
from core.methods.contrastive import Batcher, Batches, Checkpointed, TrainingText, placed
from core.methods.esimcse.repetition import repeated
from core.methods.esimcse.settings import ESimCSERun, MomentumQueue
from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class VectorQueue(Checkpointed):
    """ESimCSE's queue of momentum-encoder vectors: empty at first, newest last, `size` kept
    (D70)."""

    checkpointed = ("entries",)

    def __init__(self, config: MomentumQueue):
        super().__init__()
        self.config = config
        # (width, dim), the negatives; None before the first push
        self.entries: Tensor | None = None

    def push(self, vectors: Tensor) -> None:
        """Append a batch (batch, dim) without gradient."""
        vectors = vectors.detach()
        size = self.config.size
        if self.entries is None:
            if self.config.cut_first_batch:
                vectors = vectors[-size:]
            self.entries = vectors.clone()
        else:
            self.entries = placed(torch.cat([self.entries, vectors])[-size:], self.entries)


class ESimCSE(Views):
    """The model of one run. Without a queue it is SimCSE's loss on the views that it gets."""

    capturable = True

    def __init__(self, config: ESimCSERun, encoder: Encoder, device: torch.device):
        super().__init__(config, encoder, device)
        self.follow([(self.momentum_encoder, encoder), (self.momentum_head, self.head)])

    def build(self) -> None:
        """Make the momentum encoder and its queue, as far as the run has them."""
        self.momentum_encoder: Any = None
        self.momentum_head: nn.Module | None = None
        self.queue: Any = None
        self._waiting: Packed | None = None  # what after_update is to push (D69)
        momentum = self.config.momentum
        if momentum is not None:
            self.momentum_encoder = copy.deepcopy(self.encoder)
            self.queue = VectorQueue(self.config.queue)
            if momentum.head == "ema":  # D68
                self.momentum_head = copy.deepcopy(self.head)
            if momentum.init == "random":  # D60
                stream = torch_stream(self.config.seed.model, "momentum encoder")
                randomise(self.momentum_encoder, stream)

    def form(self) -> int:
        """How many vectors the queue holds."""
        if self.queue is None or self.queue.entries is None:
            return 0
        return len(self.queue.entries)

    def train(self, mode: bool = True) -> ESimCSE:
        """Training mode, with dropout in the momentum encoder as momentum.dropout says (D68)."""
        super().train(mode)
        if self.momentum_encoder is not None and self.config.momentum.dropout == "off":
            self.momentum_encoder.eval()
        return self

    def loss(self, views: Packed, queued: Packed | None = None) -> Tensor:
        """The loss of one step against the queue as left by earlier steps. `views` holds the
        batch's first views, then its second views, 2B sentences; `queued` the B sentences for the
        queue, or None without one. Then the momentum weights move and `queued` is pushed: here, or
        after the optimiser's update (D69)."""
        loss = super().loss(views)
        if queued is not None and self.config.momentum.when == "after_forward":
            self._enqueue(queued)
        else:
            self._waiting = queued
        return loss

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        settings = self.config.loss
        entries = None if self.queue is None else self.queue.entries
        return info_nce(
            first,
            second,
            entries,
            temperature=settings.temperature,
            in_batch_negatives=settings.in_batch_negatives,
        )

    @classmethod
    def batch(
        cls,
        config: ESimCSERun,
        text: TrainingText,
        pack: Batcher,
        rng: Random,
        places: Sequence[int],
    ) -> Batches:
        """Each sentence twice, the second time with repetitions; and what goes into the queue."""
        first = [text.table[i] for i in places]
        second = repeated(config, text, rng, places)
        views = pack([*first, *second])
        if config.queue is None:
            return (views,)
        if config.queue.view == "repeated":
            return views, pack(second)
        return views, pack(first)

    def scored_parts(self) -> nn.Module:
        """Encoder and head: no vector is scored by the momentum encoder."""
        return nn.ModuleDict({"encoder": self.encoder, "head": self.head})

    def after_update(self) -> None:
        if self._waiting is not None:
            self._enqueue(self._waiting)
            self._waiting = None

    @torch.no_grad()
    def _enqueue(self, queued: Packed) -> None:
        """Move the momentum weights, then push this batch's vectors (B, hidden) from them."""
        self.average(self.config.momentum.lambda_)
        head = self.head if self.momentum_head is None else self.momentum_head
        self.queue.push(head(self.pool(Encoded(self.momentum_encoder, queued))))


@torch.no_grad()
def randomise(encoder: Encoder, generator: torch.Generator) -> None:
    """New BERT weights in place: N(0, 0.02) for matrices, 1 and 0 for LayerNorm, 0 for biases
    (D60)."""
    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            drawn = torch.randn(module.weight.shape, generator=generator)
            module.weight.copy_(drawn * INITIAL_SPREAD)
            if isinstance(module, nn.Linear):
                module.bias.zero_()
            elif module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()


Model = ESimCSE
