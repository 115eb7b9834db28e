"""What can be wrong with a study, said before anything is trained: each check raises StudyError with one sentence."""

from __future__ import annotations

import math
import re
import typing
from collections.abc import Iterator

from core.spec import methods
from core.spec.claim import Contrast, Printed, matches
from core.spec.errors import StudyError, UserError
from core.spec.methods import settled_for_cells
from core.spec.profiles import PROFILES
from core.spec.study import Study
from core.spec.table import ENCODERS, Cell, FigureSpec, Metric

CHECKPOINTS = (
    "selected", "last", "curve", "data", "time", "untrained", "untrained_first_last", "untrained_first_last_0", "whitening", "bag_of_words",
)  # fmt: skip
PRINTED = typing.get_args(Printed)
OF = typing.get_args(typing.get_type_hints(Contrast)["of"])
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")  # of a study: it becomes the name of files and of a place on the page
TAKEN = (
    "claims",
    "claims-head",
    "comparability",
    "cost",
    "environment",
    "evaluate",
    "matrix",
    "not-tested",
    "search",
    "seeds",
    "shown",
    "studies",
)  # files of an edition, and places of the page
TASKS = ("avg", "dev", "avg_transfer", "train", "edits")  # beside the sets and tasks of every scale
# What a metric's `quantity` may be: a row of a run (core.spec.result lists them), or what core.report.quantities derives from several.
QUANTITIES = re.compile(
    r"spearman(_all|_mean|_wmean|_gap_le3|_gap_gt3)?|like_length_excess|accuracy_(test|dev)|alignment(_all)?_(global|batched64)|uniformity_(global|batched64)"
    r"|mean_cosine|effective_rank|collapsed|spread|singular_value_\d+|cosine_(itself|insertion|deletion|repetition|repetition_subword)"
    r"|mtd_(at_selected_checkpoint|nominal|at_start|mean_over_run)|fgsm_changed_fraction|diverged_at|view_cosine(_plain)?"
    r"|view_input_difference|loss|pairs|step_seconds"
    r"|curve_(start|best_after_start|last|late_range)|(spectrum|singular)_\d+|length_gap|like_length_excess_learnt|view_cosine_loss|alignment_plus_uniformity"
)


def check_shape(study: Study) -> None:
    """Whether axes, cells, reference, figure and claims fit together. Raises StudyError."""
    _check_axes(study)
    _check_cells(study)
    _check_changes(study)
    names = [axis.name for axis in study.axes]
    drawn = (study.figure.x, study.figure.series) if study.figure is not None else ()
    for place, axis in (("rows", study.rows), ("columns", study.columns), *(("figure", axis) for axis in drawn)):
        if axis is not None and axis not in names:
            raise StudyError(f"{study.name} has no axis {axis}; choose one of {', '.join(names)}.", axis, place)
    _check_places(study)
    if study.tasks is not None and "task" not in names:
        raise StudyError(
            f"{study.name} has no axis named task, over which tasks={study.tasks!r} could run; name one so, or leave tasks out.", "tasks"
        )
    if study.reference is not None and not study.matching(study.reference):
        raise StudyError(
            f"{study.name} has no cell {_spoken(study.reference)} for its reference; name one of its cells, or None.", "reference"
        )
    base = study.figure.base if study.figure is not None else None
    if base is not None and not study.matching(base):
        raise StudyError(f"{study.name} has no cell {_spoken(base)} that the others could be drawn against; name one of its cells.", "base")
    for labels in study.must_learn:
        if not study.matching(labels):
            raise StudyError(f"{study.name} has no cell {_spoken(labels)} that could learn; name cells of it in must_learn.", "must_learn")
    _check_claims(study)


def _check_axes(study: Study) -> None:
    for sort, names in (("axes", [axis.name for axis in study.axes]), *((f"labels along {axis.name}", axis.labels) for axis in study.axes)):
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise StudyError(f"{study.name} has two {sort} called {double}; give each a name of its own.", double, "axes")


def _check_places(study: Study) -> None:
    """Whether no run is hidden: one place of the table may hold several numbers of a run (the others stand in CSV files), but not several runs."""
    if study.rows is not None and study.rows == study.columns:
        raise StudyError(
            f"{study.name} has {study.rows} along rows and columns; name two axes, or None for one of them.", "rows", "columns"
        )
    laid = [place for place, axis in enumerate(study.axes) if axis.name in (study.rows, study.columns)] or [0]
    kept: dict[tuple[str, ...], Cell] = {}
    for cell in study.cells:
        other = kept.setdefault(tuple(cell.labels[place] for place in laid), cell)
        if (other.method, other.encoder, other.changes, other.by_profile) != (cell.method, cell.encoder, cell.changes, cell.by_profile):
            raise StudyError(
                f"{_spoken(other.labels)} and {_spoken(cell.labels)} fall on one place of the table of {study.name}, which lays out "
                "rows and columns alone; name other axes for these, or split the study.", "rows", "columns", "cells",
            )  # fmt: skip


def _check_cells(study: Study) -> None:
    seen = set()
    for cell in study.cells:
        if cell.labels in seen:
            raise StudyError(f"{study.name} has two cells {_spoken(cell.labels)}; give each labels of its own.", "cells")
        seen.add(cell.labels)
        if len(cell.labels) != len(study.axes) or any(l not in a.labels for l, a in zip(cell.labels, study.axes, strict=True)):
            raise StudyError(
                f"The cell {_spoken(cell.labels)} does not lie on the axes of {study.name}; give it one label of each, in their order.",
                *cell.labels, "cells",
            )  # fmt: skip
        for number in (*cell.published_runs, *(() if cell.published is None else (cell.published,))):
            if not math.isfinite(number):
                raise StudyError(f"{_spoken(cell.labels)} has {number} as what is printed; give a number, or leave it out.", *cell.labels)
        if cell.encoder not in ENCODERS:
            raise StudyError(f"There is no encoder {cell.encoder}; choose one of {', '.join(ENCODERS)}.", cell.encoder, "cells")
    for profile in [*study.by_profile, *(name for cell in study.cells for name in cell.by_profile)]:
        if profile not in PROFILES:
            raise StudyError(f"There is no profile {profile}; choose one of {', '.join(PROFILES)}.", profile, "by_profile")


