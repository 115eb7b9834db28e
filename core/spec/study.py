"""A study: one table or figure of a paper, as frozen data. Adding one is adding a file under studies/.

One rule for profiles: what a study or a cell names in its changes holds under every profile, and what it does
not name is the profile's. Changes are written in the paper's terms; where the code had another value there,
`by_profile` gives it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from core.spec import methods
from core.spec.claim import Claim, Contrast, Labels, matches
from core.spec.errors import UserError
from core.spec.methods import UNSCALED, profile_changes, settled_by
from core.spec.run import OWN_ENCODER, RunConfig, Seed
from core.spec.scale import SCALES, Scale, Sources, at_scale, evaluation_digest
from core.spec.section import Typed
from core.spec.table import Axis, Cell, FigureSpec, Metric, Paper
from core.spec.vary import has, over, parse_setting, read, setting_path, vary


def unavailable(run: RunConfig, scale: str, sources: Sources) -> str | None:
    """Why this run (as `at_scale` made it) cannot be made at this scale with this encoder, in a few words
    without a full stop, or None if it can.

    Text-level views by a model need that model: another one's only where the scale fetches models from the
    hub, the run's own encoder's only where its checkpoint has a masked-word head.
    """
    text = run.rewriting
    if text is None or text.model is None:
        return None
    if text.model == OWN_ENCODER:
        name = sources.encoder_name or "at hand"
        lacking = f"needs a masked-word head, which the encoder {name} does not have"
        return None if sources.encoder_masked_words else lacking
    return None if SCALES[scale].hub_models else f"needs {text.model}, which scale {scale} does not have"


def unmeasured(metric: Metric, transfer: bool, scale: Scale) -> str | None:
    """Why no run of this scale leaves a score on this metric's task, likewise; None if it does. `transfer`:
    whether the run scores transfer tasks."""
    if metric.quantity.startswith("accuracy"):
        if not transfer:
            return "its runs score no transfer tasks (eval.transfer)"
        kind, tasks = "transfer task", ("avg_transfer", *scale.probes)
    elif metric.quantity.startswith(("spearman", "like_length")):
        kind, tasks = "test set", ("avg", "dev", *scale.tests)
    else:
        return None
    return None if metric.task in tasks else f"scale {scale.name} has no {kind} {metric.task}"


LONGEST_SUFFIX = 120
MOST_NAMED = 5  # rows or cells in a footnote


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
    settings: tuple[str, ...] = ()  # what `--set` changed; empty for the paper's own table
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
        return _matching(self, labels)

    def cells_of(self, contrasts: Iterable[Contrast]) -> tuple[Cell, ...]:
        """The cells of these contrasts, in table order, available or not."""
        terms = [term.cell for contrast in contrasts for term in contrast.terms]
        return tuple(cell for cell in self.cells if any(matches(labels, cell.labels) for labels in terms))

    def metric_of(self, cell: Cell) -> Metric:
        """What the entry of a cell is."""
        return cell.metric or self.metric

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
        known = {cell.labels: cell for cell in self.cells}
        rest = dict.fromkeys(cell.labels[:place] + cell.labels[place + 1 :] for cell in self.cells)
        cells = []
        for others in rest:
            pattern = next(c for c in self.cells if c.labels[:place] + c.labels[place + 1 :] == others)
            for label in labels:
                wanted = (*others[:place], label, *others[place:])
                task = self.metric.task if label == "avg" else label
                metric = replace(self.metric_of(pattern), task=task)
                made = replace(pattern, labels=wanted, published=None, published_runs=(), metric=metric)
                cells.append(known.get(wanted, made))
        axes = (*self.axes[:place], replace(axis, labels=labels), *self.axes[place + 1 :])
        kept = {cell.labels for cell in cells}
        claims = tuple(claim for claim in self.claims if _speaks_of(claim, kept))
        return replace(self, axes=axes, cells=tuple(cells), claims=claims)

    def unavailable(self, cell: Cell, scale: Scale, sources: Sources) -> str | None:
        """Why a cell cannot be run at this scale, in one sentence; None if it can."""
        if cell.copied:
            return "the paper copied it from elsewhere"
        if sources.encoder(cell.encoder) is None:
            return f"scale {scale.name} has no encoder in the place of {cell.encoder}"
        run = self.paper_config(cell, "paper")
        if run.eval.transfer and sources.transfer_digest is None:
            return "the evaluation data has no transfer tasks"
        if (why := unmeasured(self.metric_of(cell), run.eval.transfer, scale)) is not None:
            return why
        if run.rewriting is None:
            return None
        run = at_scale(run, scale, sources, cell.encoder, self.equal_updates)
        return unavailable(run, scale.name, sources)

    def paper_config(self, cell: Cell, profile: str) -> RunConfig:
        """A cell's configuration in paper units, seed aside.

        The profile's changes come last, and not where the study or the cell names the field itself. A section
        that the cell brings in (Table 5's rewritten text) is changed too, but for the fields that the cell
        names beside it.
        """
        return _paper_config(self, cell, profile)

    def named(self, cell: Cell, profile: str) -> dict[str, object]:
        """The fields that study and cell name; a cell of another method has its own alone."""
        own = over(cell.changes, cell.by_profile.get(profile, {}))
        if cell.method not in (None, self.method):
            return own
        return over(over(self.base_changes, self.by_profile.get(profile, {})), own)

    def config(self, cell: Cell, *, profile: str, scale: Scale, sources: Sources, seed: int) -> RunConfig:
        """The run of a cell under one seed. `seed.data` is the profile's where that has one (42 under
        `released`, as in the released code, D35), and that of cell or study where they name it."""
        return _config(self, cell, profile, scale, sources, seed)

    def configs(self, cell: Cell, *, seeds: int, **at) -> list[RunConfig]:
        """The runs of a cell under seeds 0 … seeds-1; `at` is profile, scale and sources."""
        return [self.config(cell, seed=seed, **at) for seed in range(seeds)]

    def with_settings(self, settings: tuple[str, ...], runs: Mapping[tuple[str, ...], RunConfig]) -> Study:
        """The user's own variant: the same cells and claims over a changed base, under a name of its own,
        without the paper's numbers.

        `runs` has a run of each cell, against which paths and values are checked. A setting changes the runs
        that have its field; the others stay as they are, and a footnote names their rows. Raises UserError
        for a field that no run has, or that the study itself varies.
        """
        parsed: dict[str, object] = {}
        for text in settings:
            path, value = self.setting(text, runs)
            if path in parsed:
                raise UserError(f"--set gives {path} twice; give it once.")
            parsed[path] = value
        for run in runs.values():
            # raises for a contradiction between fields
            vary(run, {path: value for path, value in parsed.items() if has(run, path)})
        suffix = short(",".join(f"{path}={_spelled(value)}" for path, value in sorted(parsed.items())))
        notes = (*self.footnotes, *(note for path in parsed if (note := self.unchanged(path, runs))))
        name, title = f"{self.name}@{suffix}", f"{self.title} with {suffix}"
        own = self._own(self.cells)
        kept = {cell.labels for cell in own.cells}
        claims = tuple(claim for claim in self.claims if _speaks_of(claim, kept))
        own = replace(own, claims=claims, must_learn=self.must_learn)
        return replace(own, name=name, title=title, settings=tuple(settings), footnotes=notes)

    def setting(self, text: str, runs: Mapping[tuple[str, ...], RunConfig]) -> tuple[str, object]:
        """Path and value of `FIELD=VALUE`. Raises UserError if no run has it or the study varies it."""
        cells = [each for cell in self.cells for each in (cell.changes, *cell.by_profile.values())]
        changes = [change for each in cells for change in each.items()]
        varied = {path for path, _ in changes}
        # a section that is left out has no fields to set
        replaced = {path for path, value in changes if value is not None}
        path, value = parse_setting(_nearest(list(runs.values()), setting_path(text)), text)
        inside = any(other.startswith(f"{path}.") for other in varied)
        if path in varied or path.partition(".")[0] in replaced or inside:
            raise UserError(f"{path} is what {self.name} varies; set another field, or run another study.")
        if (option := settled_by(path)) is not None:
            raise UserError(f"{path} cannot be set: {option} settles it; change that.")
        return path, value

    def unchanged(self, path: str, runs: Mapping[tuple[str, ...], RunConfig]) -> str:
        """A footnote that names the rows or cells without such a field; "" if all have it."""
        lacking = [labels for labels, run in runs.items() if not has(run, path)]
        if not lacking:
            return ""
        others = runs.keys() - set(lacking)
        places = range(len(self.axes))
        telling = (n for n in places if {l[n] for l in lacking}.isdisjoint(l[n] for l in others))
        place = next(telling, None)
        names = list(dict.fromkeys("/".join(l) if place is None else l[place] for l in lacking))
        if len(names) > MOST_NAMED:
            names[MOST_NAMED - 1 :] = [f"{len(names) - MOST_NAMED + 1} more"]
        return f"No field {path}, and so unchanged: {', '.join(names)}."

    def at_last(self) -> Study:
        """The same runs read at their last checkpoint instead of the selected one, under a name of its own
        and without the paper's numbers (D40). Cells that read something else are left out; raises UserError
        if that leaves none."""
        cells = tuple(
            replace(cell, metric=replace(self.metric_of(cell), checkpoint="last"))
            for cell in self.cells
            if self.metric_of(cell).quantity == "spearman" and self.metric_of(cell).checkpoint == "selected"
        )
        own = self._own(cells)
        if not own.cells:
            what = "other numbers than scores of the selected checkpoint"
            raise UserError(f"{self.name} shows {what}; leave --checkpoint out.")
        name, title = f"{self.name}@last", f"{self.title} at the last checkpoint"
        return replace(own, name=name, title=title, metric=replace(self.metric, checkpoint="last"))

    def on(self, data: str, own: bool) -> Study:
        """The same cells with another encoder or on other data, which `data` names, under a name of its own.
        On a text or pairs of the user's `own` it has no numbers and no claims of the paper's."""
        study = self._own(self.cells) if own else self
        return replace(study, name=f"{self.name}@{short(data)}", title=f"{self.title} on {data}")

    def _own(self, cells: tuple[Cell, ...]) -> Study:
        """The study of these cells without the paper's numbers, copied rows and claims."""
        cells = tuple(replace(cell, published=None, published_runs=()) for cell in cells if not cell.copied)
        axes = []
        for place, axis in enumerate(self.axes):
            used = {cell.labels[place] for cell in cells}
            axes.append(replace(axis, labels=tuple(label for label in axis.labels if label in used)))

        def kept(labels: Labels | None) -> Labels | None:
            return labels if labels and any(matches(labels, cell.labels) for cell in cells) else None

        figure = self.figure and replace(self.figure, base=kept(self.figure.base))
        own = replace(self, axes=tuple(axes), cells=cells, claims=(), must_learn=(), figure=figure)
        return replace(own, reference=kept(self.reference))


