"""What the trainer and the job need of a method's model, with what holds unless a method says
otherwise."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from core.config.result import Measurement
from core.encoder.bert import Encoder
from core.encoder.packing import Packed, pack, token_matrix
from core.encoder.tokens import TokenTable

# a padded batch has a multiple of so many slots a sentence: few shapes, and each is captured once
WIDTHS = 8
# without padding on a CPU, for a GPU a matrix (B, 1 + L) that the step takes there
Batch = Packed | Tensor
Batches = tuple[Batch, ...]  # the arguments of `loss`
Batcher = Callable[..., Batch]  # makes a batch of token-id arrays: `device_batch` for a device


class TrainingText(NamedTuple):
    """What batches are made of: token ids of every sentence; what reads the sentences themselves,
    since few methods need words; the tokenizer; the ids of a second, rewritten text where a run has
    one; and those of further columns where the method reads a text with columns."""

    table: TokenTable
    sentences: Callable[[], Sequence[str]] = list
    tokenizer: Any = None
    rewritten: TokenTable | None = None
    columns: tuple[TokenTable, ...] = ()


class Checkpointed(nn.Module):
    """A module whose state has the attributes that `checkpointed` names, so that a resumed run has
    them."""

    checkpointed: tuple[str, ...]

    def get_extra_state(self) -> dict[str, Any]:
        """Values by name; of a random generator its state."""
        state = {}
        for name in self.checkpointed:
            value = getattr(self, name)
            if isinstance(value, torch.Generator):
                value = value.get_state()
            state[name] = value
        return state

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Put back what `get_extra_state` gave. Raises KeyError."""
        for name in self.checkpointed:
            generator = getattr(self, name)
            if isinstance(generator, torch.Generator):
                generator.set_state(state[name].cpu())
            else:
                setattr(self, name, state[name])


class Terms(Checkpointed):
    """The further terms of the loss since the last check, by name: their sum and the number of
    steps, (2,) in float32. They stay in place, where a CUDA graph finds them."""

    checkpointed = ("sums",)

    def __init__(self) -> None:
        super().__init__()
        self.sums: dict[str, Tensor] = {}

    def add(self, name: str, term: Tensor) -> None:
        """Add a step's term, one number."""
        value = term.detach().float().reshape(())
        if name not in self.sums:
            self.sums[name] = value.new_zeros(2)
        self.sums[name].add_(torch.stack([value, torch.ones_like(value)]))

    def means(self) -> dict[str, float]:
        """The mean of each term, which then starts anew."""
        means = {}
        for name, sums in self.sums.items():
            total, count = sums
            if count:
                means[name] = float(total / count)
            sums.zero_()
        return means


