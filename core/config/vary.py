"""Changing a configuration by dotted path: `vary(run, {"queue.size": 256})`, and reading a user's
values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from traceback import extract_tb
from typing import Any

from core.config.run import RunConfig
from core.config.section import Field, Section, alternatives, decimal, fields_of, whole_number
from core.errors import UserError, place
from core.formatting import nearest

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
        fields[head] = _replaced(run, prefix, fields.get(head, _owner(run, head)), inner)
    varied: RunConfig = _replaced(run, "", run, fields)
    return varied


def _replaced(run: RunConfig, prefix: str, section: Any, values: Mapping[str, Any]) -> Any:
    """A section of the run, or the run itself, with these values of its fields."""
    fields = _fields(section)
    for field in values.keys() - fields:
        raise unknown_path(run, f"{prefix}{field}")
    changes = {fields[field].name: value for field, value in values.items()}
    try:
        return dataclasses.replace(section, **changes)
    except ValueError as error:  # of a method's own check
        frame = extract_tb(error.__traceback__)[-1]
        raise UserError(f"{error} ({place(Path(frame.filename), '', frame.lineno)}).") from error


def _owner(run: RunConfig, name: str) -> Any:
    """The section of this name, or the run itself for ""; None without such a section."""
    return getattr(run, name, None) if name else run


def _fields(section: Any) -> dict[str, Field]:
    """The fields of a section by their public names; of anything else none."""
    return fields_of(type(section)) if isinstance(section, Section) else {}


def over(changes: Mapping[str, object], special: Mapping[str, object]) -> dict[str, object]:
    """Changes and more special ones, which win; a whole section replaces its fields."""
    others = {}
    for path, value in changes.items():
        if path.partition(".")[0] not in special:
            others[path] = value
    return {**others, **special}


def _field(run: RunConfig, path: str) -> tuple[Any, Field | None]:
    """What a path names: its section, or the run itself, and the field, if the run has it."""
    head, dot, name = path.rpartition(".")
    owner = _owner(run, head) if bool(head) == bool(dot) else None
    return owner, _fields(owner).get(name)


def reads(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path, not in a section that it leaves out, and its
    method reads the field."""
    if path == "data.reader" and run.data.columns > 1:  # a text with columns is read one way
        return False
    return path not in run.unread and _field(run, path)[1] is not None


def value_at(run: RunConfig, path: str) -> Any:
    """The value at a dotted path. Raises UserError if there is none."""
    owner, field = _field(run, path)
    if field is None:
        raise unknown_path(run, path)
    return getattr(owner, field.name)


def paths(run: RunConfig) -> list[str]:
    """Every path of the run's leaf fields, as `--set` takes them."""
    leaves = []
    for name in _fields(run):
        leaves += [f"{name}.{field}" for field in _fields(_owner(run, name))] or [name]
    return leaves


def parsed(run: RunConfig, path: str, text: str) -> Any:
    """The value that a text means in a field, by the field's type: none, true or false, a number,
    ranges, or words. Raises UserError for a path that the run does not have."""
    value = value_at(run, path)
    field = _field(run, path)[1]
    options = alternatives(field and field.hint)
    if text.lower() == "none" and type(None) in options:
        return None
    for inner in _fields(value):
        raise UserError(f"{path} is a section of fields; set one of them, such as {path}.{inner}.")
    if text.lower() in ("true", "false") and bool in options:
        return text.lower() == "true"
    for kind, read_as in ((int, whole_number), (float, decimal)):
        number = read_as(text)
        if kind in options and number is not None:
            return number
    if tuple[tuple[int, int], ...] in options and RANGES.fullmatch(text):
        # in another order they would be another run
        ranges = sorted(tuple(map(int, part.split("-"))) for part in text.split(","))
        if any(start > stop for start, stop in ranges):
            raise UserError(f"{path}={text} has a range that ends before it begins; turn it round.")
        for (_, stop), (after, _) in pairwise(ranges):
            if after < stop:
                raise UserError(f"{path}={text} has overlapping ranges; join them.")
        return tuple(ranges)
    return text


def written(value: Any) -> str:
    """The text of a field's value in names and labels: one text for one value, which `parsed`
    reads. Of `0.0001` and `1e-4` the shorter, and of equal lengths the first."""
    if isinstance(value, tuple | list):
        return ",".join("-".join(map(str, part)) for part in value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        number = Decimal(repr(float(value) + 0.0)).normalize()  # without a minus before 0
        return min(f"{number:f}", f"{number:e}".replace("e+", "e"), key=len)
    return str(value)


def unknown_path(run: RunConfig, path: str) -> UserError:
    """What to say of a path that a run does not have: the nearest path, or those that there are."""
    start = f"{path.partition('.')[0]}."
    near = [other for other in paths(run) if other.startswith(start) or other.endswith(f".{path}")]
    hint = f"{run.method} has {', '.join(near or _fields(run))}."
    return UserError(f"There is no field {path}; {nearest(path, paths(run), hint, cutoff=0.75)}")
