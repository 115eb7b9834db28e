"""What the trainer and the job ask of a method's model, with what holds unless a method says otherwise;
moving averages."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import Packed, pack, rows
from core.engine.tokens import TokenTable
from core.spec.result import Row
from core.spec.run import RunConfig

WIDTHS = 8  # a padded batch has a multiple of so many slots a sentence: few shapes, and each is captured once


class TrainingText(NamedTuple):
    """What batches are made of: token ids of every sentence, the sentences themselves where a method reads
    words, the tokenizer, and the ids of a second, rewritten text where a run has one."""

    table: TokenTable
    sentences: list[str] | None = None
    tokenizer: Any = None
    rewritten: TokenTable | None = None


class Contrastive(nn.Module):
    """The model of one run. A step calls `before_step`, `loss`, the optimiser, `after_update` and
    `after_step`, in this order.

    `capturable` says that `loss` and `after_update` do the same operations whenever `form` is the same: they
    read no number back, and use no number of Python's that changes between steps. A GPU then replays them as
    one CUDA graph.
    """

    encoder: Encoder  # what a kept model's folder holds
    capturable: bool = False
    scored_by_slot: bool = False  # whether `sentence_vectors` looks at a sentence's place in its batch (D20)

    def form(self) -> Hashable:
        """What the model's state decides about the shapes of the next step, such as a growing queue."""
        return ()

    @classmethod
    def batches(cls, config: Any, text: TrainingText, device: torch.device, drawing: random.Random) -> Views:
        """What makes the arguments of `loss` for each batch; random choices come from `drawing`."""
        raise NotImplementedError

    def before_step(self) -> None:
        """What precedes a step's loss, outside its graph."""

    @property
    def draws_when_scored(self) -> bool:
        """Whether `sentence_vectors` draws, so that the order of batches matters (D21)."""
        return False

    def loss(self, *batch: Any) -> Tensor:
        """The loss of one training step, a scalar, of what the method's `Views` made."""
        raise NotImplementedError

    def after_update(self) -> None:
        """What follows the optimiser's update within the step's graph."""

    def after_step(self) -> None:
        """What follows a step, outside its graph."""

    def weights_moved(self, weights: list[nn.Parameter]) -> None:
        """Called when a method has changed these weights; a step that keeps copies replaces it."""

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, dim), in whatever mode the model is in."""
        raise NotImplementedError

    def scored_parts(self) -> nn.ModuleDict:
        """The modules that `sentence_vectors` reads: what a kept checkpoint has to hold."""
        raise NotImplementedError

    def new_layers(self) -> Sequence[nn.Module]:
        """The trained layers that start at random; train.new_layer_factor applies to them."""
        return ()

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about the method that a run keeps, some of them of these sentences."""
        return {}

    def method_rows(self, selected_step: int) -> list[Row]:
        """Numbers about the method that follow from its configuration and the step that was selected."""
        return []


class Views:
    """The arguments of `Model.loss` for each batch: here each batch once, and what another branch reads where
    the text has a second form."""

    def __init__(self, config: RunConfig, text: TrainingText, device: torch.device, drawing: random.Random):
        self.config, self.text, self.device, self.drawing = config, text, device, drawing
        self.widths = WIDTHS

    def make(self, indices: Sequence[int]) -> tuple[Packed | Tensor | None, ...]:
        """The views of these sentences, each made by `batch`."""
        raise NotImplementedError

    def batch(self, sentences: Sequence[np.ndarray]) -> Packed | Tensor:
        """A batch of token-id arrays: without padding on a CPU, for another device a matrix (B, 1 + L) that
        the step takes there."""
        if self.device.type == "cpu":
            return pack(sentences, self.device)
        longest = max(map(len, sentences))
        wide = -(-longest // self.widths) * self.widths
        return rows(sentences, max(longest, min(wide, self.config.longest)))

    def skip(self, indices: Sequence[int]) -> None:
        """Draw what `make` draws for a step that was done before; nothing if steps draw independently."""


def averaged_pairs(targets: list[nn.Module], sources: list[nn.Module]) -> tuple[list, list]:
    """The parameters of both lists of modules, in step. Raises ValueError if they do not correspond."""
    target = [p for module in targets for p in module.parameters()]
    source = [p for module in sources for p in module.parameters()]
    if [p.shape for p in target] != [p.shape for p in source]:
        raise ValueError("the averaged modules do not have the same parameters")
    return target, source


@torch.no_grad()
def update_averages(targets: list, sources: list, decay: float) -> None:
    """target <- decay * target + (1 - decay) * source, in place."""
    torch._foreach_lerp_([t.data for t in targets], [s.data for s in sources], 1.0 - decay)
