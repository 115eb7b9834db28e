"""Moving rows between the packed line of tokens and the grid that attention needs: one copy each way, no padding kept.

The line ends in up to ROWS - 1 spare rows, so that few lengths occur: for a length that it has not seen oneDNN writes new machine
code for each product, which took a tenth of a demo step. Nothing reads what spare rows hold, so they have no gradient.

Cells of the grid without a token hold the batch's first token instead of zeros, which saves filling them. Attention never
sees such a key, and nothing reads such a query, so neither has a gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.engine.encoder.packing import Packed

ROWS = 32  # the line's length is a multiple of it


class Layout(NamedTuple):
    """Row numbers for one batch and number of heads; a row is one head of one token. T tokens, B sentences of up to L tokens; the line
    has R rows, T and the spare ones.

    token: (B, 1, L) the token of each cell. place: (T, heads) each row's place in the flattened grid (B, heads, L).
    bias: (B * heads, 1, L) 0 at tokens and -inf at padding, added to attention scores.
    """

    token: Tensor
    place: Tensor
    bias: Tensor

    @property
    def spare(self) -> int:
        """R - T."""
        return -len(self.place) % ROWS

    def lengthened(self, x: Tensor) -> Tensor:
        """(T, hidden) with the spare rows behind them, (R, hidden): copies of the first row, since LayerNorm has no use for zeros."""
        return torch.cat([x, x[:1].detach().expand(self.spare, -1)]) if self.spare else x

    def grid(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Packed (R, parts * heads * d) as `parts` grids, each (B * heads, L, d)."""
        heads = self.place.shape[1]
        batch, _, width = self.token.shape
        numbers = torch.arange(parts * heads, device=x.device).view(parts, 1, heads, 1)
        source = (self.token * (parts * heads) + numbers).flatten()  # (parts * B * heads * L,)
        target = self.place.unsqueeze(1) + torch.arange(parts, device=x.device).view(1, parts, 1) * (batch * heads * width)
        rows = _Spread.apply(x.view(len(x) * parts * heads, -1), source, target.flatten())
        return rows.view(parts, batch * heads, width, -1).unbind()

    def line(self, grid: Tensor) -> Tensor:
        """(B * heads, L, d) as packed (R, heads * d)."""
        tokens, heads = self.place.shape
        rows = _Pick.apply(grid.reshape(-1, grid.shape[-1]), self.place.flatten(), self.spare * heads)
        return rows.view(tokens + self.spare, -1)


def layout(packed: Packed, heads: int) -> Layout:
    """The layout of a batch."""
    device, batch, width = packed.cells.device, packed.batch, packed.width
    tokens = torch.arange(len(packed.cells), device=device)
    token = torch.zeros(batch * width, dtype=torch.int64, device=device).index_copy_(0, packed.cells, tokens)
    place = (packed.row.unsqueeze(1) * heads + torch.arange(heads, device=device)) * width + packed.slot.unsqueeze(1)
    bias = torch.zeros(packed.mask.shape, device=device).masked_fill_(~packed.mask, float("-inf"))
    return Layout(token.view(batch, 1, width), place, bias.repeat_interleave(heads, 0).unsqueeze(1))


class _Spread(torch.autograd.Function):
    """Rows source of x, in which every row of x but the spare ones at its end is found at target; other places have no gradient."""

    @staticmethod
    def forward(ctx, x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        ctx.save_for_backward(target)
        ctx.spare = len(x) - len(target)
        return x.index_select(0, source)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        return _selected(grad.contiguous(), ctx.saved_tensors[0], ctx.spare), None, None


class _Pick(torch.autograd.Function):
    """Rows of x at distinct places, and `spare` rows of zeros; the other rows of x get a gradient of zero."""

    @staticmethod
    def forward(ctx, x: Tensor, place: Tensor, spare: int) -> Tensor:
        ctx.save_for_backward(place)
        ctx.rows = len(x)
        return _selected(x, place, spare)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        place = ctx.saved_tensors[0]
        whole = grad.new_zeros(ctx.rows, grad.shape[1])
        return whole.index_copy_(0, place, grad[: len(place)].contiguous()), None, None


def _selected(x: Tensor, rows: Tensor, spare: int) -> Tensor:
    """These rows of x, and `spare` rows of zeros behind them."""
    found = x.new_empty(len(rows) + spare, x.shape[1])
    torch.index_select(x, 0, rows, out=found[: len(rows)])
    found[len(rows) :] = 0.0
    return found
