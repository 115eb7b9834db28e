"""Statistics against hand-computed numbers, scipy, and known truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report import statistics as s
from core.report.sequential import SHARES

VALUES = [50.0, 52.0, 51.0]


def test_mean_interval_and_sd_over_three_seeds_by_hand():
    estimate = s.over_seeds(VALUES)
    assert (estimate.mean, estimate.n, estimate.sd) == (51.0, 3, 1.0)
    assert estimate.high - estimate.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)  # t(0.975, 2 degrees)
    assert estimate.mean - estimate.low == pytest.approx(estimate.high - estimate.mean)


def test_interval_over_seeds_as_scipy():
    values = np.random.default_rng(3).normal(70, 2, 7)
    low, high = stats.t.interval(0.95, 6, loc=values.mean(), scale=stats.sem(values))
    assert s.over_seeds(values)[1:3] == pytest.approx((low, high))


def test_one_run_has_a_mean_and_no_interval_and_none_has_nothing():
    one = s.over_seeds([51.0])
    assert (one.mean, one.n) == (51.0, 1) and math.isnan(one.low) and math.isnan(one.high) and math.isnan(one.sd)
    assert s.over_seeds([]).n == 0 and math.isnan(s.over_seeds([]).mean)


def test_intervals_cover_the_truth_as_often_as_they_say():
    draws = np.random.default_rng(5).normal(70, 3, (2000, 3))
    inside = [e.low <= 70 <= e.high for e in map(s.over_seeds, draws)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)  # three standard errors of 2000 trials


OURS = dict(enumerate([50.0, 52.0, 51.5, 49.0, 50.4]))
THEIRS = dict(reversed(list(enumerate([49.9, 50.5, 51.0, 48.0, 50.1]))))


def test_a_paired_difference_has_the_interval_that_its_look_tests_by_seed_and_not_by_order():
    found = s.paired(OURS, THEIRS, comparisons=3)
    test = stats.ttest_rel([OURS[k] for k in range(5)], [THEIRS[k] for k in range(5)])
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval(1 - 0.05 * SHARES[1] / 3)))
    assert (found.difference, found.n, found.basis) == (pytest.approx(np.mean([0.1, 1.5, 0.5, 1.0, 0.3])), 5, "own")
    assert found.low < 0 < found.high and not found.distinguishable


def test_only_seeds_up_to_the_latest_common_look_are_tested():
    nine = {k: 50 + 0.1 * ((3 * k) % 5) for k in range(9)}
    eight = {k: v - 1 - 0.01 * k for k, v in nine.items()}
    found = s.paired(nine | {9: 90.0}, eight, 1)
    assert (found.n, found.difference) == (8, pytest.approx(1 + 0.01 * 3.5)) and found.distinguishable
    gap = {k: v for k, v in nine.items() if k != 2}
    assert s.paired(gap, eight, 1).basis == "" and s.paired(gap, eight, 1).n == 8 and not s.paired(gap, eight, 1).distinguishable


def test_pairing_sees_what_unpaired_means_hide():
    shared = {k: 50 + 5 * math.sin(k * 3) for k in range(5)}
    better = {k: v + 1 + 0.01 * k for k, v in shared.items()}
    assert s.paired(better, shared, 1).distinguishable
    assert stats.ttest_ind(list(better.values()), list(shared.values())).pvalue > 0.3


def test_below_five_seeds_there_is_a_difference_and_nothing_is_told():
    found = s.paired({0: 50.0, 1: 51.0}, {1: 50.0, 2: 90.0}, 1)
    assert (found.difference, found.n, found.basis) == (1.0, 1, "") and math.isnan(found.low) and not found.distinguishable
    assert s.paired({0: 1.0}, {1: 1.0}, 1).n == 0
    assert not s.paired({0: 1.0, 1: 2.0, 2: 3.0}, {0: 11.0, 1: 12.0, 2: 13.0}, 1).distinguishable


def test_differences_that_do_not_vary_are_told_by_sign():
    same = {k: float(k) for k in range(5)}
    assert not s.paired(same, same, 1).distinguishable and s.paired({k: v + 1 for k, v in same.items()}, same, 1).distinguishable


def test_the_pooled_scatter_is_the_residual_of_a_two_way_analysis_of_variance():
    values = np.array([[50.0, 52.0, 51.0], [48.0, 51.5, 50.2], [47.0, 49.0, 49.5]])
    residual = sum((values[i, j] - values[i].mean() - values[:, j].mean() + values.mean()) ** 2 for i in range(3) for j in range(3))
    cells = [dict(enumerate(row)) for row in values]
    assert s.pooled([*cells, {}]) == (pytest.approx(math.sqrt(residual / 4)), 4)
    assert s.pooled(cells[:1])[1] == 0 and s.pooled([{0: 1.0}, {0: 2.0}])[1] == 0 and s.pooled([])[1] == 0


def seeded(mean, noise, n=5):
    return {k: mean + noise * ((k * 7) % 5 - 2) for k in range(n)}


def test_comparisons_with_the_reference_are_simultaneous_over_the_table_whatever_has_run():
    cells = {"ref": seeded(50, 0.1), "far": {k: v + 5 + 0.01 * k for k, v in seeded(50, 0.1).items()}, "same": seeded(50, 0.3), "none": {}}
    found = s.against_reference(cells, "ref")
    assert set(found) == {"far", "same", "none"}
    assert found["far"].distinguishable and not found["same"].distinguishable and not found["none"].distinguishable
    assert found["far"] == s.paired(cells["far"], cells["ref"], 3) and found["none"].n == 0


def test_below_five_seeds_the_interval_assumes_equal_scatter_and_tells_nothing():
    cells = {"ref": seeded(50, 0.1, 3), "far": seeded(60, 0.2, 3), "near": {0: 50.1, 1: 50.3, 2: 49.7}}
    found = s.against_reference(cells, "ref")["far"]
    scatter, freedom = s.pooled(cells.values())
    half = stats.t.ppf(1 - 0.05 / 4, freedom) * scatter * math.sqrt(2 / 3)  # two comparisons
    assert (found.low, found.high, found.basis) == (pytest.approx(10 - half, abs=0.3), pytest.approx(10 + half, abs=0.3), "equal scatter")
    assert found.high - found.low == pytest.approx(2 * half) and found.low > 0 and not found.distinguishable


def test_a_table_of_noise_finds_something_in_at_most_one_of_twenty():
    rng = np.random.default_rng(8)
    found = best = 0
    for _ in range(150):
        cells = {name: dict(enumerate(rng.normal(50, 1, 18))) for name in range(8)}
        told = [{key: {k: v for k, v in cells[key].items() if k < n} for key in cells} for n in (5, 8, 12, 18)]
        found += any(c.distinguishable for one in told for c in s.against_reference(one, 0).values())  # peeking at every look
        best += any(s.clear_best(one) is not None for one in told)
    assert found <= 0.05 * 150 + 2 * math.sqrt(150 * 0.05 * 0.95)
    assert best <= 0.05 * 150


def test_the_best_is_bold_only_if_told_from_every_other():
    steady = {
        name: {k: level + 0.01 * ((k * step) % 5) for k in range(5)} for name, level, step in (("a", 50, 1), ("b", 55, 2), ("c", 60, 3))
    }
    assert s.clear_best(steady) == "c"
    assert s.clear_best(steady | {"d": {k: v + (-1) ** k * 0.3 for k, v in steady["c"].items()}}) is None  # a rival within noise
    assert s.clear_best({"a": steady["a"]}) is None
    assert s.clear_best(steady | {"e": {0: 10.0}}) is None  # one seed: the question is open
    assert s.clear_best(steady | {"f": {}}) == "c"  # a cell without a value is not compared


def pairs(n=300, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    gold = rng.uniform(0, 5, n)
    return s.Subset(np.round(gold) if ties else gold, np.round(gold / 5 + rng.normal(0, 0.4, n), 2 if ties else 9))


@pytest.mark.parametrize("ties", [True, False])
def test_spearman_as_scipy_with_and_without_ties(ties):
    subset = pairs(ties=ties)
    assert s.spearman(*subset) == pytest.approx(100 * stats.spearmanr(*subset).statistic, abs=1e-9)


def test_a_resample_by_counts_equals_the_resample_written_out():
    subset = pairs(80)
    counts = np.random.default_rng(1).multinomial(80, [1 / 80] * 80, size=6).astype(float)
    fast = s._weighted_spearman(*subset, counts)
    written = [100 * stats.spearmanr(*(np.repeat(side, row.astype(int)) for side in subset)).statistic for row in counts]
    assert fast == pytest.approx(written, abs=1e-9)


@pytest.mark.parametrize("aggregate", ["all", "mean", "wmean"])
def test_bootstrap_point_is_the_aggregate_itself(aggregate):
    one, two, three = pairs(50, 1), pairs(150, 2), pairs(90, 3)
    rho = [s.spearman(*subset) for subset in (one, two)]
    joined = s.spearman(np.concatenate([one.gold, two.gold]), np.concatenate([one.cosine, two.cosine]))
    first = {"all": joined, "mean": sum(rho) / 2, "wmean": (50 * rho[0] + 150 * rho[1]) / 200}[aggregate]
    estimate = s.bootstrap_over_pairs([[one, two], [three]], aggregate, np.random.default_rng(0), resamples=40)
    assert estimate.mean == pytest.approx((first + s.spearman(*three)) / 2, abs=1e-9)
    assert estimate.low < estimate.mean < estimate.high and estimate.n == 1 and math.isnan(estimate.sd)


def test_bootstrap_interval_agrees_with_scipys():
    subset = pairs(200)
    ours = s.bootstrap_over_pairs([[subset]], "all", np.random.default_rng(0), resamples=2000)
    theirs = stats.bootstrap(
        subset, lambda a, b: 100 * stats.spearmanr(a, b).statistic, paired=True, vectorized=False, n_resamples=800,
        method="percentile", rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1.2)


def test_bootstrap_follows_its_generator_alone():
    args = [[pairs(60, 1)], [pairs(60, 2)]], "all"
    np.random.seed(1)
    one = s.bootstrap_over_pairs(*args, np.random.default_rng(4), resamples=100)
    np.random.seed(2)
    assert s.bootstrap_over_pairs(*args, np.random.default_rng(4), resamples=100)[:4] == one[:4]
    assert s.bootstrap_over_pairs(*args, np.random.default_rng(5), resamples=100).low != one.low


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(ValueError, match="no aggregate 'median'"):
        s.bootstrap_over_pairs([[pairs(20)]], "median", np.random.default_rng(0), resamples=5)
