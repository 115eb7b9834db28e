"""Ledgers: what was registered of a study's claims before runs were trained for them, and what the looks have said since.

    <results>/<scale>/<profile>/ledger/<study>.json      and likewise under results/published

A ledger holds claims, margins and looks as they were before the first run, the first seed's run of every cell that a claim speaks
of, each claim's verdict, and the batch of runs that is under way. Verdicts follow from the stored runs, so a ledger adds no knowledge:
it shows that claims, margins and looks were not chosen after the runs that followed it were seen. It carries a checksum of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from core.spec.claim import Contrast, Predicate
from core.spec.errors import UserError
from core.spec.study import Study
from core.spec.table import Metric
from core.store import files, locks

VERSION = 1
MOST_BYTES = 64 << 20  # of a ledger, which has some thousands
OUTCOMES = ("undecided", "supported", "contradicted", "equivalent")
ROUNDED = 1e-5  # of a p, by its six digits
MOVE = "move it away to register the study anew, which is a new experiment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the looks say of a claim: the verdict, at which look (counted from 1; 0: none is complete), with how many seeds, and p of
    support, contradiction and equivalence there, to six digits."""

    outcome: str
    look: int
    n: int
    p: tuple[float, ...]

    @property
    def settled(self) -> bool:
        """Whether there is a verdict, which stays."""
        return self.outcome != "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Runs that were chosen and are not all stored yet: for which claim, up to how many seeds."""

    claim: str
    n: int
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """One study's ledger. `registered` is what must not change; `cells` the first seed's run by cell; `spent` the runs that its
    claims rest on and their seconds."""

    study: str
    registered: dict
    cells: dict[str, str]
    claims: dict[str, Entry] = field(default_factory=dict)
    batch: Batch | None = None
    spent: dict[str, float] = field(default_factory=dict)


def registration(study: Study, alpha: float, looks: tuple[int, ...], shares: tuple[float, ...]) -> dict:
    """What is registered of a study: each claim's predicate and margin, their number, the looks with their shares of alpha, and the cells
    that must learn for a claim to be asked."""
    claims = [{"key": one.key, "predicate": plain(one.predicate, study), "margin": one.margin} for one in study.claims]
    learn = {"reference": study.reference and list(study.reference), "must_learn": [list(labels) for labels in study.must_learn]}
    spent = {"J": len(claims), "alpha": alpha, "looks": list(looks), "shares": list(shares)}
    return {"claims": claims, "digest": _digest(claims), **spent, **learn}


def plain(predicate: Predicate, study: Study) -> dict:
    """A predicate as JSON: contrasts as weights of cells (wildcards spelled out) with what is read of them, above a threshold."""
    if not isinstance(predicate, Contrast):
        return {"needed": predicate.needed, "parts": [plain(part, study) for part in predicate.parts]}
    terms = [
        [term.weight, [["/".join(cell.labels), _read(predicate.metric or study.metric_of(cell))] for cell in study.matching(term.cell)]]
        for term in predicate.terms
    ]
    return {"terms": terms, "above": predicate.above, "of": predicate.of}


