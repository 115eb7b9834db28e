"""The warm process: imports the training code once, then forks a child for each run.

Requests come as lines of JSON on the standard input, reports go as lines of JSON on the standard
output. The child takes the claim on its run and a slot of the machine, and holds both until it
ends, however it ends. The worker computes nothing and starts no thread, since a fork copies none.
Without its command it ends with its last child.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import math
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal, NamedTuple

from core.config.identity import from_canonical_json, run_id
from core.config.result import Result
from core.config.run import Execution, RunConfig
from core.errors import UserError
from core.runner import devices, mps
from core.runner.plan import lacks_model
from core.store import locks
from core.store.store import Store

WORKER_POLL = 0.05  # seconds between looks at children, and at slots that are taken
SLOT_NOTICE = 2.0  # seconds of waiting for a slot before the command says so
# words of allocators
SHORT = ("memoryerror", "allocate memory", "out of memory", "status_alloc_failed")
LESS_MEMORY = "Use --jobs 1, or a smaller train.batch_size, which is another experiment."
IGNORED = (signal.SIGTERM, signal.SIGHUP)  # a scheduler warns every process; the command decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What all runs of a command have in common. `job` (module:function) trains a run in a process
    that has imported `warm`; `provenance` is recorded with each result."""

    execution: Execution
    job: str
    warm: tuple[str, ...] = ()
    provenance: dict[str, Any]

    def to_json(self) -> str:
        """The order as text, for workers on other machines."""
        return json.dumps(asdict(self))

    @classmethod
    def from_plain(cls, fields: dict[str, Any]) -> Order:
        """The order with these fields, as JSON gives them."""
        return cls(**fields | {"execution": Execution(**fields["execution"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a worker trains: one run of an order. `config` is canonical JSON. The run's output goes
    into `log`, and its process holds one of the `slots`, whose locks lie in `slot_folder`. `uuids`
    are those of GPUs by their names in slots, for a daemon of MPS."""

    order: Order
    run_id: str
    config: str
    force: bool
    log: str
    slots: tuple[str, ...]
    slot_folder: str
    uuids: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """The request as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, line: bytes) -> Request:
        """The request that a line holds."""
        fields = json.loads(line)
        return cls(**fields | {"order": Order.from_plain(fields["order"])})


class Message(NamedTuple):
    """What a run's child, or the worker, reports. A field that is None is not part of the report.

    The worker reports `broken` once (why an import failed, or ""), and `ended` (the exit status)
    for each child. A child reports its `pid`, `waiting` for a slot, `started`, then what its job
    reports, and at last its `state` or the `cause` of its failure. `note` is a sentence."""

    broken: str | None = None
    pid: int | None = None
    waiting: bool | None = None
    started: bool | None = None
    note: str | None = None
    phase: str | None = None
    step: int | None = None
    total: int | None = None  # steps
    rate: float | None = None  # steps a second
    dev: float | None = None  # the latest development score
    score: str | None = None  # in a few words
    state: Literal["done", "found", "elsewhere"] | None = None
    cause: str | None = None
    ended: int | None = None

    def stated(self) -> dict[str, Any]:
        """The fields that are part of the report."""
        return {name: value for name, value in self._asdict().items() if value is not None}


JOB_FIELDS = ("note", "phase", "step", "total", "rate", "dev")  # of what a job reports
Job = Callable[[RunConfig, Execution, Callable[[dict], object]], Result]
Report = Callable[[Message], bool]


def main(job_name: str, *warm: str) -> None:
    """Serve until the command is gone and the last child has ended; then end our daemon of MPS,
    unless others use it."""
    with contextlib.ExitStack() as at_the_end:
        share = mps.inherited()
        if share is not None:
            at_the_end.callback(share.leave)
        _serve_job(job_name, warm)


def _serve_job(job_name: str, warm: Sequence[str]) -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # whatever prints prints into the log
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        module, _, function = job_name.partition(":")
        job: Job = getattr(importlib.import_module(module), function)
        for name in ("pandas", *warm):  # pyarrow imports pandas at its first array: once a child
            importlib.import_module(name)
    except Exception as error:
        send(out, Message(broken=f"{type(error).__name__}: {error}"))
        raise
    gc.collect()
    gc.freeze()  # keeps a child's collections from copying what it shares with the others
    send(out, Message(broken=""))
    serve(out, job)


def serve(out: int, job: Job) -> None:
    """Fork a child for each request, and report how each child ended."""
    children: dict[int, str] = {}
    buffer = b""
    listening = True
    while listening or children:
        sources = [0] if listening else []
        patience = WORKER_POLL if children else None
        readable, _, _ = select.select(sources, [], [], patience)
        if readable:
            part = os.read(0, 65_536)
            listening = bool(part)
            *lines, buffer = (buffer + part).split(b"\n")
            for request in map(Request.from_json, lines):
                pid = os.fork()
                if pid == 0:
                    # never returns
                    become_child(request, partial(send, out, run=request.run_id), job)
                children[pid] = request.run_id
        for pid, run in list(children.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del children[pid]
                send(out, Message(ended=os.waitstatus_to_exitcode(status)), run)


def become_child(request: Request, report: Report, job: Job) -> None:
    """Be the child of one run, from its fork to its end."""
    # the terminal's Ctrl-C is for the command, which decides what to do with its children
    os.setsid()
    for number in (signal.SIGINT, *IGNORED):
        signal.signal(number, signal.SIG_DFL)
    report(Message(pid=os.getpid()))
    status = 1
    try:
        train_run(request, report, job)
        status = 0
    except Exception as error:
        report(Message(cause=failure(error)))
        if not isinstance(error, UserError):
            # a log that cannot be written must not hide the cause
            with contextlib.suppress(Exception):
                traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)  # skips what the worker registered for its own end


def train_run(request: Request, report: Report, job: Job) -> None:
    """Train and store the run of a request, unless it is stored or another process is at it. The
    claim and the slot are this process's until it ends. Raises UserError."""
    run = request.run_id
    execution = request.order.execution
    config, _ = from_canonical_json(request.config)
    if run_id(config) != run:
        raise UserError(
            f"Run {run} arrived as {run_id(config)}; two versions of the code are mixed, so start "
            "the command again."
        )
    store = Store(execution.results_dir, None)
    store.check_there()
    if store.claim(run) is None:
        report(Message(state="elsewhere"))
        return
    if request.force:
        store.path("checkpoints", run).unlink(missing_ok=True)
    elif store.verified(run, claimed=True) is not None and not (
        execution.keep_models and lacks_model(store, run, config)
    ):
        report(Message(state="found"))
        return
    use_log_and_device(request, take_slot(request, report))
    report(Message(started=True))

    def progress(fields: dict) -> None:
        report(Message(**{name: fields.get(name) for name in JOB_FIELDS}))

    result = job(config, execution, progress)
    report(Message(phase="save", step=config.train.steps, score=score(config, result)))
    store.check_there()
    provenance = {**request.order.provenance, **result.provenance}
    store.save(config, replace(result, provenance=provenance))
    report(Message(state="done"))


def score(config: RunConfig, result: Result) -> str:
    """A result in a few words: its test average, or its status."""
    wanted = "selected", "avg", f"spearman_{config.sts.aggregate}"
    rows = (row for row in result.rows if (row.checkpoint, row.task, row.metric) == wanted)
    words = [f"test average {row.value:.2f}" for row in rows if not math.isnan(row.value)]
    if result.status != "ok":
        words.append(result.status)
    return " ".join(words) or "no test average"


def take_slot(request: Request, report: Report) -> str:
    """Wait for a free slot, which this process holds until it ends. Returns its name."""
    folder = Path(request.slot_folder)
    due = time.monotonic() + SLOT_NOTICE
    while True:
        for name in request.slots:
            if locks.hold(folder / f"{name}.lock") is not None:
                return name
        if time.monotonic() > due:
            due += SLOT_NOTICE
            if not report(Message(waiting=True)):
                os._exit(1)  # the command is gone before this run began
        time.sleep(WORKER_POLL)


def use_log_and_device(request: Request, slot: str) -> None:
    """Give this process the run's log and device."""
    output = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    faulthandler.enable(file=2)
    os.environ.update(devices.slot_environment(slot, request.uuids))


def failure(error: Exception) -> str:
    """Why a run failed, in words. torch has no class for memory of the CPU nor of CUDA's
    libraries."""
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, UserError):
        words = str(error)
    if any(word in words.lower() for word in SHORT):
        return f"out of memory: {LESS_MEMORY} {words[:200]}"  # CUDA's go on and on
    return words


def send(out: int, message: Message, run: str | None = None) -> bool:
    """Write one line, below PIPE_BUF and so whole or not at all. Returns False if the command is
    gone."""
    fields: dict[str, Any] = {"run": run}
    for name, value in message.stated().items():
        fields[name] = value[:800] if isinstance(value, str) else value
    line = json.dumps(fields, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
    with contextlib.suppress(OSError):
        os.write(out, line)
        return True
    return False


if __name__ == "__main__":
    main(*sys.argv[1:])
