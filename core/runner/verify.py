"""--verify-published: published runs are trained anew in a temporary folder, and compared by their scores."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.data.sources import Found
from core.runner.cli import Options
from core.runner.plan import batch, plan
from core.runner.train import Training
from core.spec.errors import are
from core.spec.result import device_kind
from core.spec.setup import Setup
from core.spec.study import Study
from core.store.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

SAME = 0.01  # points: a larger difference is more than another make of processor explains in float32
SCORES = ("spearman_", "accuracy_")  # how the metrics begin that are scores x 100
SEEDS = 25  # more than any cell has


def verify(
    options: Options, argv: list[str], around, published: Path, studies: Sequence[Study], setup: Setup,
    found: Found,
) -> int:  # fmt: skip
    """Train some published runs of these studies anew, whatever their seed, and say how far they differ. The
    exit status is 1 if a run fails or differs by more than `SAME` points from a run on the same kind of
    device."""
    packs, scratch = Store(published / "none", published), Path(tempfile.mkdtemp(prefix="verify-published-"))
    runs = plan(studies, replace(setup, seeds=SEEDS), packs, use_published=True).runs
    made = [run for run in runs if packs.has(run.run_id, use_published=True)]
    wanted = sorted(made, key=lambda run: run.run_id)[: options.verify]  # ids are hashes: a fair sample
    store = Store(scratch, None)
    training = Training(options, argv, store, around.job, around.warm)
    try:
        print(f"{are(len(wanted), 'published run')} trained anew in {scratch}, which goes if none fails.")
        status, worst = training.train(batch(wanted), setup.scale, found), 0.0
    finally:
        training.close()
    for run in (run for run in wanted if store.has(run.run_id)):
        old, new = packs.load(run.run_id), store.load(run.run_id)
        gap, count = difference(old.rows, new.rows)
        comparable = {device_kind(old.provenance), device_kind(new.provenance)} != {"cpu", "cuda"}
        kind = "" if comparable else "; of different kinds of device, whose dropout masks differ"
        apart = f"at most {gap:.6f} points apart over {count} scores"
        print(f"{run.run_id} {run.label}: {apart}{kind}.")
        worst = max(worst, gap if comparable else 0.0)
    if status:
        return status
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"The largest difference is {worst:.6f} points; up to {SAME} are rounding.")
    return 1 if worst > SAME else 0


def difference(published: DataFrame, anew: DataFrame) -> tuple[float, int]:
    """The largest |difference| over the scores that two runs have both (points), and their number: by
    checkpoint, task and metric, along a curve by step, too. No number on both sides is no difference, on one
    side an infinite one."""
    both = scores(published).merge(scores(anew), on=["checkpoint", "task", "metric", "step"])
    gaps = (both["value_x"] - both["value_y"]).abs().fillna(math.inf)
    gaps[both["value_x"].isna() & both["value_y"].isna()] = 0.0
    return float(gaps.max()) if len(gaps) else 0.0, len(gaps)


def scores(rows: DataFrame) -> DataFrame:
    """The scores of a run; a step matters along a curve alone."""
    kept = rows[rows["metric"].str.startswith(SCORES)]
    return kept.assign(step=kept["step"].where(kept["checkpoint"] == "curve", 0))
