"""The warm process: imports the training code once, then forks a child for each run.

Functions to call come over a socket, the standard input; with each comes a pipe for its reports.
The child takes the claim on its run and a slot of the machine, and holds both until it ends,
however it ends. The worker computes nothing and starts no thread, since a fork copies none. Without
its command it ends with its last child.

It is no `forkserver` of multiprocessing, which after its death comes back with the environment of
the command, needs a short TMPDIR, and cannot be left while it imports.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from io import TextIOWrapper
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import Any, Literal, NamedTuple

from core.config.identity import from_canonical_json, run_id
from core.config.result import Result
from core.config.run import RunConfig
from core.config.section import frozen
from core.errors import HOME, UserError
from core.runner import devices
from core.runner.plan import lacks_model
from core.store import code, files, locks
from core.store.store import Store
from core.training.execution import Execution

SLOT_POLL = 0.05  # seconds between looks at slots that are taken
SLOT_NOTICE = 2.0  # seconds of waiting for a slot before the command says so
# words of allocators
SHORT = ("memoryerror", "allocate memory", "out of memory", "status_alloc_failed")
LOADED_CODE = code.digest()  # of the files that this process imports
LESS_MEMORY = "Use --jobs 1, or a smaller train.batch_size, which is another experiment."
IGNORED = (signal.SIGTERM, signal.SIGHUP)  # a scheduler warns every process; the command decides


@frozen
class RunOrder:
    """What all runs of a command have in common. `job` (module:function) trains a run in a process
    that has imported `warm`; `provenance` is recorded with each result. It trains by the code of
    the digest `code`, which lies in `home`."""

    execution: Execution
    job: str
    warm: tuple[str, ...] = ()
    provenance: dict[str, Any]
    code: str = LOADED_CODE
    home: str = str(HOME)


class Message(NamedTuple):
    """What a run's child, or the worker, reports. A field that is None is not part of the report.

    A child reports its `pid`, `waiting` for a slot, `started`, then what its job reports, and at
    last its `state` or the `cause` of its failure. Then the worker reports that it `ended`, with
    its exit status. `note` is a sentence."""

    pid: int | None = None
    waiting: str | None = None  # which runs of other commands hold slots
    started: bool | None = None
    note: str | None = None
    phase: str | None = None
    step: int | None = None
    total: int | None = None  # steps
    rate: float | None = None  # steps a second
    dev: float | None = None  # the latest development score
    loss: float | None = None
    score: str | None = None  # in a few words
    state: Literal["done", "found", "elsewhere"] | None = None
    cause: str | None = None
    ended: int | None = None

    def stated(self) -> dict[str, Any]:
        """The fields that are part of the report."""
        return {name: value for name, value in self._asdict().items() if value is not None}


Report = Callable[[Message], bool]


def main(*modules: str) -> None:
    """Send why the imports failed, or an empty text, then serve until the command is gone."""
    requests = Connection(os.dup(0))
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        for name in ("pandas", *modules):  # pyarrow imports it at its first array: once a child
            importlib.import_module(name)
    except Exception as error:
        requests.send(f"{type(error).__name__}: {error}")
        raise
    gc.collect()
    gc.freeze()  # keeps a child's collections from copying what it shares with the others
    requests.send("")
    serve(requests)


def serve(requests: Connection) -> None:
    """Fork a child for each request, and report how each child ended. Returns when the command is
    gone; multiprocessing waits for the last child."""
    forking = multiprocessing.get_context("fork")
    children: dict[Any, tuple[Any, Connection]] = {}  # processes and their reports, by sentinel
    while True:
        for ready in wait([requests, *children]):
            if ready is not requests:
                child, reports = children.pop(ready)
                child.join()
                send(reports, Message(ended=child.exitcode))
                reports.close()
                continue
            try:
                call = requests.recv()
                reports = Connection(recv_handle(requests), readable=False)
            except (EOFError, OSError):
                return
            others = [requests, *(pipe for _, pipe in children.values())]
            child = forking.Process(target=become_child, args=(call, reports, others))
            child.start()
            children[child.sentinel] = child, reports


def become_child(
    call: Callable[[Report], None], reports: Connection, others: Iterable[Connection]
) -> None:
    """Be the child that calls a function, from its fork to its end. `others` are connections of the
    worker, of which a child must keep none open."""
    for other in others:
        other.close()
    # the terminal's Ctrl-C is for the command, which decides what to do with its children
    os.setsid()
    for number in (signal.SIGINT, *IGNORED):
        signal.signal(number, signal.SIG_DFL)
    report = partial(send, reports)
    report(Message(pid=os.getpid()))
    try:
        call(report)
    except Exception as error:
        report(Message(cause=failure(error)))
        if isinstance(error, UserError):
            sys.exit(1)
        raise  # multiprocessing prints the traceback


def use_gpu(report: Report) -> None:
    """Put a number on the GPU. Raises torch's error."""
    import torch

    torch.zeros(1, device="cuda")


