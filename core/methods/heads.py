"""MoCoSE's pooler, projection and predictor, and the head of SimCSE and ESimCSE."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Generator, nn

from core.engine.encoder.bert import Encoder
from core.engine.encoder.dropout import Dropout
from core.methods.mocose.settings import Heads

INITIAL_SPREAD = 0.02  # standard deviation of new Linear weights, as in BERT


def new_linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """A Linear with weights N(0, 0.02) and zero bias, from the given stream."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator) * INITIAL_SPREAD)
        layer.bias.zero_()
    return layer


def pooler(encoder: Encoder, generator: Generator) -> nn.Linear:
    """MoCoSE's pooler: a bare Linear on [CLS], (B, hidden), the checkpoint's own if it has one."""
    layer = new_linear(encoder.hidden, encoder.hidden, generator)
    source = encoder.pretrained_pooler[0]
    if source is not None:
        layer.load_state_dict(source.state_dict())
    return layer


def projection(heads: Heads, encoder: Encoder, generator: Generator) -> nn.Sequential:
    """MoCoSE's projection, (B, hidden) to (B, out_size), with the tail that `projection_tail` names (D11,
    D12)."""
    tail: list[nn.Module] = []
    if heads.projection_tail != "linear":
        tail.append(nn.LayerNorm(heads.out_size, encoder.norm_eps))
    if heads.projection_tail == "linear_ln_dropout":
        tail.append(Dropout(heads.dropout))
    return _blocks(
        heads.projection_layers, encoder.hidden, encoder.hidden, heads, encoder.norm_eps, generator, tail
    )


def predictor(heads: Heads, encoder: Encoder, generator: Generator) -> nn.Sequential:
    """MoCoSE's predictor, (B, out_size) to (B, out_size) (D11, D12, D13)."""
    tail: list[nn.Module] = [nn.Tanh()] if heads.predictor_tail == "tanh" else []
    inner = heads.predictor_hidden or heads.out_size
    return _blocks(heads.predictor_layers, heads.out_size, inner, heads, encoder.norm_eps, generator, tail)


def _blocks(
    depth: int, width: int, inner: int, heads: Heads, eps: float, drawing: Generator, tail: list[nn.Module]
) -> nn.Sequential:
    """(B, width) to (B, out_size): depth 0 is the identity; depth n is (n - 1) blocks of Linear to `inner`,
    LayerNorm and Dropout, then Linear and the tail."""
    layers: list[nn.Module] = []
    for _ in range(depth - 1):
        layers += [new_linear(width, inner, drawing), nn.LayerNorm(inner, eps), Dropout(heads.dropout)]
        width = inner
    if depth:
        layers += [new_linear(width, heads.out_size, drawing), *tail]
    return nn.Sequential(*layers)


def training_head(encoder: Encoder, generator: Generator) -> nn.Sequential:
    """SimCSE's and ESimCSE's head: Linear and tanh, (B, hidden) to (B, hidden), new in each run."""
    linear = new_linear(encoder.hidden, encoder.hidden, generator)
    return nn.Sequential(OrderedDict(linear=linear, tanh=nn.Tanh()))
