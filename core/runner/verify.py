"""Trainings compared with stored runs of the same ids: how far apart they are, and whether that is
usual."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import UserError, are, counted, say
from core.runner import plan as planning
from core.runner.plan import Plan
from core.runner.train import RunTrainer
from core.store.store import Store
from core.study.grid import resolve
from core.study.study import Study

# points: a larger difference is more than another make of processor explains in float32
SAME_POINTS = 0.01
USUAL = (
    "float32 runs on two makes of processor were 0.0001 points apart, shorter ones in bf16 up to "
    "0.16. A GPU draws other dropout masks than a CPU, so such runs differ as two seeds do."
)
MOST_VERIFIED_SEEDS = 25  # that are looked through for published runs


def compare(store: Store, trained: Sequence[str]) -> None:
    """Print how far runs that were trained just now differ from the published runs with the same
    ids."""
    packs = Store(store.root / "none", store.published)
    gaps: dict[str, float] = {}
    for run in trained:
        with contextlib.suppress(UserError):  # not published, or a damaged file
            gaps[run] = difference(packs.load(run).rows, store.load(run).rows)
    if not gaps:
        return
    worst = max(gaps, key=lambda run: gaps[run])
    runs = counted(len(gaps), "run")
    print(f"Your {runs} and the published: at most {gaps[worst]:.4f} points apart.")
    if gaps[worst] > SAME_POINTS:
        say(USUAL)


def verify(command: RunTrainer, studies: Sequence[Study]) -> int:
    """Train some published runs of these studies again, whatever their seed, in a folder that goes
    if none fails, and say how far they differ. The exit status is 1 if a run fails or differs by
    more than `SAME_POINTS` points on the same kind of device."""
    packs = Store(command.store.root / "none", command.store.published)
    setup = replace(command.setup, seeds=MOST_VERIFIED_SEEDS)
    runs = planning.plan([resolve(study, setup) for study in studies], packs).runs
    published = [run for run in runs if packs.has(run.run_id, use_published=True)]
    # ids are hashes: a fair sample
    chosen = sorted(published, key=lambda run: run.run_id)[: command.options.verify]
    scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
    store = Store(scratch, None)
    print(
        f"{are(len(chosen), 'published run')} trained again in {scratch}, which goes if none fails."
    )
    training = replace(command, store=store)
    with contextlib.closing(training):
        status = training.train(Plan(chosen, chosen))
    worst = 0.0
    for run in chosen:
        if not store.has(run.run_id):
            continue
        old = packs.load(run.run_id)
        new = store.load(run.run_id)
        gap = difference(old.rows, new.rows)
        line = f"{run.run_id} {run.label}: at most {gap:.6f} points apart"
        kinds = {
            str(stored.provenance.get("device", "")).partition(":")[0] for stored in (old, new)
        }
        if kinds == {"cpu", "cuda"}:
            line += "; of different kinds of device, whose dropout masks differ"
        else:
            worst = max(worst, gap)
        print(f"{line}.")
    if status == 0:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"The largest difference is {worst:.6f} points; up to {SAME_POINTS} are rounding.")
    return status or int(worst > SAME_POINTS)


def difference(published, anew) -> float:
    """The largest |difference| over the scores that two runs' frames share, in points, by
    checkpoint, task and metric; curves do not count. A score that is no number on one side alone is
    infinitely far."""
    both = [rows[rows["checkpoint"] != "curve"] for rows in (published, anew)]
    pairs = both[0].merge(both[1], on=["checkpoint", "task", "metric"])
    pairs = pairs[pairs["metric"].str.startswith(("spearman_", "accuracy_"))]
    gaps = (pairs["value_x"] - pairs["value_y"]).abs().fillna(float("inf"))
    gaps = gaps[pairs[["value_x", "value_y"]].notna().any(axis=1)]
    return float(gaps.max()) if len(gaps) else 0.0
