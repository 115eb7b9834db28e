"""The setup of a command, and a user's own variants of a study by `--set` and `--vary`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from core.config.identity import run_id
from core.config.methods import SETTLED, UNSCALED, profile_changes
from core.config.run import OWN_ENCODER, RunConfig, Seed, needs_columns
from core.config.scale import Scale, Sources, at_scale, run_evaluation_digest
from core.config.vary import has, parsed, reads, vary, written
from core.errors import UserError, shown
from core.study.claim import Claim, Contrast, Term, changed
from core.study.reason import Reason
from core.study.study import Axis, Cell, FigureSpec, Metric, Study, short

# a run of each cell that can be run, by the cell's labels
Runs = Mapping[tuple[str, ...], RunConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A profile at a scale, on these sources, under seeds 0 … seeds-1 of each cell or more."""

    profile: str
    scale: Scale
    sources: Sources
    seeds: int

    @cache  # noqa: B019  (a report needs the same configurations many times)
    def config(self, study: Study, cell: Cell, seed: int) -> RunConfig:
        """The run of a cell under one seed. `seed.data` is the profile's where that has one (42
        under `released`, as in the released code, D35), and that of cell or study where they name
        it."""
        run = self._unseeded(study, cell)
        named = study.named(cell, self.profile)
        if "seed.data" in named or "seed.data" in profile_changes(run, self.profile):
            run = vary(run, {"seed.model": seed})
        else:
            run = vary(run, {"seed": Seed(model=seed, data=seed)})
        settings = {**study.settings, **study.varied_values(cell)}
        if settings:
            run = vary(run, _values(run, settings))
            # of eval.transfer
            run = vary(run, {"eval.digest": run_evaluation_digest(run, self.sources)})
        return run

    @cache  # noqa: B019  (scaling anew for each seed would double the time of a plan)
    def _unseeded(self, study: Study, cell: Cell) -> RunConfig:
        run = study.paper_config(cell, self.profile)
        run = at_scale(run, self.scale, self.sources, cell.encoder, study.equal_updates)
        named = study.named(cell, self.profile)
        kept = {}
        for path, value in named.items():
            if study.units == "run" or path in UNSCALED:
                kept[path] = value
        return vary(run, kept)

    @cache  # noqa: B019
    def unavailable(self, study: Study, cell: Cell) -> Reason | None:
        """Why a cell cannot be run here; None if it can."""
        scale = f"scale {self.scale.name}"
        if cell.copied:
            return Reason("copied", "the paper copied it from elsewhere")
        if self.sources.encoder(cell.encoder) is None:
            words = f"{scale} has no encoder in the place of {cell.encoder}"
            return Reason("no encoder", words)
        run = study.paper_config(cell, "paper")
        if run.columns > self.sources.corpus_columns:
            return Reason("no columns", needs_columns(run.columns))
        if run.eval.transfer and self.sources.transfer_digest is None:
            return Reason("no transfer tasks", "the evaluation data has no transfer tasks")
        lacking = unmeasured(study.metric_of(cell), run.eval.transfer, self.scale)
        if lacking is not None:
            return lacking
        # another one's model needs the hub, the run's own encoder a masked-word head
        text = self._unseeded(study, cell).rewriting
        if text is None or text.model is None:
            return None
        if text.model == OWN_ENCODER:
            if self.sources.encoder_masked_words:
                return None
            name = shown(self.sources.encoder_name)
            words = f"needs a masked-word head, which the encoder {name} does not have"
            return Reason("no masked words", words)
        if self.scale.hub_models:
            return None
        return Reason("no hub model", f"needs {text.model}, which {scale} does not have")

    def seeds_of(self, study: Study) -> int:
        """How many seeds each cell of a study has."""
        return max(self.seeds, study.least_seeds)

    def asked(self, study: Study) -> Iterator[tuple[Cell, list[RunConfig]]]:
        """The cells of a study that can be run here, each with its runs in the order of their
        seeds."""
        study = study.at(self.scale)
        for cell in study.cells:
            if self.unavailable(study, cell) is None:
                yield cell, [self.config(study, cell, seed) for seed in range(self.seeds_of(study))]

    def varied(
        self, study: Study, settings: tuple[str, ...], fields: tuple[str, ...] = ()
    ) -> Study:
        """The study under `--set`'s settings, with `--vary`'s fields as axes. Raises UserError."""
        for make, texts in ((with_settings, settings), (with_axes, fields)):
            cells = [cell for cell in study.cells if self.unavailable(study, cell) is None]
            runs = {cell.labels: self.config(study, cell, 0) for cell in cells}
            if not runs:
                raise UserError(
                    f"{study.name} has no cell for scale {self.scale.name}; choose another --scale."
                )
            if texts:
                study = make(study, texts, runs)
        return study

    def check(self, study: Study) -> None:
        """Refuse different cells that this scale rounds to one run. Raises UserError."""
        kept: dict[str, tuple[Cell, RunConfig]] = {}
        for cell, runs in self.asked(study):
            run = study.paper_config(cell, self.profile)
            other, same = kept.setdefault(run_id(runs[0]), (cell, run))
            if (same, other.encoder) != (run, cell.encoder):
                names = f"{'/'.join(other.labels)} and {'/'.join(cell.labels)}"
                raise UserError(
                    f"{names} of {study.name} are one run at scale {self.scale.name}; give them "
                    "values further apart, or choose another --scale."
                )


