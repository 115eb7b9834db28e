"""Changing a configuration by dotted path: `vary(run, {"queue.size": 256})`, and reading `FIELD=VALUE` from a
user."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.section import (
    Section,
    alternatives,
    decimal,
    field_types,
    fits,
    public_name,
    public_names,
    whole,
)


def vary(run: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """A copy of `run` with the fields at these paths set. A whole section may be given, or None to drop it.

    Raises UserError for an unknown path, a wrong type or a contradiction. All changes are made before the
    cross-field rules are checked, so that fields which go together can be changed together.
    """
    grouped: dict[str, dict[str, Any]] = {}  # whatever a user gives: the sections check it
    whole: dict[str, Any] = {}
    for path, value in changes.items():
        head, _, tail = path.partition(".")
        if tail:
            grouped.setdefault(_field(run, head, path), {})[tail] = value
        else:
            whole[_field(run, head, path)] = value
    for name, inner in grouped.items():
        section = whole.get(name, getattr(run, name))
        if not isinstance(section, Section):
            raise UserError(f"{name}.{next(iter(inner))} cannot be set: this run has no section {name}.")
        whole[name] = dataclasses.replace(
            section, **{_field(section, tail, f"{name}.{tail}"): value for tail, value in inner.items()}
        )
    return dataclasses.replace(run, **whole)


def over(changes: Mapping[str, object], special: Mapping[str, object]) -> dict[str, object]:
    """Changes and more special ones, which win; a whole section replaces its fields."""
    whole = {path for path in special if "." not in path}
    return {
        **{path: value for path, value in changes.items() if path.partition(".")[0] not in whole},
        **special,
    }


def read(run: RunConfig, path: str):
    """The value at a dotted path. Raises UserError if there is none."""
    value = run
    for part in path.split("."):
        if not isinstance(value, Section):
            raise UserError(f"{path} does not exist: this run has no section {path.rpartition('.')[0]}.")
        value = getattr(value, _field(value, part, path))
    return value


def paths(run: RunConfig) -> list[str]:
    """Every path of the run's leaf fields, as `--set` takes them."""
    leaves = []
    for field in dataclasses.fields(run):
        value = getattr(run, field.name)
        if isinstance(value, Section):
            leaves += [f"{field.name}.{public_name(inner.name)}" for inner in dataclasses.fields(value)]
        else:
            leaves.append(field.name)
    return leaves


def has(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path; not in a section that it leaves out."""
    head, _, tail = path.partition(".")
    name = public_names(type(run)).get(head)
    if name is None or not tail:
        return name is not None
    section = getattr(run, name)
    return isinstance(section, Section) and tail in public_names(type(section))


def setting_path(text: str) -> str:
    """The path of `FIELD=VALUE`, as `--set` takes it."""
    return text.partition("=")[0].strip()


def parse_setting(run: RunConfig, text: str) -> tuple[str, object]:
    """Path and typed value of `FIELD=VALUE`. Raises UserError with what would be right."""
    path, (_, equals, written) = setting_path(text), text.partition("=")
    written = written.strip()
    if not equals or not path or not written:
        raise UserError(f"--set takes FIELD=VALUE, not {text!r}; for example --set loss.temperature=0.1.")
    head, _, tail = path.partition(".")
    name = _field(run, head, path)
    owner = run
    if tail:
        owner = getattr(run, name)
        if not isinstance(owner, Section):
            raise UserError(f"--set {path}: these {run.method} runs have no section {head}.")
        name = _field(owner, tail, path)
    value = parse_value(written, field_types(type(owner))[name], path)
    inner = getattr(owner, name)
    if isinstance(inner, Section) and value is not None:
        hint = f"set one of them, such as {head}.{public_name(dataclasses.fields(inner)[0].name)}"
        raise UserError(f"{head} is a section of fields; {hint}.")
    return path, value


def parse_value(written: str, expected, path: str):
    """A value from its text, by the field's annotation: none, true/false, numbers, words, or JSON lists."""
    options = alternatives(expected)
    if written.lower() == "none" and type(None) in options:
        return None
    if written.lower() in ("true", "false") and bool in options:
        return written.lower() == "true"
    for kind, read_as in ((int, whole), (float, decimal)):
        if kind in options and (number := read_as(written)) is not None:
            return number
    value: Any = written
    if re.fullmatch(r"[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*", written, re.ASCII):
        value = tuple(tuple(map(int, part.split("-"))) for part in written.split(","))
    elif written.startswith("["):
        try:
            value = _tuples(json.loads(written))
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}={written[:80]} is not a list like [[0,512]] or 0-512.") from error
    if tuple[tuple[int, int], ...] not in options or not fits(value, tuple[tuple[int, int], ...]):
        return value if written.startswith("[") else written
    ranges = sorted(value)  # in another order they would be another run
    for (start, stop), (after, end) in pairwise(ranges):
        if after < stop:
            raise UserError(f"{path} has overlapping ranges, {start}-{stop} and {after}-{end}; join them.")
    return tuple(ranges)


def _tuples(value):
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _field(section: Section, public: str, path: str) -> str:
    """The field of a public name. Raises UserError with the nearest name."""
    names = public_names(type(section))
    if public in names:
        return names[public]
    if isinstance(section, RunConfig) and path == public and (inner := _inner(section, public)):
        raise UserError(f"There is no field {path}; did you mean {' or '.join(inner)}?")
    near = difflib.get_close_matches(public, names, n=1)
    place = len(path) - len(public) if path.endswith(public) else 0  # the name is the path's end or its head
    if near:
        hint = f"did you mean {path[:place]}{near[0]}{path[place + len(public) :]}?"
    elif isinstance(section, RunConfig):
        hint = f"method {section.method} has no section {public}; it has {', '.join(sorted(names))}."
    else:
        hint = f"known: {', '.join(sorted(names))}."
    raise UserError(f"There is no field {path}; {hint}")


def _inner(run: RunConfig, name: str) -> list[str]:
    """The paths that end in a field of this name, or of the closest name."""
    by_name: dict[str, list[str]] = {}
    for path in paths(run):
        if "." in path:
            by_name.setdefault(path.partition(".")[2], []).append(path)
    near = difflib.get_close_matches(name, [*by_name, *public_names(type(run))], n=1)
    return by_name.get(name) or by_name.get(near[0] if near else "", [])
