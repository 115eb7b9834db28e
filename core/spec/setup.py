"""The setup of a command: a profile, a scale, its sources and a number of seeds; and `--vary`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from core.spec.claim import Claim, Contrast, Predicate
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.scale import Scale, Sources
from core.spec.study import Study, short
from core.spec.table import Axis, Cell, FigureSpec
from core.spec.vary import has, paths, read, setting_path, vary


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A profile at a scale, on these sources, under seeds 0 … seeds-1 of each cell or more."""

    profile: str
    scale: Scale
    sources: Sources
    seeds: int

    def config(self, study: Study, cell: Cell, seed: int) -> RunConfig:
        """The run of a cell under one seed."""
        return study.config(cell, profile=self.profile, scale=self.scale, sources=self.sources, seed=seed)

    def configs(self, study: Study, cell: Cell, seeds: int) -> list[RunConfig]:
        """The runs of a cell under seeds 0 … seeds-1."""
        return study.configs(cell, profile=self.profile, scale=self.scale, sources=self.sources, seeds=seeds)

    def unavailable(self, study: Study, cell: Cell) -> str | None:
        """Why a cell cannot be run here, in one sentence; None if it can."""
        return study.unavailable(cell, self.scale, self.sources)

    def seeds_of(self, study: Study) -> int:
        """How many seeds each cell of a study is asked for."""
        return max(self.seeds, study.least_seeds)

    def asked(self, study: Study) -> Iterator[tuple[Cell, list[RunConfig]]]:
        """The cells of a study that can be run here, each with its runs in the order of their seeds."""
        study = study.at(self.scale)
        for cell in study.cells:
            if self.unavailable(study, cell) is None:
                yield cell, self.configs(study, cell, self.seeds_of(study))

    def varied(self, study: Study, settings: tuple[str, ...], fields: tuple[str, ...] = ()) -> Study:
        """The study under `--set`'s settings, with `--vary`'s fields as axes. Raises UserError."""
        cells = [cell for cell in study.cells if self.unavailable(study, cell) is None]
        runs = {cell.labels: self.config(study, cell, 0) for cell in cells}
        if not runs:
            hint = "nothing can vary"
            raise UserError(f"No cell of {study.name} can be run at scale {self.scale.name}; {hint}.")
        if settings:
            study = study.with_settings(settings, runs)
            runs = {cell.labels: self.config(study, cell, 0) for cell in study.cells if cell.labels in runs}
        return with_axes(study, fields, runs) if fields else study

    def check(self, study: Study) -> None:
        """Refuse different cells that this scale rounds to one run. Raises UserError."""
        kept: dict[str, tuple[Cell, tuple[str, RunConfig]]] = {}
        study = study.at(self.scale)
        for cell in study.cells:
            if self.unavailable(study, cell) is not None:
                continue
            asked = cell.encoder, study.paper_config(cell, self.profile)
            other, already = kept.setdefault(run_id(self.config(study, cell, 0)), (cell, asked))
            if already != asked:
                names = " and ".join("/".join(each.labels) for each in (other, cell))
                differing = _differing(already, asked)
                what = f"are one run at scale {self.scale.name}, though they differ in {differing}"
                hint = "give them values further apart, or choose another --scale"
                raise UserError(f"{names} of {study.name} {what}; {hint}.")


def _differing(a: tuple[str, RunConfig], b: tuple[str, RunConfig]) -> str:
    """In which two cells differ: the encoder, or paths of their configurations."""
    if a[0] != b[0]:
        return f"the encoder ({a[0]} and {b[0]})"
    one, other = a[1], b[1]
    differing = [path for path in paths(one) if not has(other, path) or read(one, path) != read(other, path)]
    return ", ".join(differing) or "sections"


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
            terms = [replace(term, cell=(*term.cell, *labels)) for term in predicate.terms]
            return replace(predicate, terms=tuple(terms))
        return replace(predicate, parts=tuple(map(labelled, predicate.parts)))

    for claim in study.claims:
        yield replace(claim, key=f"{claim.key} ({'/'.join(labels)})", predicate=labelled(claim.predicate))


def _figure(study: Study, varied: tuple[str, ...]) -> FigureSpec | None:
    """The study's figure with a panel for each value of the first field; curves have a line for each cell."""
    figure = study.figure
    if figure is None:
        return None
    base = figure.base and (*figure.base, *(None,) * len(varied))
    if figure.kind != "cells" or (study.reference is None and figure.base is None):
        return replace(figure, series=None, curves={}, base=base)
    alone = figure.series is None and figure.x != "task" and len(varied) == 1
    return replace(figure, x=figure.x if alone else None, series=varied[0], base=base)


def check_precision(run: RunConfig, device: str) -> None:
    """Raise UserError for a precision in which this kind of device, `cpu` or `cuda`, does not train."""
    if run.train.precision == "fp16":
        hint = "use --set train.precision=bf16 or fp32"
        raise UserError(f"train.precision=fp16 can no longer be trained; {hint}.")
    if run.train.precision == "tf32" and device != "cuda":
        raise UserError("train.precision=tf32 needs a GPU; use --set train.precision=fp32 or bf16 on a CPU.")


def check_length(run: RunConfig, places: int, device: str) -> None:
    """Raise UserError for training sentences that an encoder with so many positions cannot read. A GPU pads
    them to the longest that repetition can make; a CPU reads only what is there."""
    if (run.longest if device == "cuda" else run.data.max_length) > places:
        more = f" and repetition makes it up to {run.longest}," if run.longest > run.data.max_length else ""
        what = f"{run.data.max_length}{more} but the encoder has only {places} positions"
        raise UserError(f"data.max_length is {what}; lower it.")
