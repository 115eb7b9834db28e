"""How a study's claims stand on the stored runs, and what each could be given next. The report is imported when it is needed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Literal

from core.runner.resolve.ledger import Entry, registration
from core.spec.claim import Claim, Contrast, Predicate
from core.spec.edition import Edition
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.study import Study
from core.spec.table import Cell
from core.store.store import Store

DIGITS = 6  # of a stored p
Leaning = Literal["reference", "first look", "begun", "supported", "contradicted", "equivalent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What may settle a claim: the chance with `aim` seeds, and the cells that get runs up to `n` seeds, the look on the way."""

    study: str
    claim: str
    leaning: Leaning
    chance: float | None  # None up to the first look: nothing is known
    aim: int
    n: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A claim as the stored runs have it. `chance` is the best at any look left, None if that is not known."""

    entry: Entry
    wishes: tuple[Wish, ...] = ()
    chance: float | None = None
    futile: bool = False
    reason: str = ""  # why it cannot be decided here


NOTHING = Entry(outcome="undecided", look=0, n=0, p=(1.0, 1.0, 1.0))


class Judge:
    """One study before its judge: its claims on the runs of `store`, and the runs of its cells."""

    def __init__(self, study: Study, edition: Edition, store: Store):
        self.study, self.store = study.at(edition.scale), store
        self._runs: dict[tuple[tuple[str, ...], int], tuple[str, RunConfig]] = {}
        self.rules, self.outlook = (importlib.import_module(f"core.report.{name}") for name in ("sequential", "outlook"))
        self.edition = replace(edition, seeds=self.rules.LOOKS[0])  # a judge reads all seeds that are stored, the first look's at least
        self.registered = registration(self.study, self.rules.ALPHA, self.rules.LOOKS, self.rules.SHARES)
        speaking = {cell.labels: cell for claim in self.study.claims for cell in self.study.cells_of(claim.predicate.contrasts())}
        self.reasons = {cell.labels: edition.unavailable(self.study, cell) for cell in speaking.values()}
        self.cells = tuple(cell for cell in speaking.values() if self.reasons[cell.labels] is None)
        self.first = {"/".join(cell.labels): self.run(cell, 0)[0] for cell in self.cells}
        named = (cell for cell in self.study.cells if cell.labels == self.study.reference)
        self.reference = next((cell for cell in named if edition.unavailable(self.study, cell) is None), None)
        self._seen: tuple | None = None

    def run(self, cell: Cell, seed: int) -> tuple[str, RunConfig]:
        """The run of a cell under a seed."""
        if (cell.labels, seed) not in self._runs:
            config = self.edition.config(self.study, cell, seed)
            self._runs[cell.labels, seed] = run_id(config), config
        return self._runs[cell.labels, seed]

    @property
    def asked(self) -> tuple[Cell, ...]:
        """The cells whose runs may come next: those that the claims speak of, and the reference."""
        return self.cells if self.reference is None or self.reference in self.cells else (*self.cells, self.reference)

    def stored(self, cell: Cell) -> int:
        """How many seeds of a cell, from 0 on, are stored."""
        seed = 0
        while self.store.has(self.run(cell, seed)[0], use_published=True):
            seed += 1
        return seed

    def runs(self) -> list[str]:
        """Every stored run of the cells that the claims rest on: those that they speak of, and the reference."""
        return [self.run(cell, seed)[0] for cell in self.asked for seed in range(self.stored(cell))]

    def noise(self) -> float | None:
        """The SD of one run, if this is the noise study and it has been run."""
        return importlib.import_module("core.report.signflip").noise_sd(self._gathered({}, None))

    def _gathered(self, loaded: dict, noise: float | None):
        found = importlib.import_module("core.report.cells").gather(self.study, self.edition, self.store, loaded=loaded, noise=noise)
        return importlib.import_module("core.report.comparability").judged(found)

    def look(self, loaded: dict, noise: float | None) -> bool:
        """Read the stored runs again if they have changed since the last call; returns whether they have. `loaded` keeps runs by id;
        `noise` is the SD of one run by the noise study."""
        seen = tuple(self.stored(cell) for cell in self.asked)
        if seen == self._seen:
            return False
        for gone in [identity for identity, run in loaded.items() if run.rows is None]:
            del loaded[gone]
        self._seen = seen
        self.result = self._gathered(loaded, noise)
        self.readings = importlib.import_module("core.report.contrasts").Readings(self.result)
        self.standings = {claim.key: self._standing(claim) for claim in self.study.claims}
        return True

    def spent(self) -> dict[str, float]:
        """Runs that the study's tables rest on, and the seconds that they say they took."""
        there = [run for run in self.result.runs if run.rows is not None]
        taken = [run.provenance.get("seconds") for run in there]
        seconds = sum(sum(one.values()) for one in taken if isinstance(one, dict))
        return {"runs": len(there), "seconds": round(seconds, 1)}

    def _standing(self, claim: Claim) -> Standing:
        if why := self.result.reason(claim.key):
            return Standing(entry=NOTHING, reason=f"not comparable: {why}")
        number = self.registered["J"]
        found = self.rules.decide(claim, self.readings.samples, number)
        entry = Entry(outcome=found.outcome, look=found.look + 1, n=found.n, p=tuple(float(f"{p:.{DIGITS}g}") for p in found.p))
        if entry.settled:
            return Standing(entry=entry)
        for cell in self.study.cells_of(claim.predicate.contrasts()):
            if (reason := self.reasons[cell.labels]) is not None:
                return Standing(entry=entry, reason=reason)
        contrasts = claim.predicate.contrasts()
        if min(self.readings.seeds(contrast) for contrast in contrasts) < self.rules.LOOKS[0]:
            n = self.rules.LOOKS[0]
            first = Wish(
                study=self.study.name, claim=claim.key, leaning="first look", chance=None, aim=n, n=n, cells=self.study.cells_of(contrasts)
            )
            return Standing(entry=entry, wishes=(*self._reference_first(claim), first))
        later = self._chances(claim)
        best = max((one.best for one in later if one.best is not None), default=None)
        if self.outlook.futile(later):
            return Standing(entry=entry, chance=best, futile=True)
        wishes = tuple(wish for one in later for wish in self._wishes(claim, one))
        return Standing(entry=entry, chance=best, wishes=wishes or self._anyway(claim, later[0]))

    def _reference_first(self, claim: Claim) -> tuple[Wish, ...]:
        """One run of the reference, as long as it has none: if it does not learn, no look of the study's claims is worth its runs."""
        if self.reference is None or self.stored(self.reference):
            return ()
        return (Wish(study=self.study.name, claim=claim.key, leaning="reference", chance=None, aim=1, n=1, cells=(self.reference,)),)

    def _chances(self, claim: Claim) -> tuple:
        prior = self.readings.prior(self.result.noise)
        return self.outlook.chances(claim, self.readings.samples, self.registered["J"], self.readings.seeds, prior)

    def _wishes(self, claim: Claim, chance) -> list[Wish]:
        """The ways in which a claim may be settled at a look, those that are not futile."""
        every = claim.predicate.contrasts()
        ways: list[tuple[Leaning, float | None, tuple[Contrast, ...]]] = [
            ("supported", chance.support, every), ("equivalent", chance.equivalence, every),
        ]  # fmt: skip
        if (chance.contradiction or 0.0) >= self.outlook.FUTILE:
            ways.append(("contradicted", chance.contradiction, self._against(claim, claim.predicate, chance.n)[1]))
        return [
            Wish(study=self.study.name, claim=claim.key, leaning=leaning, chance=likely, aim=chance.n, n=self._next(contrasts), cells=cells)
            for leaning, likely, contrasts in ways
            if (likely or 0.0) >= self.outlook.FUTILE and (cells := self.study.cells_of(contrasts))
        ]

    def _anyway(self, claim: Claim, chance) -> tuple[Wish, ...]:
        """The next look of a claim whose chances are small, and which too few seeds speak of for it to be given up."""
        contrasts = claim.predicate.contrasts()
        ways: tuple[Leaning, ...] = ("supported", "contradicted", "equivalent")
        likely = dict(zip(ways, (chance.support or 0.0, chance.contradiction or 0.0, chance.equivalence or 0.0), strict=True))
        leaning = max(ways, key=likely.__getitem__)
        cells = self.study.cells_of(contrasts)
        return (
            Wish(
                study=self.study.name,
                claim=claim.key,
                leaning=leaning,
                chance=likely[leaning],
                aim=chance.n,
                n=self._next(contrasts),
                cells=cells,
            ),
        )

    def _against(self, claim: Claim, predicate: Predicate, n: int) -> tuple[float, tuple[Contrast, ...]]:
        """The contrasts that contradict a predicate most likely with n seeds, with the chance of the least likely of them: where u of m
        parts are needed, m - u + 1."""
        if isinstance(predicate, Contrast):
            found = self._chances(replace(claim, predicate=predicate, margin=None))
            return next((one.contradiction or 0.0 for one in found if one.n == n), 0.0), (predicate,)
        parts = sorted((self._against(claim, part, n) for part in predicate.parts), key=lambda part: -part[0])
        chosen = parts[: len(parts) - predicate.needed + 1]
        return chosen[-1][0], tuple(contrast for _, contrasts in chosen for contrast in contrasts)

    def _next(self, contrasts: tuple[Contrast, ...]) -> int:
        """The seeds of the first look that not all of these contrasts have reached."""
        reached = min(self.readings.seeds(contrast) for contrast in contrasts)
        return next((n for n in self.rules.LOOKS if n > reached), self.rules.LOOKS[-1])
