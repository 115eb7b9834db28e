"""Run identity: 64 bits of SHA-256 over the canonical JSON of the whole configuration and one number.

The canonical form holds every field, never only those that differ from a default. A field that is added later
may declare `metadata={"neutral": value}`: it is left out at that frozen value, so that old ids live on.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import typing

from core.spec import methods
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, field_types, public_name

# Every run says null for those of these sections that its method has not: ids were first made so, and live
# on.
NAMED_BY_ALL = ("heads", "queue", "target", "ema", "fgsm", "aug", "dup", "momentum")
NUMERICS = 2  # raised when a change of code is meant to change results


def run_id(run: RunConfig) -> str:
    """16 hex digits that name everything that can move a number of this run."""
    return _digest(run, NUMERICS)


@functools.cache  # a report asks for the id of each run many times
def _digest(run: RunConfig, numerics: int) -> str:
    return hashlib.sha256(canonical_json(run).encode()).hexdigest()[:16]


def canonical_json(run: RunConfig) -> str:
    """The text that is hashed: sorted keys, no spaces, each section tagged with its kind."""
    document = {"numerics": NUMERICS, "run": to_plain(run)}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def to_plain(value):
    """A section as plain dicts, lists and scalars, tagged with its class under `kind`, or under `section`
    where a field is called kind. Raises TypeError for anything that JSON cannot hold exactly."""
    if isinstance(value, Section):
        plain = dict.fromkeys(NAMED_BY_ALL) if isinstance(value, RunConfig) else {}
        plain[_tag(type(value))] = _kind(type(value))
        for field in dataclasses.fields(value):
            content = getattr(value, field.name)
            if "neutral" in field.metadata and content == field.metadata["neutral"]:
                continue
            plain[public_name(field.name)] = to_plain(content)
        return plain
    if type(value) is tuple:
        return [to_plain(item) for item in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot stand in a run configuration")


def from_plain(plain: dict) -> RunConfig:
    """The configuration that `to_plain` wrote. Raises UserError for unknown or missing parts."""
    if plain.get("kind") != _kind(RunConfig) and "method" not in plain:
        raise UserError("This document does not hold a run configuration.")
    run = _section_from(plain, methods.method(str(plain.get("method"))).run)
    if not isinstance(run, RunConfig):
        raise UserError("This document does not hold a run configuration.")
    return run


def from_canonical_json(text: str) -> tuple[RunConfig, int]:
    """Configuration and NUMERICS of a canonical document. Raises UserError if it is not one."""
    try:
        document = json.loads(text)
        run, numerics = from_plain(document["run"]), document["numerics"]
        if type(numerics) is not int:
            raise ValueError(f"numerics is {numerics!r}")
        return run, numerics
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"The stored run configuration cannot be read ({error}).") from error


def _tag(section: type) -> str:
    return "section" if "kind" in field_types(section) else "kind"


def _kind(section: type[Section]) -> str:
    """What stands for a class in the canonical form: its name; one for the runs of every method."""
    return "RunConfig" if issubclass(section, RunConfig) else section.__name__


def _section_from(plain: dict, expected) -> Section:
    """The section that a document holds, of one of the classes that its place expects."""
    classes = [
        option
        for option in alternatives(expected)
        if isinstance(option, type) and issubclass(option, Section)
    ]
    cls = next((option for option in classes if plain.get(_tag(option)) == _kind(option)), None)
    if cls is None:
        raise UserError(f"Unknown kind {plain.get('section', plain.get('kind'))!r} in a run configuration.")
    hints = field_types(cls)
    names = {public_name(field.name): field for field in dataclasses.fields(cls)}
    lacking = {name for name in NAMED_BY_ALL if issubclass(cls, RunConfig) and plain.get(name, "") is None}
    unknown = set(plain) - set(names) - lacking - {_tag(cls)}
    if unknown:
        raise UserError(f"Unknown field {min(unknown)!r} in section {cls.label()} of a run configuration.")
    arguments = {}
    for name, field in names.items():
        if name in plain:
            arguments[field.name] = _value_from(plain[name], hints[field.name])
        elif "neutral" in field.metadata:
            arguments[field.name] = field.metadata["neutral"]
        else:
            raise UserError(f"Field {cls.label()}.{name} is missing from a run configuration.")
    return cls(**arguments)


def _value_from(value, expected):
    if isinstance(value, dict):
        return _section_from(value, expected)
    if isinstance(value, list):
        for option in alternatives(expected):
            if typing.get_origin(option) is tuple:
                inner = typing.get_args(option)[0]
                return tuple(_value_from(item, inner) for item in value)
        return tuple(value)
    return value
