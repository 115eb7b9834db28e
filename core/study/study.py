"""A study: one table or figure of a paper, as frozen data. Adding one is adding a file under
studies/.

What a study or a cell names in its changes, in the paper's terms, holds under every profile; what
it does not name is the profile's. Where the code had another value there, `by_profile` gives it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from itertools import product
from typing import Annotated, Any, Literal

from core.config import methods
from core.config.methods import profile_changes
from core.config.quantities import in_points
from core.config.result import Metric, unit
from core.config.run import RunConfig
from core.config.scale import Scale
from core.config.section import Typed, fields_of, frozen, one_of
from core.config.vary import over, vary
from core.errors import UserError
from core.study.axes import ENCODERS, OF_METRIC, Axis, Labels, Row, by_labels, joined
from core.study.claim import POINT, Claim, Contrast, Pattern, labels_of, matches

# what most studies read of a run
AVERAGE = Metric(task="avg", title="Average of the STS test sets")
DEVELOPMENT = Metric(task="dev", title="Development set")

LONGEST_SUFFIX = 120
FOOTNOTE = re.compile("^ *- ", re.MULTILINE)  # how each begins


@frozen
class Paper(Typed):
    """A paper: `key` is what its studies say, `name` what tables say (empty: their titles say
    enough); papers come by `order`, yours last."""

    key: str
    name: str
    title: str
    authors: str  # in short, with the year
    link: str = ""  # to the paper
    code: str = ""  # to its code
    order: int = 99


@frozen
class Cell(Row):
    """One entry of a table: its labels along the axes, what they stand for together, and what the
    paper printed.

    `changes` are in paper units; under another method than the study's the study's base changes do
    not apply. `by_profile` adds to `changes` under one profile, and wins. A `copied` entry is what
    the paper took from elsewhere: shown, never run. `published_runs` are the paper's single runs
    where they are known (read off its figures). `settings` are the words that `--set` and `--vary`
    give its fields.
    """

    labels: Labels
    published: float | None = None
    published_runs: tuple[float, ...] = ()
    encoder: Annotated[str, "one of the papers'", one_of(ENCODERS)] = ENCODERS[0]
    settings: Mapping[str, str] = field(default_factory=dict)


@frozen
class FigureSpec(Typed):
    """How the study is drawn; axes are named by Axis.name.

    cells: values along `x` (or the only other axis) where its labels are numbers, a line for each
    of `series`, and paired differences by row, a panel for each of `series`. curve: the development
    score along training, a line for each of `series`; spectrum: singular values by index, likewise.
    along: the cells' development score minus the reference's, by step.
    `base` are the labels of the cell that the others are compared with, None standing for a cell's
    own label; without it, that is the study's reference. `against` has, by label of the first axis,
    the label that it is compared with in the place of `base`.
    `curves` are the paper's own by label of the series: points of the share of the run (or of the
    width).
    """

    kind: Literal["cells", "curve", "spectrum", "along"] = "cells"
    x: str | None = None
    series: str | None = None
    base: Pattern | None = None
    against: Mapping[str, str] = field(default_factory=dict)
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)


@frozen
class Study(Typed):
    """One table: axes, base, cells, and how it is laid out. `study` makes it of what a file states.

    `rows` and `columns` are names of axes; either may be None. The labels of `reference` are those
    of the cell that the others are compared with. `source` has the paper's facts, which whoever
    finds the study puts in. `varied` are the fields of `--vary`, whose values are the last axes.
    """

    name: str = ""  # unique, e.g. mocose-table7
    paper: str = ""  # the key of its folder's PAPER
    title: str = ""  # as the paper numbers it, e.g. "Table 7"
    caption: str
    method: str
    base: Mapping[str, object] = field(default_factory=dict)
    # more, under one profile
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    rows: str | None = None
    columns: str | None = None
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    metric: Metric = AVERAGE
    figure: FigureSpec | None = None
    reference: Pattern | None = None
    must_learn: tuple[Pattern, ...] = ()
    claims: tuple[Claim, ...] = ()
    tasks: Literal["tests", "probes"] | None = None
    least_seeds: int = 1
    equal_updates: bool = False
    footnotes: tuple[str, ...] = ()
    order: int = 0  # among its paper's studies; equal ones: tables, figures, others, each by number
    source: Paper | None = None
    varied: tuple[str, ...] = ()

    @property
    def column_axis(self) -> Axis | None:
        """The axis of the table's columns."""
        return self.axis(str(self.columns)) if self.columns else None

    @property
    def heading(self) -> str:
        """The paper's name, if it has one, and the title: "MoCoSE Table 7"."""
        paper = self.paper if self.source is None else self.source.name
        return f"{paper} {self.title}".strip()

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(axis for axis in self.axes if axis.name == name)

    def matching(self, labels: Pattern) -> tuple[Cell, ...]:
        """The cells with these labels, None matching any; empty if there are none."""
        return tuple(cell for cell in self.cells if matches(labels, cell.labels))

    def cells_of(self, contrasts: Iterable[Contrast]) -> tuple[Cell, ...]:
        """The cells of these contrasts, in table order, available or not."""
        wanted: set[Labels] = set()
        for contrast in contrasts:
            for term in contrast.terms:
                wanted.update(cell.labels for cell in self.matching(term.cell))
        return tuple(cell for cell in self.cells if cell.labels in wanted)

    def metric_of(self, cell: Cell) -> Metric:
        """What the entry of a cell is."""
        stated = {name: getattr(cell, name) for name in OF_METRIC if getattr(cell, name)}
        return replace(self.metric, **stated)

    def metrics_of(self, contrast: Contrast) -> list[Metric]:
        """What a contrast reads of the runs of each of its cells, in table order."""
        return [contrast.metric or self.metric_of(cell) for cell in self.cells_of([contrast])]

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
        rows: dict[Labels, dict[str, Cell]] = {}
        for cell in self.cells:
            others = (*cell.labels[:place], *cell.labels[place + 1 :])
            rows.setdefault(others, {})[cell.labels[place]] = cell
        cells = []
        for labels, row in rows.items():
            first = replace(next(iter(row.values())), published=None, published_runs=())
            for task in tasks:
                read = self.metric.task if task == "avg" else task
                labelled = (*labels[:place], task, *labels[place:])
                cells.append(row.get(task) or replace(first, labels=labelled, task=read))

        axes = list(self.axes)
        axes[place] = replace(axis, labels=tasks)
        study = replace(self, axes=tuple(axes), cells=tuple(cells), claims=())
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


