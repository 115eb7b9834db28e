"""Training what is missing, here or on a cluster: going on after failures, and stopping in
order."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.config.run import Execution, RunConfig
from core.data import encoders, hub
from core.data.sources import Found, first_digests
from core.errors import UserError, are, counted, say
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import Expectation, expectation
from core.runner.launch import STOP_POLL, Ending, Stop, launcher, tail
from core.runner.names import joined_numbers, typed_command
from core.runner.plan import Plan, PlannedRun
from core.runner.progress import Display
from core.runner.trials import Trials, tried
from core.runner.worker import Order
from core.store.store import Store
from core.study.catalogue import Catalogue
from core.study.setup import Setup, check_device

# Seconds on a core: the report's libraries, and a study's tables and figures.
DRAWING = 2.0
DRAWING_STUDY = 1.5
CHECKPOINT_MINUTES = 10.0  # a run of scale demo takes less than a checkpoint saves
NOT_TRAINED = "Nothing is trained; correct that, or give --no-trial to train in spite of it."
# Imported before the first fork: transformers loads its parts only when they are used.
WARM = (
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.roberta.modeling_roberta",
    "pyarrow.parquet",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a command works with. `home` has what is published, and `own` gets the user's `results`
    and `figures` (None: `home`). Children of a process that has loaded `warm` run `job`. The module
    `trial` tries methods; "" for none."""

    catalogue: Catalogue
    home: Path
    own: Path | None = None
    job: str = "core.training.job:run"
    warm: tuple[str, ...] = WARM
    trial: str = "core.training.trial"


