"""One command: its options, and what they ask for, done in its order."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data.sources import Found
from core.runner import inputs
from core.runner import plan as planning
from core.runner.cli import Options
from core.runner.draw import Drawing, publish, redraw_published
from core.runner.estimate import expectation, gpu_seconds
from core.runner.plan import Plan
from core.runner.progress import spoken
from core.runner.train import Training
from core.runner.verify import verify
from core.spec import fields, methods
from core.spec.catalogue import Catalogue
from core.spec.errors import UserError, say
from core.spec.methods import PROFILES
from core.spec.scale import PAPER
from core.spec.setup import Setup
from core.spec.study import Study
from core.store.store import Store

# Imported before the first fork: transformers loads its parts only when they are used.
WARM = (
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert", "transformers.models.roberta.modeling_roberta",
    "pyarrow.parquet",
)  # fmt: skip
# New objects; to look through a report's millions more often took a quarter of its time.
COLLECT_EVERY = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a command works with. `home` is the folder of `results` and `figures`."""

    catalogue: Catalogue
    home: Path
    job: str = "core.engine.job:run"
    warm: tuple[str, ...] = WARM


def chosen(catalogue: Catalogue, options: Options) -> list[Study]:
    """The studies that a command names, each once, or every study; prints what is wrong with other files.

    Raises UserError for a study that does not exist or is wrong.
    """
    if options.all and catalogue.faults:
        first, *others = catalogue.faults.values()
        more = f" ({len(others)} more files are wrong; see --list.)" if others else ""
        raise UserError(f"{first}{more}")
    studies: dict[str, Study] = {study.name: study for study in catalogue.studies if options.all}
    for name in options.studies:
        if wrong := [fault for file, fault in catalogue.faults.items() if file.parent.name == name]:
            raise UserError(wrong[0])
        group = catalogue.groups.get(name) or (catalogue.find(name),)
        studies |= {study.name: study for study in group}
        others = [s.name for s in catalogue.studies if s.name.endswith(f"-{name}") and s not in group]
        if others and name not in catalogue.groups:
            print(f"{name} is {group[0].name}; name {' and '.join(others)} in full.")
    for study in studies.values():
        catalogue.check(study)
    for fault in catalogue.faults.values():
        print(f"Passed over: {fault}")
    return list(studies.values())


def trouble(check: Callable[..., object], *words: object) -> str:
    """What a check refuses, in its sentence; empty if it refuses nothing."""
    try:
        check(*words)
    except UserError as error:
        return str(error)
    return ""


