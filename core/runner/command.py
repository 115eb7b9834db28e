"""One command: its options, and what they ask for, done in its order."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.data.sources import Found
from core.runner import inputs
from core.runner import plan as planning
from core.runner.cli import Options
from core.runner.draw import Drawing, h100_seconds, publish, redraw_published
from core.runner.estimate import tell_plan
from core.runner.plan import Plan
from core.runner.train import Training
from core.spec import fields, methods
from core.spec.catalogue import Fault
from core.spec.errors import UserError, counted, say
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the command works with; tests put in studies and jobs of their own. `find` gives a study by its
    name, `check` refuses a study with a cell that makes no run, `faults` say what is wrong with files whose
    studies are left out. `home` is the folder of `results` and `figures`."""

    studies: Sequence[Study]
    find: Callable[[str], Study]
    groups: Mapping[str, Sequence[Study]] = field(
        default_factory=dict
    )  # each name stands for several studies
    faults: Sequence[Fault] = ()
    check: Callable[[Study], None] = lambda study: None
    home: Path
    job: str = "core.engine.job:run"
    warm: tuple[str, ...] = WARM

    def named(self, names: Sequence[str]) -> list[Study]:
        """The studies of these names, each once. Raises UserError for a study that does not exist or is
        wrong."""
        studies: dict[str, Study] = {}
        for name in names:
            if wrong := [fault for fault in self.faults if fault.file.parent.name == name]:
                raise UserError(str(wrong[0]))
            if name in self.groups:
                studies |= {study.name: study for study in self.groups[name]}
                continue
            study = self.find(name)
            studies[study.name] = study
            others = [one.name for one in self.studies if one.name.endswith(f"-{name}") and one is not study]
            if others and study.name != name:
                print(f"{name} is {study.name}; {' and '.join(others)} must be named in full.")
        return list(studies.values())

    def chosen(self, names: Sequence[str], every: bool) -> list[Study]:
        """The studies of these names, or every study. Raises UserError if a chosen study is wrong; prints
        what is wrong with the others."""
        if every and self.faults:
            count = len(self.faults) - 1
            more = f" ({count} more files are wrong; see --list.)" if count else ""
            raise UserError(f"{self.faults[0]}{more}")
        studies = list(self.studies) if every else self.named(names)
        for study in studies:
            self.check(study)
        for fault in self.faults:
            print(f"Passed over: {fault}")
        return studies

    def list(self, names: Sequence[str]) -> int:
        """Print papers and studies, and the faults of each; the exit status is 2 if a study has a fault."""
        wrong = [str(fault) for fault in self.faults]
        studies = self.named(names) or self.studies
        for paper in dict.fromkeys(study.source for study in studies if study.source is not None):
            words = f"{paper.name}, {paper.authors}: {paper.title}", paper.link, paper.code
            print(", ".join(filter(None, words)))
        for study in studies:
            title = f"{study.paper_name}, {study.title}: {study.caption} ({len(study.cells)} cells)"
            print(f"{study.name:20} {title}")
        checks: list[Callable[[], object]] = [functools.partial(self.check, study) for study in studies]
        for check in checks + [functools.partial(methods.method, name) for name in methods.names()]:
            try:
                check()
            except UserError as error:
                wrong.append(str(error))
        for sentence in wrong:
            print(sentence, file=sys.stderr)
        return 2 if wrong else 0


