"""Looks and p of claims against scipy, hand-computed cases and draws from known truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report.sequential import (
    ALPHA,
    LOOKS,
    SHARES,
    PValues,
    Tail,
    alpha_at,
    claim_p,
    decide,
    on_values,
    p_values,
    settled,
    tails,
)  # fmt: skip
from core.spec.claim import Claim, above, all_of, any_of, at_least, greater, within

A, B, C, D = ("a",), ("b",), ("c",), ("d",)
P = {greater(A, B): Tail(0.01, 0.99), greater(A, C): Tail(0.04, 0.96), greater(A, D): Tail(0.7, 0.3)}


def claim(predicate, margin=1.0):
    return Claim(key="X.1", text="A claim.", predicate=predicate, margin=margin)


def made(**cells):
    """The samples of cells that have these values by seed."""

    def samples(contrast, n):
        if any(len(cells[term.cell[0]]) < n for term in contrast.terms):
            return None
        return sum(term.weight * np.asarray(cells[term.cell[0]][:n], dtype=float) for term in contrast.terms) - contrast.above

    return samples


def count(**cells):
    return lambda contrast: min(len(cells[term.cell[0]]) for term in contrast.terms)


def test_the_looks_spend_five_percent_a_study_whatever_the_number_of_claims():
    assert len(LOOKS) == len(SHARES) and list(LOOKS) == sorted(LOOKS)
    for claims in (1, 7):
        assert sum(claims * alpha_at(look, claims) for look in range(len(LOOKS))) == pytest.approx(ALPHA) == 0.05
    assert alpha_at(0, 5) == pytest.approx(0.05 * 0.02 / 5)


def test_tails_are_those_of_the_one_sample_t_test():
    values = np.array([0.4, 1.5, -0.2, 0.9, 0.6])
    found = tails(values, 0.3)
    assert found.up == pytest.approx(stats.ttest_1samp(values + 0.3, 0, alternative="greater").pvalue)
    assert found.down == pytest.approx(stats.ttest_1samp(values + 0.3, 0, alternative="less").pvalue)
    many = tails(np.stack([values, -values]))  # studies along the first axis
    assert many.up[0] == pytest.approx(tails(values).up) and many.up[1] == pytest.approx(tails(values).down)


@pytest.mark.parametrize(
    "values, expected",
    [([2.0, 2.0, 2.0], (0.0, 1.0)), ([-2.0, -2.0, -2.0], (1.0, 0.0)), ([0.0, 0.0, 0.0], (1.0, 1.0)), ([1e-12, 2e-12, 0.0], (1.0, 1.0)),
     ([1.0, math.nan, 2.0], (1.0, 1.0)), ([5.0], (1.0, 1.0))],
)  # fmt: skip
def test_values_without_scatter_are_told_by_sign_and_what_is_not_there_by_nothing(values, expected):
    assert tuple(float(one) for one in tails(values)) == expected


def test_p_of_joined_claims_by_hand():
    two, three, four = P
    assert p_values(all_of(two, three, four), P.get) == (pytest.approx(0.7), pytest.approx(0.9))  # the largest; 3 x 0.3
    assert p_values(any_of(two, three, four), P.get) == (pytest.approx(0.03), pytest.approx(0.99))  # 3 x 0.01; the largest
    assert p_values(at_least(2, [two, three, four]), P.get) == (pytest.approx(0.08), 1.0)  # 2 x 0.04; 2 x 0.96, cut at 1
    nested = all_of(any_of(two, four), three)  # max(2 x 0.01, 0.04); 2 x min(max(0.99, 0.3), 0.96)
    assert p_values(nested, P.get) == (pytest.approx(0.04), 1.0)


def test_p_of_a_claim_is_uniform_or_larger_at_the_least_favourable_truth():
    values = np.random.default_rng(0).standard_normal((4000, 3, 5)) + np.array([0.0, 5.0, 0.0])[:, None]  # one of three holds clearly
    parts = [above(name, 0.0) for name in (A, B, C)]
    p = claim_p(claim(at_least(2, parts), margin=None), on_values({part: values[:, place] for place, part in enumerate(parts)}))
    assert 0.03 < np.mean(p.sup <= 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)
    assert (p.eq == 1).all()


def test_equivalence_is_two_one_sided_tests_at_the_shifted_thresholds():
    a, b = [50.1, 50.3, 49.8, 50.2, 50.0], [50.0, 50.2, 50.1, 49.9, 50.1]
    p = claim_p(claim(greater(A, B), margin=0.5), on_values({greater(A, B): np.subtract(a, b)}))
    differences = np.subtract(a, b)
    low = stats.ttest_1samp(differences, -0.5, alternative="greater").pvalue
    high = stats.ttest_1samp(differences, 0.5, alternative="less").pvalue
    assert p.eq == pytest.approx(max(low, high)) and p.eq < 0.05
    assert claim_p(claim(greater(A, B), margin=None), on_values({greater(A, B): np.subtract(a, b)})).eq == 1.0


def test_support_goes_before_contradiction_and_that_before_equivalence():
    assert [int(settled(PValues(*p), 0.01)) for p in ((0.01, 1, 0.0), (1, 0.01, 0.0), (1, 1, 0.01), (0.02, 0.02, 0.02))] == [1, 2, 3, 0]


def test_a_verdict_once_given_stays_and_names_its_look():
    a, b = [50.0, 51.0, 52.0, 50.5, 51.5, 50.7, 51.1, 50.2], [40.0, 41.0001, 42.0, 40.5, 90.0, 90.7, 91.1, 90.2]
    found = decide(claim(greater(A, B)), made(a=a, b=b), 4)
    assert (found.outcome, found.look, found.n) == ("supported", 0, 3)
    assert found.p.sup == pytest.approx(stats.ttest_rel(a[:3], b[:3], alternative="greater").pvalue) and found.p.sup < alpha_at(0, 4)


def test_between_looks_nothing_is_decided_and_below_three_seeds_nothing_is_looked_at():
    noisy = [50.0, 54.0, 47.0, 53.0]
    flat = [49.0, 52.0, 50.0, 51.0]
    found = decide(claim(greater(A, B)), made(a=noisy, b=flat), 1)
    assert (found.outcome, found.look, found.n) == ("undecided", 0, 3)
    assert found.p.sup == pytest.approx(stats.ttest_rel(noisy[:3], flat[:3], alternative="greater").pvalue)
    assert decide(claim(greater(A, B)), made(a=[90.0, 91.0], b=[1.0, 2.0]), 1)[:3] == ("undecided", -1, 0)


def test_cells_without_enough_seeds_cannot_support_but_the_others_can_contradict():
    a, b, c = [50.0, 50.1, 50.2], [60.0, 60.1001, 60.2], [40.0]
    both = all_of(greater(A, B), greater(A, C))
    found = decide(claim(both), made(a=a, b=b, c=c), 1)
    assert (found.outcome, found.n) == ("contradicted", 3)
    assert decide(claim(any_of(greater(A, C), greater(A, B))), made(a=a, b=b, c=c), 1).outcome == "undecided"


def test_no_effect_within_its_own_margin_is_supported_by_many_tight_runs():
    rng = np.random.default_rng(2)
    cells = {name: 50 + rng.normal(0, 0.2, 12) for name in "abc"}
    assert decide(claim(within((A, B, C), 1.0), margin=None), made(**cells), 3).outcome == "supported"
    assert decide(claim(greater(A, B)), made(**cells), 3).outcome == "equivalent"
