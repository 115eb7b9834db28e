"""Moving rows between the packed line of tokens and the grid that attention needs: one copy each way, no padding kept.

Cells of the grid without a token hold the batch's first token instead of zeros, which saves filling them. Attention never
sees such a key, and nothing reads such a query, so neither has a gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.engine.encoder.packing import Packed


class Layout(NamedTuple):
    """Row numbers for one batch and number of heads; a row is one head of one token. T tokens, B sentences of up to L tokens.

    token: (B, 1, L) the token of each cell. place: (T, heads) each row's place in the flattened grid (B, heads, L).
    bias: (B * heads, 1, L) 0 at tokens and -inf at padding, added to attention scores.
    """

    token: Tensor
    place: Tensor
    bias: Tensor

    def grid(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Packed (T, parts * heads * d) as `parts` grids, each (B * heads, L, d)."""
        tokens, heads = self.place.shape
        batch, _, width = self.token.shape
        numbers = torch.arange(parts * heads, device=x.device).view(parts, 1, heads, 1)
        source = (self.token * (parts * heads) + numbers).flatten()  # (parts * B * heads * L,)
        target = self.place.unsqueeze(1) + torch.arange(parts, device=x.device).view(1, parts, 1) * (batch * heads * width)
        rows = _Spread.apply(x.view(tokens * parts * heads, -1), source, target.flatten())
        return rows.view(parts, batch * heads, width, -1).unbind()

    def line(self, grid: Tensor) -> Tensor:
        """(B * heads, L, d) as packed (T, heads * d)."""
        rows = _Pick.apply(grid.reshape(-1, grid.shape[-1]), self.place.flatten())
        return rows.view(len(self.place), -1)


def layout(packed: Packed, heads: int) -> Layout:
    """The layout of a batch."""
    device, batch, width = packed.cells.device, packed.batch, packed.width
    tokens = torch.arange(len(packed.cells), device=device)
    token = torch.zeros(batch * width, dtype=torch.int64, device=device).index_copy_(0, packed.cells, tokens)
    place = (packed.row.unsqueeze(1) * heads + torch.arange(heads, device=device)) * width + packed.slot.unsqueeze(1)
    bias = torch.zeros(packed.mask.shape, device=device).masked_fill_(~packed.mask, float("-inf"))
    return Layout(token.view(batch, 1, width), place, bias.repeat_interleave(heads, 0).unsqueeze(1))


class _Spread(torch.autograd.Function):
    """Rows source of x, in which every row of x is found at target; other places have no gradient."""

    @staticmethod
    def forward(ctx, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(target)
        return x.index_select(0, source)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad.contiguous().index_select(0, ctx.saved_tensors[0]), None, None


class _Pick(torch.autograd.Function):
    """Rows of x at distinct places; the others get a gradient of zero."""

    @staticmethod
    def forward(ctx, x: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        ctx.rows = len(x)
        return x.index_select(0, place)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        whole = grad.new_zeros(ctx.rows, grad.shape[1])
        return whole.index_copy_(0, ctx.saved_tensors[0], grad.contiguous()), None
