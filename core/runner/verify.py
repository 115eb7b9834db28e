"""Trainings compared with stored runs of the same ids: how far apart they are, and whether that is
usual."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import UserError
from core.formatting import are, counted, say
from core.runner import plan as planning
from core.runner.inputs import Context
from core.runner.orders import Outputs
from core.runner.plan import Plan
from core.runner.progress import Answers
from core.runner.train import RunTrainer, Surroundings
from core.store.store import Store
from core.study.resolution import resolve

# points: a larger difference is more than another make of processor explains in float32
SAME_POINTS = 0.01
USUAL = (
    "Another make of processor or build of torch explains about as much: float32 runs were up to "
    "0.02 points apart, short ones in bf16 up to 0.16. A GPU draws other dropout masks than a CPU, "
    "so such runs differ as two seeds do."
)
MOST_VERIFIED_SEEDS = 25  # that are looked through for published runs


def compare(packs: Store, store: Store, trained: Iterable[str]) -> float:
    """Print how far runs that were trained just now differ from the published runs with the same
    ids; the largest difference in points, of runs on the same kind of device."""
    gaps: dict[str, dict[str, float]] = {}  # by kinds of device, and by run
    for run in trained:
        with contextlib.suppress(UserError):  # not published, or a damaged file
            both = packs.load(run), store.load(run)
            kinds = {str(run.provenance.get("device")).partition(":")[0] for run in both}
            of_kinds = gaps.setdefault(" and ".join(sorted(kinds)), {})
            of_kinds[run] = difference(*(run.rows for run in both))
    same = 0.0
    for devices, of_kinds in gaps.items():
        worst = max(of_kinds.values())
        runs = f"{counted(len(of_kinds), 'run')} ({devices})"
        print(f"Your {runs} and the published: at most {worst:.6f} points apart.")
        if worst > SAME_POINTS:
            say(USUAL)
        if " and " not in devices:
            same = max(same, worst)
    return same


def verify(context: Context, around: Surroundings, again: Sequence[str], number: int) -> int:
    """Train a number of published runs of these studies again, whatever their seed, in a folder
    that goes if none fails, and say how far they differ. The exit status is 1 if a run fails or
    differs by more than `SAME_POINTS` points on the same kind of device."""
    packs = Store(context.store.root / "none", context.store.published)
    setup = replace(context.setup, seeds=MOST_VERIFIED_SEEDS)
    runs = planning.plan([resolve(study, setup) for study in context.studies], packs).runs
    published = [run for run in runs if packs.has(run.run_id, use_published=True)]
    # ids are hashes: a fair sample
    chosen = sorted(published, key=lambda run: run.run_id)[:number]
    scratch = Path(tempfile.mkdtemp(prefix="verify-published-"))
    print(
        f"{are(len(chosen), 'published run')} trained again in {scratch}, which goes if none fails."
    )
    store = Store(scratch, None)
    answers = Answers((), store, ())
    training = RunTrainer(replace(context, store=store), around, again, Outputs(), answers)
    with contextlib.closing(training):
        status = training.train(Plan(chosen, chosen, setup.sources))
    worst = compare(packs, store, [run.run_id for run in chosen])
    if status == 0:
        shutil.rmtree(scratch, ignore_errors=True)
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
