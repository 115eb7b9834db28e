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
from typing import Any, NamedTuple

from core.data import sources as finding
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import expectation
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


class Judged(NamedTuple):
    """A study on the stored runs: result, readings of its contrasts, verdicts, and the ids of the runs."""

    result: Any
    readings: Any
    verdicts: Sequence[Any]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The missing runs of an open claim up to `seeds` seeds; the smallest `rank` comes first."""

    name: str
    runs: tuple[PlannedRun, ...]
    seeds: int
    why: str
    rank: tuple[bool, float]

    def words(self, seconds: float) -> str:
        """The choice in a line."""
        runs, seeds = counted(len(self.runs), "run"), counted(self.seeds, "seed")
        return f"{self.name} ({self.why}): {runs} to {seeds}, about {spoken(seconds)}"


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
        self.studies = [study.at(setup.scale) for study in studies]
        self.failed: set[str] = set()
        self._judged: dict[str, Judged] = {}
        self._loaded: dict[str, Any] = {}
        scale = setup.scale.name
        here = None if options.cluster else devices.resources(scale, options.device, options.jobs)
        self.jobs = (options.jobs or 1) if here is None else here.jobs
        self.began = time.monotonic()

    def go(self) -> int:
        """Choose and train until no choice fits into the time left; the exit status."""
        for identity in {run for study in self._judge() for run in study.runs}:
            sound(self.store, identity, self.options.use_published)  # sets damaged runs aside
        status, before = 0, self._outcomes()
        while (choice := self._next()) is not None:
            print(f"Next: {choice.words(self._wall(choice.runs))}.", flush=True)
            ended = self.training.train(batch(choice.runs), self.setup.scale, self.found)
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = [run.run_id for run in choice.runs]
            self.failed.update(run for run in ids if not self.store.has(run, use_published=True))
            after = self._outcomes()
            for name in sorted(after):
                if before[name] in OPEN and after[name] not in OPEN:
                    print(f"{name} is {after[name]}.", flush=True)
            before = after
        settled = sum(outcome in self.report["looks"].SETTLED[1:] for outcome in before.values())
        took = spoken(time.monotonic() - self.began)
        print(f"{settled} of {counted(len(before), 'claim')} settled. This command took {took}.")
        return status

    def plan(self) -> int:
        """Print the first choices and their cost; the exit status. Nothing is trained."""
        choices = self._choices(math.inf)
        for choice in choices[:SHOWN]:
            print(f"{choice.words(self._wall(choice.runs))}.")
        count = sum(outcome in OPEN for outcome in self._outcomes().values())
        print(f"{are(count, 'claim')} open; runs may settle {len(choices)}.")
        return 0

    def runs(self) -> list[str]:
        """Every stored run of the studies."""
        return list(dict.fromkeys(run for study in self._judge() for run in study.runs))

    def _judge(self) -> list[Judged]:
        """Each study on the stored runs; a study without a new run is as it was."""
        self._loaded = {identity: run for identity, run in self._loaded.items() if run.rows is not None}
        for study in self.studies:
            result = self.report["results"].gather(study, self.setup, self.store, loaded=self._loaded)
            runs = tuple(run.run_id for run in result.runs if run.rows is not None)
            if study.name not in self._judged or self._judged[study.name].runs != runs:
                result, readings = (
                    self.report["verdicts"].judge(result),
                    self.report["contrasts"].Readings(result),
                )
                self._judged[study.name] = Judged(result, readings, result.verdicts, runs)
        return list(self._judged.values())

    def _outcomes(self) -> dict[str, str]:
        """The outcome of each claim, by study and key."""
        every = [(one.result.study.name, verdict) for one in self._judge() for verdict in one.verdicts]
        return {f"{name} {verdict.claim.key}": verdict.outcome for name, verdict in every}

    def _next(self) -> Choice | None:
        """The best choice that fits into the time left, or None; a line says what did not fit."""
        left = (self.options.budget or 0.0) - (time.monotonic() - self.began)
        choices = self._choices(left)
        fitting = [choice for choice in choices if self._wall(choice.runs) <= left]
        if choices and not fitting:
            shortest = min(self._wall(choice.runs) for choice in choices)
            rest = spoken(max(0.0, left))
            print(f"The shortest step left takes {spoken(shortest)}; {rest} of the budget are left.")
        return fitting[0] if fitting else None

    def _choices(self, left: float) -> list[Choice]:
        """What may be trained for each open claim, the best first; without claims that need a failed run."""
        self.history = expectation(self.options, self.setup.scale, self.found, self.store, cache_folder())
        every = [(one, verdict) for one in self._judge() for verdict in one.verdicts]
        able = [
            (one, verdict)
            for one, verdict in every
            if (verdict.outcome in OPEN and not verdict.reason) or verdict.reason.startswith(NO_BAR)
        ]
        found = [self._choice(one, verdict.claim, left) for one, verdict in able]
        ids = {choice: {run.run_id for run in choice.runs} for choice in found if choice is not None}
        whole = (choice for choice in ids if not ids[choice] & self.failed)
        return sorted(whole, key=lambda choice: choice.rank)

    def _choice(self, one: Judged, claim: Any, left: float) -> Choice | None:
        """What a claim is given next: its reference's first run, then the runs up to its next check.

        First checks rank before others, the cheapest first. Later checks rank by the best chance per second
        of training among the checks that fit into the time left.
        """
        study, contrasts = one.result.study, claim.predicate.contrasts()
        cells, name = study.cells_of(contrasts), f"{study.name} {claim.key}"
        named = [cell for cell in study.cells if cell.labels == study.reference]
        reference = [cell for cell in named if not self.setup.unavailable(study, cell)]
        if any(self.setup.unavailable(study, cell) for cell in cells):
            return None
        reached = min(one.readings.seeds(contrast) for contrast in contrasts)
        runs = self._missing(study, reference, 1) if reached < self.looks[0] else ()
        if runs and runs[0].run_id not in self.failed:
            return Choice(name, runs, 1, "first run of the reference", (False, self._seconds(runs)))
        bar = self._missing(SIMCSE, SIMCSE.cells, self.looks[0]) if claim.gate != "none" else ()
        if bar and not {run.run_id for run in bar} & self.failed:
            return Choice(
                name, bar, self.looks[0], "SimCSE, the bar of other methods", (False, self._seconds(bar))
            )
        seeds = next((n for n in self.looks if n > reached), None)
        if seeds is None or not (runs := self._missing(study, cells, seeds)):
            return None
        if reached < self.looks[0]:
            return Choice(name, runs, seeds, "first check", (False, self._seconds(runs)))
        worth = []
        for n, chance in self.report["prospects"].chances(claim, one.readings, len(study.claims)).items():
            lacking = self._missing(study, cells, n)
            if not lacking:  # another command has just trained them
                continue
            if n == seeds or self._wall(lacking) <= left:
                worth.append((chance / self._seconds(lacking), chance, n))
        if not worth:
            return None
        rate, chance, n = max(worth, key=lambda each: each[0])
        why = f"a chance of {100 * chance:.0f} % to be settled with {n} seeds"
        return Choice(name, runs, seeds, why, (True, -rate))

    def _missing(self, study: Study, cells: Sequence[Cell], seeds: int) -> tuple[PlannedRun, ...]:
        """The distinct runs that cells lack up to a number of seeds."""
        found: dict[str, PlannedRun] = {}
        for seed in range(seeds):
            for cell in cells:
                config = self.setup.config(study, cell, seed)
                identity = run_id(config)
                if identity not in found and not self.store.has(identity, use_published=True):
                    label = f"{study.name} {'/'.join(cell.labels)}"
                    found[identity] = PlannedRun(run_id=identity, config=config, cells=(label,), seed=seed)
        return tuple(found.values())

    def _seconds(self, runs: Sequence[PlannedRun]) -> float:
        """Expected seconds of training, one run after the other."""
        return sum(self.history.seconds(run.config) for run in runs)

    def _wall(self, runs: Sequence[PlannedRun]) -> float:
        """Expected seconds by the clock."""
        longest = max((self.history.seconds(run.config) for run in runs), default=0.0)
        return max(longest, self._seconds(runs) / max(1, self.jobs))
