"""The warm process: imports the training code once, then forks a child for each run.

Requests arrive as lines of JSON on the standard input, reports leave as lines of JSON on the standard output.
The child takes the claim on its run and a slot of the machine, and holds both until it ends, however it ends.
The worker itself computes nothing and starts no thread, since a fork copies no thread. When the command is
gone, the worker waits for its children and ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import faulthandler
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from core.runner import devices
from core.runner.plan import lacks_model
from core.spec.errors import UserError
from core.spec.identity import from_canonical_json, run_id
from core.spec.result import Result
from core.spec.run import Execution, RunConfig
from core.store import files, locks
from core.store.store import Store

POLL = 0.05  # seconds between looks at children, and at slots that are taken
PATIENCE = 2.0  # seconds of waiting for a slot before the command says who holds the slots
OUT_OF_MEMORY = "out of memory"
# Words of the CPU's allocator and of CUDA.
SHORT = ("can't allocate memory", OUT_OF_MEMORY, "status_alloc_failed")
IGNORED = (signal.SIGTERM, signal.SIGHUP)  # a scheduler warns every process; the command decides
Job = Callable[[RunConfig, Execution, Callable[[dict], None]], Result]


def main(job_name: str, *warm: str) -> None:
    """Serve until the command is gone and the last child has ended."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever prints prints into the log
    os.set_blocking(out, False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        module, _, function = job_name.partition(":")
        job: Job = getattr(importlib.import_module(module), function)
        for name in ("pandas", *warm):  # pyarrow imports pandas at its first array: once a child
            importlib.import_module(name)
    except Exception as error:
        _write(out, {"broken": f"{type(error).__name__}: {error}"})
        raise
    gc.collect()
    gc.freeze()  # keeps a child's collections from copying what it shares with the others
    _write(out, {"ready": True})
    serve(out, job)


def serve(out: int, job: Job) -> None:
    """Fork a child for each request, and report how each child ended."""
    children: dict[int, dict] = {}
    reports: list[dict] = []  # that wait for a command which reads slowly
    buffer, listening = b"", True
    while listening or children:
        waiting = POLL if children or reports else None
        if select.select([0] if listening else [], [], [], waiting)[0]:
            part = os.read(0, 65_536)
            listening = bool(part)
            *lines, buffer = (buffer + part).split(b"\n")
            for request in map(json.loads, lines):
                pid = os.fork()
                if pid == 0:
                    _become_child(request, out, job)  # never returns
                children[pid] = request
        for pid, request in list(children.items()):
            files.bound_log(request["log"])
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del children[pid]
                files.bound_log(request["log"])
                reports.append({"run": request["run_id"], "ended": os.waitstatus_to_exitcode(status)})
        reports = [report for report in reports if not _write(out, report)]


def _become_child(request: dict, out: int, job: Job) -> None:
    status = 1
    try:
        status = live(request, Report(out, request["run_id"]), job)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)  # skips what the worker registered for its own end


def live(request: dict, report: Report, job: Job) -> int:
    """One child from its fork to its exit status. Never raises."""
    os.setsid()  # the terminal's Ctrl-C is for the command, which decides what to do with its children
    for number in (signal.SIGINT, *IGNORED):
        signal.signal(number, signal.SIG_DFL)
    report({"pid": os.getpid()})
    cause = "not started"
    try:
        if not begin(request, report):
            return 0
        report({"started": True})
        cause = "refused"
        result = train(request, report, job)
        cause = "not stored"
        store_result(request, result)
        return 0
    except UserError as error:
        detail = str(error)
        with contextlib.suppress(OSError):  # a log on a full disk
            print(error, file=sys.stderr)
    except Exception as error:
        cause, detail = cause_of(error), f"{type(error).__name__}: {error}"
        with contextlib.suppress(Exception):  # a log that cannot be written must not hide the cause
            traceback.print_exc()
    report.failure(cause, detail)
    return 1


def begin(request: dict, report: Report) -> bool:
    """Take the claim and a slot, which this process holds until it ends, and make the process the run's own.
    Returns False if there is nothing to train. Raises UserError."""
    run, store = request["run_id"], _store(request)
    if store.claim(run) is None:
        report({"state": "elsewhere"})
        return False
    if not request["force"] and _stored(store, request):
        report({"state": "found"})
        return False
    if request["force"]:
        store.drop_checkpoint(run)
    settle(request, take_slot(request, report))
    return True


