"""Checks at numbers of seeds, p of claims and intervals against scipy, cases by hand and known
truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report import statistics as s
from core.report.statistics import ALPHA, LOOKS, alpha_at, claim_p, comparisons, decide, tails
from core.study.claim import Claim, all_of, any_of, collapsed, greater, some_of, sound

A = ("a",)
B = ("b",)
C = ("c",)
D = ("d",)
GREATER = greater(A, B)
P = {GREATER: (0.01, 0.99), greater(A, C): (0.04, 0.96), greater(A, D): (0.7, 0.3)}


def claim(predicate, margin=1.0):
    return Claim(key="X.1", text="A claim.", predicate=predicate, margin=margin)


def test_the_checks_spend_five_percent_a_study_whatever_the_number_of_claims():
    assert list(LOOKS) == sorted(LOOKS) and alpha_at(3, 5) == pytest.approx(0.05 * 0.02 / 5)
    assert sum(7 * alpha_at(n, 7) for n in range(61)) == pytest.approx(ALPHA) == 0.05


@pytest.mark.parametrize(
    "values, expected",
    [([2.0] * 3, (0, 1)), ([-2.0] * 3, (1, 0)), ([0.0] * 3, (1, 1)), ([1.0, math.nan], (1, 1))],
)
def test_the_sign_decides_on_values_without_scatter_and_nothing_on_missing_values(values, expected):
    assert tails(GREATER, np.array(values)) == expected


def test_p_of_joined_claims_by_hand():
    two, three, four = P
    nested = all_of(any_of(two, four), three)  # max(2 x 0.01, 0.04); 2 x min(max(0.99, 0.3), 0.96)
    for joined, sup, con in (
        (all_of(two, three, four), 0.7, 0.9),  # largest; 3 x 0.3
        (any_of(two, three, four), 0.03, 0.99),  # 3 x 0.01; largest
        (some_of(2, [two, three, four]), 0.08, 1.0),  # 2 x 0.04; 2 x 0.96, cut
        (nested, 0.04, 1.0),
    ):
        assert tuple(s.p_values(joined, P.get)) == pytest.approx((sup, con))


def test_equivalence_is_two_one_sided_tests_at_the_shifted_thresholds():
    differences = np.subtract([50.1, 50.3, 49.8, 50.2, 50.0], [50.0, 50.2, 50.1, 49.9, 50.1])
    low = stats.ttest_1samp(differences, -0.5, alternative="greater").pvalue
    high = stats.ttest_1samp(differences, 0.5, alternative="less").pvalue
    for margin, p in ((0.5, max(low, high)), (None, 1.0)):
        assert claim_p(claim(GREATER, margin), {GREATER: differences})[2] == pytest.approx(p)


def test_a_verdict_once_given_stays_and_names_its_check():
    a = [50.0, 51.0, 52.0, 50.5, 51.5, 50.7, 51.1, 50.2]
    b = [40.0, 41.0001, 42.0, 40.5, 90.0, 90.7, 91.1, 90.2]
    samples = lambda _, n: np.subtract(a, b)[:n]
    assert decide(claim(GREATER), samples, 4) == ("supported", 3)


# Shares of runs

CLAIMS = 7  # of MoCoSE's Figure 5


def values(predicate, fallen):
    """A contrast's values of runs that have collapsed (1), have not (0) or have diverged (0.5)."""
    return predicate.beyond(np.asarray(fallen, dtype=float))


@pytest.mark.parametrize(
    "fallen, more, less",
    [
        ([1] * 3, 3, 0),
        ([1, 0, 0, 1, 1], 3, 2),
        ([0, 0, 0.5], 0, 2),
        ([1, 0.5, 0.5], 1, 0),
        ([0.5], 0, 0),
    ],
)
def test_a_share_has_the_tails_of_the_binomial_test(fallen, more, less):
    n = len(fallen)
    up, down = s.share_tails(values(collapsed(A), fallen))
    assert up == pytest.approx(stats.binom.sf(more - 1, n, 0.5))
    assert down == pytest.approx(stats.binom.cdf(n - less, n, 0.5))
    assert s.share_tails(values(sound(A), fallen)) == pytest.approx((down, up))


def test_a_share_has_clopper_and_pearsons_bounds():
    low, high = s.share_bounds(values(collapsed(A), [1, 1, 1, 0, 1, 1, 0.5, 1]), 0.01, 0.02)
    more = stats.binomtest(6, 8, alternative="greater")
    less = stats.binomtest(7, 8, alternative="less")
    assert low + 0.5 == pytest.approx(more.proportion_ci(0.99, "exact").low)
    assert high + 0.5 == pytest.approx(less.proportion_ci(0.98, "exact").high)
    assert s.share_bounds(values(collapsed(A), [1, 1, 1]), 0.01, 0.02)[1] == 0.5
    assert s.share_bounds(values(collapsed(A), [0, 0, 0]), 0.01, 0.02)[0] == -0.5


