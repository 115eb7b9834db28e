"""What is to be run: the distinct runs behind the wanted studies, and which of them are missing."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from core.config.method_code import code_digest
from core.config.run import RunConfig
from core.config.scale import Sources
from core.config.section import frozen
from core.errors import UserError
from core.formatting import are, counted, nearest, say
from core.runner.estimate import cost, size
from core.store.store import Store
from core.study.resolution import ResolvedCell, ResolvedStudy


@frozen
class PlannedRun:
    """A run and the cells that need it, as `study label/label`, first study first."""

    run_id: str
    config: RunConfig
    seed: int
    cells: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The run in a few words, for progress lines."""
        if len(self.cells) == 1:
            return f"{self.cells[0]} seed {self.seed}"
        return f"{self.cells[0]} (+{len(self.cells) - 1}) seed {self.seed}"


class Plan:
    """`runs` are distinct runs in table order, `missing` those of them to train: seed by seed, so
    that verdicts come early, and of a seed the longest first."""

    def __init__(self, runs: Sequence[PlannedRun], missing: Sequence[PlannedRun], sources: Sources):
        self.runs = tuple(runs)

        def turn(run: PlannedRun) -> tuple[int, float]:
            return run.seed, -cost(run.config) * size(run.config, sources)

        # equal costs keep their order
        self.missing = sorted(missing, key=turn)

    def line(self) -> str:
        """How many runs there are, are done and are to train."""
        missing = len(self.missing)
        done = len(self.runs) - missing
        runs = f"{done or 'none'} done, {missing or 'none'} to train"
        return f"{counted(len(self.runs), 'run')}: {runs}."


def plan(
    resolved_studies: Sequence[ResolvedStudy],
    store: Store,
    *,
    use_published: bool = False,
    force: bool = False,
    labels: Sequence[str] = (),
    keep_models: bool = False,
) -> Plan:
    """The distinct runs that these studies need, of each cell that the scale can run or of those
    with one of `labels`. A damaged run of the user's is set aside. A run is missing if the
    user has not stored it; with `use_published` published runs count as stored, with `force` none
    does, and with `keep_models` none without its model. Raises UserError for a label that no cell
    has."""
    if labels:
        cells = itertools.chain.from_iterable(resolved.cells for resolved in resolved_studies)
        names = dict.fromkeys(itertools.chain.from_iterable(map(_cell_names, cells)))
        for label in labels:
            if label not in names:
                hint = nearest(label, names, f"some are {', '.join([*names][:8])}.")
                raise UserError(f"No cell is called {label[:80]!r}; {hint}")
    runs: dict[str, PlannedRun] = {}
    for resolved in resolved_studies:
        for cell in resolved.available:
            if labels and not set(labels) & set(_cell_names(cell)):
                continue
            for run_id, config in zip(cell.run_ids, cell.configs, strict=True):
                run = PlannedRun(run_id=run_id, config=config, seed=config.seed.model)
                runs.setdefault(run.run_id, run).cells.append(f"{resolved.study.name} {cell.name}")

    # Those that are done
    done = {}
    present = functools.cache(code_digest)
    others = Counter[str]()  # runs of other code, by method
    if not force:
        for name, run in runs.items():
            method = run.config.method
            stored = store.verified(name)
            if stored is not None:
                digest = stored.provenance.get("method_digest")
                others[method] += digest not in (None, present(method))
            if stored is not None or (use_published and store.has(name, use_published=True)):
                done[name] = run.config
    for method, number in (+others).items():
        by = f"made by another core/methods/{method}; --force trains again."
        say(f"{are(number, 'stored run')} {by}")
    # which rows are left out since the training text lacks their columns
    for resolved in resolved_studies:
        rows: dict[str, list[str]] = {}
        for cell in resolved.cells:
            reason = cell.unavailable
            if reason is not None and reason.kind == "no columns":
                rows.setdefault(reason.words, []).append(cell.name)
        for words, absent in rows.items():
            left_out = f"{counted(len(absent), 'row')} left out ({', '.join(absent)})"
            say(f"{resolved.study.name}, {left_out}: {words}.")

    # Those without the model that they could have left
    if keep_models:
        done = {
            name: config for name, config in done.items() if not lacks_model(store, name, config)
        }
    missing = [run for name, run in runs.items() if name not in done]
    return Plan(tuple(runs.values()), missing, resolved_studies[0].setup.sources)


def _cell_names(cell: ResolvedCell) -> tuple[str, ...]:
    """What a cell answers to: each of its labels, and all of them in the axes' order."""
    return (*cell.cell.labels, cell.name)


def lacks_model(store: Store, run: str, config: RunConfig) -> bool:
    """Whether a stored run could have left a model and has left none; a diverged run has none to
    keep, nor has a run whose vectors no folder can state."""
    folder = store.path("models", run)
    if not config.keepable:
        return False
    if (folder / "modules.json").is_file() and (folder / "model.safetensors").is_file():
        return False
    # a damaged run is trained again, and leaves its model then
    with contextlib.suppress(UserError):
        stored = store.load(run)
        return stored.status != "diverged" and not stored.provenance.get("keeps_no_model")
    return True
