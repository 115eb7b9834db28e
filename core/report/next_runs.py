"""What to run next for a claim that is open: how many runs until its next look, what they take, and the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.report.cells import CellResult
from core.report.contrasts import Labels, Readings, weights
from core.report.judgement import Verdict
from core.report.sequential import LOOKS
from core.spec.table import Metric

MOST_NAMED = 4  # cells in a command; with more of them the whole study is named


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """The next look of an open claim: its seeds, the runs that are missing until then, their minutes one after the other (NaN: not
    known), and the chance to be settled there (None before the first look). `futile`: the chance is below a tenth at every look left."""

    seeds: int
    runs: int
    minutes: float
    chance: float | None
    futile: bool
    command: str


def next_runs(verdict: Verdict, readings: Readings, least: int = 0) -> Next | None:
    """The next look of a claim, of those with `least` seeds or more; None if the claim is settled, cannot be compared, has no look left, or
    needs a cell that cannot be run."""
    result = readings.result
    if verdict.outcome not in ("undecided", "not run"):
        return None
    asked: dict[Labels, set[Metric | None]] = {}  # of each cell that the claim names, the numbers that it asks of its runs
    for contrast in verdict.claim.predicate.contrasts():
        for labels in weights(contrast, result):
            asked.setdefault(labels, set()).add(contrast.metric)
    cells = [cell for cell in result.cells if cell.cell.labels in asked]
    if any(cell.unavailable for cell in cells):
        return None
    usable = {
        labels: set.intersection(*({*readings.values(metric)[labels]} for metric in metrics)) for labels, metrics in asked.items()
    }  # the seeds of each cell whose runs hold every number
    look = next((n for n in LOOKS if n >= least and any(not seeds.issuperset(range(n)) for seeds in usable.values())), None)
    if look is None:
        return None
    lacking = any(run.source == "published" and run.seed not in usable[c.cell.labels] for c in cells for run in c.runs if run.seed < look)
    runs = _missing(cells, usable, look, anew=lacking)
    chance = next((one.best for one in verdict.chances if one.n == look), None)
    taken = [sum(found.values()) for run in result.runs if isinstance(found := run.provenance.get("seconds"), Mapping)]
    minutes = runs * sum(taken) / len(taken) / 60 if taken else float("nan")
    command = _command(cells, look, readings, anew=lacking)
    return Next(seeds=look, runs=runs, minutes=minutes, chance=chance, futile=verdict.futile, command=command)


def _missing(cells: Sequence[CellResult], usable: Mapping[Labels, set[int]], look: int, anew: bool) -> int:
    """Distinct runs that the cells lack below a look; cells that read one run count it once. With `anew` published ones are lacking, too."""
    wanted: dict[tuple[str, ...], int] = {}  # by the first seed's run
    for cell in cells:
        ids = tuple(run.run_id for run in cell.runs)
        have = sum(
            run.seed in usable[cell.cell.labels] and not (anew and run.source == "published") for run in cell.runs if run.seed < look
        )
        wanted[ids[:1]] = max(wanted.get(ids[:1], 0), look - have)
    return sum(wanted.values())


def _command(cells: Sequence[CellResult], look: int, readings: Readings, anew: bool) -> str:
    """What trains them. Published runs count as done, unless one lacks a number that is asked for: then they are trained `anew`."""
    result = readings.result
    study = result.study
    place = next((n for n, axis in enumerate(study.axes) if axis.name == "task"), None) if study.tasks else None
    labels = list(dict.fromkeys(cell.cell.labels[0] if place is not None else "/".join(cell.cell.labels) for cell in cells))
    chosen = [part for label in labels for part in ("--cell", label)] if len(labels) <= MOST_NAMED else []
    counted = any(run.source == "published" for cell in cells for run in cell.runs)
    published = ["--use-published"] if counted and not anew else []
    parts = ["python", "run_study.py", study.name, "--scale", result.scale.name, "--profile", result.profile, "--seeds", str(look)]
    return shlex.join([*parts, *data_option(result.scale.name), *published, *chosen])


def data_option(scale: str) -> tuple[str, ...]:
    """What a command names where the data is the reader's own: without it mini's text is the hub's million sentences."""
    return ("--data-dir", "DATA") if scale == "mini" else ()
