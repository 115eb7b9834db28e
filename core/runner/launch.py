"""Launching runs: the warm process as a command sees it, and what became of each run. Nothing here
raises for one run's trouble; the store decides what is done."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import joblib

from core.config.identity import canonical_json
from core.errors import UserError, refusing
from core.runner import devices, mps
from core.runner.devices import PROJECT, Resources
from core.runner.plan import PlannedRun
from core.runner.worker import LESS_MEMORY, Message, Order, Request
from core.store.store import Store

STOP_POLL = 0.25  # seconds between looks at the stop sign
# seconds that children have after a stop to write their checkpoints, which may be gigabytes
GRACE = 60.0
SHORT_GRACE = 5.0  # seconds that they have if they are asked again
TAIL_LINES = 12
Hear = Callable[[str, Message], None]  # takes a run's id and what its child reports


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
    """Trains runs on this machine, `jobs` at once, in children of one warm process.

    `lost` is what a cluster can say of itself (`core.runner.cluster`)."""

    lost = ""

    def __init__(self, order: Order, resources: Resources, share: mps.Share | None = None):
        execution = replace(
            order.execution,
            device=resources.device,
            threads=resources.threads,
            gpu_runs=resources.gpu_runs,
            mps=share is not None,
        )
        self.order = replace(order, execution=execution)
        self.jobs = resources.jobs
        self.slots = resources.names
        self.share = share
        self.store = Store(execution.results_dir, None)
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def start(self) -> None:
        """Start the warm process, which imports the training code meanwhile."""
        with self._lock:
            self._started()

    def _started(self) -> Worker:
        """The warm process; a new one if it has died."""
        if self._worker is None or self._worker.process.poll() is not None:
            words = [self.order.job, *self.order.warm]
            threads = self.order.execution.threads
            log = self.store.path("logs", "worker")
            self._worker = Worker(words, threads, log, self.share)
        return self._worker

    def worker(self, stop: Stop) -> Worker:
        """The warm process, once its training code is imported or somebody asks to stop; a new one
        if it has died. Raises UserError if the code cannot be imported."""
        with self._lock:
            worker = self._started()
            worker.wait_ready(stop)
            return worker

    def close(self) -> None:
        """Let the warm process go, and our daemon of MPS if nobody else uses it."""
        if self._worker is not None:
            self._worker.close()
        if self.share is not None:
            self.share.leave()
            self.share = None

    def train(
        self, runs: Sequence[PlannedRun], stop: Stop, hear: Hear, force: bool
    ) -> Iterator[Ending]:
        """Train these runs; yields the ending of each as it comes. A thread only follows its
        child."""
        self.worker(stop)
        launch = joblib.delayed(self.launch)
        parallel = joblib.Parallel(
            n_jobs=min(self.jobs, len(runs)),
            backend="threading",
            batch_size=1,
            pre_dispatch="n_jobs",
            return_as="generator_unordered",
        )
        yield from parallel(
            launch(run.run_id, canonical_json(run.config), stop, hear, force) for run in runs
        )

    def launch(self, run: str, config: str, stop: Stop, hear: Hear, force: bool = False) -> Ending:
        """Train a run, whose configuration is `config` (JSON), unless it is done or held
        elsewhere."""
        if stop.asked:
            return Ending(run, "stopped")
        if self.store.claimed(run):
            return Ending(run, "elsewhere")
        had = self.store.has(run)
        log = str(self.store.path("logs", run))
        request = Request(
            order=self.order,
            run_id=run,
            config=config,
            force=force,
            log=log,
            slots=self.slots,
            slot_folder=str(devices.slot_folder()),
            uuids=dict(self.share.uuids) if self.share is not None else {},
        )
        report = Message()
        seconds = 0.0
        try:
            report, seconds = self._follow(request, stop, hear)
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
        if not report.started:
            log = ""
        return Ending(run, "failed", seconds, cause=cause, log=log)

    def _follow(self, request: Request, stop: Stop, hear: Hear) -> tuple[Message, float]:
        """Start a child and follow it to its end. Returns all that it reported, and its seconds of
        training; `ended` stays None if the worker died before it could report that."""
        run = request.run_id
        began = time.monotonic()
        report = Message()
        worker = self.worker(stop)
        messages = worker.ask(request)
        while report.ended is None:
            try:
                message = messages.get(timeout=STOP_POLL)
                report = report._replace(**message.stated())
                if message.started:
                    began = time.monotonic()
                hear(run, message)
            except queue.Empty:
                # a child outlives its worker
                if worker.process.poll() is not None and not self.store.claimed(run):
                    break
            if stop.asked and report.pid is not None and report.ended is None:
                number = signal.SIGTERM
                if time.monotonic() > stop.deadline:
                    number = signal.SIGKILL
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(report.pid, number)
        return report, time.monotonic() - began


def launcher(order: Order, scale: str, device: str, jobs: int | None) -> Launcher:
    """What trains runs at this scale on this machine, through NVIDIA's MPS where it is offered,
    several runs share a GPU, and its daemon starts. Raises UserError."""
    resources = devices.resources(scale, device, jobs)
    share = None
    if resources.mps:
        share = mps.join(devices.gpu_uuids())
        if share is None:
            resources = devices.resources(scale, device, jobs, mps=False)
    return Launcher(order, resources, share)


class Worker:
    """A started warm process (`core.runner.worker`), and the reports of its children by run."""

    def __init__(self, words: list[str], threads: int, log: Path, share: mps.Share | None = None):
        variables = share.variables if share is not None else {}
        descriptors = share.descriptors if share is not None else ()
        hint = "mend that and give the same command again"
        with (
            refusing(f"Training with the log {log} cannot start", hint, OSError),
            open(log, "ab") as output,
        ):
            self.process = subprocess.Popen(
                [sys.executable, "-m", "core.runner.worker", *words],
                cwd=PROJECT,
                env=environment(threads) | variables,
                pass_fds=descriptors,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the command alone
            )
        self.log = log
        self._broken = "it was killed"
        self._requests: Any = self.process.stdin
        self._ready = threading.Event()
        self._reports: dict[str, queue.SimpleQueue] = {}
        threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True).start()

    def wait_ready(self, stop: Stop) -> None:
        """Wait until all is imported, or somebody asks to stop. Raises UserError if the import
        failed."""
        while not (self._ready.wait(0.1) or stop.asked):
            pass
        if self._ready.is_set() and self._broken:
            raise UserError(
                f"The training code could not be started ({self._broken}); "
                f"pip install -r requirements.txt may mend that; see {self.log}."
            )

    def ask(self, request: Request) -> queue.SimpleQueue:
        """Have a child forked for this request. Returns the queue of its reports."""
        reports = self._reports[request.run_id] = queue.SimpleQueue()
        with contextlib.suppress(OSError):  # it has died, as `_follow` will see
            self._requests.write(request.to_json())
            self._requests.flush()
        return reports

    def close(self) -> None:
        """Let the worker end with its last child; at once if it is still importing."""
        if not self._ready.is_set():
            self.process.kill()
        # children outlive it, and save
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._requests.close()
            self.process.wait(timeout=10)

    def _listen(self, lines: Any) -> None:
        for first in itertools.islice(lines, 1):  # none if it was killed
            self._broken = json.loads(first)["broken"]
        self._ready.set()
        for fields in map(json.loads, lines):
            run = fields.pop("run")
            self._reports[run].put(Message(**fields))


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


def tail(log: str) -> tuple[str, ...]:
    """The last lines of a log."""
    with contextlib.suppress(OSError), open(log, errors="replace") as file:
        return tuple(deque((line.rstrip()[:400] for line in file if line.strip()), TAIL_LINES))
    return ()


def environment(threads: int) -> dict[str, str]:
    """The worker's environment: thread counts before any library reads them, and no network."""
    paths = [str(PROJECT)]
    if os.environ.get("PYTHONPATH"):
        paths.append(os.environ["PYTHONPATH"])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
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
