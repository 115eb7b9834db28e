"""What a person sees while runs go: one live line a running run on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Self, TextIO

from core.runner.pace import Going, Pace, spoken
from core.runner.plan import PlannedRun
from core.spec.errors import counted, printable, say
from core.store.store import Failure

HEARTBEAT = 30.0  # seconds of silence after which the plain display says that it is still there


class Display:
    """Plain lines: one for each run that ends, and a heartbeat while long ones go. Called from every launching thread."""

    def __init__(self, pace: Pace, out: TextIO | None = None, heartbeat: float = HEARTBEAT):
        self.pace = pace
        self._out = out or sys.stdout
        self._heartbeat = heartbeat
        self._spoke = time.monotonic()
        self._wait_told = False
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def started(self, run: PlannedRun) -> None:
        """A run has its slot."""
        with self._lock:
            self.pace.start(run)

    def progress(self, run: PlannedRun, message: dict) -> None:
        """A run said where it is."""
        with self._lock:
            self.pace.report(run, message)

    def waiting(self, run: PlannedRun, seconds: float, why: Callable[[], str]) -> None:
        """A run waits for a slot; worth a word once, since another command must be holding it: `why` says which."""
        with self._lock:
            if seconds > 2.0 and not self._wait_told:
                self._wait_told = True
                self.note(why())

    def tick(self) -> None:
        """Called a few times a second by every launching thread."""
        with self._lock:
            if self.pace.going and time.monotonic() - self._spoke > self._heartbeat:
                parts = [f"{going.run.label}: {where(going)}" for going in self.pace.going.values()]
                self.note(f"{self._count()} running: {'; '.join(parts)}; about {spoken(self.pace.left())} left")

    def finished(self, run: PlannedRun, seconds: float, score: str) -> None:
        """A run ended and is stored."""
        with self._lock:
            self.pace.end(run, seconds)
            self.note(f"{self._count()} {run.run_id} {run.label}: {score}, {seconds:.1f} s{self._left()}")

    def failed(self, run: PlannedRun, failure: Failure) -> None:
        """A run failed."""
        with self._lock:
            self.pace.end(run, None)
            detail = f": {failure.detail}" if failure.detail else ""
            self.note(f"{self._count()} {run.run_id} {run.label}: FAILED, {failure.cause}{detail}")

    def elsewhere(self, run: PlannedRun) -> None:
        """A run is being trained by another command."""
        with self._lock:
            self.pace.elsewhere(run)

    def passed(self, run: PlannedRun, why: str) -> None:
        """A run needs no training any more, since another command has trained it."""
        with self._lock:
            self.pace.elsewhere(run)
            self.pace.end(run, None)
            self.note(f"{self._count()} {run.run_id} {run.label}: {why}")

    def dropped(self, run: PlannedRun) -> None:
        """A run was ended because the command is stopping."""
        with self._lock:
            self.pace.going.pop(run.run_id, None)

    def note(self, *lines: str) -> None:
        """Print lines of any kind."""
        with self._lock:
            self._spoke = time.monotonic()
            say(*lines, out=self._out)

    def _count(self) -> str:
        width = len(str(self.pace.total))
        return f"[{self.pace.ended:{width}}/{self.pace.total}]"

    def _left(self) -> str:
        return f", about {spoken(self.pace.left())} left" if self.pace.ended < self.pace.total else ""


class LiveDisplay(Display):
    """On a terminal: finished runs scroll by above one line for each running run and one for the table."""

    def __init__(self, pace: Pace):
        super().__init__(pace, heartbeat=float("inf"))
        from rich.live import Live

        self._live = Live(get_renderable=self._picture, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *details) -> None:
        self._live.__exit__(*details)

    def note(self, *lines: str) -> None:
        """Print lines above the live ones."""
        self._live.console.print("\n".join(map(printable, lines)), markup=False, highlight=False, soft_wrap=True)

    def _picture(self):
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            grid = Table.grid(padding=(0, 2))
            for going in list(self.pace.going.values()):
                left = self.pace.seconds_left(going)
                bar = ProgressBar(total=max(1, going.total), completed=going.step, width=20)
                grid.add_row(Text(going.run.label), bar, Text(where(going)), Text(f"{spoken(left)} left" if left is not None else ""))
            elapsed = spoken(time.monotonic() - self.pace.began)
            table = f"{self.pace.ended} of {counted(self.pace.total, 'run')} after {elapsed}, about {spoken(self.pace.left())} left"
            return Group(grid, Text(table))


def where(going: Going) -> str:
    """Step, rate and last development score of a running run."""
    parts = [f"{going.phase} {going.step}/{going.total}" if going.phase == "train" else going.phase]
    if going.rate:
        parts.append(f"{going.rate:.1f} steps/s")
    if going.dev is not None:
        parts.append(f"dev {going.dev:.2f}")
    return ", ".join(parts)


def display(pace: Pace) -> Display:
    """The display that fits the standard output."""
    return LiveDisplay(pace) if sys.stdout.isatty() else Display(pace)
