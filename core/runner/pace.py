"""How far a table is and how long it will still take, from what its runs have taken so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from core.runner.plan import PlannedRun, cost
from core.spec.run import RunConfig


@dataclass(slots=True)
class Going:
    """A running run, as it last reported."""

    run: PlannedRun
    phase: str = "start"
    step: int = 0
    total: int = 0
    rate: float | None = None
    dev: float | None = None

    @property
    def fraction(self) -> float:
        """How much of its steps is done."""
        return self.step / self.total if self.total else 0.0


@dataclass(slots=True)
class Pace:
    """The count and the clock of one command: `total` runs of `total_cost` expected seconds, `jobs` at once. Of the runs that wait it
    counts on a share, that of the runs begun so far which were its own and not another command's on the same studies."""

    total: int
    total_cost: float
    jobs: int
    expected: Callable[[RunConfig], float] = cost  # seconds of a run, as the plan has them
    began: float = field(default_factory=time.monotonic)
    ended: int = 0
    ended_cost: float = 0.0
    trained_cost: float = 0.0
    trained_seconds: float = 0.0
    going: dict[str, Going] = field(default_factory=dict)
    begun: int = 0
    begun_elsewhere: int = 0
    held: dict[str, float] = field(default_factory=dict)  # estimated seconds of the runs that another command is training

    def start(self, run: PlannedRun) -> None:
        """Count a run as running."""
        self.begun += 1
        self.held.pop(run.run_id, None)  # whoever held it left nothing
        self.going[run.run_id] = Going(run, total=run.config.train.steps)

    def elsewhere(self, run: PlannedRun) -> None:
        """Count a run as another command's, which was training it, or had trained it, when its turn came."""
        if run.run_id not in self.held:
            self.begun_elsewhere += 1
            self.held[run.run_id] = self.expected(run.config)

    def report(self, run: PlannedRun, message: dict) -> None:
        """Take in what a running run says of itself; a development score stays until the next one."""
        going = self.going.get(run.run_id)
        if going is None:
            return
        going.phase = str(message["phase"])
        going.step = int(message.get("step") or 0)
        going.total = int(message.get("total") or going.total)
        going.rate = message.get("rate") if message.get("rate") is not None else going.rate
        going.dev = message.get("dev") if message.get("dev") is not None else going.dev

    def end(self, run: PlannedRun, seconds: float | None) -> None:
        """Count a run as ended; `seconds` is None if it says nothing about how long runs take."""
        self.going.pop(run.run_id, None)
        self.held.pop(run.run_id, None)
        self.ended += 1
        self.ended_cost += self.expected(run.config)
        if seconds is not None:
            self.trained_cost += self.expected(run.config)
            self.trained_seconds += seconds

    def seconds_left(self, going: Going) -> float | None:
        """Seconds that a running run still needs, by its own rate; None before its first rate."""
        if not going.rate or not going.total:
            return None
        return max(0, going.total - going.step) / going.rate

    def left(self) -> float:
        """Seconds that all runs still need. Running runs count by their own rates. The others count by the estimate, corrected by the
        time that finished runs took and that running ones will have taken, and by what other commands are likely to train of them."""
        costs = {run: self.expected(going.run.config) for run, going in self.going.items()}
        whole = {run: going.total / going.rate for run, going in self.going.items() if going.rate and going.total}  # seconds at its rate
        known = self.trained_cost + sum(costs[run] for run in whole)
        speed = (self.trained_seconds + sum(whole.values())) / known if known else 1.0
        own = [whole.get(run, costs[run] * speed) * max(0.0, 1 - going.fraction) for run, going in self.going.items()]
        waiting = self.total_cost - self.ended_cost - sum(costs.values()) - sum(self.held.values())
        share = self.begun / (self.begun + self.begun_elsewhere) if self.begun else 1.0
        work = max(0.0, waiting) * share * speed + sum(own)
        return max(work / max(1, min(self.jobs, self.total - self.ended)), max(own, default=0.0))


WEEKS = 14 * 24 * 3600.0  # from here on a time is said in weeks


def spoken(seconds: float) -> str:
    """Seconds in the words of a person: `40 s`, `12 min`, `3.5 h`, `23 weeks`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < WEEKS else f"{seconds / WEEKS * 2:.0f} weeks"
