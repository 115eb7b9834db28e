"""What an entry reads from a run: single rows, whole averages, and numbers derived from a curve or a spectrum."""

import pandas as pd
import pytest

from core.report.quantities import decimals, singular, unit, value
from core.spec.layout import Metric
from core.spec.scale import DEMO


def rows(*entries):
    return pd.DataFrame(entries, columns=["checkpoint", "task", "metric", "step", "value"])


def metric(quantity, task="dev", checkpoint="selected"):
    return Metric(task=task, title="", quantity=quantity, checkpoint=checkpoint)


CURVE = rows(*(("curve", "dev", "spearman_all", step, score) for step, score in ((0, 30.0), (100, 45.0), (200, 41.0), (300, 44.0))))


@pytest.mark.parametrize(
    "quantity, expected",
    [("curve_start", 30.0), ("curve_best_after_start", 45.0), ("curve_last", 44.0), ("curve_late_range", 3.0)],  # late: steps 200 and 300
)
def test_a_learning_curve_gives_its_start_its_best_its_end_and_its_late_range(quantity, expected):
    assert value(CURVE.sample(frac=1, random_state=0), metric(quantity), "all", DEMO) == expected


def test_a_curve_of_another_aggregation_or_of_one_point_gives_nothing():
    assert value(CURVE, metric("curve_last"), "mean", DEMO) is None
    assert value(CURVE[:1], metric("curve_last"), "all", DEMO) is None


def test_a_spectrum_is_read_at_the_same_share_of_any_width():
    values = [10.0 - i for i in range(8)]  # width 8: index 192 of 768 is its index 2
    found = rows(*(("selected", "dev", f"singular_value_{i}", 1, v) for i, v in enumerate(values)))
    assert value(found, metric("spectrum_192"), "all", DEMO) == pytest.approx(0.8)
    assert value(rows(), metric("spectrum_192"), "all", DEMO) is None
    assert value(found, metric("singular_192"), "all", DEMO) == 8.0
    assert singular([4.0, 2.0], 5000, divided=True) == 0.5  # never beyond the last


def test_any_row_can_be_read_and_an_average_of_tests_needs_every_test():
    found = rows(("data", "DEV", "pairs", 0, 300.0), ("untrained", "avg", "spearman_all", 0, 29.0), ("untrained", "Para", "spearman_all", 0, 29.0))
    assert value(found, metric("pairs", "DEV", "data"), "all", DEMO) == 300.0
    assert value(found, metric("spearman", "Para", "untrained"), "all", DEMO) == 29.0
    assert value(found, metric("spearman", "avg", "untrained"), "all", DEMO) is None


@pytest.mark.parametrize(
    "quantity, words, places",
    [("spearman", "Spearman × 100", 2), ("accuracy_dev", "accuracy × 100", 2), ("cosine_deletion", "cosine", 3), ("pairs", "pairs", 0),
     ("uniformity_global", "uniformity", 3), ("spectrum_50", "singular value over the largest", 3), ("curve_last", "Spearman × 100", 2)],
)  # fmt: skip
def test_every_quantity_has_a_unit_and_decimals(quantity, words, places):
    assert (unit(metric(quantity)), decimals(metric(quantity))) == (words, places)
