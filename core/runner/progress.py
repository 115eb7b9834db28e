"""What a person sees while runs go: a live line for each on a terminal, plain lines anywhere
else."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from core.config.run import RunConfig
from core.formatting import counted, printable, spoken
from core.runner.estimate import training_share
from core.runner.launch import Ending
from core.runner.plan import PlannedRun
from core.runner.worker import Message
from core.store.store import Store
from core.study.resolution import ResolvedStudy

if TYPE_CHECKING:  # the report takes a second to import
    from core.report.results import Loaded
    from core.report.verdicts import JudgedStudy, Verdict

HEARTBEAT = 30.0  # least seconds between two lines about running runs
WAITING = 300.0  # and between two about slots that other commands hold


def position(message: Message, bar: bool) -> str:
    """How far a running run is, by all that its child has reported, for a person; with a bar on a
    terminal."""
    words = message.phase or "start"
    if message.phase == "train" and message.total:
        if bar:
            words = f"{'#' * (10 * (message.step or 0) // message.total):.<10}"
        words += f" {message.step}/{message.total}"
    if message.rate is not None:
        words += f", {message.rate:.1f} steps/s"
    if message.dev is not None:
        words += f", dev {message.dev:.2f}"
    return words


class Answers:
    """The verdicts of these studies whenever the `missing` runs complete a check."""

    def __init__(self, studies: Sequence[ResolvedStudy] = (), missing: Sequence[PlannedRun] = ()):
        self.bar = ""  # in a line, where every claim stands
        self._sentences: dict[tuple[str, str], str] = {}
        self._left = {run.run_id for run in missing}
        self._due: list[tuple[ResolvedStudy, set[str]]] = []  # checks, and the runs that they lack
        if missing:
            from core.report.statistics import LOOKS

            for study, seeds in itertools.product(studies, LOOKS):
                if seeds <= study.seeds:
                    runs = {run for cell in study.available for run in cell.run_ids[:seeds]}
                    self._due.append((study, runs & self._left))

    def after(self, run: str, store: Store) -> list[str]:
        """The sentences on claims that a stored run changes; none after the last run, since tables
        follow."""
        self._left.discard(run)
        checked = [study for study, runs in self._due if runs == {run}]
        for _, runs in self._due:
            runs.discard(run)
        if not checked or not self._left:
            return []
        from core.report.verdicts import study_result

        loaded: Loaded = {}
        return self.changed(study_result(study, store, loaded) for study in checked)

    def changed(self, results: Iterable[JudgedStudy]) -> list[str]:
        """The sentences on claims that are new or have changed."""
        sentences = {}
        for result in results:
            for verdict in result.verdicts:
                if sentence := answer(verdict):
                    sentences[result.study.name, verdict.claim.key] = sentence
        new = dict(sentences.items() - self._sentences.items())
        self._sentences |= sentences
        self.bar = "; ".join(self._sentences.values())
        return [f"{study} {sentence}" for (study, _), sentence in sorted(new.items())]


def answer(verdict: Verdict) -> str:
    """Where a claim stands, such as `E7.1: for, 5 of 8 seeds` or `E7.1: supported at 5 seeds`;
    empty before its first check, and without a verdict."""
    from core.report.statistics import LOOKS, SETTLED_OUTCOMES

    key = verdict.claim.key
    if verdict.outcome in SETTLED_OUTCOMES:
        return f"{key}: {verdict.outcome} at {verdict.tested.n} seeds"
    later = [seeds for seeds in LOOKS if seeds > verdict.seeds >= LOOKS[0]]
    if verdict.outcome != "undecided" or not later:
        return ""
    return f"{key}: {verdict.direction or 'undecided'}, {verdict.seeds} of {later[0]} seeds"


class Display:
    """One line for each run that ends; on a terminal live lines for running runs, elsewhere a
    heartbeat while long runs go. `seconds` estimates a run; `jobs` runs go at once, and
    `answers` say where claims stand. `hear` and `note` are called from several threads."""

    def __init__(
        self,
        runs: Sequence[PlannedRun],
        seconds: Callable[[RunConfig], float],
        jobs: int,
        answers: Answers,
        out: TextIO | None = None,
    ):
        from rich.console import Console
        from rich.live import Live

        self._runs = {run.run_id: run for run in runs}
        self._estimates = {run.run_id: seconds(run.config) for run in runs}
        self._open = set(self._runs)  # runs that this command still has to train
        self._going: dict[str, Message] = {}  # all that running runs have reported
        self._jobs = jobs
        self._answers = answers
        self._ended = 0
        self._waited = -math.inf  # when a line said who holds slots
        self._trained: list[tuple[float, float]] = []  # estimated and real seconds of finished runs
        self._spoke = time.monotonic()
        self._lock = threading.RLock()
        # FORCE_COLOR makes a terminal of a file for rich, which would write four frames a second
        # into it.
        is_terminal = (out or sys.stdout).isatty()
        # a notebook's display needs ipywidgets; without them rich warns at each call
        has_widgets = importlib.util.find_spec("ipywidgets")
        self._console = Console(
            file=out,
            force_terminal=None if is_terminal else False,
            force_jupyter=None if has_widgets else False,
        )
        # a context
        self.live = Live(get_renderable=self._lines, console=self._console, transient=True)

    def hear(self, run: str, message: Message) -> None:
        """Take in what a run's child reports, or a note of no run. Without a live display say which
        runs are going, if nothing was said for a while."""
        now = time.monotonic()
        with self._lock:
            if message.started:
                self._open.add(run)
                self._going[run] = Message(step=0, total=self._runs[run].config.train.steps)
            if run in self._going:
                self._going[run] = self._going[run]._replace(**message.stated())
            if message.note:
                label = f"{self._runs[run].label}: " if run else ""
                self.note(f"{label}{message.note}")
            if message.waiting and now - self._waited > WAITING:
                self._waited = now
                self.note(
                    "Waiting for a slot of this machine; a larger --jobs adds slots. Other "
                    f"commands hold slots: {message.waiting}."
                )
            live = self._console.is_terminal and not self._console.is_dumb_terminal
            if self._going and not live and now - self._spoke > HEARTBEAT:
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
            words = "trained by another command"
            if ending.state == "done":
                self._trained.append((self._estimates[run], ending.seconds))
                words = f"{ending.score}, {ending.seconds:.1f} s"
                if self._open:
                    words += f", about {spoken(self.left())} left"
            elif ending.cause:
                words = f"FAILED, {ending.cause}"
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
        if self._answers.bar:
            lines.append(printable(self._answers.bar))
        for run, message in list(self._going.items()):
            where = position(message, self._console.is_terminal)
            lines.append(printable(f"{self._runs[run].label}: {where}"))
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def left(self) -> float:
        """Seconds that the command still needs: what is left of the estimates, corrected by what
        finished runs took, and running ones take by their rates. Takes no lock."""
        pairs = list(self._trained)
        for run, message in list(self._going.items()):
            share = training_share(self._runs[run].config)
            if message.rate and message.total and share:
                pairs.append((share * self._estimates[run], message.total / message.rate))
        longer = 1.0
        expected = sum(pair[0] for pair in pairs)
        if expected:
            longer = sum(pair[1] for pair in pairs) / expected
        parts = []
        for run in list(self._open):
            share = training_share(self._runs[run].config)
            message = self._going.get(run, Message())
            trained = 1.0
            if message.phase in (None, "load", "train"):
                # a run without training has no step
                trained = (message.step or 0) / (message.total or 1)
            parts.append(longer * self._estimates[run] * (1 - share * trained))
        return max(sum(parts) / max(1, min(self._jobs, len(parts))), max(parts, default=0.0))
