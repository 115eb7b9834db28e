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

from core.spec.errors import UserError, place
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, decimal, field_types, public_names, whole

RANGES = re.compile("[0-9]{1,9}-[0-9]{1,9}(,[0-9]{1,9}-[0-9]{1,9})*")


def vary(run: RunConfig, changes: Mapping[str, object]) -> RunConfig:
    """A copy of `run` with the fields at these paths set. A whole section may be given, or None to
    drop it.

    Raises UserError for an unknown path, a wrong type or a contradiction. All changes are made
    before the cross-field rules are checked, so that fields which go together can be changed
    together.
    """
    # by section and dot: "queue."; "" is the run itself
    values: dict[str, dict[str, Any]] = {"": {}}
    for path, value in changes.items():
        head, dot, field = path.rpartition(".")
        values.setdefault(f"{head}{dot}", {})[field] = value
    fields = values.pop("")
    for prefix, inner in values.items():
        head = prefix[:-1]
        fields[head] = _replaced(run, prefix, fields.get(head, _section(run, head)), inner)
    return _replaced(run, "", run, fields)


def _replaced(run: RunConfig, prefix: str, section: Any, values: Mapping[str, Any]) -> Any:
    """A section of the run, or the run itself, with these values of its fields."""
    names = _names(section)
    for field in values.keys() - names:
        raise unknown(run, f"{prefix}{field}")
    try:
        return dataclasses.replace(
            section, **{names[field]: value for field, value in values.items()}
        )
    except ValueError as error:  # of a method's own check
        frame = extract_tb(error.__traceback__)[-1]
        raise UserError(f"{error} ({place(Path(frame.filename), '', frame.lineno)}).") from error


def _section(run: RunConfig, name: str) -> Any:
    """What a run has under this name; None without such a section."""
    return getattr(run, public_names(type(run)).get(name, ""), None)


def _names(section: Any) -> dict[str, str]:
    """The fields of a section by their public names; of anything else none."""
    return public_names(type(section)) if isinstance(section, Section) else {}


def over(changes: Mapping[str, object], special: Mapping[str, object]) -> dict[str, object]:
    """Changes and more special ones, which win; a whole section replaces its fields."""
    kept = {path: value for path, value in changes.items() if path.partition(".")[0] not in special}
    return {**kept, **special}


def has(run: RunConfig, path: str) -> bool:
    """Whether a run has a field at a dotted path; not in a section that it leaves out."""
    head, dot, field = path.rpartition(".")
    return field in _names(_section(run, head) if dot else run)


def read(run: RunConfig, path: str) -> Any:
    """The value at a dotted path. Raises UserError if there is none."""
    owner, field = _place(run, path)
    return getattr(owner, field)


def _place(run: RunConfig, path: str) -> tuple[Section, str]:
    """The section that a path names, or the run itself, and the field in it. Raises UserError."""
    if not has(run, path):
        raise unknown(run, path)
    head, dot, field = path.rpartition(".")
    owner = _section(run, head) if dot else run
    return owner, _names(owner)[field]


def paths(run: RunConfig) -> list[str]:
    """Every path of the run's leaf fields, as `--set` takes them."""
    leaves = []
    for name in _names(run):
        leaves += [f"{name}.{field}" for field in _names(_section(run, name))] or [name]
    return leaves


def parsed(run: RunConfig, path: str, text: str) -> Any:
    """The value that a text means in a field, by the field's type: none, true or false, a number,
    ranges, or words. Raises UserError for a path that the run does not have."""
    owner, field = _place(run, path)
    options = alternatives(field_types(type(owner))[field])
    if text.lower() == "none" and type(None) in options:
        return None
    if name := next(iter(_names(getattr(owner, field))), ""):
        raise UserError(f"{path} is a section of fields; set one of them, such as {path}.{name}.")
    if text.lower() in ("true", "false") and bool in options:
        return text.lower() == "true"
    for kind, read_as in ((int, whole), (float, decimal)):
        if kind in options and (number := read_as(text)) is not None:
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


def unknown(run: RunConfig, path: str) -> UserError:
    """What to say of a path that a run does not have: the nearest path, or those that there are."""
    head, dot, _ = path.partition(".")
    by_name: dict[str, list[str]] = {}
    for candidate in paths(run):
        by_name.setdefault(candidate if dot else candidate.rpartition(".")[2], []).append(candidate)
    if near := difflib.get_close_matches(path, by_name, n=1, cutoff=0.75):
        hint = f"did you mean {' or '.join(by_name[near[0]])}?"
    elif names := _names(_section(run, head)):
        hint = f"known: {', '.join(sorted(names))}."
    else:
        sections = sorted(name for name in _names(run) if _names(_section(run, name)))
        hint = f"method {run.method} has no section {head}; it has {', '.join(sections)}."
    return UserError(f"There is no field {path}; {hint}")
