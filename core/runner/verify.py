"""Trainings compared with published runs of the same ids: how far apart they are, and whether that
is usual."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from core.errors import UserError
from core.formatting import counted, say
from core.store.store import Store

# points: a larger difference is more than another make of processor explains in float32
SAME_POINTS = 0.01
USUAL = (
    "Another make of processor or build of torch explains about as much: float32 runs were up to "
    "0.02 points apart, short ones in bf16 up to 0.16. A GPU draws other dropout masks than a CPU, "
    "so such runs differ as two seeds do."
)


def compare(store: Store, trained: Iterable[str]) -> float:
    """Print how far runs that were trained just now differ from the published runs with the same
    ids; the largest difference in points, of runs on the same kind of device."""
    own = Store(store.root, None)
    packs = Store(store.root / "none", store.published)
    gaps: dict[str, dict[str, float]] = {}  # by kinds of device, and by run
    for run in trained:
        with contextlib.suppress(UserError):  # not published, or a damaged file
            both = packs.load(run), own.load(run)
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