def _check_changes(study: Study) -> None:
    cells = [changes for cell in study.cells for changes in (cell.changes, *cell.by_profile.values())]
    for path in dict.fromkeys(path for changes in (study.base_changes, *study.by_profile.values(), *cells) for path in changes):
        if path == "method":
            raise StudyError(f"{study.name} changes method; a cell of another method says so with method= beside its changes.", path)
        if (option := settled_for_cells(path)) is not None:
            raise StudyError(
                f"{study.name} changes {path}, which {option} settles whatever a study says; leave it out, or change another field.", path
            )


def _check_claims(study: Study) -> None:
    labels = {cell.labels for cell in study.cells}
    keys = set()
    for claim in study.claims:
        if claim.key in keys:
            raise StudyError(f"{study.name} has two claims {claim.key}; give each a key of its own.", claim.key)
        keys.add(claim.key)
        if claim.printed not in PRINTED:
            raise StudyError(f"Claim {claim.key} is printed as {claim.printed!r}; choose one of {', '.join(PRINTED)}.", claim.printed)
        if claim.margin is not None and not 0.0 < claim.margin < math.inf:
            raise StudyError(f"Claim {claim.key} has a margin of {claim.margin:g}; give one above 0.", "margin", claim.key)
        for contrast in claim.predicate.contrasts():
            if contrast.of not in OF:
                raise StudyError(
                    f"Claim {claim.key} compares the {contrast.of!r} of its cells; choose one of {', '.join(OF)}.", contrast.of
                )
            if not all(map(math.isfinite, (contrast.above, *(term.weight for term in contrast.terms)))):
                raise StudyError(f"Claim {claim.key} compares with a number that is none; give finite weights and differences.", claim.key)
        for wanted in {term.cell for contrast in claim.predicate.contrasts() for term in contrast.terms}:
            if wanted not in labels and not any(matches(wanted, have) for have in labels):
                raise StudyError(
                    f"Claim {claim.key} speaks of {_spoken(wanted)}, which is no cell of {study.name}; name one of its cells.", claim.key
                )


def check_names(study: Study, sets: frozenset[str]) -> None:
    """Whether everything that a study names is known: methods, the figure's kind, tasks, checkpoints and quantities. `sets` are the
    test sets and transfer tasks of all scales. Raises StudyError."""
    if not NAME.fullmatch(study.name) or study.name in TAKEN or study.name.endswith("_runs"):
        raise StudyError(
            f"A study cannot be called {study.name[:80]!r}, since files and links are named after it; give it a name of letters, digits "
            "and hyphens that no file of an edition has.", study.name, "name",
        )  # fmt: skip
    known = methods.names()
    for method in dict.fromkeys((study.method, *(cell.method for cell in study.cells if cell.method is not None))):
        if method not in known:
            raise StudyError(f"There is no method {method}; choose one of {', '.join(known)}.", str(method), "method")
    kinds = typing.get_args(typing.get_type_hints(FigureSpec)["kind"])
    if study.figure is not None and study.figure.kind not in kinds:
        raise StudyError(f"There is no kind of figure {study.figure.kind}; choose one of {', '.join(kinds)}.", study.figure.kind, "figure")
    for metric in dict.fromkeys(_metrics(study)):
        for name, known, sort in ((metric.task, (*TASKS, *sorted(sets)), "task"), (metric.checkpoint, CHECKPOINTS, "checkpoint")):
            if name not in known and not (metric.checkpoint == "data" and name.removesuffix(" train").removesuffix(" dev") in known):
                raise StudyError(f"There is no {sort} {name}; choose one of {', '.join(known)}.", name, "metric")
        if not QUANTITIES.fullmatch(metric.quantity):
            raise StudyError(
                f"There is no quantity {metric.quantity}; core/spec/result.py lists what a run leaves.", metric.quantity, "metric"
            )
    for label in study.axis("task").labels if study.tasks is not None else ():
        if label != "avg" and label not in sets:
            raise StudyError(f"There is no task {label}; choose one of avg, {', '.join(sorted(sets))}.", label, "axes")


def check_configurations(study: Study) -> None:
    """Whether every cell's changes make a configuration under every profile. Raises StudyError."""
    seen = []
    for cell in study.cells:
        what = (cell.method, cell.changes, cell.by_profile)
        if cell.copied or what in seen:
            continue
        seen.append(what)
        for profile in PROFILES:
            try:
                study.paper_config(cell, profile)
            except UserError as error:
                named = (
                    *cell.changes,
                    *study.base_changes,
                    *(path for one in (cell, study) for some in one.by_profile.values() for path in some),
                )
                near = [path for path in named if path in str(error)]
                raise StudyError(f"{_spoken(cell.labels)} makes no run under {profile}: {error}", *near, *cell.labels, "cells") from error


def _metrics(study: Study) -> Iterator[Metric]:
    yield study.metric
    yield from (cell.metric for cell in study.cells if cell.metric is not None)
    for claim in study.claims:
        yield from (contrast.metric for contrast in claim.predicate.contrasts() if contrast.metric is not None)


def _spoken(labels: tuple[str | None, ...]) -> str:
    return "/".join("any" if label is None else str(label) for label in labels)
