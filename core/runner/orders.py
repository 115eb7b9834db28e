"""What one command line orders. An order has a field for each option that goes with it, itself or
in one of its parts, so an option without a field does not go with it. `None` leaves a choice to
the command."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar

from core.config.section import frozen
from core.data.sources import DataOptions, Need
from core.runner.devices import Resources, resources


@frozen
class Scope:
    """The studies by name, or all of them, their scale and profile, and where results lie."""

    studies: tuple[str, ...] = ()
    all: bool = False
    scale: str | None = None
    profile: str | None = None
    results_dir: Path | None = None


@frozen
class Changes:
    """What is changed in the runs of a study, as FIELD=VALUE, and their number."""

    settings: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    seeds: int | None = None


@frozen
class Machine:
    """The device that trains, and how many runs at once."""

    device: str = "auto"
    jobs: int | None = None

    @property
    def elsewhere(self) -> bool:
        """Whether another machine trains, so that this one's GPUs and finished runs say nothing."""
        return False

    def resources(self, scale: str) -> Resources:
        """What this machine has for runs of a scale. Raises UserError."""
        return resources(scale, "cpu" if self.elsewhere else self.device, self.jobs)

    def device_of_runs(self, scale: str) -> str:
        """The device that runs of a scale are trained on, as far as this machine can know."""
        if self.elsewhere:
            return "cpu" if self.device == "cpu" else "cuda"
        return self.resources(scale).device


@frozen
class Workers(Machine):
    """This machine, or the workers of the dask scheduler at an address."""

    cluster: str | None = None

    @property
    def elsewhere(self) -> bool:
        return self.cluster is not None


@frozen
class PlannedMachine(Machine):
    """This machine, or a number of GPUs somewhere, with one run on each."""

    gpus: int | None = None

    @property
    def elsewhere(self) -> bool:
        return self.gpus is not None


@frozen
class Outputs:
    """What a run leaves beside its result."""

    keep_models: bool = False
    tensorboard: Path | None = None


@frozen
class ChosenOrder:
    """An order that an option chooses, by its `flag` in `options.STUDY_OPTIONS`. `does` says why
    another option does not go with it."""

    flag: ClassVar[str] = ""
    does: ClassVar[str] = ""


@frozen
class StudyOrder(ChosenOrder):
    """What every order on studies has."""

    need: ClassVar[Need] = "plan"  # what it needs its data for
    scope: Scope = Scope()
    data: DataOptions = DataOptions()


@frozen
class TableOrder(StudyOrder):
    """An order on tables, whose runs and their number may be changed."""

    changes: Changes = Changes()


@frozen
class TrainOrder(TableOrder):
    """Train the missing runs, and draw."""

    need: ClassVar[Need] = "train"
    machine: Workers = Workers()
    outputs: Outputs = Outputs()
    cells: tuple[str, ...] = ()
    use_published: bool = False
    force: bool = False


@frozen
class ListOrder(TableOrder):
    """List the studies."""

    flag: ClassVar[str] = "list"
    does: ClassVar[str] = "trains nothing"
    machine: PlannedMachine = PlannedMachine()
    use_published: bool = False


@frozen
class PlanOrder(ListOrder):
    """Say what would be trained."""

    flag: ClassVar[str] = "plan"
    cells: tuple[str, ...] = ()
    keep_models: bool = False


@frozen
class RedrawOrder(TableOrder):
    """Draw what is stored."""

    flag: ClassVar[str] = "regenerate_figures"
    does: ClassVar[str] = "draws what is stored, each table whole"
    need: ClassVar[Need] = "draw"
    machine: ClassVar[Machine] = Machine()


@frozen
class ShowOrder(RedrawOrder):
    """The same at the scale that says most, with what the papers printed where nothing is
    stored."""

    flag: ClassVar[str] = "show"


@frozen
class SettleOrder(StudyOrder):
    """Train until every claim is settled that can be, or a budget of seconds is spent, or name the
    next checks (`plan`)."""

    flag: ClassVar[str] = "until_settled"
    does: ClassVar[str] = "chooses runs and their number"
    need: ClassVar[Need] = "train"
    machine: Workers = Workers()
    outputs: Outputs = Outputs()
    use_published: bool = False
    budget: float | None = None
    plan: bool = False


@frozen
class FieldsOrder(ChosenOrder):
    """List what --set can change, in one section or in all (empty)."""

    flag: ClassVar[str] = "section"
    does: ClassVar[str] = "lists what --set can change"
    section: str


@frozen
class VersionOrder(ChosenOrder):
    """Print this project's version."""

    flag: ClassVar[str] = "version"
    does: ClassVar[str] = "prints the version"


@frozen
class EvaluateOrder:
    """Score encoders, and compare them with the first. Without a pooling it is the folder's own."""

    models: tuple[Path, ...] = ()
    pooling: str | None = None
    data_dir: Path | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    scale: str = "paper"
    device: str = "cpu"
    transfer: bool = False
    csv: Path | None = None
    json: Path | None = None
    allow_pickle: bool = False


@frozen
class JudgeOrder:
    """Judge scores of the user's own. Without a reference it is the first row."""

    scores: Path
    claims: tuple[str, ...] = ()
    reference: str | None = None
    margin: float | None = None
    results_dir: Path | None = None


@frozen
class RunsOrder:
    """List stored runs, of studies or with values of fields, or show one or two of them."""

    names: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    use_published: bool = False
    results_dir: Path | None = None


AnyStudyOrder = TrainOrder | ListOrder | RedrawOrder | SettleOrder
AnyOrder = AnyStudyOrder | RunsOrder | FieldsOrder | VersionOrder | EvaluateOrder | JudgeOrder


def option_defaults(kind: type) -> dict[str, Any]:
    """The fields of an order, with those of its parts in their place, and their defaults."""
    named: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        is_part = dataclasses.is_dataclass(field.default)
        named |= option_defaults(type(field.default)) if is_part else {field.name: field.default}
    return named


def values_of(order: Any) -> dict[str, Any]:
    """What an order has in its fields, and in those of its parts, that is no default."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(order):
        value = getattr(order, field.name)
        if dataclasses.is_dataclass(value):
            values |= values_of(value)
        elif value != field.default:
            values[field.name] = value
    return values
