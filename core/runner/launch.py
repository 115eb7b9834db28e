"""One run from claim to outcome: claim, look again, slot, child, verdict. Never raises; the store decides what is done."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from core.runner.devices import Slot, Slots
from core.runner.keeping import lacking
from core.runner.plan import PlannedRun
from core.runner.process.child import OUT_OF_MEMORY
from core.runner.process.driver import Child, Nursery
from core.runner.progress import Display
from core.spec.errors import UserError
from core.spec.identity import canonical_json
from core.spec.run import Execution
from core.store import locks
from core.store.store import Failure, Store

POLL = 0.25  # seconds between looks at a claim, a slot or the stop sign
PATIENCE = 5.0  # seconds that a child which was asked to end is given before it is killed
TAIL_LINES = 12
LESS_MEMORY = "Use --jobs 1, or a smaller train.batch_size, which is another experiment."
TAIL_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a run. `found`: another command has stored it meanwhile; `elsewhere`: another command trains it now."""

    run: PlannedRun
    state: Literal["done", "found", "failed", "elsewhere", "stopped"]
    seconds: float = 0.0
    failure: Failure | None = None
    score: str = ""  # of a run that is done: its test average, or its status

    @property
    def cause(self) -> Failure:
        """Why the run failed, where it did."""
        return self.failure or Failure(cause="unknown")


class Stop:
    """The request to start no more runs, and how long children may still go on."""

    def __init__(self):
        self.asked = False  # no Event: a signal handler that sets one can find its lock held by the thread it interrupts
        self.signal: int | None = None
        self.deadline = float("inf")

    def ask(self, number_of_signal: int, grace: float) -> None:
        """Stop; running children have `grace` seconds to end by themselves. Asked again: none."""
        self.deadline = time.monotonic() + (0.0 if self.asked else grace)
        self.signal = self.signal or number_of_signal
        self.asked = True


class Launcher:
    """Starts runs on one machine. `provenance` is recorded with each result; `job` is module:function, `warm` what to import or call first."""

    lost = ""  # this machine is never out of reach; a cluster can be

    def __init__(
        self, *, store: Store, execution: Execution, slots: Slots, display: Display, job: str, warm: tuple[str, ...] = (),
        time_limit: float | None = None, provenance: dict[str, object] | None = None, use_published: bool = False,
        force: bool = False,
    ):  # fmt: skip
        self.store = store
        self.stop = Stop()
        self._execution = execution
        self._slots = slots
        self._display = display
        self._time_limit = time_limit
        self._provenance = provenance or {}
        self._use_published = use_published
        self._force = force
        self._lock = threading.Lock()
        self._restarts = 1
        self._begin: Callable[[], Nursery] = lambda: Nursery(job, warm, execution.threads, store.root / "logs" / "nursery.log")
        self._nursery = self._begin()

    def wait_ready(self) -> None:
        """Wait until the training code is imported, or somebody asks to stop. Raises UserError if it cannot be."""
        self._nursery.wait_ready(lambda: self.stop.asked)

    def again(self, display: Display) -> None:
        """Go on with other runs under the same circumstances: another display, and nobody has asked to stop. The nursery stays warm; a
        dead nursery is started anew."""
        self._display, self.stop, self._restarts = display, Stop(), 1
        if not self._nursery.alive:
            self._nursery = self._begin()

    def close(self) -> None:
        """Let the nursery go."""
        self._nursery.close()

    def launch(self, run: PlannedRun, wait: bool = False) -> Outcome:
        """Train one run unless it is done or held elsewhere; with `wait`, wait for the command that holds it and look what it left."""
        claim: int | None = None
        try:
            while not self.stop.asked:
                claim = self.store.claim(run.run_id)
                if claim is not None:
                    break
                if not wait:
                    self._display.elsewhere(run)
                    return Outcome(run=run, state="elsewhere")
                time.sleep(POLL)
            if self.stop.asked or claim is None:
                return Outcome(run=run, state="stopped")
            if (wait or not self._force) and self._found(run):
                self._display.passed(run, "trained by another command")
                return Outcome(run=run, state="found")
            if self._force and not wait:
                self.store.drop_checkpoint(run.run_id)
            return self._in_slot(run, claim)
        except Exception as error:  # one run's trouble is not the others'
            return failed(run, 0.0, Failure(cause="not started", detail=str(error)), self.store, self._display)
        finally:
            if claim is not None:
                locks.release(claim)

    def _found(self, run: PlannedRun) -> bool:
        if self._execution.keep_models and lacking(self.store, run):
            return False
        published = self._use_published and self.store.verified_published(run.run_id)
        return self.store.verified(run.run_id, claimed=True) or published

    def _in_slot(self, run: PlannedRun, claim: int) -> Outcome:
        waiting = time.monotonic()
        while (slot := self._slots.take(run.label)) is None:
            if self.stop.asked:
                return Outcome(run=run, state="stopped")
            self._display.waiting(run, time.monotonic() - waiting, self._slots.full)
            time.sleep(POLL)
        try:
            return self._trained(run, claim, slot)
        finally:
            self._slots.give_back(slot)

    def _trained(self, run: PlannedRun, claim: int, slot: Slot) -> Outcome:
        started, before = time.monotonic(), self.store.stamp(run.run_id)
        reader, writer = os.pipe()
        try:
            self._display.started(run)
            try:
                child = self._start(run, slot.environment, (claim, slot.descriptor, writer))
            finally:
                os.close(writer)
            told = self._supervise(run, child, reader)
        finally:
            os.close(reader)
        return self._outcome(run, child, told, before, time.monotonic() - started)

    def _start(self, run: PlannedRun, environment: dict[str, str], descriptors: tuple[int, ...]) -> Child:
        request = {
            "run_id": run.run_id,
            "config": canonical_json(run.config),
            "execution": asdict(self._execution),
            "environment": environment,
            "log": str(self.store.log(run.run_id)),
            "time_limit": self._time_limit,
            "provenance": self._provenance,
        }
        with self._lock:
            while True:
                if not self._nursery.alive:
                    if not self._restarts:
                        raise UserError("The process that starts the runs died twice; see its log and give the same command again.")
                    self._restarts -= 1
                    self._nursery = self._begin()
                    self.wait_ready()
                with contextlib.suppress(OSError):  # it may die at this very moment, and then counts as dead
                    return self._nursery.start(request, descriptors)

    def _supervise(self, run: PlannedRun, child: Child, reader: int) -> dict | None:
        """Follow a child to its end. Returns what it told of its failure, or None. A closed pipe means that it has ended."""
        buffer, told, open_ = b"", None, True
        while open_ or not child.ended.is_set():
            if open_ and select.select([reader], [], [], POLL)[0]:
                part = os.read(reader, 65_536)
                open_ = bool(part)
                *lines, buffer = (buffer + part).split(b"\n")
                for message in filter(None, map(_message, lines)):
                    told = message if "failed" in message else told
                    if "phase" in message:
                        self._display.progress(run, message)
                    if "note" in message:
                        self._display.note(f"{run.label}: {message['note']}")
            elif not open_:
                child.ended.wait(POLL)
            self._display.tick()
            if self.stop.asked:
                over = time.monotonic() - self.stop.deadline
                if over >= PATIENCE:
                    child.kill(signal.SIGKILL)
                elif over >= 0 or self._execution.checkpoint_minutes is not None:
                    child.kill(signal.SIGTERM)  # a training with checkpoints writes one and ends, so it need not wait
        return told

    def _outcome(self, run: PlannedRun, child: Child, told: dict | None, before: tuple | None, seconds: float) -> Outcome:
        if self.store.stamp(run.run_id) not in (None, before):  # storing is a child's last act: however it ended, the run is done
            return self._done(run, seconds)
        if child.status == -signal.SIGTERM and not self.stop.asked:
            time.sleep(POLL)  # a scheduler warns all processes at once, and our own handler may be a moment behind
        if self.stop.asked and child.status in (-signal.SIGTERM, -signal.SIGKILL, None):
            self._display.dropped(run)
            return Outcome(run=run, state="stopped", seconds=seconds)
        failure = diagnosis(child.status, told, self._time_limit)
        log = self.store.log(run.run_id)
        failure = replace(failure, log_tail=tail(log), log=str(log), exit_status=child.status)
        return failed(run, seconds, failure, self.store, self._display)

    def _done(self, run: PlannedRun, seconds: float) -> Outcome:
        try:
            score = self._score(run)
        except UserError as error:
            return failed(run, seconds, Failure(cause="not stored", detail=str(error)), self.store, self._display)
        self._display.finished(run, seconds, score)
        return Outcome(run=run, state="done", seconds=seconds, score=score)

    def _score(self, run: PlannedRun) -> str:
        """The run's test average for its progress line, or its status."""
        stored = self.store.load(run.run_id)
        rows = stored.rows
        metric = f"spearman_{run.config.sts.aggregate}"
        chosen = rows[(rows["checkpoint"] == "selected") & (rows["task"] == "avg") & (rows["metric"] == metric)]
        number = f"{chosen['value'].iloc[0]:.2f}" if len(chosen) else ""
        return number if stored.status == "ok" and number else f"{number} {stored.status}".strip()


