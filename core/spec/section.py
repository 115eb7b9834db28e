"""Typed, frozen configuration sections: what a field may hold is checked when the object is made."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable
from typing import TypeVar

from core.spec.bounds import MOST
from core.spec.errors import UserError

Class = TypeVar("Class", bound=type)
Found = TypeVar("Found")
WHOLE = 2**53  # whole numbers below it survive as floats, in JSON and in Parquet


class Section:
    """Base of every configuration section: checks each field against its annotation.

    An int where a float is declared becomes a float, since `1` and `1.0` would otherwise be two run ids.
    Raises UserError for any other mismatch; subclasses add cross-field rules in `check()`.
    """

    __slots__ = ()
    __dataclass_fields__: typing.ClassVar[dict[str, dataclasses.Field[typing.Any]]]  # every section is a dataclass

    def __post_init__(self):
        for name, expected, path, plain in _declared(type(self)):
            value = getattr(self, name)
            if type(value) not in plain:
                object.__setattr__(self, name, checked(value, expected, path))
        self.check()

    @classmethod
    def label(cls) -> str:
        """The name of the section in dotted paths, for messages."""
        return cls.__name__.lower()

    def check(self) -> None:
        """Refuse contradictions between fields; overridden where there are any."""


def kept(function: Callable[[Class], Found]) -> Callable[[Class], Found]:
    """functools.cache for a function of a class; its own types take no classes."""
    return functools.cache(function)


@kept  # resolving annotations is most of what making a section costs
def field_types(section: type) -> dict[str, typing.Any]:
    """Resolved annotations of a section class, by field name."""
    return typing.get_type_hints(section)


@kept
def meanings(section: type) -> dict[str, str]:
    """What each field of a section class means, by its public name: the text beside its type in `Annotated[type, text]`."""
    annotated = typing.get_type_hints(section, include_extras=True)
    return {public_name(name): hint.__metadata__[0] for name, hint in annotated.items() if hasattr(hint, "__metadata__")}


@kept
def _declared(section: type[Section]) -> tuple[tuple[str, typing.Any, str, frozenset[type]], ...]:
    """Name, resolved annotation and dotted path of each field of a section class, and the types whose every value fits."""
    hints = field_types(section)
    return tuple(
        (f.name, hints[f.name], f"{section.label()}.{public_name(f.name)}", _plain(hints[f.name])) for f in dataclasses.fields(section)
    )


def _plain(expected) -> frozenset[type]:
    """The members of an annotation of which every value fits as it is: not numbers, which have limits, and not literals."""
    options = [option for option in alternatives(expected) if isinstance(option, type)]
    return frozenset(option for option in options if option in (str, bool, type(None)) or issubclass(option, Section))


@kept
def public_names(section: type[Section]) -> dict[str, str]:
    """The fields of a section class by their public names."""
    return {public_name(field.name): field.name for field in dataclasses.fields(section)}


def public_name(field_name: str) -> str:
    """The field's name in paths and canonical form: `lambda_` is written `lambda`, a Python keyword."""
    return field_name.rstrip("_")


def checked(value, expected, path: str):
    """`value` as `expected` wants it, or UserError naming `path`, the value and what is allowed."""
    if not fits(value, expected):
        try:
            shown = repr(value)
        except ValueError:  # a number of thousands of digits
            shown = "enormous"
        raise UserError(f"{path} is {shown if len(shown) <= 80 else f'{shown[:80]}…'}, but it must be {describe(expected)}.")
    if type(value) is int and value > MOST.get(path, WHOLE):
        raise UserError(f"{path} is {value}, but {MOST[path]} is the most that can be trained; lower it.")
    if type(value) in (int, float) and float in alternatives(expected) and int not in alternatives(expected):
        return float(value) + 0.0  # -0.0 is written otherwise than 0.0, and would be another run id for the same run
    return value


def fits(value, expected) -> bool:
    """Whether a value may stand in a field of this annotation."""
    origin = typing.get_origin(expected)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, option) for option in typing.get_args(expected))
    if origin is typing.Literal:
        return any(value == option and type(value) is type(option) for option in typing.get_args(expected))
    if origin is tuple:
        inner = typing.get_args(expected)
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(fits(v, t) for v, t in zip(value, inner, strict=True))
    if expected is float:
        return type(value) is int or (type(value) is float and math.isfinite(value))
    if expected is int:
        return type(value) is int and abs(value) < WHOLE
    if expected in (str, bool, type(None)):
        return type(value) is expected
    return isinstance(value, expected)


def alternatives(expected) -> tuple:
    """The members of a union, or the annotation itself."""
    if typing.get_origin(expected) in (typing.Union, types.UnionType):
        return typing.get_args(expected)
    return (expected,)


def describe(expected) -> str:
    """An annotation in words, for messages: `"on" or "off"`, `a whole number`, `none`."""
    words = []
    for option in alternatives(expected):
        if typing.get_origin(option) is typing.Literal:
            words += [repr(value) for value in typing.get_args(option)]
        elif typing.get_origin(option) is tuple:
            words.append("ranges such as 0-128 or 0-128,384-512")
        else:
            names = {int: "a whole number below 2**53", float: "a finite number", str: "text", bool: "true or false", type(None): "none"}
            words.append(names.get(option, getattr(option, "__name__", str(option))))
    return " or ".join(words)
