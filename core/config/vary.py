"""Changing a configuration by dotted path: `vary(run, {"queue.size": 256})`, and reading a user's
values."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from traceback import extract_tb
from typing import Any

from core.config.run import RunConfig
from core.config.section import (
    Section,
    alternatives,
    decimal,
    field_types,
    public_names,
    whole_number,
)
from core.errors import UserError, place

RANGES = re.compile("[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*")


def vary(run: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """A copy of `run` with the fields at these paths set. A whole section may be given, or None to
    drop it.

    Raises UserError for an unknown path, a wrong type or a contradiction. All changes are made
    before the cross-field rules are checked, so that fields which go together can be changed
    together.
    """
    if not changes:
        return run
    # by section and dot: "queue."; "" is the run itself
    values: dict[str, dict[str, Any]] = {"": {}}
    for path, value in changes.items():
        head, dot, field = path.rpartition(".")
        values.setdefault(f"{head}{dot}", {})[field] = value
    fields = values.pop("")
    for prefix, inner in values.items():
        head = prefix[:-1]
        fields[head] = _replaced(run, prefix, fields.get(head, _section(run, head)), inner)
    varied: RunConfig = _replaced(run, "", run, fields)
    return varied


def _replaced(run: RunConfig, prefix: str, section: Any, values: Mapping[str, Any]) -> Any:
    """A section of the run, or the run itself, with these values of its fields."""
    names = _field_names(section)
    for field in values.keys() - names:
        raise unknown_path(run, f"{prefix}{field}")
    changes = {names[field]: value for field, value in values.items()}
    try:
        return dataclasses.replace(section, **changes)
    except ValueError as error:  # of a method's own check
        frame = extract_tb(error.__traceback__)[-1]
        raise UserError(f"{error} ({place(Path(frame.filename), '', frame.lineno)}).") from error


def _section(run: RunConfig, name: str) -> Any:
    """What a run has under this name; None without such a section."""
    return getattr(run, public_names(type(run)).get(name, ""), None)


def _field_names(section: Any) -> dict[str, str]:
    """The fields of a section by their public names; of anything else none."""
    if isinstance(section, Section):
        return public_names(type(section))
    return {}


def over(changes: Mapping[str, object], special: Mapping[str, object]) -> dict[str, object]:
    """Changes and more special ones, which win; a whole section replaces its fields."""
    kept = {path: value for path, value in changes.items() if path.partition(".")[0] not in special}
    return {**kept, **special}


def has(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path; not in a section that it leaves out."""
    return path.rpartition(".")[2] in _field_names(_owner(run, path))


def reads(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path and its method reads the field."""
    if path == "data.reader" and run.data.columns > 1:  # a text with columns is read one way
        return False
    return path not in run.unread and has(run, path)


def _owner(run: RunConfig, path: str) -> Any:
    """The section that a path names, or the run itself; None without such a section."""
    head, dot, _ = path.rpartition(".")
    if not dot:
        return run
    return _section(run, head)


def value_at(run: RunConfig, path: str) -> Any:
    """The value at a dotted path. Raises UserError if there is none."""
    owner, field = _place(run, path)
    return getattr(owner, field)


def _place(run: RunConfig, path: str) -> tuple[Section, str]:
    """The section that a path names, or the run itself, and the field in it. Raises UserError."""
    if not has(run, path):
        raise unknown_path(run, path)
    owner = _owner(run, path)
    return owner, _field_names(owner)[path.rpartition(".")[2]]


def paths(run: RunConfig) -> list[str]:
    """Every path of the run's leaf fields, as `--set` takes them."""
    leaves = []
    for name in _field_names(run):
        leaves += [f"{name}.{field}" for field in _field_names(_section(run, name))] or [name]
    return leaves


def parsed(run: RunConfig, path: str, text: str) -> Any:
    """The value that a text means in a field, by the field's type: none, true or false, a number,
    ranges, or words. Raises UserError for a path that the run does not have."""
    owner, field = _place(run, path)
    options = alternatives(field_types(type(owner))[field])
    if text.lower() == "none" and type(None) in options:
        return None
    fields = list(_field_names(getattr(owner, field)))
    if fields:
        raise UserError(
            f"{path} is a section of fields; set one of them, such as {path}.{fields[0]}."
        )
    if text.lower() in ("true", "false") and bool in options:
        return text.lower() == "true"
    for kind, read_as in ((int, whole_number), (float, decimal)):
        number = read_as(text)
        if kind in options and number is not None:
            return number
    if tuple[tuple[int, int], ...] in options and RANGES.fullmatch(text):
        # in another order they would be another run
        ranges = sorted(tuple(map(int, part.split("-"))) for part in text.split(","))
        for (_, stop), (after, _) in pairwise(ranges):
            if after < stop:
                raise UserError(f"{path}={text} has overlapping ranges; join them.")
        return tuple(ranges)
    return text


def written(value: Any) -> str:
    """The text of a field's value in names and labels: one text for one value, which `parsed`
    reads. Of `0.0001` and `1e-4` the shorter, and of equal lengths the first."""
    if isinstance(value, tuple):
        return ",".join("-".join(map(str, part)) for part in value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        number = Decimal(repr(value + 0.0)).normalize()  # without a minus before 0
        return min(f"{number:f}", f"{number:e}".replace("e+", "e"), key=len)
    return str(value)


def unknown_path(run: RunConfig, path: str) -> UserError:
    """What to say of a path that a run does not have: the nearest path, or those that there are."""
    head, dot, _ = path.partition(".")
    by_name: dict[str, list[str]] = {}
    for candidate in paths(run):
        name = candidate if dot else candidate.rpartition(".")[2]
        by_name.setdefault(name, []).append(candidate)
    near = difflib.get_close_matches(path, by_name, n=1, cutoff=0.75)
    names = _field_names(_section(run, head))
    if near:
        hint = f"did you mean {' or '.join(by_name[near[0]])}?"
    elif names:
        hint = f"known: {', '.join(sorted(names))}."
    else:
        sections = sorted(name for name in _field_names(run) if _field_names(_section(run, name)))
        hint = f"method {run.method} has no section {head}; it has {', '.join(sections)}."
    return UserError(f"There is no field {path}; {hint}")
