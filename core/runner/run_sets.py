"""Sets of runs by the claims that they may settle: what `--resolve` chooses from.

The value of a set is the number of claims that it settles on average: the sum of the chances of the
latest check that it reaches of each claim. The best set has the most value a second. It is sought
greedily, since claims share runs: from the best single checks on, the check that raises the rate
most is added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.errors import counted
from core.runner.plan import PlannedRun
from core.runner.progress import spoken

# single checks from which a set is grown; a check's own rate does not count shared runs
STARTS = 10
LEAST_NAMED = 0.005  # the chance of a claim that a set's line names


class Prospect(NamedTuple):
    """A later check of a claim: the chance that the claim is settled by then, and the runs that it
    lacks."""

    claim: tuple[str, str]  # study and key
    seeds: int
    chance: float
    runs: frozenset[str]


class RunSet(NamedTuple):
    """Missing runs that are trained together, the checks that they reach, the likeliest first, and
    by claim the best of its later checks."""

    runs: tuple[PlannedRun, ...]
    wall: float  # seconds by the clock
    reached: tuple[Prospect, ...]
    best: Mapping[tuple[str, str], Prospect]

    @classmethod
    def of(
        cls,
        runs: Sequence[PlannedRun],
        wall: float,
        prospects: Sequence[Prospect],
        done: frozenset[str],
    ) -> RunSet:
        """A set of runs with the checks that it adds to those that need only the runs `done`."""
        trained = done | {run.run_id for run in runs}
        reached = {prospect.claim: prospect for prospect in prospects if prospect.runs <= trained}
        before = {prospect.claim: prospect for prospect in prospects if prospect.runs <= done}
        added = [check for claim, check in reached.items() if check != before.get(claim)]
        added.sort(key=lambda prospect: -prospect.chance)
        best = {prospect.claim: prospect for prospect in prospects}
        return cls(tuple(runs), wall, tuple(added), best)

    def words(self) -> str:
        """The set in a line: its runs, their time, and claims with their chances."""
        named = [check for check in self.reached if self.best[check.claim].chance >= LEAST_NAMED]
        claims = ", ".join(self._chance(check) for check in named or self.reached[:1])
        size = counted(len(self.runs), "run")
        wall = spoken(self.wall)
        return f"{size}, about {wall}: {'; '.join(self._cells())}. May settle {claims}."

    def _chance(self, check: Prospect) -> str:
        best = self.best[check.claim]
        words = f"{check.chance:.2f}"
        if best.seeds > check.seeds:
            words += f"; {best.chance:.2f} with {best.seeds} seeds"
        return f"{check.claim[1]} ({words})"

    def _cells(self) -> list[str]:
        """The seeds and cells of the runs, in few studies: those with most runs, then with most
        chances."""
        chances = defaultdict[str, float](float)
        for check in self.reached:
            chances[check.claim[0]] += check.chance
        left = list(self.runs)
        words = []
        while left:
            sizes = Counter[str]()  # runs of each study
            for run in left:
                sizes.update({name.split(" ")[0] for name in run.cells})
            study = max(sizes, key=lambda name: (sizes[name], chances[name]))
            others = []
            seeds = defaultdict[str, list[int]](list)  # by cell
            for run in left:
                names = [name for name in run.cells if name.startswith(f"{study} ")]
                if names:
                    seeds[names[0].removeprefix(f"{study} ")].append(run.seed)
                else:
                    others.append(run)
            cells = defaultdict[tuple[int, ...], list[str]](list)  # by seeds
            for cell, of_cell in seeds.items():
                cells[tuple(sorted(of_cell))].append(cell)
            for numbers, names in cells.items():
                words.append(f"{_seeds(numbers)} of {study} {', '.join(names)}")
            left = others
        return words


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    return f"seeds {' and '.join(map(str, seeds))}"


def best_set(
    prospects: Sequence[Prospect],
    done: frozenset[str],
    seconds: Mapping[str, float],
    jobs: int,
    left: float,
) -> frozenset[str]:
    """The runs to train next, of those that fit into `left` seconds by the clock, `jobs` at once;
    empty if none fits. Runs `done` cost nothing. Where the best set reaches a later check of a
    claim, its first part is returned, up to the next check of each of its claims: verdicts then
    decide what follows.

    `prospects` has the checks of a claim side by side, by seeds.
    """
    expected: dict[tuple[str, str], float] = {}
    for prospect in prospects:
        expected.setdefault(prospect.claim, 0.0)
        if prospect.runs <= done:
            expected[prospect.claim] = max(prospect.chance, expected[prospect.claim])
    ahead = [prospect for prospect in prospects if not prospect.runs <= done]
    if not ahead:
        return frozenset()
    search = _Search(ahead, done, seconds, expected)
    chosen = search.best(jobs, left)
    first: dict[tuple[str, str], Prospect] = {}
    for prospect, reached in zip(ahead, search.reached(chosen), strict=True):
        if reached:
            first.setdefault(prospect.claim, prospect)
    return frozenset[str]().union(*(prospect.runs for prospect in first.values())) - done


class _Search:
    """The checks ahead as arrays: `needs` (checks, groups), where a group has the runs that the
    same checks need, and `times` and `longest` (groups,) of a group's runs in seconds."""

    def __init__(
        self,
        ahead: Sequence[Prospect],
        done: frozenset[str],
        seconds: Mapping[str, float],
        expected: Mapping[tuple[str, str], float],
    ):
        users = defaultdict[str, list[int]](list)
        for place, prospect in enumerate(ahead):
            for run in prospect.runs - done:
                users[run].append(place)
        groups = defaultdict[tuple[int, ...], list[float]](list)
        for run, places in users.items():
            groups[tuple(places)].append(seconds[run])
        self.needs = np.zeros((len(ahead), len(groups)), dtype=bool)
        for group, checks in enumerate(groups):
            self.needs[list(checks), group] = True
        self.times = np.array([sum(times) for times in groups.values()])
        self.longest = np.array([max(times) for times in groups.values()])
        self.chances = np.array([prospect.chance for prospect in ahead])
        claims = [prospect.claim for prospect in ahead]
        self.starts = [n for n, claim in enumerate(claims) if n == 0 or claim != claims[n - 1]]
        self.expected = np.array([expected[claims[start]] for start in self.starts])

    def best(self, jobs: int, left: float) -> np.ndarray:
        """The groups (groups,) with the largest rate: from each of the best single checks on, the
        check that raises the rate most is added until none does."""
        best = np.zeros(len(self.times), dtype=bool)
        rate = 0.0
        alone = self.rates(best, jobs, left)
        tried = np.zeros(len(alone), dtype=bool)
        for _ in range(STARTS):
            place = int(np.where(tried, -1.0, alone).argmax())
            if tried[place] or alone[place] <= 0.0:
                break
            chosen = self.needs[place]
            reached_rate = alone[place]
            while True:
                rates = self.rates(chosen, jobs, left)
                place = int(rates.argmax())
                if rates[place] <= reached_rate:
                    break
                chosen = chosen | self.needs[place]
                reached_rate = rates[place]
            tried |= self.reached(chosen)
            if reached_rate > rate:
                best = chosen
                rate = reached_rate
        return best

    def reached(self, chosen: np.ndarray) -> np.ndarray:
        """Which checks (checks,) need no other groups than the chosen."""
        return ~(self.needs & ~chosen).any(1)

    def rates(self, chosen: np.ndarray, jobs: int, left: float) -> np.ndarray:
        """Settled claims a second of the chosen groups (groups,) together with each check's own
        (checks,); -1 where these do not fit."""
        outside = self.needs & ~chosen
        by_check = np.where(_within(outside), self.chances[:, None], 0.0)  # (checks, sets)
        by_claim = np.maximum.reduceat(by_check, self.starts, axis=0)
        values = np.maximum(0.0, by_claim - self.expected[:, None]).sum(0)
        times = outside @ self.times + self.times[chosen].sum()
        longest = np.maximum((outside * self.longest).max(1), self.longest[chosen].max(initial=0.0))
        walls = np.maximum(longest, times / jobs)
        return np.where(walls <= left, values / times, -1.0)


def _within(needs: np.ndarray) -> np.ndarray:
    """Whether each row's groups are among those of each other row, of needs (checks, groups):
    (checks, checks). Words of 64 groups took 0.3 ms for 300 checks, a product of matrices 3 to
    6."""
    padded = np.pad(needs, ((0, 0), (0, -needs.shape[1] % 64)))
    words = np.packbits(padded, axis=1).view(np.uint64)
    within = np.ones((len(words), len(words)), dtype=bool)
    for word in words.T:
        within &= (word[:, None] & ~word[None, :]) == 0
    return within