def train_run(
    order: RunOrder,
    run: str,
    config_json: str,
    force: bool,
    slots: Mapping[str, str],
    slot_folder: Path,
    report: Report,
) -> None:
    """Train and store a run, whose configuration is canonical JSON, unless it is stored or another
    process is at it. The claim, and one of the `slots`, whose locks lie in `slot_folder`, are this
    process's until it ends. Raises UserError."""
    execution = order.execution
    config, _ = from_canonical_json(config_json)
    if run_id(config) != run or order.code != LOADED_CODE:
        raise UserError(
            f"Run {run} of code {order.code} arrived as {run_id(config)} at code {LOADED_CODE}; "
            "two versions of the code are mixed, so start the command again."
        )
    store = Store(execution.results_dir, None)
    store.check_there()
    if store.claim(run) is None:
        report(Message(state="elsewhere"))
        return
    if force:
        store.path("checkpoints", run).unlink(missing_ok=True)
    elif store.verified(run, claimed=True) is not None and not (
        execution.keep_models and lacks_model(store, run, config)
    ):
        report(Message(state="found"))
        return
    holder = f"run {run} of {store.root}, process {os.getpid()}"
    slot = take_slot(slots, slot_folder, holder, report)

    # the run's log and device
    log = store.path("logs", run)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    for stream in (1, 2):
        os.dup2(output, stream)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    faulthandler.enable(file=2)
    os.environ.update(devices.narrowed(slots[slot]))
    report(Message(started=True))

    def progress(fields: dict) -> None:
        report(Message(**fields))

    module, _, function = order.job.partition(":")
    job = getattr(importlib.import_module(module), function)
    result: Result = job(config, execution, progress)
    report(Message(phase="save", step=config.train.steps, score=score(config, result)))
    store.check_there()
    provenance = {**order.provenance, **result.provenance, "score": average(config, result)}
    store.save(config, replace(result, provenance=provenance))
    report(Message(state="done"))


def average(config: RunConfig, result: Result) -> float | None:
    """A result's test average; None without one."""
    wanted = "selected", "avg", f"spearman_{config.sts.aggregate}"
    rows = (row for row in result.rows if (row.checkpoint, row.task, row.metric) == wanted)
    return next((row.value for row in rows if not math.isnan(row.value)), None)


def score(config: RunConfig, result: Result) -> str:
    """A result in a few words: its test average, or its status."""
    number = average(config, result)
    words = "no test average" if number is None else f"test average {number:.2f}"
    if result.status == "ok":
        return words
    return result.status if number is None else f"{words} {result.status}"


def take_slot(slots: Iterable[str], folder: Path, holder: str, report: Report) -> str:
    """Wait for a free slot, which this process holds until it ends, and which names the holder and
    its command. Returns the slot's name."""
    due = time.monotonic() + SLOT_NOTICE
    command = f"\n{os.getppid()}"  # the worker's
    while True:
        for name in slots:
            descriptor = locks.hold(folder / f"{name}.lock")
            if descriptor is not None:
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{holder}{command}".encode())
                return name
        if time.monotonic() > due:
            due += SLOT_NOTICE
            texts = [files.regular(folder / f"{name}.lock").read_text() for name in slots]
            others = [
                text.partition("\n")[0] or "a run of an older version"  # which names none
                for text in texts
                if not text.endswith(command)
            ]
            if not report(Message(waiting="; ".join(others))):
                os._exit(1)  # the command is gone before this run began
        time.sleep(SLOT_POLL)


def failure(error: Exception) -> str:
    """Why a run failed, in words. torch has no class for memory of the CPU nor of CUDA's
    libraries."""
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, UserError):
        words = str(error)
    if any(word in words.lower() for word in SHORT):
        return f"out of memory: {LESS_MEMORY} {words[:200]}"  # CUDA's go on and on
    return words


def send(reports: Connection, message: Message) -> bool:
    """Send a report, cut to stay below PIPE_BUF, and so whole or not at all. Returns False if the
    command is gone."""
    fields = message.stated()
    for name, value in fields.items():
        if isinstance(value, str):
            fields[name] = value[:800]
    with contextlib.suppress(OSError):
        reports.send(Message(**fields))
        return True
    return False
