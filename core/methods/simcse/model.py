"""Two views of each sentence by one encoder and its head; and SimCSE, whose views differ by dropout
alone."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.encoder.bert import Encoder
from core.encoder.dropout import dropping
from core.encoder.layers import new_linear
from core.encoder.packing import Packed
from core.encoder.streams import torch_stream
from core.errors import UserError, counted, place
from core.methods.contrastive import Batcher, Batches, Contrastive, TrainingText
from core.methods.losses import in_float32, info_nce


class TwoViews(Contrastive, ABC):
    """A model that contrasts two views of each sentence. A method of your own implements
    `contrast`. It may replace `views` (what the encoder reads), `pooled` (what is contrasted) and
    `build` (more layers). Every layer outside the encoder counts as new."""

    config: Any  # a RunConfig with the method's own section
    capturable = True

    def __init__(self, config: Any, encoder: Encoder, device: torch.device):
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.head: nn.Module = nn.Identity()
        if config.eval.head != "never":
            linear = self.linear("heads", encoder.hidden, encoder.hidden)
            self.head = nn.Sequential(OrderedDict(linear=linear, tanh=nn.Tanh()))
        self.build()
        self.to(device)
        self.dropping = dropping(config.seed.data, device, self)

    @abstractmethod
    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        """The loss, a scalar, of pooled views, (B, dim) each, in float32 outside autocast."""

    @staticmethod
    def views(tokens: np.ndarray, rng: Random) -> tuple[np.ndarray, np.ndarray]:
        """Both views of a sentence's token ids, special tokens included; draw from `rng` alone."""
        return tokens, tokens

    def pooled(self, batch: Packed) -> Tensor:
        """What `contrast` gets of a batch, (B, dim)."""
        return self.head(self.encoder(batch))

    def build(self) -> None:
        """Make more layers; `self.linear` makes one. Called before the model goes to its device."""

    def linear(self, name: str, inputs: int, outputs: int) -> nn.Linear:
        """A new Linear with weights of the random stream of this name."""
        return new_linear(inputs, outputs, torch_stream(self.config.seed.model, name))

    def loss(self, views: Packed) -> Tensor:
        """The loss of one step. `views` holds the first views of a batch, then its second views."""
        pooled = self.pooled(views)
        if len(pooled) != views.batch:
            where = place(Path(inspect.getfile(type(self))), "    def pooled")
            rows = counted(len(pooled), "row")
            raise UserError(
                f"{where}: pooled gave {rows} for {views.batch} sentences; give one each, in their "
                "order."
            )
        first, second = pooled.chunk(2)  # (B, dim) each
        with torch.autocast("cpu", enabled=False):
            loss = self.contrast(in_float32(first), in_float32(second))
        if isinstance(loss, Tensor) and loss.numel() == 1:  # the shape alone: a GPU replays this
            return loss
        returned = type(loss).__name__
        if isinstance(loss, Tensor):
            returned = counted(loss.numel(), "number")
        where = place(Path(inspect.getfile(type(self))), "    def contrast")
        raise UserError(
            f"{where}: contrast returned {returned}; return one number, such as their mean."
        )

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, hidden): the raw [CLS], or the head's output with eval.head=on
        (D65)."""
        cls = self.encoder(batch)
        if self.config.eval.head == "on":
            return self.head(cls)
        return cls

    def new_layers(self) -> list[nn.Module]:
        return [
            module for name, module in self.named_children() if name not in ("encoder", "dropping")
        ]

    @classmethod
    def batch(
        cls, config: Any, text: TrainingText, pack: Batcher, rng: Random, places: Sequence[int]
    ) -> Batches:
        """Both views of each sentence, as 2B sentences."""
        first = []
        second = []
        for i in places:
            view, other = cls.views(text.table[i], rng)
            first.append(view)
            second.append(other)
        return (pack(first + second),)


class SimCSE(TwoViews):
    """The model of one run."""

    def contrast(self, first: Tensor, second: Tensor) -> Tensor:
        return info_nce(first, second, None, temperature=self.config.loss.temperature)


Model = SimCSE