class Command:
    """One command: its options, and the store, scale and studies that they amount to."""

    def __init__(self, options: Options, argv: list[str], surroundings: Surroundings):
        self.options, self.argv, self.around = options, argv, surroundings
        home = surroundings.home
        self.results, self.published = options.results_dir or home / "results", home / "results" / "published"
        if self.published.resolve() in (self.results.resolve(), *self.results.resolve().parents):
            hint = "holds what the project publishes, and no command's own runs; give another --results-dir"
            raise UserError(f"{self.published} {hint}.")
        if options.mode == "regenerate-figures" and options.results_dir and not self.results.exists():
            raise UserError(
                f"{self.results} is not there; give the --results-dir of the command that trained."
            )
        self.store = Store(self.results, self.published)
        self.drawing = Drawing(options, self.store, self.results, (options.results_dir or home) / "figures")
        self.training = Training(options, argv, self.store, surroundings.job, surroundings.warm)

    def do(self) -> int:
        """Do it; the exit status."""
        gc.set_threshold(COLLECT_EVERY)
        options, draws = self.options, self.options.mode == "regenerate-figures"
        if options.mode == "fields":
            print(fields.described(options.fields or None))
            return 0
        if options.mode == "list" and not options.studies:
            studies = list(self.around.catalogue.studies)
        else:
            studies = chosen(self.around.catalogue, options)
        if draws and options.publish:
            redraw_published(self.around.home, self.around.catalogue.studies)
            return 0
        if draws and options.all and options.scale is None:
            self.drawing.redraw(studies)
            return 0
        scale = inputs.scale_of(options)
        found = inputs.sources(options, scale, studies, self.store)
        scale, studies = inputs.on_data(options, scale, studies, found, self.results)
        setup = Setup(
            profile=options.profile or PROFILES[0], scale=scale, sources=found.sources,
            seeds=options.seeds or scale.seeds,
        )  # fmt: skip
        if options.mode == "list":
            return self.menu(studies, setup, found)
        for place, study in enumerate(studies):
            if options.settings or options.vary:
                studies[place] = setup.varied(study, tuple(options.settings), tuple(options.vary))
            for footnote in studies[place].footnotes[len(study.footnotes) :]:
                print(footnote)  # which rows stay as they are
            setup.check(studies[place])
        if draws:
            self.draw(studies, setup)
            return 0
        try:
            if options.mode == "verify-published":
                return verify(options, self.argv, self.around, self.published, studies, setup, found)
            return (self.resolve if options.resolve else self.train)(studies, setup, found)
        finally:
            self.training.close()

    def train(self, studies: list[Study], setup: Setup, found: Found) -> int:
        """Plan, and with --plan print it, or train what is missing and render; the exit status."""
        options = self.options
        plan = planning.plan(
            studies, setup, self.store, use_published=options.use_published, force=options.force,
            labels=options.cells, keep_models=options.keep_models,
        )  # fmt: skip
        if options.mode == "plan":
            return self.tell(plan, studies, setup, found)
        status = self.training.train(plan, setup.scale, found)
        return self.finish(status, [run.run_id for run in plan.runs], studies, setup)

    def tell(self, plan: Plan, studies: list[Study], setup: Setup, found: Found) -> int:
        """Print a plan: its runs and their time, runs in training and failed ones, and what can be judged."""
        if refusal := trouble(self.training.check, plan, found):
            print(f"Training here would be refused: {refusal}")
        print(plan.line())
        print(expectation(self.options, setup.scale, found, self.store).line(plan.missing))
        for run in plan.runs:
            if self.store.claimed(run.run_id):
                say(f"running {run.run_id} {run.label}")
            elif failure := self.store.failure(run.run_id):
                say(f"failed  {run.run_id} {run.label}: {failure.words}")
        if setup.scale.name == PAPER.name:
            prospects = importlib.import_module("core.report.prospects")
            say(*prospects.lines(studies, setup, gpu_seconds, self.options.gpus or 1))
        elif not self.options.all:
            verdicts = importlib.import_module("core.report.verdicts")
            for line in verdicts.judged_at([study.at(setup.scale) for study in studies], setup):
                say(line)
        return 0

    def menu(self, studies: list[Study], setup: Setup, found: Found) -> int:
        """Print papers and studies, with runs, time and claims; the exit status is 2 if a file is wrong."""
        for paper in dict.fromkeys(study.source for study in studies if study.source is not None):
            say(f"{paper.name}, {paper.authors}: {paper.title} {paper.link} {paper.code}".strip())
        expected = expectation(self.options, setup.scale, found, self.store)
        print(f"Times are {expected.where}.")
        verdicts = importlib.import_module("core.report.verdicts")
        wrong = [*self.around.catalogue.faults.values()]
        for study in studies:
            say(f"{study.name:20} {study.paper_name}, {study.title}: {study.caption}")
            if fault := trouble(self.around.catalogue.check, study):
                wrong.append(fault)
                continue
            plan = planning.plan([study], setup, self.store, use_published=self.options.use_published)
            judged = [
                line.partition(": ")[2] for line in verdicts.judged_at([study.at(setup.scale)], setup)[:1]
            ]
            say(
                " ".join((f"{'':20} {plan.line()}", f"About {spoken(expected.wall(plan.missing))}.", *judged))
            )
        wrong += filter(None, (trouble(methods.method, name) for name in methods.names()))
        for sentence in wrong:
            say(sentence, out=sys.stderr)
        return 2 if wrong else 0

    def resolve(self, studies: list[Study], setup: Setup, found: Found) -> int:
        """Spend the budget where it decides most, then render; the exit status."""
        resolving = importlib.import_module("core.runner.resolve").Resolving(
            self.options, self.store, self.training, studies, setup, found
        )
        if self.options.mode == "plan":
            return resolving.plan()
        return self.finish(resolving.go(), resolving.runs(), studies, setup)

    def finish(self, status: int, runs: Sequence[str], studies: list[Study], setup: Setup) -> int:
        """Publish these runs if asked to, and render; the exit status, which is that of the training."""
        self.training.close()
        if status > 128:
            return status  # stopped: the user wants out, and what is stored can be drawn later
        if self.options.publish:
            publish(self.store, self.around.home, self.around.catalogue.studies, runs, setup.scale.name)
        self.draw(studies, setup)
        return status

    def draw(self, studies: list[Study], setup: Setup) -> None:
        """Draw these studies, or with --all every started study and the page."""
        if self.options.all:
            self.drawing.redraw(studies, setup.scale.name)
        else:
            self.drawing.draw(studies, setup)
