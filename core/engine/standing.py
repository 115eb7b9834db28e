"""Where a training stands: what a checkpoint holds beside the model's and the optimiser's state."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Checkpoint(NamedTuple):
    """A kept state: the optimiser step, the score that selected it, and the weights that scoring reads."""

    step: int
    score: float
    state: dict


class Standing(NamedTuple):
    """Where the loop stands after `step` steps. `pending` are the losses (scalars) since the last check, `score` is that check's."""

    step: int = 0
    selected: Checkpoint | None = None
    losses: list[tuple[int, float]] | tuple = ()
    pending: list[torch.Tensor] | tuple = ()
    score: float | None = None
