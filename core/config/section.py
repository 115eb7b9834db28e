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
REMEMBERED = (int, str, bool)  # values that a field has once passed; of floats, -0.0 equals 0.0
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

    def __post_init__(self) -> None:
        for field in _declared(type(self)):
            value = getattr(self, field.name)
            kind = type(value)
            if kind in field.plain or (kind in REMEMBERED and (kind, value) in field.passed):
                continue
            checked = field.checked(value)
            object.__setattr__(self, field.name, checked)
            if kind in REMEMBERED and checked is value:
                field.passed.add((kind, value))
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


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """A field as its class declares it. `plain`: the types of which every value fits."""

    name: str
    hint: Any
    place: str
    fits: Callable[[Any], bool]
    bounds: tuple[Bound, ...]
    plain: frozenset[type]
    is_float: bool
    passed: set[tuple[type, Any]] = dataclasses.field(default_factory=set)

    def checked(self, value: Any) -> Any:
        """The value as the annotation wants it, or UserError naming place, value and what is
        allowed."""
        if not self.fits(value):
            raise UserError(
                f"{self.place} is {repr(value)[:80]}, but it must be {describe(self.hint)}."
            )
        for bound in self.bounds:
            if value is not None and not bound.holds(value):
                raise UserError(f"{self.place} is {value}, but it must be {bound.words}.")
        if self.is_float and type(value) in (int, float):
            return float(value) + 0.0  # -0.0 is written otherwise, and would be another run id
        return value


@cached_by_class
def _declared(typed: type[Typed]) -> list[Declared]:
    """The fields of a class, in order. Raises UserError for a type that no test is there for."""
    declared = []
    annotations = typing.get_type_hints(typed, include_extras=True)
    for field in dataclasses.fields(typed):
        hint = field_types(typed)[field.name]
        place = typed.place_of(field.name)
        bounds = getattr(annotations[field.name], "__metadata__", ())[1:]
        options = alternatives(hint)
        for option in options:
            is_class = isinstance(option, type) and option not in (Any, list, dict)
            if not is_class and typing.get_origin(option) not in (Literal, tuple, Mapping):
                name = option.__name__ if isinstance(option, type) else option
                raise UserError(
                    f"{place} has the type {name}; give it int, float, str, bool, None, Literal, "
                    "tuple or a section."
                )
        plain: set[type] = set()
        if not bounds:
            plain = {option for option in options if isinstance(option, type)} - {int, float}
        is_float = float in options and int not in options
        declared.append(
            Declared(field.name, hint, place, fits(hint), bounds, frozenset(plain), is_float)
        )
    return declared


@cached_by_class
def public_names(section: type[Section]) -> dict[str, str]:
    """The fields of a section class by their public names."""
    return {public_name(field.name): field.name for field in dataclasses.fields(section)}


def public_name(field_name: str) -> str:
    """The field's name in paths and canonical form: `lambda_` is written `lambda`, a Python
    keyword."""
    return field_name.rstrip("_")


def fits(expected: Any) -> Callable[[Any], bool]:
    """The test whether a value may stand in a field of this annotation. It is put together once a
    class, since a command makes 30,000 sections."""
    origin = typing.get_origin(expected)
    inner = typing.get_args(expected)
    if origin in UNIONS:
        tests = [fits(option) for option in inner]
        return lambda value: any(test(value) for test in tests)
    if origin is Literal:
        return functools.partial(_is_one_of, inner)
    if origin is tuple:
        return _fits_tuple(inner)
    if origin is Mapping:
        pair_fits = _fits_tuple(inner)
        return lambda value: isinstance(value, Mapping) and all(map(pair_fits, value.items()))
    if expected is int:
        return _is_whole
    if expected is float:
        return _is_finite
    return lambda value: isinstance(value, expected)


def _is_one_of(names: tuple[Any, ...], value: Any) -> bool:
    return any(value == name and type(value) is type(name) for name in names)


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < LARGEST_WHOLE


def _is_finite(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _fits_tuple(expected: tuple[Any, ...]) -> Callable[[Any], bool]:
    """The test whether a tuple has a fitting value at each place; an ellipsis repeats what it
    follows."""
    tests = [fits(option) for option in expected if option is not Ellipsis]

    def every(value: Any) -> bool:
        return isinstance(value, tuple) and all(map(tests[0], value))

    def each_its_own(value: Any) -> bool:
        if not isinstance(value, tuple) or len(value) != len(tests):
            return False
        return all(test(part) for test, part in zip(tests, value, strict=True))

    return every if expected[1:] == (Ellipsis,) else each_its_own


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
