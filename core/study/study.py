"""A study: one table or figure of a paper, as frozen data. Adding one is adding a file under
studies/.

What a study or a cell names in its changes, in the paper's terms, holds under every profile; what
it does not name is the profile's. Where the code had another value there, `by_profile` gives it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated, Any, Literal

from core.config import methods
from core.config.methods import profile_changes
from core.config.result import Metric
from core.config.run import RunConfig
from core.config.scale import Scale
from core.config.section import Typed, one_of
from core.config.vary import over, vary
from core.errors import UserError
from core.study.axes import ENCODERS, OF_METRIC, Axis, Row, check_printed, entry, joined
from core.study.claim import Claim, Contrast, Labels, labels_of, matches

__all__ = [
    "AVERAGE",
    "DEVELOPMENT",
    "Axis",
    "Cell",
    "FigureSpec",
    "Metric",
    "Paper",
    "Row",
    "Study",
]

# what most studies read of a run
AVERAGE = Metric(task="avg", title="Average of the STS test sets")
DEVELOPMENT = Metric(task="dev", title="Development set")

LONGEST_SUFFIX = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Typed):
    """A paper: `key` is what its studies say, `name` what tables say; papers come by `order`."""

    key: str
    name: str
    title: str
    authors: str  # in short, with the year
    order: int
    link: str = ""  # to the paper
    code: str = ""  # to its code


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Typed):
    """One entry of a table: its labels along the axes, what it changes in the base (paper units),
    and what the paper printed.

    `by_profile` adds to `changes` under one profile, and wins. `published_runs` are the paper's
    single runs where they are known (read off its figures). `method` None is the study's; under
    another one the study's base changes do not apply. `metric` None is the study's. A `copied`
    entry is what the paper took from elsewhere: shown, never run.
    """

    labels: tuple[str, ...]
    changes: Mapping[str, object] = field(default_factory=dict)
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    published: float | None = None
    published_runs: tuple[float, ...] = ()
    method: str | None = None
    metric: Metric | None = None
    encoder: Annotated[str, "one of the papers'", one_of(ENCODERS)] = "bert-base"
    copied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpec(Typed):
    """How the study is drawn; axes are named by Axis.name.

    cells: values along `x` (or the only other axis) where its labels are numbers, a line for each
    of `series`, and paired differences by row, a panel for each of `series`. curve: the development
    score along training, a line for each of `series`; spectrum: singular values by index, likewise.
    `base` are the labels of the cell that the others are compared with, None standing for a cell's
    own label; without it, that is the study's reference. `against` has, by label of the series, the
    label that it is compared with in the place of `base`, and `base_name` says what these are.
    `curves` are the paper's own by label of the series: points of the share of the run (or of the
    width). `names` says in figures what some labels say to a reader of the paper alone, and `note`
    is a sentence below the figure.
    """

    kind: Literal["cells", "curve", "spectrum"] = "cells"
    x: str | None = None
    series: str | None = None
    base: tuple[str | None, ...] | None = None
    against: Mapping[str, str] = field(default_factory=dict)
    base_name: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Typed):
    """One table: axes, base, cells, and how it is laid out.

    `rows` and `columns` are axes or the names of two of `axes`; either may be None. Without `cells`
    these are the combinations of the axes' labels but those of `without` (None: any label), each
    with the changes of its labels. `printed` has the paper's numbers by label, axis within axis, or
    as a tuple in the order of the labels; `printed_runs` the single runs. A study that is made has
    them in its cells, names for `rows` and `columns`, and labels alone in `axes`. What `name`,
    `paper` and `title` leave out follows from the path of the file.

    `tasks` says that the axis named `task` runs over a scale's own test sets (tests) or transfer
    tasks (probes): `at` puts in those of the scale. `least_seeds` is how many seeds the study takes
    whatever the scale has. With `equal_updates` batches of every size have as many steps.
    With `units="run"` values are those that runs train with, and not the paper's, which a scale
    changes.
    `must_learn` are the cells (None: any label) that show whether their method learns, where that
    is not the reference's method.
    """

    name: str = ""  # unique, e.g. mocose-table7
    paper: str = ""  # the key of its folder's PAPER
    title: str = ""  # as the paper numbers it, e.g. "Table 7"
    caption: str
    method: str
    base: Mapping[str, object] = field(default_factory=dict)
    # more, under one profile
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    rows: Axis | str | None = None
    columns: Axis | str | None = None
    axes: tuple[Axis, ...] = ()
    without: tuple[Labels, ...] = ()
    cells: tuple[Cell, ...] = ()
    printed: Mapping[str, object] = field(default_factory=dict)
    printed_runs: Mapping[str, object] = field(default_factory=dict)
    metric: Metric = AVERAGE
    figure: FigureSpec | None
    # labels of the cell that the others are compared with (the paper's best)
    reference: Labels | str | None = None
    must_learn: tuple[Labels, ...] = ()
    claims: tuple[Claim, ...] = ()
    tasks: Literal["tests", "probes"] | None = None
    least_seeds: int = 1
    equal_updates: bool = False
    units: Literal["paper", "run"] = "paper"  # of what base and cells change
    footnotes: tuple[str, ...] = ()
    order: int = 0  # among its paper's studies; equal ones: tables, figures, others, each by number
    source: Paper | None = None  # the paper's facts, which whoever finds the study puts in
    # what `--set` changed, as it was written
    settings: Mapping[str, str] = field(default_factory=dict)
    # fields of `--vary`, whose values are the last axes (`core.study.variants`)
    varied: tuple[str, ...] = ()

    def check(self):
        axes = [axis for axis in (self.rows, self.columns) if isinstance(axis, Axis)]
        axes += self.axes
        for name in (self.rows, self.columns):
            if isinstance(name, str) and not axes:
                raise UserError(f"A study has no axis {name}; state it, or name another.")
        cells = self.cells or _combined(axes, self.without, self.metric)
        if self.printed or self.printed_runs:
            cells = _printed(cells, axes, self.printed, self.printed_runs)
        settled = {
            "rows": _name(self.rows),
            "columns": _name(self.columns),
            "axes": tuple(replace(axis, values={}) for axis in axes),
            "cells": cells,
            "reference": self.reference and labels_of(self.reference),
            "without": (),
            "printed": {},
            "printed_runs": {},
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def row_axis(self) -> Axis | None:
        """The axis of the table's rows."""
        return self.axis(str(self.rows)) if self.rows else None

    @property
    def column_axis(self) -> Axis | None:
        """The axis of the table's columns."""
        return self.axis(str(self.columns)) if self.columns else None

    @property
    def paper_name(self) -> str:
        """What tables call the paper."""
        if self.source is None:
            return self.paper
        return self.source.name

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(axis for axis in self.axes if axis.name == name)

    def matching(self, labels: Labels) -> tuple[Cell, ...]:
        """The cells with these labels, None matching any; empty if there are none."""
        if None not in labels:
            return tuple(cell for cell in self.cells if cell.labels == labels)
        return tuple(cell for cell in self.cells if matches(labels, cell.labels))

    def cells_of(self, contrasts: Iterable[Contrast]) -> tuple[Cell, ...]:
        """The cells of these contrasts, in table order, available or not."""
        wanted: set[tuple[str, ...]] = set()
        for contrast in contrasts:
            for term in contrast.terms:
                wanted.update(cell.labels for cell in self.matching(term.cell))
        return tuple(cell for cell in self.cells if cell.labels in wanted)

    def metric_of(self, cell: Cell) -> Metric:
        """What the entry of a cell is."""
        return cell.metric or self.metric

    def varied_values(self, cell: Cell) -> dict[str, str]:
        """The labels of a cell along the varied axes, which are the last, by field."""
        return dict(zip(self.varied, cell.labels[-len(self.varied) :], strict=False))

    def at(self, scale: Scale) -> Study:
        """The study with the scale's own tasks along its task axis; itself where it has none or
        they are the paper's. What the paper printed stays where a task has the same name; claims on
        other tasks go."""
        tasks = scale.tests if self.tasks == "tests" else scale.probes
        if self.tasks is None:
            return self
        axis = self.axis("task")
        if {*tasks, "avg"} >= set(axis.labels):
            return self
        if "avg" in axis.labels:
            tasks = (*tasks, "avg")
        place = self.axes.index(axis)

        # The paper's cells where they are, else a cell made from the first of its row.
        cells: dict[tuple[str, ...], Cell] = {}
        for cell, task in product(self.cells, tasks):
            labels = (*cell.labels[:place], task, *cell.labels[place + 1 :])
            if labels in cells:
                continue
            metric = self.metric_of(cell)
            metric = replace(metric, task=self.metric.task if task == "avg" else task)
            cells[labels] = replace(
                cell, labels=labels, published=None, published_runs=(), metric=metric
            )
        cells |= {cell.labels: cell for cell in self.cells if cell.labels in cells}

        axes = list(self.axes)
        axes[place] = replace(axis, labels=tasks)
        study = replace(self, axes=tuple(axes), cells=tuple(cells.values()), claims=())
        claims = [claim for claim in self.claims if all(map(study.matching, claim.cells()))]
        return replace(study, claims=tuple(claims))

    def paper_config(self, cell: Cell, profile: str) -> RunConfig:
        """A cell's configuration in paper units, seed aside.

        The profile changes what neither study nor cell names, also in a section that the cell
        brings in (Table 5's rewritten text).
        """
        named = self.named(cell, profile)
        start = methods.method(cell.method or self.method).paper
        run = vary(start, named)
        # sections named whole
        whole = {path for path in named if getattr(start, path, None) is not None}
        changes = {}
        for path, value in profile_changes(run, profile).items():
            if path not in named and path.partition(".")[0] not in whole:
                changes[path] = value
        return vary(run, changes)

    def named(self, cell: Cell, profile: str) -> dict[str, object]:
        """The fields that study and cell name; a cell of another method has its own alone."""
        changes = over(cell.changes, cell.by_profile.get(profile, {}))
        if cell.method not in (None, self.method):
            return changes
        base = over(self.base, self.by_profile.get(profile, {}))
        return over(base, changes)

    def on(self, data: str, own: bool) -> Study:
        """The same cells with another encoder or on other data, which `data` names, under a name of
        its own. On a text or pairs of the user's `own` it has no numbers and no claims of the
        paper's."""
        study = self
        if own:
            study = replace(self.without_paper(), claims=(), must_learn=())
        return replace(study, name=f"{self.name}@{short(data)}", title=f"{self.title} on {data}")

    def without_paper(self) -> Study:
        """The study without the paper's numbers and the rows that the paper copied."""
        cells = []
        for cell in self.cells:
            if not cell.copied:
                cells.append(replace(cell, published=None, published_runs=()))
        axes = []
        for place, axis in enumerate(self.axes):
            used = {cell.labels[place] for cell in cells}
            labels = tuple(label for label in axis.labels if label in used)
            axes.append(replace(axis, labels=labels))
        return replace(self, axes=tuple(axes), cells=tuple(cells))


