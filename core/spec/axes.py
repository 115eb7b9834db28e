"""`--vary FIELD=a,b,c`: axes that a user adds to a study.

Each combination of values is the study over again, with claims of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from core.spec.claim import Claim, Contrast, Predicate
from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.spec.study import Study, short
from core.spec.table import Axis, Cell, FigureSpec
from core.spec.vary import has, read, setting_path, vary

NUMBERED = ("line", "bars", "ranked", "strip", "grouped")  # kinds of figures that compare numbers of cells


def with_axes(study: Study, fields: Sequence[str], runs: Mapping[tuple[str, ...], RunConfig]) -> Study:
    """The study with an axis for each `FIELD=a,b,c`, under a name of its own; several fields make a grid.

    `runs` has a run of each cell that can be run. A cell without the field has the same run at each value. A
    paper's number stays where a cell has the study's own value. Raises UserError for a wrong field or value.
    """
    values: dict[str, dict[str, object]] = {}  # by field: what a user wrote, and what it means
    for text in fields:
        path, _, written = (part.strip() for part in text.partition("="))
        words = [word.strip() for word in written.split(",")]
        if not path or not all(words):
            example = "for example --vary train.learning_rate=3e-4,1e-3"
            raise UserError(f"--vary takes FIELD=a,b,c, not {text[:80]!r}; {example}.")
        if path in values:
            raise UserError(f"--vary gives {path} twice; give all of its values at once.")
        if path in map(setting_path, study.settings):
            raise UserError(f"--set and --vary both give {path}; leave one of them out.")
        parsed = {word: study.setting(f"{path}={word}", runs)[1] for word in words}
        if len(words) == 1:
            raise UserError(f"--vary {path}={words[0]} gives one value; add another, or use --set for one.")
        if len({repr(value) for value in parsed.values()}) < len(words):
            raise UserError(f"--vary {path}={written} gives a value twice; give each once.")
        values[path] = parsed
    for run, combination in product(runs.values(), product(*(each.items() for each in values.values()))):
        given = {path: value for path, (_, value) in zip(values, combination, strict=True) if has(run, path)}
        vary(run, given)  # raises for a value that the run cannot have
    axes = tuple(Axis(name=path, title=path, labels=tuple(each)) for path, each in values.items())
    combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]
    suffix, any_value = short(",".join(fields)).replace(" ", "").replace("/", "-"), (None,) * len(values)
    return replace(
        study,
        name=f"{study.name}@by-{suffix}",
        title=f"{study.title} by {', '.join(values)}",
        axes=(*study.axes, *axes),
        cells=tuple(cell for chosen in combinations for cell in _cells(study, runs, chosen, values)),
        claims=tuple(claim for chosen in combinations for claim in _claims(study, tuple(chosen.values()))),
        reference=None if study.reference is None else (*study.reference, *any_value),
        figure=_figure(study, tuple(values)),
        must_learn=tuple((*labels, *any_value) for labels in study.must_learn),
        footnotes=(*study.footnotes, *(note for path in values if (note := study.unchanged(path, runs)))),
        varied=tuple(values),
    )


def parts(study: Study) -> tuple[Study, ...]:
    """The study at each combination of its varied values, in order; the study itself if nothing is varied."""
    if not study.varied:
        return (study,)
    count = len(study.varied)
    own, added = study.axes[:-count], study.axes[-count:]
    studies = []
    for chosen in product(*(axis.labels for axis in added)):
        fixed = tuple(replace(axis, labels=(label,)) for axis, label in zip(added, chosen, strict=True))
        places = [claim.predicate.contrasts()[0].terms[0].cell[-count:] for claim in study.claims]
        part = replace(
            study,
            axes=(*own, *fixed),
            cells=tuple(cell for cell in study.cells if cell.labels[-count:] == chosen),
            claims=tuple(claim for claim, place in zip(study.claims, places, strict=True) if place == chosen),
            reference=study.reference and (*study.reference[:-count], *chosen),
        )
        studies.append(part)
    return tuple(studies)


def values(part: Study) -> str:
    """The varied values of one part of a study, as tables name them: "3e-4", "3e-4/64"."""
    return "/".join(axis.labels[0] for axis in part.axes[len(part.axes) - len(part.varied) :])


def _cells(
    study: Study,
    runs: Mapping[tuple[str, ...], RunConfig],
    chosen: Mapping[str, str],
    values: Mapping[str, Mapping[str, object]],
) -> Iterator[Cell]:
    """The cells at one combination of values."""
    for cell in study.cells:
        run = runs.get(cell.labels)
        made = replace(cell, labels=(*cell.labels, *chosen.values()))
        paths = [path for path in chosen if run is not None and has(run, path)]
        own = run is None or all(read(run, path) == values[path][chosen[path]] for path in paths)
        yield made if own else replace(made, published=None, published_runs=())


def _claims(study: Study, labels: tuple[str, ...]) -> Iterator[Claim]:
    """The claims at one combination of values."""

    def labelled(predicate: Predicate) -> Predicate:
        if isinstance(predicate, Contrast):
            return replace(predicate, terms=tuple(replace(term, cell=(*term.cell, *labels)) for term in predicate.terms))
        return replace(predicate, parts=tuple(map(labelled, predicate.parts)))

    for claim in study.claims:
        yield replace(claim, key=f"{claim.key} ({'/'.join(labels)})", predicate=labelled(claim.predicate))


def _figure(study: Study, varied: tuple[str, ...]) -> FigureSpec | None:
    """The study's figure with a panel for each value of the first field; curves have a line for each cell."""
    figure = study.figure
    if figure is None:
        return None
    base = figure.base and (*figure.base, *(None,) * len(varied))
    if figure.kind not in NUMBERED or (study.reference is None and figure.base is None):
        return replace(figure, series=None, curves={}, base=base)
    alone = figure.series is None and figure.x != "task" and len(varied) == 1
    kind, x = (figure.kind, figure.x) if alone else ("bars", None)
    return replace(figure, kind=kind, x=x, series=varied[0], base=base)
