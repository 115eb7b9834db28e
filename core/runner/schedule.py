"""Training what is missing: schedule through joblib, go on after failures, stop in order, say what happened."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import joblib

from core.runner.launch import Launcher, Outcome, Stop
from core.runner.plan import PlannedRun
from core.runner.progress import Display
from core.spec.errors import are, counted

if TYPE_CHECKING:
    from core.runner.cluster.driver import Cluster

# How runs are spread over workers: called with the launching function, the runs in order, and how many go at once.
Schedule = Callable[[Callable[[PlannedRun], Outcome], Sequence[PlannedRun], int], Sequence[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What became of every run that was to be trained."""

    outcomes: tuple[Outcome, ...]
    stopped_by: int | None = None  # the signal that ended the command early
    begun: int = 0  # runs without a result that left a checkpoint
    lost: str = ""  # why the command could not go on, in a sentence

    def of(self, state: str) -> tuple[Outcome, ...]:
        """The outcomes of one kind."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == state)

    @property
    def exit_status(self) -> int:
        """0 if every run is stored, 1 if a run failed or the cluster was lost, 128 + signal if the command was stopped."""
        if self.stopped_by is not None:
            return 128 + self.stopped_by
        return 1 if self.of("failed") or self.lost else 0

    def lines(self, again: str) -> list[str]:
        """What to print at the end; `again` is the command that trains just what is still missing."""
        counts = {state: len(self.of(state)) for state in ("done", "found", "failed", "stopped")}
        said = [f"Trained {counts['done']} of {counted(len(self.outcomes), 'run')}."]
        if counts["found"]:
            said.append(f"{counts['found']} were trained by another command meanwhile.")
        lines = [" ".join(said)]
        for outcome in self.of("failed"):
            failure = outcome.cause
            lines += ["", f"FAILED {outcome.run.run_id}: {failure.cause}{'. ' + failure.detail if failure.detail else ''}"]
            lines += [f"  cells: {'; '.join(outcome.run.cells)}; seed {outcome.run.seed}"]
            lines += [f"  | {line}" for line in failure.log_tail]
            lines += [f"  log: {failure.log}"] if failure.log else []
        begun = f", {self.begun} of them from a checkpoint" if self.begun else ""
        if self.stopped_by is not None:
            lines += [
                "",
                f"Stopped by {signal.Signals(self.stopped_by).name}; {are(counts['stopped'], 'run')} still to be trained{begun}. Go on with:",
            ]
            lines += [f"  {again}"]
        elif self.lost:
            lines += ["", f"{self.lost} {are(counts['stopped'], 'run')} open{begun}. Go on with:", f"  {again}"]
        elif counts["failed"]:
            lines += [
                "",
                f"{counted(counts['failed'], 'run')} failed; finished ones are kept. To train just those again{begun}:",
                f"  {again}",
            ]
        return lines


def train(
    missing: Sequence[PlannedRun],
    launcher: Launcher | Cluster,
    display: Display,
    jobs: int,
    schedule: Schedule,
    grace: float = 0.0,
) -> Summary:
    """Train these runs, `jobs` at once; those that another command holds are waited for at the end.

    A stopped command leaves its children `grace` seconds to end by themselves.
    """

    with stopping(launcher.stop, grace):
        launcher.wait_ready()
        outcomes = list(schedule(launcher.launch, missing, jobs))
        held = [outcome.run for outcome in outcomes if outcome.state == "elsewhere"]
        if held and not launcher.stop.asked and not launcher.lost:
            display.note(f"{are(len(held), 'run')} being trained by another command; waiting for it.")
        again = schedule(lambda run: launcher.launch(run, wait=True), held, max(jobs, min(len(held), 64)))
        settled = {outcome.run.run_id: outcome for outcome in (*outcomes, *again)}
    begun = sum(launcher.store.checkpoint(run.run_id).exists() for run in missing if settled[run.run_id].state in ("stopped", "failed"))
    return Summary(
        outcomes=tuple(settled[run.run_id] for run in missing), stopped_by=launcher.stop.signal, begun=begun, lost=launcher.lost,
    )  # fmt: skip


def on_threads(launch: Callable[[PlannedRun], Outcome], runs: Sequence[PlannedRun], jobs: int) -> Sequence[Outcome]:
    """The schedule of one machine: a thread for each slot, which does nothing but supervise its child."""
    if not runs:
        return []
    parallel = joblib.Parallel(n_jobs=min(jobs, len(runs)), backend="threading", batch_size=1, pre_dispatch="n_jobs")
    return parallel(joblib.delayed(launch)(run) for run in runs)


@contextlib.contextmanager
def stopping(stop: Stop, grace: float) -> Iterator[None]:
    """Within this context Ctrl-C and SIGTERM ask to stop instead of breaking off; a second signal leaves no grace."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number_of_signal: int, _frame) -> None:
        stop.ask(number_of_signal, grace)
        with contextlib.suppress(OSError):  # a full disk or a closed pipe must not break off what the signal interrupts
            os.write(2, b"Stopping; what is finished is kept.\n")  # print() may be interrupted in the middle of itself

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
