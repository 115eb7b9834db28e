"""ESimCSE: SimCSE with repetition in the second view and a momentum queue (studies/reference/methods.md)."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.streams import torch_stream
from core.methods.contrastive import Batch, Batcher, Maker, TrainingText, followed
from core.methods.esimcse.repetition import repeater
from core.methods.esimcse.settings import ESimCSERun
from core.methods.heads import INITIAL_SPREAD
from core.methods.losses import info_nce
from core.methods.queue import VectorQueue
from core.methods.simcse.model import TwoViews


class ESimCSE(TwoViews):
    """The model of one run. Without a queue it is SimCSE's loss on the views that it gets."""

    def __init__(self, config: ESimCSERun, encoder: Encoder, device: torch.device):
        super().__init__(config, encoder, device)
        self.averaged = followed([(self.momentum_encoder, encoder), (self.momentum_head, self.head)])

    def build(self) -> None:
        """Make the momentum encoder and its queue, as far as the run has them."""
        self.momentum_encoder: Any = None
        self.momentum_head: nn.Module | None = None
        self.queue: Any = None
        self._waiting: Packed | None = None  # what after_update is to push (D69)
        momentum = self.config.momentum
        if momentum is None:
            return
        self.momentum_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        if momentum.init == "random":
            randomise(self.momentum_encoder, torch_stream(self.config.seed.model, "momentum encoder"))  # D60
        if momentum.head == "ema":
            self.momentum_head = copy.deepcopy(self.head).requires_grad_(False)  # D68
        self.queue = VectorQueue(self.config.queue)

    def form(self) -> int:
        """How many vectors the queue holds."""
        return 0 if self.queue is None or self.queue.entries is None else len(self.queue.entries)

    def train(self, mode: bool = True) -> ESimCSE:
        """Training mode, with dropout in the momentum encoder as momentum.dropout says (D68)."""
        super().train(mode)
        if self.momentum_encoder is not None and self.config.momentum.dropout == "off":
            self.momentum_encoder.eval()
        return self

    def loss(self, views: Packed, kept: Packed | None = None) -> Tensor:
        """The loss of one step. `views` holds the batch's first views, then its second views, 2B sentences;
        `kept` is what goes through the momentum encoder (queue.view), B sentences, or None without a queue.

        Order: encode, contrast with the queue as left by earlier steps, move the momentum weights, push. With
        momentum.when=after_optimizer the last two wait for `after_update`, so what is pushed lags one step
        less (D69).
        """
        loss = super().loss(views)
        if kept is not None and self.config.momentum.when == "after_forward":
            self._enqueue(kept)
        else:
            self._waiting = kept
        return loss

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        loss, queue = self.config.loss, None if self.queue is None else self.queue.entries
        return info_nce(
            first, second, queue, temperature=loss.temperature, in_batch_negatives=loss.in_batch_negatives
        )

    @classmethod
    def batches(cls, config: ESimCSERun, text: TrainingText, batch: Batcher, rng: random.Random) -> Maker:
        """Each sentence of a batch twice, the second time with repetitions; and what goes into the queue."""
        queue, repeated = config.queue, repeater(config, text, rng)

        def make(indices: Sequence[int]) -> tuple[Batch, ...]:
            first = [text.table[i] for i in indices]
            second = repeated(indices)
            views = batch([*first, *second])
            if queue is None:
                return (views,)
            return views, batch(second if queue.view == "repeated" else first)

        return make

    def after_update(self) -> None:
        """What follows the optimiser's update (D69)."""
        if self._waiting is not None:
            self._enqueue(self._waiting)
            self._waiting = None

    @torch.no_grad()
    def _enqueue(self, kept: Packed) -> None:
        """Move the momentum weights, then push this batch's vectors (B, hidden) from them."""
        self.average(self.config.momentum.lambda_)
        head = self.head if self.momentum_head is None else self.momentum_head
        self.queue.push(head(self.momentum_encoder(kept)))


@torch.no_grad()
def randomise(encoder: Encoder, generator: torch.Generator) -> None:
    """New BERT weights in place: N(0, 0.02) for matrices, 1 and 0 for LayerNorm, 0 for biases (D60)."""
    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * INITIAL_SPREAD)
            if isinstance(module, nn.Linear):
                module.bias.zero_()
            elif module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()


Model = ESimCSE
