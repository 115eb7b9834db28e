"""What can be wrong with a study. Each check raises UserError with one sentence, before any training."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from core.spec import methods
from core.spec.claim import POINT, ROUNDING, Labels, matches
from core.spec.errors import UserError
from core.spec.methods import PROFILES, settled_for_cells
from core.spec.result import CHECKPOINTS, TASKS, known_quantity, unit
from core.spec.scale import SCALES
from core.spec.study import Study
from core.spec.table import ENCODERS, Cell, Metric

SETS = frozenset(name for scale in SCALES.values() for name in (*scale.tests, *scale.probes))
NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
)  # of a study: it becomes the name of files and of a link
TAKEN = frozenset(  # files of a scale and profile, and places of the page
    "claims claims-head comparability cost environment evaluate matrix".split()
    + "not-tested search seeds shown studies".split()
)


def check_shape(study: Study) -> None:
    """Refuse axes, cells, reference, figure and claims that do not fit together. Raises UserError."""
    _check_axes(study)
    _check_cells(study)
    _check_places(study)
    base = study.figure.base if study.figure is not None else None
    for labels, purpose, remedy in (
        (study.reference, "for its reference", "name one of its cells, or None"),
        (base, "that the others could be drawn against", "name one of its cells"),
        *((labels, "that could learn", "name cells of it in must_learn") for labels in study.must_learn),
    ):
        if labels is not None and not study.matching(labels):
            raise UserError(f"{study.name} has no cell {_joined(labels)} {purpose}; {remedy}.")
    _check_claims(study)
    for place, axis in enumerate(study.axes):
        for label in axis.labels:
            if label not in {cell.labels[place] for cell in study.cells}:
                hint = "add one or drop it"
                raise UserError(f"No cell of {study.name} has the label {label} along {axis.name}; {hint}.")


def _check_axes(study: Study) -> None:
    names = [axis.name for axis in study.axes]
    _check_distinct(study, "axes", names)
    for axis in study.axes:
        _check_distinct(study, f"labels along {axis.name}", axis.labels)
    drawn = (study.figure.x, study.figure.series) if study.figure is not None else ()
    for name in (study.rows, study.columns, *drawn):
        if name is not None and name not in names:
            raise UserError(f"{study.name} has no axis {name}; choose one of {', '.join(names)}.")
    if study.tasks is not None and "task" not in names:
        hint = "name one so, or leave tasks out"
        raise UserError(
            f"{study.name} has no axis named task, over which tasks={study.tasks!r} could run; {hint}."
        )


def _check_cells(study: Study) -> None:
    _check_distinct(study, "cells", [_joined(cell.labels) for cell in study.cells])
    for cell in study.cells:
        pairs = list(zip(cell.labels, study.axes, strict=False))
        if len(cell.labels) != len(study.axes) or any(label not in axis.labels for label, axis in pairs):
            hint = "give it one label of each, in their order"
            raise UserError(
                f"The cell {_joined(cell.labels)} does not lie on the axes of {study.name}; {hint}."
            )
        _check_one_of("encoder", cell.encoder, ENCODERS)
    for profile in [*study.by_profile, *(name for cell in study.cells for name in cell.by_profile)]:
        _check_one_of("profile", profile, PROFILES)
    cells = [changes for cell in study.cells for changes in (cell.changes, *cell.by_profile.values())]
    for path in {
        path for changes in (study.base_changes, *study.by_profile.values(), *cells) for path in changes
    }:
        if path == "method":
            raise UserError(f"{study.name} changes method; a cell of another method says so with method=.")
        if (option := settled_for_cells(path)) is not None:
            hint = "leave it out, or change another field"
            raise UserError(
                f"{study.name} changes {path}, which {option} settles whatever a study says; {hint}."
            )


def _check_places(study: Study) -> None:
    """Refuse a table with several runs in one place. Several numbers of one run may share a place."""
    if study.rows is not None and study.rows == study.columns:
        hint = "name two axes, or None for one"
        raise UserError(f"{study.name} has {study.rows} along rows and columns; {hint}.")
    laid = [place for place, axis in enumerate(study.axes) if axis.name in (study.rows, study.columns)] or [0]
    kept: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        other = kept.setdefault(tuple(cell.labels[place] for place in laid), cell)
        runs = [(each.method, each.encoder, each.changes, each.by_profile) for each in (other, cell)]
        if runs[0] != runs[1]:
            raise UserError(
                f"{_joined(other.labels)} and {_joined(cell.labels)} fall on one place of the table of "
                f"{study.name}, which lays out rows and columns alone; name other axes, or split the study."
            )


def _check_claims(study: Study) -> None:
    _check_distinct(study, "claims", [claim.key for claim in study.claims])
    for claim in study.claims:
        if claim.margin is not None and claim.margin <= 0.0:
            raise UserError(f"Claim {claim.key} has a margin of {claim.margin:g}; give one above 0.")
        for labels in {term.cell for contrast in claim.predicate.contrasts() for term in contrast.terms}:
            if not any(matches(labels, cell.labels) for cell in study.cells):
                what = f"{_joined(labels)}, which is no cell of {study.name}"
                raise UserError(f"Claim {claim.key} speaks of {what}; name one of its cells.")


def check_names(study: Study) -> None:
    """Refuse unknown methods, tasks, checkpoints and quantities. Raises UserError."""
    if not NAME.fullmatch(study.name) or study.name in TAKEN or study.name.endswith("_runs"):
        raise UserError(
            f"A study cannot be called {study.name[:80]!r}, since files and links are named after it; "
            "give it a name of letters, digits and hyphens that no other file has."
        )
    for method in (study.method, *(cell.method for cell in study.cells if cell.method is not None)):
        _check_one_of("method", method, methods.names())
    for metric in _metrics(study):
        task = (
            metric.task.removesuffix(" train").removesuffix(" dev")
            if metric.checkpoint == "data"
            else metric.task
        )
        if metric.task not in TASKS:
            _check_one_of("task", task, (*TASKS, *sorted(SETS)))
        _check_one_of("checkpoint", metric.checkpoint, CHECKPOINTS)
        if not known_quantity(metric.quantity):
            hint = "core/spec/result.py lists what a run leaves"
            raise UserError(f"There is no quantity {metric.quantity}; {hint}.")
    for label in study.axis("task").labels if study.tasks is not None else ():
        _check_one_of("task", label, ("avg", *sorted(SETS)))


def check_comparisons(study: Study) -> None:
    """Refuse a claim that says nothing: of one number and itself, of two kinds of numbers, or with a margin
    in another unit. Raises UserError."""
    for claim in study.claims:
        for contrast in claim.predicate.contrasts():
            names = " and ".join(dict.fromkeys(_joined(term.cell) for term in contrast.terms))
            units: set[str] = set()
            sums: dict[object, float] = {}
            for term in contrast.terms:
                cells = study.matching(term.cell)
                for cell in cells:
                    metric = contrast.metric or study.metric_of(cell)
                    number = (
                        cell.labels if cell.copied else (cell.encoder, _every_config(study, cell)),
                        metric,
                    )
                    sums[number] = sums.get(number, 0.0) + term.weight / len(cells)
                    units.add(unit(metric))
            if all(abs(weight) < ROUNDING for weight in sums.values()):
                hint = "name cells that differ"
                raise UserError(f"Claim {claim.key} compares {names}, one number of one run; {hint}.")
            if len(units) > 1:
                raise UserError(
                    f"Claim {claim.key} compares different kinds ({', '.join(sorted(units))}): {names}."
                )
            if claim.margin == POINT and not next(iter(units)).endswith("× 100"):
                raise UserError(
                    f"Claim {claim.key} has a margin of a point, and its unit is {', '.join(units)}. "
                    "Give it a margin in their unit, or None."
                )


def _every_config(study: Study, cell: Cell) -> tuple[object, ...]:
    return tuple(study.paper_config(cell, profile) for profile in PROFILES)


def check_configurations(study: Study) -> None:
    """Refuse a cell whose changes make no configuration under some profile. Raises UserError."""
    for cell in study.cells:
        for profile in PROFILES if not cell.copied else ():
            try:
                study.paper_config(cell, profile)
            except UserError as error:
                raise UserError(
                    f"{_joined(cell.labels)} of {study.name} makes no run under {profile}: {error}"
                ) from error


def _check_distinct(study: Study, kind: str, names: Sequence[str]) -> None:
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise UserError(f"{study.name} has two {kind} called {double}; give each a name of its own.")


def _check_one_of(kind: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise UserError(f"There is no {kind} {name}; choose one of {', '.join(known)}.")


def _metrics(study: Study) -> Iterator[Metric]:
    yield study.metric
    yield from (cell.metric for cell in study.cells if cell.metric is not None)
    for claim in study.claims:
        yield from (
            contrast.metric for contrast in claim.predicate.contrasts() if contrast.metric is not None
        )


def _joined(labels: Labels) -> str:
    """A cell in words: its labels, `any` where every label is meant."""
    return "/".join("any" if label is None else label for label in labels)