@pytest.mark.parametrize("predicate, kind", [(collapsed(A), 1), (sound(A), 0)])
def test_a_verdict_on_a_share_takes_more_than_three_runs_that_agree(predicate, kind):
    for fallen, expected in ((kind, "supported"), (1 - kind, "contradicted"), (0.5, "undecided")):
        runs = values(predicate, [fallen] * 60)
        decision = decide(claim(predicate, margin=None), lambda _, n, runs=runs: runs[:n], CLAIMS)
        assert decision == (expected, 60 if expected == "undecided" else 12)


def paired(values, reference, pairs):
    """The difference in a table of so many pairs that no claim compares."""
    others = {(str(place),): {} for place in range(1, pairs)}
    return comparisons({A: values, B: reference, **others}, B, ())[A]


def test_a_paired_difference_has_the_interval_that_its_check_tests_by_seed_and_not_by_order():
    ours = [50.0, 52.0, 51.5, 49.0, 50.4]
    theirs = [49.9, 50.5, 51.0, 48.0, 50.1]
    difference = paired(dict(enumerate(ours)), dict(reversed(list(enumerate(theirs)))), 3)
    test = stats.ttest_rel(ours, theirs)
    interval = tuple(test.confidence_interval(1 - 0.05 * s.SHARES[5] / 3))
    assert difference[:4] == pytest.approx((np.mean([0.1, 1.5, 0.5, 1.0, 0.3]), *interval, 5))
    assert not difference.distinguishable


def test_only_seeds_up_to_the_latest_common_check_are_tested():
    nine = {k: 50 + 0.1 * ((3 * k) % 5) for k in range(9)}
    eight = {k: v - 1 - 0.01 * k for k, v in nine.items()}
    difference = paired(nine | {9: 90.0}, eight, 1)
    assert difference[:4:3] == (pytest.approx(1 + 0.01 * 3.5), 8) and difference.distinguishable
    gap = paired({k: v for k, v in nine.items() if k != 2}, eight, 1)
    assert gap.n == 0 and math.isnan(gap.low) and not gap.distinguishable


def seeded(mean, noise, n=5, drift=0.0):
    return {k: mean + noise * ((k * 7) % 5 - 2) + drift * k for k in range(n)}


def test_a_pair_that_a_claim_compares_has_the_claims_own_interval_and_other_pairs_share_the_table():
    cells = {A: seeded(50, 0.1), B: seeded(55, 0.1, drift=0.01), C: seeded(50, 0.3), ("d",): {}}
    claims = (
        claim(all_of(greater(B, A), greater(B, C))),
        claim(any_of(greater(A, B), greater(C, A))),
        claim(greater(B, A)),  # whose own interval is narrower
    )
    differences = comparisons(cells, A, claims)
    assert s.divisors(B, A, claims) == (1, 2)  # the widest; the second claim sees the other side
    values = np.array([cells[B][k] - cells[A][k] for k in range(5)])
    low, high = (stats.t.isf(alpha_at(5, 3) / divisor, 4) * stats.sem(values) for divisor in (1, 2))
    assert differences[B][1:3] == pytest.approx((values.mean() - low, values.mean() + high))
    assert comparisons(cells, A, ())[B] == paired(cells[B], cells[A], 3)
    assert differences[("d",)].n == 0
    three = {labels: {k: v for k, v in values.items() if k < 3} for labels, values in cells.items()}
    # as the verdict has it
    assert comparisons(three, A, (claim(greater(B, A)),))[B].distinguishable
    assert math.isnan(comparisons(three, A, (claim(greater(C, A)),))[C].low)


def test_resampled_pairs_give_the_bounds_of_scipys_bootstrap():
    random = np.random.default_rng(1)
    gold = np.round(random.uniform(0, 5, 120), 0)  # with ties
    a, b = (gold + random.normal(0, noise, 120) for noise in (1.5, 2.5))
    b[:20] = b[0]

    def difference(gold, a, b, axis):
        ranks = [stats.rankdata(column, axis=axis) for column in (gold, a, b)]
        ranks = [column - column.mean(axis, keepdims=True) for column in ranks]
        gold, a, b = (column / np.linalg.norm(column, axis=axis, keepdims=True) for column in ranks)
        return 100 * ((gold * a).sum(axis) - (gold * b).sum(axis))

    bounds = {}
    for method in ("percentile", "BCa"):
        bounds[method] = stats.bootstrap(
            (gold, a, b),
            difference,
            paired=True,
            vectorized=True,
            n_resamples=2000,
            method=method,
            rng=np.random.default_rng(0),
        ).confidence_interval
    differences = s.paired_bootstrap(gold, a, b)
    assert len(differences) == 2000
    assert np.quantile(differences, [0.025, 0.975]) == pytest.approx(bounds["percentile"], abs=1e-9)
    assert np.quantile(differences, [0.025, 0.975]) == pytest.approx(bounds["BCa"], abs=1.5)

    assert np.isnan(s.paired_bootstrap(gold, a, np.full(120, np.nan), resamples=1)).all()
