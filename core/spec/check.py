"""What can be wrong with a study, before anything is trained: each check raises UserError with one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.spec import methods
from core.spec.claim import Labels, matches
from core.spec.errors import UserError
from core.spec.methods import PROFILES, settled_for_cells
from core.spec.result import CHECKPOINTS, TASKS, known_quantity
from core.spec.study import Study
from core.spec.table import ENCODERS, Cell, Metric

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")  # of a study: it becomes the name of files and of a place on the page
TAKEN = frozenset(  # files of an edition, and places of the page
    "claims claims-head comparability cost environment evaluate matrix not-tested search seeds shown studies".split()
)


def check_shape(study: Study) -> None:
    """Refuse axes, cells, reference, figure and claims that do not fit together. Raises UserError."""
    _check_axes(study)
    _check_cells(study)
    _check_changes(study)
    _check_places(study)
    if study.tasks is not None and "task" not in [axis.name for axis in study.axes]:
        raise UserError(
            f"{study.name} has no axis named task, over which tasks={study.tasks!r} could run; name one so, or leave tasks out."
        )
    base = study.figure.base if study.figure is not None else None
    for labels, purpose, remedy in (
        (study.reference, "for its reference", "name one of its cells, or None"),
        (base, "that the others could be drawn against", "name one of its cells"),
        *((labels, "that could learn", "name cells of it in must_learn") for labels in study.must_learn),
    ):
        if labels is not None and not study.matching(labels):
            raise UserError(f"{study.name} has no cell {_joined(labels)} {purpose}; {remedy}.")
    _check_claims(study)


def _check_axes(study: Study) -> None:
    names = [axis.name for axis in study.axes]
    for sort, texts in (("axes", names), *((f"labels along {axis.name}", axis.labels) for axis in study.axes)):
        double = next((text for text in texts if texts.count(text) > 1), None)
        if double is not None:
            raise UserError(f"{study.name} has two {sort} called {double}; give each a name of its own.")
    drawn = (study.figure.x, study.figure.series) if study.figure is not None else ()
    for name in (study.rows, study.columns, *drawn):
        if name is not None and name not in names:
            raise UserError(f"{study.name} has no axis {name}; choose one of {', '.join(names)}.")


def _check_places(study: Study) -> None:
    """Refuse a table with several runs in one place. Several numbers of one run may share a place; CSV files have them all."""
    if study.rows is not None and study.rows == study.columns:
        raise UserError(f"{study.name} has {study.rows} along rows and columns; name two axes, or None for one of them.")
    laid = [place for place, axis in enumerate(study.axes) if axis.name in (study.rows, study.columns)] or [0]
    kept: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        other = kept.setdefault(tuple(cell.labels[place] for place in laid), cell)
        if (other.method, other.encoder, other.changes, other.by_profile) != (cell.method, cell.encoder, cell.changes, cell.by_profile):
            raise UserError(
                f"{_joined(other.labels)} and {_joined(cell.labels)} fall on one place of the table of {study.name}, which lays out "
                "rows and columns alone; name other axes for these, or split the study."
            )


def _check_cells(study: Study) -> None:
    seen = set()
    for cell in study.cells:
        if cell.labels in seen:
            raise UserError(f"{study.name} has two cells {_joined(cell.labels)}; give each labels of its own.")
        seen.add(cell.labels)
        axes = study.axes
        if len(cell.labels) != len(axes) or any(l not in a.labels for l, a in zip(cell.labels, axes, strict=True)):
            raise UserError(
                f"The cell {_joined(cell.labels)} does not lie on the axes of {study.name}; give it one label of each, in their order."
            )
        if cell.encoder not in ENCODERS:
            raise UserError(f"There is no encoder {cell.encoder}; choose one of {', '.join(ENCODERS)}.")
    for profile in [*study.by_profile, *(name for cell in study.cells for name in cell.by_profile)]:
        if profile not in PROFILES:
            raise UserError(f"There is no profile {profile}; choose one of {', '.join(PROFILES)}.")


def _check_changes(study: Study) -> None:
    cells = [changes for cell in study.cells for changes in (cell.changes, *cell.by_profile.values())]
    for path in dict.fromkeys(path for changes in (study.base_changes, *study.by_profile.values(), *cells) for path in changes):
        if path == "method":
            raise UserError(f"{study.name} changes method; a cell of another method says so with method= beside its changes.")
        if (option := settled_for_cells(path)) is not None:
            raise UserError(
                f"{study.name} changes {path}, which {option} settles whatever a study says; leave it out, or change another field."
            )


def _check_claims(study: Study) -> None:
    keys = set()
    for claim in study.claims:
        if claim.key in keys:
            raise UserError(f"{study.name} has two claims {claim.key}; give each a key of its own.")
        keys.add(claim.key)
        if claim.margin is not None and claim.margin <= 0.0:
            raise UserError(f"Claim {claim.key} has a margin of {claim.margin:g}; give one above 0.")
        for labels in {term.cell for contrast in claim.predicate.contrasts() for term in contrast.terms}:
            if not any(matches(labels, cell.labels) for cell in study.cells):
                raise UserError(f"Claim {claim.key} speaks of {_joined(labels)}, which is no cell of {study.name}; name one of its cells.")


def check_names(study: Study, sets: frozenset[str]) -> None:
    """Refuse unknown methods, tasks, checkpoints and quantities. Raises UserError.

    `sets` are the test sets and transfer tasks of all scales.
    """
    if not NAME.fullmatch(study.name) or study.name in TAKEN or study.name.endswith("_runs"):
        raise UserError(
            f"A study cannot be called {study.name[:80]!r}, since files and links are named after it; give it a name of letters, digits "
            "and hyphens that no file of an edition has."
        )
    for method in (study.method, *(cell.method for cell in study.cells if cell.method is not None)):
        if method not in methods.names():
            raise UserError(f"There is no method {method}; choose one of {', '.join(methods.names())}.")
    for metric in dict.fromkeys(_metrics(study)):
        for name, known, sort in ((metric.task, (*TASKS, *sorted(sets)), "task"), (metric.checkpoint, CHECKPOINTS, "checkpoint")):
            if name not in known and not (metric.checkpoint == "data" and name.removesuffix(" train").removesuffix(" dev") in known):
                raise UserError(f"There is no {sort} {name}; choose one of {', '.join(known)}.")
        if not known_quantity(metric.quantity):
            raise UserError(f"There is no quantity {metric.quantity}; core/spec/result.py lists what a run leaves.")
    for label in study.axis("task").labels if study.tasks is not None else ():
        if label != "avg" and label not in sets:
            raise UserError(f"There is no task {label}; choose one of avg, {', '.join(sorted(sets))}.")


def check_configurations(study: Study) -> None:
    """Refuse a cell whose changes make no configuration under some profile. Raises UserError."""
    seen = []
    for cell in study.cells:
        changes = (cell.method, cell.changes, cell.by_profile)
        if cell.copied or changes in seen:
            continue
        seen.append(changes)
        for profile in PROFILES:
            try:
                study.paper_config(cell, profile)
            except UserError as error:
                raise UserError(f"{_joined(cell.labels)} of {study.name} makes no run under {profile}: {error}") from error


def _metrics(study: Study) -> Iterator[Metric]:
    yield study.metric
    yield from (cell.metric for cell in study.cells if cell.metric is not None)
    for claim in study.claims:
        yield from (contrast.metric for contrast in claim.predicate.contrasts() if contrast.metric is not None)


def _joined(labels: Labels) -> str:
    """A cell in words: its labels, `any` where every label is meant."""
    return "/".join("any" if label is None else label for label in labels)
