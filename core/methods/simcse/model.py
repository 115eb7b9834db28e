"""SimCSE: both views of a batch in one pass, told apart by dropout alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.dropout import dropping
from core.engine.encoder.packing import Packed
from core.engine.streams import torch_stream
from core.methods import contrastive
from core.methods.contrastive import Contrastive
from core.methods.heads import TrainingHead
from core.methods.losses import info_nce
from core.spec.run import RunConfig


class SimCSE(Contrastive):
    """The model of one run: one encoder and its head."""

    capturable = True

    def __init__(self, config: RunConfig, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head: nn.Module = nn.Identity()
        if config.eval.head != "never":
            self.head = TrainingHead(encoder, torch_stream(config.seed.model, "heads"))
        self.follow()
        self.to(device)
        self.dropping = dropping(config.seed.data, device, self)

    def follow(self) -> None:
        """Make what follows the encoder slowly; nothing here."""

    def loss(self, views: Packed) -> Tensor:
        """The loss of one step. `views` holds the batch's first views, then its second views, 2B sentences."""
        return self._compared(views)

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): the raw [CLS], or the head's output with eval.head=on (D65)."""
        cls = self.encoder(batch)
        return self.head(cls) if self.config.eval.head == "on" else cls

    def scored_parts(self) -> nn.ModuleDict:
        return nn.ModuleDict({"encoder": self.encoder, "head": self.head})

    def new_layers(self) -> list[nn.Module]:
        return [self.head]

    def _compared(self, views: Packed, negatives: Tensor | None = None) -> Tensor:
        """The loss of both views, 2B sentences, against a queue (width, hidden) if there is one."""
        anchor, positive = self.head(self.encoder(views)).chunk(2)  # (B, hidden) each
        return info_nce(anchor, positive, negatives, temperature=self.config.loss.temperature)


class Views(contrastive.Views):
    """Each batch twice, as 2B sentences."""

    def make(self, indices: Sequence[int]) -> tuple[Packed | Tensor]:
        first = [self.text.table[i] for i in indices]
        return (self.batch(first + first),)


Model = SimCSE
