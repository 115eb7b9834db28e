"""Which runs come next: those with the largest chance to settle a claim, by the second of training that they take."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from core.runner.estimate import History
from core.runner.plan import Plan, PlannedRun, cost
from core.runner.resolve.judging import Judge, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A wish with the runs that are missing on the way: those of its next look, and the seconds of training up to its aim."""

    wish: Wish
    runs: tuple[PlannedRun, ...]
    seconds: float

    @property
    def rank(self) -> tuple[bool, float]:
        """First looks come first, the cheapest before the others; then come the wishes with the largest chance by the second."""
        if self.wish.chance is None:
            return False, self.seconds
        return True, -self.wish.chance / max(self.seconds, 1e-9)


def choices(judges: Iterable[Judge], open_claims: Collection[tuple[str, str]], known: History, failed: Collection[str]) -> list[Choice]:
    """What may be done for the open claims (study, key), the best first; wishes that need a run which failed are left out."""
    found = []
    for judge in judges:
        for key, standing in judge.standings.items():
            for wish in standing.wishes if (judge.study.name, key) in open_claims else ():
                runs = missing(judge, wish, wish.n)
                if runs and not any(run.run_id in failed for run in runs):
                    seconds = sum(known.seconds(run.config) for run in missing(judge, wish, wish.aim))
                    found.append(Choice(wish=wish, runs=runs, seconds=seconds))
    return sorted(found, key=lambda choice: choice.rank)  # stable: equal ones keep the studies' order


def missing(judge: Judge, wish: Wish, n: int) -> tuple[PlannedRun, ...]:
    """The distinct runs that the cells of a wish lack up to n seeds."""
    found: dict[str, PlannedRun] = {}
    for seed in range(n):
        for cell in wish.cells:
            identity, config = judge.run(cell, seed)
            if identity not in found and not judge.store.has(identity, use_published=True):
                name = f"{judge.study.name} {'/'.join(cell.labels)}"
                found[identity] = PlannedRun(run_id=identity, config=config, cells=(name,), seed=seed)
    return tuple(found.values())


def batch(runs: Sequence[PlannedRun]) -> Plan:
    """Runs as a plan, the longest first."""
    return Plan(runs=tuple(runs), missing=tuple(sorted(runs, key=lambda run: -cost(run.config))), entries=len(runs))


def wall(runs: Sequence[PlannedRun], known: History, jobs: int) -> float:
    """Seconds by the clock that runs are expected to take, so many at once."""
    seconds = [known.seconds(run.config) for run in runs]
    return max(max(seconds, default=0.0), sum(seconds) / max(1, jobs))
