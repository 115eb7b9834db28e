"""Statistics against hand-computed numbers, scipy, and known truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report import statistics as s

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


def test_paired_difference_as_scipy_and_by_seed_not_by_order():
    ours, reference = {0: 50.0, 1: 52.0, 2: 51.5, 3: 49.0}, {3: 48.0, 2: 51.0, 1: 50.5, 0: 49.9}
    found = s.paired(ours, reference)
    differences = [0.1, 1.5, 0.5, 1.0]
    assert found.difference == pytest.approx(np.mean(differences)) and found.n == 4
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    test = stats.ttest_rel([ours[k] for k in range(4)], [reference[k] for k in range(4)])
    assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert found.low < 0 < found.high and not found.distinguishable


def test_pairing_sees_what_unpaired_means_hide():
    shared = {k: 50 + 5 * math.sin(k * 3) for k in range(5)}
    better = {k: v + 1 + 0.01 * k for k, v in shared.items()}
    assert s.paired(better, shared).p < 0.001
    assert stats.ttest_ind(list(better.values()), list(shared.values())).pvalue > 0.3


def test_only_common_seeds_are_paired_and_one_of_them_gives_no_p():
    found = s.paired({0: 50.0, 1: 51.0}, {1: 50.0, 2: 90.0})
    assert (found.difference, found.n) == (1.0, 1) and math.isnan(found.p) and not found.distinguishable
    assert s.paired({0: 1.0}, {1: 1.0}).n == 0


def test_differences_that_do_not_vary():
    assert s.paired({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}).p == 1.0
    assert s.paired({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}).p == 0.0


def test_holm_by_hand():
    assert s.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert s.holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])  # never above one
    assert s.holm([]).size == 0


def test_holm_leaves_comparisons_out_that_could_not_be_made():
    adjusted = s.holm([0.02, float("nan"), 0.03])
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.04]) and math.isnan(adjusted[1])


def test_holm_is_kinder_than_bonferroni_and_stricter_than_nothing():
    p = np.random.default_rng(0).uniform(0, 0.2, 9)
    adjusted = s.holm(p)
    assert (adjusted >= p).all() and (adjusted <= np.minimum(p * 9, 1) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= -1e-15).all()


def seeded(mean, noise, n=5):
    return {k: mean + noise * ((k * 7) % 5 - 2) for k in range(n)}


def test_comparisons_with_the_reference_are_corrected_over_the_table():
    cells = {"ref": seeded(50, 0.1), "far": {k: v + 5 + 0.01 * k for k, v in seeded(50, 0.1).items()}, "same": seeded(50, 0.3), "none": {}}
    found = s.against_reference(cells, "ref")
    assert set(found) == {"far", "same", "none"}
    assert found["far"].distinguishable and not found["same"].distinguishable and not found["none"].distinguishable
    assert found["far"].p_holm == pytest.approx(2 * found["far"].p)  # two comparisons could be made
    assert math.isnan(found["none"].p_holm)


def test_a_difference_that_only_the_correction_undoes_is_not_distinguishable():
    rng = np.random.default_rng(11)
    reference = {k: 50.0 for k in range(5)}
    cells = {"ref": reference} | {name: {k: 50 + rng.normal(0, 1) for k in range(5)} for name in range(15)}
    cells["lucky"] = dict(enumerate([50.9, 50.2, 51.2, 50.4, 50.6]))
    found = s.against_reference(cells, "ref")
    assert found["lucky"].p < 0.05 <= found["lucky"].p_holm
    assert not found["lucky"].distinguishable


def test_a_table_of_noise_finds_something_in_at_most_one_of_twenty():
    rng = np.random.default_rng(8)
    found = best = 0
    for _ in range(150):
        cells = {name: dict(enumerate(rng.normal(50, 1, 3))) for name in range(8)}
        found += any(c.distinguishable for c in s.against_reference(cells, 0).values())
        best += s.clear_best(cells) is not None
    assert found <= 0.05 * 150 + 2 * math.sqrt(150 * 0.05 * 0.95)
    assert best <= 0.05 * 150


def test_the_best_is_bold_only_if_told_from_every_other():
    steady = {name: {k: level + 0.01 * ((k * step) % 5) for k in range(5)} for name, level, step in (("a", 50, 1), ("b", 55, 2), ("c", 60, 3))}
    assert s.clear_best(steady) == "c"
    assert s.clear_best(steady | {"d": {k: v + (-1) ** k * 0.3 for k, v in steady["c"].items()}}) is None  # a rival within noise
    assert s.clear_best({"a": steady["a"]}) is None
    assert s.clear_best(steady | {"e": {0: 10.0}}) is None  # one seed: no p, so the question is open
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
