"""Dropout whose masks follow from the run's seed and a position alone, the same bits on every processor and GPU.

The stream is SplitMix64 (Steele, Lea and Flood 2014): word i is a fixed mixing of key + (i + 1) * GAMMA, so that any place of
it can be computed at once, on any device, in integers. A word gives four draws of 16 bits. torch's own dropout would draw 64 bits
of a Mersenne twister for each element on one thread, and other numbers on other makers' processors and on GPUs.

An element is dropped where its draw is below `dropped_of_65536`, the rate to the nearest 2^-16; what is kept is divided by exactly
the probability with which it is kept, so the expectation is the input.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from core.engine.streams import stream_seed

GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
DRAWS = 65_536  # values of a draw
DRAWS_A_WORD = 4
BLOCK = 16_384  # words that are mixed at once on a CPU: they, and what is made of them, stay in its cache
_WEYL = np.arange(1, BLOCK + 1, dtype=np.uint64) * np.uint64(GAMMA)  # (BLOCK,)


def dropped_of_65536(rate: float) -> int:
    """How many of the 65,536 values of a draw drop an element: rate * 2^16 to the nearest, never all of them."""
    return min(round(rate * DRAWS), DRAWS - 1)


class DropoutStream(nn.Module):
    """The stream of one run, a part of its model. `position`, a buffer, is the number of words used so far, a whole number () on the run's device.

    It stays on its device, so that a GPU need not be waited for and a replayed CUDA graph moves on by itself.
    """

    position: Tensor

    def __init__(self, seed: int, device: torch.device | str = "cpu"):
        super().__init__()
        self.key = stream_seed(seed, "dropout")
        self.register_buffer("position", torch.zeros((), dtype=torch.int64, device=device))
        self._kept: dict[int, Tensor] = {}  # masks from `mark` to `rewind`, by position, on a CPU
        self._keeps = False

    def mask(self, shape: torch.Size, rate: float, dtype: torch.dtype, spare: int = 0) -> Tensor:
        """What a tensor of this shape is multiplied with: 0 where dropped, else 1 / share kept; in a half type 1, which has no such
        number, so that the caller must scale. The last `spare` rows hold nothing: they draw nothing and get 0."""
        dropped, whole = dropped_of_65536(rate), math.prod(shape)
        count = whole - spare * math.prod(shape[1:])
        words = -(-count // DRAWS_A_WORD)
        kept = scale(rate) if dtype.itemsize > 2 else 1.0
        if self.position.device.type == "cpu":
            start = int(self.position)
            found = self._kept.pop(start, None)
            if found is None:
                found = _on_a_cpu(self.key + start * GAMMA, words, dropped - DRAWS // 2, kept, dtype, whole)[:whole].view(shape)
                found.flatten()[count:] = 0.0
                if self._keeps:
                    self._kept[start] = found
        else:
            draws = self._words(words).view(torch.int16)[:count]
            found = (draws >= dropped - DRAWS // 2).to(dtype).mul_(kept)
            found = (F.pad(found, (0, whole - count)) if spare else found).view(shape)
        self.position += words
        return found

    def mark(self) -> Tensor:
        """Where the stream stands, for `rewind`."""
        self._keeps = True
        return self.position.clone()

    def rewind(self, mark: Tensor) -> None:
        """Go back to a mark: the masks that come now are those that came after it. A CPU has kept them, a GPU draws them again."""
        self._keeps = False
        self.position.copy_(mark)

    def _words(self, count: int) -> Tensor:
        """The next words, (count,) int64, in torch's own operations."""
        numbers = torch.arange(1, count + 1, device=self.position.device) + self.position
        return mixed(numbers * _signed(GAMMA) + self.key)


def mixed(z: Tensor) -> Tensor:
    """SplitMix64's mixing of whole numbers, int64 as it wraps around."""
    z = (z ^ _shifted(z, 30)) * _signed(FIRST)
    z = (z ^ _shifted(z, 27)) * _signed(SECOND)
    return z ^ _shifted(z, 31)


def scale(rate: float) -> float:
    """One over the probability that an element is kept."""
    return DRAWS / (DRAWS - dropped_of_65536(rate))


def _shifted(z: Tensor, bits: int) -> Tensor:
    """z to the right, with zeros behind it: int64 would put the sign there."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _on_a_cpu(offset: int, words: int, least: int, kept: float, dtype: torch.dtype, room: int) -> Tensor:
    """Masks (4 * words,) of the words after this offset of the Weyl sequence: `kept` where a draw, read as int16, is `least` or more.

    There is room for `room` elements at least; those behind the masks are anything."""
    mask = torch.empty(max(words * DRAWS_A_WORD, room), dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    block, aside = np.empty(min(words, BLOCK), np.uint64), np.empty(min(words, BLOCK), np.uint64)
    for start in range(0, words, BLOCK):
        size = min(BLOCK, words - start)
        z, other = block[:size], aside[:size]
        np.add(_WEYL[:size], np.uint64((offset + start * GAMMA) % (1 << 64)), out=z)
        for bits, factor in ((30, FIRST), (27, SECOND)):
            np.right_shift(z, np.uint64(bits), out=other)
            np.bitwise_xor(z, other, out=z)
            np.multiply(z, np.uint64(factor), out=z)
        np.right_shift(z, np.uint64(31), out=other)
        np.bitwise_xor(z, other, out=z)
        part = mask[start * DRAWS_A_WORD : (start + size) * DRAWS_A_WORD]
        torch.ge(torch.from_numpy(z.view(np.int16)), least, out=part)
        part.mul_(kept)
    return mask.to(dtype)


class Dropout(nn.Module):
    """Dropout at a rate, from the stream that `give` has put here; nothing, and no draw, in evaluation or at rate 0."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate
        self.streams: tuple[DropoutStream, ...] = ()  # the run's one; not as an attribute, which would make it a part of every dropout

    @property
    def active(self) -> bool:
        """Whether it drops anything now."""
        return self.training and self.rate > 0.0

    def forward(self, x: Tensor, spare: int = 0) -> Tensor:
        """x with elements dropped, and the others over the share kept; the last `spare` rows hold nothing and become 0."""
        if not self.active:
            return x
        mask = self.streams[0].mask(x.shape, self.rate, x.dtype, spare)
        return x * mask if x.dtype.itemsize > 2 else x * mask * scale(self.rate)

    def added(self, x: Tensor, y: Tensor, spare: int = 0) -> Tensor:
        """x + dropout(y), in one pass where both have the same type; the last `spare` rows hold nothing."""
        if not self.active:
            return x + y
        if x.dtype != y.dtype or y.dtype.itemsize == 2:
            return x + self(y, spare)
        return _Added.apply(x, y, self.streams[0].mask(y.shape, self.rate, y.dtype, spare))


class _Added(torch.autograd.Function):
    """x + y * mask; torch's addcmul would multiply once more in its derivative."""

    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return torch.addcmul(x, y, mask)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        return grad, grad * ctx.saved_tensors[0], None


def give(model: nn.Module, stream: DropoutStream) -> None:
    """Let every dropout of the model draw from this stream. Copies of a module, made before, then draw for themselves."""
    for module in model.modules():
        if isinstance(module, Dropout):
            module.streams = (stream,)
