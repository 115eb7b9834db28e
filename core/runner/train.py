"""Training what is missing: in order, on this machine or on a cluster, going on after failures and stopping
in order."""

from __future__ import annotations

import contextlib
import importlib
import os
import shlex
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.data import encoders, hub
from core.data import sources as finding
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import expectation
from core.runner.launch import POLL, Ending, Launcher, Order, Stop
from core.runner.plan import Plan, PlannedRun
from core.runner.progress import Display, Outcome, display
from core.spec.errors import UserError, are, counted, say
from core.spec.run import Execution
from core.spec.scale import SCALES, Scale
from core.spec.setup import check_length, check_precision
from core.store.store import Failure, Store

CHECKPOINT_MINUTES = {"mini": 10.0, "paper": 10.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What became of every run that was to be trained."""

    outcomes: tuple[Outcome, ...]
    stopped_by: int | None = None  # the signal that ended the command early
    begun: int = 0  # runs without a result that left a checkpoint
    older: int = 0  # runs that failed or were stopped, of which an older result is stored
    lost: str = ""  # why the command could not go on, in a sentence

    def of(self, state: str) -> tuple[Outcome, ...]:
        """The outcomes of one kind."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == state)

    @property
    def exit_status(self) -> int:
        """0 if every run is stored, 1 if a run failed or the cluster was lost, 128 + signal if stopped."""
        if self.stopped_by is not None:
            return 128 + self.stopped_by
        return 1 if self.of("failed") or self.lost else 0

    def lines(self, again: str) -> list[str]:
        """What to print at the end; `again` is the command that trains what is still missing."""
        stopped, failed, found = (len(self.of(state)) for state in ("stopped", "failed", "found"))
        lines = [f"Trained {len(self.of('done'))} of {counted(len(self.outcomes), 'run')}."]
        lines[0] += f" {found} were trained by another command meanwhile." if found else ""
        for outcome in self.of("failed"):
            failure = outcome.failure or Failure(cause="unknown")
            why = ". ".join(filter(None, (failure.cause, failure.detail)))
            lines += ["", f"FAILED {outcome.run.run_id}: {why}"]
            lines += [f"  cells: {'; '.join(outcome.run.cells)}; seed {outcome.run.seed}"]
            lines += [f"  | {line}" for line in failure.log_tail]
            lines += [f"  log: {failure.log}"] if failure.log else []
        if self.older:
            lines += ["", f"Of {counted(self.older, 'run')} an older result is stored, which tables show."]
        begun = f", {self.begun} of them from a checkpoint" if self.begun else ""
        if self.stopped_by is not None:
            name = signal.Signals(self.stopped_by).name
            lines += ["", f"Stopped by {name}; {are(stopped, 'run')} still to be trained{begun}. Go on with:"]
        elif self.lost:
            lines += ["", f"{self.lost} {are(stopped, 'run')} open{begun}. Go on with:"]
        elif failed:
            kept = "finished ones are kept. To train just those again"
            lines += ["", f"{counted(failed, 'run')} failed; {kept}{begun}:"]
        return [*lines, f"  {again}"] if self.exit_status else lines


class Training:
    """How one command trains. Children of a process that has loaded `warm` run `job`; `argv` is the command
    to type again. Used as a context, it lets the warm process go at the end."""

    def __init__(
        self, options: Options, argv: Sequence[str], store: Store, results: Path, published: Path, job: str,
        warm: Sequence[str],
    ):  # fmt: skip
        self.options, self.argv = options, list(argv)
        self.store, self.results, self.published = store, results, published
        self.job, self.warm = job, tuple(warm)
        self._scheduler: Any = None  # a Launcher, or a Cluster

    def train(self, plan: Plan, scale: Scale, found: finding.Found) -> int:
        """Train what is missing; the exit status. The warm process stays for the next plan, until `close`."""
        done = len(plan.runs) - len(plan.missing)
        shared = f", {plan.entries - len(plan.runs)} shared" if plan.entries > len(plan.runs) else ""
        runs = f"{counted(len(plan.runs), 'run')}{shared}"
        print(f"{runs}: {done} done, {len(plan.missing)} to train.", flush=True)
        if not plan.missing:
            return 0
        hub.fetch_text_models(cache_folder(), (planned.config for planned in plan.missing))
        self.check(plan, found)
        self.store.prepare(models=self.options.keep_models)
        if self.options.keep_models:
            weights = (found.places.encoder or encoders.DEMO_ENCODER) / "model.safetensors"
            size = weights.stat().st_size / 1e6
            print(f"Models go to {self.results / 'models'}, about {size:.0f} MB a run.", flush=True)
        self.store.sweep_checkpoints()
        seconds, stop = expectation(self.options, scale, found, self.store, cache_folder()).seconds, Stop()
        with stopping(stop, self.grace(scale)):
            scheduler = self._scheduler = self._scheduler or self.scheduler(scale, found)
            with display(plan.missing, seconds, scheduler.jobs) as shown:
                outcomes = self.settle(plan.missing, scheduler, stop, shown)
        left = [outcome.run for outcome in outcomes if outcome.state in ("stopped", "failed")]
        older = sum(self.store.has(run.run_id) for run in left)
        summary = Summary(
            outcomes=outcomes, stopped_by=stop.signal, lost=scheduler.lost, older=older,
            begun=sum(self.store.checkpoint(run.run_id).exists() for run in left),
        )  # fmt: skip
        say(*summary.lines(shlex.join(["python", "run_study.py", *self.again(left, older)])))
        return summary.exit_status

    def again(self, left: Sequence[PlannedRun], older: int) -> list[str]:
        """The words of the command that trains the runs that are left: without --force, which would train
        finished runs again, but with it and the cells' names where an older result of a run is stored."""
        if not older:
            return [word for word in self.argv if word != "--force"]
        labels = dict.fromkeys(run.cells[0].partition(" ")[2] for run in left)
        few = not self.options.cells and len(labels) <= 8
        return [*self.argv, *(word for label in labels if few for word in ("--cell", label))]

    def settle(
        self, runs: Sequence[PlannedRun], scheduler: Any, stop: Stop, shown: Display
    ) -> tuple[Outcome, ...]:
        """Train these runs. Runs that another command holds are waited for, and trained if it leaves
        nothing."""
        by_id, settled = {run.run_id: run for run in runs}, {}
        left, force, waiting = list(runs), self.options.force, False
        while left and not stop.asked and not scheduler.lost:
            free = [run for run in left if not waiting or not self.store.claimed(run.run_id)]
            for ending in scheduler.train(free, stop, shown.hear, force) if free else ():
                outcome = self.outcome(by_id[ending.run], ending)
                shown.ended(outcome)
                if outcome.state != "elsewhere":
                    settled[ending.run] = outcome
            left = [run for run in left if run.run_id not in settled]
            if left and not waiting and not stop.asked and not scheduler.lost:
                shown.note(f"{are(len(left), 'run')} being trained by another command; waiting for it.")
            waiting, force = True, False
            time.sleep(POLL if left else 0.0)
        for run in left:  # a cluster that is lost cannot say of what it has stored
            stored = not self.options.force and self.store.has(run.run_id)
            settled[run.run_id] = Outcome(run, "found" if stored else "stopped")
        return tuple(settled[run.run_id] for run in runs)

    def outcome(self, run: PlannedRun, ending: Ending) -> Outcome:
        """The ending of a run with its score: its test average, or its status."""
        if ending.state != "done":
            return Outcome(run, *ending[1:])
        try:
            stored = self.store.load(run.run_id)
        except UserError as error:
            return Outcome(run, "failed", ending.seconds, Failure(cause="not stored", detail=str(error)))
        wanted = "selected", "avg", f"spearman_{run.config.sts.aggregate}"
        rows = stored.rows.itertuples()
        scores = [row.value for row in rows if (row.checkpoint, row.task, row.metric) == wanted]
        words = [f"{score:.2f}" for score in scores[:1]]
        words += [stored.status] if stored.status != "ok" or not words else []
        return Outcome(run, "done", ending.seconds, score=" ".join(words))

    def scheduler(self, scale: Scale, found: finding.Found) -> Any:
        """What trains: this machine, or the workers of a cluster."""
        order = Order(
            execution=self.execution(found, scale), published=str(self.published), job=self.job,
            warm=self.warm, command=shlex.join(["run_study.py", *self.argv]),
            time_limit=self.options.time_limit, provenance=found.provenance(),
            use_published=self.options.use_published,
        )  # fmt: skip
        device, jobs = self.options.device, self.options.jobs
        if self.options.cluster:  # nothing else needs dask
            cluster = importlib.import_module("core.runner.cluster").Cluster
            return cluster(self.options.cluster, order, scale.name, device, jobs)
        return Launcher(order, devices.resources(scale.name, device, jobs))

    def close(self) -> None:
        """Let the warm process go."""
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None

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
        folder = (
            encoders.DEMO_ENCODER if SCALES[scale].generated else found.places.encoder
        )  # None: not fetched
        places = encoders.positions(folder) if folder is not None else None
        for config in (planned.config for planned in plan.missing):
            check_precision(config, "cuda" if gpus else "cpu")
            if places is not None:
                check_length(config, places, "cuda" if gpus else "cpu")

    def execution(self, found: finding.Found, scale: Scale) -> Execution:
        """Where and with what runs are executed; none of it is part of their identity. Who launches them
        fills in device and threads."""
        places, sources = found.places, found.sources
        return Execution(
            results_dir=str(self.results), cache_dir=str(cache_folder()),
            corpus_path=_text(places.corpus), corpus_name=sources.corpus_name,
            evaluation_path=_text(places.evaluation), evaluation_name=sources.evaluation_name,
            encoder_path=_text(places.encoder), encoder_name=sources.encoder_name,
            tensorboard=_text(self.options.tensorboard),
            keep_models=self.options.keep_models, checkpoint_minutes=self.checkpoint_minutes(scale),
            pairs=tuple((name, str(path)) for name, path in places.pairs),
            other_encoders=tuple(
                (one.digest, str(folder), one.name)
                for one, (_, folder, _) in zip(sources.others, places.others, strict=True)
            ),
        )  # fmt: skip

    def checkpoint_minutes(self, scale: Scale) -> float | None:
        """Minutes between two checkpoints of a run, or None: a run of a made-up language takes less than what
        a checkpoint saves."""
        chosen = self.options.checkpoint_minutes
        return (CHECKPOINT_MINUTES.get(scale.name) if chosen is None else chosen) or None

    def grace(self, scale: Scale) -> float:
        """Seconds that running trainings are given after a stop; with checkpoints enough to write
        gigabytes."""
        usual = 60.0 if self.checkpoint_minutes(scale) else 0.0
        return usual if self.options.grace is None else self.options.grace


@contextlib.contextmanager
def stopping(stop: Stop, grace: float) -> Iterator[None]:
    """Within this context Ctrl-C, SIGTERM and SIGHUP (a closed terminal) ask to stop instead of breaking off;
    a second signal leaves no grace. A signal that was ignored when the command began stays ignored."""
    numbers = [
        number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]  # fmt: skip
    if threading.current_thread() is not threading.main_thread():
        numbers = []

    def ask(number: int, _frame) -> None:
        stop.ask(number, grace)
        with contextlib.suppress(OSError):  # a full disk must not break off what the signal interrupts
            os.write(2, b"Stopping; what is finished is kept.\n")  # print() may be in the middle of itself

    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
