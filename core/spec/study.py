"""A study: one table or figure of a paper, as frozen data. Adding one is adding a file under studies/.

One rule for profiles: what a study or a cell names in its changes holds under every profile, and what it does
not name is the profile's. Changes are written in the paper's terms; where the code had another value there,
`by_profile` gives it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from core.spec import methods
from core.spec.claim import Claim, Contrast, Labels, matches
from core.spec.methods import profile_changes
from core.spec.run import RunConfig
from core.spec.scale import Scale
from core.spec.section import Typed
from core.spec.table import Axis, Cell, FigureSpec, Metric, Paper
from core.spec.vary import over, vary

LONGEST_SUFFIX = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Typed):
    """One table: axes, base, cells, and how it is laid out. `rows` and `columns` name axes; either may be
    None.

    `tasks` says that the axis named `task` runs over a scale's own test sets (tests) or transfer tasks
    (probes): `at` puts in those of the scale. `least_seeds` is how many seeds the study takes whatever the
    scale has. With `equal_updates` batches of every size have as many steps. `must_learn` are the cells
    (None: any label) that show whether their method learns, where that is not the reference's method.
    """

    name: str  # unique, e.g. mocose-table7
    paper: str  # the key of its folder's PAPER
    title: str  # as the paper numbers it, e.g. "Table 7"
    caption: str
    method: str
    base_changes: Mapping[str, object] = field(default_factory=dict)
    # base changes that hold under one profile alone
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    axes: tuple[Axis, ...]
    rows: str | None
    columns: str | None
    cells: tuple[Cell, ...]
    metric: Metric
    figure: FigureSpec | None
    reference: Labels | None  # labels of the cell that the others are compared with (the paper's best)
    must_learn: tuple[Labels, ...] = ()
    claims: tuple[Claim, ...] = ()
    tasks: Literal["tests", "probes"] | None = None
    least_seeds: int = 1
    equal_updates: bool = False
    footnotes: tuple[str, ...] = ()
    order: int = 0  # among its paper's studies; equal ones: tables, figures, others, each by number
    source: Paper | None = None  # the paper's facts, which whoever finds the study puts in
    settings: Mapping[str, str] = field(default_factory=dict)  # what `--set` changed, as it was written
    # fields of `--vary`; the last axes are their values (`core.spec.setup`)
    varied: tuple[str, ...] = ()

    __hash__ = object.__hash__  # by identity: configurations are kept by study and cell

    @property
    def paper_name(self) -> str:
        """What tables call the paper."""
        return self.source.name if self.source is not None else self.paper

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(axis for axis in self.axes if axis.name == name)

    def matching(self, labels: Labels) -> tuple[Cell, ...]:
        """The cells with these labels, None matching any; empty if there are none."""
        return tuple(cell for cell in self.cells if matches(labels, cell.labels))

    def cells_of(self, contrasts: Iterable[Contrast]) -> tuple[Cell, ...]:
        """The cells of these contrasts, in table order, available or not."""
        terms = [term.cell for contrast in contrasts for term in contrast.terms]
        return tuple(cell for cell in self.cells if any(matches(labels, cell.labels) for labels in terms))

    def metric_of(self, cell: Cell) -> Metric:
        """What the entry of a cell is."""
        return cell.metric or self.metric

    def varied_values(self, cell: Cell) -> dict[str, str]:
        """The labels of a cell along the varied axes, which are the last, by field."""
        return dict(zip(self.varied, cell.labels[-len(self.varied) :], strict=False))

    def at(self, scale: Scale) -> Study:
        """The study with the scale's own tasks along its task axis; itself where it has none or they are the
        paper's.

        What the paper printed is kept where a task has the same name, the average among them; claims on other
        tasks are left out.
        """
        if self.tasks is None:
            return self
        axis = self.axis("task")
        names = scale.tests if self.tasks == "tests" else scale.probes
        if set(names) >= set(axis.labels) - {"avg"}:
            return self
        place = self.axes.index(axis)
        labels = (*names, *(("avg",) if "avg" in axis.labels else ()))
        stated = {cell.labels: cell for cell in self.cells}
        rows: dict[tuple[str, ...], Cell] = {}  # a cell of each row, by its labels along the other axes
        for cell in self.cells:
            rows.setdefault(cell.labels[:place] + cell.labels[place + 1 :], cell)
        cells = []
        for others, pattern in rows.items():
            for label in labels:
                wanted = (*others[:place], label, *others[place:])
                task = self.metric.task if label == "avg" else label
                metric = replace(self.metric_of(pattern), task=task)
                made = replace(pattern, labels=wanted, published=None, published_runs=(), metric=metric)
                cells.append(stated.get(wanted, made))
        axes = (*self.axes[:place], replace(axis, labels=labels), *self.axes[place + 1 :])
        return replace(self, axes=axes, cells=tuple(cells), claims=_claims_on(cells, self.claims))

    @cache  # noqa: B019  (a report needs the same configurations many times)
    def paper_config(self, cell: Cell, profile: str) -> RunConfig:
        """A cell's configuration in paper units, seed aside.

        The profile's changes come last, and not where the study or the cell names the field itself. A section
        that the cell brings in (Table 5's rewritten text) is changed too, but for the fields that the cell
        names beside it.
        """
        named = self.named(cell, profile)
        start = methods.method(cell.method or self.method).paper
        run = vary(start, named)
        # sections of the method that are named whole
        whole = {path for path in named if getattr(start, path, None) is not None}
        changes = {
            path: value
            for path, value in profile_changes(run, profile).items()
            if path not in named and path.partition(".")[0] not in whole
        }
        return vary(run, changes)

    def named(self, cell: Cell, profile: str) -> dict[str, object]:
        """The fields that study and cell name; a cell of another method has its own alone."""
        own = over(cell.changes, cell.by_profile.get(profile, {}))
        if cell.method not in (None, self.method):
            return own
        return over(over(self.base_changes, self.by_profile.get(profile, {})), own)

    def on(self, data: str, own: bool) -> Study:
        """The same cells with another encoder or on other data, which `data` names, under a name of its own.
        On a text or pairs of the user's `own` it has no numbers and no claims of the paper's."""
        study = replace(self.without_paper(), claims=(), must_learn=()) if own else self
        return replace(study, name=f"{self.name}@{short(data)}", title=f"{self.title} on {data}")

    def without_paper(self) -> Study:
        """The study without the paper's numbers, the rows that the paper copied, and claims on these."""
        own = (cell for cell in self.cells if not cell.copied)
        cells = tuple(replace(cell, published=None, published_runs=()) for cell in own)
        axes = []
        for place, axis in enumerate(self.axes):
            used = {cell.labels[place] for cell in cells}
            axes.append(replace(axis, labels=tuple(label for label in axis.labels if label in used)))

        def kept(labels: Labels | None) -> Labels | None:
            return labels if labels and any(matches(labels, cell.labels) for cell in cells) else None

        return replace(
            self, axes=tuple(axes), cells=cells, claims=_claims_on(cells, self.claims),
            figure=self.figure and replace(self.figure, base=kept(self.figure.base)),
            reference=kept(self.reference),
        )  # fmt: skip


def short(suffix: str) -> str:
    """A suffix of a study's name, which becomes a file's name."""
    digest = hashlib.sha256(suffix.encode()).hexdigest()[:8]
    return suffix if len(suffix) <= LONGEST_SUFFIX else f"{suffix[:LONGEST_SUFFIX]}~{digest}"


def _claims_on(cells: Iterable[Cell], claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """The claims of which every cell is among these."""
    present = [cell.labels for cell in cells]
    return tuple(
        claim
        for claim in claims
        if all(any(matches(wanted, labels) for labels in present) for wanted in claim.cells())
    )
