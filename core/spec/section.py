"""Types of fields: frozen dataclasses that check their fields when they are made, and numbers as people
write them."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import traceback
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from core.spec.errors import UserError

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
UNIONS = (typing.Union, types.UnionType)
WHOLE = 2**53  # whole numbers below it survive as floats, in JSON and in Parquet
# ten times and more above what a paper or a patient user trains: beyond it no run ends or fits any memory
MOST = {
    **dict.fromkeys(("train.steps", "eval.every"), 10_000_000),
    **dict.fromkeys(
        ("train.batch_size", "heads.out_size", "heads.predictor_hidden", "queue.clusters"), 65_536
    ),
    "queue.size": 1_048_576,
}
NAMES: dict[Any, str] = {
    int: "a whole number below 2**53",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    type(None): "none",
    tuple[tuple[int, int], ...]: "ranges such as 0-128 or 0-128,384-512",
}


class Typed:
    """Base of the frozen dataclasses that a study's file states: each field is checked against its
    annotation.

    An int where a float is declared becomes a float, since `1` and `1.0` would otherwise be two run ids.
    Raises UserError for any other mismatch; subclasses add rules across fields in `check()`.
    """

    __slots__ = ()
    __dataclass_fields__: typing.ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self):
        for name, expected, place, plain in _declared(type(self)):
            value = getattr(self, name)
            if type(value) not in plain:
                object.__setattr__(self, name, checked(value, expected, place))
        try:
            self.check()
        except UserError:
            raise
        except Exception as error:  # of a method that somebody is writing
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename}, line {frame.lineno}"
            raise UserError(f"{place}: {type(error).__name__}: {error}; mend that line.") from error

    @classmethod
    def place_of(cls, name: str) -> str:
        """A field in messages."""
        return f"{cls.__name__}'s {name}"

    def check(self) -> None:
        """Refuse contradictions between fields; overridden where there are any."""


class Section(Typed):
    """Base of every section of a run's configuration."""

    __slots__ = ()

    @classmethod
    def label(cls) -> str:
        """The name of the section in dotted paths."""
        return cls.__name__.lower()

    @classmethod
    def place_of(cls, name: str) -> str:
        """The dotted path of a field."""
        return f"{cls.label()}.{public_name(name)}"


def kept(function: Callable[[Class], Value]) -> Callable[[Class], Value]:
    """functools.cache for a function of a class; its own types take no classes."""
    return functools.cache(function)


@kept  # resolving annotations is most of what making a section costs
def field_types(section: type) -> dict[str, Any]:
    """Resolved annotations of a section class, by field name."""
    return typing.get_type_hints(section)


@kept
def meanings(section: type) -> dict[str, str]:
    """What each field means, by its public name: the text beside its type in `Annotated[type, text]`."""
    hints = typing.get_type_hints(section, include_extras=True)
    return {public_name(name): h.__metadata__[0] for name, h in hints.items() if hasattr(h, "__metadata__")}


@kept
def _declared(typed: type[Typed]) -> list[tuple[str, Any, str, set[type]]]:
    """Name, annotation and place of each field, and the types of which every value fits as it is."""
    declared = []
    for field in dataclasses.fields(typed):
        hint = field_types(typed)[field.name]
        for option in alternatives(hint):
            kinds = (Literal, tuple, Mapping)
            known = isinstance(option, type) and option not in (list, dict)
            if not (known or typing.get_origin(option) in kinds):
                allowed = "int, float, str, bool, None, Literal, tuple or a section"
                raise UserError(f"{typed.place_of(field.name)} has the type {option}; give it {allowed}.")
        classes = [option for option in alternatives(hint) if isinstance(option, type)]
        plain = {
            option for option in classes if option in (str, bool, type(None)) or issubclass(option, Typed)
        }
        declared.append((field.name, hint, typed.place_of(field.name), plain))
    return declared


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
        shown = "enormous" if type(value) is int and abs(value) >= WHOLE else repr(value)
        raise UserError(
            f"{path} is {shown[:80]}{'…' * (len(shown) > 80)}, but it must be {describe(expected)}."
        )
    if type(value) is int and value > MOST.get(path, WHOLE):
        raise UserError(f"{path} is {value}, but {MOST[path]} is the most that can be trained; lower it.")
    if type(value) in (int, float) and float in alternatives(expected) and int not in alternatives(expected):
        return float(value) + 0.0  # -0.0 is written otherwise than 0.0, and would be another run id
    return value


def fits(value, expected) -> bool:
    """Whether a value may stand in a field of this annotation."""
    origin, inner = typing.get_origin(expected), typing.get_args(expected)
    if origin in UNIONS:
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return any(value == option and type(value) is type(option) for option in inner)
    if origin is tuple:
        each = inner[:1] * len(value) if inner[1:] == (Ellipsis,) and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(each) == len(value) and all(map(fits, value, each))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
        )
    if expected in (int, float):
        whole_number = type(value) is int and (abs(value) < WHOLE or expected is float)
        return whole_number or (expected is float and type(value) is float and math.isfinite(value))
    return type(value) is expected if expected in (str, bool, type(None)) else isinstance(value, expected)


def alternatives(expected) -> tuple:
    """The members of a union, or the annotation itself."""
    return typing.get_args(expected) if typing.get_origin(expected) in UNIONS else (expected,)


def describe(expected) -> str:
    """An annotation in words, for messages: `'on' or 'off'`, `a whole number`, `none`."""
    words = []
    for option in alternatives(expected):
        if typing.get_origin(option) is Literal:
            words += [repr(value) for value in typing.get_args(option)]
        else:
            plain = getattr(option, "__name__", "") if isinstance(option, type) else str(option)
            words.append(NAMES.get(option) or re.sub(r"(\w+\.)+(?=\w)", "", plain))
    return " or ".join(words)


def whole(text: str) -> int | None:
    """The whole number that a text is, in the digits 0 to 9; None for any other text."""
    try:
        return int(text) if _plain_digits(text) else None
    except ValueError:
        return None


def decimal(text: str) -> float | None:
    """The finite number that a text is, such as `3`, `.5` or `1e-5`; None for any other text, and where a
    number is too small to be another than 0."""
    try:
        value = float(text) if _plain_digits(text) else math.nan
    except ValueError:
        return None
    digits = text.lower().partition("e")[0]
    vanished = value == 0.0 and any(digit in digits for digit in "123456789")
    return value if math.isfinite(value) and not vanished else None


def _plain_digits(text: str) -> bool:
    """Whether a text has no underscore and no digits of other scripts, which Python alone reads."""
    return len(text) <= 100 and text.strip().isascii() and "_" not in text
