"""ESimCSE: SimCSE with repetition in the second view and a momentum queue (studies/reference/methods.md)."""

from __future__ import annotations

import copy
import random
from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.streams import torch_stream
from core.methods import contrastive
from core.methods.contrastive import TrainingText, averaged_pairs, update_averages
from core.methods.esimcse.repetition import insertions, repeat_tokens, repeat_words, stream_for
from core.methods.esimcse.settings import ESimCSERun, Repetition
from core.methods.heads import INITIAL_SPREAD
from core.methods.losses import info_nce
from core.methods.queue import VectorQueue
from core.methods.simcse.model import TwoViews


class ESimCSE(TwoViews):
    """The model of one run. Without a queue it is SimCSE's loss on the views that it gets."""

    config: ESimCSERun

    def __init__(self, config: ESimCSERun, encoder: Encoder, device: torch.device):
        super().__init__(config, encoder, device)
        branches = [(self.momentum_encoder, encoder), (self.momentum_head, self.head)]
        followed = [(slow, fast) for slow, fast in branches if slow is not None]
        self.averaged = averaged_pairs([slow for slow, _ in followed], [fast for _, fast in followed])

    def build(self) -> None:
        """Make the momentum encoder and its queue, as far as the run has them."""
        self.momentum_encoder: Encoder | None = None
        self.momentum_head: nn.Module | None = None
        self.queue: VectorQueue | None = None
        self._waiting: Packed | None = None  # what after_step is to push (D69)
        momentum, queue = self.config.momentum, self.config.queue
        if momentum is None or queue is None:  # they go together
            return
        self.momentum_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        if momentum.init == "random":
            randomise(self.momentum_encoder, torch_stream(self.config.seed.model, "momentum encoder"))  # D60
        if momentum.head == "ema":
            self.momentum_head = copy.deepcopy(self.head).requires_grad_(False)  # D68
        self.queue = VectorQueue(queue)

    def form(self) -> Hashable:
        """How many vectors the queue holds."""
        return 0 if self.queue is None or self.queue.entries is None else len(self.queue.entries)

    def train(self, mode: bool = True) -> ESimCSE:
        """Training mode, with dropout in the momentum encoder as momentum.dropout says (D68)."""
        super().train(mode)
        momentum, encoder = self.config.momentum, self.momentum_encoder
        if momentum is not None and encoder is not None and momentum.dropout == "off":
            encoder.eval()
        return self

    def loss(self, views: Packed, kept: Packed | None = None) -> Tensor:
        """The loss of one step. `views` holds the batch's first views, then its second views, 2B sentences;
        `kept` is what goes through the momentum encoder (queue.view), B sentences, or None without a queue.

        Order: encode, contrast with the queue as left by earlier steps, move the momentum weights, push. With
        momentum.when=after_optimizer the last two wait for `after_update`, so what is pushed lags one step
        less (D69).
        """
        momentum, queue = self.config.momentum, self.queue
        if momentum is None or queue is None:
            return super().loss(views)
        assert kept is not None, "a run with a queue has views that give what goes into it"
        loss = super().loss(views)
        if momentum.when == "after_forward":
            self._enqueue(kept)
        else:
            self._waiting = kept
        return loss

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        loss, queue = self.config.loss, None if self.queue is None else self.queue.visible()
        return info_nce(
            first, second, queue, temperature=loss.temperature, in_batch_negatives=loss.in_batch_negatives
        )

    def new_layers(self) -> list[nn.Module]:
        return [self.head]

    @classmethod
    def batches(
        cls, config: ESimCSERun, text: TrainingText, device: torch.device, drawing: random.Random
    ) -> contrastive.Views:
        return Views(config, text, device, drawing)

    def after_update(self) -> None:
        """What follows the optimiser's update (D69)."""
        if self._waiting is not None:
            self._enqueue(self._waiting)
            self._waiting = None

    def _kept_vectors(self, kept: Packed) -> Tensor:
        """What the queue gets, (B, hidden), from the momentum weights."""
        head = self.momentum_head if self.momentum_head is not None else self.head
        encoder = self.momentum_encoder
        assert encoder is not None, "what is kept has been through the momentum encoder"
        return head(encoder(kept))

    @torch.no_grad()
    def _enqueue(self, kept: Packed) -> None:
        """Move the momentum weights, then push this batch's vectors from them."""
        momentum, queue = self.config.momentum, self.queue
        assert momentum is not None and queue is not None, "nothing is kept without a queue"
        update_averages(*self.averaged, momentum.lambda_)
        self.weights_moved(self.averaged[0])
        queue.push(self._kept_vectors(kept))


class Views(contrastive.Views):
    """Each batch twice, the second time with repetitions; and what the momentum encoder reads."""

    config: ESimCSERun

    def __init__(self, config: ESimCSERun, text: TrainingText, device: torch.device, drawing: random.Random):
        super().__init__(config, text, device, drawing)
        self.inserted = insertions(config.dup, text.tokenizer) if config.dup is not None else ()

    def make(self, indices: Sequence[int]) -> tuple[Packed | Tensor, Packed | Tensor | None]:
        first = [self.text.table[i] for i in indices]
        second = self._second(indices, first)
        queue = self.config.queue
        kept = None if queue is None else self.batch(second if queue.view == "repeated" else first)
        return self.batch(first + second), kept

    def skip(self, indices: Sequence[int]) -> None:
        dup = self.config.dup
        if dup is None or dup.resample != "per_epoch":
            return  # nothing is drawn from a stream that goes on
        if dup.unit == "subword":
            self._second(indices, [self.text.table[i] for i in indices])
        else:
            self._repeated(dup, indices)

    def _second(self, indices: Sequence[int], first: list[np.ndarray]) -> list[np.ndarray]:
        """The second views' token ids."""
        dup, longest = self.config.dup, self.config.data.max_length
        if dup is None:
            return first
        if dup.unit == "subword":
            return [
                repeat_tokens(tokens, dup, longest, stream_for(dup, self.drawing, int(i)))
                for tokens, i in zip(first, indices, strict=True)
            ]
        encoded = self.text.tokenizer(self._repeated(dup, indices), truncation=True, max_length=longest)[
            "input_ids"
        ]
        return [np.array(ids, dtype=np.int32) for ids in encoded]

    def _repeated(self, dup: Repetition, indices: Sequence[int]) -> list[str]:
        """The sentences with words written twice, or others put in (Table 10)."""
        sentences = self.text.sentences
        assert sentences is not None, "such a run reads words"
        return [
            repeat_words(sentences[i], dup, stream_for(dup, self.drawing, int(i)), self.inserted)
            for i in indices
        ]


@torch.no_grad()
def randomise(encoder: Encoder, generator: torch.Generator) -> None:
    """New BERT weights in place: N(0, 0.02) for matrices, 1 and 0 for LayerNorm, 0 for biases (D60)."""
    for module in encoder.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.fill_(1.0)
            module.bias.zero_()
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.copy_(torch.randn(module.weight.shape, generator=generator) * INITIAL_SPREAD)
            if isinstance(module, nn.Linear):
                module.bias.zero_()
            elif module.padding_idx is not None:
                module.weight[module.padding_idx].zero_()


Model = ESimCSE
