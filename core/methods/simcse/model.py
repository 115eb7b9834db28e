"""SimCSE: both views of a batch in one pass, told apart by dropout alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.dropout import DropoutStream, give
from core.engine.encoder.packing import Packed, pack
from core.engine.replay import Replayed, spread
from core.engine.streams import torch_stream
from core.methods import contrastive
from core.methods.contrastive import Contrastive
from core.methods.heads import TrainingHead
from core.methods.losses import info_nce
from core.spec.run import RunConfig


class SimCSE(Contrastive):
    """The model of one run: one encoder and its head."""

    def __init__(self, config: RunConfig, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head = TrainingHead(encoder, torch_stream(config.seed.model, "heads"))
        self.compared: Callable[..., Tensor] = self._compared
        self.slots: int | None = None
        self.follow()
        self.to(device)
        self.dropping = DropoutStream(config.seed.data, device)
        give(self, self.dropping)

    def follow(self) -> None:
        """Make what follows the encoder slowly; nothing here."""

    def replay(self) -> None:
        self.compared = Replayed(self._compared, self, self.dropping)
        self.slots = self.config.longest

    def loss(self, views: Packed) -> Tensor:
        """The loss of one step. `views` holds the batch's first views, then its second views, 2B sentences."""
        return self.compared(self.shaped(views))

    def shaped(self, batch: Packed) -> Packed:
        """The batch as it is computed: with as many slots a sentence as any has where steps are replayed."""
        return batch if self.slots is None else spread(batch, self.slots)

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): the raw [CLS], or the head's output with eval.head=on (D65)."""
        cls = self.encoder(batch)
        return self.head(cls) if self.config.eval.head == "on" else cls

    def scored_parts(self) -> nn.ModuleDict:
        return nn.ModuleDict({"encoder": self.encoder, "head": self.head})

    def layers_behind(self) -> list[tuple[nn.Linear, str]]:
        return [(self.head.linear, "Tanh")] if self.config.eval.head == "on" else []

    def new_layers(self) -> list[nn.Module]:
        return [self.head]

    def _compared(self, views: Packed, negatives: Tensor | None = None) -> Tensor:
        """The loss of both views, 2B sentences, against a queue (width, hidden) if there is one."""
        anchor, positive = self.head(self.encoder(views)).chunk(2)  # (B, hidden) each
        return info_nce(anchor, positive, negatives, temperature=self.config.loss.temperature)


class Views(contrastive.Views):
    """Each batch twice, as 2B sentences."""

    def make(self, indices: Sequence[int]) -> tuple[Packed]:
        first = [self.text.table[i] for i in indices]
        return (pack(first + first, self.device),)


Model = SimCSE
