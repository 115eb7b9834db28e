"""SimCSE and ESimCSE: two views in one pass, repetition, and the momentum queue (ESimCSE dossier, sections 1 and 2)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from core.methods import ema
from core.engine.encoder.dropout import DropoutStream, give
from core.engine.encoder.bert import Encoder
from core.methods.heads import INITIAL_SPREAD, TrainingHead
from core.methods.losses import info_nce
from core.engine.encoder.packing import Packed
from core.methods.queue import VectorQueue
from core.engine.replay import Replayed, slots, spread
from core.engine.streams import torch_stream
from core.spec.run import RunConfig


class SimCSE(nn.Module):
    """The model of one run; ESimCSE where the run has a queue. Without one it is SimCSE's loss on whatever views it gets."""

    def __init__(self, config: RunConfig, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head = TrainingHead(encoder, torch_stream(config.seed.model, "heads"))
        self.momentum_encoder = self.momentum_head = self.queue = None
        self._waiting: Packed | None = None  # what after_step is to push (D69)
        if config.momentum is not None:
            self.momentum_encoder = copy.deepcopy(encoder).requires_grad_(False)
            if config.momentum.init == "random":
                randomise(self.momentum_encoder, torch_stream(config.seed.model, "momentum encoder"))  # D60
            if config.momentum.head == "ema":
                self.momentum_head = copy.deepcopy(self.head).requires_grad_(False)  # D68
            self.queue = VectorQueue(config.queue)
        self.compared, self.kept_vectors, self.slots = self._compared, self._kept_vectors, None
        self.to(device)
        self.dropping = DropoutStream(config.seed.data, device)
        give(self, self.dropping)
        self.averaged = ema.averaged_pairs(
            [m for m in (self.momentum_encoder, self.momentum_head) if m is not None],
            [encoder] * (self.momentum_encoder is not None) + [self.head] * (self.momentum_head is not None),
        )

    def replay(self) -> None:
        """Take every batch in one shape, and replay what is computed from it."""
        self.compared = Replayed(self._compared, self, self.dropping)
        self.kept_vectors = Replayed(self._kept_vectors, self, self.dropping)
        self.slots = slots(self.config)

    def train(self, mode: bool = True) -> "SimCSE":
        """Training mode, with dropout in the momentum encoder as momentum.dropout says (D68)."""
        super().train(mode)
        if self.config.momentum is not None and self.config.momentum.dropout == "off":
            self.momentum_encoder.eval()
        return self

    def loss(self, views: Packed, kept: Packed | None) -> Tensor:
        """The loss of one step. `views` holds the batch's first views, then its second views, 2B sentences; `kept` is what
        goes through the momentum encoder (queue.view), B sentences, or None without a queue.

        Order (dossier 2.2): encode, contrast with the queue as left by earlier steps, move the momentum weights, push. With
        momentum.when=after_optimizer the last two wait for `after_step`, so what is pushed lags one step less (D69).
        """
        if self.slots is not None:
            views, kept = spread(views, self.slots), None if kept is None else spread(kept, self.slots)
        negatives = self.queue.visible() if self.queue is not None else None  # (width, hidden)
        loss = self.compared(views) if negatives is None else self.compared(views, negatives)
        if self.queue is None:
            return loss
        if self.config.momentum.when == "after_forward":
            self._enqueue(kept)
        else:
            self._waiting = kept
        return loss

    def after_step(self) -> None:
        """What follows the optimiser step (D69)."""
        if self._waiting is not None:
            self._enqueue(self._waiting)
            self._waiting = None

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): the raw [CLS], or the head's output with eval.head=on (D65)."""
        cls = self.encoder(batch)
        return self.head(cls) if self.config.eval.head == "on" else cls

    def scored_parts(self) -> nn.ModuleDict:
        """The modules that `sentence_vectors` reads: what a kept checkpoint has to hold."""
        return nn.ModuleDict({"encoder": self.encoder, "head": self.head})

    def new_layers(self) -> list[nn.Module]:
        """What is trained and starts at random: train.new_layer_factor is for these."""
        return [self.head]

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about the method that a run keeps, some of them of these sentences; none here."""
        return {}

    def _compared(self, views: Packed, negatives: Tensor | None = None) -> Tensor:
        """The loss of both views, 2B sentences, against the queue (width, hidden)."""
        anchor, positive = self.head(self.encoder(views)).chunk(2)  # (B, hidden) each
        return info_nce(anchor, positive, negatives, temperature=self.config.loss.temperature)

    def _kept_vectors(self, kept: Packed) -> Tensor:
        """What the queue gets, (B, hidden), from the momentum weights."""
        head = self.momentum_head if self.momentum_head is not None else self.head
        return head(self.momentum_encoder(kept))

    @torch.no_grad()
    def _enqueue(self, kept: Packed) -> None:
        """Move the momentum weights, then push this batch's vectors from them."""
        ema.update(*self.averaged, self.config.momentum.lambda_)
        self.queue.push(self.kept_vectors(kept))


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
