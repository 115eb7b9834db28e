"""What a run counts for that has no number of its own: a collapsed one is as bad as can be in the metric's own direction."""

import pytest

from core.report.worst import counted, worst
from core.spec.table import Metric


def metric(quantity: str) -> Metric:
    return Metric(task="avg", title="x", quantity=quantity)


@pytest.mark.parametrize(
    "quantity, least",
    [
        ("spearman_all", 0.0),  # nothing is ranked
        ("accuracy_test", 0.0),
        ("mean_cosine", 1.0),  # all vectors are one
        ("effective_rank", 1.0),  # they span one direction, and a rank is never 0
        ("curve_late_range", None),  # the worse the larger, without an end
        ("cosine_mean", None),
    ],
)
def test_the_worst_value_of_each_kind_of_number(quantity, least):
    assert worst(metric(quantity)) == least
    assert counted("diverged", 55.0, metric(quantity)) == least  # whatever it scored before
    assert counted("collapsed", None, metric(quantity)) == least
    assert counted("collapsed", 0.7, metric(quantity)) == 0.7 and counted("ok", 0.7, metric(quantity)) == 0.7
    assert counted("ok", None, metric(quantity)) is None


def test_a_diverged_run_speaks_neither_for_collapse_nor_against_it():
    of = metric("collapsed")
    assert counted("diverged", None, of) == counted("diverged", 1.0, of) == 0.5
    assert counted("collapsed", None, of) == 1.0 and counted("ok", 0.0, of) == 0.0 and counted("missing", None, of) is None
