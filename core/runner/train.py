"""Training what is missing: on this machine's slots, or on the workers of a cluster."""

from __future__ import annotations

import importlib
import os
import shlex
import uuid
from collections.abc import Sequence
from pathlib import Path

from core.data import encoders, hub
from core.data import sources as finding
from core.runner import devices, pace, schedule
from core.runner.cli import Options
from core.runner.estimate import expectation
from core.runner.launch import Launcher
from core.runner.plan import Plan
from core.runner.progress import Display, display
from core.spec.conditions import check_length, check_precision
from core.spec.errors import UserError, counted, say
from core.spec.run import Execution
from core.spec.scale import SCALES, Scale
from core.store.store import Store

CHECKPOINT_MINUTES = {"mini": 10.0, "paper": 10.0}
MOST_IN_LINE = 512  # runs that wait for a place in a cluster, each in a thread


class Training:
    """How one command trains. Children of a process that has loaded `warm` run `job`; `argv` is the command to type again."""

    def __init__(self, options: Options, argv: Sequence[str], store: Store, results: Path, published: Path, job: str, warm: Sequence[str]):
        self.options, self.argv = options, list(argv)
        self.store, self.results, self.published = store, results, published
        self.job, self.warm = job, tuple(warm)
        self._kept: Launcher | None = None

    def train(self, plan: Plan, scale: Scale, found: finding.Found, keep: bool = False) -> int:
        """Train what is missing; the exit status. With `keep` this machine's warm process stays for the next batch, until `close`."""
        done = len(plan.runs) - len(plan.missing)
        shared = f", {plan.entries - len(plan.runs)} shared" if plan.entries > len(plan.runs) else ""
        print(f"{counted(len(plan.runs), 'run')}{shared}: {done} done, {len(plan.missing)} to train.", flush=True)
        if not plan.missing:
            return 0
        hub.fetch_text_models(cache_folder(), (planned.config for planned in plan.missing))
        self.check(plan, found)
        self.store.prepare(models=self.options.keep_models)
        if self.options.keep_models:
            weights = (found.places.encoder or encoders.DEMO_ENCODER) / "model.safetensors"
            print(f"Models go to {self.results / 'models'}, about {weights.stat().st_size / 1e6:.0f} MB a run.", flush=True)
        self.store.sweep_checkpoints()
        expected = expectation(self.options, scale, found, self.store, cache_folder()).seconds
        total = sum(expected(planned.config) for planned in plan.missing)
        with display(pace.Pace(len(plan.missing), total, 1, expected)) as shown:
            launcher: Launcher | schedule.Cluster
            launcher, jobs = self.cluster(scale, found, shown) if self.options.cluster else self.launcher(scale, found, shown)
            try:
                summary = schedule.train(plan.missing, launcher, shown, jobs, schedule.on_threads, self.grace(scale))
            finally:
                self._kept = launcher if keep and isinstance(launcher, Launcher) else None
                if self._kept is None:
                    launcher.close()
        again = [word for word in self.argv if word != "--force"]  # finished runs need not be trained a third time
        say(*summary.lines(shlex.join(["python", "run_study.py", *again])))
        return summary.exit_status

    def close(self) -> None:
        """Let the warm process go that `keep` has kept."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def refusal(self, plan: Plan, found: finding.Found) -> str:
        """Why training here would be refused, in a sentence; empty if it would not."""
        try:
            self.check(plan, found)
        except UserError as error:
            return str(error)
        return ""

    def check(self, plan: Plan, found: finding.Found) -> None:
        """Refuse, before any training, settings that every run would refuse. Raises UserError."""
        if not plan.missing:
            return
        scale = plan.missing[0].config.scale
        elsewhere = self.options.cluster or self.options.gpus
        local = None if elsewhere else devices.resources(scale, self.options.device, self.options.jobs)
        gpus = local.device == "cuda" if local is not None else self.options.device != "cpu"
        folder = encoders.DEMO_ENCODER if SCALES[scale].generated else found.places.encoder  # None: it is still to be fetched
        places = encoders.positions(folder) if folder is not None else None
        for config in (planned.config for planned in plan.missing):
            check_precision(config, "cuda" if gpus else "cpu")
            if places is not None:
                check_length(config, places, "cuda" if gpus else "cpu")

    def launcher(self, scale: Scale, found: finding.Found, shown: Display) -> tuple[Launcher, int]:
        """What starts runs on this machine, and how many go at once."""
        resources = devices.resources(scale.name, self.options.device, self.options.jobs)
        shown.pace.jobs = resources.jobs
        if self._kept is not None:
            self._kept.again(shown)
            return self._kept, resources.jobs
        launcher = Launcher(
            store=self.store, execution=self.execution(resources.device, resources.threads, found, scale),
            slots=devices.Slots(resources, shlex.join(["run_study.py", *self.argv])), display=shown, job=self.job, warm=self.warm,
            time_limit=self.options.time_limit, provenance=found.provenance(), use_published=self.options.use_published,
            force=self.options.force,
        )  # fmt: skip
        return launcher, resources.jobs

    def cluster(self, scale: Scale, found: finding.Found, shown: Display) -> tuple[schedule.Cluster, int]:
        """What starts runs on the workers of a scheduler, and how many may wait for a place there at once."""
        clusters = importlib.import_module("core.runner.cluster.driver")  # nothing else needs dask
        address, device = self.options.cluster, self.options.device
        if device == "auto":
            device = clusters.device_of(address)
            shown.note(f"Runs go to the workers' {'GPUs' if device == 'cuda' else 'CPUs'}; choose with --device.")
        errand = clusters.Errand(
            key=uuid.uuid4().hex, scale=scale.name, device=device, jobs=self.options.jobs,
            execution=self.execution(device, 1, found, scale), published=self.published, job=self.job, warm=self.warm,
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
            device=device, threads=threads, keep_models=self.options.keep_models, checkpoint_minutes=self.checkpoint_minutes(scale),
            pairs=tuple((name, str(path)) for name, path in places.pairs),
            other_encoders=tuple(
                (one.digest, str(folder), one.name) for one, (_, folder, _) in zip(sources.others, places.others, strict=True)
            ),
        )  # fmt: skip

    def checkpoint_minutes(self, scale: Scale) -> float | None:
        """Minutes between two checkpoints of a run, or None: a run of a made-up language takes less than what a checkpoint saves."""
        chosen = self.options.checkpoint_minutes
        return (CHECKPOINT_MINUTES.get(scale.name) if chosen is None else chosen) or None

    def grace(self, scale: Scale) -> float:
        """Seconds that running trainings are given after a stop; with checkpoints enough to write gigabytes."""
        return self.options.grace if self.options.grace is not None else 60.0 if self.checkpoint_minutes(scale) else 0.0


def cache_folder() -> Path:
    """The folder for downloads and other files that can be made again. Raises UserError if the user has no home folder."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # a relative one is to be ignored, says the specification of these folders
        return Path(named) / "run_study"
    try:
        return Path.home() / ".cache" / "run_study"
    except RuntimeError as error:
        raise UserError("There is no home folder to keep downloads in; set HOME, or XDG_CACHE_HOME to an absolute folder.") from error


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
