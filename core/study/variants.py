"""A user's own variants of a study, by `--set` and `--vary`."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

from core.config.methods import SETTLED
from core.config.run import RunConfig
from core.config.vary import parsed, reads, vary, written
from core.errors import UserError
from core.study.axes import Labels, overlap
from core.study.claim import Claim, Contrast, Term, changed
from core.study.resolution import chosen_values, resolve
from core.study.setup import Setup
from core.study.study import Axis, FigureSpec, Study, short

BETWEEN = re.compile(r",(?![^(]*\))")  # a comma between values: of none in parentheses
# a run of each cell that can be run, by the cell's labels
RunsByLabels = Mapping[Labels, RunConfig]


def varied(
    study: Study, setup: Setup, settings: Sequence[str], fields: Sequence[str] = ()
) -> Study:
    """The study under `--set`'s settings, with an axis for each `FIELD=a,b,c` of `--vary`, under a
    name of its own; several fields make a grid. A field that has one value is set.

    A setting changes the runs that have its field, and a footnote names the rows of the others.
    `--set` leaves out the paper's numbers; with `--vary` alone a cell keeps its number where it has
    the study's own value. Raises UserError for a wrong field or value.
    """
    resolved = resolve(study, setup)
    study = resolved.study
    runs = {cell.cell.labels: cell.config(0) for cell in resolved.available}
    if not runs:
        raise UserError(
            f"{study.name} has no cell for scale {setup.scale.name}; choose another --scale."
        )
    words: dict[str, Labels] = {}  # values by field
    for text in settings:
        words |= _given(study, runs, words, text, [text.partition("=")[2]])
    for text in fields:
        words |= _given(study, runs, words, text, BETWEEN.split(text.partition("=")[2]))
    chosen = sorted(f"{path}={values[0]}" for path, values in words.items() if len(values) == 1)
    axes = [Axis(path, path, values) for path, values in words.items() if len(values) > 1]
    if chosen:
        suffix = short(",".join(chosen))
        name = f"{study.name}@{suffix}"
        study = replace(study.without_paper(), name=name, title=f"{study.title} with {suffix}")
    cells = []
    claims = []
    for combination in product(*words.values()):
        stated = dict(zip(words, combination, strict=True))
        place = tuple(stated[axis.name] for axis in axes)
        for cell in study.cells:
            run = runs.get(cell.labels)
            if run is not None and vary(run, chosen_values(run, stated)) != run:
                cell = replace(cell, published=None, published_runs=())
            cells.append(replace(cell, labels=cell.labels + place, settings=stated))
        claims += [_claim_at(claim, place) for claim in study.claims]
    footnotes = [*study.footnotes]
    for path in words:
        names = ["/".join(labels) for labels, run in runs.items() if not reads(run, path)]
        if names:
            footnotes.append(f"No field {path}, and so unchanged: {', '.join(names)}.")
    study = replace(study, cells=tuple(cells), footnotes=tuple(footnotes))
    return _with_axes(study, axes, claims) if axes else study


def _with_axes(study: Study, axes: Sequence[Axis], claims: Sequence[Claim]) -> Study:
    """The study whose cells and claims have a label along each of these axes behind their own."""
    paths = [axis.name for axis in axes]
    texts = []
    for axis in axes:  # a value with commas in parentheses, as `--vary` takes it
        values = [f"({value})" if "," in value else value for value in axis.labels]
        texts.append(f"{axis.name}={','.join(values)}")
    any_value = (None,) * len(axes)
    return replace(
        study,
        name=f"{study.name}@by-{short(','.join(texts))}",
        title=f"{study.title} by {', '.join(paths)}",
        varied=tuple(paths),
        axes=(*study.axes, *axes),
        figure=study.figure and _figure(study, study.figure, paths),
        claims=tuple(claims),
        reference=study.reference and (*study.reference, *any_value),
        must_learn=tuple((*labels, *any_value) for labels in study.must_learn),
    )


def _given(
    study: Study, runs: RunsByLabels, before: Collection[str], text: str, values: Sequence[str]
) -> dict[str, Labels]:
    """The values, each once, of the field in `FIELD=…`. Raises UserError for a field that no run
    reads, that the study varies, or that is among those given `before`."""
    path = text.partition("=")[0].strip()
    values = [value.strip(" ()") for value in values]
    if not path or not all(values):
        raise UserError(
            f"{text[:80]!r} names no field and value; write --set loss.temperature=0.1, or --vary "
            "train.learning_rate=3e-4,1e-3."
        )
    if path in before:
        raise UserError(f"{path} is given twice; give it once.")
    if _varies(study, path):
        raise UserError(
            f"{path} is what {study.name} varies; set another field, or run another study."
        )
    if path in SETTLED:
        raise UserError(f"{path} cannot be set: {SETTLED[path]} settles it; change that.")
    # A run that reads the field, else one that has the section; `parsed` refuses other fields.
    section = path.partition(".")[0]
    run = max(runs.values(), key=lambda run: (reads(run, path), bool(getattr(run, section, None))))
    words = tuple(dict.fromkeys(written(parsed(run, path, value)) for value in values))
    if not reads(run, path):
        raise UserError(f"No row of {study.name} reads {path}; set another field.")
    return {path: words}


def _varies(study: Study, path: str) -> bool:
    """Whether some cell changes this field, a field in it, or its whole section."""
    for cell in study.cells:
        for changes in (cell.changes, *cell.by_profile.values()):
            for field, value in changes.items():
                if value is not None and overlap(path, field):
                    return True
    return False


def _claim_at(claim: Claim, place: Labels) -> Claim:
    """A claim at one place of the grid."""

    def at(contrast: Contrast) -> Contrast:
        terms = [Term(term.weight, (*term.cell, *place)) for term in contrast.terms]
        return replace(contrast, terms=tuple(terms))

    return replace(
        claim,
        key=f"{claim.key} ({'/'.join(place)})",
        predicate=changed(claim.predicate, at),
        untrained=claim.untrained and changed(claim.untrained, at),
    )


def _figure(study: Study, figure: FigureSpec, varied: Sequence[str]) -> FigureSpec:
    """The study's figure with a panel for each value of the first field; curves have a line for
    each cell."""
    base = figure.base and (*figure.base, *(None for _ in varied))
    figure = replace(figure, base=base, against={})
    if figure.kind != "cells" or (study.reference is None and figure.base is None):
        return replace(figure, series=None, curves={})
    if figure.series is not None or figure.x == "task" or len(varied) > 1:
        figure = replace(figure, x=None)
    return replace(figure, series=varied[0])
