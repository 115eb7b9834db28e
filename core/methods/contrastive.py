"""What the trainer and the job ask of a method's model, with what holds unless a method says otherwise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed
from core.engine.tokens import TokenTable
from core.spec.errors import UserError
from core.spec.result import Row
from core.spec.run import RunConfig


class TrainingText(NamedTuple):
    """What batches are made of: token ids of every sentence, the sentences themselves where a method reads words, the tokenizer, and
    the ids of a second, rewritten text where a run has one."""

    table: TokenTable
    sentences: list[str] | None = None
    tokenizer: Any = None
    rewritten: TokenTable | None = None


class Contrastive(nn.Module):
    """The model of one run. The trainer calls `loss`, steps the optimiser, then calls `after_step`."""

    encoder: Encoder  # what a kept model's folder holds

    @property
    def draws_when_scored(self) -> bool:
        """Whether `sentence_vectors` draws, so that the order of batches matters (D21)."""
        return False

    def loss(self, *batch: Any) -> Tensor:
        """The loss of one training step, a scalar, of what the method's `Views` made."""
        raise NotImplementedError

    def after_step(self) -> None:
        """What follows the optimiser step."""

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, dim), in whatever mode the model is in."""
        raise NotImplementedError

    def scored_parts(self) -> nn.ModuleDict:
        """The modules that `sentence_vectors` reads: what a kept checkpoint has to hold."""
        raise NotImplementedError

    def layers_behind(self) -> Sequence[tuple[nn.Linear, str]]:
        """Of runs that are `keepable`, the layers between [CLS] and the vector that is scored, each with its activation: Identity or Tanh."""
        return ()

    def new_layers(self) -> Sequence[nn.Module]:
        """The trained layers that start at random; train.new_layer_factor applies to them."""
        return ()

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about the method that a run keeps, some of them of these sentences."""
        return {}

    def method_rows(self, selected_step: int) -> list[Row]:
        """Numbers about the method that follow from its configuration and the step that was selected."""
        return []

    def replay(self) -> None:
        """Take every batch in one shape, and replay what is computed from it (CUDA graphs)."""
        raise UserError(f"{type(self).__name__} cannot replay its steps; leave --cuda-graphs out.")


class Views:
    """The arguments of `Model.loss` for each batch: here each batch once, and what another branch reads where the text has a second form."""

    def __init__(self, config: RunConfig, text: TrainingText, device: torch.device, drawing: random.Random):
        self.config, self.text, self.device, self.drawing = config, text, device, drawing

    def make(self, indices: Sequence[int]) -> tuple[Packed | None, ...]:
        """The views of these sentences."""
        raise NotImplementedError

    def skip(self, indices: Sequence[int]) -> None:
        """Make the draws of `make` for a step that was done before; nothing if draws do not depend on earlier ones."""
