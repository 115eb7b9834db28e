"""`--until-settled`: train each undecided claim on to its next check, the quickest first, until the
budget is spent. Checks lie ever further apart, so claims take turns. Verdicts are computed anew
from the stored runs before each choice. Nothing else is kept, so a killed command loses the runs in
training, and two commands at once share the work."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.formatting import are, counted, say, spoken
from core.report.statistics import CODED, LOOKS
from core.report.verdicts import JudgedStudy, Verdict, study_result
from core.runner.inputs import Context
from core.runner.plan import Plan, PlannedRun
from core.runner.train import RunTrainer
from core.store.store import Store
from core.study.resolution import ResolvedCell, resolve
from core.study.study import SIMCSE, Study

SHOWN = 5  # checks that --plan prints
OPEN = ("undecided", "not run")
LACKS_RUN = ("no baseline", "no run", "no score")  # reasons that bar a claim until runs are there


class NextCheck(NamedTuple):
    """The next check of a claim: the runs that it lacks, and their seconds by the clock."""

    claim: str
    seeds: int
    runs: Sequence[PlannedRun]
    wall: float

    def words(self) -> str:
        """The check in a line."""
        size = f"{counted(len(self.runs), 'run')}, about {spoken(self.wall)}"
        return f"{size}: {self.claim} at {self.seeds} seeds."


class Settling:
    """One command with --until-settled, on these studies."""

    def __init__(self, context: Context, use_published: bool, budget: float | None):
        self.context = context
        self.store = context.store
        if not use_published:
            self.store = Store(context.store.root, None)
        setup = replace(context.setup, seeds=LOOKS[0])  # later stored seeds are read, too
        self.resolved_studies = [resolve(study, setup) for study in context.studies]
        self.ends = time.monotonic() + (budget or math.inf)
        self.failed: set[str] = set()  # runs
        self.loaded: dict[str, Any] = {}  # runs that were read, by id
        self.judged: list[JudgedStudy] = []

    def go(self, training: RunTrainer) -> int:
        """Train one check after another until none fits into the time left; the exit status."""
        status = 0
        outcomes = self.judge()
        answers = training.answers
        answers.changed(self.judged)
        for result in self.judged:
            for run in result.runs:
                if run.trouble:
                    self.store.verified(run.run_id)  # sets a damaged file aside
        while (check := next(iter(self.checks()), None)) and self.fits(check):
            print(f"Next: {check.words()}", flush=True)
            ended = training.train(Plan(check.runs, check.runs, self.context.setup.sources))
            if ended > 128:
                return ended
            status = max(status, ended)
            ids = {run.run_id for run in check.runs}
            self.failed |= {run for run in ids if not self.store.has(run, use_published=True)}
            outcomes = self.judge()
            for line in answers.changed(self.judged):
                say(line)
        settled = sum(outcome in CODED[1:] for outcome in outcomes)
        print(f"{settled} of {counted(len(outcomes), 'claim')} settled.")
        return status

    def plan(self) -> int:
        """Print the first checks and their cost; the exit status. Nothing is trained."""
        count = sum(outcome in OPEN for outcome in self.judge())
        checks = self.checks()
        for check in itertools.takewhile(self.fits, checks[:SHOWN]):
            print(check.words())
        print(f"{are(count, 'claim')} undecided; more runs may settle {len(checks)}.")
        return 0

    def fits(self, check: NextCheck) -> bool:
        """Whether a check fits into the time left; says so if it does not."""
        left = max(0.0, self.ends - time.monotonic())
        if check.wall > left:
            print(
                f"The shortest step left takes {spoken(check.wall)}; {spoken(left)} of the budget "
                "are left."
            )
        return check.wall <= left

    def judge(self) -> list[str]:
        """Judge each study on the stored runs; the outcomes of all claims."""
        self.loaded = {run: read for run, read in self.loaded.items() if read.rows is not None}
        self.judged = [
            study_result(resolved, self.store, self.loaded) for resolved in self.resolved_studies
        ]
        return [verdict.outcome for result in self.judged for verdict in result.verdicts]

    def checks(self) -> list[NextCheck]:
        """The next check of each claim that more runs may settle, the quickest first; without
        checks that need a failed run."""
        expected = self.context.expected()
        bar = self.missing(SIMCSE, self.resolved_studies[0].simcse, LOOKS[0])
        checks = []
        for result in self.judged:
            for verdict in result.verdicts:
                later = [seeds for seeds in LOOKS if seeds > verdict.seeds]
                if not later or not self.able(verdict, bool(bar)):
                    continue
                claim = verdict.claim
                study = result.study
                cells = result.cells_of(claim.predicate.contrasts())
                runs = self.missing(study, cells, later[0])
                if claim.gate != "none":
                    runs = bar | runs
                if runs and not self.failed & runs.keys():  # none: another command trained them
                    lacking = tuple(runs.values())
                    name = f"{study.name} {claim.key}"
                    checks.append(
                        NextCheck(
                            name, later[0], lacking, expected.wall(run.config for run in lacking)
                        )
                    )
        return sorted(checks, key=lambda check: check.wall)

    def able(self, verdict: Verdict, lacks_bar: bool) -> bool:
        """Whether more runs may settle a claim. A claim without a verdict is able if nothing but
        the lack of a run bars it: of SimCSE, or of its own rows."""
        if any(cell.unavailable for cell in verdict.compared_cells):
            return False
        if verdict.outcome in OPEN:
            return not verdict.barred  # else the scale leaves no such number
        if verdict.outcome != "no verdict" or not (lacks_bar or verdict.seeds < LOOKS[0]):
            return False
        return all(reason.kind in LACKS_RUN for reason in verdict.barred)

    def missing(
        self, study: Study, cells: Sequence[ResolvedCell], seeds: int
    ) -> dict[str, PlannedRun]:
        """The distinct runs that cells lack under so many seeds, by id."""
        runs: dict[str, PlannedRun] = {}
        for seed, cell in itertools.product(range(seeds), cells):
            identity = cell.run_id(seed)
            if not self.store.has(identity, use_published=True):
                run = PlannedRun(run_id=identity, config=cell.config(seed), seed=seed)
                runs.setdefault(identity, run).cells.append(f"{study.name} {cell.name}")
        return runs