class RunTrainer:
    """How one command trains the runs of a setup into a store. `argv` is the command to type
    again."""

    def __init__(
        self,
        options: Options,
        argv: Sequence[str],
        around: Surroundings,
        store: Store,
        setup: Setup,
        found: Found,
    ):
        self.options = options
        self.argv = list(argv)
        self.around = around
        self.store = store
        self.setup = setup
        self.found = found
        self._scheduler: Any = None  # a Launcher, or a Cluster

    def expected(self) -> Expectation:
        """What runs are expected to take, as runs of this machine that are stored by now took."""
        return expectation(self.options, self.setup.scale, self.found, self.store)

    def train(self, plan: Plan) -> int:
        """Train what is missing; the exit status: 0 if every run is stored, 1 if a run failed or
        was lost with the cluster, 128 + signal if stopped. The warm process stays for the next
        plan, until `close`."""
        print(plan.line(), flush=True)
        if not plan.missing:
            return 0
        hub.fetch_text_models(cache_folder(), (planned.config for planned in plan.missing))
        self.check(plan)
        if self.options.trial is not False:
            configs = [planned.config for planned in plan.missing]
            faults = self.tried(configs, anew=bool(self.options.trial)).faults
            if faults:
                say(*faults, out=sys.stderr)
                raise UserError(NOT_TRAINED)
        self.store.prepare()
        first = first_digests(self.setup.scale, self.store.root)
        if first:
            self.store.note_first(self.setup.scale.name, first.values())
        self.store.sweep_checkpoints()
        stop = Stop()
        with stopping(stop):
            starts = self._scheduler is None
            scheduler = self._scheduler = self._scheduler or self.scheduler()
            if starts and not self.options.cluster:
                say("Starting the training process; the first time this takes up to a minute.")
                scheduler.start()
            seconds = self.expected().seconds  # which may time the CPU meanwhile
            studies = {cell.partition(" ")[0] for run in plan.runs for cell in run.cells}
            drawing = DRAWING + DRAWING_STUDY * len(studies)
            shown = Display(plan.missing, seconds, scheduler.jobs, after=drawing)
            with shown.live:
                endings = self.train_runs(plan.missing, scheduler, stop, shown)
        say(*self.summary(plan.missing, endings, stop.signal, scheduler.lost))
        self.store.check_there()
        failed = any(ending.state in ("failed", "stopped") for ending in endings.values())
        if stop.signal is not None:
            return 128 + stop.signal
        return int(failed)

    def train_runs(
        self, runs: Sequence[PlannedRun], scheduler: Any, stop: Stop, shown: Display
    ) -> dict[str, Ending]:
        """Train these runs; their endings by id. Runs that another command holds are waited for,
        and trained if it leaves nothing."""
        endings: dict[str, Ending] = {}
        left = list(runs)
        first = True
        while left and not _ends(scheduler, stop):
            free = list(left)
            if not first:
                free = [run for run in left if not self.store.claimed(run.run_id)]
            if free:
                force = self.options.force and first
                endings |= train_round(free, scheduler, stop, shown, force)
            left = [run for run in left if run.run_id not in endings]
            if left and first and not _ends(scheduler, stop):
                shown.note(
                    f"{are(len(left), 'run')} being trained by another command; waiting for it."
                )
            first = False
            if left:
                time.sleep(STOP_POLL)
        for run in left:
            endings[run.run_id] = self.ending_of_left(run.run_id, scheduler.lost)
        return endings

    def ending_of_left(self, run: str, lost: str) -> Ending:
        """The ending of a run that nobody reported; a cluster that is lost cannot say of what it
        has stored."""
        if self.options.force or not self.store.has(run):
            return Ending(run, "stopped")
        return Ending(run, "done" if lost else "found")

    def summary(
        self, runs: Sequence[PlannedRun], endings: dict[str, Ending], number: int | None, lost: str
    ) -> list[str]:
        """What to print at the end: failures by cause, and the command that trains what is still
        missing. `number` is the signal that stopped the command, `lost` says why a cluster could
        not go on."""
        count = Counter(ending.state for ending in endings.values())
        trained = f"Trained {count['done']} of {counted(len(runs), 'run')}."
        if count["found"]:
            trained += f" {count['found']} were trained by another command meanwhile."
        lines = [trained]
        left = [run for run in runs if endings[run.run_id].state in ("stopped", "failed")]
        for run in left:
            ending = endings[run.run_id]
            if ending.cause:
                lines += failure_lines(run, ending)
        if not left:
            return lines
        older = sum(self.store.has(run.run_id) for run in left)
        words = self.argv
        if older:
            stored = f"Of {counted(older, 'run')} an older result is stored, which tables show."
            lines += ["", stored]
        else:
            words = [word for word in words if word != "--force"]
        why = lost
        if number is not None:
            why = f"Stopped by {signal.Signals(number).name}."
        still = f"{are(len(left), 'run')} still to be trained"
        begun = sum(self.store.path("checkpoints", run.run_id).exists() for run in left)
        if begun:
            still += f", {begun} of them from a checkpoint"
        lines += ["", f"{why} {still}. Go on with:".strip()]
        return [*lines, f"  {shlex.join([*typed_command(), *joined_numbers(words)])}"]

    def tried(self, configs: Sequence[RunConfig], anew: bool = False) -> Trials:
        """What trials of the methods of these runs say."""
        if not self.around.trial:
            return Trials([], [])
        options = self.options
        execution = self.execution()
        if not options.cluster:
            here = devices.resources(self.setup.scale.name, options.device, options.jobs)
            execution = replace(execution, device=here.device, threads=here.jobs * here.threads)
        return tried(configs, execution, self.around.trial, anew)

    def execution(self) -> Execution:
        """Where and with what runs are executed, but for device and threads. Nothing of it is part
        of their identity."""
        options = self.options
        places = self.found.places
        sources = self.found.sources
        paths = {
            "corpus_path": places.corpus,
            "evaluation_path": places.evaluation,
            "encoder_path": places.encoder,
            "tensorboard": options.tensorboard,
        }
        named: dict[str, Any] = {
            name: str(path) for name, path in paths.items() if path is not None
        }
        others = []
        for encoder in sources.others:
            folder = str(places.others[encoder.stands_for])
            others.append((encoder.digest, folder, encoder.name))
        return Execution(
            results_dir=str(self.store.root),
            cache_dir=str(cache_folder()),
            encoder_name=sources.encoder_name,
            keep_models=options.keep_models,
            checkpoint_minutes=None if self.setup.scale.generated else CHECKPOINT_MINUTES,
            pairs=tuple((name, str(path)) for name, path in places.pairs),
            other_encoders=tuple(others),
            **named,
        )

    def scheduler(self) -> Any:
        """What trains: this machine, or the workers of a cluster. Who launches a run fills in
        device and threads."""
        options = self.options
        scale = self.setup.scale
        order = Order(
            execution=self.execution(),
            job=self.around.job,
            warm=self.around.warm,
            provenance=self.found.provenance(),
        )
        if options.cluster:
            from core.runner.cluster import Cluster  # nothing else needs dask

            return Cluster(options.cluster, order, scale.name, options.device, options.jobs)
        return launcher(order, scale.name, options.device, options.jobs)

    def close(self) -> None:
        """Let the warm process go."""
        if self._scheduler is not None:
            self._scheduler.close()

    def check(self, plan: Plan) -> None:
        """Refuse, before any training, settings that every run would refuse. Raises UserError."""
        if not plan.missing:
            return
        options = self.options
        scale = self.setup.scale
        if not (options.cluster or options.gpus):
            device = devices.resources(scale.name, options.device, options.jobs).device
            devices.check_torch(options.device)
        elif options.device == "cpu":
            device = "cpu"
        else:
            device = "cuda"
        folder = self.found.places.encoder
        if scale.generated:
            folder = encoders.DEMO_ENCODER
        places = sys.maxsize
        widths = 0, 0
        shuffles_positions = True
        if folder is not None:  # else the encoder is not fetched
            places = encoders.positions(folder)
            widths = encoders.word_width(folder), encoders.hidden_size(folder)
            shuffles_positions = encoders.shuffles_positions(folder)
        for planned in plan.missing:
            check_device(planned.config, places, device)
            encoders.check_augmentation(planned.config, shuffles_positions, *widths)


