"""The value of a run without a number of its own, because it diverged or collapsed: the worst value that the metric has.

Left out, such a run would make its cell look better than it is. The rule is here alone: tables, figures and verdicts read it.
"""

from __future__ import annotations

from core.report.quantities import SCORE, unit
from core.spec.table import Metric

# Constant vectors order nothing and class nothing: a correlation and an accuracy of 0. A correlation of -1 would take an encoder that
# knows the order and turns it round; no failed run does that, and one of them would outweigh fifty healthy ones.
NOTHING_LEARNT = (SCORE, "accuracy × 100")
COLLAPSED = {"mean_cosine": 1.0, "effective_rank": 1.0}  # vectors without a direction are as good as one vector
NEITHER = {"collapsed": 0.5}  # weights that are no numbers show nothing of vectors: such a run speaks neither for collapse nor against it
UNBOUNDED = ("curve_late_range",)  # a range of scores is the worse the larger it is, and has no worst value


def worst(metric: Metric) -> float | None:
    """0 for scores and accuracies, 1 for mean cosine and effective rank; None for quantities without a worst value (other cosines,
    spectra, geometry, counts, times): the run is missing."""
    if metric.quantity in COLLAPSED:
        return COLLAPSED[metric.quantity]
    return 0.0 if unit(metric) in NOTHING_LEARNT and metric.quantity not in UNBOUNDED else None


def counted(status: str, value: float | None, metric: Metric) -> float | None:
    """What a run counts for: its own number; the worst value if it diverged, or collapsed without a number; None if it is missing. Of
    collapse itself a diverged run says neither, and a collapsed one without vectors of a direction says yes."""
    if status == "diverged":
        return NEITHER.get(metric.quantity, worst(metric))  # what it scored before it diverged is not what the method leads to
    if status == "collapsed" and value is None:
        return 1.0 if metric.quantity in NEITHER else worst(metric)
    return value