def failed(run: PlannedRun, seconds: float, failure: Failure, store: Store, display: Display) -> Outcome:
    """The outcome of a run that failed, once the failure is recorded and shown."""
    try:
        store.record_failure(run.run_id, failure)
    except UserError as error:
        display.note(str(error))
    display.failed(run, failure)
    return Outcome(run=run, state="failed", seconds=seconds, failure=failure)


def diagnosis(status: int | None, told: dict | None, time_limit: float | None) -> Failure:
    """A child's failure by cause, from its exit status (None: unknown) and what it told before it ended."""
    if told is not None:
        cause, detail = str(told["failed"]), str(told.get("detail", ""))
        if cause == OUT_OF_MEMORY:
            detail = f"{LESS_MEMORY} {detail[:200]}".strip()  # CUDA's own words go on about its allocator; the log has them
        return Failure(cause=cause, detail=detail)
    if status == 0:
        return Failure(cause="no result", detail="The run's process ended as if all were well and stored nothing.")
    if status is None:
        return Failure(cause="launcher died", detail="The process that starts the runs was killed, and this run left no result.")
    if status == -signal.SIGALRM and time_limit is not None:
        return Failure(cause=f"timed out after {time_limit:g} s", detail="Raise --time-limit if the run needs longer.")
    if status in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return Failure(cause="killed by signal 9 (out of memory?)", detail=LESS_MEMORY)
    if status < 0:
        return Failure(cause=f"killed by signal {-status} ({signal.Signals(-status).name})")
    return Failure(cause=f"exit status {status}")


def tail(log: Path) -> tuple[str, ...]:
    """The last lines of a log, however long it is."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return ()
    plain = ("".join(c if c.isprintable() else " " for c in line[:400]) for line in lines if line.strip())
    return tuple(plain)[-TAIL_LINES:]  # without what would move a terminal's cursor


def _message(line: bytes) -> dict | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