@contextlib.contextmanager
def stopping(stop: Stop) -> Iterator[None]:
    """Within this context Ctrl-C, SIGTERM and SIGHUP (a closed terminal) ask to stop instead of
    breaking off; a second signal leaves less time. A signal that was ignored when the command began
    stays ignored."""

    def ask(number: int, _frame) -> None:
        stop.ask(number)
        # a full disk must not break off what the signal interrupts
        with contextlib.suppress(OSError):
            # print() may be in the middle of itself
            os.write(2, b"Stopping; what is finished is kept.\n")

    heeded = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if handler is not signal.SIG_IGN:
            heeded[number] = handler
    for number in heeded:
        signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)


def _ends(scheduler: Any, stop: Stop) -> bool:
    """Whether no more runs are started."""
    return bool(stop.asked or scheduler.lost)


def train_round(
    runs: Sequence[PlannedRun], scheduler: Any, stop: Stop, shown: Display, force: bool
) -> dict[str, Ending]:
    """Train these runs; their endings by id, without runs that another command holds."""
    endings = {}
    for ending in scheduler.train(runs, stop, shown.hear, force):
        shown.ended(ending)
        if ending.state != "elsewhere":
            endings[ending.run] = ending
    return endings


def failure_lines(run: PlannedRun, ending: Ending) -> list[str]:
    """What to print of a run that failed: its cause, its cells and the end of its log."""
    lines = ["", f"FAILED {run.run_id}: {ending.cause}"]
    lines.append(f"  cells: {'; '.join(run.cells)}; seed {run.seed}")
    lines += [f"  | {line}" for line in tail(ending.log)]
    if ending.log:
        lines.append(f"  log: {ending.log}")
    return lines
