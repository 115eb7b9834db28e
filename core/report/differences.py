"""What a figure by difference shows, before it is drawn: each cell minus the paper's reference, ours and the paper's, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from core.report.cells import CellResult, StudyResult
from core.report.comparisons import comparisons
from core.report.naming import label_here, spoken
from core.report.quantities import SCORE, unit
from core.report.sequential import LOOKS
from core.report.statistics import HOLDS_95, NO_COMPARISON, Comparison
from core.report.withholding import instead_of_finding, silent

Labels = tuple[str, ...]
FAILED = ("collapsed", "diverged")
NO_DIFFERENCE = 1e-9  # of stored numbers: less is none
LONGEST_TITLE = 26  # characters of a panel's title; a longer one is without its axis' name


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell against the base of its panel. `mean` None: nothing of ours, and `word` says why (so it does where a cell cannot act).

    `name` is the label as a sentence has it, with its axis ("dropout 0.2"). `band` is half of the range that seeds alone give a difference
    of so many runs, None if unknown.
    """

    label: str
    name: str = ""
    mean: float | None
    low: float = float("nan")
    high: float = float("nan")
    basis: str = ""
    told: bool = False
    n: int = 0
    seeds: tuple[float, ...] = ()
    failed: tuple[float, ...] = ()
    printed: float | None = None
    word: str = ""
    band: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Rows on one axis."""

    title: str
    unit: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """All panels of a figure. `ordered`: the rows are numbers in order, so that lines may join them; `from_noise`: the band is the noise
    study's, else the reference's own interval. `base_name` is the base as a sentence has it. `instead` is the title where verdicts are
    withheld, and no row is told then."""

    base: str
    base_name: str
    panels: tuple[Panel, ...]
    ordered: bool
    from_noise: bool
    left_out: int  # rows that are not run and that the paper prints nothing for
    elsewhere: int = 0  # rows that are never run here: copied ones, and those of another encoder than the base's
    untrained: float | None = None  # the untrained encoder's [CLS] less the base, where the study has one base and it is a score
    instead: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every row of every panel."""
        return tuple(row for panel in self.panels for row in panel.rows)


def base_pattern(result: StudyResult) -> tuple[str | None, ...] | None:
    """The labels of the row that the others are drawn against; None if the study names no such row, and levels are drawn."""
    figure = result.study.figure
    return None if figure is None else figure.base or result.study.reference


def differences(result: StudyResult) -> Differences | None:
    """Each cell against its base; None if the study has no base, or the base has no run."""
    pattern = base_pattern(result)
    if pattern is None:
        return None
    cells = {cell.cell.labels: cell for cell in _shown(result)}
    rows: dict[Labels, Row] = {}
    for part in result.parts:
        mine = {cell.cell.labels: cell for cell in _shown(part)}
        for base in dict.fromkeys(base_of(labels, pattern) for labels in mine):
            if base in mine:
                rows |= _against(mine[base], [cell for cell in mine.values() if base_of(cell.cell.labels, pattern) == base], part)
    if not any(row.n for row in rows.values()):
        return None
    bases = [cells[labels] for labels in cells if base_of(labels, pattern) == labels]
    here = {labels: row for labels, row in rows.items() if not _of_another_kind(cells[labels], [one for one in bases if one.runs])}
    drawn = {labels: row for labels, row in here.items() if row.printed is not None or row.word not in ("not run", "not at this scale")}
    named = "/".join(label_here(label, result) for label in pattern if label not in (None, "avg"))
    panels = _panels(result, here, drawn, bases)
    shown = [row for panel in panels for row in panel.rows]
    return Differences(
        base=named or "the reference",
        base_name=spoken(pattern, result) or "the reference",
        panels=panels,
        ordered=result.figure.kind == "line" and _numbers(result),
        from_noise=result.noise is not None and _is_score(bases),
        left_out=sum(labels not in drawn and not any(row is one for one in shown) for labels, row in here.items()),
        elsewhere=len(rows) - len(here),
        untrained=_untrained(bases),
        instead=instead_of_finding(result),
    )


def _of_another_kind(cell: CellResult, bases: Sequence[CellResult]) -> bool:
    """Whether a cell has no run here, and never will: copied by the paper from elsewhere, or of another encoder than the bases. The paper's
    difference of it would be one of encoders, beside differences of methods."""
    return not cell.runs and (cell.cell.copied or all(cell.cell.encoder != base.cell.encoder for base in bases))


def _untrained(bases: Sequence[CellResult]) -> float | None:
    """The untrained encoder's [CLS] less the base's mean, for a table of scores with one base that has runs; else None."""
    begun = [one for one in bases if one.estimate.n]
    if len(begun) != 1 or unit(begun[0].metric) != SCORE or begun[0].metric.task not in ("avg", "dev"):
        return None
    base = begun[0]
    for run in base.runs:
        if run.rows is not None and (found := run.rows.one("untrained", base.metric.task, "spearman_all")) is not None:
            return found.value - base.estimate.mean
    return None


def _shown(result: StudyResult) -> list[CellResult]:
    """The cells. In a study by task these are the averages alone, unless the tasks are an axis of the figure."""
    axes = [axis.name for axis in result.study.axes]
    if result.study.tasks is None or result.figure.x == "task":
        return list(result.cells)
    task = axes.index("task")
    return [cell for cell in result.cells if cell.cell.labels[task] == "avg"] or list(result.cells)


def base_of(labels: Labels, pattern: Sequence[str | None]) -> Labels:
    """The labels of the cell that a cell is compared with: the pattern's, and its own where that has none."""
    return tuple(own if wanted is None else wanted for own, wanted in zip(labels, pattern, strict=False))


