"""Reproduce a paper's ablation: plan, train what is missing, render. `python run_study.py --help` lists the options."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from core.store import console

console.open_closed()  # before any import can open a file in a standard stream's place

from core.data import fetch, hf
from core.data import sources as finding
from core.data.own import on_own, read_pairs
from core.runner import cli, devices, pace
from core.runner import plan as planning
from core.runner.choose import Known
from core.runner.cli import Options
from core.runner.draw import Drawing
from core.runner.early import Early
from core.runner.estimate import history
from core.runner.keeping import with_models
from core.runner.passed_over import passed_over
from core.runner.plan import Plan
from core.runner.publishing import Publishing
from core.runner.train import Training, cache_folder
from core.spec import fields
from core.spec.edition import Edition
from core.spec.errors import UserError
from core.spec.printable import counted
from core.spec.profiles import PROFILES
from core.spec.scale import OTHER_RATES, SCALES, Scale
from core.spec.study import Study
from core.store import files
from core.store.store import Store

HOME = Path(__file__).resolve().parent
# Imported or called before the first fork: transformers loads its parts only when they are used, and the demo's sets are made once.
WARM = (
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert", "transformers.models.roberta.modeling_roberta", "pyarrow.parquet",
    "core.data.sts:load_demo",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings(Known):
    """What the command works with; tests put in studies and jobs of their own."""

    job: str = "core.engine.job:run"
    warm: tuple[str, ...] = WARM
    home: Path = HOME


def main(argv: list[str], surroundings: Surroundings | None = None) -> int:
    """Do what the command line asks. The exit status: 0 done, 1 a run failed, 2 bad usage, 128 + signal if stopped."""
    try:
        if argv[:1] == ["evaluate"]:
            return importlib.import_module("core.engine.evaluation.command").main(argv[1:]) or 0
        options = cli.parse(argv)
        status = Command(options, argv, surroundings or _shipped()).do()
        sys.stdout.flush()  # while a full disk can still be told
        return status
    except UserError as error:
        console.say(str(error), out=sys.stderr)
        return 2
    except BrokenPipeError:
        console.let_go(1)  # whoever read our output has had enough
        return 141
    except OSError as error:
        console.say(files.trouble(Path(error.filename or "The output"), error), out=sys.stderr)
        if error.filename is None:
            console.let_go(1)
        return 2
    except KeyboardInterrupt:
        print("Stopped before any training; the same command starts again.", file=sys.stderr)
        return 130


def _shipped() -> Surroundings:
    studies = importlib.import_module("studies")
    found = studies.CATALOGUE
    return Surroundings(studies=found.studies, find=found.find, groups=found.groups, faults=found.faults, check=found.check)


class Command:
    """One command: its options, and the store, scale and studies that they amount to."""

    def __init__(self, options: Options, argv: list[str], surroundings: Surroundings):
        self.options, self.argv = options, argv
        self.around = surroundings
        self.results = options.results_dir or surroundings.home / "results"
        self.published = surroundings.home / "results" / "published"
        self.store = Store(self.results, self.published)
        self.drawing = Drawing(options, self.store, self.results, (options.results_dir or surroundings.home) / "figures")
        self.training = Training(options, argv, self.store, self.results, self.published, surroundings.job, surroundings.warm)

    def do(self) -> int:
        """Do it; the exit status."""
        if self.options.mode == "list":
            return self.around.list(self.options.studies)
        if self.options.mode == "fields":
            return self.fields()
        studies = self.around.chosen(self.options.studies, self.options.all)
        for line in passed_over(self.options, studies):
            print(line)
        if self.options.mode == "render" and self.options.publish:
            return self.publishing().draw(None if self.options.scale is None else SCALES[self.options.scale])
        if self.options.mode == "render" and self.options.all and self.options.scale is None:
            return self.drawing.redraw(studies)
        scale = self.scale()
        found = self.sources(scale, studies)
        scale, studies = self.on_data(scale, studies, found)
        edition = Edition(
            profile=self.options.profile or PROFILES[0], scale=scale, sources=found.sources, seeds=self.options.seeds or scale.seeds
        )
        if self.options.settings:
            studies = [self.varied(study, edition) for study in studies]
        if self.options.last:
            studies = [study.at_last() for study in studies]
        if self.options.mode == "render" and self.options.all:
            return self.drawing.redraw_scale(studies, scale, found.sources)
        if self.options.mode == "render":
            return self.drawing.draw(studies, edition)
        if self.options.mode == "verify":
            verification = importlib.import_module("core.runner.verify").Verification(
                self.options, self.argv, self.published, self.around.job, self.around.warm
            )
            return verification.go(studies, edition, found)
        if self.options.resolve:
            return self.resolve(studies, edition, found)
        options, factors = self.options, OTHER_RATES if self.options.other_rates else ()
        plan = planning.at_rates(
            studies, edition, factors, self.store, use_published=options.use_published, force=options.force, labels=options.cells
        )
        if self.options.keep_models:
            plan = with_models(plan, self.store)
        match self.options.mode:
            case "plan":
                return self.plan(plan, scale)
            case "status":
                return self.status(plan)
        early = Early(studies, plan, lambda study: self.drawing.early(study, edition))
        status = self.training.train(plan, scale, found, early)
        if status > 128:
            return status  # stopped: the user wants out, and what is stored can be drawn later
        if self.options.publish:
            self.publishing().publish([run.run_id for run in plan.runs], studies, edition)
        self.drawing.draw(studies, edition)
        return status

    def resolve(self, studies: list[Study], edition: Edition, found: finding.Found) -> int:
        """Spend the budget where it decides most, then render; the exit status."""
        noise = next((study for study in self.around.studies if study.name == "noise"), None)
        resolving = importlib.import_module("core.runner.resolve.command").Resolving(
            self.options, self.store, self.training, studies, edition, found, noise
        )
        if self.options.mode == "plan":
            return resolving.plan()
        status = resolving.go()
        if status > 128:
            return status
        if self.options.publish:
            self.publishing().publish(resolving.runs(), studies, edition)
        self.drawing.draw(studies, edition)
        return status

    def scale(self) -> Scale:
        """The scale that the user named, or that fits the machine; the first line of output says which."""
        name = self.options.scale
        if name is not None:
            print(f"Scale {name}, as asked.")
        elif self.options.device == "cpu":
            name = "demo"
            print("Scale demo, since --device cpu leaves the GPUs out; choose another with --scale.")
        elif gpus := devices.visible_gpus():
            name = "paper"
            print(f"Scale paper, since {len(gpus)} GPU{'s are' if len(gpus) > 1 else ' is'} visible; choose another with --scale.")
        else:
            name = "demo"
            print("Scale demo, since no GPU is visible; choose another with --scale.")
        return SCALES[name]

    def sources(self, scale: Scale, studies: list[Study]) -> finding.Found:
        """Training text, evaluation sets and encoders of the scale: shipped, local, recorded with stored runs, or fetched."""
        options = self.options
        if scale.name == "demo":
            if options.data_dir or options.encoder or options.other_encoders or options.text is not None or options.pairs:
                raise UserError(
                    "Scale demo has its own text and encoder, a made-up language; leave out --data-dir, --encoder, --text and --pairs, or add --scale mini."
                )
            return finding.demo_sources()
        encoder = options.encoder or finding.SHIPPED_ENCODERS.get(scale.name)
        if encoder is not None:
            encoder = fetch.pinned(scale.name, cache_folder(), encoder)
        places = finding.local_places(options.data_dir, encoder, options.other_encoders, *self.own_data())
        own = places.own_text or places.pairs
        if options.mode in ("render", "status") and not own and not (options.data_dir and encoder):
            recorded = finding.recorded_sources(scale, self.store)  # what is drawn needs no data, only to know which it was
            if recorded is None:
                raise UserError(f"No run of scale {scale.name} is stored here; train some, or give --data-dir and --encoder.")
            return recorded
        fetching = not (own or (options.data_dir and encoder))
        used = {cell.encoder for study in studies for cell in study.cells if not cell.copied} - {"bert-base"}
        others = sorted(used) if scale.name == "paper" and not options.encoder else []  # one's own encoder has no relatives on the hub
        if options.mode == "plan" and fetching:
            print("Nothing is fetched for a plan.")
            return finding.planned_sources(scale, self.store, places, others)
        found = finding.local_sources(fetch.prefetch(scale.name, cache_folder(), places, others), cache_folder())
        if places.own_text:
            console.say(f"Training text {places.corpus_name}: {found.sources.corpus_rows} sentences.")
        for name, path in places.pairs:
            console.say(f"{'Development set' if name == 'dev' else f'Test set {name}'}: {len(read_pairs(path))} pairs of {path}.")
        return found

    def on_data(self, scale: Scale, studies: list[Study], found: finding.Found) -> tuple[Scale, list[Study]]:
        """Scale and studies; on text or pairs of one's own, or with another encoder than one's own first run here, under other names."""
        if own := found.own_data():
            return on_own(scale, [name for name, _ in found.places.pairs]), [study.on(own, own=True) for study in studies]
        local = found.places.encoder is not None and self.options.mode != "verify"
        other = finding.another(found, finding.recorded_sources(scale, Store(self.results, None))) if local else ""
        if other and (self.options.all or self.options.resolve):
            raise UserError(
                f"{self.results} has runs of scale {scale.name} with another encoder or other data than {other}; "
                "give another --results-dir, since a page and a ledger are for one."
            )
        if other:
            console.say(
                f"{self.results} has runs of scale {scale.name} with another encoder or other data, so these tables are named after {other}."
            )
        return scale, [study.on(other, own=False) if other else study for study in studies]

    def own_data(self) -> tuple[Path | None, list[tuple[str, Path]]]:
        """Text and pairs of one's own as files; those that the datasets library reads are written into the cache first."""

        def file(place: str, kind: str) -> Path:
            return hf.written(place, kind, cache_folder()) if place.startswith("hf:") else Path(place).expanduser().absolute()

        text = None if self.options.text is None else file(self.options.text, "text")
        return text, [(name, file(place, "pairs")) for name, place in self.options.pairs]

    def varied(self, study: Study, edition: Edition) -> Study:
        """The study under the user's --set, with a name of its own; says which rows it leaves as they are."""
        runs = {cell.labels: edition.config(study, cell, 0) for cell in study.cells if edition.unavailable(study, cell) is None}
        if not runs:
            raise UserError(f"No cell of {study.name} can be run at scale {edition.scale.name}, so there is nothing to vary.")
        varied = study.with_settings(self.options.settings, runs)
        for line in varied.footnotes[len(study.footnotes) :]:
            print(line)
        return varied

    def fields(self) -> int:
        """Print what --set can change."""
        print("\n".join([fields.HEAD, *(line for one in fields.fields(self.options.fields or None) for line in one.lines())]))
        return 0

    def plan(self, plan: Plan, scale: Scale) -> int:
        """Print what would be trained and what it would cost."""
        resources = devices.resources(scale.name, self.options.device, self.options.jobs)
        known = history(self.store, resources.device, resources.threads)
        seconds = [known.seconds(run.config) for run in plan.missing]
        left = max(max(seconds, default=0.0), sum(seconds) / min(resources.jobs, max(1, len(plan.missing))))
        rests_on = f"from {known.runs} finished ones on this machine" if known.runs else "a rough guess before the first run"
        print(
            f"{counted(plan.entries, 'cell')} x seeds, {counted(len(plan.runs), 'distinct run')}, {plan.entries - len(plan.runs)} shared."
        )
        print(f"{len(plan.runs) - len(plan.missing)} done, {len(plan.missing)} missing.")
        print(f"About {pace.spoken(left)} with {resources.jobs} at once on {resources.device} ({rests_on}).")
        return 0

    def status(self, plan: Plan) -> int:
        """Print what is done, running, failed and missing, with the causes of failures."""
        missing = [run.run_id for run in plan.missing]
        running = [r for r in missing if self.store.claimed(r)]
        failed = {r: failure for r in missing if r not in running and (failure := self.store.failure(r)) is not None}
        print(
            f"{counted(len(plan.runs), 'run')}: {len(plan.runs) - len(missing)} done, {len(running)} running, {len(failed)} failed, "
            f"{len(missing) - len(running) - len(failed)} missing."
        )
        if begun := sum(self.store.checkpoint(r).exists() for r in missing if r not in running):
            print(f"{begun} of those that are not running go on from a checkpoint.")
        labels = {run.run_id: run.label for run in plan.runs}
        for identity in running:
            print(f"running {identity} {labels[identity]}")
        for identity, failure in failed.items():
            console.say(f"failed  {identity} {labels[identity]}: {failure.cause}{': ' + failure.detail if failure.detail else ''}")
        return 0

    def publishing(self) -> Publishing:
        """What publishes, and draws what is published."""
        return Publishing(self.options, self.store, self.around.home, self.around.studies)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
