"""What is to be run: the distinct runs behind the wanted studies, and which of them are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.spec import methods
from core.spec.errors import UserError, are, counted, nearest, say
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.spec.study import Study
from core.spec.table import Cell
from core.store.records import CorruptRun, MissingRun
from core.store.store import Store

# Mean tokens of a training sentence, distinct sentences of the development set, and of all test sets: of the
# made-up language, and of Wikipedia and SentEval.
GENERATED, REAL = (13, 800, 3_997), (25, 2_909, 26_296)
# Scoring a sentence takes a quarter of SimCSE's training on it (0.23 to 0.26 on two CPUs at demo and mini).
SCORED = 0.25
# All transfer tasks, in sentences that SimCSE trains on in the same time.
PROBES = {"demo": 2_000, "mini": 250_000, "paper": 5_000}


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
    """`runs` are the distinct runs in table order, `missing` those to train, longest first; `entries` counts
    cells x seeds."""

    runs: tuple[PlannedRun, ...]
    missing: tuple[PlannedRun, ...]
    entries: int

    def line(self) -> str:
        """How many runs there are, are done and are to train."""
        shared = f", which {self.entries} cells × seeds share" if self.entries > len(self.runs) else ""
        done = len(self.runs) - len(self.missing) or "none"
        return (
            f"{counted(len(self.runs), 'run')}{shared}: {done} done, {len(self.missing) or 'none'} to train."
        )


def tokens(config: RunConfig) -> int:
    """Mean tokens of a training sentence of a run."""
    return min(config.data.max_length, _text(config)[0])


def checks(config: RunConfig) -> float:
    """Checks of a run, in development checks; a check that scores the test sets, too, counts as several
    (D40)."""
    _, development, tests = _text(config)
    each = 1 + tests / development if config.select.metric == "sts_test_avg" else 1.0
    return (config.train.steps // config.eval.every + 2) * each


def cost(config: RunConfig) -> float:
    """The work of a run, in tokens of text that SimCSE trains on in the same time."""
    _, development, tests = _text(config)
    trained = config.train.steps * config.train.batch_size * config.passes / 6
    scored = checks(config) * development + 1.5 * (development + tests)  # mostly two checkpoints
    probed = PROBES.get(config.scale, PROBES["paper"]) if config.eval.transfer else 0
    return tokens(config) * (trained + SCORED * scored + probed)


def _text(config: RunConfig) -> tuple[int, int, int]:
    return GENERATED if config.scale in SCALES and SCALES[config.scale].generated else REAL


def plan(
    studies: Sequence[Study], setup: Setup, store: Store, *, use_published: bool = False,
    force: bool = False, labels: Sequence[str] = (), keep_models: bool = False,
) -> Plan:  # fmt: skip
    """The distinct runs that a setup of these studies needs; a run that several cells share is counted once.

    Cells that the scale cannot run are left out. If `labels` are given, a cell needs at least one of them. A
    run is missing if the store does not have it; with `force` every run is, with `keep_models` a run without
    its model. A damaged run of the user's is set aside and is missing. A published run counts as done only
    with `use_published`. Raises UserError for a label that no cell has.
    """
    _check_labels(labels, [study.at(setup.scale) for study in studies])
    cells: dict[str, list[str]] = {}
    configs: dict[str, tuple[RunConfig, int]] = {}
    for study in studies:
        for cell, asked in setup.asked(study):
            for seed, config in enumerate(asked if not labels or set(labels) & set(_names(cell)) else ()):
                cells.setdefault(run_id(config), []).append(f"{study.name} {'/'.join(cell.labels)}")
                configs.setdefault(run_id(config), (config, seed))
    runs = [
        PlannedRun(run_id=identity, config=config, cells=tuple(dict.fromkeys(cells[identity])), seed=seed)
        for identity, (config, seed) in configs.items()
    ]
    done = {run.run_id for run in runs if not force and sound(store, run.run_id, use_published)}
    _note_other_code([run for run in runs if run.run_id in done], store)
    if keep_models:
        done -= {
            run.run_id for run in runs if run.run_id in done and lacks_model(store, run.run_id, run.config)
        }
        if unfit := sum(not run.config.keepable for run in runs):
            print(f"{counted(unfit, 'run')} will keep no model: a head behind [CLS] is scored.")
    missing = batch([run for run in runs if run.run_id not in done]).missing
    return Plan(runs=tuple(runs), missing=missing, entries=sum(map(len, cells.values())))


def _note_other_code(runs: Sequence[PlannedRun], store: Store) -> None:
    """Print how many of these stored runs were made by other code of their method than is there now."""
    for method in dict.fromkeys(run.config.method for run in runs):
        codes = [store.codes.get(run.run_id) for run in runs if run.config.method == method]
        if number := sum(code not in (None, methods.code_digest(method)) for code in codes):
            say(f"{are(number, 'stored run')} made by another core/methods/{method}; --force trains again.")


def batch(runs: Sequence[PlannedRun]) -> Plan:
    """These runs as a plan, the longest first."""
    longest = sorted(runs, key=lambda run: -cost(run.config))  # stable: equal costs keep their order
    return Plan(runs=tuple(runs), missing=tuple(longest), entries=len(runs))


def _names(cell: Cell) -> tuple[str, ...]:
    """What a cell answers to: each of its labels, and all of them in the axes' order."""
    return (*cell.labels, "/".join(cell.labels))


def _check_labels(labels: Sequence[str], studies: Sequence[Study]) -> None:
    names = dict.fromkeys(name for study in studies for cell in study.cells for name in _names(cell))
    for label in labels:
        if label not in names:
            some = ", ".join(map(repr, list(names)[:8]))
            hint = nearest(label, names, f"there are {some} and others.")
            raise UserError(f"No cell is called {label[:80]!r}; {hint}")


def sound(store: Store, identity: str, use_published: bool) -> bool:
    """Whether the store has a run whose file can be believed. A damaged file of the user's is set aside, with
    a printed sentence."""
    return store.verified(identity) or (use_published and store.has(identity, use_published=True))


def lacks_model(store: Store, identity: str, config: RunConfig) -> bool:
    """Whether a run could have left a model and has left none. A diverged run has no model to keep."""
    if not config.keepable or store.has_model(identity):
        return False
    try:
        return store.load(identity).status != "diverged"
    except (CorruptRun, MissingRun):
        return True  # it is trained again, and leaves its model then
