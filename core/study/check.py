"""What can be wrong with a study beyond its fields, each refused with one sentence before any
training."""

import re
from collections import Counter
from itertools import chain, product

from core.config.methods import PROFILES, refuse_settled
from core.config.result import unit
from core.config.run import RunConfig
from core.config.scale import SCALES
from core.errors import UserError
from core.study.axes import Labels
from core.study.claim import Claim, Contrast, Pattern
from core.study.resolution import unmeasured
from core.study.study import Cell, FigureSpec, Study

# a run under each profile, by the cell's labels
RunsOfCells = dict[Labels, list[RunConfig]]
# of a study's CSV files, beside its axes
TAKEN_COLUMNS = frozenset(
    """
    scale profile encoder mean ci95_low ci95_high n sd printed reference paired_difference
    paired_ci95_low paired_ci95_high paired_mean paired_reference paired_n printed_difference
    tested_low tested_high tested_n different values failed_seeds printed_runs status metric
    unit unavailable source run_ids seed run_id checkpoint step value x trained_rate
    """.split()
)
# of a study: it becomes the name of files and of a link
STUDY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
# files beside a study's own (core/report/render.py), places of the page, first words of the command
TAKEN = "runs holds fails unknown others search shown tables evaluate judge show".split()
TAKEN_ENDINGS = ("_runs", "_curves", "_short", "-differences")  # of another study's files


def check_study(study: Study) -> None:
    """Refuse parts of a study that do not fit together, and unknown names. Raises UserError."""
    taken = study.name in TAKEN or study.name.endswith(TAKEN_ENDINGS)
    if taken or not STUDY_NAME.fullmatch(study.name):
        raise UserError(
            f"A study cannot be called {study.name[:80]!r}, since files and links are named after "
            "it; give it a name of letters, digits and hyphens that no other file has."
        )
    _check_names(study)

    # two runs at one place of the table; several numbers of one run may share a place
    laid_out = (study.rows, study.columns)
    places = [place for place, axis in enumerate(study.axes) if axis.name in laid_out] or [0]
    table: dict[Labels, Cell] = {}
    for cell in study.cells:
        other = table.setdefault(tuple(cell.labels[place] for place in places), cell)
        if _run_of(other) != _run_of(cell):
            raise UserError(
                f"{_in_words(other.labels)} and {_in_words(cell.labels)} fall on one place of the "
                f"table of {study.name}, which lays out rows and columns alone; name other axes, "
                "or split the study."
            )

    # changes that an option settles
    changes = [study.base, *study.by_profile.values()]
    for cell in study.cells:
        changes += [cell.changes, *cell.by_profile.values()]
    refuse_settled(study.name, set().union(*changes))
    _check_references(study)


def _check_names(study: Study) -> None:
    """Refuse two axes, labels or claims of one name, an axis of a column's name, and axes and
    profiles that are not there."""
    axes = [axis.name for axis in study.axes]
    names = {"axes": axes, "claims": [claim.key for claim in study.claims]}
    for axis in study.axes:
        names[f"labels of {axis.name}"] = list(axis.labels)
        if axis.name in TAKEN_COLUMNS:
            raise UserError(
                f"The axis {axis.name} has the name of a column of CSV files; give it another name."
            )
    for kind, stated in names.items():
        for name, count in Counter(stated).items():
            if count > 1:
                raise UserError(
                    f"{study.name} has two {kind} called {name}; give each a name of its own."
                )
    figure = study.figure or FigureSpec()
    laid_out = [study.rows, study.columns, figure.x, figure.series, study.tasks and "task"]
    profiles = chain(study.by_profile, *(cell.by_profile for cell in study.cells))
    for kind, used, there in (("axis", laid_out, axes), ("profile", profiles, PROFILES)):
        for name in filter(None, used):
            if name not in there:
                raise UserError(f"There is no {kind} {name}; choose one of {', '.join(there)}.")


def _check_references(study: Study) -> None:
    """Refuse labels of the reference, the figure or a claim that are no cell which is run."""
    named: list[tuple[str, Pattern | None]] = [("reference", study.reference)]
    if study.figure is not None:
        named.append(("figure", study.figure.base))
        for label in (*study.figure.against, *study.figure.against.values()):
            named.append(("figure", (label, *[None] * (len(study.axes) - 1))))
    named += [("must_learn", labels) for labels in study.must_learn]
    for claim in study.claims:
        named += [(f"Claim {claim.key}", labels) for labels in claim.cells()]
    for owner, labels in named:
        if labels is not None and all(cell.copied for cell in study.matching(labels)):
            raise UserError(
                f"{owner} speaks of {_in_words(labels)}, which is no cell of {study.name} that "
                "is run; name another."
            )


def _run_of(cell: Cell) -> tuple:
    """What a cell says of its run."""
    return cell.method, cell.encoder, cell.changes, cell.by_profile


def check_runs(study: Study) -> None:
    """Refuse a cell that makes no run, a cell and a claim that have no score at any scale, and a
    claim that says nothing: of one number and itself, or of two kinds of numbers. Raises
    UserError."""
    runs: RunsOfCells = {}
    read = []  # metrics of cells and claims
    for cell, profile in product(study.cells, PROFILES):
        name = f"{_in_words(cell.labels)} of {study.name}"
        try:
            run = study.paper_config(cell, profile)
        except UserError as error:
            raise UserError(f"{name} makes no run under {profile}: {error}") from error
        if cell.copied:
            continue
        read.append((name, study.metric_of(cell)))
        runs.setdefault(cell.labels, []).append(run)
    for claim in study.claims:
        for contrast in claim.contrasts():
            _check_contrast(study, claim, contrast, runs)
            read.append((f"Claim {claim.key}", contrast.metric or study.metric))
    for owner, metric in read:
        if metric.in_z or all(unmeasured(metric, True, scale) for scale in SCALES.values()):
            raise UserError(
                f"{owner} has no score at any scale; correct its task {metric.task}, and leave out "
                "in_z."
            )


def _check_contrast(study: Study, claim: Claim, contrast: Contrast, runs: RunsOfCells) -> None:
    """Refuse a contrast of a claim that says nothing."""
    names = " and ".join(dict.fromkeys(_in_words(term.cell) for term in contrast.terms))
    numbers: set[tuple] = set()
    metrics = study.metrics_of(contrast)
    for cell, metric in zip(study.cells_of([contrast]), metrics, strict=True):
        numbers.add((metric, cell.encoder, *runs.get(cell.labels, cell.labels)))
    units = sorted(set(map(unit, metrics)))
    if len(numbers) == 1 and len(contrast.terms) > 1:
        raise UserError(
            f"Claim {claim.key} compares {names}, one number of one run; name cells that differ."
        )
    if len(units) > 1:
        raise UserError(
            f"Claim {claim.key} compares different kinds ({', '.join(units)}): {names}."
        )


def _in_words(labels: Pattern) -> str:
    """A cell in words: its labels, `any` where every label is meant."""
    return "/".join("any" if label is None else label for label in labels)
