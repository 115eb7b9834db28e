"""`--resolve`: train the runs that are likeliest to settle a claim, until the budget is spent.

Verdicts are computed anew from the stored runs, at the fixed numbers of seeds, before each choice. Nothing
else is kept: a killed command loses the runs in training, and two commands at once share the work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.data import sources as finding
from core.report.contrasts import Readings
from core.report.looks import LOOKS, SETTLED
from core.report.prospects import chances
from core.report.verdicts import Judged, study_result
from core.runner.cli import Options
from core.runner.estimate import Expectation, expectation
from core.runner.plan import PlannedRun, batch, sound
from core.runner.progress import spoken
from core.runner.train import Training
from core.spec.baseline import SIMCSE
from core.spec.claim import Claim
from core.spec.errors import are, counted
from core.spec.identity import run_id
from core.spec.setup import Setup
from core.spec.study import Study
from core.spec.table import Cell
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
    """One command with --resolve, on these studies under one setup."""

    def __init__(
        self, options: Options, store: Store, training: Training, studies: Sequence[Study], setup: Setup,
        found: finding.Found,
    ):  # fmt: skip
        self.options, self.training, self.studies, self.found = options, training, studies, found
        self.store = store if options.use_published else Store(store.root, None)
        self.setup = replace(setup, seeds=LOOKS[0])  # later stored seeds are read, too
        self.ends = math.inf if options.budget is None else time.monotonic() + options.budget
        self.failed: set[str] = set()  # runs
        self.loaded: dict[str, Any] = {}  # runs that were read, by id
        self.judged: list[Judged] = []
        self.expected: Expectation

    def go(self) -> int:
        """Choose and train until no choice fits into the time left; the exit status."""
        status, outcomes = 0, self.judge()
        for run in [run for result in self.judged for run in result.runs if run.trouble]:
            sound(self.store, run.run_id, self.options.use_published)  # sets a damaged file aside
        while choices := self.choices():
            left = max(0.0, self.ends - time.monotonic())
            choice = next((choice for choice in choices if choice.wall <= left), None)
            if choice is None:
                shortest = spoken(min(choice.wall for choice in choices))
                print(f"The shortest step left takes {shortest}; {spoken(left)} of the budget are left.")
                break
            print(f"Next: {choice.words()}", flush=True)
            ended = self.training.train(batch(choice.runs), self.setup.scale, self.found)
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = [run.run_id for run in choice.runs]
            self.failed.update(run for run in ids if not self.store.has(run, use_published=True))
            outcomes = self.judge()
        settled = sum(outcome in SETTLED[1:] for outcome in outcomes)
        print(f"{settled} of {counted(len(outcomes), 'claim')} settled.")
        return status

    def plan(self) -> int:
        """Print the first choices and their cost; the exit status. Nothing is trained."""
        outcomes, choices = self.judge(), self.choices()
        for choice in choices[:SHOWN]:
            print(choice.words())
        count = sum(outcome in OPEN for outcome in outcomes)
        print(f"{are(count, 'claim')} undecided; more runs may settle {len(choices)}.")
        return 0

    def runs(self) -> list[str]:
        """Every stored run of the studies."""
        runs = (run for result in self.judged for run in result.runs)
        return list(dict.fromkeys(run.run_id for run in runs if run.rows is not None))

    def judge(self) -> list[str]:
        """Judge each study on the stored runs; the outcomes of all claims."""
        self.loaded = {run: read for run, read in self.loaded.items() if read.rows is not None}
        self.judged = [study_result(one, self.setup, self.store, self.loaded) for one in self.studies]
        return [verdict.outcome for result in self.judged for verdict in result.verdicts]

    def choices(self) -> list[Choice]:
        """What may be trained for each open claim, the best first; without claims that need a failed run."""
        self.expected = expectation(self.options, self.setup.scale, self.found, self.store)
        choices = []
        for result in self.judged:
            readings = Readings(result)
            for verdict in result.verdicts:
                able = verdict.outcome in OPEN and not verdict.reason or verdict.reason.startswith(NO_BAR)
                choice = self.choice(result.study, readings, verdict.claim) if able else None
                if choice is not None and not self.failed & {run.run_id for run in choice.runs}:
                    choices.append(choice)
        return sorted(choices, key=lambda choice: -choice.rate)

    def choice(self, study: Study, readings: Readings, claim: Claim) -> Choice | None:
        """What a claim is given next: SimCSE's runs where it lacks them, or its own up to the next check.

        A first check counts as a chance of 1. Later checks count by the best chance for each second of
        training among the checks that fit into the time left.
        """
        contrasts = claim.predicate.contrasts()
        cells, name, why = study.cells_of(contrasts), f"{study.name} {claim.key}", "first check"
        if any(self.setup.unavailable(study, cell) for cell in cells):
            return None
        by_seeds = {LOOKS[0]: 1.0}
        if min(readings.seeds(contrast) for contrast in contrasts) >= LOOKS[0]:
            by_seeds, why = (
                chances(claim, readings, len(study.claims)),
                "a chance of {:.0%} to be settled with {} seeds",
            )
        lacking = {seeds: self.missing(study, cells, seeds) for seeds in by_seeds}
        if claim.gate != "none" and (bar := self.missing(SIMCSE, SIMCSE.cells, LOOKS[0])):
            by_seeds, lacking, why = {LOOKS[0]: 1.0}, {LOOKS[0]: bar}, "SimCSE, the bar of other methods"
        runs = next(filter(None, lacking.values()), ())
        fits = [
            n
            for n, more in lacking.items()
            if more == runs or self.expected.wall(more) <= self.ends - time.monotonic()
        ]
        rates = [(by_seeds[n] / self.expected.total(lacking[n]), n) for n in fits if lacking[n]]
        if not rates:  # all checks are done, or another command has just trained them
            return None
        rate, seeds = max(rates)
        return Choice(rate, name, why.format(by_seeds[seeds], seeds), runs, self.expected.wall(runs))

    def missing(self, study: Study, cells: Sequence[Cell], seeds: int) -> tuple[PlannedRun, ...]:
        """The distinct runs that cells lack up to a number of seeds."""
        runs: dict[str, PlannedRun] = {}
        for seed, cell in ((seed, cell) for seed in range(seeds) for cell in cells):
            config = self.setup.config(study, cell, seed)
            if not self.store.has(identity := run_id(config), use_published=True):
                label = f"{study.name} {'/'.join(cell.labels)}"
                run = PlannedRun(run_id=identity, config=config, cells=(label,), seed=seed)
                runs.setdefault(identity, run)
        return tuple(runs.values())