def _name(axis: Axis | str | None) -> str | None:
    return axis.name if isinstance(axis, Axis) else axis


def _combined(axes: list[Axis], without: tuple[Labels, ...], metric: Metric) -> tuple[Cell, ...]:
    """A cell for each combination of labels that is not left out."""
    cells = []
    for labels in product(*(axis.labels for axis in axes)):
        if any(matches(some, labels) for some in without):
            continue
        row = joined(axes, labels)
        read = {name: getattr(row, name) for name in OF_METRIC if getattr(row, name)}
        cell = Cell(
            labels=labels,
            changes=row.changes,
            by_profile=row.by_profile,
            method=row.method,
            encoder=row.encoder or "bert-base",
            metric=replace(metric, **read) if read else None,
            copied=row.copied,
        )
        cells.append(cell)
    return tuple(cells)


def _printed(
    cells: tuple[Cell, ...], axes: list[Axis], numbers: object, runs: object
) -> tuple[Cell, ...]:
    """The cells with the paper's numbers. Raises UserError for numbers of no cell."""
    check_printed("printed", numbers or None, axes, every=True)
    check_printed("printed_runs", runs or None, axes, every=False)
    by_labels = {cell.labels: cell for cell in cells}
    for labels in product(*(axis.labels for axis in axes)):
        published: dict[str, Any] = {}
        if numbers:
            published["published"] = entry(numbers, axes, labels)
        if runs:
            published["published_runs"] = entry(runs, axes, labels) or ()
        if labels in by_labels:
            by_labels[labels] = replace(by_labels[labels], **published)
        elif any(value not in (None, ()) for value in published.values()):
            raise UserError(
                f"A number is printed for {'/'.join(labels)}, which is no cell; leave it out."
            )
    return tuple(by_labels.values())


def short(suffix: str) -> str:
    """A suffix of a study's name, which becomes a file's name."""
    word = suffix.replace(" ", "").replace("/", "-")
    if len(word) <= LONGEST_SUFFIX:
        return word
    digest = hashlib.sha256(word.encode()).hexdigest()[:8]
    return f"{word[:LONGEST_SUFFIX]}~{digest}"


# the baseline of both papers: what it gains over the untrained encoder is the bar for other methods
SIMCSE = Study(
    name="simcse-alone",
    paper="ours",
    title="SimCSE alone",
    method="simcse",
    caption="The baseline of both papers, whose gain is the bar for other methods",
    axes=(Axis(name="method", title="Method", labels=("SimCSE",)),),
    rows="method",
    columns=None,
    figure=None,
    cells=(Cell(labels=("SimCSE",)),),
    metric=Metric(task="avg", title="Average"),
    reference=None,
    footnotes=(
        "A method counts as learning if it gains more than a third of what SimCSE gains here.",
    ),
)
