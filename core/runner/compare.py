"""How far the scores of two runs of one configuration lie apart, and what that says of one's own runs and the
published ones."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.spec.errors import UserError
from core.spec.result import device_kind
from core.store.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

SAME = 0.01  # points: a larger difference is more than another make of processor explains in float32
SCORES = ("spearman_", "accuracy_")  # how the metrics begin that are scores x 100
SHOWN = 1e-4  # points: what differences are rounded up to


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one run: the largest |difference| over the scores that both have (points), their number, and how
    many scores only one run has."""

    largest: float
    scores: int
    alone: int


def difference(published: DataFrame, anew: DataFrame) -> Difference:
    """How far the scores of two runs lie apart, by checkpoint, task and metric (along a curve by step, too).
    No number on both sides is no difference, on one side an infinite one."""
    one, other = scores(published), scores(anew)
    both = one.keys() & other.keys()
    gaps = [apart(one[key], other[key]) for key in both]
    return Difference(max(gaps, default=0.0), len(both), len(one.keys() ^ other.keys()))


def scores(rows: DataFrame) -> dict[tuple, float]:
    """The scores of a run by checkpoint, task, metric and (along a curve) step."""
    kept = rows[rows["metric"].str.startswith(SCORES)]
    columns = (kept[name].tolist() for name in ("checkpoint", "task", "metric", "step", "value"))
    return {
        (checkpoint, task, metric, step if checkpoint == "curve" else None): value
        for checkpoint, task, metric, step, value in zip(*columns, strict=True)
    }


def apart(one: float, other: float) -> float:
    """|one - other|; 0 for two NaN, infinite for a single one."""
    if math.isnan(one) or math.isnan(other):
        return 0.0 if math.isnan(one) and math.isnan(other) else math.inf
    return abs(one - other)


def across(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two runs with this provenance were made by different kinds of device, so that their digits
    differ by more than rounding."""
    return {device_kind(one), device_kind(other)} == {"cpu", "cuda"}


def repeats(store: Store, own: Mapping[str, tuple[Mapping[str, object], DataFrame]]) -> str:
    """How far your own runs (provenance and rows by id) repeat the published runs of the same ids, in a
    sentence; empty without such runs. A run that was itself published, as its provenance with its seconds
    shows, repeats nothing. Nor does a run of another kind of device."""
    gaps: dict[str, float] = {}
    for run, (provenance, rows) in own.items():
        with contextlib.suppress(UserError):  # damaged, or of another version of the code
            published = store.load_published(run)
            if (
                published is None
                or published.provenance == provenance
                or across(published.provenance, provenance)
            ):
                continue
            gap = difference(published.rows, rows)
            gaps |= {run: gap.largest} if gap.scores else {}
    if not gaps:
        return ""
    worst = max(gaps, key=gaps.__getitem__)
    largest, many = gaps[worst], len(gaps) > 1
    if largest <= SAME:
        points = max(SHOWN, math.ceil(largest / SHOWN) * SHOWN)
        within = f"to within {points:.4f} points" if largest else "to the last digit"
        whose = f"{len(gaps)} runs repeat the published ones" if many else "run repeats the published one"
        return f"Your {whose} {within}."
    by = f"by {largest:.4f}" if math.isfinite(largest) else "in a score that one of them lacks"
    return (
        f"{sum(gap > SAME for gap in gaps.values())} of your {len(gaps)} runs that are published, too, "
        f"differ from those by more than {SAME} points: {worst} {by}. Another version of a library, another "
        "processor or number of threads (in bf16) or a changed line may be why; --verify-published trains "
        "published runs anew."
    )
