"""What is to be run: the distinct runs behind the wanted studies, and which of them are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.spec.edition import Edition
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.printable import nearest
from core.spec.run import RunConfig
from core.spec.study import Study
from core.spec.table import Cell
from core.store.store import Store

# Seconds that a sentence's training takes, by scale, on the machine that the scale is meant for. Only their order of
# magnitude matters before the first run has ended; from then on the runs themselves say how long they take.
SECONDS_PER_SENTENCE = {"demo": 5e-4, "long": 5e-4, "mini": 7e-3, "paper": 3e-3}
# All transfer tasks; Newton's method slows with the square of the width.
PROBE_SECONDS = {"demo": 2.0, "long": 2.0, "mini": 550.0, "paper": 1_800.0}
EVALUATION_SENTENCES = 1_500  # a development check costs about as much as training on so many sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run and the cells that need it, as `study label/label`, first study first."""

    run_id: str
    config: RunConfig
    cells: tuple[str, ...]
    seed: int

    @property
    def label(self) -> str:
        """The run in a few words, for progress lines."""
        more = f" (+{len(self.cells) - 1})" if len(self.cells) > 1 else ""
        return f"{self.cells[0]}{more} seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`runs` are the distinct runs in table order, `missing` those to train, longest first; `entries` counts cells x seeds."""

    runs: tuple[PlannedRun, ...]
    missing: tuple[PlannedRun, ...]
    entries: int


def cost(config: RunConfig) -> float:
    """Estimated seconds of a run on one slot."""
    checks = config.train.steps // config.eval.every + 2
    sentences = config.train.steps * config.train.batch_size + checks * EVALUATION_SENTENCES
    probes = PROBE_SECONDS.get(config.scale, PROBE_SECONDS["paper"]) if config.eval.transfer else 0.0
    return sentences * SECONDS_PER_SENTENCE.get(config.scale, SECONDS_PER_SENTENCE["paper"]) + probes


def plan(
    studies: Sequence[Study],
    edition: Edition,
    store: Store,
    *,
    use_published: bool = False,
    force: bool = False,
    labels: Sequence[str] = (),
) -> Plan:
    """The distinct runs that an edition of these studies asks for; a run that several cells need is counted once.

    Cells that the scale cannot run are left out. If `labels` are given, a cell needs at least one of them. A run is missing if the
    store does not have it; with `force` every run is. A damaged run of the user's is set aside and is missing. A published run counts
    as done only with `use_published`. Raises UserError for a label that no cell has.
    """
    _check_labels(labels, [study.at(edition.scale) for study in studies])
    cells: dict[str, list[str]] = {}
    found: dict[str, tuple[RunConfig, int]] = {}
    entries = 0
    for study in studies:
        for cell, configs in edition.asked(study):
            if labels and not set(labels).intersection(_names(cell)):
                continue
            for seed, config in enumerate(configs):
                identity = run_id(config)
                cells.setdefault(identity, []).append(f"{study.name} {'/'.join(cell.labels)}")
                found.setdefault(identity, (config, seed))
                entries += 1
    runs = tuple(
        PlannedRun(run_id=identity, config=config, cells=tuple(dict.fromkeys(cells[identity])), seed=seed)
        for identity, (config, seed) in found.items()
    )
    absent = [run for run in runs if force or not sound(store, run.run_id, use_published)]
    absent.sort(key=lambda run: -cost(run.config))  # stable: runs of equal cost keep the table's order
    return Plan(runs=runs, missing=tuple(absent), entries=entries)


def batch(runs: Sequence[PlannedRun]) -> Plan:
    """These runs as a plan, the longest first."""
    return Plan(runs=tuple(runs), missing=tuple(sorted(runs, key=lambda run: -cost(run.config))), entries=len(runs))


def _names(cell: Cell) -> tuple[str, ...]:
    """What a cell answers to: each of its labels, and all of them in the axes' order."""
    return (*cell.labels, "/".join(cell.labels))


def _check_labels(labels: Sequence[str], studies: Sequence[Study]) -> None:
    known = dict.fromkeys(name for study in studies for cell in study.cells for name in _names(cell))
    for label in labels:
        if label not in known:
            hint = nearest(label, known, f"there are {', '.join(repr(name) for name in list(known)[:8])} and others.")
            raise UserError(f"No cell is called {label[:80]!r}; {hint}")


def sound(store: Store, identity: str, use_published: bool) -> bool:
    """Whether the store has a run whose file can be believed. A damaged file of the user's is set aside, with a printed sentence."""
    return store.verified(identity) or (use_published and store.verified_published(identity))
