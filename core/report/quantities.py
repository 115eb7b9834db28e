"""The number of a table's entry, from a run's rows: a single row, a complete average, or a quantity derived from several rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from core.report.rows import Rows
from core.spec.scale import Scale
from core.spec.table import Metric

SCORE = "Spearman × 100"  # the unit of correlations
PAPER_WIDTH = 768  # an index into a spectrum is counted on bert-base and keeps its share of any other width
GEOMETRY = ("alignment", "uniformity")
LATE = 2 / 3  # of a run: from here on it is late
SUM = "alignment_plus_uniformity"
EXCESS = "like_length_excess"
LEARNT = "like_length_excess_learnt"
SAME, FLAT = 0.95, 2.0  # mean cosine above, effective rank below: vectors that have collapsed
UNITS = {  # of what is no score
    "pairs": "pairs", "mean_cosine": "cosine", "view_cosine": "cosine", "view_cosine_plain": "cosine", "effective_rank": "effective rank", "collapsed": "share of runs",
    "step_seconds": "seconds", "view_cosine_loss": "cosine", SUM: "alignment + uniformity",
    "length_gap": "difference of Spearman × 100",  # no score: a run that learnt nothing has none to lose
    EXCESS: "SDs of the cosines", LEARNT: "SDs of the cosines",
}  # fmt: skip


def value(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The metric of a run with these rows, in its own unit; None if absent, not a number, or an average with a part missing.

    `spearman` is x 100 in the run's aggregation. Derived: curve_start, curve_best_after_start, curve_last and curve_late_range (of
    the development score along training; the last is max - min over the last third of the run), spectrum_N (the singular value
    at index N of 768, or at that share of another width, over the largest), singular_N (the same, not divided), length_gap,
    like_length_excess, like_length_excess_learnt, view_cosine_loss, alignment_plus_uniformity and collapsed (see below). An average of transfer tasks that no row has is taken over them.
    """
    if metric.quantity in DERIVED:
        return _finite(DERIVED[metric.quantity](rows, metric, aggregate, scale))
    if metric.quantity in CURVE:
        found = curve(rows, aggregate)
        return _finite(CURVE[metric.quantity](found)) if len(found) > 1 else None
    kind, _, index = metric.quantity.partition("_")
    if kind in ("spectrum", "singular") and index.isdigit():
        return _finite(singular(spectrum(rows, metric.checkpoint), int(index), divided=kind == "spectrum"))
    column = f"spearman_{aggregate}" if metric.quantity == "spearman" else metric.quantity
    found = {number.task: number.value for number in rows.of(metric.checkpoint, column)}
    if found and metric.quantity.startswith(GEOMETRY) and metric.task not in found:
        found = {metric.task: list(found.values())[-1]}  # of the scale's own sentences, which stand for STS-B's
    parts = scale.tests if metric.task == "avg" else ()
    if metric.task == "avg_transfer" and metric.task not in found:
        parts = scale.probes
        found[metric.task] = sum(found.get(name, np.nan) for name in parts) / len(parts)
    if any(_finite(found.get(name)) is None for name in (*parts, metric.task)):
        return None
    return float(found[metric.task])


def curve(rows: Rows, aggregate: str) -> pd.Series:
    """The development score x 100 by step, in order, step 0 (before training) first."""
    points = [(number.step, number.value) for number in rows.of("curve", f"spearman_{aggregate}") if number.task == "dev"]
    return pd.Series([score for _, score in points], index=[step for step, _ in points], dtype=float).sort_index()


def spectrum(rows: Rows, checkpoint: str = "selected") -> np.ndarray:
    """Singular values of the development sentences' vectors, largest first; empty if they were not kept."""
    values = [number.value for metric, number in rows.at(checkpoint) if metric.startswith("singular_value_")]
    return np.sort(np.array(values, dtype=float))[::-1]


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


def _length_gap(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """Score on pairs that differ by at most 3 words minus score on the others: of one test set, or mean over those that have both."""
    names = scale.tests if metric.task == "avg" else (metric.task,)
    parts = [
        [value(rows, replace(metric, task=name, quantity=f"spearman_gap_{side}"), aggregate, scale) for side in ("le3", "gt3")]
        for name in names
    ]
    gaps = [like - unlike for like, unlike in parts if like is not None and unlike is not None]
    return sum(gaps) / len(gaps) if gaps else None


def _like_length_excess(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """How much higher pairs of like length are rated: on one test set, or mean over those that have the number."""
    names = scale.tests if metric.task == "avg" else (metric.task,)
    found = [number.value for number in rows.of(metric.checkpoint, EXCESS) if number.task in names and _finite(number.value) is not None]
    return sum(found) / len(found) if found else None


def _like_length_excess_learnt(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """How much of that training adds: the metric's checkpoint minus the untrained encoder."""
    read = replace(metric, quantity=EXCESS)
    trained, untrained = (value(rows, replace(read, checkpoint=name), aggregate, scale) for name in (metric.checkpoint, "untrained"))
    return None if trained is None or untrained is None else trained - untrained


def _view_cosine_loss(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """The mean cosine of the two views without FGSM minus that with it, dropout off: how far FGSM alone moves them apart."""
    with_it, plain = (value(rows, replace(metric, quantity=name), aggregate, scale) for name in ("view_cosine", "view_cosine_plain"))
    return None if with_it is None or plain is None else plain - with_it


def _alignment_plus_uniformity(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """Global alignment plus global uniformity: the L1 distance from any point below both, but for a constant. Less is better."""
    parts = [value(rows, replace(metric, quantity=f"{name}_global"), aggregate, scale) for name in GEOMETRY]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _collapsed(rows: Rows, metric: Metric, aggregate: str, scale: Scale) -> float | None:
    """1 for a run whose vectors have collapsed, by their mean cosine or by their effective rank, else 0; None if it has neither number."""
    cosine, rank = (value(rows, replace(metric, quantity=name), aggregate, scale) for name in ("mean_cosine", "effective_rank"))
    if cosine is None and rank is None:
        return None
    return float((cosine is not None and cosine > SAME) or (rank is not None and rank < FLAT))


DERIVED: Mapping[str, Callable[[Rows, Metric, str, Scale], float | None]] = {
    "length_gap": _length_gap,
    EXCESS: _like_length_excess,
    LEARNT: _like_length_excess_learnt,
    "view_cosine_loss": _view_cosine_loss,
    SUM: _alignment_plus_uniformity,
    "collapsed": _collapsed,
}


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and np.isfinite(number) else None


def unit(metric: Metric) -> str:
    """What the metric's numbers are, for axes and headings."""
    if metric.quantity in UNITS:
        return UNITS[metric.quantity]
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
    return SCORE


def decimals(metric: Metric) -> int:
    """Decimals that the metric is printed with."""
    kind = unit(metric)
    return 0 if kind == "pairs" else 2 if kind.endswith("× 100") else 3