def _against(base: CellResult, group: Sequence[CellResult], result: StudyResult) -> dict[Labels, Row]:
    values = {cell.cell.labels: {run.seed: run.value for run in cell.runs if run.value is not None} for cell in group}
    same = {cell.cell.labels: values[cell.cell.labels] for cell in group if _alike(cell, base)}
    found = comparisons(same, base.cell.labels, result.study.claims) if same.get(base.cell.labels) else {}
    rows = {cell.cell.labels: _row(cell, base, found.get(cell.cell.labels, NO_COMPARISON), values, result) for cell in group}
    unsaid = silent(result)
    names = {labels: spoken(labels, result) for labels in rows}
    return {
        labels: replace(row, name=names[labels], told=row.told and labels not in unsaid and base.cell.labels not in unsaid)
        for labels, row in rows.items()
    }


def _alike(cell: CellResult, base: CellResult) -> bool:
    """Only like is compared with like: one quantity in one unit."""
    return unit(cell.metric) == unit(base.metric)


def _row(cell: CellResult, base: CellResult, found: Comparison, values: Mapping[Labels, Mapping[int, float]], result: StudyResult) -> Row:
    own, theirs = values[cell.cell.labels], values[base.cell.labels]
    label = _label(cell, result)
    printed = None if cell.cell.published is None or base.cell.published is None else cell.cell.published - base.cell.published
    if cell is base:
        return Row(label=label, mean=None, printed=printed, word=f"reference, n = {cell.estimate.n}" if cell.estimate.n else "not run")
    if not found.n:
        return Row(label=label, mean=None, printed=printed, word=_why_not(cell))
    by_seed = {seed: own[seed] - theirs[seed] for seed in sorted(set(own) & set(theirs))}
    if all(abs(value) <= NO_DIFFERENCE for value in by_seed.values()):
        same = [run.run_id for run in cell.runs] == [run.run_id for run in base.runs][: len(cell.runs)]
        word = "the same runs" if same and cell.metric == base.metric else "cannot act here"
        return Row(label=label, mean=None, printed=printed, word=word, n=found.n)
    bad = {run.seed for run in (*cell.runs, *base.runs) if run.status in FAILED}
    return Row(
        label=label,
        mean=found.difference,
        low=found.low,
        high=found.high,
        basis=found.basis,
        told=found.distinguishable,
        n=found.n,
        seeds=tuple(value for seed, value in by_seed.items() if seed not in bad),
        failed=tuple(value for seed, value in by_seed.items() if seed in bad),
        printed=printed,
        band=_band(base, found.n, result),
    )


def _why_not(cell: CellResult) -> str:
    if cell.cell.copied:
        return ""
    return "not at this scale" if cell.unavailable else "not run" if cell.status == "missing" else cell.status


def _label(cell: CellResult, result: StudyResult) -> str:
    """The labels that no panel's title has, without the task where it is the average."""
    figure = result.figure
    axes = [axis.name for axis in result.study.axes]
    kept = [(name, label) for name, label in zip(axes, cell.cell.labels, strict=False) if name != figure.series]
    shown = [label_here(label, result) for name, label in kept if (name, label) != ("task", "avg") or len(kept) == 1]
    return "/".join(shown)


def _panels(result: StudyResult, here: Mapping[Labels, Row], drawn: Mapping[Labels, Row], bases: Sequence[CellResult]) -> tuple[Panel, ...]:
    """One panel, or one for each label of the figure's series; those without a number are left out, and so is the reference's own.

    Panels beside each other have the same rows in the same order, since the first names them for all: a row that is `drawn` in one
    stands in each, without a number where it is only `here`, or in the study not at all.
    """
    series, axes = result.figure.series, [axis.name for axis in result.study.axes]
    if series is None:
        return (Panel(title="", unit=unit(bases[0].metric), rows=tuple(drawn.values())),)
    cells = {cell.cell.labels: cell for cell in result.cells}
    place = axes.index(series)
    shown = {
        name: {row.label: labels for labels, row in here.items() if labels[place] == name} for name in result.study.axis(series).labels
    }
    shown = {name: mine for name, mine in shown.items() if any(here[labels].n for labels in mine.values())}
    rows = list(dict.fromkeys(row.label for labels, row in drawn.items() if labels[place] in shown))
    titles = {name: label_here(name, result) for name in shown}
    axis = f"{result.study.axis(series).title}: "  # before every title, or before none
    before = axis if all(len(axis + title) <= LONGEST_TITLE for title in titles.values()) else ""
    return tuple(
        Panel(
            title=f"{before}{titles[name]}",
            unit=unit(cells[next(iter(mine.values()))].metric),
            rows=tuple(here[mine[label]] if label in mine else Row(label=label, mean=None) for label in rows),
        )
        for name, mine in shown.items()
    )


def _band(base: CellResult, n: int, result: StudyResult) -> float | None:
    """Half of the range that holds 95 % of what seeds alone make of a difference of two means of n runs: 1.96 SD sqrt(2 / n), by the
    noise study's SD. Without a noise study it is half of the reference's own interval, from three seeds on: that of two is as wide as the table."""
    if result.noise is not None and _is_score([base]):
        return HOLDS_95 * result.noise * float(np.sqrt(2 / n))
    return base.estimate.high - base.estimate.mean if base.estimate.n >= LOOKS[0] and base.interval == "seeds" else None


def _is_score(bases: Sequence[CellResult]) -> bool:
    return all(unit(base.metric) == SCORE and base.metric.task == "avg" for base in bases)


def _numbers(result: StudyResult) -> bool:
    """Whether the figure's x is numbers in order."""
    x = result.figure.x
    try:
        numbers = [] if x is None else [float(label) for label in result.study.axis(x).labels]
    except ValueError:
        return False
    return bool(numbers) and all(a < b for a, b in pairwise(numbers))
