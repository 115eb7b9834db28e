"""New linear layers, with weights from a stream of the run."""

from __future__ import annotations

import torch
from torch import Generator, nn

INITIAL_SPREAD = 0.02  # standard deviation of new Linear weights, as in BERT


def new_linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A Linear with weights N(0, 0.02) and zero bias, from the given stream."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator) * INITIAL_SPREAD)
        layer.bias.zero_()
    return layer
