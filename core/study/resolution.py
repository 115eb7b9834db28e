"""A study resolved at a setup: its cells, each with its runs or the reason why it has none.

A command resolves each study once. Plans, drawings, verdicts and costs read the ResolvedStudy.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Self

from core.config.identity import run_id
from core.config.methods import profile_changes
from core.config.quantities import quantity
from core.config.result import Metric
from core.config.run import OWN_ENCODER, RunConfig, Seed, needs_columns
from core.config.scale import Scale, at_scale
from core.config.section import frozen
from core.config.vary import parsed, reads, vary
from core.errors import UserError
from core.formatting import shown
from core.study.claim import Claim, Contrast
from core.study.reason import Reason
from core.study.setup import Setup
from core.study.study import SIMCSE, Cell, Study


@frozen
class ResolvedCell:
    """A cell with its runs in the order of their seeds, or why it has none.

    `paper` is its run in the papers' units, `base` the run at the scale; both without a seed, and
    None for scores that a user brings, of which no run is known.
    `names_data_seed` says that profile, study or cell name the seed of the data. `configs` and
    `run_ids` are empty where `unavailable` says why.
    """

    cell: Cell
    metric: Metric
    unavailable: Reason | None = None
    paper: RunConfig | None = None
    base: RunConfig | None = None
    names_data_seed: bool = False
    configs: tuple[RunConfig, ...] = ()
    run_ids: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The cell's labels in one word."""
        return "/".join(self.cell.labels)

    @property
    def trains(self) -> bool:
        """Whether a run of the cell is trained here."""
        return self.unavailable is None and self.base is not None and self.base.trains

    def config(self, seed: int) -> RunConfig:
        """The cell's run under any seed. Raises ValueError without an encoder or a score."""
        if seed < len(self.configs):
            return self.configs[seed]
        if self.base is None:
            raise ValueError(f"{self.name} has no run: {self.unavailable}")
        return _with_seed(self.base, self.names_data_seed, seed)

    def run_id(self, seed: int) -> str:
        """The identity of the cell's run under any seed."""
        return run_id(self.config(seed))


@frozen
class ResolvedStudy:
    """A study at a setup, with the scale's own tasks. `simcse` is the cell of SimCSE's own runs,
    whose gain is the bar for other methods; scores that a user brings have none."""

    study: Study
    setup: Setup
    cells: tuple[ResolvedCell, ...]
    simcse: tuple[ResolvedCell, ...] = ()

    @property
    def seeds(self) -> int:
        """How many seeds each cell has at least."""
        return max(self.setup.seeds, self.study.least_seeds)

    @property
    def available(self) -> list[ResolvedCell]:
        """The cells that can be run here."""
        return [cell for cell in self.cells if cell.unavailable is None]

    @property
    def run_ids(self) -> set[str]:
        """Every distinct run of the setup's seeds."""
        return {run for cell in self.cells for run in cell.run_ids}

    @property
    def outline(self) -> ResolvedStudy:
        """The same without configurations: what of it can be kept in a file."""
        cells = (replace(cell, paper=None, base=None, configs=()) for cell in self.cells)
        return replace(self, cells=tuple(cells), simcse=())

    def repeats(self, other: ResolvedStudy) -> bool:
        """Whether this is another resolved study, with the same run in each cell."""
        same = [cell.run_ids for cell in self.cells] == [cell.run_ids for cell in other.cells]
        return same and bool(self.run_ids) and self.study.name == other.study.name

    def cells_of(self, contrasts: Iterable[Contrast]) -> list[ResolvedCell]:
        """The cells of these contrasts, in table order."""
        labels = {cell.labels for cell in self.study.cells_of(contrasts)}
        return [cell for cell in self.cells if cell.cell.labels in labels]

    def complete_seeds(self, stored: set[str]) -> int:
        """How many seeds are stored for all cells."""
        by_seed = zip(*(cell.run_ids for cell in self.available), strict=True)
        return sum(stored.issuperset(runs) for runs in by_seed)

    def has_all_runs(self, claim: Claim, stored: set[str]) -> bool:
        """Whether every run of a claim's cells is stored."""
        runs = [cell.run_ids for cell in self.cells_of(claim.predicate.contrasts())]
        return bool(runs) and all(ids and stored.issuperset(ids) for ids in runs)

    def divided(self) -> list[Self]:
        """The study at each combination of its varied values, in order; itself if nothing is
        varied."""
        study = self.study
        if not study.varied:
            return [self]
        divided = []
        count = len(study.axes) - len(study.varied)
        for place in product(*(axis.labels for axis in study.axes[count:])):
            fixed = zip(study.axes[count:], place, strict=True)
            axes = [*study.axes[:count], *(replace(axis, labels=(label,)) for axis, label in fixed)]
            cells = [cell for cell in study.cells if cell.labels[count:] == place]
            claims = [claim for claim in study.claims if claim.cells()[0][count:] == place]
            part = replace(
                study,
                axes=tuple(axes),
                cells=tuple(cells),
                claims=tuple(claims),
                reference=study.reference and (*study.reference[:count], *place),
            )
            own = (cell for cell in self.cells if cell.cell.labels[count:] == place)
            divided.append(replace(self, study=part, cells=tuple(own)))
        return divided


