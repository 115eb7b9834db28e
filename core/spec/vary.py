"""Changing a configuration by dotted path: `vary(run, {"queue.size": 256})`, and reading `FIELD=VALUE` from a
user."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from core.spec.errors import UserError, refuse
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, decimal, field_types, public_names, whole


def vary(run: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """A copy of `run` with the fields at these paths set. A whole section may be given, or None to drop it.

    Raises UserError for an unknown path, a wrong type or a contradiction. All changes are made before the
    cross-field rules are checked, so that fields which go together can be changed together.
    """
    fields: dict[str, Any] = {}  # whatever a user gives: the sections check it
    inner: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        head, _, tail = path.partition(".")
        name = public_names(type(run)).get(head)
        if name is None:
            raise unknown(run, path)
        if tail:
            inner.setdefault(name, {})[tail] = value
        else:
            fields[name] = value
    for name, values in inner.items():
        section = fields.get(name, getattr(run, name))
        names = public_names(type(section)) if isinstance(section, Section) else {}
        for tail in values.keys() - names:
            raise unknown(run, f"{name}.{tail}")
        fields[name] = dataclasses.replace(section, **{names[tail]: value for tail, value in values.items()})
    return dataclasses.replace(run, **fields)


def over(changes: Mapping[str, object], special: Mapping[str, object]) -> dict[str, object]:
    """Changes and more special ones, which win; a whole section replaces its fields."""
    kept = {path: value for path, value in changes.items() if path.partition(".")[0] not in special}
    return {**kept, **special}


def read(run: RunConfig, path: str):
    """The value at a dotted path. Raises UserError if there is none."""
    if (place := _place(run, path)) is None:
        raise unknown(run, path)
    return getattr(*place)


def paths(run: RunConfig) -> list[str]:
    """Every path of the run's leaf fields, as `--set` takes them."""
    leaves = []
    for name, field in public_names(type(run)).items():
        value = getattr(run, field)
        inner = public_names(type(value)) if isinstance(value, Section) else ()
        leaves += [f"{name}.{tail}" for tail in inner] or [name]
    return leaves


def has(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path; not in a section that it leaves out."""
    return _place(run, path) is not None


def _place(run: RunConfig, path: str) -> tuple[Section, str] | None:
    """The section that a path names, or the run itself, and the field in it; None if there is none."""
    head, dot, tail = path.partition(".")
    owner: Any = getattr(run, public_names(type(run)).get(head, ""), None) if dot else run
    field = public_names(type(owner)).get(tail if dot else head) if isinstance(owner, Section) else None
    return None if field is None else (owner, field)


def setting_path(text: str) -> str:
    """The path of `FIELD=VALUE`, as `--set` takes it."""
    return text.partition("=")[0].strip()


def parse_setting(run: RunConfig, text: str) -> tuple[str, object]:
    """Path and typed value of `FIELD=VALUE`. Raises UserError with what would be right."""
    path, written = setting_path(text), text.partition("=")[2].strip()
    if not path or not written:
        raise UserError(f"--set takes FIELD=VALUE, not {text!r}; for example --set loss.temperature=0.1.")
    if (place := _place(run, path)) is None:
        raise unknown(run, path)
    owner, field = place
    value = parse_value(written, field_types(type(owner))[field], path)
    if isinstance(section := getattr(owner, field), Section) and value is not None:
        first = next(iter(public_names(type(section))))
        raise UserError(f"{path} is a section of fields; set one of them, such as {path}.{first}.")
    return path, value


def parse_value(written: str, expected, path: str):
    """A value from its text, by the field's annotation: none, true or false, numbers, ranges, or words."""
    options = alternatives(expected)
    if written.lower() == "none" and type(None) in options:
        return None
    if written.lower() in ("true", "false") and bool in options:
        return written.lower() == "true"
    for kind, read_as in ((int, whole), (float, decimal)):
        if kind in options and (number := read_as(written)) is not None:
            return number
    if tuple[tuple[int, int], ...] in options and re.fullmatch(
        "[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*", written
    ):
        # in another order they would be another run
        ranges = sorted(tuple(map(int, part.split("-"))) for part in written.split(","))
        overlap = any(after < stop for (_, stop), (after, _) in pairwise(ranges))
        refuse(overlap, f"{path}={written} has overlapping ranges; join them.")
        return tuple(ranges)
    return written


def unknown(run: RunConfig, path: str) -> UserError:
    """What to say of a path that a run does not have: the nearest path, or those that there are."""
    head, dot, _ = path.partition(".")
    by_name: dict[str, list[str]] = {}
    for candidate in paths(run):
        by_name.setdefault(candidate if dot else candidate.rpartition(".")[2], []).append(candidate)
    near = difflib.get_close_matches(path, by_name, n=1, cutoff=0.75)
    if near:
        hint = f"did you mean {' or '.join(by_name[near[0]])}?"
    elif isinstance(section := getattr(run, public_names(type(run)).get(head, ""), None), Section):
        hint = f"known: {', '.join(sorted(public_names(type(section))))}."
    else:
        sections = (name for name in public_names(type(run)) if isinstance(getattr(run, name), Section))
        hint = f"method {run.method} has no section {head}; it has {', '.join(sorted(sections))}."
    return UserError(f"There is no field {path}; {hint}")
