"""What a study is laid out in: axes, cells, the number that an entry is, and how the whole is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from core.spec.errors import refuse
from core.spec.result import Metric
from core.spec.section import Typed, one_of


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


# the papers'; a scale's own stands for bert-base
ENCODERS = ("bert-base", "bert-large", "roberta-base", "roberta-large")
ENCODER = one_of(ENCODERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis(Typed):
    """What a table varies: `name` for CSV headers, `title` and `labels` as the paper has them."""

    name: str
    title: str
    labels: tuple[str, ...]

    def check(self):
        twice = next((label for label in self.labels if self.labels.count(label) > 1), None)
        refuse(twice is not None, f"The axis {self.name} has two labels called {twice}; give each its own.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Typed):
    """One entry of a table: its labels along the axes, what it changes in the base (paper units), and what
    the paper printed.

    `changes` are in the paper's terms and hold under every profile; `by_profile` adds to them under one
    profile, and wins. `published_runs` are the paper's single runs where they are known (read off its
    figures). `method` None is the study's; under another one the study's base changes do not apply. `metric`
    None is the study's. `encoder` names one of the papers' encoders (`ENCODERS`). A `copied` entry is what
    the paper took from elsewhere: shown, never run.
    """

    labels: tuple[str, ...]
    changes: Mapping[str, object] = field(default_factory=dict)
    by_profile: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    published: float | None = None
    published_runs: tuple[float, ...] = ()
    method: str | None = None
    metric: Metric | None = None
    encoder: Annotated[str, "one of the papers'", ENCODER] = "bert-base"
    copied: bool = False

    __hash__ = object.__hash__  # by identity: a study keeps the configurations of its cells


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSpec(Typed):
    """How the study is drawn; axes are named by Axis.name.

    cells: absolute values along `x` (or the only other axis) where its labels are numbers, a line for each of
    `series`, and paired differences by row, a panel for each of `series`. curve: the
    development score along training, a line for each of `series`; spectrum: singular values by index,
    likewise. `base` are the labels of the cell that the others are
    compared with, None standing for a cell's own label; without it, that is the study's reference. `curves`
    are the paper's own by label of the series: points of the share of the run (or of the width).
    """

    kind: Literal["cells", "curve", "spectrum"] = "cells"
    x: str | None = None
    series: str | None = None
    base: tuple[str | None, ...] | None = None
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