class Contrastive(nn.Module):
    """The model of one run. A step calls `before_step`, `loss`, the optimiser, `after_update`,
    `after_step`.

    `capturable` says that `loss` and `after_update` do the same operations whenever `form` is the
    same: they read no number back, and use no number of Python's that changes between steps. A GPU
    then replays them as one CUDA graph. A class that does not state it is not captured, whatever
    its base states.
    """

    encoder: Encoder  # what a kept model's folder holds
    capturable: bool = False
    # whether `sentence_vectors` looks at a sentence's place in its batch (D20)
    scored_by_slot: bool = False
    # whether `sentence_vectors` draws: then batches keep their order (D21)
    draws_when_scored: bool = False
    # of weights, in the type that a step's products read
    copies: Mapping[nn.Parameter, nn.Parameter] = {}
    averaged: tuple[list, list]  # weights that follow others, and those others: `follow` sets them

    def __init_subclass__(cls, **arguments: Any):
        super().__init_subclass__(**arguments)
        if "capturable" not in cls.__dict__:
            cls.capturable = False

    def form(self) -> Hashable:
        """What the model's state decides about the shapes of the next step, such as a growing
        queue."""
        return ()

    @classmethod
    def batch(
        cls, config: Any, text: TrainingText, pack: Batcher, rng: Random, places: Sequence[int]
    ) -> Batches:
        """The arguments of `loss` for the sentences at these places of the text. `rng` draws what
        is random, and `pack` puts token-id arrays together."""
        raise NotImplementedError

    def before_step(self) -> None:
        """What precedes a step's loss, outside its graph."""

    def loss(self, *batch: Any) -> Tensor:
        """The loss of one training step, a scalar, of what `batch` made."""
        raise NotImplementedError

    def after_update(self) -> None:
        """What follows the optimiser's update within the step's graph."""

    def after_step(self) -> None:
        """What follows a step, outside its graph."""

    def follow(self, pairs: Sequence[tuple[nn.Module | None, nn.Module]]) -> None:
        """Let the first module of each pair follow the second: `average` moves it, and no gradient
        does."""
        targets: list[nn.Parameter] = []
        sources: list[nn.Parameter] = []
        for target, source in pairs:
            if target is not None:
                targets += target.parameters()
                sources += source.parameters()
        for weight in targets:
            weight.requires_grad_(False)
        self.averaged = (targets, sources)

    @torch.no_grad()
    def average(self, decay: float) -> None:
        """target <- decay * target + (1 - decay) * source, for all of `averaged`."""
        targets, sources = self.averaged
        torch._foreach_lerp_([t.data for t in targets], [s.data for s in sources], 1.0 - decay)
        self.weights_moved(targets)

    @torch.no_grad()
    def weights_moved(self, weights: list[nn.Parameter]) -> None:
        """Called where these weights have changed: their copies in another type are brought up to
        date."""
        copied = [p for p in weights if p in self.copies]
        if copied:
            torch._foreach_copy_([self.copies[p] for p in copied], [p.detach() for p in copied])

    def sentence_vectors(self, batch: Packed) -> Tensor:
        """Vectors to be scored, (B, dim), in whatever mode the model is in."""
        raise NotImplementedError

    def starts_from_cls(self) -> bool:
        """Whether the scored vector of an untrained model is [CLS], or is compared with it. Else
        the vector is scored before the first step, and gains count from there."""
        return False

    def scored_parts(self) -> nn.Module:
        """What `sentence_vectors` reads, and so a selected checkpoint holds: all but dropout and
        the logged terms."""
        parts = nn.Module()
        for name, module in self.named_children():
            if name not in ("dropping", "terms"):
                parts.add_module(name, module)
        for name, parameter in self.named_parameters(recurse=False):
            parts.register_parameter(name, parameter)
        for name, buffer in self.named_buffers(recurse=False):
            parts.register_buffer(name, buffer)
        return parts

    def new_layers(self) -> Sequence[nn.Module]:
        """The trained layers that start at random; train.new_layer_factor applies to them."""
        return ()

    def term_means(self) -> dict[str, float]:
        """The mean of each further term of the loss since the last check, by name."""
        return {}

    def diagnostics(self, batch: Packed) -> dict[str, float | None]:
        """Numbers about the method that a run keeps, some of them of these sentences."""
        return {}

    def method_rows(self, selected_step: int) -> list[Measurement]:
        """Numbers about the method that follow from its configuration and the step that was
        selected."""
        return []


def placed(entries: Tensor, held: Tensor) -> Tensor:
    """A queue's new entries, in the memory of those held if they fit there, where a CUDA graph
    finds them."""
    if held.shape != entries.shape:
        return entries
    return held.copy_(entries)


def device_batch(
    device: torch.device, longest: int, sentences: Sequence[np.ndarray], exact: bool = False
) -> Batch:
    """A batch for this device of token-id arrays, of at most `longest` tokens each. With `exact` a
    padded batch is as wide as its longest sentence."""
    if device.type == "cpu":
        return pack(sentences, device)
    width = max(map(len, sentences))
    if not exact:
        width = max(width, min(width + -width % WIDTHS, longest))
    return token_matrix(sentences, width)
