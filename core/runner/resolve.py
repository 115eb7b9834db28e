"""`--resolve`: train the runs that are likeliest to settle a claim, until the budget is spent. Verdicts are
computed anew from the stored runs before each choice. Nothing else is kept, so a killed command loses the
runs in training, and two commands at once share the work."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.report.prospects import chances
from core.report.statistics import LOOKS, SETTLED
from core.report.verdicts import Judged, Verdict, study_result
from core.runner.estimate import Expectation
from core.runner.plan import Plan, PlannedRun
from core.runner.progress import spoken
from core.runner.train import Training
from core.spec.errors import are, counted
from core.spec.identity import run_id
from core.spec.study import SIMCSE, Cell, Study
from core.store.store import Store

SHOWN = 5  # choices that --plan prints
OPEN = ("undecided", "not run")
NO_BAR = "train SimCSE first"  # how the reason of a claim begins that lacks SimCSE's runs


class Choice(NamedTuple):
    """The missing runs of an open claim up to its next check; the largest `rate` comes first."""

    rate: float  # chance to settle the claim for each second of training
    name: str
    why: str
    runs: tuple[PlannedRun, ...]
    wall: float  # seconds by the clock

    def words(self) -> str:
        """The choice in a line."""
        return f"{self.name} ({self.why}): {counted(len(self.runs), 'run')}, about {spoken(self.wall)}."


class Resolving:
    """One command with --resolve, on these studies."""

    def __init__(self, training: Training, studies: Sequence[Study]):
        self.training, self.studies, options = training, studies, training.options
        self.store = training.store if options.use_published else Store(training.store.root, None)
        self.setup = replace(training.setup, seeds=LOOKS[0])  # later stored seeds are read, too
        self.ends = time.monotonic() + (options.budget or math.inf)
        self.failed: set[str] = set()  # runs
        self.loaded: dict[str, Any] = {}  # runs that were read, by id
        self.judged: list[Judged] = []
        self.expected: Expectation

    def go(self) -> int:
        """Choose and train until no choice fits into the time left; the exit status."""
        status, outcomes = 0, self.judge()
        for run in [run for result in self.judged for run in result.runs if run.trouble]:
            self.store.verified(run.run_id)  # sets a damaged file aside
        while choices := self.choices():
            left = max(0.0, self.ends - time.monotonic())
            choice = next((choice for choice in choices if choice.wall <= left), None)
            if choice is None:
                shortest = spoken(min(choice.wall for choice in choices))
                print(f"The shortest step left takes {shortest}; {spoken(left)} of the budget are left.")
                break
            print(f"Next: {choice.words()}", flush=True)
            ended = self.training.train(Plan(choice.runs, choice.runs))
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = {run.run_id for run in choice.runs}
            self.failed |= {run for run in ids if not self.store.has(run, use_published=True)}
            outcomes = self.judge()
        settled = sum(outcome in SETTLED[1:] for outcome in outcomes)
        print(f"{settled} of {counted(len(outcomes), 'claim')} settled.")
        return status

    def plan(self) -> int:
        """Print the first choices and their cost; the exit status. Nothing is trained."""
        count, choices = sum(outcome in OPEN for outcome in self.judge()), self.choices()
        for choice in choices[:SHOWN]:
            print(choice.words())
        print(f"{are(count, 'claim')} undecided; more runs may settle {len(choices)}.")
        return 0

    def judge(self) -> list[str]:
        """Judge each study on the stored runs; the outcomes of all claims."""
        self.loaded = {run: read for run, read in self.loaded.items() if read.rows is not None}
        self.judged = [study_result(one, self.setup, self.store, self.loaded) for one in self.studies]
        return [verdict.outcome for result in self.judged for verdict in result.verdicts]

    def choices(self) -> list[Choice]:
        """What may be trained for each open claim, the best first; without claims that need a failed run."""
        self.expected, choices = self.training.expected(), []
        for result in self.judged:
            for verdict in result.verdicts:
                able = verdict.outcome in OPEN and not verdict.reason or verdict.reason.startswith(NO_BAR)
                choice = self.choice(result.study, verdict) if able else None
                if choice is not None and not self.failed & {run.run_id for run in choice.runs}:
                    choices.append(choice)
        return sorted(choices, key=lambda choice: -choice.rate)

    def choice(self, study: Study, verdict: Verdict) -> Choice | None:
        """What a claim is given next: SimCSE's runs where it lacks them, or its own up to the next check. A
        first check counts as a chance of 1, later checks by the best chance for each second of training among
        those that fit into the time left."""
        claim, cells = verdict.claim, study.cells_of(verdict.claim.predicate.contrasts())
        if any(self.setup.unavailable(study, cell) for cell in cells):
            return None
        chance_at, why = {LOOKS[0]: 1.0}, "first check"
        if verdict.seeds >= LOOKS[0]:
            chance_at = chances(verdict, len(study.claims))
            why = "a chance of {:.0%} to be settled with {} seeds"
        lacking = {seeds: self.missing(study, cells, seeds) for seeds in chance_at}
        if claim.gate != "none" and (bar := self.missing(SIMCSE, SIMCSE.cells, LOOKS[0])):
            chance_at, lacking, why = {LOOKS[0]: 1.0}, {LOOKS[0]: bar}, "SimCSE, the bar of other methods"
        lacking = {seeds: runs for seeds, runs in lacking.items() if runs}
        if not lacking:  # all checks are done, or another command has just trained them
            return None
        runs, left = next(iter(lacking.values())), self.ends - time.monotonic()
        rate, seeds = max(
            (chance_at[seeds] / sum(self.expected.seconds(run.config) for run in more), seeds)
            for seeds, more in lacking.items()
            if more == runs or self.expected.wall(more) <= left
        )
        name = f"{study.name} {claim.key}"
        return Choice(rate, name, why.format(chance_at[seeds], seeds), runs, self.expected.wall(runs))

    def missing(self, study: Study, cells: Sequence[Cell], seeds: int) -> tuple[PlannedRun, ...]:
        """The distinct runs that cells lack up to a number of seeds."""
        runs: dict[str, PlannedRun] = {}
        for seed, cell in itertools.product(range(seeds), cells):
            config, label = self.setup.config(study, cell, seed), f"{study.name} {'/'.join(cell.labels)}"
            run = PlannedRun(run_id=run_id(config), config=config, cells=[label], seed=seed)
            runs.setdefault(run.run_id, run)
        return tuple(run for run in runs.values() if not self.store.has(run.run_id, use_published=True))
