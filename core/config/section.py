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
from typing import Any, Literal

from core.errors import UserError

UNIONS = (typing.Union, types.UnionType)
NEVER = object()
LARGEST_WHOLE = 2**53  # whole numbers below it survive as floats, in JSON and in Parquet
NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    type(None): "none",
    tuple[tuple[int, int], ...]: "ranges such as 0-128 or 0-128,384-512",
}
SCALARS = (bool, int, float, str, type(None))  # checked once a value
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


Frozen = typing.TypeVar("Frozen")


@typing.dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,)
)
def frozen(kind: type[Frozen]) -> type[Frozen]:
    """The class as a dataclass whose fields are given by name, and never change."""
    return dataclasses.dataclass(frozen=True, kw_only=True)(kind)


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

    def __post_init__(self) -> None:
        for field in fields_of(type(self)).values():
            value = getattr(self, field.name)
            check = _checked_once if isinstance(value, SCALARS) else _checked
            checked = check(field, value)
            if checked is not value:
                object.__setattr__(self, field.name, checked)
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
        return f"{cls.label()}.{name}"


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Field:
    """A field of a class: its attribute, its name in paths and in the canonical form (`lambda_` is
    written `lambda`, a Python keyword), its name in messages, and what its annotation says."""

    name: str
    public: str
    place: str
    hint: Any
    meaning: str
    bounds: tuple[Bound, ...]
    neutral: Any  # the frozen value at which the canonical form leaves the field out; else NEVER


def neutral(value: Any) -> Any:
    """The field of a class with this default, at which the canonical form leaves the field out."""
    return dataclasses.field(default=value, metadata={"neutral": value})


def _fields_of(typed: type[Typed]) -> dict[str, Field]:
    """The fields of a class by their public names."""
    hints = typing.get_type_hints(typed)
    annotations = typing.get_type_hints(typed, include_extras=True)
    fields = {}
    for field in dataclasses.fields(typed):
        hint = hints[field.name]
        public = field.name.rstrip("_")
        place = typed.place_of(public)
        meaning, *bounds = getattr(annotations[field.name], "__metadata__", ("",))
        left_out = field.metadata.get("neutral", NEVER)
        fields[public] = Field(field.name, public, place, hint, meaning, tuple(bounds), left_out)
    return fields


# resolving annotations is most of what making a section costs
fields_of: Callable[[Any], dict[str, Field]] = functools.cache(_fields_of)


def _checked(field: Field, value: Any) -> Any:
    """The value of a field as its annotation wants it, or UserError naming place, value and what
    is allowed."""
    if not fits(field.hint, value):
        raise UserError(
            f"{field.place} is {repr(value)[:80]}, but it must be {describe(field.hint)}."
        )
    for bound in field.bounds:
        if value is not None and not bound.holds(value):
            raise UserError(f"{field.place} is {value}, but it must be {bound.words}.")
    if type(value) in (int, float) and int not in alternatives(field.hint):
        return float(value) + 0.0  # -0.0 is written otherwise, and would be another run id
    return value


# every study at three scales and profiles is resolved in 1.7 s against 2.6 s; 1, 1.0 and True are
# equal and not one value
_checked_once = functools.lru_cache(maxsize=None, typed=True)(_checked)


def fits(expected: Any, value: Any) -> bool:
    """Whether a value may stand in a field of this annotation."""
    if expected is int:
        return type(value) is int and abs(value) < LARGEST_WHOLE
    if expected is float:
        return type(value) is int or (type(value) is float and math.isfinite(value))
    if isinstance(expected, type):
        return isinstance(value, expected)
    origin = typing.get_origin(expected)
    inner = typing.get_args(expected)
    if origin in UNIONS:
        return any(fits(option, value) for option in inner)
    if origin is Literal:
        return any(value == name and type(value) is type(name) for name in inner)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(
            fits(inner[0], key) and fits(inner[1], part) for key, part in value.items()
        )
    # a tuple
    if inner[1:] == (Ellipsis,) and isinstance(value, tuple):
        inner = inner[:1] * len(value)
    return isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, inner, value))


def alternatives(expected: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself."""
    if typing.get_origin(expected) in UNIONS:
        return typing.get_args(expected)
    return (expected,)


def section_classes(expected: Any) -> list[type[Section]]:
    """The sections that an annotation allows."""
    classes = [option for option in alternatives(expected) if isinstance(option, type)]
    return [option for option in classes if issubclass(option, Section)]


def describe(expected: Any) -> str:
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
