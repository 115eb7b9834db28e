"""MoCoSE's pooler, projection and predictor."""

from __future__ import annotations

from itertools import pairwise

from torch import Generator, nn

from core.encoder.bert import Encoder
from core.encoder.dropout import Dropout
from core.encoder.layers import new_linear
from core.methods.mocose.sections import Heads


def pooler(encoder: Encoder, generator: Generator) -> nn.Linear:
    """MoCoSE's pooler: a bare Linear on [CLS], (B, hidden), the checkpoint's own if it has one."""
    layer = new_linear(encoder.hidden, encoder.hidden, generator)
    source = encoder.pretrained_pooler[0]
    if source is not None:
        layer.load_state_dict(source.state_dict())
    return layer


def projection(heads: Heads, encoder: Encoder, generator: Generator) -> nn.Sequential:
    """MoCoSE's projection, (B, hidden) to (B, out_size), with the tail that `projection_tail` names
    (D11, D12)."""
    tail: list[nn.Module] = []
    if heads.projection_tail != "linear":
        tail.append(nn.LayerNorm(heads.out_size, encoder.norm_eps))
    if heads.projection_tail == "linear_ln_dropout":
        tail.append(Dropout(heads.dropout))
    widths = [encoder.hidden] * heads.projection_layers + [heads.out_size]
    return _blocks(widths, heads.dropout, encoder.norm_eps, generator, tail)


def predictor(heads: Heads, encoder: Encoder, generator: Generator) -> nn.Sequential:
    """MoCoSE's predictor, (B, out_size) to (B, out_size) (D11, D12, D13)."""
    tail: list[nn.Module] = []
    if heads.predictor_tail == "tanh":
        tail.append(nn.Tanh())
    widths = [heads.out_size]
    if heads.predictor_layers:
        widths += [heads.predictor_hidden or heads.out_size] * (heads.predictor_layers - 1)
        widths.append(heads.out_size)
    return _blocks(widths, heads.dropout, encoder.norm_eps, generator, tail)


def _blocks(
    widths: list[int], dropout: float, eps: float, drawing: Generator, tail: list[nn.Module]
) -> nn.Sequential:
    """From (B, first width) to (B, last width): a Linear to each next width, LayerNorm and dropout
    behind it, and behind the last the tail instead. One width alone is the identity."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [
            new_linear(inputs, outputs, drawing),
            nn.LayerNorm(outputs, eps),
            Dropout(dropout),
        ]
    if not layers:
        return nn.Sequential()
    return nn.Sequential(*layers[:-2], *tail)
