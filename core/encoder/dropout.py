"""Dropout: on a CPU from a stream of our own, the same bits on every processor; on a GPU torch's.

The stream is SplitMix64 (Steele, Lea and Flood 2014): word i is a fixed mixing of key + (i + 1) *
GAMMA, so any place of it is computed at once, in integers. A word gives four draws of 16 bits;
torch's own dropout would draw 64 bits of a Mersenne twister for each element on one thread, other
ones on other processors. An element is dropped where its draw is below `dropped_of_65536`; what is
kept is divided by the exact probability of being kept, so the expectation is the input. On a GPU
such masks would take 45 % of a step's kernels, so torch draws there, from the run's seed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.encoder.streams import stream_seed

GAMMA = 0x9E3779B97F4A7C15
FIRST_FACTOR = 0xBF58476D1CE4E5B9
SECOND_FACTOR = 0x94D049BB133111EB
DRAW_VALUES = 65_536  # values of a draw
DRAWS_A_WORD = 4
# words that are mixed at once on a CPU: they, and what is made of them, stay in its cache
BLOCK = 16_384
_WEYL = np.arange(1, BLOCK + 1, dtype=np.uint64) * np.uint64(GAMMA)  # (BLOCK,)


def dropped_of_65536(rate: float) -> int:
    """How many of the 65,536 values of a draw drop an element: rate * 2^16 to the nearest, never
    all."""
    return min(round(rate * DRAW_VALUES), DRAW_VALUES - 1)


class DropoutStream(nn.Module):
    """The stream of one run on a CPU, a part of its model. `position` counts the words used so
    far."""

    position: Tensor

    def __init__(self, seed: int):
        super().__init__()
        self.key = stream_seed(seed, "dropout")
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))
        self._kept: dict[int, Tensor] = {}  # masks drawn within `ahead`, by position
        self._keeps = False

    def mask(self, shape: torch.Size, rate: float, dtype: torch.dtype, spare: int = 0) -> Tensor:
        """What a tensor of this shape is multiplied with: 0 where dropped, else 1 / share kept, or
        in a half type 1, so that the caller must scale. The last `spare` rows draw nothing and get
        0."""
        whole = math.prod(shape)
        start = int(self.position)
        count = whole - spare * math.prod(shape[1:])
        words = -(-count // DRAWS_A_WORD)
        self.position += words
        if start in self._kept:
            return self._kept.pop(start)
        least = dropped_of_65536(rate) - DRAW_VALUES // 2
        kept = 1.0
        if dtype.itemsize > 2:
            kept = scale(rate)
        mask = _masks(self.key + start * GAMMA, words, least, kept, dtype, whole)[:whole]
        mask[count:] = 0.0
        if self._keeps:
            self._kept[start] = mask.view(shape)
        return mask.view(shape)

    @contextlib.contextmanager
    def ahead(self) -> Iterator[None]:
        """Within this context masks are drawn that come again once it is left."""
        mark = self.position.clone()
        torchs = torch.get_rng_state()  # for layers that drop with torch's own generator
        self._keeps = True
        yield
        self._keeps = False
        self.position.copy_(mark)
        torch.set_rng_state(torchs)

    again = contextlib.nullcontext  # within it the masks of `ahead` come again, by their position


class DeviceDropout(nn.Module):
    """The seeds of torch's own dropout in one run on a GPU, a part of its model.

    Two generators have one seed, so each draws what the other drew: the only way to equal masks
    that a CUDA graph allows.
    """

    def __init__(self, seed: int, device: torch.device):
        super().__init__()
        # torch's own and the two; none without numbers
        self.generators: tuple[torch.Generator, ...] = ()
        if device.type == "cuda":
            torch.cuda.init()
            index = device.index
            if index is None:
                index = torch.cuda.current_device()
            usual = torch.cuda.default_generators[index]
            self.generators = (usual, torch.Generator(device), torch.Generator(device))
            usual.manual_seed(stream_seed(seed, "dropout"))
            for generator in self.generators[1:]:
                generator.manual_seed(stream_seed(seed, "dropout of both passes"))

    def ahead(self) -> contextlib.AbstractContextManager:
        """Within this context masks are drawn that come again within `again`."""
        return self._instead(1)

    def again(self) -> contextlib.AbstractContextManager:
        """Within this context the masks of `ahead` come again, where there were any."""
        return self._instead(2)

    @contextlib.contextmanager
    def _instead(self, twin: int) -> Iterator[None]:
        if not self.generators:
            yield
            return
        usual = self.generators[0]
        before = usual.graphsafe_get_state()
        usual.graphsafe_set_state(self.generators[twin])
        try:
            yield
        finally:
            usual.graphsafe_set_state(before)

    def get_extra_state(self) -> list[Tensor]:
        """The generators' states for a checkpoint, (16,) bytes each."""
        return [generator.get_state() for generator in self.generators]

    def set_extra_state(self, state: list[Tensor]) -> None:
        """Put back what `get_extra_state` gave. Raises ValueError."""
        for generator, saved in zip(self.generators, state, strict=True):
            generator.set_state(saved.cpu())


def dropping(seed: int, device: torch.device, model: nn.Module) -> DropoutStream | DeviceDropout:
    """What the model's dropout draws from on this device, with every dropout of the model set to
    it. Copies of a module, made before, then draw for themselves."""
    if device.type != "cpu":
        return DeviceDropout(seed, device)
    stream = DropoutStream(seed)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.streams = (stream,)
    return stream


def scale(rate: float) -> float:
    """One over the probability that an element is kept."""
    return DRAW_VALUES / (DRAW_VALUES - dropped_of_65536(rate))


def _masks(
    offset: int, words: int, least: int, kept: float, dtype: torch.dtype, room: int
) -> Tensor:
    """Masks (4 * words,) of the words after this offset of the Weyl sequence: `kept` where a draw,
    read as int16, is `least` or more. At least `room` elements; those behind the masks are
    anything."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    mask = torch.empty(max(words * DRAWS_A_WORD, room), dtype=wide)
    block = np.empty(min(words, BLOCK), np.uint64)
    aside = np.empty(min(words, BLOCK), np.uint64)
    for start in range(0, words, BLOCK):
        size = min(BLOCK, words - start)
        z = block[:size]
        other = aside[:size]
        np.add(_WEYL[:size], np.uint64((offset + start * GAMMA) % (1 << 64)), out=z)
        for bits, factor in ((30, FIRST_FACTOR), (27, SECOND_FACTOR)):
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
    """Dropout at a rate, from the stream that `dropping` has put here, or torch's own."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate
        # in a tuple, so that it is no part of every dropout
        self.streams: tuple[DropoutStream, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it drops anything now: not in evaluation, nor at rate 0."""
        return self.training and self.rate > 0.0

    def forward(self, x: Tensor, spare: int = 0) -> Tensor:
        """x with elements dropped, the others over the share kept; the last `spare` rows become
        0."""
        if not self.active:
            return x
        if not self.streams:
            return F.dropout(x, self.rate)
        mask = self.streams[0].mask(x.shape, self.rate, x.dtype, spare)
        if x.dtype.itemsize > 2:
            return x * mask
        return x * mask * scale(self.rate)

    def added(self, x: Tensor, y: Tensor, spare: int = 0) -> Tensor:
        """x + dropout(y), in one pass where both have the same type."""
        if not self.active:
            return x + y
        if not self.streams or x.dtype != y.dtype or y.dtype.itemsize == 2:
            return x + self(y, spare)
        return torch.addcmul(x, y, self.streams[0].mask(y.shape, self.rate, y.dtype, spare))
