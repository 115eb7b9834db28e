"""Frozen dataclasses that check their fields when they are made, and numbers as people write
them."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from core.errors import UserError

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
UNIONS = (typing.Union, types.UnionType)
LARGEST_WHOLE = 2**53  # whole numbers below it survive as floats, in JSON and in Parquet
NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    type(None): "none",
    tuple[tuple[int, int], ...]: "ranges such as 0-128 or 0-128,384-512",
}
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


class Bound(typing.NamedTuple):
    """What a value must be beside its type: `Annotated[int, "steps of the run", at_least(1)]`."""

    words: str
    holds: Callable[[Any], bool]


def at_least(low: int) -> Bound:
    """A number must be at least this large."""
    return Bound(f"at least {low}", lambda value: value >= low)


def one_of(names: tuple[str, ...]) -> Bound:
    """A text must be one of these."""
    return Bound(f"one of {', '.join(names)}", names.__contains__)


ABOVE_0 = Bound("above 0", lambda value: value > 0)
SHARE = Bound("at least 0 and below 1", lambda value: 0 <= value < 1)


class Typed:
    """Base of the frozen dataclasses that a study's file states: each field is checked against its
    annotation, and subclasses add rules across fields in `check()`. Raises UserError.

    An int where a float is declared becomes a float, since `1` and `1.0` would otherwise be two run
    ids.
    """

    __slots__ = ()
    __dataclass_fields__: typing.ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self):
        for name, expected, place, bounds, plain in _declared(type(self)):
            value = getattr(self, name)
            if type(value) not in plain:
                object.__setattr__(self, name, checked(value, expected, place, bounds))
        self.check()

    @classmethod
    def place_of(cls, name: str) -> str:
        """A field in messages."""
        return f"{cls.__name__}'s {name}"

    def check(self) -> None:
        """Refuse contradictions between fields; overridden where there are any."""


class Section(Typed):
    """Base of every section of a run's configuration."""

    __slots__ = ()
    # the section's name in dotted paths, if it is not that of its class
    in_paths: typing.ClassVar[str] = ""

    @classmethod
    def label(cls) -> str:
        """The name of the section in dotted paths."""
        return cls.in_paths or cls.__name__.lower()

    @classmethod
    def place_of(cls, name: str) -> str:
        """The dotted path of a field."""
        return f"{cls.label()}.{public_name(name)}"


def cached_by_class(function: Callable[[Class], Value]) -> Callable[[Class], Value]:
    """functools.cache for a function of a class; its own types take no classes."""
    return functools.cache(function)


@cached_by_class  # resolving annotations is most of what making a section costs
def field_types(section: type) -> dict[str, Any]:
    """Resolved annotations of a section class, by field name."""
    return typing.get_type_hints(section)


def meanings(section: type) -> dict[str, str]:
    """What each field means, by its public name: the text beside its type in `Annotated[type,
    text]`."""
    texts = {}
    for name, hint in typing.get_type_hints(section, include_extras=True).items():
        if hasattr(hint, "__metadata__"):
            texts[public_name(name)] = hint.__metadata__[0]
    return texts


@cached_by_class
def _declared(typed: type[Typed]) -> list[tuple[str, Any, str, tuple[Bound, ...], set[type]]]:
    """Name, annotation, place and bounds of each field, and the types of which every value fits."""
    declared = []
    annotations = typing.get_type_hints(typed, include_extras=True)
    for field in dataclasses.fields(typed):
        name = field.name
        hint = field_types(typed)[name]
        place = typed.place_of(name)
        bounds = getattr(annotations[name], "__metadata__", ())[1:]
        for option in alternatives(hint):
            is_class = isinstance(option, type) and option not in (list, dict)
            if not is_class and typing.get_origin(option) not in (Literal, tuple, Mapping):
                raise UserError(
                    f"{place} has the type {option}; give it int, float, str, bool, None, Literal, "
                    "tuple or a section."
                )
        plain: set[type] = set()
        if not bounds:
            plain = {option for option in alternatives(hint) if isinstance(option, type)}
        declared.append((name, hint, place, bounds, plain - {int, float}))
    return declared


@cached_by_class
def public_names(section: type[Section]) -> dict[str, str]:
    """The fields of a section class by their public names."""
    return {public_name(field.name): field.name for field in dataclasses.fields(section)}


def public_name(field_name: str) -> str:
    """The field's name in paths and canonical form: `lambda_` is written `lambda`, a Python
    keyword."""
    return field_name.rstrip("_")


def checked(value, expected, path: str, bounds: tuple[Bound, ...] = ()):
    """`value` as `expected` wants it, or UserError naming `path`, the value and what is allowed."""
    if not fits(value, expected):
        raise UserError(f"{path} is {repr(value)[:80]}, but it must be {describe(expected)}.")
    for bound in bounds:
        if value is not None and not bound.holds(value):
            raise UserError(f"{path} is {value}, but it must be {bound.words}.")
    options = alternatives(expected)
    if type(value) in (int, float) and float in options and int not in options:
        return float(value) + 0.0  # -0.0 is written otherwise than 0.0, and would be another run id
    return value


def fits(value, expected) -> bool:
    """Whether a value may stand in a field of this annotation."""
    origin = typing.get_origin(expected)
    inner = typing.get_args(expected)
    if origin in UNIONS:
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return any(value == option and type(value) is type(option) for option in inner)
    if origin is tuple:
        return isinstance(value, tuple) and _all_fit(value, inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_all_fit(pair, inner) for pair in value.items())
    if expected is int:
        return type(value) is int and abs(value) < LARGEST_WHOLE
    if expected is float:
        return type(value) is int or (type(value) is float and math.isfinite(value))
    return isinstance(value, expected)


def _all_fit(values: tuple, expected: tuple) -> bool:
    """Whether each value may stand at its place of a tuple; an ellipsis repeats what it follows."""
    if expected[1:] == (Ellipsis,):
        expected = expected[:1] * len(values)
    return len(values) == len(expected) and all(map(fits, values, expected))


def alternatives(expected) -> tuple:
    """The members of a union, or the annotation itself."""
    if typing.get_origin(expected) in UNIONS:
        return typing.get_args(expected)
    return (expected,)


def section_classes(expected) -> list[type[Section]]:
    """The sections that an annotation allows."""
    classes = [option for option in alternatives(expected) if isinstance(option, type)]
    return [option for option in classes if issubclass(option, Section)]


def describe(expected) -> str:
    """An annotation in words, for messages: `'on' or 'off'`, `a whole number`, `none`."""
    words: list[str] = []
    for option in alternatives(expected):
        if typing.get_origin(option) is Literal:
            words += map(repr, typing.get_args(option))
        elif option in NAMES:
            words.append(NAMES[option])
        elif isinstance(option, type):
            words.append(option.__name__)
        else:
            words.append(re.sub(r"(\w+\.)+(?=\w)", "", str(option)))
    return " or ".join(words)


def whole_number(text: str) -> int | None:
    """The whole number that a text is, in the digits 0 to 9; None for any other text."""
    if re.fullmatch("[+-]?[0-9]{1,100}", text.strip()):
        return int(text)
    return None


def decimal(text: str) -> float | None:
    """The finite number that a text is, such as `3`, `.5` or `1e-5`, in the digits 0 to 9. None for
    any other text, and for a number above 0 that is too small for a float."""
    if len(text) > 100 or not DECIMAL.fullmatch(text.strip()):
        return None
    value = float(text)
    vanished = value == 0.0 and re.search("[1-9]", text.lower().partition("e")[0])
    if vanished or not math.isfinite(value):
        return None
    return value
