"""What an entry reads from a run: rows, averages, derived numbers; and what a failed run counts
for."""

from pathlib import Path

import pandas as pd
import pytest
from fake_store import as_table

from core.config.quantities import QUANTITIES, Sum, known_quantity
from core.config.scale import DEMO
from core.report.quantities import Rows, imputed, worst_of
from core.report.quantities import value as value_of
from core.store.store import Store
from core.study.study import Metric

FIRST, SECOND, THIRD = DEMO.tests[:3]


def rows(*entries):
    return pd.DataFrame(entries, columns=["checkpoint", "task", "metric", "step", "value"])


def value(frame, quantity, task="dev", checkpoint="selected", aggregate="all", seconds=None):
    metric = Metric(task=task, title="", quantity=quantity, checkpoint=checkpoint)
    return value_of(Rows(as_table(frame), {"step_seconds": seconds}), metric, aggregate, DEMO)


def test_a_learning_curve_gives_its_start_its_best_its_end_and_its_late_range():
    scores = ((0, 30.0), (100, 45.0), (200, 41.0), (300, 44.0))  # late: steps 200 and 300
    curve = rows(*(("curve", "dev", "spearman_all", step, score) for step, score in scores))
    expected = {"start": 30.0, "best_after_start": 45.0, "last": 44.0, "late_range": 3.0}
    for name, number in expected.items():
        assert value(curve.sample(frac=1, random_state=0), f"curve_{name}") == number
        assert value(curve[:1], f"curve_{name}") is None


def test_a_spectrum_is_read_at_the_same_share_of_any_width_and_at_its_own_checkpoint():
    frame = rows(*(("selected", "dev", f"singular_value_{i}", 1, 10.0 - i) for i in range(8)))
    assert value(frame, "spectrum_192") == pytest.approx(0.8)  # 192 of 768 is 2 of 8
    assert value(frame, "singular_192") == 8.0
    assert value(frame, "spectrum_192", checkpoint="untrained") is None
    assert value(frame, "spectrum_5000") == pytest.approx(0.3)  # never beyond the last


@pytest.mark.parametrize(
    "cosine, rank, expected",
    [(0.99, 50.0, 1.0), (0.85, 1.5, 1.0), (0.99, None, 1.0), (0.85, 40.0, 0.0), (None, None, None)],
)  # an untrained [CLS] has 0.85
def test_a_runs_vectors_have_collapsed_by_either_measure(cosine, rank, expected):
    numbers = (("mean_cosine", cosine), ("effective_rank", rank))
    last = [("last", "dev", name, 9, number) for name, number in numbers if number is not None]
    frame = rows(*last, ("selected", "dev", "mean_cosine", 4, 0.99))
    assert value(frame, "collapsed", checkpoint="last") == expected


def test_differences_of_numbers_are_means_over_the_sets_that_have_both():
    sides = ((FIRST, "le3", 70.0), (FIRST, "gt3", 60.0), (SECOND, "le3", 50.0))
    sides += ((SECOND, "gt3", 54.0), (THIRD, "le3", 99.0))
    frame = rows(*(("selected", task, f"spearman_gap_{side}", 9, x) for task, side, x in sides))
    assert [value(frame, "length_gap", task) for task in ("avg", FIRST, THIRD)] == [3.0, 10.0, None]
    numbers = (("untrained", FIRST, 0.5), ("untrained", SECOND, 0.25))
    numbers += (("selected", FIRST, 0.25), ("selected", SECOND, 0.0), ("selected", "dev", 9.0))
    frame = rows(*((at, task, "like_length_excess", 0, number) for at, task, number in numbers))
    for task, excess in (("avg", 0.125), (FIRST, 0.25), (THIRD, None)):
        assert value(frame, "like_length_excess", task) == excess
    assert value(frame, "like_length_excess", "avg", "untrained") == 0.375
    for task in ("avg", SECOND):
        assert value(frame, "like_length_excess_learnt", task) == -0.25
    assert value(frame[:2], "like_length_excess_learnt", "avg") is None
    views = (("view_cosine_plain", 1.0), ("view_cosine", 0.75))
    frame = rows(*(("last", "train", name, 9, number) for name, number in views))
    assert value(frame, "view_cosine_loss", "train", "last") == 0.25
    sides = (("alignment_global", 0.25), ("uniformity_global", -2.0))
    geometry = rows(*(("selected", "DEV", name, 9, number) for name, number in sides))
    # of the scale's own sentences
    assert value(geometry, "alignment_plus_uniformity", "STS-B") == -1.75
    for seconds, expected in ((0.5, 0.5), ("a while", None), (None, None)):  # of the provenance
        assert value(rows(), "step_seconds", "train", "time", seconds=seconds) == expected


def test_averages_need_every_part():
    asked = ("accuracy_test", "avg_transfer", "untrained")
    frame = rows(
        *(("untrained", task, "accuracy_test", 0, 60.0 + n) for n, task in enumerate(DEMO.probes))
    )
    assert value(frame, *asked) == pytest.approx(60.0 + (len(DEMO.probes) - 1) / 2)
    assert value(frame[1:], *asked) is None
    scores = rows(*(("untrained", task, "spearman_all", 0, 29.0) for task in ("avg", FIRST)))
    reads = [value(scores, "spearman", task, "untrained") for task in (FIRST, "avg")]
    assert reads == [29.0, None]


@pytest.mark.parametrize(
    "quantity, worst, lowest",
    [
        ("spearman_all", 0.0, -3.0),
        ("accuracy_test", 0.0, -3.0),
        ("mean_cosine", 1.0, 1.0),  # the end of its scale
        ("effective_rank", 1.0, 1.0),
        ("curve_late_range", None, None),
        ("cosine_itself", None, None),
    ],
)
def test_a_failed_run_counts_as_the_worst_value(quantity, worst, lowest):
    of = Metric(task="dev", title="", quantity=quantity)
    assert worst_of(of, []) == worst_of(of, [55.0]) == worst
    assert worst_of(of, [55.0, -3.0]) == lowest
    for status, number, counts in (
        ("diverged", 55.0, worst),
        ("collapsed", None, worst),
        ("collapsed", 0.7, 0.7),
        ("ok", 0.7, 0.7),
        ("ok", None, None),
    ):
        assert imputed(status, number, of, worst) == counts
    # of collapse itself a diverged run says neither
    of = Metric(task="dev", title="", quantity="collapsed")
    assert imputed("diverged", None, of, None) == 0.5
    assert imputed("collapsed", None, of, None) == 1.0


def test_every_number_that_runs_leave_stands_in_the_table(tmp_path):
    store = Store(tmp_path, Path("results/published"))
    for run in store.runs()[::500]:
        for name in set(store.load(run).rows["metric"]):
            assert known_quantity(name), name
    for quantity in QUANTITIES.values():
        if isinstance(quantity.derived, Sum):
            for _, part, _ in quantity.derived.parts:
                assert QUANTITIES[part].derived is None
