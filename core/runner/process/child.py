"""The life of one run's process, between the fork and the exit status: surroundings, job, store."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import faulthandler
import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path

from core.spec.errors import UserError
from core.spec.identity import from_canonical_json, run_id
from core.spec.result import Result
from core.spec.run import Execution, RunConfig
from core.store.store import Store

OUT_OF_MEMORY = "out of memory"
SHORT = ("can't allocate memory", OUT_OF_MEMORY, "status_alloc_failed")  # in errors of a CPU's allocator, CUDA, cuBLAS and cuDNN
Job = Callable[[RunConfig, Execution, Callable[[dict], None]], Result]


def live(request: dict, pipe: int, job: Job) -> int:
    """Train the run of this request and store its result; the exit status. Never raises."""
    report = Report(pipe)
    try:
        settle(request)
        return train(request, report, job)
    except UserError as error:
        said, cause = str(error), "not stored" if isinstance(error, NotStored) else "refused"
        with contextlib.suppress(OSError):  # a log on a full disk
            print(error, file=sys.stderr)
    except Exception as error:
        said, cause = f"{type(error).__name__}: {error}", cause_of(error)
        with contextlib.suppress(Exception):  # neither must a log that cannot be written hide the cause, nor memory that is short
            traceback.print_exc()
    report.failure(cause, said)
    return 1


class NotStored(UserError):
    """The run ended well and its result could not be written."""


def cause_of(error: Exception) -> str:
    """A failure in a word or two: out of memory, disk full, or exception. torch has no class of its own for a CPU's memory, nor for
    that of CUDA's libraries."""
    number = error.errno if isinstance(error, OSError) else None
    short = isinstance(error, RuntimeError) and any(words in str(error).lower() for words in SHORT)
    if short or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or number == errno.ENOMEM:
        return OUT_OF_MEMORY
    return "disk full" if number in (errno.ENOSPC, errno.EDQUOT) else "exception"


def settle(request: dict) -> None:
    """Make this process the run's own: session, log, environment, time limit."""
    os.setsid()  # the terminal's Ctrl-C is for the driver, which decides what to do with its children
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    os.environ.update(request["environment"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    faulthandler.enable(file=2)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:  # if memory runs out, the kernel should take this run and neither the driver nor the nursery
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:
        pass
    if request["time_limit"] is not None:
        # The kernel ends the process even if it hangs in foreign code or the driver is gone.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, request["time_limit"])


def train(request: dict, report: Report, job: Job) -> int:
    """Run the job on the configuration that was sent, and store what it leaves."""
    config, _ = from_canonical_json(request["config"])
    if run_id(config) != request["run_id"]:
        raise UserError(
            f"Run {request['run_id']} arrived as {run_id(config)}; two versions of the code are mixed, so start the command again."
        )
    execution = Execution(**request["execution"])
    result = job(config, execution, report.progress)
    report.progress({"phase": "save", "step": config.train.steps, "total": config.train.steps, "rate": None, "dev": None})
    complete = dataclasses.replace(result, provenance={**request["provenance"], **result.provenance})
    try:
        Store(Path(execution.results_dir), None).save(config, complete)
    except UserError as error:
        raise NotStored(str(error)) from error
    return 0


class Report:
    """Lines of JSON to the driver. Progress may be lost if nobody reads it; a failure is told if anybody does."""

    def __init__(self, pipe: int):
        self.pipe = pipe
        os.set_blocking(pipe, False)

    def progress(self, message: dict) -> None:
        """Pass on where the run is: phase, step, total, rate (steps a second), dev (last development score)."""
        self._write(message)

    def failure(self, cause: str, detail: str) -> None:
        """Pass on why the run failed, in one line, waiting a little for a busy driver."""
        select.select([], [self.pipe], [], 5.0)
        line = " ".join(detail.split())[:1000]
        while len(json.dumps(line)) > 3000:  # in JSON one character may take twelve
            line = line[: len(line) // 2]
        self._write({"failed": cause, "detail": line})

    def _write(self, message: dict) -> None:
        try:
            os.write(self.pipe, json.dumps(message).encode() + b"\n")  # below PIPE_BUF: whole or not at all
        except OSError:
            pass  # the driver is gone or slow; the store is what counts
