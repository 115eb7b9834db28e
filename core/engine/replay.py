"""Steps at fixed shapes, replayed as CUDA graphs: a GPU then does a step's arithmetic without waiting for its hundreds of launches.

Off unless asked for (`--cuda-graphs`). Padding is computed and then read by nobody, which on a GPU costs less than launching kernels
whose shapes change; dropout draws for it, too, so such a run and one without graphs are two samples of the same distribution. Masks
are drawn within the graph: its stream's position lies on the GPU and moves on with every replay.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from core.engine.encoder.dropout import DropoutStream
from core.engine.encoder.packing import Packed

SETTLED = 3  # calls in a row with the same shapes; a step with FGSM's current gradient makes two


@contextlib.contextmanager
def aside(device: torch.device, replays: bool) -> Iterator[None]:
    """Within this context a GPU that replays steps works on a stream of its own: gradients wait for the stream that their weights were
    first read on, and a capture may not make the legacy stream wait. Nothing on another device, or where no step is replayed."""
    if device.type != "cuda" or not replays:
        yield
        return
    usual, own = torch.cuda.current_stream(device), torch.cuda.Stream(device)
    own.wait_stream(usual)
    with torch.cuda.stream(own):
        yield
    usual.wait_stream(own)


def spread(batch: Packed, width: int) -> Packed:
    """The batch with `width` slots for each sentence. Slots without a token hold token 0; attention sees none of them as a key and
    no loss reads them, so they have no gradient."""
    width = max(width, batch.width)
    row, slot, first, cells = _places(batch.batch, width, batch.ids.device)
    ids = torch.zeros_like(row).index_copy_(0, batch.row * width + batch.slot, batch.ids)
    return Packed(ids, row, slot, first, F.pad(batch.mask, (0, width - batch.width)), cells)


@functools.lru_cache(maxsize=8)
def _places(sentences: int, width: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Row, slot, first and cells of a batch without padding left out, (sentences * width,) but first (sentences,)."""
    cells = torch.arange(sentences * width, device=device)
    return cells // width, cells % width, torch.arange(sentences, device=device) * width, cells


class Replayed:
    """A pure function of tensors (and of batches of them) over the parameters of a module, with gradients.

    Once several calls in a row had the same shapes (a queue has then stopped growing), forward and backward are captured, and calls
    of these shapes replay them; other calls are computed as usual. What a replay returns is overwritten by the next one. Capturing
    draws nothing from the dropout's stream `dropping`.
    """

    def __init__(self, compute: Callable, module: nn.Module, dropping: DropoutStream | None = None):
        self._compute, self._module, self._dropping = compute, module, dropping
        self._shapes: object = None  # of the captured calls, or of the last one before
        self._alike = 0  # calls in a row with these shapes, before the capture
        self._replay: Callable | None = None
        self._derives = True  # whether what it gives has a gradient

    def __call__(self, *arguments):
        shapes = tree_map(lambda tensor: (tensor.shape, tensor.requires_grad), arguments)
        if self._replay is None:
            self._alike = self._alike + 1 if shapes == self._shapes else 1
            self._shapes = shapes
            if self._alike == SETTLED:
                self._replay = _captured(self._compute, self._module, arguments, self._dropping)
        if self._replay is not None and shapes == self._shapes:
            with torch.set_grad_enabled(self._derives and torch.is_grad_enabled()):  # nothing was captured to go back through
                return self._replay(*arguments)
        found = self._compute(*arguments)
        self._derives = any(tensor.requires_grad for tensor in tree_leaves(found))
        return found


class _Whole(nn.Module):
    """A function with the module whose parameters it reads, for PyTorch to find them."""

    def __init__(self, compute: Callable, module: nn.Module):
        super().__init__()
        self.compute, self.module = compute, module

    def forward(self, *arguments):
        return self.compute(*arguments)


def _captured(compute: Callable, module: nn.Module, arguments: tuple, dropping: DropoutStream | None) -> Callable:
    """The function as CUDA graphs for arguments of these shapes; the weights must stay where they are."""
    samples = tree_map(lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad), arguments)
    mark = dropping.mark() if dropping is not None else None
    replay = torch.cuda.make_graphed_callables(_Whole(compute, module), samples, allow_unused_input=True)
    if dropping is not None and mark is not None:
        dropping.rewind(mark)
    return replay
