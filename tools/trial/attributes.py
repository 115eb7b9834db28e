"""The attributes of a model that its state does not hold, which a resumed run loses."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PLAIN = (int, float, str, bytes, type(None))
OF_TORCH = {*vars(nn.Module())}


def lost(whole: nn.Module, resumed: nn.Module) -> Iterator[str]:
    """The attributes that differ between a run and the same run resumed."""
    other = dict(resumed.named_modules())
    for path, module in whole.named_modules():
        for name, value in vars(module).items():
            if name in OF_TORCH:
                continue
            if _content(value) != _content(vars(other[path]).get(name)):
                yield ".".join(filter(None, [path, name]))


def _content(value: Any, within: tuple[int, ...] = ()) -> Any:
    """A value in a form that can be compared, and what lies within it."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Tensor):
        return value.dtype, value.shape, value.detach().cpu().numpy().tobytes()
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, torch.Generator):
        return _content(value.get_state())
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return _content(value.bit_generator.state)
    if id(value) in within or isinstance(value, type):
        return None
    within = (*within, id(value))
    if isinstance(value, Mapping):
        return [(str(key), _content(entry, within)) for key, entry in value.items()]
    if isinstance(value, list | tuple):
        return [_content(entry, within) for entry in value]
    if isinstance(value, set | frozenset):
        return len(value)
    if isinstance(value, nn.Module) or not hasattr(value, "__dict__"):
        return None
    return _content(vars(value), within)
