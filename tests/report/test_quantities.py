"""What an entry reads from a run: single rows, whole averages, derived numbers; and what a failed run counts for."""

import pickle

import pandas as pd
import pyarrow as pa
import pytest
from fake_store import as_table

from core.report.quantities import Number, Rows, counted, singular, worst_value
from core.report.quantities import value as value_of
from core.spec.result import decimals, unit
from core.spec.scale import DEMO
from core.spec.table import Metric

FIRST, SECOND, THIRD = DEMO.tests[:3]


def rows(*entries):
    return pd.DataFrame(entries, columns=["checkpoint", "task", "metric", "step", "value"])


def value(frame, *others, seconds=None):
    return value_of(Rows(as_table(frame), {"step_seconds": seconds}), *others)


def metric(quantity, task="dev", checkpoint="selected"):
    return Metric(task=task, title="", quantity=quantity, checkpoint=checkpoint)


SCORES = ((0, 30.0), (100, 45.0), (200, 41.0), (300, 44.0))
CURVE = rows(*(("curve", "dev", "spearman_all", step, score) for step, score in SCORES))


@pytest.mark.parametrize(
    "quantity, expected",
    [("curve_start", 30.0), ("curve_best_after_start", 45.0), ("curve_last", 44.0), ("curve_late_range", 3.0)],
)  # late: steps 200 and 300
def test_a_learning_curve_gives_its_start_its_best_its_end_and_its_late_range(quantity, expected):
    assert value(CURVE.sample(frac=1, random_state=0), metric(quantity), "all", DEMO) == expected
    assert value(CURVE, metric(quantity), "mean", DEMO) is None and value(CURVE[:1], metric(quantity), "all", DEMO) is None


def test_a_spectrum_is_read_at_the_same_share_of_any_width_and_at_its_own_checkpoint():
    frame = rows(*(("selected", "dev", f"singular_value_{i}", 1, 10.0 - i) for i in range(8)))  # 192 of 768 is 2 of 8
    assert value(frame, metric("spectrum_192"), "all", DEMO) == pytest.approx(0.8)
    assert value(frame, metric("singular_192"), "all", DEMO) == 8.0
    assert value(frame, metric("spectrum_192", checkpoint="untrained"), "all", DEMO) is None
    assert singular([4.0, 2.0], 5000, divided=True) == 0.5  # never beyond the last


@pytest.mark.parametrize(
    "cosine, rank, expected",
    [(0.99, 50.0, 1.0), (0.85, 1.5, 1.0), (0.99, None, 1.0), (None, 1.5, 1.0), (0.85, 40.0, 0.0), (None, None, None)],
)  # an untrained [CLS] has 0.85
def test_a_runs_vectors_have_collapsed_by_either_measure(cosine, rank, expected):
    numbers = {name: one for name, one in (("mean_cosine", cosine), ("effective_rank", rank)) if one is not None}
    frame = rows(*(("last", "dev", name, 9, one) for name, one in numbers.items()), ("selected", "dev", "mean_cosine", 4, 0.99))
    assert value(frame, metric("collapsed", checkpoint="last"), "all", DEMO) == expected


def test_the_length_gap_is_a_mean_over_the_sets_that_have_both_sides():
    sides = ((FIRST, "le3", 70.0), (FIRST, "gt3", 60.0), (SECOND, "le3", 50.0), (SECOND, "gt3", 54.0), (THIRD, "le3", 99.0))
    frame = rows(*(("selected", name, f"spearman_gap_{side}", 9, score) for name, side, score in sides))
    asked = {task: value(frame, metric("length_gap", task), "all", DEMO) for task in ("avg", FIRST, THIRD)}
    assert asked == {"avg": 3.0, FIRST: 10.0, THIRD: None} and value(rows(), metric("length_gap", "avg"), "all", DEMO) is None


def test_how_much_higher_like_lengths_are_rated_and_what_training_adds():
    numbers = (("untrained", FIRST, 0.5), ("untrained", SECOND, 0.25), ("selected", FIRST, 0.25), ("selected", SECOND, 0.0))
    frame = rows(*((place, task, "like_length_excess", 0, one) for place, task, one in (*numbers, ("selected", "dev", 9.0))))
    excess = [value(frame, metric("like_length_excess", task), "all", DEMO) for task in ("avg", FIRST, THIRD)]
    assert excess == [0.125, 0.25, None]
    assert value(frame, metric("like_length_excess", "avg", "untrained"), "all", DEMO) == 0.375
    assert [value(frame, metric("like_length_excess_learnt", task), "all", DEMO) for task in ("avg", SECOND)] == [-0.25] * 2
    assert value(frame[:2], metric("like_length_excess_learnt", "avg"), "all", DEMO) is None


