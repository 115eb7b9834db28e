"""Run identity: 64 bits of SHA-256 over the canonical JSON of the whole configuration and one
number.

The canonical form holds every field, never only those that differ from a default. A field that is
added later may declare `metadata={"neutral": value}`: it is left out at that frozen value, so that
old ids live on.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from core.config import methods
from core.config.run import RunConfig
from core.config.section import NEVER, Section, fields_of, section_classes
from core.errors import UserError

# Every run says null for those of these sections that its method has not, as the first ids were
# made.
NAMED_BY_ALL = ("heads", "queue", "target", "ema", "fgsm", "aug", "dup", "momentum")
NUMERICS = 2  # raised when a change of code is meant to change results


@functools.cache  # a report asks for the id of each run many times
def run_id(run: RunConfig) -> str:
    """16 hex digits that name everything that can move a number of this run."""
    return text_id(canonical_json(run))


def text_id(text: str) -> str:
    """The identity of the run whose canonical JSON this is."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def canonical_json(run: RunConfig) -> str:
    """The text that is hashed: sorted keys, no spaces, each section tagged with its kind."""
    texts = []
    for name, content in sorted(_plain_fields(run).items()):
        section = isinstance(content, Section)
        texts.append(f'"{name}":{_section_text(content) if section else _text(content)}')
    return f'{{"numerics":{NUMERICS},"run":{{{",".join(texts)}}}}}'


def fields_by_path(run: Mapping[str, Any]) -> dict[str, Any]:
    """What the canonical JSON of a run states, by path, such as `loss.temperature`; faster than
    `from_canonical_json`."""
    fields: dict[str, Any] = {}
    for section, values in run.items():
        if isinstance(values, dict):
            tag = "section" if "section" in values else "kind"
            for name, value in values.items():
                if name != tag:
                    fields[f"{section}.{name}"] = value
        elif values is not None and section != "kind":
            fields[section] = values
    return fields


def _text(value: Any) -> str:
    return json.dumps(
        to_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
    )


_section_text = functools.cache(_text)  # the runs of a study share most of their sections


def to_plain(value: Any) -> Any:
    """A section as plain dicts, lists and scalars, tagged with its class under `kind` (`RunConfig`
    for the runs of every method), or under `section` where a field is called kind. Raises TypeError
    for anything that JSON cannot hold exactly."""
    if isinstance(value, Section):
        return {name: to_plain(content) for name, content in _plain_fields(value).items()}
    if type(value) is tuple:
        return [to_plain(item) for item in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot stand in a run configuration")


def _plain_fields(section: Section) -> dict[str, Any]:
    """The fields of a section by public name, without those at their neutral value, and its tag."""
    declared = fields_of(type(section))
    tag = "section" if "kind" in declared else "kind"
    fields: dict[str, Any] = {tag: type(section).__name__}
    if isinstance(section, RunConfig):
        fields = {**dict.fromkeys(NAMED_BY_ALL), tag: "RunConfig"}
    for name, field in declared.items():
        content = getattr(section, field.name)
        if content != field.neutral:
            fields[name] = content
    return fields


def from_canonical_json(text: str) -> tuple[RunConfig, int]:
    """Configuration and NUMERICS of a canonical document. Raises UserError if it is not one. A
    document with other fields than this version's has another id, which the caller compares."""
    try:
        document = json.loads(text)
        plain = document["run"]
        return _from_plain(plain, methods.method(plain["method"]).run), document["numerics"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, UserError) as error:
        raise UserError(f"The stored run configuration cannot be read ({error}).") from error


def _from_plain(value: Any, expected: Any) -> Any:
    """What `to_plain` wrote of a value of this annotation. Fields that are left out are neutral."""
    if isinstance(value, list):
        return tuple(_from_plain(item, None) for item in value)
    section = next(iter(section_classes(expected)), None)
    if not isinstance(value, dict) or section is None:
        return value
    arguments = {}
    for name, field in fields_of(section).items():
        if name in value:
            arguments[field.name] = _from_plain(value[name], field.hint)
        elif field.neutral is not NEVER:
            arguments[field.name] = field.neutral
    return section(**arguments)
