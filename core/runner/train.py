"""Training the missing runs of a command: runs that fail stop no other run, and signals end the
command in order."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.config.section import frozen
from core.data import hub
from core.data.sources import provenance
from core.errors import UserError
from core.formatting import are, counted, say
from core.runner import devices
from core.runner.devices import MEND_GPU, NO_GPU, Resources, cache_folder
from core.runner.inputs import Context
from core.runner.launch import STOP_POLL, Ending, Launcher, State, Stop, diagnosis, tail
from core.runner.options import INSTALLED, program
from core.runner.orders import Outputs, Workers
from core.runner.plan import Plan, PlannedRun
from core.runner.progress import Answers, Display
from core.runner.worker import RunOrder, use_gpu
from core.store import files
from core.store.store import Store
from core.study.catalogue import Catalogue
from core.training.execution import Execution

GPU_PATIENCE = 120.0  # seconds that a GPU has to answer
CHECKPOINT_MINUTES = 10.0  # a run of scale demo takes less than a checkpoint saves
# Imported before the first fork: transformers loads its parts only when they are used.
WARM = (
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.roberta.modeling_roberta",
    "pyarrow.parquet",
)


@frozen
class Surroundings:
    """Where a command works. `home` has the published results, and `own` gets the user's `results`
    and `figures`. Children of a process that has loaded the modules `warm` call the function
    `job`."""

    catalogue: Catalogue
    home: Path
    own: Path
    job: str = "core.training.job:run"
    warm: tuple[str, ...] = WARM

    def store(self, results_dir: Path | None) -> Store:
        """The runs of the user's folder of results, and the published runs. Makes no folder. Raises
        UserError."""
        results = Path(os.path.abspath(results_dir or self.own / "results"))
        published = self.home / "results" / "published"
        files.check_results_dir(results, published)
        return Store(results, published)


@dataclass
class RunTrainer:
    """How one command trains the runs of its context. `again` are the words of a command that goes
    on, and `answers` follow each stored run."""

    context: Context
    around: Surroundings
    again: Sequence[str]
    outputs: Outputs
    answers: Answers = field(default_factory=Answers)
    force: bool = False

    @property
    def store(self) -> Store:
        """The store of the runs."""
        return self.context.store

    @functools.cached_property
    def here(self) -> Resources:
        """The GPUs, cores and slots of this machine for the command. Raises UserError."""
        return self.context.machine.resources(self.context.setup.scale.name)

    @functools.cached_property
    def launcher(self) -> Launcher:
        """Trains on this machine; its warm process starts with the first call and stays until
        `close`. Prints that the process starts."""
        say("Starting the training process; the first time this takes up to a minute.")
        shared = devices.MPS_RUNS.get(self.context.setup.scale.name)
        if self.here.gpus and shared and not devices.mps_daemon():
            say(f"With `nvidia-cuda-mps-control -d` up to {shared} runs share a GPU.")
        return Launcher(self.run_order(), self.here)

    @functools.cached_property
    def cluster(self) -> Any:
        """A connection that trains on the workers of a cluster, or None. Raises UserError if the
        cluster does not answer."""
        machine = self.context.machine
        if not isinstance(machine, Workers) or machine.cluster is None:
            return None
        from core.runner.cluster import Cluster  # nothing else needs dask

        scale = self.context.setup.scale.name
        return Cluster(machine.cluster, self.run_order(), scale, machine.device, machine.jobs)

    def run_order(self) -> RunOrder:
        """What all runs of this command have in common. The machine that executes the runs adds
        device and threads."""
        setup = self.context.setup
        tensorboard = self.outputs.tensorboard
        execution = Execution(
            results_dir=str(self.store.root),
            cache_dir=str(cache_folder()),
            sources=setup.sources,
            tensorboard=tensorboard and Path(os.path.abspath(tensorboard)),
            keep_models=self.outputs.keep_models,
            checkpoint_minutes=None if setup.scale.generated else CHECKPOINT_MINUTES,
        )
        return RunOrder(
            execution=execution,
            job=self.around.job,
            warm=self.around.warm,
            provenance=provenance(setup.sources),
        )

    def train(self, plan: Plan) -> int:
        """Train the missing runs and print how each ended; the exit status: 0 if every run is
        stored, 1 if a run failed or was lost with the cluster, 128 + signal if stopped. First
        fetches models that rewrite texts, makes the folders of results and removes checkpoints of
        stored runs. Takes signals while training. Raises UserError."""
        say(plan.line())
        if not plan.missing:
            return 0
        hub.fetch_text_models(cache_folder(), (planned.config for planned in plan.missing))
        check_settings(self.context, plan)
        self.store.prepare()
        stop = Stop()
        with stopping(stop):
            if self.here.gpus and "launcher" not in vars(self):
                self.check_gpu(stop)
            scheduler = self.cluster or self.launcher
            self.store.sweep_checkpoints()
            seconds = self.context.expected().seconds
            shown = Display(plan.missing, seconds, scheduler.jobs, self.answers)
            with shown.live:
                endings = self.train_runs(plan.missing, scheduler, stop, shown)
        say(*self.summary(plan.missing, endings, stop.signal, scheduler.lost))
        self.store.check_there()
        if stop.signal is not None:
            return 128 + stop.signal
        return int(any(ending.state in ("failed", "stopped") for ending in endings.values()))

    def train_runs(
        self, runs: Sequence[PlannedRun], scheduler: Any, stop: Stop, shown: Display
    ) -> dict[str, Ending]:
        """Train these runs, and show each ending and each new answer; the endings by id. Waits for
        runs that another command trains, and trains those that the other command did not store."""
        endings: dict[str, Ending] = {}
        left = list(runs)
        first = True
        while left and not (stop.asked or scheduler.lost):
            free = [run for run in left if first or not self.store.claimed(run.run_id)]
            if free:
                for ending in scheduler.train(free, stop, shown.hear, self.force and first):
                    shown.ended(ending)
                    if ending.state != "elsewhere":
                        endings[ending.run] = ending
                    if ending.state in ("done", "found"):
                        for line in self.answers.after(ending.run, self.store):
                            shown.note(line)
            left = [run for run in left if run.run_id not in endings]
            if left and first and not (stop.asked or scheduler.lost):
                shown.note(
                    f"{are(len(left), 'run')} being trained by another command; waiting for it."
                )
            first = False
            if left:
                time.sleep(STOP_POLL)
        for run in left:
            # a lost cluster cannot say what it has stored
            state: State = "done" if scheduler.lost else "found"
            if self.force or not self.store.has(run.run_id):
                state = "stopped"
            endings[run.run_id] = Ending(run.run_id, state)
        return endings

    def summary(
        self,
        runs: Sequence[PlannedRun],
        endings: dict[str, Ending],
        number: int | None,
        lost: str,
    ) -> list[str]:
        """The lines to print at the end: failed runs with the ends of their logs, and the command
        that trains the runs left. Reads logs, and which runs and checkpoints are stored. `number`
        is the signal that stopped the command; `lost` says why a cluster could not go on."""
        count = Counter(ending.state for ending in endings.values())
        trained = f"Trained {count['done']} of {counted(len(runs), 'run')}."
        if count["found"]:
            trained += f" {count['found']} were trained by another command meanwhile."
        lines = [trained]
        left = [run for run in runs if endings[run.run_id].state in ("stopped", "failed")]
        for run in left:
            ending = endings[run.run_id]
            if ending.cause:
                cells = f"  cells: {'; '.join(run.cells)}; seed {run.seed}"
                last = [f"  | {line}" for line in tail(ending.log)]
                lines += ["", f"FAILED {run.run_id}: {ending.cause}", cells, *last]
            if ending.log:
                lines.append(f"  log: {ending.log}")
        if not left:
            return lines
        older = sum(self.store.has(run.run_id) for run in left)
        words = [word for word in self.again if older or word != "--force"]
        if older:
            lines += [
                "",
                f"Of {counted(older, 'run')} an older result is stored, which tables show.",
                "--force trains finished runs again, too.",
            ]
        still = f"{are(len(left), 'run')} still to be trained"
        if number is not None:
            still = f"Stopped by {signal.Signals(number).name}. {still}"
        elif lost:
            still = f"{lost} {still}"
        begun = sum(self.store.path("checkpoints", run.run_id).exists() for run in left)
        if begun:
            still += f", {begun} of them from a checkpoint"
        if not words:
            return [*lines, "", f"{still}; the same call goes on."]
        return [*lines, "", f"{still}. Go on with:", f"  {shlex.join([*typed_command(), *words])}"]

    def check_gpu(self, stop: Stop) -> None:
        """Raise UserError if torch in the warm process cannot use the GPU, or the GPU does not
        answer. Starts the warm process."""
        report, _ = self.launcher.call(use_gpu, stop, patience=GPU_PATIENCE)
        if report.ended != 0 and not stop.asked:
            cause = f"no answer within {GPU_PATIENCE:.0f} s"
            if report.ended is not None:
                cause = diagnosis(report)[:200]
            raise UserError(f"{NO_GPU} ({cause}); {MEND_GPU}.")

    def close(self) -> None:
        """End the warm process and the connection to the cluster, if the command has opened
        them."""
        for name in ("launcher", "cluster"):
            if opened := vars(self).get(name):
                opened.close()


def check_settings(context: Context, plan: Plan) -> None:
    """Raise UserError, before any training, for a precision or a length of sentences that the
    device or the encoder of a missing run does not take."""
    if not plan.missing:
        return
    setup = context.setup
    device = context.machine.device_of_runs(setup.scale.name)
    for planned in plan.missing:
        planned.config.check_device(setup.sources.encoder.positions, device)


@contextlib.contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    """Within this context Ctrl-C, SIGTERM and SIGHUP (a closed terminal) call `stop.ask` and print
    a line instead of ending the process. A second signal leaves less time. A signal that was
    ignored when the command began stays ignored. Outside the main thread nothing changes."""

    def ask(number: int, _frame) -> None:
        stop.ask(number)
        # a full disk must not break off what the signal interrupts
        with contextlib.suppress(OSError):
            # print() may be in the middle of itself
            os.write(2, b"Stopping; what is finished is kept.\n")

    before = {}
    if threading.current_thread() is threading.main_thread():  # others may not take signals
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def typed_command() -> list[str]:
    """The words that start this program: `run-study`, or Python and a script."""
    if program() == INSTALLED:
        return [INSTALLED]
    script = sys.argv[0]
    if Path(script).name != program():  # started by other code
        script = program()
    return [sys.orig_argv[0], script]
