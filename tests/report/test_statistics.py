"""Statistics against hand-computed numbers, scipy, and known truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report import statistics as s
from core.report.looks import SHARES, alpha_at
from core.spec.claim import Claim, all_of, any_of, greater

A, B, C = ("a",), ("b",), ("c",)
OURS = dict(enumerate([50.0, 52.0, 51.5, 49.0, 50.4]))
THEIRS = dict(reversed(list(enumerate([49.9, 50.5, 51.0, 48.0, 50.1]))))


def claim(predicate):
    return Claim(key="K", text="t", predicate=predicate)


def test_mean_interval_and_sd_over_seeds_as_scipy():
    values = np.random.default_rng(3).normal(70, 2, 7)
    estimate = s.over_seeds(values)
    interval = stats.t.interval(0.95, 6, loc=values.mean(), scale=stats.sem(values))
    assert estimate == pytest.approx((values.mean(), *interval, 7, values.std(ddof=1)))
    one = s.over_seeds([51.0])
    assert (one.mean, one.n) == (51.0, 1) and all(map(math.isnan, (one.low, one.high, one.sd)))
    assert s.over_seeds([]).n == 0 and math.isnan(s.over_seeds([]).mean)


def test_a_paired_difference_has_the_interval_that_its_check_tests_by_seed_and_not_by_order():
    difference = s.paired(OURS, THEIRS, 3)
    test = stats.ttest_rel([OURS[k] for k in range(5)], [THEIRS[k] for k in range(5)])
    interval = tuple(test.confidence_interval(1 - 0.05 * SHARES[1] / 3))
    assert difference == pytest.approx((np.mean([0.1, 1.5, 0.5, 1.0, 0.3]), *interval, 5))
    assert not difference.distinguishable


def test_only_seeds_up_to_the_latest_common_check_are_tested():
    nine = {k: 50 + 0.1 * ((3 * k) % 5) for k in range(9)}
    eight = {k: v - 1 - 0.01 * k for k, v in nine.items()}
    difference = s.paired(nine | {9: 90.0}, eight, 1)
    assert (difference.n, difference.effect) == (8, pytest.approx(1 + 0.01 * 3.5))
    assert difference.distinguishable
    gap = s.paired({k: v for k, v in nine.items() if k != 2}, eight, 1)
    assert gap.n == 0 and math.isnan(gap.low) and not gap.distinguishable


def seeded(mean, noise, n=5, drift=0.0):
    return {k: mean + noise * ((k * 7) % 5 - 2) + drift * k for k in range(n)}


def test_a_pair_that_a_claim_compares_has_the_claims_own_interval_and_other_pairs_share_the_table():
    cells = {A: seeded(50, 0.1), B: seeded(55, 0.1, drift=0.01), C: seeded(50, 0.3), ("d",): {}}
    claims = (claim(all_of(greater(B, A), greater(B, C))), claim(any_of(greater(A, B), greater(C, A))))
    differences = s.comparisons(cells, A, claims)
    assert s.divisors_of(B, A, claims) == (1, 2)  # in the second claim seen from the other side
    values = np.array([cells[B][k] - cells[A][k] for k in range(5)])
    low, high = (stats.t.isf(alpha_at(1, 2) / divisor, 4) * stats.sem(values) for divisor in (1, 2))
    assert differences[B][1:3] == pytest.approx((values.mean() - low, values.mean() + high))
    assert s.comparisons(cells, A, ())[B] == s.paired(cells[B], cells[A], 3) and differences[("d",)].n == 0
    three = {labels: {k: v for k, v in values.items() if k < 3} for labels, values in cells.items()}
    assert s.comparisons(three, A, (claim(greater(B, A)),))[B].distinguishable  # as the verdict has it
    assert math.isnan(s.comparisons(three, A, (claim(greater(C, A)),))[C].low)


def test_a_table_of_noise_shows_something_in_at_most_one_of_twenty():
    rng, shown = np.random.default_rng(8), 0
    for _ in range(150):
        cells = {(str(name),): rng.normal(50, 1, 18) for name in range(8)}
        stages = [{key: dict(enumerate(cells[key][:n])) for key in cells} for n in (5, 8, 12, 18)]
        shown += any(c.distinguishable for one in stages for c in s.comparisons(one, ("0",), ()).values())
    assert shown <= 0.05 * 150 + 2 * math.sqrt(150 * 0.05 * 0.95)
