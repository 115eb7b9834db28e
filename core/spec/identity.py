"""Run identity: 64 bits of SHA-256 over the canonical JSON of the whole configuration and one number.

The canonical form holds every field, never only those that differ from a default. A field that is added later
may declare `metadata={"neutral": value}`: it is left out at that frozen value, so that old ids live on.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json

from core.spec import methods
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, field_types, public_name, public_names

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


def from_canonical_json(text: str) -> tuple[RunConfig, int]:
    """Configuration and NUMERICS of a canonical document. Raises UserError if it is not one.

    The caller compares the id of what is read: a document with other fields than this version's has another.
    """
    try:
        document = json.loads(text)
        plain = document["run"]
        return _from_plain(plain, methods.method(plain["method"]).run), document["numerics"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, UserError) as error:
        raise UserError(f"The stored run configuration cannot be read ({error}).") from error


def _from_plain(value, expected):
    """What `to_plain` wrote of a value of this annotation. Fields that are left out are neutral."""
    if isinstance(value, list):
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)
    classes = [
        each for each in alternatives(expected) if isinstance(each, type) and issubclass(each, Section)
    ]
    if not isinstance(value, dict) or not classes:
        return value
    fields = dataclasses.fields(classes[0])
    arguments = {field.name: field.metadata["neutral"] for field in fields if "neutral" in field.metadata}
    for name, field in public_names(classes[0]).items():
        if name in value:
            arguments[field] = _from_plain(value[name], field_types(classes[0])[field])
    return classes[0](**arguments)


def _tag(section: type) -> str:
    return "section" if "kind" in field_types(section) else "kind"


def _kind(section: type[Section]) -> str:
    """What stands for a class in the canonical form: its name; one for the runs of every method."""
    return "RunConfig" if issubclass(section, RunConfig) else section.__name__
