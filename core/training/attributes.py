"""The attributes of a model beside its weights: what a checkpoint and a CUDA graph may miss."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

OWN = frozenset(vars(nn.Module()))  # of every module
ELSEWHERE = ("encoder", "dropping", "terms")  # parts that the project keeps itself
NUMBER_TYPES = (bool, int, float, complex, str, bytes)


def attributes_of(model: nn.Module) -> dict[str, object]:
    """The content of each attribute and buffer of a model that can be compared, by its path."""
    contents = {}
    for name, value in _values(model):
        content = _attribute_content(value)
        if content is not None:
            contents[name] = content
    return contents


def in_place(model: nn.Module) -> dict[str, object]:
    """What a step may not exchange where a GPU replays it: numbers by value, and tensors by the
    place of their memory."""
    places: dict[str, object] = {}
    for name, value in _values(model):
        if isinstance(value, Tensor):
            places[name] = value.data_ptr()
        elif isinstance(value, NUMBER_TYPES):
            places[name] = value
    return places


def unregistered(model: nn.Module) -> list[str]:
    """The attributes that hold layers or trained tensors which are no part of the model."""
    registered = {id(part) for part in (*model.modules(), *model.parameters())}
    names = []
    for name, value in vars(model).items():
        if name in OWN or name in ELSEWHERE:
            continue
        for part in _attribute_parts(value):
            trained = isinstance(part, Tensor) and part.is_leaf and part.requires_grad
            if (isinstance(part, nn.Module) or trained) and id(part) not in registered:
                names.append(name)
                break
    return names


def _attribute_parts(value: Any) -> Iterator[Any]:
    """A value, or what a list, tuple or mapping holds, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        yield value
        return
    for part in value:
        yield from _attribute_parts(part)


def _values(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Each attribute and buffer of a model's modules by its path, but for those of the encoder."""
    for path, module in model.named_modules():
        if path.split(".")[0] in ELSEWHERE:
            continue
        prefix = f"{path}." if path else ""
        for name, value in (*vars(module).items(), *module._buffers.items()):
            if name not in OWN:
                yield f"{prefix}{name}", value


def _attribute_content(value: Any) -> object:
    """A value as something that equals another of the same content; None if it cannot be
    compared."""
    if isinstance(value, Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1)
        return tuple(value.shape), str(value.dtype), flat.view(torch.uint8).numpy().tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, dict):
        return tuple((repr(key), _attribute_content(part)) for key, part in value.items())
    if hasattr(value, "__iter__") and not isinstance(value, (*NUMBER_TYPES, nn.Module)):
        return tuple(_attribute_content(part) for part in value)
    if value is None or isinstance(value, NUMBER_TYPES):
        return repr(value)
    return None
