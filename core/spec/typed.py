"""Whether what a file states has the types that its fields are declared with: Python does not ask, and a study with a number for a word
would fail later, far from its file."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from core.spec.errors import StudyError


def check_types(stated: Any) -> None:
    """Refuse a dataclass of which a field, or a field of a dataclass within it, has a value of another type than is declared. Raises StudyError."""
    kind: Any = type(stated)
    hints = _hints(kind)
    for field in dataclasses.fields(stated):
        if not field.init:
            continue
        value, declared = getattr(stated, field.name), hints[field.name]
        if not _fits(value, declared):
            said = f"{kind.__name__}'s {field.name} is {value!r:.80}"
            here = f"{kind.__name__}({field.name}={value!r})"  # as it stands in the file, if it is written out there
            raise StudyError(f"{said}, where {_named(declared)} is wanted; write it so.", here, field.name)
        for inner in _within(value):
            check_types(inner)


@cache
def _hints(kind: Any) -> Mapping[str, object]:
    return typing.get_type_hints(kind)


def _fits(value: object, declared: object) -> bool:
    """Whether a value is of a declared type. A whole number is a real one; truth values are neither."""
    origin, parts = typing.get_origin(declared), typing.get_args(declared)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return isinstance(value, tuple(map(type, parts)))  # which words there are, core.spec.check says
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = parts[:1] * len(value) if parts[-1:] == (Ellipsis,) else parts
        return len(each) == len(value) and all(map(_fits, value, each))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_fits(key, parts[0]) and _fits(one, parts[1]) for key, one in value.items())
    if declared in (int, float):
        return isinstance(value, (int, float) if declared is float else int) and not isinstance(value, bool)
    kind = origin or declared
    return not isinstance(kind, type) or isinstance(value, kind)


def _within(value: object) -> Iterator[object]:
    """The dataclasses that a value is or holds."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
    for one in value if isinstance(value, tuple) else value.values() if isinstance(value, Mapping) else ():
        yield from _within(one)


def _named(declared: object) -> str:
    """A declared type as it is written in code."""
    text = declared.__name__ if isinstance(declared, type) and not typing.get_args(declared) else str(declared)
    return text.replace("typing.", "").replace("collections.abc.", "").replace("core.spec.table.", "").replace("core.spec.claim.", "")