# A report asks for the same configurations and cells many times; without these caches a plan of all studies
# takes 0.4 s longer.
@cache
def _matching(study: Study, labels: Labels) -> tuple[Cell, ...]:
    return tuple(cell for cell in study.cells if matches(labels, cell.labels))


@cache
def _paper_config(study: Study, cell: Cell, profile: str) -> RunConfig:
    named = study.named(cell, profile)
    start = methods.method(cell.method or study.method).paper
    run = vary(start, named)
    whole = {path for path in named if getattr(start, path, None) is not None}
    own = {*named, *(path for path in profile_changes(run, profile) if path.partition(".")[0] in whole)}
    changes = {path: value for path, value in profile_changes(run, profile).items() if path not in own}
    brought = {path: value for path, value in named.items() if path.partition(".")[0] in changes}
    return vary(run, {**changes, **brought})


@cache
def _scaled(study: Study, cell: Cell, profile: str, scale: Scale, sources: Sources) -> RunConfig:
    run = at_scale(study.paper_config(cell, profile), scale, sources, cell.encoder, study.equal_updates)
    return vary(run, {path: value for path, value in study.named(cell, profile).items() if path in UNSCALED})


@cache
def _config(study: Study, cell: Cell, profile: str, scale: Scale, sources: Sources, seed: int) -> RunConfig:
    run = _scaled(study, cell, profile, scale, sources)
    held = "seed.data" in study.named(cell, profile) or "seed.data" in profile_changes(run, profile)
    run = vary(run, {"seed.model": seed} if held else {"seed": Seed(model=seed, data=seed)})
    labels = cell.labels[len(cell.labels) - len(study.varied) :]
    values = [f"{path}={label}" for path, label in zip(study.varied, labels, strict=True)]
    given = [text for text in (*study.settings, *values) if has(run, setting_path(text))]
    settings = dict(parse_setting(run, text) for text in given)
    if not settings:
        return run
    run = vary(run, settings)
    # eval.transfer may be among the settings
    return vary(run, {"eval.digest": evaluation_digest(run, sources)})


def _nearest(runs: Sequence[RunConfig], path: str) -> RunConfig:
    """The first run that has a field, else the first that has its section, for the best message."""
    section = path.partition(".")[0]
    beside = [run for run in runs if has(run, section) and read(run, section) is not None]
    return next((run for run in runs if has(run, path)), [*beside, *runs][0])


def short(suffix: str) -> str:
    """A suffix of a study's name, which becomes a file's name."""
    digest = hashlib.sha256(suffix.encode()).hexdigest()[:8]
    return suffix if len(suffix) <= LONGEST_SUFFIX else f"{suffix[:LONGEST_SUFFIX]}~{digest}"


def _speaks_of(claim: Claim, cells: set[tuple[str, ...]]) -> bool:
    """Whether every cell of a claim is among these."""
    wanted = {term.cell for contrast in claim.predicate.contrasts() for term in contrast.terms}
    return all(any(matches(labels, cell) for cell in cells) for labels in wanted)


def _spelled(value) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{start}-{stop}" for start, stop in value)
    text = str(value).replace(" ", "").replace("/", "-")
    return text.lower() if isinstance(value, bool) or value is None else text
