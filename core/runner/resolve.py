"""`--resolve`: train the runs that are likeliest to settle a claim, until the budget is spent.

Verdicts are computed anew from the stored runs, at the fixed numbers of seeds, before each choice. Nothing
else is kept: a killed command loses the runs in training, and two commands at once share the work.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.estimate import Expectation, expectation
from core.runner.plan import PlannedRun, batch, sound
from core.runner.progress import spoken
from core.runner.train import Training
from core.spec.baseline import SIMCSE
from core.spec.errors import are, counted
from core.spec.identity import run_id
from core.spec.setup import Setup
from core.spec.study import Study
from core.spec.table import Cell
from core.store.store import Store

SHOWN = 5  # choices that --plan prints
OPEN = ("undecided", "not run")
NO_BAR = "train SimCSE first"  # how the reason of a claim begins that lacks SimCSE's runs


@dataclass(frozen=True, slots=True)
class Choice:
    """The missing runs of an open claim up to `seeds` seeds; the smallest `rank` comes first."""

    name: str
    runs: tuple[PlannedRun, ...]
    seeds: int
    why: str
    rank: tuple[bool, float]
    wall: float  # seconds by the clock

    def __str__(self) -> str:
        runs, seeds = counted(len(self.runs), "run"), counted(self.seeds, "seed")
        return f"{self.name} ({self.why}): {runs} to {seeds}, about {spoken(self.wall)}"


class Resolving:
    """One command with --resolve, on these studies under one setup."""

    def __init__(
        self, options: Options, store: Store, training: Training, studies: Sequence[Study], setup: Setup,
        found: finding.Found,
    ):  # fmt: skip
        self.options, self.training, self.found = options, training, found
        self.store = store if options.use_published else Store(store.root, None)
        names = ("contrasts", "looks", "prospects", "results", "verdicts")
        self.report = {name: importlib.import_module(f"core.report.{name}") for name in names}
        self.looks = self.report["looks"].LOOKS
        self.setup = replace(setup, seeds=self.looks[0])  # later stored seeds are read, too
        self.studies = studies
        self.failed: set[str] = set()
        self.judged: list[tuple[Any, Any]] = []  # each study with its verdicts, and readings of its contrasts
        self.loaded: dict[str, Any] = {}  # runs that were read, by id
        self.expected: Expectation
        self.ends = math.inf if options.budget is None else time.monotonic() + options.budget

    def go(self) -> int:
        """Choose and train until no choice fits into the time left; the exit status."""
        began, status, before = time.monotonic(), 0, self.judge()
        for run in [run for result, _ in self.judged for run in result.runs if run.trouble]:
            sound(self.store, run.run_id, self.options.use_published)  # sets a damaged file aside
        while (choice := self._next()) is not None:
            print(f"Next: {choice}.", flush=True)
            ended = self.training.train(batch(choice.runs), self.setup.scale, self.found)
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = [run.run_id for run in choice.runs]
            self.failed.update(run for run in ids if not self.store.has(run, use_published=True))
            after = self.judge()
            for name in sorted(after):
                if before[name] in OPEN and after[name] not in OPEN:
                    print(f"{name} is {after[name]}.", flush=True)
            before = after
        settled = sum(outcome in self.report["looks"].SETTLED[1:] for outcome in before.values())
        took = spoken(time.monotonic() - began)
        print(f"{settled} of {counted(len(before), 'claim')} settled. This command took {took}.")
        return status

    def plan(self) -> int:
        """Print the first choices and their cost; the exit status. Nothing is trained."""
        outcomes, choices = self.judge(), self.choices()
        for choice in choices[:SHOWN]:
            print(f"{choice}.")
        count = sum(outcome in OPEN for outcome in outcomes.values())
        print(f"{are(count, 'claim')} open; runs may settle {len(choices)}.")
        return 0

    def runs(self) -> list[str]:
        """Every stored run of the studies."""
        runs = (run for result, _ in self.judged for run in result.runs)
        return list(dict.fromkeys(run.run_id for run in runs if run.rows is not None))

    def judge(self) -> dict[str, str]:
        """Judge each study on the stored runs; the outcome of each claim, by study and key."""
        self.loaded = {run: read for run, read in self.loaded.items() if read.rows is not None}
        judge, readings = self.report["verdicts"].study_result, self.report["contrasts"].Readings
        results = [judge(study, self.setup, self.store, self.loaded) for study in self.studies]
        self.judged = [(result, readings(result)) for result in results]
        every = [(result.study.name, verdict) for result in results for verdict in result.verdicts]
        return {f"{name} {verdict.claim.key}": verdict.outcome for name, verdict in every}

    def _next(self) -> Choice | None:
        """The best choice that fits into the time left, or None; a line says what did not fit."""
        choices, left = self.choices(), max(0.0, self.ends - time.monotonic())
        fitting = [choice for choice in choices if choice.wall <= left]
        if choices and not fitting:
            shortest = spoken(min(choice.wall for choice in choices))
            print(f"The shortest step left takes {shortest}; {spoken(left)} of the budget are left.")
        return fitting[0] if fitting else None

    def choices(self) -> list[Choice]:
        """What may be trained for each open claim, the best first; without claims that need a failed run."""
        self.expected = expectation(self.options, self.setup.scale, self.found, self.store)
        every = [
            self._choice(result, readings, verdict.claim)
            for result, readings in self.judged
            for verdict in result.verdicts
            if verdict.outcome in OPEN and not verdict.reason or verdict.reason.startswith(NO_BAR)
        ]
        able = [c for c in every if c is not None and not self.failed & {run.run_id for run in c.runs}]
        return sorted(able, key=lambda choice: choice.rank)

    def _choice(self, result: Any, readings: Any, claim: Any) -> Choice | None:
        """What a claim is given next: SimCSE's runs where it lacks them, or its own up to the next check.

        First checks rank before others, the cheapest first. Later checks rank by the best chance per second
        of training among the checks that fit into the time left.
        """
        study, contrasts = result.study, claim.predicate.contrasts()
        cells, name = study.cells_of(contrasts), f"{study.name} {claim.key}"
        reached = min(readings.seeds(contrast) for contrast in contrasts)
        seeds = next((n for n in self.looks if n > reached), None)
        if seeds is None or any(self.setup.unavailable(study, cell) for cell in cells):
            return None
        bar = self._missing(SIMCSE, SIMCSE.cells, self.looks[0]) if claim.gate != "none" else ()
        runs, why = (
            bar or self._missing(study, cells, seeds),
            "SimCSE, the bar of other methods" if bar else "first check",
        )
        wall, left = self.expected.wall(runs), self.ends - time.monotonic()
        if bar or reached < self.looks[0]:
            return (
                Choice(name, runs, self.looks[0], why, (False, self._seconds(runs)), wall) if runs else None
            )
        worth = []
        for n, chance in self.report["prospects"].chances(claim, readings, len(study.claims)).items():
            lacking = self._missing(study, cells, n)
            if lacking and (n == seeds or self.expected.wall(lacking) <= left):
                worth.append((chance / self._seconds(lacking), chance, n))
        if not worth or not runs:  # another command has just trained them
            return None
        rate, chance, n = max(worth)
        why = f"a chance of {100 * chance:.0f} % to be settled with {n} seeds"
        return Choice(name, runs, seeds, why, (True, -rate), wall)

    def _missing(self, study: Study, cells: Sequence[Cell], seeds: int) -> tuple[PlannedRun, ...]:
        """The distinct runs that cells lack up to a number of seeds."""
        runs: dict[str, PlannedRun] = {}
        for seed in range(seeds):
            for cell in cells:
                config = self.setup.config(study, cell, seed)
                identity, label = run_id(config), f"{study.name} {'/'.join(cell.labels)}"
                if not self.store.has(identity, use_published=True):
                    run = PlannedRun(run_id=identity, config=config, cells=(label,), seed=seed)
                    runs.setdefault(identity, run)
        return tuple(runs.values())

    def _seconds(self, runs: Sequence[PlannedRun]) -> float:
        """Expected seconds of training, one run after the other."""
        return sum(self.expected.seconds(run.config) for run in runs)
