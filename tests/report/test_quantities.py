"""What an entry reads from a run: single rows, whole averages, and numbers derived from a curve or a spectrum."""

import pandas as pd
import pytest
from fake_store import as_table

from core.report.quantities import decimals, singular, unit
from core.report.quantities import value as value_of
from core.report.rows import Rows
from core.spec.scale import DEMO
from core.spec.table import Metric


def rows(*entries):
    return pd.DataFrame(entries, columns=["checkpoint", "task", "metric", "step", "value"])


def value(frame, *others):
    return value_of(Rows(as_table(frame), {}), *others)


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


@pytest.mark.parametrize(
    "cosine, rank, expected",
    [
        (0.99, 50.0, 1.0),
        (0.85, 1.5, 1.0),
        (0.99, None, 1.0),
        (None, 1.5, 1.0),
        (0.85, 40.0, 0.0),
        (None, None, None),
    ],  # an untrained [CLS] has 0.85
)
def test_a_runs_vectors_have_collapsed_by_either_measure(cosine, rank, expected):
    numbers = {name: one for name, one in (("mean_cosine", cosine), ("effective_rank", rank)) if one is not None}
    found = rows(*(("last", "dev", name, 9, one) for name, one in numbers.items()), ("selected", "dev", "mean_cosine", 4, 0.99))
    assert value(found, metric("collapsed", checkpoint="last"), "all", DEMO) == expected


def test_a_spectrum_before_training_is_another_checkpoints():
    found = rows(
        ("selected", "dev", "singular_value_0", 9, 8.0),
        ("selected", "dev", "singular_value_1", 9, 4.0),
        ("untrained", "dev", "singular_value_0", 0, 10.0),
        ("untrained", "dev", "singular_value_1", 0, 1.0),
    )
    assert value(found, metric("spectrum_384"), "all", DEMO) == 0.5
    assert value(found, metric("spectrum_384", checkpoint="untrained"), "all", DEMO) == 0.1
    assert value(found, metric("singular_value_0", checkpoint="untrained"), "all", DEMO) == 10.0


def test_the_loss_on_unlike_lengths_is_a_mean_over_the_sets_that_have_both_sides():
    first, second, third = DEMO.tests[:3]
    found = rows(
        ("selected", first, "spearman_gap_le3", 9, 70.0),
        ("selected", first, "spearman_gap_gt3", 9, 60.0),
        ("selected", second, "spearman_gap_le3", 9, 50.0),
        ("selected", second, "spearman_gap_gt3", 9, 54.0),
        ("selected", third, "spearman_gap_le3", 9, 99.0),  # too few pairs of unlike length
    )
    assert value(found, metric("length_gap", "avg"), "all", DEMO) == 3.0  # (10 - 4) / 2
    assert value(found, metric("length_gap", first), "all", DEMO) == 10.0
    assert (
        value(found, metric("length_gap", third), "all", DEMO) is None and value(rows(), metric("length_gap", "avg"), "all", DEMO) is None
    )


def test_how_much_higher_like_lengths_are_rated_is_a_mean_over_the_sets_that_say_and_what_training_adds_is_its_difference():
    first, second, third = DEMO.tests[:3]
    before = [("untrained", first, "like_length_excess", 0, 0.5), ("untrained", second, "like_length_excess", 0, 0.25)]
    found = rows(*before, ("selected", first, "like_length_excess", 9, 0.25), ("selected", second, "like_length_excess", 9, 0.0),
                 ("selected", "dev", "like_length_excess", 9, 9.0))  # fmt: skip
    assert value(found, metric("like_length_excess", "avg"), "all", DEMO) == 0.125
    assert value(found, metric("like_length_excess", first), "all", DEMO) == 0.25
    assert value(found, metric("like_length_excess", third), "all", DEMO) is None
    assert value(found, metric("like_length_excess", "avg", "untrained"), "all", DEMO) == 0.375
    assert value(found, metric("like_length_excess_learnt", "avg"), "all", DEMO) == -0.25
    assert value(found, metric("like_length_excess_learnt", second), "all", DEMO) == -0.25
    assert value(rows(*before), metric("like_length_excess_learnt", "avg"), "all", DEMO) is None


