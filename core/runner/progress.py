"""What a person sees while runs go: a live line for each on a terminal, plain lines anywhere
else."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from core.runner.launch import Ending
from core.runner.plan import PlannedRun
from core.spec.errors import counted, printable
from core.spec.run import RunConfig

HEARTBEAT = 30.0  # least seconds between two lines about running runs
WEEKS = 14 * 24 * 3600.0  # from here on a time is given in weeks


class Display:
    """One line for each run that ends; on a terminal live lines for running runs, elsewhere a
    heartbeat while long runs go. `seconds` estimates a run; `jobs` runs go at once. `hear` and
    `note` are called from several threads."""

    def __init__(
        self,
        runs: Sequence[PlannedRun],
        seconds: Callable[[RunConfig], float],
        jobs: int,
        out: TextIO | None = None,
        heartbeat: float = HEARTBEAT,
    ):
        from rich.console import Console
        from rich.live import Live

        self._runs = {run.run_id: run for run in runs}
        self._estimates = {run.run_id: seconds(run.config) for run in runs}
        self._open = set(self._runs)  # runs that this command still has to train
        self._going: dict[str, dict[str, Any]] = {}  # running runs, as they last reported
        self._jobs = jobs
        self._ended = 0
        self._waited = False
        # estimated and real seconds of finished runs; no division by none
        self._trained = [(1e-9, 1e-9)]
        self._heartbeat = heartbeat
        self._spoke = time.monotonic()
        self._lock = threading.RLock()
        stream = out or sys.stdout
        is_terminal = stream is not None and stream.isatty()
        # FORCE_COLOR makes a terminal of a file for rich, which would write four frames a second
        # into it.
        self._console = Console(file=out, force_terminal=None if is_terminal else False)
        # a context
        self.live = Live(get_renderable=self._lines, console=self._console, transient=True)

    def hear(self, run: str, message: dict) -> None:
        """Take in what a run's child reports, or a note of no run. Without a live display say which
        runs are going, if nothing was said for a while."""
        with self._lock:
            if "started" in message:
                self._open.add(run)
                # a run without training has no step
                total = max(1, self._runs[run].config.train.steps)
                self._going[run] = {"phase": "start", "step": 0, "total": total}
            if "phase" in message and run in self._going:
                self._going[run] |= {
                    name: value for name, value in message.items() if value is not None
                }
            if "note" in message:
                self.note(f"{self._runs[run].label}: {message['note']}" if run else message["note"])
            if "waiting" in message and not self._waited:
                self._waited = True
                self.note("All slots of this machine are taken by other commands; waiting for one.")
            live = self._console.is_terminal and not self._console.is_dumb_terminal
            if self._going and not live and time.monotonic() - self._spoke > self._heartbeat:
                self.note("; ".join(str(self._lines()).split("\n")))

    def ended(self, ending: Ending) -> None:
        """Count a run as ended, and say how."""
        run = ending.run
        with self._lock:
            self._going.pop(run, None)
            self._open.discard(run)
            if ending.state in ("elsewhere", "stopped"):
                return
            self._ended += 1
            words = f"FAILED, {ending.cause}" if ending.cause else "trained by another command"
            if ending.state == "done":
                self._trained.append((self._estimates[run], ending.seconds))
                left = f", about {spoken(self.left())} left" if self._open else ""
                words = f"{ending.score}, {ending.seconds:.1f} s{left}"
            count = f"[{self._ended:{len(str(len(self._runs)))}}/{len(self._runs)}]"
            self.note(f"{count} {run} {self._runs[run].label}: {words}")

    def note(self, line: str) -> None:
        """Print a line of any kind. An output that takes none stops no training."""
        with self._lock, contextlib.suppress(OSError, SystemExit):  # rich's answer to a closed pipe
            self._spoke = time.monotonic()
            self._console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def _lines(self) -> Any:
        """How many runs have ended, and a line for each running run. Takes no lock: rich's thread
        holds its own, and another thread may hold ours and print."""
        from rich.text import Text

        lines = [
            f"{self._ended} of {counted(len(self._runs), 'run')}, about {spoken(self.left())} left"
        ]
        for run, report in list(self._going.items()):
            step = report["step"]
            total = report["total"]
            what = report["phase"]
            bar = f"{'#' * int(10 * step / total):.<10}" if self._console.is_terminal else what
            what = f"{bar} {step}/{total}" if what == "train" else what
            rate = f", {report['rate']:.1f} steps/s" if "rate" in report else ""
            dev = f", dev {report['dev']:.2f}" if "dev" in report else ""
            lines.append(printable(f"{self._runs[run].label}: {what}{rate}{dev}"))
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def left(self) -> float:
        """Seconds that the open runs still need, by their estimates, corrected by what finished
        runs took."""
        expected, taken = map(sum, zip(*self._trained, strict=True))
        still = {"step": 0, "total": 1}
        going = [(self._estimates[run], self._going.get(run, still)) for run in list(self._open)]
        parts = [
            taken / expected * seconds * (1 - at["step"] / at["total"]) for seconds, at in going
        ]
        return max(sum(parts) / max(1, min(self._jobs, len(parts))), max(parts, default=0.0))


def spoken(seconds: float) -> str:
    """Seconds in the words of a person: `40 s`, `12 min`, `3.5 h`, `23 weeks`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < WEEKS else f"{seconds / WEEKS * 2:.0f} weeks"
