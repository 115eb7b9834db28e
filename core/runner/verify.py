"""--verify-published: published runs are trained again in a temporary folder, and their scores compared."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.runner.plan import Plan, plan
from core.runner.train import Training
from core.spec.errors import are
from core.spec.study import Study
from core.store.store import Store

SAME = 0.01  # points: a larger difference is more than another make of processor explains in float32


def verify(command: Training, studies: Sequence[Study]) -> int:
    """Train some published runs of these studies again, whatever their seed, and say how far they differ. The
    exit status is 1 if a run fails or differs by more than `SAME` points on the same kind of device."""
    options, setup, published = command.options, command.setup, command.store.published
    scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
    packs, store, worst = Store(scratch / "none", published), Store(scratch, None), 0.0
    runs = plan(studies, replace(setup, seeds=25), packs, use_published=True).runs
    made = [run for run in runs if packs.has(run.run_id, use_published=True)]
    wanted = sorted(made, key=lambda run: run.run_id)[: options.verify]  # ids are hashes: a fair sample
    print(f"{are(len(wanted), 'published run')} trained again in {scratch}, which goes if none fails.")
    training = Training(options, command.argv, command.around, store, setup, command.found)
    with contextlib.closing(training):
        status = training.train(Plan(wanted, wanted))
    for run in (run for run in wanted if store.has(run.run_id)):
        old, new = packs.load(run.run_id), store.load(run.run_id)
        gap = difference(old.rows, new.rows)
        kinds = {str(each.provenance.get("device", "")).partition(":")[0] for each in (old, new)}
        other = "; of different kinds of device, whose dropout masks differ" * (kinds == {"cpu", "cuda"})
        print(f"{run.run_id} {run.label}: at most {gap:.6f} points apart{other}.")
        worst = max(worst, 0.0 if other else gap)
    if status == 0:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"The largest difference is {worst:.6f} points; up to {SAME} are rounding.")
    return status or int(worst > SAME)


def difference(published, anew) -> float:
    """The largest |difference| over the scores that two runs' frames share, in points: by checkpoint, task
    and metric, along a curve by step, too. A score that is no number on one side alone is infinitely far."""
    both = [one.assign(step=one["step"].where(one["checkpoint"] == "curve", 0)) for one in (published, anew)]
    pairs = both[0].merge(both[1], on=["checkpoint", "task", "metric", "step"])
    pairs = pairs[pairs["metric"].str.startswith(("spearman_", "accuracy_"))]
    gaps = (pairs["value_x"] - pairs["value_y"]).abs().fillna(float("inf"))
    return float(gaps[pairs[["value_x", "value_y"]].notna().any(axis=1)].max()) if len(gaps) else 0.0
