"""A user's own variants of a study, by `--set` and `--vary`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from core.config.methods import SETTLED
from core.config.run import RunConfig
from core.config.vary import has, parsed, reads, vary, written
from core.errors import UserError
from core.study.claim import Claim, Contrast, Term, changed
from core.study.grid import chosen_values, resolve_cells
from core.study.setup import Setup
from core.study.study import Axis, FigureSpec, Study, short

# a run of each cell that can be run, by the cell's labels
RunsByLabels = Mapping[tuple[str, ...], RunConfig]


def varied(
    study: Study, setup: Setup, settings: Sequence[str], fields: Sequence[str] = ()
) -> Study:
    """The study under `--set`'s settings, with `--vary`'s fields as axes. Raises UserError."""
    for make, texts in ((with_settings, settings), (with_axes, fields)):
        if not texts:
            continue
        cells = resolve_cells(study, replace(setup, seeds=1)).available
        if not cells:
            raise UserError(
                f"{study.name} has no cell for scale {setup.scale.name}; choose another --scale."
            )
        study = make(study, texts, {cell.cell.labels: cell.config(0) for cell in cells})
    return study


def with_settings(study: Study, settings: Sequence[str], runs: RunsByLabels) -> Study:
    """The study under `--set`'s settings, under a name of its own and without the paper's numbers.

    A setting changes the runs that have its field; a footnote names the rows of the others. Raises
    UserError for a field that no run has, or that the study itself varies.
    """
    words = _chosen_words(study, "--set", settings, runs)
    suffix = short(",".join(sorted(f"{path}={word}" for path, (word,) in words.items())))
    return replace(
        study.without_paper(),
        name=f"{study.name}@{suffix}",
        title=f"{study.title} with {suffix}",
        settings={path: word for path, (word,) in words.items()},
        footnotes=(*study.footnotes, *_unchanged(words, runs)),
    )


def with_axes(study: Study, fields: Sequence[str], runs: RunsByLabels) -> Study:
    """The study with an axis for each `FIELD=a,b,c`, under a name of its own; several fields make a
    grid.

    A cell without the field has the same run at each value. A paper's number stays where a cell has
    the study's own value. Raises UserError for a wrong field or value.
    """
    words = _chosen_words(study, "--vary", fields, runs)
    for path, values in words.items():
        if len(values) == 1:
            raise UserError(f"--vary {path}={values[0]} gives one value; use --set for one value.")
    fields = [f"{path}={','.join(values)}" for path, values in words.items()]
    places = list(product(*words.values()))  # the values at each place of the grid
    cells = []
    claims: list[Claim] = []
    for place in places:
        settings = dict(zip(words, place, strict=True))
        for cell in study.cells:
            run = runs.get(cell.labels)
            if run is not None and vary(run, chosen_values(run, settings)) != run:
                cell = replace(cell, published=None, published_runs=())
            cells.append(replace(cell, labels=cell.labels + place))
        claims += [_claim_at(claim, place) for claim in study.claims]
    new_axes = [Axis(name=path, title=path, labels=values) for path, values in words.items()]
    any_value = (None,) * len(words)
    return replace(
        study,
        name=f"{study.name}@by-{short(','.join(fields))}",
        title=f"{study.title} by {', '.join(words)}",
        varied=tuple(words),
        cells=tuple(cells),
        axes=(*study.axes, *new_axes),
        figure=study.figure and _figure(study, study.figure, list(words)),
        claims=tuple(claims),
        reference=study.reference and (*study.reference, *any_value),
        must_learn=tuple((*labels, *any_value) for labels in study.must_learn),
        footnotes=(*study.footnotes, *_unchanged(words, runs)),
    )


def _chosen_words(
    study: Study, option: str, texts: Sequence[str], runs: RunsByLabels
) -> dict[str, tuple[str, ...]]:
    """By field, the values that a user wrote. Raises UserError for a field that no run has, that
    the study varies, or that comes twice."""
    words: dict[str, tuple[str, ...]] = {}
    for text in texts:
        path, _, typed = text.partition("=")
        path = path.strip()
        if option == "--vary":
            example = "a,b,c, such as train.learning_rate=3e-4,1e-3"
            values = [word.strip() for word in typed.split(",")]
        else:
            example = "VALUE, such as loss.temperature=0.1"
            values = [typed.strip()]
        if not path or not all(values):
            raise UserError(f"{option} takes FIELD={example}, not {text[:80]!r}.")
        if path in words:
            raise UserError(f"{option} gives {path} twice; give it once.")
        if path in study.settings:
            raise UserError(f"--set and --vary both give {path}; leave one of them out.")
        if _varies(study, path):
            raise UserError(
                f"{path} is what {study.name} varies; set another field, or run another study."
            )
        if path in SETTLED:
            raise UserError(f"{path} cannot be set: {SETTLED[path]} settles it; change that.")
        # A run that has the field, else one that has the section; `parsed` refuses other fields.
        section = path.partition(".")[0]
        run = max(
            runs.values(),
            key=lambda run: (reads(run, path), has(run, path), has(run, section)),
        )
        if has(run, path) and not reads(run, path):
            raise UserError(f"No row of {study.name} reads {path}; set another field.")
        words[path] = tuple(dict.fromkeys(written(parsed(run, path, value)) for value in values))
    return words


def _varies(study: Study, path: str) -> bool:
    """Whether some cell changes this field, a field in it, or its whole section."""
    section = path.partition(".")[0]
    for cell in study.cells:
        for changes in (cell.changes, *cell.by_profile.values()):
            if changes.get(section) is not None:
                return True
            if any(field == path or field.startswith(f"{path}.") for field in changes):
                return True
    return False


def _unchanged(paths: Iterable[str], runs: RunsByLabels) -> Iterator[str]:
    """A footnote for each field that some cells lack, with their labels."""
    for path in paths:
        names = ["/".join(labels) for labels, run in runs.items() if not reads(run, path)]
        if names:
            yield f"No field {path}, and so unchanged: {', '.join(names)}."


def _claim_at(claim: Claim, place: tuple[str, ...]) -> Claim:
    """A claim at one place of the grid."""

    def at(contrast: Contrast) -> Contrast:
        terms = [Term(term.weight, (*term.cell, *place)) for term in contrast.terms]
        return replace(contrast, terms=tuple(terms))

    untrained = claim.untrained
    if untrained is not None:
        untrained = changed(untrained, at)
    return replace(
        claim,
        key=f"{claim.key} ({'/'.join(place)})",
        predicate=changed(claim.predicate, at),
        untrained=untrained,
    )


def _figure(study: Study, figure: FigureSpec, varied: Sequence[str]) -> FigureSpec:
    """The study's figure with a panel for each value of the first field; curves have a line for
    each cell."""
    base = figure.base and (*figure.base, *(None for _ in varied))
    figure = replace(figure, base=base, against={}, base_name="")
    if figure.kind != "cells" or (study.reference is None and figure.base is None):
        return replace(figure, series=None, curves={})
    if figure.series is not None or figure.x == "task" or len(varied) > 1:
        figure = replace(figure, x=None)
    return replace(figure, series=varied[0])
