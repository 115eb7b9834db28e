"""A study: one table or figure of a paper, as frozen data. Adding one is adding a file under studies/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from core.spec.base import base, released_changes
from core.spec.config import RunConfig, Seed
from core.spec.errors import UserError
from core.spec.scale import Scale, Sources, at_scale
from core.spec.vary import parse_setting, vary


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What a table varies: `name` for CSV headers, `title` as the paper heads it, `labels` in the paper's order."""

    name: str
    title: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One entry of a table: its labels along the axes, what it changes in the base (paper units), and what the paper printed.

    `published_runs` are the paper's single runs where they are known (read off its figures).
    """

    labels: tuple[str, ...]
    changes: Mapping[str, object]
    published: float | None = None
    published_runs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The number a table prints: `task` is `avg` (mean of the test sets) or `dev`; the aggregate follows the run's sts.aggregate."""

    task: Literal["avg", "dev"]
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpec:
    """How the study is drawn: `line` (x numeric), or `grouped` (x in groups of `series`). Axes are named by Axis.name."""

    kind: Literal["line", "grouped"]
    x: str
    series: str | None = None
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One table: axes, base, cells, and how it is laid out. `rows` and `columns` name axes; either may be None."""

    name: str  # unique, e.g. mocose-table7
    paper: Literal["mocose", "esimcse"]
    title: str  # as the paper numbers it, e.g. "Table 7"
    caption: str
    method: str
    base_changes: Mapping[str, object] = field(default_factory=dict)
    axes: tuple[Axis, ...]
    rows: str | None
    columns: str | None
    cells: tuple[Cell, ...]
    metric: Metric
    figure: FigureSpec
    reference: tuple[str, ...]  # labels of the cell that the others are compared with (the paper's best)
    footnotes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # what `--set` changed; empty for the paper's own table

    def __post_init__(self):
        labels = [cell.labels for cell in self.cells]
        if len(set(labels)) != len(labels):
            raise ValueError(f"{self.name}: two cells have the same labels")
        for cell in self.cells:
            if len(cell.labels) != len(self.axes) or any(l not in a.labels for l, a in zip(cell.labels, self.axes)):
                raise ValueError(f"{self.name}: cell {cell.labels} does not lie on the axes")
        if self.reference not in labels:
            raise ValueError(f"{self.name}: the reference {self.reference} is no cell")
        for axis in (self.rows, self.columns, self.figure.x, self.figure.series):
            if axis is not None and axis not in [a.name for a in self.axes]:
                raise ValueError(f"{self.name}: there is no axis {axis}")

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(axis for axis in self.axes if axis.name == name)

    def paper_config(self, cell: Cell, profile: str) -> RunConfig:
        """A cell's configuration in paper units, seed aside.

        The profile's changes come last but for the cell's own, and only where the study keeps the section they concern.
        """
        run = vary(base(self.method, "clean"), self.base_changes)
        if profile == "released":
            kept = {p: v for p, v in released_changes(run).items() if p not in self.base_changes}
            run = vary(run, kept)
        elif profile != "clean":
            base(self.method, profile)  # raises with the sentence
        return vary(run, cell.changes)

    def config(self, cell: Cell, *, profile: str, scale: Scale, sources: Sources, seed: int) -> RunConfig:
        """The run of a cell under one seed. `seed.data` stays at 42 under `released`, as in the released code (D35)."""
        run = at_scale(self.paper_config(cell, profile), scale, sources)
        run = vary(run, {"seed.model": seed} if profile == "released" else {"seed": Seed(model=seed, data=seed)})
        settings = dict(parse_setting(run, text) for text in self.settings)
        return vary(run, settings) if settings else run

    def with_settings(self, settings: tuple[str, ...], sample: RunConfig) -> "Study":
        """The user's own variant: the same cells over a changed base, under a name of its own, without the paper's numbers.

        `sample` is any run of the study, against which paths and values are checked. Raises UserError for a field that the
        study itself varies.
        """
        varied = {path for cell in self.cells for path in cell.changes}
        parsed = dict(parse_setting(sample, text) for text in settings)
        for path in parsed:
            if path in varied or path.partition(".")[0] in varied or any(v.startswith(path + ".") for v in varied):
                raise UserError(f"{path} is what {self.name} varies; set another field, or run another study.")
            if path in ("scale", "method", "data.rows", "seed", "seed.model") or path.endswith(".digest"):
                raise UserError(f"{path} cannot be set: it is what --scale, --seeds, --data-dir and --encoder settle; use those.")
        vary(sample, parsed)  # raises for a contradiction between fields
        suffix = ",".join(f"{path}={_spelled(value)}" for path, value in sorted(parsed.items()))
        return replace(
            self,
            name=f"{self.name}@{suffix}",
            title=f"{self.title} with {suffix}",
            cells=tuple(replace(cell, published=None, published_runs=()) for cell in self.cells),
            settings=tuple(settings),
        )


def _spelled(value) -> str:
    return str(value).replace(" ", "").replace("/", "-").lower() if isinstance(value, bool) or value is None else str(
        value
    ).replace(" ", "").replace("/", "-")