def test_numbers_that_need_two_rows_need_both():
    views = rows(("last", "train", "view_cosine_plain", 9, 1.0), ("last", "train", "view_cosine", 9, 0.75))
    geometry = rows(("selected", "DEV", "alignment_global", 9, 0.25), ("selected", "DEV", "uniformity_global", 9, -2.0))
    for frame, asked, expected in (
        (views, metric("view_cosine_loss", "train", "last"), 0.25),
        (geometry, metric("alignment_plus_uniformity", "STS-B"), -1.75),
    ):
        assert value(frame, asked, "all", DEMO) == expected and value(frame[:1], asked, "all", DEMO) is None


def test_a_runs_time_comes_from_its_provenance():
    asked = metric("step_seconds", "train", "time")
    assert [value(rows(), asked, "all", DEMO, seconds=one) for one in (0.5, "a while", None)] == [0.5, None, None]


def test_averages_need_every_part():
    asked = metric("accuracy_test", "avg_transfer", "untrained")
    frame = rows(*(("untrained", task, "accuracy_test", 0, 60.0 + n) for n, task in enumerate(DEMO.probes)))
    assert value(frame, asked, "all", DEMO) == pytest.approx(60.0 + (len(DEMO.probes) - 1) / 2)
    assert value(frame[1:], asked, "all", DEMO) is None
    assert value(rows(("untrained", "avg_transfer", "accuracy_test", 0, 77.0)), asked, "all", DEMO) == 77.0
    scores = rows(("untrained", "avg", "spearman_all", 0, 29.0), ("untrained", "Para", "spearman_all", 0, 29.0))
    assert value(scores, metric("spearman", "Para", "untrained"), "all", DEMO) == 29.0
    assert value(scores, metric("spearman", "avg", "untrained"), "all", DEMO) is None


@pytest.mark.parametrize(
    "quantity, words, places",
    [("spearman", "Spearman × 100", 2), ("accuracy_dev", "accuracy × 100", 2), ("cosine_deletion", "cosine", 3), ("pairs", "pairs", 0),
     ("uniformity_global", "uniformity", 3), ("spectrum_50", "singular value over the largest", 3), ("singular_50", "singular value", 3),
     ("length_gap", "difference of Spearman × 100", 2), ("effective_rank", "effective rank", 3), ("step_seconds", "seconds", 3),
     ("alignment_plus_uniformity", "alignment + uniformity", 3), ("like_length_excess_learnt", "SDs of the cosines", 3)],
)  # fmt: skip
def test_every_quantity_has_a_unit_and_decimals(quantity, words, places):
    assert (unit(metric(quantity)), decimals(metric(quantity))) == (words, places)


@pytest.mark.parametrize(
    "quantity, worst",
    [("spearman_all", 0.0), ("accuracy_test", 0.0), ("mean_cosine", 1.0), ("effective_rank", 1.0), ("curve_late_range", None), ("cosine_mean", None)],
)  # fmt: skip
def test_a_failed_run_counts_as_the_worst_value(quantity, worst):
    of = metric(quantity)
    assert worst_value(of) == counted("diverged", 55.0, of) == counted("collapsed", None, of) == worst
    assert counted("collapsed", 0.7, of) == counted("ok", 0.7, of) == 0.7 and counted("ok", None, of) is None
    of = metric("collapsed")  # of collapse itself a diverged run says neither
    assert counted("diverged", None, of) == 0.5 and counted("collapsed", None, of) == 1.0


def test_rows_are_found_and_go_to_another_process_without_the_rest_of_their_table():
    many = pa.table({
        "checkpoint": ["selected", "curve"] * 10_000, "task": ["dev"] * 20_000, "metric": ["spearman_all"] * 20_000,
        "step": [100] * 20_000, "value": [float(n) for n in range(20_000)],
    })  # fmt: skip
    own = Rows(many.slice(8_000, 2), {"step_seconds": 0.25})
    sent = pickle.dumps(own)
    for found in (own, pickle.loads(sent)):
        assert found.one("selected", "dev", "spearman_all") == Number("dev", 100, 8_000.0)
        assert found.one("selected", "avg", "spearman_all") is None and found.of("last", "spearman_all") == []
        assert list(found.at("curve")) == [("spearman_all", Number("dev", 100, 8_001.0))]
        assert found.one("time", "train", "step_seconds") == Number("train", 0, 0.25)
    assert len(sent) < 4_000 < many.nbytes
