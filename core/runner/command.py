"""One command: what the options ask for, done in its order."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data.sources import Found
from core.runner import inputs
from core.runner import plan as planning
from core.runner.choose import Known
from core.runner.cli import Options
from core.runner.draw import Drawing
from core.runner.overview import tell_plan, tell_status, without_runs
from core.runner.passed_over import passed_over
from core.runner.publishing import Publishing
from core.runner.train import Training
from core.spec import fields
from core.spec.conditions import Edition
from core.spec.errors import UserError
from core.spec.methods import PROFILES
from core.spec.study import Study
from core.store.store import Store

# Imported before the first fork: transformers loads its parts only when they are used.
WARM = (
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert", "transformers.models.roberta.modeling_roberta", "pyarrow.parquet",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings(Known):
    """What the command works with; tests put in studies and jobs of their own. `home` is the folder of `results` and `figures`."""

    home: Path
    job: str = "core.engine.job:run"
    warm: tuple[str, ...] = WARM


class Command:
    """One command: its options, and the store, scale and studies that they amount to."""

    def __init__(self, options: Options, argv: list[str], surroundings: Surroundings):
        self.options = options
        self.argv = argv
        self.around = surroundings
        self.results = options.results_dir or surroundings.home / "results"
        self.published = surroundings.home / "results" / "published"
        if self.published.resolve() in (self.results.resolve(), *self.results.resolve().parents):
            raise UserError(
                f"{self.published} holds what the project publishes, and no command's own runs; give another --results-dir."
            )
        if file := next((place for place in (self.results, *self.results.parents) if place.is_file()), None):
            raise UserError(f"{file} is no folder; give another --results-dir.")
        self.store = Store(self.results, self.published)
        self.drawing = Drawing(
            options, self.store, self.results, (options.results_dir or surroundings.home) / "figures"
        )
        self.training = Training(
            options, argv, self.store, self.results, self.published, surroundings.job, surroundings.warm
        )

    def do(self) -> int:
        """Do it; the exit status."""
        options = self.options
        if options.mode == "list":
            return self.around.list(options.studies)
        if options.mode == "fields":
            return self.fields()
        studies = self.around.chosen(options.studies, options.all)
        for line in passed_over(options, studies):
            print(line)
        if options.mode == "render" and options.publish:
            self.publishing().draw()
            return 0
        if options.mode == "render" and options.all and options.scale is None:
            print(
                "Every scale and profile with stored runs, since --all names none; choose with --scale and --profile."
            )
            self.drawing.redraw(studies)
            return 0
        scale = inputs.scale_of(options)
        found = inputs.sources(options, scale, studies, self.store)
        scale, studies = inputs.on_data(options, scale, studies, found, self.results)
        edition = Edition(
            profile=options.profile or PROFILES[0],
            scale=scale,
            sources=found.sources,
            seeds=options.seeds or scale.seeds,
        )
        if options.settings or options.vary:
            studies = [self.varied(study, edition) for study in studies]
        for study in studies:
            edition.check(study)
        if options.last:
            studies = [study.at_last() for study in studies]
        if options.mode == "render" and options.all:
            return self.drawing.redraw_scale(studies, scale, found.sources)
        if options.mode == "render":
            return self.drawing.draw(studies, edition)
        if options.mode == "verify":
            return self.verify(studies, edition, found)
        if options.resolve:
            return self.resolve(studies, edition, found)
        return self.train(studies, edition, found)

    def train(self, studies: list[Study], edition: Edition, found: Found) -> int:
        """Plan, and as the mode says tell the plan or the status, or train what is missing and render; the exit status."""
        options = self.options
        plan = planning.plan(
            studies,
            edition,
            self.store,
            use_published=options.use_published,
            force=options.force,
            labels=options.cells,
        )
        for line in [] if options.all else without_runs(studies, edition):
            print(line)
        if options.keep_models:
            plan = planning.with_models(plan, self.store)
        match options.mode:
            case "plan":
                if refusal := self.training.refusal(plan, found):
                    print(f"Training here would be refused: {refusal}")
                return tell_plan(options, plan, edition.scale, found, self.store)
            case "status":
                return tell_status(plan, self.store)
        try:
            status = self.training.train(plan, edition.scale, found)
        finally:
            self.training.close()
        return self.finish(status, lambda: [run.run_id for run in plan.runs], studies, edition)

    def resolve(self, studies: list[Study], edition: Edition, found: Found) -> int:
        """Spend the budget where it decides most, then render; the exit status."""
        resolving = importlib.import_module("core.runner.resolve").Resolving(
            self.options, self.store, self.training, studies, edition, found
        )
        if self.options.mode == "plan":
            return resolving.plan()
        return self.finish(resolving.go(), resolving.runs, studies, edition)

    def finish(
        self, status: int, runs: Callable[[], Sequence[str]], studies: list[Study], edition: Edition
    ) -> int:
        """Publish these runs if asked to, and render; the exit status, which is that of the training."""
        if status > 128:
            return status  # stopped: the user wants out, and what is stored can be drawn later
        if self.options.publish:
            self.publishing().publish(runs(), edition.scale.name)
        self.drawing.draw(studies, edition)
        return status

    def verify(self, studies: list[Study], edition: Edition, found: Found) -> int:
        """Train published runs anew and say how far they differ; the exit status."""
        verification = importlib.import_module("core.runner.verify").Verification(
            self.options, self.argv, self.published, self.around.job, self.around.warm
        )
        return verification.go(studies, edition, found)

    def varied(self, study: Study, edition: Edition) -> Study:
        """The study under the user's --set and --vary; prints which rows stay as they are."""
        varied = edition.varied(study, self.options.settings, self.options.vary)
        for line in varied.footnotes[len(study.footnotes) :]:
            print(line)
        return varied

    def fields(self) -> int:
        """Print what --set can change."""
        print(
            "\n".join(
                [
                    fields.HEAD,
                    *(line for one in fields.fields(self.options.fields or None) for line in one.lines()),
                ]
            )
        )
        return 0

    def publishing(self) -> Publishing:
        """What publishes, and draws what is published."""
        return Publishing(self.options, self.store, self.around.home, self.around.studies)