def _store(request: dict) -> Store:
    published = request["published"]
    return Store(Path(request["execution"]["results_dir"]), published and Path(published))


def _stored(store: Store, request: dict) -> bool:
    run = request["run_id"]
    config, _ = from_canonical_json(request["config"])
    if request["execution"]["keep_models"] and lacks_model(store, run, config):
        return False
    return store.verified(run, claimed=True) or request["use_published"] and store.verified_published(run)


def take_slot(request: dict, report: Report) -> str:
    """Wait for a free slot. Returns its name."""
    names, folder = tuple(request["slots"]), Path(request["slot_folder"])
    began, said = time.monotonic(), False
    while (slot := locks.take_slot(names, folder)) is None:
        if not said and time.monotonic() - began > PATIENCE:
            said = True
            report({"waiting": devices.holders(names, folder)})
        if report.unheard():
            os._exit(1)  # the command is gone before this run began
        time.sleep(POLL)
    locks.note_holder(slot[1], request["holder"])
    return slot[0]


def settle(request: dict, slot: str) -> None:
    """Give this process the run's log, device, limits and time."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    os.environ.update(devices.slot_environment(slot))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    faulthandler.enable(file=2)
    with contextlib.suppress(OSError):  # if memory runs out, the kernel should end this run, not the command
        Path("/proc/self/oom_score_adj").write_text("500")
    if request["time_limit"] is not None:
        # The kernel ends the process even if it hangs in foreign code or the command is gone.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, request["time_limit"])


def train(request: dict, report: Report, job: Job) -> Result:
    """Run the job on the configuration of the request. Raises UserError."""
    config, _ = from_canonical_json(request["config"])
    if run_id(config) != request["run_id"]:
        raise UserError(
            f"Run {request['run_id']} arrived as {run_id(config)}; "
            "two versions of the code are mixed, so start the command again."
        )
    result = job(config, Execution(**request["execution"]), report)
    steps = config.train.steps
    report({"phase": "save", "step": steps, "total": steps, "rate": None, "dev": None})
    return result


def store_result(request: dict, result: Result) -> None:
    """Store what the job left. Raises UserError."""
    config, _ = from_canonical_json(request["config"])
    complete = dataclasses.replace(result, provenance={**request["provenance"], **result.provenance})
    _store(request).save(config, complete)


def cause_of(error: Exception) -> str:
    """A failure in a word or two: out of memory, disk full, or exception. torch has no class of its own for
    the CPU's memory, nor for the memory of CUDA's libraries."""
    number = error.errno if isinstance(error, OSError) else None
    short = isinstance(error, RuntimeError) and any(words in str(error).lower() for words in SHORT)
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if short or named or number == errno.ENOMEM:
        return OUT_OF_MEMORY
    return "disk full" if number in (errno.ENOSPC, errno.EDQUOT) else "exception"


class Report:
    """Lines of JSON to the command. Progress may be lost if nobody reads it; a failure waits a little."""

    def __init__(self, out: int, run: str):
        self.out, self.run = out, run

    def __call__(self, message: dict[str, Any]) -> None:
        _write(self.out, {"run": self.run, **message})

    def failure(self, cause: str, detail: str) -> None:
        """Report why the run failed, in one line."""
        select.select([], [self.out], [], 5.0)
        self({"state": "failed", "cause": cause, "detail": " ".join(detail.split())})

    def unheard(self) -> bool:
        """Whether nobody can read the reports any more."""
        poll = select.poll()
        poll.register(self.out, 0)
        return bool(poll.poll(0))


def _write(out: int, message: dict) -> bool:
    """Write one line, below PIPE_BUF and so whole or not at all. Returns False if the pipe is full."""
    short = {name: value[:800] if isinstance(value, str) else value for name, value in message.items()}
    line = json.dumps(short, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
    try:
        os.write(out, line)
    except BlockingIOError:
        return False
    except OSError:
        pass  # the command is gone; the store is what counts
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
