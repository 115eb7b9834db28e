"""What can be wrong with a study beyond its fields, each refused with one sentence before any
training."""

from __future__ import annotations

import re
from itertools import product
from operator import contains

from core.spec import methods
from core.spec.claim import POINT, Labels
from core.spec.errors import UserError
from core.spec.methods import PROFILES, SETTLED
from core.spec.result import TASKS, unit
from core.spec.scale import SCALES
from core.spec.study import Cell, Study

SETS = frozenset(name for scale in SCALES.values() for name in (*scale.tests, *scale.probes))
# of a study: it becomes the name of files and of a link
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
# files of a scale and profile, and places of the page
TAKEN = """
    claims claims-head comparability cost environment evaluate matrix not-tested search seeds
    shown studies
    """.split()


def check_study(study: Study) -> None:
    """Refuse parts of a study that do not fit together, and unknown names. Raises UserError."""
    if not NAME.fullmatch(study.name) or study.name in TAKEN or study.name.endswith("_runs"):
        raise UserError(
            f"A study cannot be called {study.name[:80]!r}, since files and links are named after "
            "it; "
            "give it a name of letters, digits and hyphens that no other file has."
        )
    axes = [axis.name for axis in study.axes]
    laid = [name for name in (study.rows, study.columns) if name is not None]
    for kind, names in (
        ("axes", axes),
        *((f"labels of {axis.name}", axis.labels) for axis in study.axes),
        ("axes of rows and columns", laid),
        ("cells", [_joined(cell.labels) for cell in study.cells]),
        ("claims", [claim.key for claim in study.claims]),
    ):
        for name in names:
            if names.count(name) > 1:
                raise UserError(
                    f"{study.name} has two {kind} called {name}; give each a name of its own."
                )
    figure = (study.figure.x, study.figure.series) if study.figure is not None else ()
    metrics = [study.metric, *(cell.metric for cell in study.cells)]
    metrics += [contrast.metric for claim in study.claims for contrast in claim.contrasts()]
    tasks = [re.sub(" (train|dev)$", "", metric.task) for metric in metrics if metric is not None]
    profiles = [*study.by_profile, *(name for cell in study.cells for name in cell.by_profile)]
    for kind, used, allowed in (
        (
            "axis",
            (*laid, *filter(None, figure), *(["task"] if study.tasks is not None else [])),
            axes,
        ),
        ("method", [cell.method or study.method for cell in study.cells], methods.names()),
        ("profile", profiles, PROFILES),
        ("task", tasks, (*TASKS, *sorted(SETS))),
    ):
        for name in used:
            if name not in allowed:
                raise UserError(f"There is no {kind} {name}; choose one of {', '.join(allowed)}.")
    _check_cells(study, [place for place, name in enumerate(axes) if name in laid] or [0])
    named: list[tuple[str, Labels | None]] = [
        ("reference", study.reference),
        ("figure", study.figure.base if study.figure is not None else None),
        *(("must_learn", labels) for labels in study.must_learn),
        *((f"Claim {claim.key}", labels) for claim in study.claims for labels in claim.cells()),
    ]
    for owner, labels in named:
        if labels is not None and all(cell.copied for cell in study.matching(labels)):
            raise UserError(
                f"{owner} speaks of {_joined(labels)}, which is no cell of {study.name} that "
                "is run; name another."
            )


def _check_cells(study: Study, laid: list[int]) -> None:
    """Refuse cells beside the axes, two runs at one place of the table, and changes that an option
    settles. `laid` are the places of the axes along rows and columns."""
    axes = [axis.labels for axis in study.axes]
    table: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        hint = (
            f"does not lie on the axes of {study.name}; give it one label of each, in their order"
        )
        on_axes = len(cell.labels) == len(axes) and all(map(contains, axes, cell.labels))
        if not on_axes:
            raise UserError(f"The cell {_joined(cell.labels)} {hint}.")
        # several numbers of one run may share a place
        other = table.setdefault(tuple(cell.labels[place] for place in laid), cell)
        runs = [
            (each.method, each.encoder, each.changes, each.by_profile) for each in (other, cell)
        ]
        if runs[0] != runs[1]:
            raise UserError(
                f"{_joined(other.labels)} and {_joined(cell.labels)} fall on one place of the "
                "table of "
                f"{study.name}, which lays out rows and columns alone; name other axes, or split "
                "the study."
            )
    changes = [study.base_changes, *study.by_profile.values()]
    changes += [each for cell in study.cells for each in (cell.changes, *cell.by_profile.values())]
    for path in {path for each in changes for path in each}:
        for field, option in {**SETTLED, "train.steps": "--scale", "method": "method="}.items():
            hint = f"changes {path}, which {option} settles; leave it out"
            if f"{field}.".startswith(f"{path}."):
                raise UserError(f"{study.name} {hint}.")
    for place, axis in enumerate(study.axes):
        for label in axis.labels:
            if label not in [cell.labels[place] for cell in study.cells]:
                raise UserError(
                    f"No cell of {study.name} has the label {label} along {axis.name}; add one or "
                    "drop it."
                )


def check_runs(study: Study) -> None:
    """Refuse a cell that makes no run, and a claim that says nothing: of one number and itself, of
    two kinds of numbers, or with a margin in another unit. Raises UserError."""
    for cell, profile in product((cell for cell in study.cells if not cell.copied), PROFILES):
        try:
            study.paper_config(cell, profile)
        except UserError as error:
            what = f"{_joined(cell.labels)} of {study.name} makes no run under {profile}"
            raise UserError(f"{what}: {error}") from error
    for claim in study.claims:
        for contrast in claim.contrasts():
            names = " and ".join(dict.fromkeys(_joined(term.cell) for term in contrast.terms))
            numbers: set[tuple] = set()
            for cell in study.cells_of([contrast]):
                runs = [
                    study.paper_config(cell, profile) for profile in PROFILES if not cell.copied
                ]
                numbers.add(
                    (contrast.metric or study.metric_of(cell), cell.encoder, *(runs or cell.labels))
                )
            units = sorted({unit(number[0]) for number in numbers})
            if len(numbers) == 1 and len(contrast.terms) > 1:
                raise UserError(
                    f"Claim {claim.key} compares {names}, one number of one run; name cells that "
                    "differ."
                )
            if len(units) > 1:
                raise UserError(
                    f"Claim {claim.key} compares different kinds ({', '.join(units)}): {names}."
                )
            if claim.margin == POINT and not units[0].endswith("× 100"):
                raise UserError(
                    f"Claim {claim.key} has a margin of a point, and its unit is another: {names}. "
                    "Give it a "
                    "margin in their unit, or None."
                )


def _joined(labels: Labels) -> str:
    """A cell in words: its labels, `any` where every label is meant."""
    return "/".join("any" if label is None else label for label in labels)
