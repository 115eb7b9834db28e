"""MoCoSE's pooler, projection and predictor, and the head of SimCSE and ESimCSE."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.dropout import Dropout
from core.methods.mocose.settings import Heads

INITIAL_SPREAD = 0.02  # standard deviation of new Linear weights, as in BERT


def new_linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A Linear with weights N(0, 0.02) and zero bias, from the given stream."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator) * INITIAL_SPREAD)
        layer.bias.zero_()
    return layer


def pooler(encoder: Encoder, generator: torch.Generator) -> nn.Linear:
    """MoCoSE's pooler: a bare Linear on [CLS], (B, hidden), the checkpoint's own if it has one."""
    layer = new_linear(encoder.hidden, encoder.hidden, generator)
    source = encoder.pretrained_pooler[0]
    if source is not None:
        layer.load_state_dict(source.state_dict())
    return layer


def projection(heads: Heads, encoder: Encoder, generator: torch.Generator) -> nn.Sequential:
    """MoCoSE's projection, (B, hidden) to (B, out_size) (D11, D12).

    Depth 0 is the identity; depth n is (n - 1) blocks of Linear(hidden, hidden), LayerNorm, Dropout and a
    last Linear(hidden, out_size) with the tail that `projection_tail` names.
    """
    hidden, layers = encoder.hidden, []
    for _ in range(heads.projection_layers - 1):
        layers += [
            new_linear(hidden, hidden, generator),
            nn.LayerNorm(hidden, encoder.norm_eps),
            Dropout(heads.dropout),
        ]
    if heads.projection_layers:
        layers.append(new_linear(hidden, heads.out_size, generator))
        if heads.projection_tail != "linear":
            layers.append(nn.LayerNorm(heads.out_size, encoder.norm_eps))
        if heads.projection_tail == "linear_ln_dropout":
            layers.append(Dropout(heads.dropout))
    return nn.Sequential(*layers)


def predictor(heads: Heads, encoder: Encoder, generator: torch.Generator) -> nn.Sequential:
    """MoCoSE's predictor, (B, out_size) to (B, out_size) (D11, D12, D13).

    Depth 0 is the identity; depth n is (n - 1) blocks of Linear, LayerNorm, Dropout, then Linear and the
    tail.
    """
    width, layers = heads.out_size, []
    inner = heads.predictor_hidden or heads.out_size
    for _ in range(heads.predictor_layers - 1):
        layers += [
            new_linear(width, inner, generator),
            nn.LayerNorm(inner, encoder.norm_eps),
            Dropout(heads.dropout),
        ]
        width = inner
    if heads.predictor_layers:
        layers.append(new_linear(width, heads.out_size, generator))
    if heads.predictor_layers and heads.predictor_tail == "tanh":
        layers.append(nn.Tanh())
    return nn.Sequential(*layers)


class TrainingHead(nn.Module):
    """SimCSE's and ESimCSE's head: Linear and tanh, (B, hidden) to (B, hidden), new in each run."""

    def __init__(self, encoder: Encoder, generator: torch.Generator):
        super().__init__()
        self.linear = new_linear(encoder.hidden, encoder.hidden, generator)

    def forward(self, x: Tensor) -> Tensor:
        """tanh(Linear(x))."""
        return torch.tanh(self.linear(x))
