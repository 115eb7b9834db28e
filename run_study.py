"""Reproduce a paper's ablation: plan, train what is missing, render. `python run_study.py --help` says what there is."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.runner import checkpoints, cli, devices, fetch, files, pace, plan as planning, run, sources as finding
from core.runner.cli import Options
from core.runner.history import history
from core.runner.launch import Launcher
from core.runner.plan import Plan
from core.runner.progress import Display, display
from core.runner.store import Store
from core.spec.base import PROFILES
from core.spec.errors import UserError
from core.spec.execution import Execution
from core.spec.identity import run_id
from core.spec.scale import SCALES, Scale
from core.spec.study import Study

CHECKPOINT_MINUTES = {"mini": 10.0, "paper": 10.0}
MOST_IN_LINE = 512  # runs that wait for a place in a cluster, each in a thread
HOME = Path(__file__).resolve().parent
# Imported before the first fork, since transformers loads its parts only when they are used.
WARM = (
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert", "transformers.models.roberta.modeling_roberta", "pyarrow.parquet",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the command works with; tests put in studies and jobs of their own."""

    studies: Sequence[Study]
    find: Callable[[str], Study]
    job: str = "core.engine.job:run"
    warm: tuple[str, ...] = WARM
    home: Path = HOME


def main(argv: list[str], surroundings: Surroundings | None = None) -> int:
    """Do what the command line asks; the exit status: 0 done, 1 a run failed, 2 bad usage, 128 + signal if stopped."""
    try:
        if argv[:1] == ["evaluate"]:
            return importlib.import_module("core.engine.evaluate_command").main(argv[1:]) or 0
        options = cli.parse(argv)
        return Command(options, argv, surroundings or _shipped()).do()
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read our output has had enough
        return 141
    except OSError as error:
        print(files.trouble(Path(error.filename or "The output"), error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped before any training; the same command starts again.", file=sys.stderr)
        return 130


def _shipped() -> Surroundings:
    studies = importlib.import_module("studies")
    return Surroundings(studies=studies.STUDIES, find=studies.find)


class Command:
    """One command: its options, and the store, scale and studies that they amount to."""

    def __init__(self, options: Options, argv: list[str], surroundings: Surroundings):
        self.options = options
        self.argv = argv
        self.around = surroundings
        self.results = options.results_dir or surroundings.home / "results"
        self.tables = self.results  # where tables are drawn to: elsewhere if these may only be read
        self.figures = (options.results_dir or surroundings.home) / "figures"
        self.published = surroundings.home / "results" / "published"
        self.store = Store(self.results, self.published)
        self.profile = options.profile or PROFILES[0]

    def do(self) -> int:
        """Do it; the exit status."""
        if self.options.mode == "list":
            return self.list()
        chosen = self.around.studies if self.options.all else [self.around.find(name) for name in self.options.studies]
        studies = list({study.name: study for study in chosen}.values())
        if self.options.mode == "render" and self.options.all and self.options.scale is None:
            return self.redraw(studies)
        scale = self.scale()
        seeds = self.options.seeds or scale.seeds
        found = self.sources(scale, studies)
        if self.options.settings:
            studies = [self.varied(study, scale, found) for study in studies]
        plan = planning.plan(
            studies, profile=self.profile, scale=scale, sources=found.sources, seeds=seeds, store=self.store,
            use_published=self.options.use_published, force=self.options.force,
        )  # fmt: skip
        match self.options.mode:
            case "plan":
                return self.plan(plan, scale)
            case "status":
                return self.status(plan)
            case "render":
                return self.draw(studies, scale, found, seeds)
        status = self.train(plan, scale, found)
        if status > 128:
            return status  # stopped: the user wants out, and what is stored can be drawn later
        if self.options.publish:
            self.publish(plan)
        self.draw(studies, scale, found, seeds)
        return status

    def draw(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int) -> int:
        """Draw studies, and with --all the page over them, beside the other profile where that is begun; the exit status."""
        sections = self.render(studies, scale, found, seeds)
        if self.options.all:
            other = next(name for name in PROFILES if name != self.profile)
            self.pages(sections, self.gathered(studies, scale, found, seeds, other))
        return 0

    def gathered(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int, profile: str) -> list:
        """The sections of a profile that is only shown beside another: nothing is drawn."""
        report = importlib.import_module("core.report.render")
        begun = [study for study in studies if self.begun(study, profile, scale, found, seeds)]
        return report.gathered(begun, profile, scale, found.sources, seeds, self.store)

    def scale(self) -> Scale:
        """The scale that was asked for or that fits the machine, said in the first line."""
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
            if options.data_dir or options.encoder or options.other_encoders:
                raise UserError("Scale demo has its own text and encoder; leave out --data-dir and --encoder, or add --scale mini.")
            return finding.demo_sources()
        places = finding.local_places(options.data_dir, options.encoder, options.other_encoders)
        if options.mode in ("render", "status") and not (options.data_dir and options.encoder):
            recorded = finding.recorded_sources(scale, self.store)  # what is drawn needs no data, only to know which it was
            if recorded is None:
                raise UserError(f"No run of scale {scale.name} is stored here; train some, or give --data-dir and --encoder.")
            return recorded
        used = {cell.encoder for study in studies for cell in study.cells if not cell.copied} - {"bert-base"}
        others = sorted(used) if scale.name == "paper" and not options.encoder else []  # one's own encoder has no relatives on the hub
        return finding.local_sources(fetch.prefetch(scale.name, cache_folder(), places, others), cache_folder())

    def varied(self, study: Study, scale: Scale, found: finding.Found) -> Study:
        """The study under the user's --set, with a name of its own."""
        sample = study.config(study.cells[0], profile=self.profile, scale=scale, sources=found.sources, seed=0)
        return study.with_settings(self.options.settings, sample)

    def list(self) -> int:
        """Print every study."""
        for study in self.around.studies:
            print(f"{study.name:20} {study.paper}, {study.title}: {study.caption} ({len(study.cells)} cells)")
        return 0

    def plan(self, plan: Plan, scale: Scale) -> int:
        """Print what would be trained and what it would cost."""
        resources = devices.resources(scale.name, self.options.device, self.options.jobs)
        known = history(self.store, resources.device, resources.threads)
        seconds = [known.seconds(run.config) for run in plan.missing]
        left = max(max(seconds, default=0.0), sum(seconds) / min(resources.jobs, max(1, len(plan.missing))))
        rests_on = f"from {known.runs} finished ones on this machine" if known.runs else "a rough guess before the first run"
        print(f"{plan.entries} cells x seeds, {len(plan.runs)} distinct runs, {plan.entries - len(plan.runs)} shared.")
        print(f"{len(plan.runs) - len(plan.missing)} done, {len(plan.missing)} missing.")
        print(f"About {pace.spoken(left)} with {resources.jobs} at once on {resources.device} ({rests_on}).")
        return 0

    def status(self, plan: Plan) -> int:
        """Print what is done, running, failed and missing, with the causes of failures."""
        missing = [run.run_id for run in plan.missing]
        running = [r for r in missing if self.store.claimed(r)]
        failed = {r: failure for r in missing if r not in running and (failure := self.store.failure(r)) is not None}
        print(
            f"{len(plan.runs)} runs: {len(plan.runs) - len(missing)} done, {len(running)} running, {len(failed)} failed, "
            f"{len(missing) - len(running) - len(failed)} missing."
        )
        if begun := sum(self.store.checkpoint(r).exists() for r in missing if r not in running):
            print(f"{begun} of those that are not running go on from a checkpoint.")
        labels = {run.run_id: run.label for run in plan.runs}
        for identity in running:
            print(f"running {identity} {labels[identity]}")
        for identity, failure in failed.items():
            print(f"failed  {identity} {labels[identity]}: {failure.cause}{': ' + failure.detail if failure.detail else ''}")
        return 0

    def train(self, plan: Plan, scale: Scale, found: finding.Found) -> int:
        """Train what is missing; the exit status."""
        done = len(plan.runs) - len(plan.missing)
        shared = f", {plan.entries - len(plan.runs)} shared" if plan.entries > len(plan.runs) else ""
        print(f"{len(plan.runs)} runs{shared}: {done} done, {len(plan.missing)} to train.", flush=True)
        if not plan.missing:
            return 0
        fetch.prefetch_text_models(scale.name, cache_folder(), (planned.config for planned in plan.missing))
        self.check(plan, found)
        self.store.prepare()
        self.store.sweep_checkpoints()
        with display(pace.Pace(len(plan.missing), plan.cost, 1)) as shown:
            launcher, jobs = self.cluster(scale, found, shown) if self.options.cluster else self.launcher(scale, found, shown)
            try:
                summary = run.train(plan.missing, launcher, shown, jobs, run.on_threads, self.grace(scale))
            finally:
                launcher.close()
        again = [word for word in self.argv if word != "--force"]  # finished runs need not be trained a third time
        print("\n".join(summary.lines(shlex.join(["python", "run_study.py", *again]))), flush=True)
        return summary.exit_status

    def check(self, plan: Plan, found: finding.Found) -> None:
        """Refuse before any training what every run would refuse. Raises UserError."""
        gpus = self.options.cluster or (self.options.device != "cpu" and devices.visible_gpus())
        places = checkpoints.positions(found.places.encoder or finding.DEMO_ENCODER)
        for config in (planned.config for planned in plan.missing):
            if not gpus and config.train.precision in ("fp16", "tf32"):
                raise UserError(
                    f"train.precision={config.train.precision} needs a GPU; use --set train.precision=fp32 or bf16 on a CPU."
                )
            if places is not None and config.data.max_length > places:
                raise UserError(f"data.max_length is {config.data.max_length} but the encoder has only {places} positions; lower it.")

    def launcher(self, scale: Scale, found: finding.Found, shown: Display) -> tuple[Launcher, int]:
        """What starts runs on this machine, and how many go at once."""
        resources = devices.resources(scale.name, self.options.device, self.options.jobs)
        shown.pace.jobs = resources.jobs
        launcher = Launcher(
            store=self.store, execution=self.execution(resources.device, resources.threads, found, scale),
            slots=devices.Slots(resources), display=shown, job=self.around.job, warm=self.around.warm,
            time_limit=self.options.time_limit, provenance=found.provenance(), use_published=self.options.use_published,
            force=self.options.force,
        )  # fmt: skip
        return launcher, resources.jobs

    def cluster(self, scale: Scale, found: finding.Found, shown: Display) -> tuple[object, int]:
        """What starts runs on the workers of a scheduler, and how many may wait for a place there at once."""
        clusters = importlib.import_module("core.runner.cluster")  # nothing else needs dask
        address, device = self.options.cluster, self.options.device
        if device == "auto":
            device = clusters.device_of(address)
            shown.note(f"Runs go to the workers' {'GPUs' if device == 'cuda' else 'CPUs'}; choose with --device.")
        errand = clusters.Errand(
            key=uuid.uuid4().hex, scale=scale.name, device=device, jobs=self.options.jobs,
            execution=self.execution(device, 1, found, scale), published=self.published, job=self.around.job, warm=self.around.warm,
            time_limit=self.options.time_limit, provenance=found.provenance(), use_published=self.options.use_published,
            force=self.options.force,
        )  # fmt: skip
        cluster = clusters.Cluster(address, errand, self.store, shown)
        return cluster, MOST_IN_LINE

    def execution(self, device: str, threads: int, found: finding.Found, scale: Scale) -> Execution:
        """Where and with what a run is executed; none of it is part of its identity."""
        places, sources = found.places, found.sources
        return Execution(
            results_dir=str(self.results), cache_dir=str(cache_folder()),
            corpus_path=_text(places.corpus), evaluation_path=_text(places.evaluation), encoder_path=_text(places.encoder),
            corpus_name=sources.corpus_name, evaluation_name=sources.evaluation_name, encoder_name=sources.encoder_name,
            device=device, threads=threads, checkpoint_minutes=self.checkpoint_minutes(scale),
            other_encoders=tuple(
                (one.digest, str(folder), one.name) for one, (_, folder, _) in zip(sources.others, places.others)
            ),
        )  # fmt: skip

    def checkpoint_minutes(self, scale: Scale) -> float | None:
        """Minutes between two checkpoints of a run, or None: a run of scale demo takes less than what a checkpoint saves."""
        chosen = self.options.checkpoint_minutes
        return (CHECKPOINT_MINUTES.get(scale.name) if chosen is None else chosen) or None

    def grace(self, scale: Scale) -> float:
        """Seconds that running trainings are given after a stop; with checkpoints enough to write gigabytes."""
        return self.options.grace if self.options.grace is not None else 60.0 if self.checkpoint_minutes(scale) else 0.0

    def publish(self, plan: Plan) -> None:
        """Copy one's own finished runs into the published folder."""
        own = [run.run_id for run in plan.runs if self.store.has(run.run_id)]
        for identity in own:
            self.store.publish(identity, self.published)
        print(f"Published {len(own)} runs to {self.published / 'runs'}.")

    def redraw(self, studies: list[Study]) -> int:
        """Draw every study of every scale and profile of which a whole seed is stored; the exit status."""
        print("Every scale and profile with stored runs, since --all names none; choose with --scale and --profile.")
        for scale in SCALES.values():
            found = finding.demo_sources() if scale.name == "demo" else finding.recorded_sources(scale, self.store)
            if found is None:
                continue
            self.redraw_scale(studies, scale, found)
        return 0

    def redraw_scale(self, studies: list[Study], scale: Scale, found: finding.Found) -> None:
        """Draw every study of a scale of which a whole seed is stored, under each profile, and the pages over them."""
        seeds = self.options.seeds or scale.seeds
        drawn = {}
        for profile in PROFILES if self.options.profile is None else (self.options.profile,):
            begun = [study for study in studies if self.begun(study, profile, scale, found, seeds)]
            drawn[profile] = self.render(begun, scale, found, seeds, profile) if begun else []
        for profile, sections in drawn.items():
            others = next((other for name, other in drawn.items() if name != profile), [])
            self.pages(sections, others)

    def pages(self, sections: list, others: list) -> None:
        """Write the page over these studies."""
        for line in importlib.import_module("core.report.render").render_page(sections, others, self.results):
            print(line)

    def begun(self, study: Study, profile: str, scale: Scale, found: finding.Found, seeds: int) -> bool:
        """Whether at least one seed of the study is stored in every cell, of one's own or published; a run that another study
        happens to share does not make a table."""
        def stored(seed: int) -> bool:
            here = study.at(scale)
            cells = [cell for cell in here.cells if here.unavailable(cell, scale, found.sources) is None]
            configs = (here.config(cell, profile=profile, scale=scale, sources=found.sources, seed=seed) for cell in cells)
            return bool(cells) and all(self.store.has(run_id(config), use_published=True) for config in configs)

        return any(stored(seed) for seed in range(seeds))

    def render(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int, profile: str | None = None) -> list:
        """Draw tables and figures from what is stored; the page's sections."""
        report = importlib.import_module("core.report.render")  # matplotlib takes its time, and planning needs none

        def drawn() -> object:
            return report.render(studies, profile or self.profile, scale, found.sources, seeds, self.store, self.tables, self.figures)

        try:
            summary = drawn()
        except OSError as error:
            place = Path(error.filename or self.tables)
            if error.errno not in files.FORBIDDEN or self.tables != self.results:
                raise UserError(files.trouble(place, error)) from error
            self.tables, self.figures = Path.cwd() / "redrawn" / "results", Path.cwd() / "redrawn" / "figures"
            print(f"{place} may not be written, so tables and figures go to {Path.cwd() / 'redrawn'}.")
            try:
                summary = drawn()
            except OSError as again:
                raise UserError(files.trouble(self.tables, again)) from again
        print("\n".join(summary.lines))
        if summary.missing:
            print(f"{summary.missing} runs are missing; their cells are left open.")
        if summary.published:
            print(f"{summary.published} runs come from the project's published results, not from this machine.")
        return summary.sections


def cache_folder() -> Path:
    """Where downloads and other things that can be made again are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "run_study"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
