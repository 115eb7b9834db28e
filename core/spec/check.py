"""What can be wrong with a study beyond its fields. Each check raises UserError with one sentence, before any
training."""

from __future__ import annotations

import re
from collections.abc import Collection

from core.spec import methods
from core.spec.claim import POINT, ROUNDING, Labels
from core.spec.errors import UserError, refuse
from core.spec.methods import PROFILES, settled_for_cells
from core.spec.result import TASKS, unit
from core.spec.scale import SCALES
from core.spec.study import Study
from core.spec.table import Cell

SETS = frozenset(name for scale in SCALES.values() for name in (*scale.tests, *scale.probes))
NAME = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
)  # of a study: it becomes the name of files and of a link
TAKEN = frozenset(  # files of a scale and profile, and places of the page
    "claims claims-head comparability cost environment evaluate matrix".split()
    + "not-tested search seeds shown studies".split()
)


def check_study(study: Study) -> None:
    """Refuse parts of a study that do not fit together, and unknown names. Raises UserError."""
    refuse(
        not NAME.fullmatch(study.name) or study.name in TAKEN or study.name.endswith("_runs"),
        f"A study cannot be called {study.name[:80]!r}, since files and links are named after it; "
        "give it a name of letters, digits and hyphens that no other file has.",
    )
    _check_axes(study)
    _check_cells(study)
    named: list[tuple[str, Labels | None]] = [("reference", study.reference)]
    named += [("figure", study.figure.base)] if study.figure is not None else []
    named += [("must_learn", labels) for labels in study.must_learn]
    named += [(f"Claim {claim.key}", labels) for claim in study.claims for labels in claim.cells()]
    for owner, labels in named:
        if labels is not None and not study.matching(labels):
            what = f"{_joined(labels)}, which is no cell of {study.name}"
            raise UserError(f"{owner} speaks of {what}; name one of its cells.")
    _check_distinct(study, "claims", [claim.key for claim in study.claims])
    metrics = [study.metric, *(cell.metric for cell in study.cells)]
    metrics += [contrast.metric for claim in study.claims for contrast in claim.predicate.contrasts()]
    for task in {metric.task for metric in metrics if metric is not None}:
        _check_one_of("task", task.removesuffix(" train").removesuffix(" dev"), (*TASKS, *sorted(SETS)))


def _check_axes(study: Study) -> None:
    names = [axis.name for axis in study.axes]
    _check_distinct(study, "axes", names)
    used = [study.rows, study.columns, "task" if study.tasks is not None else None]
    used += [study.figure.x, study.figure.series] if study.figure is not None else []
    _check_distinct(study, "axes of rows and columns", [name for name in used[:2] if name])
    for name in filter(None, used):
        _check_one_of("axis", name, names)


def _check_cells(study: Study) -> None:
    _check_distinct(study, "cells", [_joined(cell.labels) for cell in study.cells])
    laid = [place for place, axis in enumerate(study.axes) if axis.name in (study.rows, study.columns)] or [0]
    places: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        pairs = list(zip(cell.labels, study.axes, strict=False))
        if len(cell.labels) != len(study.axes) or any(label not in axis.labels for label, axis in pairs):
            hint = "give it one label of each, in their order"
            raise UserError(
                f"The cell {_joined(cell.labels)} does not lie on the axes of {study.name}; {hint}."
            )
        _check_one_of("method", cell.method or study.method, methods.names())
        # several numbers of one run may share a place
        other = places.setdefault(tuple(cell.labels[place] for place in laid), cell)
        runs = [(each.method, each.encoder, each.changes, each.by_profile) for each in (other, cell)]
        refuse(
            runs[0] != runs[1],
            f"{_joined(other.labels)} and {_joined(cell.labels)} fall on one place of the table of "
            f"{study.name}, which lays out rows and columns alone; name other axes, or split the study.",
        )
    changes = [(study.base_changes, study.by_profile)]
    changes += [(cell.changes, cell.by_profile) for cell in study.cells]
    for base, by_profile in changes:
        for profile in by_profile:
            _check_one_of("profile", profile, PROFILES)
        for path in {path for each in (base, *by_profile.values()) for path in each}:
            option = "method=" if path == "method" else settled_for_cells(path)
            hint = "leave it out, or change another field"
            refuse(
                option, f"{study.name} changes {path}, which {option} settles whatever a study says; {hint}."
            )
    for place, axis in enumerate(study.axes):
        empty = sorted(set(axis.labels) - {cell.labels[place] for cell in study.cells})
        hint = "add one or drop the label"
        refuse(empty, f"No cell of {study.name} has the label {', '.join(empty)} along {axis.name}; {hint}.")


def check_runs(study: Study) -> None:
    """Refuse a cell that makes no run, and a claim that says nothing: of one number and itself, of two kinds
    of numbers, or with a margin in another unit. Raises UserError."""
    for cell in study.cells:
        for profile in PROFILES if not cell.copied else ():
            try:
                study.paper_config(cell, profile)
            except UserError as error:
                raise UserError(
                    f"{_joined(cell.labels)} of {study.name} makes no run under {profile}: {error}"
                ) from error
    for claim in study.claims:
        for contrast in claim.predicate.contrasts():
            names = " and ".join(dict.fromkeys(_joined(term.cell) for term in contrast.terms))
            units: set[str] = set()
            weights: dict[object, float] = {}  # of each number
            for term in contrast.terms:
                cells = study.matching(term.cell)
                for cell in cells:
                    metric = contrast.metric or study.metric_of(cell)
                    runs = [study.paper_config(cell, profile) for profile in PROFILES if not cell.copied]
                    number = (metric, cell.encoder, *(runs or cell.labels))
                    weights[number] = weights.get(number, 0.0) + term.weight / len(cells)
                    units.add(unit(metric))
            refuse(
                all(abs(weight) < ROUNDING for weight in weights.values()),
                f"Claim {claim.key} compares {names}, one number of one run; name cells that differ.",
            )
            refuse(
                len(units) > 1,
                f"Claim {claim.key} compares different kinds ({', '.join(sorted(units))}): {names}.",
            )
            refuse(
                claim.margin == POINT and not units.pop().endswith("× 100"),
                f"Claim {claim.key} has a margin of a point, and its unit is another: {names}. Give it a "
                "margin in their unit, or None.",
            )


def _check_distinct(study: Study, kind: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    refuse(twice, f"{study.name} has two {kind} called {twice}; give each a name of its own.")


def _check_one_of(kind: str, name: str, known: Collection[str]) -> None:
    refuse(name not in known, f"There is no {kind} {name}; choose one of {', '.join(known)}.")


def _joined(labels: Labels) -> str:
    """A cell in words: its labels, `any` where every label is meant."""
    return "/".join("any" if label is None else label for label in labels)
