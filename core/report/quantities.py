"""The number that an entry of a table is, out of a run's rows: one row, an average that is whole, or one of a few derived from several."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from core.spec.layout import Metric
from core.spec.scale import Scale

SCORE = "Spearman × 100"  # the unit of correlations
PAPER_WIDTH = 768  # an index into a spectrum is counted on bert-base and keeps its share of any other width
GEOMETRY = ("alignment", "uniformity")
LATE = 2 / 3  # of a run: from here on it is late


def value(rows: pd.DataFrame, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The metric of a run with these rows, in its own unit; None if absent, not a number, or an average with a part missing.

    `spearman` is x 100 in the run's aggregation. Derived: curve_start, curve_best_after_start, curve_last and curve_late_range (of
    the development score along training; the last is max - min over the last third of the run), spectrum_N (the singular value
    at index N of 768, or at that share of another width, over the largest), singular_N (the same, not divided).
    """
    if metric.quantity in CURVE:
        found = curve(rows, aggregate)
        return _finite(CURVE[metric.quantity](found)) if len(found) > 1 else None
    kind, _, index = metric.quantity.partition("_")
    if kind in ("spectrum", "singular") and index.isdigit():
        return _finite(singular(spectrum(rows), int(index), divided=kind == "spectrum"))
    column = f"spearman_{aggregate}" if metric.quantity == "spearman" else metric.quantity
    chosen = rows[(rows["checkpoint"] == metric.checkpoint) & (rows["metric"] == column)]
    found = dict(zip(chosen["task"], chosen["value"]))
    if metric.quantity.startswith(GEOMETRY) and metric.task not in found:
        found = {metric.task: value for value in found.values()}  # of the scale's own sentences, which stand for STS-B's
    parts = scale.tests if metric.task == "avg" else ()
    if any(_finite(found.get(name)) is None for name in (*parts, metric.task)):
        return None
    return float(found[metric.task])


def curve(rows: pd.DataFrame, aggregate: str) -> pd.Series:
    """The development score x 100 by step, in order, step 0 (before training) first."""
    chosen = rows[(rows["checkpoint"] == "curve") & (rows["task"] == "dev") & (rows["metric"] == f"spearman_{aggregate}")]
    return pd.Series(chosen["value"].to_numpy(dtype=float), index=chosen["step"].to_numpy(dtype=int)).sort_index()


def spectrum(rows: pd.DataFrame) -> np.ndarray:
    """Singular values of the development sentences' vectors, largest first; empty if they were not kept."""
    chosen = rows[rows["metric"].str.startswith("singular_value_") & (rows["checkpoint"] == "selected")]
    return np.sort(chosen["value"].to_numpy(dtype=float))[::-1]


def singular(values: np.ndarray, index: int, divided: bool) -> float:
    """The singular value at `index` of bert-base's 768, or the same share of this width, over the largest if `divided`."""
    if len(values) < 2 or values[0] <= 0:
        return float("nan")
    return float(values[min(len(values) - 1, round(index * len(values) / PAPER_WIDTH))] / (values[0] if divided else 1.0))


def _late_range(scores: pd.Series) -> float:
    late = scores[scores.index >= LATE * scores.index[-1]]
    return float(late.max() - late.min())


CURVE: Mapping[str, Callable[[pd.Series], float]] = {
    "curve_start": lambda scores: scores.iloc[0],
    "curve_best_after_start": lambda scores: scores.iloc[1:].max(),
    "curve_last": lambda scores: scores.iloc[-1],
    "curve_late_range": _late_range,
}


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and np.isfinite(number) else None


def unit(metric: Metric) -> str:
    """What the metric's numbers are, for axes and headings."""
    if metric.quantity.startswith("accuracy"):
        return "accuracy × 100"
    if metric.quantity.startswith("cosine"):
        return "cosine"
    if metric.quantity.startswith(GEOMETRY):
        return metric.quantity.partition("_")[0]
    if metric.quantity.startswith("spectrum"):
        return "singular value over the largest"
    if metric.quantity.startswith("singular"):
        return "singular value"
    return "pairs" if metric.quantity == "pairs" else SCORE


def decimals(metric: Metric) -> int:
    """Decimals that the metric is printed with."""
    kind = unit(metric)
    return 0 if kind == "pairs" else 2 if kind.endswith("× 100") else 3
