"""Spending time where it decides most: claims are judged at their looks, and the runs that come next are those of the likeliest
verdict by the second. Everything that is decided follows from the stored runs, so a killed command loses nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from core.data import sources as finding
from core.runner import devices
from core.runner.cli import Options
from core.runner.estimate import expectation
from core.runner.pace import spoken
from core.runner.plan import sound
from core.runner.resolve.choosing import Choice, batch, choices, missing, wall
from core.runner.resolve.judging import Judge, Wish
from core.runner.resolve.ledger import Batch, Ledger, Ledgers
from core.runner.resolve.prospects import next_words, table
from core.runner.train import Training, cache_folder
from core.spec.edition import Edition
from core.spec.printable import are
from core.spec.study import Study
from core.store.console import say
from core.store.store import Store

SHOWN = 5  # of what would come next, with --plan


class Resolving:
    """One command that resolves: `studies` before their judges, the ledgers, and what this command has seen fail. `noise` is the study
    of one configuration, whose scatter steadies the chances as far as it has been run."""

    def __init__(
        self,
        options: Options,
        store: Store,
        training: Training,
        studies: Sequence[Study],
        edition: Edition,
        found: finding.Found,
        noise: Study | None,
    ):
        self.options, self.training, self.scale, self.found = options, training, edition.scale, found
        # Published runs count here as they do for a plan: only if the command says so.
        self.store = store if options.use_published else Store(store.root, None)
        self.judges = [Judge(study, edition, self.store) for study in studies]
        self.noise = Judge(noise, edition, self.store).noise() if noise is not None else None
        self.ledgers = Ledgers(store.root, self.scale.name, edition.profile, store.published if options.use_published else None)
        self.known: dict[str, Ledger] = {}
        self.failed: set[str] = set()
        self.loaded: dict = {}
        self.said: set[str] = set()
        resources = None if options.cluster else devices.resources(self.scale.name, options.device, options.jobs)
        self.jobs = (options.jobs or 1) if resources is None else resources.jobs
        self.began = time.monotonic()

    def go(self) -> int:
        """Judge, choose, train, and again until the time is up or nothing is left to do; the exit status."""
        self._read()
        self._verify()
        self.store.prepare()
        try:
            status = self._spend()
        finally:
            self.training.close()
        if status > 128:
            return status
        print("\n".join(table(self.judges, self.known)))
        print(f"This command took {spoken(time.monotonic() - self.began)}.")
        return status

    def _spend(self) -> int:
        """Batch after batch; the exit status."""
        status = 0
        while (choice := self._turn()) is not None:
            before = self._settled()
            ended = self.training.train(batch(choice.runs), self.scale, self.found, keep=True)
            if ended > 128:
                return ended
            status = max(status, ended)
            self.failed |= {run.run_id for run in choice.runs if not self.store.has(run.run_id, use_published=True)}
            self._judge()
            for study, key in sorted(self._settled() - before):
                entry = self.known[study].claims[key]
                print(f"{study} {key} is {entry.outcome} with {entry.n} seeds.", flush=True)
        return status

    def plan(self) -> int:
        """Say what would come next and what it would cost; nothing is written or trained."""
        self._read()
        for judge in self.judges:
            judge.look(self.loaded, self.noise)
            self.known[judge.study.name] = self._entered(judge)
        found = self._choices()
        likeliest = {(one.wish.study, one.wish.claim): one for one in reversed(found)}  # of each claim the best choice
        for choice in [one for one in found if one in likeliest.values()][:SHOWN]:
            print(f"{next_words(choice, self._wall(choice))}.")
        if not found:
            print("\n".join(table(self.judges, self.known)))
        print(f"{are(len(self._open()), 'claim')} open; {len(likeliest)} of these may be settled by runs to come.")
        return 0

    def runs(self) -> list[str]:
        """Every stored run that the studies' claims rest on."""
        return list(dict.fromkeys(run for judge in self.judges for run in judge.runs()))

    def _read(self) -> None:
        """Read the existing ledgers. Raises UserError for a ledger that cannot be believed, before anything is done."""
        for judge in self.judges:
            ledger = self.ledgers.read(judge.study.name, judge.registered, judge.first)
            self.known[judge.study.name] = ledger or Ledger(study=judge.study.name, registered=judge.registered, cells=judge.first)

    def _verify(self) -> None:
        """Set damaged runs aside, so that they are trained again."""
        for identity in self.runs():
            sound(self.store, identity, self.options.use_published)

    def _turn(self) -> Choice | None:
        """Judge the stored runs, choose the next runs, and register the choice before they are trained; None if no choice fits into the
        time left."""
        with self.ledgers.hold():
            self._judge(held=True)
            found = self._choices()
            left = (self.options.budget or 0.0) - (time.monotonic() - self.began)
            begun = [choice for judge in self.judges if (choice := self._begun(judge)) is not None]
            fitting = [choice for choice in (*begun, *found) if self._wall(choice) <= left]
            if not fitting:
                if found:
                    print(
                        f"The shortest of what is left takes {spoken(min(map(self._wall, found)))}, and {spoken(max(0.0, left))} of the time are left."
                    )
                return None
            choice = fitting[0]
            ledger = self.known[choice.wish.study]
            if ledger.batch is None:
                ids = tuple(sorted(run.run_id for run in choice.runs))
                self._keep(replace(ledger, batch=Batch(claim=choice.wish.claim, n=choice.wish.n, runs=ids)))
        say(f"Next: {next_words(choice, self._wall(choice))}.")  # a batch's claim is read from a file
        return choice

    def _judge(self, held: bool = False) -> None:
        """Judge the stored runs and enter the verdicts, under the ledgers' lock."""
        if not held:
            with self.ledgers.hold():
                return self._judge(held=True)
        self._read()
        for judge in self.judges:
            judge.look(self.loaded, self.noise)
            self._keep(self._entered(judge))

    def _entered(self, judge: Judge) -> Ledger:
        """A study's ledger with what the runs say now. A verdict stays; a line says if the runs no longer support it."""
        ledger = self.known[judge.study.name]
        claims = {}
        for key, standing in judge.standings.items():
            now, then = standing.entry, ledger.claims.get(key)
            if then is None or not (then.settled or (then.n > now.n and not now.settled)):
                if then is not None and now.settled and now.look <= then.look and not standing.reason:
                    self._once(
                        f"{judge.study.name} {key}: the ledger has it open with {then.n} seeds, and the runs that count here call it "
                        f"{now.outcome} with {now.n}. Some of them are other runs than were looked at then."
                    )
                claims[key] = now
                continue
            if not standing.reason and (then.outcome, then.n) != (now.outcome, now.n) and (then.outcome != now.outcome or not then.settled):
                self._once(
                    f"{judge.study.name} {key}: the ledger says {then.outcome} with {then.n} seeds, and the runs that count here say "
                    f"{now.outcome} with {now.n}; the ledger stands. Train them again with --seeds {then.n}, or count published ones with --use-published."
                )
            claims[key] = then
        pending = ledger.batch
        if pending is not None and (
            all(self.store.has(run, use_published=True) for run in pending.runs)
            or any(key == pending.claim and standing.reason for key, standing in judge.standings.items())
        ):
            pending = None  # not for a claim that is settled: an interrupted command must end as an undisturbed one
        return replace(ledger, cells={**ledger.cells, **judge.first}, claims=claims, batch=pending, spent=judge.spent())

    def _begun(self, judge: Judge) -> Choice | None:
        """The runs that another command, or this one before it was killed, chose for this study and that are not all stored."""
        ledger = self.known[judge.study.name]
        if ledger.batch is None or self.failed.intersection(ledger.batch.runs):
            return None
        wish = Wish(
            study=judge.study.name,
            claim=ledger.batch.claim,
            leaning="begun",
            chance=None,
            aim=ledger.batch.n,
            n=ledger.batch.n,
            cells=judge.asked,
        )
        runs = tuple(run for run in missing(judge, wish, wish.n) if run.run_id in ledger.batch.runs)
        seconds = sum(self.history.seconds(run.config) for run in runs)
        return Choice(wish=wish, runs=runs, seconds=seconds) if runs else None

    def _choices(self) -> list[Choice]:
        self.history = expectation(self.options, self.scale, self.found, self.store, cache_folder())
        return choices(self.judges, self._open(), self.history, self.failed)

    def _open(self) -> set[tuple[str, str]]:
        return {(judge.study.name, key) for judge in self.judges for key in judge.standings} - self._settled()

    def _settled(self) -> set[tuple[str, str]]:
        return {(name, key) for name, ledger in self.known.items() for key, entry in ledger.claims.items() if entry.settled}

    def _wall(self, choice: Choice) -> float:
        return wall(choice.runs, self.history, self.jobs)

    def _keep(self, ledger: Ledger) -> None:
        self.known[ledger.study] = ledger
        self.ledgers.write(ledger)

    def _once(self, text: str) -> None:
        if text not in self.said:
            self.said.add(text)
            print(text, flush=True)