def resolve(study: Study, setup: Setup) -> ResolvedStudy:
    """A study on the scale's own tasks, each cell's runs under the setup's seeds."""
    study = study.at(setup.scale)
    seeds = range(max(setup.seeds, study.least_seeds))
    cells = tuple(resolved_cell(study, cell, setup, seeds) for cell in study.cells)
    return ResolvedStudy(study=study, setup=setup, cells=cells, simcse=_simcse(setup))


@functools.cache  # every study of a setup has the same
def _simcse(setup: Setup) -> tuple[ResolvedCell, ...]:
    """The cell of SimCSE's own runs."""
    return (resolved_cell(SIMCSE, SIMCSE.cells[0], setup, range(setup.seeds)),)


def resolved_cell(study: Study, cell: Cell, setup: Setup, seeds: Iterable[int]) -> ResolvedCell:
    """One cell of a study at a setup, with its runs under these seeds.

    `seed.data` is the profile's where that has one (42 under `released`, as in the released code,
    D35), and that of cell or study where they name it.
    """
    paper = study.paper_config(cell, setup.profile)
    named = study.named(cell, setup.profile)
    naming = {*named, *profile_changes(paper, setup.profile), *cell.settings}
    names_seed = "seed.data" in naming
    metric = study.metric_of(cell)
    base = None
    configs: tuple[RunConfig, ...] = ()
    unavailable = _without_score(cell, paper, metric, setup)
    if unavailable is None:
        base = at_scale(
            paper,
            setup.scale,
            setup.sources,
            cell.encoder,
            study.equal_updates,
            named,
            chosen_values(paper, cell.settings),
        )
        unavailable = _without_text(base, setup)
        if unavailable is None:
            configs = tuple([_with_seed(base, names_seed, seed) for seed in seeds])
    return ResolvedCell(
        cell=cell,
        metric=metric,
        unavailable=unavailable,
        paper=paper,
        base=base,
        names_data_seed=names_seed,
        configs=configs,
        run_ids=tuple(map(run_id, configs)),
    )


@functools.cache  # studies share runs, and a report goes through all of them
def _with_seed(run: RunConfig, names_data_seed: bool, seed: int) -> RunConfig:
    if names_data_seed:
        return vary(run, {"seed.model": seed})
    return vary(run, {"seed": Seed(model=seed, data=seed)})


def chosen_values(run: RunConfig, settings: Mapping[str, str]) -> dict[str, object]:
    """What settings change in a run, by path: those of which it has the field."""
    return {path: parsed(run, path, text) for path, text in settings.items() if reads(run, path)}


def _without_score(cell: Cell, run: RunConfig, metric: Metric, setup: Setup) -> Reason | None:
    """Why a cell has no run anywhere, no encoder here, or runs that leave no number here; `run` is
    in the papers' units."""
    if cell.copied:
        return Reason("copied", "the paper copied it from elsewhere")
    if setup.sources.encoder_for(cell.encoder) is None:
        return Reason(
            "no encoder", f"scale {setup.scale.name} has no encoder in the place of {cell.encoder}"
        )
    if run.columns > setup.sources.corpus_columns:
        return Reason("no columns", needs_columns(run.columns))
    transfer = run.eval.transfer
    if transfer and setup.sources.transfer_digest is None:
        return Reason("no transfer tasks", "the evaluation data has no transfer tasks")
    return unmeasured(metric, transfer, setup.scale)


def _without_text(run: RunConfig, setup: Setup) -> Reason | None:
    """Why a run's text cannot be rewritten here. Another model needs the hub, the run's own encoder
    a head for masked words."""
    text = run.rewriting
    if text is None or text.model is None:
        return None
    if text.model == OWN_ENCODER:
        if setup.sources.encoder.masked_words:
            return None
        name = shown(setup.sources.encoder.name)
        words = f"needs a masked-word head, which the encoder {name} does not have"
        return Reason("no masked words", words)
    if setup.scale.hub_models:
        return None
    return Reason(
        "no hub model", f"needs {text.model}, which scale {setup.scale.name} does not have"
    )


def unmeasured(metric: Metric, transfer: bool, scale: Scale) -> Reason | None:
    """Why no run of this scale leaves a score on this metric's task, likewise; None if it does.
    `transfer`: whether the run scores transfer tasks."""
    kind = quantity(metric.quantity).tasks
    if kind == "transfer tasks":
        if not transfer:
            return Reason("no transfer tasks", "its runs score no transfer tasks (eval.transfer)")
        tasks = ("avg_transfer", *scale.probes)
        name = "transfer task"
    elif kind in ("sets", "some sets"):
        tasks = ("avg", "dev", *scale.tests)
        name = "test set"
    else:
        return None
    if metric.task in tasks:
        return None
    return Reason("no such score", f"scale {scale.name} has no {name} {metric.task}")


def values(part: Study) -> str:
    """The varied values of one part of a study, as tables name them: "3e-4", "3e-4/64"."""
    return "/".join(part.cells[0].labels[len(part.axes) - len(part.varied) :])


def check_distinct(resolved: ResolvedStudy) -> None:
    """Refuse different cells that this scale rounds to one run. Raises UserError."""
    first_of: dict[str, ResolvedCell] = {}
    for cell in resolved.available:
        other = first_of.setdefault(cell.run_ids[0], cell)
        if (other.paper, other.cell.encoder) != (cell.paper, cell.cell.encoder):
            raise UserError(
                f"{other.name} and {cell.name} of {resolved.study.name} are one run at scale "
                f"{resolved.setup.scale.name}; give them values further apart, or choose another "
                "--scale."
            )