class Ledgers:
    """The ledgers of one scale and profile; `hold` is the lock under which they are read, judged and written. If the user has no ledger
    of a study, the ledger under `published` counts, unless the user's runs are others: it holds what was registered for the published."""

    def __init__(self, results: Path, scale: str, profile: str, published: Path | None = None):
        self.inner = Path(scale) / profile / "ledger"
        self.folder = Path(results) / self.inner
        self.published = None if published is None else Path(published) / self.inner
        self._lock = Path(results) / ".locks" / f"ledger-{scale}-{profile}.lock"

    def path(self, study: str) -> Path:
        """Where a study's ledger is."""
        return self.folder / f"{study}.json"

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Within this context no other command reads or writes these ledgers. The lock ends with its process."""
        with locks.waiting(self._lock, f"the ledgers of {self.inner.parent}"):
            files.sweep_all([self.folder])  # what killed writers left
            yield

    def read(self, study: str, registered: Mapping, cells: Mapping[str, str]) -> Ledger | None:
        """A study's ledger; None if the study is not registered yet. Raises UserError if the file is no ledger, was changed, or belongs
        to other claims or other runs."""
        path = self.path(study)
        own = self.published is None or path.exists()
        if self.published is not None and not own:
            path = self.published / path.name
        ledger = _read_file(path)
        if ledger is None:
            return None
        if ledger.study != study:
            raise UserError(f"{path} is the ledger of {ledger.study[:80]!r}, not of {study}; give it its name back, or {MOVE}.")
        others = any(cells.get(cell, run) != run for cell, run in ledger.cells.items())
        if others and not own:
            return None  # the project's experiment is another one, with another encoder or text
        if ledger.registered != registered:
            if not (ledger.registered["claims"] or registered["claims"]):
                return None  # no claim was or is registered, so no verdict could turn
            raise UserError(
                f"{path} was registered for other claims, margins or looks, or other cells that must learn, than {study} has now; put those back, or {MOVE}."
            )
        if others:
            raise UserError(
                f"{path} was registered for other runs than {study} has now (another encoder, text or version of the code); {MOVE}."
            )
        return ledger

    def write(self, ledger: Ledger) -> None:
        """Write a ledger as a whole, unless the file already says the same. Raises UserError if it cannot be written."""
        _write_file(self.path(ledger.study), ledger)

    def publish(self, study: str, published: Path) -> bool:
        """Publish the user's ledger of a study; returns whether the user has a ledger. Verdicts that are published stay, and so does
        what was found with more seeds, as long as claims, looks and runs are the same. Raises UserError."""
        target = Path(published) / self.inner / f"{study}.json"
        with self.hold():
            own, other = _read_file(self.path(study)), _read_file(target)
            if own is None:
                return False
            if other is not None and other.registered == own.registered and other.cells.items() <= own.cells.items():
                ahead = {key: one for key, one in other.claims.items() if one.settled or (key in own.claims and one.n > own.claims[key].n)}
                own = replace(own, claims={**own.claims, **ahead})
            _write_file(target, own)
        return True


def _read_file(path: Path) -> Ledger | None:
    try:
        content = files.content(path, MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); mend that and give the same command again.") from error
    return _parsed(path, content)


def _write_file(path: Path, ledger: Ledger) -> None:
    content = _text(ledger)
    with contextlib.suppress(OSError):
        if files.content(path, MOST_BYTES) == content:
            return
    files.write_whole(path, content)


def _text(ledger: Ledger) -> bytes:
    body = {"version": VERSION, **asdict(ledger)}
    return (json.dumps({"checksum": _digest(body), "ledger": body}, indent=1, sort_keys=True) + "\n").encode()


def _parsed(path: Path, content: bytes) -> Ledger:
    """The ledger in a file's content. Raises UserError."""
    try:
        document = json.loads(content)
        body, checksum = document["ledger"], document["checksum"]
        if _digest(body) != checksum:
            raise UserError(
                f"{path} was changed or damaged after it was written (its checksum does not fit); put the old file back, or {MOVE}."
            )
        if body["version"] != VERSION:
            raise UserError(f"{path} was written by another version of the code (version {body['version']!r}); use that one, or {MOVE}.")
        entries = {key: Entry(**{**one, "p": tuple(one["p"])}) for key, one in body["claims"].items()}
        batch = body["batch"] and Batch(**{**body["batch"], "runs": tuple(body["batch"]["runs"])})
        if not _possible(body, entries, batch):
            raise ValueError("what no ledger holds")
        return Ledger(
            study=body["study"], registered=body["registered"], cells=body["cells"], claims=entries, batch=batch, spent=body["spent"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is no ledger of this project; {MOVE}.") from error


def _possible(body: dict, entries: dict[str, Entry], batch: Batch | None) -> bool:
    """Whether verdicts, batch and counts are of the types and values that are written: a right checksum does not make them so."""
    texts = [body["study"], *body["cells"].values(), *([] if batch is None else [batch.claim, *batch.runs])]
    numbers = list(body["spent"].values())
    registered = body["registered"]
    return (
        isinstance(registered, dict)
        and entries.keys() <= {one["key"] for one in registered.get("claims", ())}
        and all(_follows(one, registered) for one in entries.values())
        and all(isinstance(text, str) for text in texts)
        and (batch is None or (type(batch.n) is int and batch.n >= 0))
        and all(type(number) in (int, float) and 0 <= number < float("inf") for number in numbers)
    )


def _follows(one: Entry, registered: dict) -> bool:
    """Whether a verdict follows from its p at its look, and look and seeds are among those that were registered."""
    if one.outcome not in OUTCOMES or len(one.p) != len(OUTCOMES) - 1 or not all(type(count) is int for count in (one.look, one.n)):
        return False
    if not all(type(p) in (int, float) and 0 <= p <= 1 for p in one.p):
        return False
    if one.look == 0:
        return one.n == 0 and not one.settled
    if not 1 <= one.look <= len(registered["looks"]) or one.n != registered["looks"][one.look - 1]:
        return False
    level = registered["alpha"] * registered["shares"][one.look - 1] / registered["J"] * (1 + ROUNDED)
    return one.p[OUTCOMES.index(one.outcome) - 1] <= level if one.settled else True


def _read(metric: Metric) -> list[str]:
    """The parts of a metric that decide a number: all but its title."""
    return [metric.task, metric.quantity, metric.checkpoint]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
