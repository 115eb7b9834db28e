"""The frame of a figure by difference: what all its panels hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.report.differences import Panel

LEAST_FRAME = 1.0  # of the unit of scores: noise should not look like an effect
FAR = 2.5  # times what is in the frame already: farther numbers of the paper are named at its edge
WIDER = 2.0  # times the farthest of our means: so far intervals and single seeds may widen the frame


def frame(panels: Sequence[Panel]) -> tuple[float, float]:
    """The limits that all panels share. They hold our means and, but for those far beyond all others, the paper's numbers. Intervals and
    single seeds may widen the limits to twice our farthest mean, so an interval that leaves zero out is whole."""
    rows = [row for panel in panels for row in panel.rows]
    bands = [row.band for row in rows if row.band is not None]
    least = LEAST_FRAME if all(panel.unit.endswith("× 100") for panel in panels) else 1e-3
    ours = [row.mean for row in rows if row.mean is not None]
    widest = max([least, *(1.1 * band for band in bands), *map(abs, ours)])
    reach = widest
    for size in sorted(abs(row.printed) for row in rows if row.printed is not None):
        reach = max(reach, size) if size <= FAR * reach else reach
    printed = [row.printed for row in rows if row.printed is not None and abs(row.printed) <= reach]
    wanted = [end for row in rows for end in (row.low, row.high, *row.seeds) if np.isfinite(end) and abs(end) <= WIDER * widest]
    inside = [-least / 2, least / 2, *ours, *printed, *wanted, *(sign * band for band in bands for sign in (-1, 1))]
    margin = 0.06 * (max(inside) - min(inside))
    return min(inside) - margin, max(inside) + margin
