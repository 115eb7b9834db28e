"""Sets of runs by the claims that they may settle: what `--resolve` chooses from.

The value of a set is the number of claims that it settles on average: the sum of the chances of the
latest check that it reaches of each claim. The best set has the most value a second. It is sought
greedily, since claims share runs: from the best single checks on, the check that raises the rate
most is added.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.errors import counted, spoken
from core.runner.plan import PlannedRun

STARTS = 10  # single checks from which a set is grown
LEAST_NAMED = 0.005  # the chance of a claim that a set's line names


class Prospect(NamedTuple):
    """A later check of a claim: the chance that the claim is settled by then, and the runs that it
    lacks."""

    claim: tuple[str, str]  # study and key
    seeds: int
    chance: float
    runs: frozenset[str]


class RunSet(NamedTuple):
    """Missing runs that are trained together, and what they may settle, in words."""

    runs: tuple[PlannedRun, ...]
    wall: float  # seconds by the clock
    claims: tuple[str, ...]

    @classmethod
    def of(
        cls,
        runs: Sequence[PlannedRun],
        wall: float,
        prospects: Sequence[Prospect],
        done: frozenset[str],
    ) -> RunSet:
        """A set of runs with the checks that it adds to those that need only the runs `done`, the
        likeliest first."""
        trained = done | {run.run_id for run in runs}
        last = {prospect.claim: prospect for prospect in prospects}
        reached = {prospect.claim: prospect for prospect in prospects if prospect.runs <= trained}
        added = [check for check in reached.values() if not check.runs <= done]
        added.sort(key=lambda prospect: -prospect.chance)
        claims: list[str] = []
        for check in added:
            later = last[check.claim]
            words = f"{check.claim[1]} (chance {check.chance:.2f}"
            if later.seeds > check.seeds:
                words += f"; {later.chance:.2f} with {later.seeds} seeds"
            if not claims or later.chance >= LEAST_NAMED:
                claims.append(f"{words})")
        return cls(tuple(runs), wall, tuple(claims))

    def words(self) -> str:
        """The set in a line: its runs, their time, and claims with their chances."""
        seeds = defaultdict[str, list[int]](list)  # by cell
        for run in self.runs:
            seeds[run.cells[0]].append(run.seed)
        cells = defaultdict[tuple[str, str], list[str]](list)  # by study and seeds
        for name, of_cell in seeds.items():
            study, _, cell = name.partition(" ")
            cells[study, ", ".join(map(str, sorted(of_cell)))].append(cell)
        parts = [f"seed {of} of {study} {', '.join(names)}" for (study, of), names in cells.items()]
        size = f"{counted(len(self.runs), 'run')}, about {spoken(self.wall)}"
        return f"{size}: {'; '.join(parts)}. May settle {', '.join(self.claims)}."


def worth(prospects: Sequence[Prospect], runs: frozenset[str]) -> float:
    """How many claims are settled on average once these runs are stored."""
    chances: dict[tuple[str, str], float] = {}
    for prospect in prospects:
        if prospect.runs <= runs:
            chances[prospect.claim] = max(prospect.chance, chances.get(prospect.claim, 0.0))
    return sum(chances.values())


def best_set(
    prospects: Sequence[Prospect],
    done: frozenset[str],
    seconds: Mapping[str, float],
    jobs: int,
    left: float,
) -> frozenset[str]:
    """The runs to train next, of those that fit into `left` seconds by the clock, `jobs` at once;
    empty if none fits. Runs `done` cost nothing. Where the best set reaches a later check of a
    claim, its first part is returned: verdicts then decide what follows."""
    before = worth(prospects, done)
    single = {prospect.runs - done for prospect in prospects} - {frozenset[str]()}

    @functools.cache
    def rate(runs: frozenset[str]) -> float:
        times = [seconds[run] for run in runs]
        if max(max(times), sum(times) / jobs) > left:
            return -1.0
        return (worth(prospects, done | runs) - before) / sum(times)

    def grown(runs: frozenset[str]) -> frozenset[str]:
        larger = max((runs | other for other in single), key=rate)
        return grown(larger) if rate(larger) > rate(runs) else runs

    starts = sorted(single, key=rate, reverse=True)[:STARTS]
    best = max(map(grown, starts), key=rate, default=frozenset[str]())
    if not best or rate(best) <= 0:
        return frozenset()
    first: dict[tuple[str, str], frozenset[str]] = {}  # the next check of each claim
    for prospect in prospects:
        if prospect.runs <= done | best and not prospect.runs <= done:
            first.setdefault(prospect.claim, prospect.runs)
    return frozenset[str]().union(*first.values()) - done
