"""Batches of sentences: the tokens of all in one line without padding, or padded, in one shape for
all.

Attention needs a grid: rows move between the line and the grid in one copy each way. Cells of the
grid without a token hold the batch's first token, which saves filling them with zeros: attention
never sees such a key, and nothing reads such a query. The line ends in up to ROWS - 1 spare rows
that nothing reads, so that few lengths occur: for a new length oneDNN writes new machine code for
each product, which took a tenth of a demo step. Neither kind of place has a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS = 32  # the line's length is a multiple of it


class Packed(NamedTuple):
    """A batch of B sentences in a line of T tokens: real ones alone on a CPU, padded to T = B * L
    on a GPU.

    ids, row, slot: (T,) token id, its sentence, its place in the sentence. first: (B,) index of
    each sentence's first token ([CLS]). mask: (B, L) True at real tokens. bias: of a padded batch,
    (B, L) float32, 0 at real tokens and -inf at padding. parts: how many views the batch holds, one
    behind the other, if `in_parts` has stated it.
    """

    ids: Tensor
    row: Tensor
    slot: Tensor
    first: Tensor
    mask: Tensor
    bias: Tensor | None = None
    parts: int | None = None

    @property
    def batch(self) -> int:
        """Number of sentences."""
        return self.mask.shape[0]

    @property
    def width(self) -> int:
        """L: tokens of the longest sentence, or slots of each in a padded batch."""
        return self.mask.shape[1]

    @property
    def lengths(self) -> Tensor:
        """Real tokens per sentence, (B,)."""
        return self.mask.sum(1)


def pack(sentences: Sequence[np.ndarray], device: torch.device | str = "cpu") -> Packed:
    """Pack token-id arrays, special tokens included, one per sentence."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)  # (B,)
    mask = np.arange(lengths.max()) < lengths[:, None]  # (B, L)
    row, slot = map(np.ascontiguousarray, np.nonzero(mask))  # (T,) each
    arrays = (
        np.concatenate(sentences).astype(np.int64, casting="safe"),  # no fractions
        row,
        slot,
        np.cumsum(lengths) - lengths,
        mask,
    )
    tensors: Any = (torch.from_numpy(array).to(device) for array in arrays)
    return Packed(*tensors)


