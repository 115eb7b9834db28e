"""The axes of a study: what each label stands for, and what a combination of labels changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any

from core.config.section import Typed, one_of
from core.errors import UserError, counted, nearest

# the papers'; a scale's own stands for bert-base
ENCODERS = ("bert-base", "bert-large", "roberta-base", "roberta-large")
OF_METRIC = ("task", "quantity", "checkpoint", "title")  # fields of a row that are a metric's


@dataclass(frozen=True, slots=True)
class Row(Typed):
    """What one label of an axis stands for, in every cell that has the label.

    `changes`, `by_profile`, `method`, `encoder` and `copied` are those of a `Cell`. `task`,
    `quantity`, `checkpoint` and `title` take the place of those of the study's metric.
    """

    changes: Mapping[str, object] = field(default_factory=dict)
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    method: str | None = None
    encoder: Annotated[str | None, "one of the papers'", one_of(ENCODERS)] = None
    task: str | None = None
    quantity: str | None = None
    checkpoint: str | None = None
    title: str | None = None
    copied: bool = False


@dataclass(frozen=True, slots=True)
class Axis(Typed):
    """What a table varies: `name` for CSV headers, `title` and `labels` as the paper has them.

    `values` say what each label stands for; `labels` are then theirs.
    """

    name: str
    title: str
    values: Mapping[str, Row] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    def check(self):
        if not self.values:
            return
        if self.labels not in ((), tuple(self.values)):
            raise UserError(
                f"The labels of {self.name} are not those of its values; leave labels out."
            )
        object.__setattr__(self, "labels", tuple(self.values))


def joined(axes: Sequence[Axis], labels: Sequence[str]) -> Row:
    """What the labels of a cell, one of each axis, stand for together. Raises UserError where two
    axes state one field."""
    rows = []
    for axis, label in zip(axes, labels, strict=True):
        rows.append((axis.name, axis.values.get(label, Row())))
    stated: dict[str, Any] = {}
    for (name, row), (other_name, other) in combinations(rows, 2):
        for path in _shared(row, other):
            raise UserError(
                f"Axes {name} and {other_name} both change {path}; leave it to one of them, or "
                "state the cells."
            )
    for _, row in rows:
        for attribute in ("method", "encoder", "copied", *OF_METRIC):
            stated[attribute] = stated.get(attribute) or getattr(row, attribute)
    changes: dict[str, object] = {}
    by_profile: dict[str, dict[str, object]] = {}
    for _, row in rows:
        changes |= row.changes
        for profile, more in row.by_profile.items():
            by_profile[profile] = {**by_profile.get(profile, {}), **more}
    return Row(changes, by_profile, **stated)


def _shared(row: Row, other: Row) -> Iterator[str]:
    """The fields that two rows both state, and paths within a section that the other replaces."""
    for attribute in ("method", "encoder", *OF_METRIC):
        if getattr(row, attribute) and getattr(other, attribute):
            yield attribute
    paths = [
        *row.changes,
        *dict.fromkeys(path for more in row.by_profile.values() for path in more),
    ]
    others = [*other.changes]
    for more in other.by_profile.values():
        others += more
    for path in paths:
        for second in others:
            if f"{path}.".startswith(f"{second}.") or f"{second}.".startswith(f"{path}."):
                yield max(path, second, key=len)


def check_printed(name: str, printed: object, axes: Sequence[Axis], every: bool) -> None:
    """Refuse printed numbers that do not follow the axes: by label, or a tuple in the order of the
    labels, axis within axis. `every`: each label must be there."""
    if printed is None or not axes:
        return
    axis = axes[0]
    if isinstance(printed, Mapping):
        for label in printed:
            if label not in axis.labels:
                hint = nearest(label, axis.labels, f"choose one of {', '.join(axis.labels)}.")
                raise UserError(f"{name} has {label}, which is no label of {axis.name}; {hint}")
        for label in axis.labels:
            if every and label not in printed:
                raise UserError(
                    f"{name} lacks {label} of {axis.name}; give its number, or None if the paper "
                    "prints none."
                )
        parts = list(printed.values())
    elif isinstance(printed, tuple):
        if len(printed) != len(axis.labels):
            raise UserError(
                f"{name} has {counted(len(printed), 'number')} along {axis.name}, which has "
                f"{counted(len(axis.labels), 'label')}; give one for each, or None."
            )
        parts = list(printed)
    else:
        raise UserError(
            f"{name} is {repr(printed)[:80]} along {axis.name}; give a number by label, or a tuple "
            "in the order of its labels."
        )
    for part in parts:
        check_printed(name, part, axes[1:], every)


def entry(printed: Any, axes: Sequence[Axis], labels: Sequence[str]) -> Any:
    """What is printed for the cell with these labels; None if nothing is."""
    for axis, label in zip(axes, labels, strict=True):
        if printed is None:
            return None
        if isinstance(printed, Mapping):
            printed = printed.get(label)
        else:
            printed = printed[axis.labels.index(label)]
    return printed
