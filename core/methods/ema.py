"""Exponential moving averages over lists of parameters, in one fused call."""

from __future__ import annotations

import torch
from torch import nn


def averaged_pairs(targets: list[nn.Module], sources: list[nn.Module]) -> tuple[list, list]:
    """The parameters of both lists of modules, in step. Raises ValueError if they do not correspond."""
    target = [p for module in targets for p in module.parameters()]
    source = [p for module in sources for p in module.parameters()]
    if [p.shape for p in target] != [p.shape for p in source]:
        raise ValueError("the averaged modules do not have the same parameters")
    return target, source


@torch.no_grad()
def update(targets: list, sources: list, decay: float) -> None:
    """target <- decay * target + (1 - decay) * source, in place."""
    torch._foreach_lerp_([t.data for t in targets], [s.data for s in sources], 1.0 - decay)
