"""Trainings compared with stored runs of the same ids: how far apart they are, and whether that is
usual."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError, are, counted, say
from core.runner import plan as planning
from core.runner.plan import Plan, PlannedRun
from core.runner.train import RunTrainer
from core.store import contributed
from core.store.records import StoredRun
from core.store.store import Store
from core.study.grid import resolve
from core.study.study import Study

DEVICE = ("method_code", "versions", "device", "processor", "threads")  # what may move a number
# points: a larger difference is more than another make of processor explains in float32
SAME_POINTS = 0.01
# points, of runs in bf16: three times the largest difference of ten shorter runs on other processors
SAME_POINTS_BF16 = 0.5
MOST_VERIFIED_SEEDS = 25  # that are looked through for published and imported runs


def compare(store: Store, trained: Sequence[str]) -> None:
    """Print how far runs that were trained just now differ from the published runs with the same
    ids."""
    packs = store.without_own(store.root / "none")
    gaps: dict[str, float] = {}
    for run in trained:
        if store.pack_of(run) is not None:
            with contextlib.suppress(UserError):  # a damaged file
                old = packs.load(run)
                new = store.load(run)
                gaps[run] = difference(old.rows, new.rows)
                if old.source == "imported":
                    del gaps[run]
                    withdraw_differing(packs, [Retrained(run, old, new)])
    if not gaps:
        return
    worst = max(gaps, key=lambda run: gaps[run])
    if gaps[worst] > SAME_POINTS:
        print(
            f"Your {counted(len(gaps), 'run')} and the published: at most {gaps[worst]:.2f} points "
            "apart."
        )
        say(usual(packs.load(worst), store.load(worst)))
    elif len(gaps) == 1:
        print(f"Your run equals the published one within {gaps[worst]:.4f} points.")
    else:
        print(f"Your {len(gaps)} runs equal the published ones within {gaps[worst]:.4f} points.")


def usual(old: StoredRun, new: StoredRun) -> str:
    """Whether such runs with one id usually differ, by what was measured."""
    if other_devices(old, new):
        return "A GPU draws other dropout masks than a CPU, so these runs differ as two seeds do."
    if new.config.train.precision == "bf16":
        return (
            "Some difference is usual in bf16: ten shorter runs on other processors had averages "
            "up to 0.16 points apart. Longer runs were not compared."
        )
    first = old.provenance
    second = new.provenance
    names = [name for name in DEVICE if name in first and first[name] != second.get(name)]
    words = "float32 runs on two makes of processor were 0.0001 points apart."
    if names:
        words += f" They differ in {', '.join(names)}."
    return f"That is not usual: {words}"


def other_devices(one: StoredRun, other: StoredRun) -> bool:
    """Whether one of two runs was trained on a CPU and the other on a GPU."""
    kinds = {str(run.provenance.get("device", "")).partition(":")[0] for run in (one, other)}
    return kinds == {"cpu", "cuda"}


class Retrained(NamedTuple):
    """A run with the words that name it, as it is stored and as it was trained again."""

    name: str
    old: StoredRun
    new: StoredRun

    @property
    def gap(self) -> float:
        """How far the scores are apart, in points."""
        return difference(self.old.rows, self.new.rows)

    @property
    def differs(self) -> bool:
        """Whether the runs are further apart than another machine of the same kind explains."""
        if other_devices(self.old, self.new):
            return False
        bf16 = self.new.config.train.precision == "bf16"
        return self.gap > (SAME_POINTS_BF16 if bf16 else SAME_POINTS)

    @property
    def words(self) -> str:
        """The comparison in a line."""
        line = f"{self.name}: at most {self.gap:.6f} points apart"
        if other_devices(self.old, self.new):
            line += "; of different kinds of device, whose dropout masks differ"
        return f"{line}."


def verify(command: RunTrainer, studies: Sequence[Study]) -> int:
    """Train some published runs of these studies again, whatever their seed, and say how far they
    differ. The exit status is 1 if a run fails or differs by more than `SAME_POINTS` points on the
    same kind of device."""

    def wanted(runs: list[PlannedRun], packs: Store) -> list[PlannedRun]:
        published = [run for run in runs if packs.scale_of_pack(run.run_id) is not None]
        # ids are hashes: a fair sample
        return sorted(published, key=lambda run: run.run_id)[: command.options.verify]

    status, retrained = train_again(command, studies, "published", wanted)
    worst = 0.0
    for run in retrained:
        print(run.words)
        if not other_devices(run.old, run.new):
            worst = max(worst, run.gap)
    print(f"The largest difference is {worst:.6f} points; up to {SAME_POINTS} are rounding.")
    return status or int(worst > SAME_POINTS)


def train_again(
    command: RunTrainer,
    studies: Sequence[Study],
    kind: str,
    wanted: Callable[[list[PlannedRun], Store], list[PlannedRun]],
) -> tuple[int, list[Retrained]]:
    """Train runs of packs again in a folder that goes if none fails; the exit status, and those
    that were trained. `wanted` chooses among the runs of these studies that packs have."""
    options = command.options
    setup = command.setup
    packs = command.store.without_own(command.store.root / "none")
    grids = [resolve(study, replace(setup, seeds=MOST_VERIFIED_SEEDS)) for study in studies]
    runs = planning.plan(grids, packs, use_published=True).runs
    stored = [run for run in runs if packs.has(run.run_id, use_published=True)]
    chosen = wanted(stored, packs)
    scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
    store = Store(scratch, None)
    print(
        f"{are(len(chosen), f'{kind} run')} trained again in {scratch}, which goes if none fails."
    )
    training = RunTrainer(options, command.argv, command.around, store, setup, command.found)
    with contextlib.closing(training):
        status = training.train(Plan(chosen, chosen))
    retrained = []
    for run in chosen:
        if store.has(run.run_id):
            name = f"{run.run_id} {run.label}"
            retrained.append(Retrained(name, packs.load(run.run_id), store.load(run.run_id)))
    if status == 0:
        shutil.rmtree(scratch, ignore_errors=True)
    return status, retrained


def withdraw_differing(packs: Store, retrained: Sequence[Retrained]) -> list[str]:
    """Withdraw each imported pack that has a run which differs from its retraining, and say so;
    the packs' names."""
    names = []
    for run in retrained:
        name = packs.contribution_of(run.old.run_id)
        if name is None or not run.differs or name in names:
            continue
        contributor = run.old.provenance["contributor"]
        reason = f"run {run.old.run_id} was {run.gap:.2f} points apart when it was trained again"
        contributed.withdraw(packs.imported, name, reason)
        place = contributed.withdrawn(packs.imported, name)
        say(f"The pack {name} of {contributor} is withdrawn to {place}, since {reason}.")
        names.append(name)
    return names


def difference(published, anew) -> float:
    """The largest |difference| over the scores that two runs' frames share, in points: by
    checkpoint, task and metric, along a curve by step, too. A score that is no number on one side
    alone is infinitely far."""
    both = []
    for rows in (published, anew):
        is_curve = rows["checkpoint"] == "curve"
        both.append(rows.assign(step=rows["step"].where(is_curve, 0)))
    pairs = both[0].merge(both[1], on=["checkpoint", "task", "metric", "step"])
    pairs = pairs[pairs["metric"].str.startswith(("spearman_", "accuracy_"))]
    gaps = (pairs["value_x"] - pairs["value_y"]).abs().fillna(float("inf"))
    if not len(gaps):
        return 0.0
    return float(gaps[pairs[["value_x", "value_y"]].notna().any(axis=1)].max())
