"""What a person sees while runs go: a live line for each running run on a terminal, plain lines anywhere
else."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TextIO

from core.runner.plan import PlannedRun
from core.spec.errors import counted, printable, say
from core.spec.run import RunConfig
from core.store.store import Failure

HEARTBEAT = 30.0  # least seconds between two lines about running runs
WEEKS = 14 * 24 * 3600.0  # from here on a time is given in weeks


class Outcome(NamedTuple):
    """What became of a run, as `core.runner.launch.Ending` has it, with its score in a few words."""

    run: PlannedRun
    state: Literal["done", "found", "failed", "elsewhere", "stopped"]
    seconds: float = 0.0
    failure: Failure | None = None
    score: str = ""  # of a run that is done: its test average, or its status


@dataclass(slots=True)
class Going:
    """A running run, as it last reported."""

    run: PlannedRun
    phase: str = "start"
    step: int = 0
    total: int = 0
    rate: float | None = None
    dev: float | None = None

    def report(self, message: dict) -> None:
        """Take in what the run reports; its rate and its development score stay until the next ones."""
        self.phase, self.step = str(message["phase"]), int(message.get("step") or 0)
        self.total = int(message.get("total") or self.total)
        for name in ("rate", "dev"):
            if message.get(name) is not None:
                setattr(self, name, message[name])

    @property
    def where(self) -> str:
        """Step, rate and last development score."""
        parts = [f"{self.phase} {self.step}/{self.total}" if self.phase == "train" else self.phase]
        parts += [f"{self.rate:.1f} steps/s"] if self.rate else []
        parts += [f"dev {self.dev:.2f}"] if self.dev is not None else []
        return ", ".join(parts)


class Display:
    """Plain lines: one for each run that ends, and a heartbeat while long runs go. `seconds` estimates a run;
    `jobs` runs go at once. `hear` and `note` are called from several threads."""

    def __init__(
        self, runs: Sequence[PlannedRun], seconds: Callable[[RunConfig], float], jobs: int,
        out: TextIO | None = None, heartbeat: float = HEARTBEAT,
    ):  # fmt: skip
        self.jobs = jobs
        self._runs = {run.run_id: run for run in runs}
        self._estimates = {run.run_id: seconds(run.config) for run in runs}
        self._open = set(self._runs)  # runs that this command still has to train
        self._going: dict[str, Going] = {}
        self._ended = 0
        self._trained = [0.0, 0.0]  # estimated and real seconds of finished runs
        self._out, self._heartbeat = out, heartbeat
        self._spoke = time.monotonic()
        self._waited = False
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def hear(self, run: str, message: dict) -> None:
        """Take in what a run's child reports, or a note of no run."""
        with self._lock:
            if "started" in message:
                self._open.add(run)
                self._going[run] = Going(self._runs[run], total=self._runs[run].config.train.steps)
            if "phase" in message and run in self._going:
                self._going[run].report(message)
            if "note" in message:
                self.note(f"{self._runs[run].label}: {message['note']}" if run else message["note"])
            if "waiting" in message and not self._waited:  # worth a line once: other commands hold the slots
                self._waited = True
                self.note(message["waiting"])
            self.show()

    def ended(self, outcome: Outcome) -> None:
        """Count a run as ended, and say how."""
        run = outcome.run.run_id
        with self._lock:
            self._going.pop(run, None)
            self._open.discard(run)
            self._ended += outcome.state in ("done", "found", "failed")
            match outcome.state:
                case "done":
                    self._trained[0] += self._estimates[run]
                    self._trained[1] += outcome.seconds
                    left = f", about {spoken(self.left())} left" if self._open else ""
                    line = f"{outcome.score}, {outcome.seconds:.1f} s{left}"
                case "found":
                    line = "trained by another command"
                case "failed" if outcome.failure is not None:
                    why = outcome.failure.cause, outcome.failure.detail
                    line = f"FAILED, {': '.join(filter(None, why))}"
                case _:
                    return
            count = f"[{self._ended:{len(str(len(self._runs)))}}/{len(self._runs)}]"
            self.note(f"{count} {run} {outcome.run.label}: {line}")

    def note(self, *lines: str) -> None:
        """Print lines of any kind. An output that takes none stops no training."""
        with self._lock, contextlib.suppress(OSError):
            self._spoke = time.monotonic()
            say(*lines, out=self._out)

    def show(self) -> None:
        """Say which runs are going, if nothing was said for a while."""
        if self._going and time.monotonic() - self._spoke > self._heartbeat:
            parts = "; ".join(f"{going.run.label}: {going.where}" for going in self._going.values())
            self.note(f"{self.summary()}; running: {parts}")

    def summary(self) -> str:
        """How many runs have ended, and how long the others will take."""
        return f"{self._ended} of {counted(len(self._runs), 'run')}, about {spoken(self.left())} left"

    def left(self) -> float:
        """Seconds that the open runs still need. Running runs count by their own rates. The others count by
        their estimates, corrected by what finished runs took and running runs will have taken."""
        going = {run: one for run, one in self._going.items()}
        whole = {run: one.total / one.rate for run, one in going.items() if one.rate and one.total}
        estimated = self._trained[0] + sum(self._estimates[run] for run in whole)
        speed = (self._trained[1] + sum(whole.values())) / estimated if estimated else 1.0
        own = [
            whole.get(run, self._estimates[run] * speed)
            * (1 - min(1.0, one.step / one.total if one.total else 0.0))
            for run, one in going.items()
        ]
        work = sum(self._estimates[run] for run in self._open - set(going)) * speed + sum(own)
        return max(work / max(1, min(self.jobs, len(self._open))), max(own, default=0.0))


class LiveDisplay(Display):
    """On a terminal: lines scroll by above a bar for each running run and one for the table."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        words = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[where]"))
        self._progress = Progress(
            next(words), BarColumn(20), next(words), TimeElapsedColumn(), transient=True
        )
        self._table = self._progress.add_task("All runs", total=len(self._runs), where="")
        self._bars: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(self, *details) -> None:
        self._progress.__exit__(*details)

    def note(self, *lines: str) -> None:
        """Print lines above the live ones."""
        with contextlib.suppress(OSError):
            text = "\n".join(map(printable, lines))
            self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def ended(self, outcome: Outcome) -> None:
        """Count a run as ended, and say how."""
        super().ended(outcome)
        self.show()

    def show(self) -> None:
        """Bring the bars to where the runs are."""
        with self._lock:
            for run in [run for run in self._bars if run not in self._going]:
                self._progress.remove_task(self._bars.pop(run))
            for run, going in self._going.items():
                if run not in self._bars:
                    self._bars[run] = self._progress.add_task(printable(going.run.label), where="")
                self._progress.update(
                    self._bars[run], total=max(1, going.total), completed=going.step, where=going.where
                )
            self._progress.update(self._table, completed=self._ended, where=self.summary())


def display(runs: Sequence[PlannedRun], seconds: Callable[[RunConfig], float], jobs: int) -> Display:
    """The display that fits the standard output."""
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    kind = LiveDisplay if sys.stdout.isatty() and not dumb else Display
    return kind(runs, seconds, jobs)


def spoken(seconds: float) -> str:
    """Seconds in the words of a person: `40 s`, `12 min`, `3.5 h`, `23 weeks`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < WEEKS else f"{seconds / WEEKS * 2:.0f} weeks"
