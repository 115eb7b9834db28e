"""The axes of a study: what each label stands for, and what a combination of labels changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from core.config.section import Typed, one_of
from core.errors import UserError

Labels = tuple[str, ...]  # of a cell, one along each axis
# the papers' and a plain one that is shipped; a scale's own stands for bert-base
ENCODERS = ("bert-base", "bert-large", "roberta-base", "roberta-large", "plain")
OF_METRIC = ("task", "quantity", "checkpoint", "title")  # fields of a row that are a metric's
ONCE = ("method", "encoder", *OF_METRIC)  # what one axis alone may state of a cell


@dataclass(frozen=True, slots=True)
class Row(Typed):
    """What one label of an axis stands for, in every cell that has the label: what it changes, and
    the method and encoder in the place of the study's. `task`, `quantity`, `checkpoint` and `title`
    take the place of those of the study's metric.
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

    def paths(self) -> set[str]:
        """The fields that the row states, and the paths that it changes under some profile."""
        stated = {name for name in ONCE if getattr(self, name)}
        return stated.union(self.changes, *self.by_profile.values())


@dataclass(frozen=True, slots=True)
class Axis(Typed):
    """What a table varies: `name` for CSV headers, `title` and `labels` as the paper has them. In
    the file of a study `labels` may say what each label stands for."""

    name: str
    title: str
    labels: Mapping[str, Row] | Labels


def overlap(path: str, other: str) -> bool:
    """Whether one of two paths is the other, or lies within it."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def joined(
    axes: Sequence[Axis], labels: Sequence[str], cell: Callable[..., Row] | None = None
) -> Row:
    """What the labels of a cell, one of each axis, stand for together, and what `cell` says of
    them. Raises UserError where two of these state one field, or a path within the other's."""
    rows = {}
    for axis, label in zip(axes, labels, strict=True):
        if isinstance(axis.labels, Mapping):
            rows[axis.name] = axis.labels[label]
    if cell is not None:
        rows["cell"] = cell(*labels)
    whole = Row()
    for name, row in rows.items():
        for path in sorted(row.paths()):
            for other in whole.paths():
                if overlap(path, other):
                    raise UserError(
                        f"{name} and another axis both change {path}; leave it to one of them."
                    )
        by_profile: dict[str, Mapping[str, object]] = dict(whole.by_profile)
        for profile, more in row.by_profile.items():
            by_profile[profile] = {**by_profile.get(profile, {}), **more}
        once: dict[str, Any] = {
            name: getattr(row, name) or getattr(whole, name) for name in (*ONCE, "copied")
        }
        whole = Row({**whole.changes, **row.changes}, by_profile, **once)
    return whole


def by_labels(
    name: str, printed: Any, axes: Sequence[Axis], every: bool, labels: Labels = ()
) -> dict[Labels, Any]:
    """What is printed by the labels of a cell: stated by label, axis within axis, or as a tuple in
    the order of the labels. `every`: each label must be there. Raises UserError for anything else;
    None stands for all that is below it."""
    if printed is None or not axes:
        return {labels: printed}
    axis, *further = axes
    if isinstance(printed, tuple) and len(printed) == len(axis.labels):
        printed = dict(zip(axis.labels, printed, strict=True))
    known = isinstance(printed, Mapping) and printed.keys() <= set(axis.labels)
    if not known or (every and len(printed) < len(axis.labels)):
        raise UserError(
            f"{name} is {repr(printed)[:80]} along {axis.name}; give a number or None for each of "
            f"its labels: {', '.join(axis.labels)}."
        )
    numbers: dict[Labels, Any] = {}
    for label, part in printed.items():
        numbers |= by_labels(name, part, further, every, (*labels, label))
    return numbers