class Command:
    """One command: its options, and the store, scale and studies that they amount to."""

    def __init__(self, options: Options, argv: list[str], surroundings: Surroundings):
        self.options, self.argv, self.around = options, argv, surroundings
        self.results = options.results_dir or surroundings.home / "results"
        self.published = surroundings.home / "results" / "published"
        if self.published.resolve() in (self.results.resolve(), *self.results.resolve().parents):
            raise UserError(
                f"{self.published} holds what the project publishes, and no command's own runs; "
                "give another --results-dir."
            )
        if file := next((place for place in (self.results, *self.results.parents) if place.is_file()), None):
            raise UserError(f"{file} is no folder; give another --results-dir.")
        reads = options.mode in ("status", "regenerate-figures")
        if reads and options.results_dir and not self.results.exists():
            raise UserError(
                f"{self.results} is not there; give the --results-dir of the command that trained."
            )
        self.store = Store(self.results, self.published)
        figures = (options.results_dir or surroundings.home) / "figures"
        self.drawing = Drawing(options, self.store, self.results, figures)
        self.training = Training(options, argv, self.store, surroundings.job, surroundings.warm)

    def do(self) -> int:
        """Do it; the exit status."""
        options, draws = self.options, self.options.mode == "regenerate-figures"
        if options.mode == "list":
            return self.around.list(options.studies)
        if options.mode == "fields":
            print(fields.described(options.fields or None))
            return 0
        studies = self.around.chosen(options.studies, options.all)
        for study in studies:
            if (options.seeds or study.least_seeds) < study.least_seeds:
                print(f"{study.name} takes at least {study.least_seeds} seeds, not {options.seeds}.")
        if draws and options.publish:
            redraw_published(options, self.around.home, self.around.studies)
            return 0
        if draws and options.all and options.scale is None:
            print("Every scale and profile with stored runs; choose with --scale and --profile.")
            self.drawing.redraw(studies)
            return 0
        scale = inputs.scale_of(options)
        found = inputs.sources(options, scale, studies, self.store)
        scale, studies = inputs.on_data(options, scale, studies, found, self.results)
        setup = Setup(
            profile=options.profile or PROFILES[0], scale=scale, sources=found.sources,
            seeds=options.seeds or scale.seeds,
        )  # fmt: skip
        if options.settings or options.vary:
            studies = [self.varied(study, setup) for study in studies]
        for study in studies:
            setup.check(study)
        if options.last:
            studies = [study.at_last() for study in studies]
        if draws and options.all:
            return self.drawing.redraw(studies, scale, found.sources)
        if draws:
            return self.drawing.draw(studies, setup)
        try:
            if options.mode == "verify-published":
                verify = importlib.import_module("core.runner.verify").verify
                return verify(options, self.argv, self.around, self.published, studies, setup, found)
            return (self.resolve if options.resolve else self.train)(studies, setup, found)
        finally:
            self.training.close()

    def train(self, studies: list[Study], setup: Setup, found: Found) -> int:
        """Plan, and as the mode says tell the plan or the status, or train what is missing and render."""
        options = self.options
        plan = planning.plan(
            studies, setup, self.store, use_published=options.use_published, force=options.force,
            labels=options.cells,
        )  # fmt: skip
        for line in [] if options.all else planning.without_runs(studies, setup):
            print(line)
        if options.keep_models:
            plan = planning.with_models(plan, self.store)
        if options.mode == "plan":
            if refusal := self.training.refusal(plan, found):
                print(f"Training here would be refused: {refusal}")
            status = tell_plan(options, plan, setup.scale, found, self.store)
            if setup.scale.name == PAPER.name:
                prospects = importlib.import_module("core.report.prospects")
                say(*prospects.lines(studies, setup, h100_seconds, options.gpus or 1))
            elif not options.all:
                verdicts = importlib.import_module("core.report.verdicts")
                say(*verdicts.judged_at([study.at(setup.scale) for study in studies], setup))
            return status
        if options.mode == "status":
            return tell_status(plan, self.store)
        status = self.training.train(plan, setup.scale, found)
        return self.finish(status, lambda: [run.run_id for run in plan.runs], studies, setup)

    def resolve(self, studies: list[Study], setup: Setup, found: Found) -> int:
        """Spend the budget where it decides most, then render; the exit status."""
        resolving = importlib.import_module("core.runner.resolve").Resolving(
            self.options, self.store, self.training, studies, setup, found
        )
        if self.options.mode == "plan":
            return resolving.plan()
        return self.finish(resolving.go(), resolving.runs, studies, setup)

    def finish(
        self, status: int, runs: Callable[[], Sequence[str]], studies: list[Study], setup: Setup
    ) -> int:
        """Publish these runs if asked to, and render; the exit status, which is that of the training."""
        self.training.close()
        if status > 128:
            return status  # stopped: the user wants out, and what is stored can be drawn later
        if self.options.publish:
            publish(self.options, self.store, self.around.home, self.around.studies, runs(), setup.scale.name)
        self.drawing.draw(studies, setup)
        return status

    def varied(self, study: Study, setup: Setup) -> Study:
        """The study under the user's --set and --vary; prints which rows stay as they are."""
        varied = setup.varied(study, self.options.settings, self.options.vary)
        for line in varied.footnotes[len(study.footnotes) :]:
            print(line)
        return varied


def tell_status(plan: Plan, store: Store) -> int:
    """Print what is done, running, failed and missing, with the causes of failures; the exit status."""
    labels, missing = {run.run_id: run.label for run in plan.runs}, [run.run_id for run in plan.missing]
    running = [run for run in missing if store.claimed(run)]
    failures = {run: failure for run in labels if run not in running and (failure := store.failure(run))}
    redone = failures.keys() - set(missing)
    failed = len(failures) - len(redone)
    print(
        f"{counted(len(labels), 'run')}: {len(labels) - len(missing)} done, {len(running)} running, "
        f"{failed} failed, {len(missing) - len(running) - failed} missing."
    )
    if begun := sum(store.checkpoint(run).exists() for run in missing if run not in running):
        print(f"{begun} of those that are not running go on from a checkpoint.")
    if redone:
        print(f"{counted(len(redone), 'done run')} failed when trained again; tables show the older result.")
    for run in running:
        print(f"running {run} {labels[run]}")
    for run, failure in failures.items():
        say(f"failed  {run} {labels[run]}: {failure.words}")
    return 0
