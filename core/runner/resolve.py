"""`--resolve`: train the runs that are likeliest to settle claims, until the budget is spent.
Verdicts are computed anew from the stored runs before each choice. Nothing else is kept, so a
killed command loses the runs in training, and two commands at once share the work."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from core.errors import are, counted, spoken
from core.report.prospects import chances
from core.report.statistics import CODED, LOOKS
from core.report.verdicts import Judged, Verdict, study_result
from core.runner.estimate import Expectation
from core.runner.plan import Plan, PlannedRun
from core.runner.run_sets import Prospect, RunSet, best_set
from core.runner.train import RunTrainer
from core.store.store import Store
from core.study.grid import Grid, GridCell, resolve
from core.study.study import SIMCSE, Study

SHOWN = 5  # sets that --plan prints
OPEN = ("undecided", "not run")
LACKS_RUN = ("no baseline", "no run", "no score")  # reasons that bar a claim until runs are there
LEAST_CHANCE = 1e-4  # the chance of any check; draws show no smaller chance


class Resolving:
    """One command with --resolve, on these studies."""

    def __init__(self, training: RunTrainer, studies: Sequence[Study]):
        self.training = training
        options = training.options
        self.store = training.store
        if not options.use_published:
            self.store = Store(training.store.root, None)
        setup = replace(training.setup, seeds=LOOKS[0])  # later stored seeds are read, too
        self.grids = [resolve(study, setup) for study in studies]
        self.bar = resolve(SIMCSE, setup)
        self.ends = time.monotonic() + (options.budget or math.inf)
        self.failed: set[str] = set()  # runs
        self.loaded: dict[str, Any] = {}  # runs that were read, by id
        self.judged: list[Judged] = []
        self.planned: dict[str, PlannedRun] = {}  # missing runs, by id
        self.expected: Expectation

    def go(self) -> int:
        """Choose and train until no set fits into the time left; the exit status."""
        status = 0
        outcomes = self.judge()
        for result in self.judged:
            for run in result.runs:
                if run.trouble:
                    self.store.verified(run.run_id)  # sets a damaged file aside
        while prospects := self.prospects():
            chosen = next(self.sets(prospects), None)
            if chosen is None:
                self.tell_shortest(prospects)
                break
            print(f"Next: {chosen.words()}", flush=True)
            ended = self.training.train(Plan(chosen.runs, chosen.runs))
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = {run.run_id for run in chosen.runs}
            self.failed |= {run for run in ids if not self.store.has(run, use_published=True)}
            outcomes = self.judge()
        settled = sum(outcome in CODED[1:] for outcome in outcomes)
        print(f"{settled} of {counted(len(outcomes), 'claim')} settled.")
        return status

    def plan(self) -> int:
        """Print the first sets and their cost; the exit status. Nothing is trained."""
        count = sum(outcome in OPEN for outcome in self.judge())
        prospects = self.prospects()
        sets = list(itertools.islice(self.sets(prospects), SHOWN))
        for chosen in sets:
            print(chosen.words())
        if prospects and not sets:
            self.tell_shortest(prospects)
        able = {prospect.claim for prospect in prospects}
        print(f"{are(count, 'claim')} undecided; more runs may settle {len(able)}.")
        return 0

    def judge(self) -> list[str]:
        """Judge each study on the stored runs; the outcomes of all claims."""
        self.loaded = {run: read for run, read in self.loaded.items() if read.rows is not None}
        self.judged = [study_result(grid, self.store, self.loaded) for grid in self.grids]
        outcomes: list[str] = []
        for result in self.judged:
            outcomes += [verdict.outcome for verdict in result.verdicts]
        return outcomes

    def sets(self, prospects: Sequence[Prospect]) -> Iterator[RunSet]:
        """Sets of missing runs that fit into the time left one after another, the best first. Each
        counts the sets before it as trained, and their claims as settled with the chance that they
        had."""
        left = self.ends - time.monotonic()
        done = frozenset[str]()
        seconds = {run: self.expected.seconds(self.planned[run].config) for run in self.planned}
        while ids := best_set(prospects, done, seconds, self.expected.jobs, left):
            runs = tuple(self.planned[run] for run in self.planned if run in ids)
            wall = self.expected.wall(runs)
            yield RunSet.of(runs, wall, prospects, done)
            done = done | ids
            left = left - wall

    def tell_shortest(self, prospects: Sequence[Prospect]) -> None:
        """Print that no set of runs fits into the time left."""
        runs = ([self.planned[run] for run in prospect.runs] for prospect in prospects)
        shortest = min(map(self.expected.wall, runs))
        left = max(0.0, self.ends - time.monotonic())
        print(
            f"The shortest step left takes {spoken(shortest)}; {spoken(left)} of the budget are "
            "left."
        )

    def prospects(self) -> list[Prospect]:
        """The later checks of each claim that more runs may settle, by claim and seeds; without
        checks that need a failed run."""
        self.expected = self.training.expected()
        self.planned = {}
        bar = self.missing(self.bar.study, self.bar.cells, range(LOOKS[0]))
        prospects = list[Prospect]()
        for result in self.judged:
            for verdict in result.verdicts:
                if self.able(verdict, bool(bar)):
                    prospects += self.later(result.grid, verdict, bar)
        return [prospect for prospect in prospects if not self.failed & prospect.runs]

    def able(self, verdict: Verdict, lacks_bar: bool) -> bool:
        """Whether more runs may settle a claim. A claim without a verdict is able if nothing but
        the lack of a run bars it: of SimCSE, or of its own rows."""
        for reading in verdict.readings.values():
            if any(cell.unavailable for cell in reading.cells):
                return False
        if verdict.outcome in OPEN:
            return not verdict.barred  # else the scale leaves no such number
        if verdict.outcome != "no verdict" or not (lacks_bar or verdict.seeds < LOOKS[0]):
            return False
        return all(reason.kind in LACKS_RUN for reason in verdict.barred)

    def later(self, grid: Grid, verdict: Verdict, bar: frozenset[str]) -> Iterator[Prospect]:
        """A claim's later checks, up to the one with the most chance a seed."""
        claim = verdict.claim
        study = grid.study
        cells = grid.of(study.cells_of(claim.predicate.contrasts()))
        by_check = chances(verdict, len(study.claims))
        floored = {seeds: max(chance, LEAST_CHANCE) for seeds, chance in by_check.items()}
        most = max(floored, key=lambda seeds: floored[seeds] / (seeds - verdict.seeds), default=0)
        runs = bar
        if claim.gate == "none":
            runs = frozenset()
        before = 0
        for seeds, chance in floored.items():
            if seeds > most:
                continue
            runs |= self.missing(study, cells, range(before, seeds))
            before = seeds
            if runs:  # else another command has just trained them
                yield Prospect((study.name, claim.key), seeds, chance, runs)

    def missing(self, study: Study, cells: Sequence[GridCell], seeds: range) -> frozenset[str]:
        """The distinct runs that cells lack under these seeds."""
        runs = set()
        for seed, cell in itertools.product(seeds, cells):
            identity = cell.run_id(seed)
            if identity not in self.planned and self.store.has(identity, use_published=True):
                continue
            run = PlannedRun(run_id=identity, config=cell.config(seed), seed=seed)
            names = self.planned.setdefault(identity, run).cells
            name = f"{study.name} {cell.name}"
            if name not in names:
                names.append(name)
            runs.add(identity)
        return frozenset(runs)
