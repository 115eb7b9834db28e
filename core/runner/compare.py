"""How far the scores of two runs of one configuration lie apart, and what that says of one's own runs and the
published ones."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.spec.errors import UserError
from core.spec.result import device_kind
from core.store.store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

SAME = 0.01  # points: a larger difference is more than another make of processor explains in float32
SCORES = ("spearman_", "accuracy_")  # how the metrics begin that are scores x 100


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
            known = published.provenance if published is not None else provenance
            if published is not None and known != provenance and not across(known, provenance):
                gaps[run], _ = difference(published.rows, rows)
    if not gaps:
        return ""
    worst = max(gaps, key=gaps.__getitem__)
    differ = sum(gap > SAME for gap in gaps.values())
    return (
        f"Of {len(gaps)} runs of yours that are published, too, {differ} differ by more than {SAME} points; "
        f"the largest difference is {gaps[worst]:.4f} ({worst})."
    )