def study(
    *,
    rows: Axis | str | None = None,
    columns: Axis | str | None = None,
    axes: tuple[Axis, ...] = (),
    without: Collection[Pattern] = (),
    cell: Callable[..., Row] | None = None,
    printed: object = None,
    printed_runs: object = None,
    metric: Metric = AVERAGE,
    reference: Pattern | str | None = None,
    caption: str,
    claims: tuple[Claim, ...] = (),
    footnotes: str = "",
    **facts: Any,
) -> Study:
    """The study that a file states.

    `rows` and `columns` are axes, or the names of two of `axes`; either may be None. The cells are
    the combinations of the axes' labels but those of `without` (None: any label), each with the
    changes of its labels, and with those that `cell` makes of the labels. `printed` has the paper's
    numbers by label, axis within axis, or as a tuple in the order of the labels; `printed_runs` the
    single runs. Each of the `footnotes` begins a line with "- "; wherever else a line ends in a
    text, there is a blank. What `name`, `paper` and `title` leave out follows from the path of the
    file.

    Of the further facts, `tasks` says that the axis named `task` runs over a scale's own test sets
    (tests) or transfer tasks (probes): `at` puts in those of the scale. `least_seeds` is how many
    seeds the study takes whatever the scale has. With `equal_updates` batches of every size have as
    many steps. `must_learn` are the cells (None: any label) that show whether their method learns,
    where that is not the reference's method.
    """
    axes = (*(axis for axis in (rows, columns) if isinstance(axis, Axis)), *axes)
    numbers = by_labels("printed", printed, axes, every=True)
    runs = by_labels("printed_runs", printed_runs, axes, every=False)
    cells = []
    for labels in product(*(axis.labels for axis in axes)):
        number = numbers.get(labels)
        if any(matches(some, labels) for some in without):
            if number is not None:
                raise UserError(
                    f"A number is printed for {'/'.join(labels)}, which is no cell; leave it out."
                )
            continue
        row = joined(axes, labels, cell)
        stated = {name: getattr(row, name) for name in fields_of(Row)}
        stated["encoder"] = row.encoder or ENCODERS[0]
        single = runs.get(labels) or ()
        cells.append(Cell(labels=labels, published=number, published_runs=single, **stated))
    made = Study(
        rows=rows.name if isinstance(rows, Axis) else rows,
        columns=columns.name if isinstance(columns, Axis) else columns,
        axes=tuple(replace(axis, labels=tuple(axis.labels)) for axis in axes),
        cells=tuple(cells),
        metric=metric,
        reference=None if reference is None else labels_of(reference),
        caption=in_one_line(caption),
        claims=claims,
        footnotes=tuple(filter(None, map(in_one_line, re.split(FOOTNOTE, footnotes)))),
        **facts,
    )
    return replace(made, claims=tuple(_whole(claim, made) for claim in claims))


def in_one_line(text: str) -> str:
    """A text with a blank for each line's end."""
    return " ".join(text.split())


def _whole(claim: Claim, study: Study) -> Claim:
    """A claim of a study with each of its texts in one line, and with its margin."""
    text, quote, note = map(in_one_line, (claim.text, claim.quote, claim.note))
    margin = claim.margin
    plain = []  # whether each contrast is of scores without a threshold
    for contrast in claim.predicate.contrasts():
        units = map(unit, study.metrics_of(contrast))
        plain.append(contrast.threshold == 0 and all(map(in_points, units)))
    if margin is None and all(plain):
        margin = POINT
    return replace(claim, text=text, quote=quote, note=note, margin=margin)


def short(suffix: str) -> str:
    """A suffix of a study's name, which becomes a file's name."""
    word = suffix.replace(" ", "").replace("/", "-")
    if len(word) <= LONGEST_SUFFIX:
        return word
    digest = hashlib.sha256(word.encode()).hexdigest()[:8]
    return f"{word[:LONGEST_SUFFIX]}~{digest}"


# the baseline of both papers: its gain over the best untrained vector is the bar for others
SIMCSE = study(
    name="simcse-alone",
    paper="ours",
    title="SimCSE alone",
    method="simcse",
    caption="The baseline of both papers, whose gain is the bar for other methods",
    rows=Axis("method", "Method", ("SimCSE",)),
    figure=None,
    metric=Metric(task="avg", title="Average"),
    footnotes="A method counts as learning if it gains more than a third of SimCSE's gain here.",
)