def test_the_views_cosine_is_compared_with_that_of_the_same_step_without_fgsm():
    plain, with_it = ("last", "train", "view_cosine_plain", 9, 1.0), ("last", "train", "view_cosine", 9, 0.75)
    asked = metric("view_cosine_loss", "train", "last")
    assert value(rows(plain, with_it), asked, "all", DEMO) == 0.25
    assert value(rows(with_it), asked, "all", DEMO) is None


def test_a_runs_time_is_read_from_its_provenance():
    found = rows(("last", "train", "loss", 9, 1.0))
    asked = metric("step_seconds", "train", "time")
    assert value_of(Rows(as_table(found), {"step_seconds": 0.5}), asked, "all", DEMO) == 0.5
    assert value_of(Rows(as_table(found), {"step_seconds": "a while"}), asked, "all", DEMO) is None
    assert value(found, asked, "all", DEMO) is None


def test_alignment_and_uniformity_are_added_where_both_are_there():
    found = rows(("selected", "DEV", "alignment_global", 9, 0.25), ("selected", "DEV", "uniformity_global", 9, -2.0))
    assert value(found, metric("alignment_plus_uniformity", "STS-B"), "all", DEMO) == -1.75
    assert value(found[:1], metric("alignment_plus_uniformity", "STS-B"), "all", DEMO) is None


def test_an_average_over_transfer_tasks_is_taken_where_none_is_stored_and_all_tasks_are():
    asked = metric("accuracy_test", "avg_transfer", "untrained")
    found = rows(*(("untrained", task, "accuracy_test", 0, 60.0 + n) for n, task in enumerate(DEMO.probes)))
    assert value(found, asked, "all", DEMO) == pytest.approx(60.0 + (len(DEMO.probes) - 1) / 2)
    assert value(found[1:], asked, "all", DEMO) is None
    stored = rows(("untrained", "avg_transfer", "accuracy_test", 0, 77.0))
    assert value(stored, asked, "all", DEMO) == 77.0


def test_any_row_can_be_read_and_an_average_of_tests_needs_every_test():
    found = rows(
        ("data", "DEV", "pairs", 0, 300.0), ("untrained", "avg", "spearman_all", 0, 29.0), ("untrained", "Para", "spearman_all", 0, 29.0)
    )
    assert value(found, metric("pairs", "DEV", "data"), "all", DEMO) == 300.0
    assert value(found, metric("spearman", "Para", "untrained"), "all", DEMO) == 29.0
    assert value(found, metric("spearman", "avg", "untrained"), "all", DEMO) is None


@pytest.mark.parametrize(
    "quantity, words, places",
    [("spearman", "Spearman × 100", 2), ("accuracy_dev", "accuracy × 100", 2), ("cosine_deletion", "cosine", 3), ("pairs", "pairs", 0),
     ("uniformity_global", "uniformity", 3), ("spectrum_50", "singular value over the largest", 3), ("curve_last", "Spearman × 100", 2),
     ("length_gap", "difference of Spearman × 100", 2), ("mean_cosine", "cosine", 3), ("view_cosine", "cosine", 3), ("effective_rank", "effective rank", 3),
     ("step_seconds", "seconds", 3), ("alignment_plus_uniformity", "alignment + uniformity", 3),
     ("view_cosine_loss", "cosine", 3), ("like_length_excess", "SDs of the cosines", 3), ("like_length_excess_learnt", "SDs of the cosines", 3)],
)  # fmt: skip
def test_every_quantity_has_a_unit_and_decimals(quantity, words, places):
    assert (unit(metric(quantity)), decimals(metric(quantity))) == (words, places)
