"""Launching runs: the warm process as a command sees it, and what became of each run. Nothing here
raises for one run's trouble; the store decides what is done."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Literal, NamedTuple

from core.config.identity import canonical_json
from core.errors import UserError, refusing
from core.runner import devices
from core.runner.devices import Resources, cache_folder
from core.runner.plan import PlannedRun
from core.runner.worker import LESS_MEMORY, Message, Report, RunOrder, train_run
from core.store.files import AGAIN
from core.store.store import Store

STOP_POLL = 0.25  # seconds between looks at the stop sign
# seconds that children have after a stop to write their checkpoints, which may be gigabytes
GRACE = 60.0
SHORT_GRACE = 5.0  # seconds that they have if they are asked again
TAIL_LINES = 12
# by import: what it sends must be of classes that the command has, too
WORKER = "import sys; from core.runner.worker import main; main(*sys.argv[1:])"
Hear = Callable[[str, Message], None]  # takes a run's id and what its child reports
Call = Callable[[Report], None]

State = Literal["done", "found", "failed", "elsewhere", "stopped"]


class Ending(NamedTuple):
    """What became of a run. `found`: another command has stored it meanwhile; `elsewhere`: another
    command trains it now. `cause` says why it failed, and `log` where its output lies if it began;
    `score` is that of a run that is done, in a few words."""

    run: str
    state: State
    seconds: float = 0.0
    score: str = ""
    cause: str = ""
    log: str = ""


@dataclass
class Stop:
    """The request to start no more runs, and how long children may still go on."""

    # No Event: a signal handler that sets it can find its lock held by the thread that it
    # interrupts.
    asked: int = 0  # times
    signal: int | None = None
    deadline: float = math.inf

    def ask(self, number: int) -> None:
        """Stop: children are asked to end, and killed at the deadline. Asked again they have less
        time."""
        grace = SHORT_GRACE if self.asked else GRACE
        self.deadline = time.monotonic() + grace
        if self.signal is None:
            self.signal = number
        self.asked += 1


class Launcher:
    """Has functions called on this machine, `jobs` at once, in children of one warm process, which
    train runs. `lost` is what a cluster can say of itself (`core.runner.cluster`)."""

    lost = ""

    def __init__(self, order: RunOrder, resources: Resources):
        execution = replace(
            order.execution,
            device=resources.device,
            threads=resources.threads,
            gpu_runs=resources.gpu_runs,
            mps=resources.mps,
        )
        self.order = replace(order, execution=execution)
        self.jobs = resources.jobs
        self.slots = resources.slots
        self.store = Store(execution.results_dir, None)
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def worker(self, stop: Stop) -> Worker:
        """The warm process, or a new one if it has died, once its training code is imported or
        somebody asks to stop. Raises UserError if the code cannot be imported."""
        with self._lock:
            if self._worker is None or self._worker.process.poll() is not None:
                modules = [self.order.job.partition(":")[0], *self.order.warm]
                self._worker = Worker(modules, self.order.execution.threads, self.order.home)
            self._worker.wait_ready(stop)
            return self._worker

    def close(self) -> None:
        """Let the warm process go."""
        if self._worker is not None:
            self._worker.close()

    def train(
        self, runs: Sequence[PlannedRun], stop: Stop, hear: Hear, force: bool
    ) -> Iterator[Ending]:
        """Train these runs; yields the ending of each as it comes. A thread only follows its
        child."""
        self.worker(stop)
        with ThreadPoolExecutor(self.jobs) as threads:
            tasks = []
            for run in runs:
                arguments = run.run_id, canonical_json(run.config), stop, hear, force
                tasks.append(threads.submit(self.launch, *arguments))
            try:
                for task in as_completed(tasks):
                    yield task.result()
            finally:
                threads.shutdown(cancel_futures=True)

    def launch(self, run: str, config: str, stop: Stop, hear: Hear, force: bool = False) -> Ending:
        """Train a run, whose configuration is `config` (JSON), unless it is done or held
        elsewhere."""
        if stop.asked:
            return Ending(run, "stopped")
        had = self.store.has(run)
        slots = devices.slot_folder()
        call = partial(train_run, self.order, run, config, force, self.slots, slots)
        report = Message()
        seconds = 0.0
        try:
            report, seconds = self.call(call, stop, partial(hear, run))
            if report.state is not None:
                return Ending(run, report.state, seconds, report.score or "")
            if not had and self.store.has(run):  # whatever killed the child in its last moment
                return Ending(run, "done", seconds, report.score or "")
            if report.ended == -signal.SIGTERM and not stop.asked:
                # a scheduler warns all processes at once; our own handler may be late
                time.sleep(STOP_POLL)
            if stop.asked and report.ended in (-signal.SIGTERM, -signal.SIGKILL, None):
                return Ending(run, "stopped", seconds)
            cause = diagnosis(report)
            self.store.check_there()
            self.store.record_failure(run, cause)
        except UserError as error:  # there is no worker, or no place to note the failure
            cause = str(error)
        log = str(self.store.path("logs", run)) if report.started else ""
        return Ending(run, "failed", seconds, cause=cause, log=log)

    def call(
        self,
        function: Call,
        stop: Stop,
        hear: Callable[[Message], None] = lambda message: None,
        patience: float = math.inf,
    ) -> tuple[Message, float]:
        """Have a child call a function, and follow the child to its end, or for so many seconds.
        Returns all that it reported, and its seconds from `started` on. `ended` is None if the
        child did not end, or the worker was killed. Raises UserError if there is no worker."""
        began = time.monotonic()
        report = Message()
        worker = self.worker(stop)
        if stop.asked:
            return report, 0.0
        with worker.ask(function) as reports:
            while report.ended is None:
                message = Message()
                try:
                    if reports.poll(STOP_POLL):
                        message = reports.recv()
                except (EOFError, OSError):
                    break  # the worker was killed, and the child, which outlives it, has ended
                report = report._replace(**message.stated())
                if message.started:
                    began = time.monotonic()
                hear(message)
                late = time.monotonic() - began > patience
                if (stop.asked or late) and report.pid is not None and report.ended is None:
                    number = signal.SIGTERM
                    if late or time.monotonic() > stop.deadline:
                        number = signal.SIGKILL
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(report.pid, number)
                if late:
                    break  # not even a kill ends a process that waits for a broken driver
        return report, time.monotonic() - began


class Worker:
    """A started warm process (`core.runner.worker`)."""

    def __init__(self, modules: list[str], threads: int, home: str):
        self.log = cache_folder() / "worker.log"
        self._requests, theirs = multiprocessing.Pipe()
        hint = f"mend that and {AGAIN}"
        with theirs, refusing(f"Training with the log {self.log} cannot start", hint, OSError):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", WORKER, *modules],
                    cwd=home,
                    env=environment(threads, home),
                    stdin=theirs.fileno(),
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # Ctrl-C is for the command alone
                )
        self._broken: str | None = None  # why the import failed; None: not known yet
        self._lock = threading.Lock()

    def wait_ready(self, stop: Stop) -> None:
        """Wait until all is imported, or somebody asks to stop. Raises UserError if the import
        failed."""
        while self._broken is None and not stop.asked:
            if self._requests.poll(0.1):
                self._broken = "it was killed"
                with contextlib.suppress(EOFError, OSError):
                    self._broken = self._requests.recv()
        if self._broken:
            raise UserError(
                f"The training code could not be started ({self._broken}); see {self.log}, mend "
                f"that and {AGAIN}."
            )

    def ask(self, call: Call) -> Connection:
        """Have a child forked that makes this call. Returns the end of the pipe to which it
        reports."""
        reports, theirs = multiprocessing.Pipe(duplex=False)
        with theirs, self._lock, contextlib.suppress(OSError):  # the worker may have died
            self._requests.send(call)
            send_handle(self._requests, theirs.fileno(), self.process.pid)
        return reports

    def close(self) -> None:
        """Let the worker end with its last child; at once if it is still importing."""
        if self._broken is None:
            self.process.kill()
        self._requests.close()
        # children outlive it, and save
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=10)


def diagnosis(report: Message) -> str:
    """Why a child failed, from its exit status (None: unknown) and what it reported before."""
    status = report.ended
    if status is None:
        return "The process that starts the runs was killed"
    if status >= 0:
        return report.cause or f"exit status {status} without a result"
    cause = f"killed by signal {-status} ({signal.Signals(-status).name})"
    if status == -signal.SIGKILL:
        return f"{cause}: {LESS_MEMORY}"
    return cause


def tail(log: str) -> list[str]:
    """The last lines of a log."""
    with contextlib.suppress(OSError), open(log, errors="replace") as file:
        return [line.rstrip()[:400] for line in file if line.strip()][-TAIL_LINES:]
    return []


def environment(threads: int, home: str) -> dict[str, str]:
    """The worker's environment: thread counts before any library reads them, and no network. Its
    code is that of `home`: a process of a cluster may have loaded another checkout's."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH")))),
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),
        # spinning threads stand still where another process wants their core
        "OMP_WAIT_POLICY": "passive",
        # numpy's library starts its threads on import, and a fork copies none
        "OPENBLAS_NUM_THREADS": "1",
        # so does the allocator that pyarrow brings
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        # Training frees and takes the same large blocks at every step: kept, they need no new
        # pages.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
        "MALLOC_TOP_PAD_": str(1 << 28),
        # a million sentences take 75 s of one thread
        "TOKENIZERS_PARALLELISM": str(threads > 1).lower(),
        # asking for a GPU must not start CUDA before the fork
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
        # a method may draw by hash(), or go through a set of words
        "PYTHONHASHSEED": "0",
    }