def unmeasured(metric: Metric, transfer: bool, scale: Scale) -> Reason | None:
    """Why no run of this scale leaves a score on this metric's task, likewise; None if it does.
    `transfer`: whether the run scores transfer tasks."""
    accuracy = metric.quantity.startswith("accuracy")
    if accuracy and not transfer:
        words = "its runs score no transfer tasks (eval.transfer)"
        return Reason("no transfer tasks", words)
    tasks = ("avg", "dev", *scale.tests)
    kind = "test set"
    if accuracy:
        tasks = ("avg_transfer", *scale.probes)
        kind = "transfer task"
    scored = metric.quantity.startswith(("accuracy", "spearman", "like_length"))
    if metric.task in tasks or not scored:
        return None
    return Reason("no such score", f"scale {scale.name} has no {kind} {metric.task}")


def with_settings(study: Study, settings: Sequence[str], runs: Runs) -> Study:
    """The study under `--set`'s settings, under a name of its own and without the paper's numbers.

    A setting changes the runs that have its field; a footnote names the rows of the others. Raises
    UserError for a field that no run has, or that the study itself varies.
    """
    words = _words(study, "--set", settings, runs)
    suffix = short(",".join(sorted(f"{path}={word}" for path, (word,) in words.items())))
    return replace(
        study.without_paper(),
        name=f"{study.name}@{suffix}",
        title=f"{study.title} with {suffix}",
        settings={path: word for path, (word,) in words.items()},
        footnotes=(*study.footnotes, *_unchanged(words, runs)),
    )


def with_axes(study: Study, fields: Sequence[str], runs: Runs) -> Study:
    """The study with an axis for each `FIELD=a,b,c`, under a name of its own; several fields make a
    grid.

    A cell without the field has the same run at each value. A paper's number stays where a cell has
    the study's own value. Raises UserError for a wrong field or value.
    """
    words = _words(study, "--vary", fields, runs)
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
            if run is not None and vary(run, _values(run, settings)) != run:
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


def parts(study: Study) -> tuple[Study, ...]:
    """The study at each combination of its varied values, in order; the study itself if nothing is
    varied."""
    if not study.varied:
        return (study,)
    studies = []
    count = len(study.varied)
    varied_axes = study.axes[-count:]
    for place in product(*(axis.labels for axis in varied_axes)):
        axes = list(study.axes[:-count])
        for axis, label in zip(varied_axes, place, strict=True):
            axes.append(replace(axis, labels=(label,)))
        cells = [cell for cell in study.cells if cell.labels[-count:] == place]
        claims = [claim for claim in study.claims if claim.cells()[0][-count:] == place]
        reference = study.reference
        if reference is not None:
            reference = (*reference[:-count], *place)
        part = replace(
            study, axes=tuple(axes), cells=tuple(cells), claims=tuple(claims), reference=reference
        )
        studies.append(part)
    return tuple(studies)


def values(part: Study) -> str:
    """The varied values of one part of a study, as tables name them: "3e-4", "3e-4/64"."""
    return "/".join(part.varied_values(part.cells[0]).values())


def _values(run: RunConfig, settings: Mapping[str, str]) -> dict[str, object]:
    """What settings change in a run, by path: those of which it has the field."""
    return {path: parsed(run, path, text) for path, text in settings.items() if reads(run, path)}


def _words(
    study: Study, option: str, texts: Sequence[str], runs: Runs
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


def _unchanged(paths: Iterable[str], runs: Runs) -> Iterator[str]:
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


def check_device(run: RunConfig, places: int, device: str) -> None:
    """Raise UserError for a precision that the device, `cpu` or `cuda`, does not train in, and for
    sentences beyond the encoder's positions: a GPU pads them to the longest that repetition can
    make."""
    precision = run.train.precision
    length = run.data.max_length
    if precision == "fp16":
        raise UserError(
            "train.precision=fp16 can no longer be trained; use --set train.precision=bf16 or fp32."
        )
    if precision == "tf32" and device != "cuda":
        raise UserError(
            "train.precision=tf32 needs a GPU; use --set train.precision=fp32 or bf16 on a CPU."
        )
    padded = run.longest if device == "cuda" else length
    if padded > places:
        more = f" and repetition makes it up to {run.longest}," if run.longest > length else ""
        raise UserError(
            f"data.max_length is {length}{more} but the encoder has only {places} positions; lower "
            "it."
        )