def token_matrix(sentences: Sequence[np.ndarray], width: int | None = None) -> Tensor:
    """Token-id arrays as one matrix (B, 1 + L) int64 on the CPU: each sentence's length, its
    tokens, and zeros. L is `width`, or the longest sentence's number of tokens. `padded` makes a
    batch of it."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))  # (B,)
    if width is None:
        width = int(lengths.max())
    matrix = np.zeros((len(lengths), 1 + width), np.int64)
    matrix[:, 0] = lengths
    matrix[:, 1:][np.arange(width) < lengths[:, None]] = np.concatenate(sentences, dtype=np.int64)
    return torch.from_numpy(matrix)


def in_parts(batch: Packed | Tensor, parts: int) -> Packed | Tensor:
    """The same batch, which states that it holds so many views of equal number, one behind the
    other. A matrix (B, 1 + L) gets the shape (parts, B / parts, 1 + L)."""
    if isinstance(batch, Packed):
        return batch._replace(parts=parts)
    return batch.view(parts, len(batch) // parts, -1)


def looked_up(ids: Tensor, offsets: Tensor, chosen: Tensor, width: int) -> Tensor:
    """What `token_matrix` makes of the sentences `chosen` (B,) of a token table, none longer than
    `width`, on its device: (B, 1 + L) int64. ids, offsets: the table, as `TokenTable` has it."""
    # (B,) each
    start = offsets[chosen]
    lengths = offsets[chosen + 1] - offsets[chosen]
    slots = torch.arange(width, device=ids.device)
    places = (start[:, None] + slots).clamp(max=len(ids) - 1)  # (B, L)
    tokens = ids[places].where(slots < lengths[:, None], 0)
    return torch.cat([lengths[:, None], tokens], dim=1).to(torch.int64)


class TokenPlaces(NamedTuple):
    """Row, slot (B * L,) and first (B,), as `Packed` has them, of all padded batches of one
    shape."""

    row: Tensor
    slot: Tensor
    first: Tensor


def places(batch: int, width: int, device: torch.device | str) -> TokenPlaces:
    """The places of padded batches of the shape (B, L)."""
    cells = torch.arange(batch * width, device=device)
    return TokenPlaces(cells // width, cells % width, torch.arange(batch, device=device) * width)


def padded(matrix: Tensor, shared: TokenPlaces | None = None) -> Packed:
    """The batch of a matrix (B, 1 + L) from `token_matrix` or `in_parts`, on its device. Padding
    holds token 0, which no real token attends to and no loss reads. `shared` are the places of this
    shape, if made before."""
    parts = None
    if matrix.dim() == 3:
        parts = len(matrix)
        matrix = matrix.flatten(0, 1)
    batch = matrix.shape[0]
    width = matrix.shape[1] - 1
    if shared is None:
        shared = places(batch, width, matrix.device)
    row, slot, first = shared
    mask = slot.view(batch, width) < matrix[:, :1]
    bias = torch.zeros((), device=matrix.device).where(mask, float("-inf"))  # (B, L)
    return Packed(matrix[:, 1:].reshape(-1), row, slot, first, mask, bias, parts)


class Layout:
    """The grid of a batch without padding of T tokens, B sentences of up to L; its line has R rows,
    T and the spare ones.

    token: (B, 1, L) the token of each cell. place: (T, heads) where each head of a token lies in
    the flattened grid (B, heads, L). bias: (B * heads, 1, L) 0 at tokens and -inf at padding.
    """

    def __init__(self, packed: Packed, heads: int):
        device = packed.row.device
        batch, width = packed.mask.shape
        cells = packed.row * width + packed.slot
        tokens = torch.arange(len(packed.row), device=device)
        token = torch.zeros(batch * width, dtype=torch.int64, device=device).index_copy_(
            0, cells, tokens
        )
        head = packed.row.unsqueeze(1) * heads + torch.arange(heads, device=device)  # (T, heads)
        bias = torch.zeros(packed.mask.shape, device=device).masked_fill_(
            ~packed.mask, float("-inf")
        )
        self.token = token.view(batch, 1, width)
        self.place = head * width + packed.slot.unsqueeze(1)
        self.bias = bias.repeat_interleave(heads, 0).unsqueeze(1)
        self.spare = -len(tokens) % ROWS  # R - T

    def lengthened(self, x: Tensor) -> Tensor:
        """(T, hidden) to (R, hidden): spare rows copy the first, since LayerNorm has no use for
        zeros."""
        if not self.spare:
            return x
        return torch.cat([x, x[:1].detach().expand(self.spare, -1)])

    def to_grid(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Packed (R, parts * heads * d) as `parts` grids, each (B * heads, L, d)."""
        batch, _, width = self.token.shape
        heads = self.place.shape[1]
        numbers = torch.arange(parts * heads, device=x.device).view(parts, 1, heads, 1)
        source = (self.token * (parts * heads) + numbers).flatten()  # (parts * B * heads * L,)
        starts = torch.arange(parts, device=x.device).view(1, parts, 1) * (batch * heads * width)
        target = (self.place.unsqueeze(1) + starts).flatten()  # (T * parts * heads,)
        cells = _Spread.apply(x.view(len(x) * parts * heads, -1), source, target)
        return cells.view(parts, batch * heads, width, -1).unbind()

    def to_line(self, grid: Tensor) -> Tensor:
        """(B * heads, L, d) as packed (R, heads * d)."""
        tokens, heads = self.place.shape
        picked = _Pick.apply(
            grid.reshape(-1, grid.shape[-1]), self.place.flatten(), self.spare * heads
        )
        return picked.view(tokens + self.spare, -1)


class _Spread(torch.autograd.Function):
    """Rows `source` of x. Each row of x but the spare ones at its end gets the gradient at its
    `target`."""

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
    """Rows of x at distinct places, and `spare` rows of zeros."""

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
    selected = x.new_empty(len(rows) + spare, x.shape[1])
    torch.index_select(x, 0, rows, out=selected[: len(rows)])
    selected[len(rows) :] = 0.0
    return selected
