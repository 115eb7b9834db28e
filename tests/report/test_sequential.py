"""Looks, p of claims and chances against scipy, hand-computed cases and draws from known truths."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report.outlook import Chance, chances, futile, shrunk
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


def chance_of(predicate, cells, claims=1, margin=None, prior=None):
    return chances(claim(predicate, margin), made(**cells), claims, count(**cells), lambda contrast: prior)


def expected_chance(values, n, level, freedom, variance, sign=1):
    """The formula in a loop over 64 equally likely SDs."""
    k, parts = len(values), []
    for place in range(64):
        sigma = math.sqrt(variance * freedom / stats.chi2.isf((place + 0.5) / 64, freedom))
        then = math.sqrt(((k - 1) * np.var(values, ddof=1) + (n - k) * sigma**2) / (n - 1))
        reached = sign * np.mean(values) * math.sqrt(n) - stats.t.isf(level, n - 1) * then
        parts.append(stats.norm.cdf(reached / (sigma * math.sqrt(n / k - 1))))
    return np.mean(parts)


def test_the_chance_is_that_of_the_formula():
    a = [1.0, 0.2, 0.9, 0.4, 0.5]
    found = {one.n: one for one in chance_of(above(A, 0.0), {"a": a}, claims=3, prior=0.8)}
    assert list(found) == [8, 12, 18, 27, 40, 60]
    variance = (4 * 0.64 + 4 * np.var(a, ddof=1)) / 8
    expected = expected_chance(a, 12, alpha_at(3, 3), 8, variance)
    assert found[12].support == pytest.approx(expected) and found[12].equivalence is None
    against = expected_chance(a, 12, alpha_at(3, 3), 8, variance, sign=-1)
    assert found[12].contradiction == pytest.approx(against) and found[12].best == pytest.approx(expected)
    bare = {one.n: one for one in chance_of(above(A, 0.0), {"a": a}, claims=3)}
    assert bare[12].support == pytest.approx(expected_chance(a, 12, alpha_at(3, 3), 4, np.var(a, ddof=1)))


def test_without_a_noise_study_the_chance_knows_that_three_seeds_do_not_tell_the_scatter():
    values, level, rng = np.array([0.2, 0.9, 1.2]), alpha_at(3, 1), np.random.default_rng(3)
    said = {one.n: one for one in chance_of(above(A, 0.0), {"a": list(values)})}[12].support
    sigma = np.sqrt(2 * values.var(ddof=1) / rng.chisquare(2, 100_000))
    effect = rng.normal(values.mean(), sigma / np.sqrt(3))
    new = rng.normal(effect[:, None], sigma[:, None], (100_000, 9))
    seeds = np.concatenate([np.repeat(values[None], 100_000, 0), new], 1)
    t = seeds.mean(1) * np.sqrt(12) / seeds.std(1, ddof=1)
    assert said == pytest.approx((stats.t.sf(t, 11) <= level).mean(), abs=0.03) and said < 0.9


def test_the_chance_comes_true_as_often_as_it_says():
    rng, said, came = np.random.default_rng(4), [], []
    for _ in range(4000):
        values = rng.normal(rng.uniform(-3, 3), 1.0, 12)  # a flat prior over effects, as the formula has
        one = {c.n: c for c in chance_of(above(A, 0.0), {"a": values[:5]}, prior=1.0)}[12]
        if 0.3 < one.support < 0.7:
            said.append(one.support)
            came.append(tails(values).up <= alpha_at(3, 1))
    assert len(said) > 200 and np.mean(came) == pytest.approx(np.mean(said), abs=0.08)


def test_chances_of_joined_claims_turn_on_one_part_at_its_own_level():
    """Of two parts; the seeds to come of more are drawn (test_forecast.py)."""
    cells = {"a": [1.0, 0.2, 0.9], "b": [0.4, 0.1, 0.3]}
    parts = [above(name, 0.0) for name in (A, B)]
    single = [chance_of(part, cells, prior=0.5)[0] for part in parts]
    both, either = (chance_of(joined, cells, prior=0.5)[0] for joined in (all_of(*parts), any_of(*parts)))
    assert both.support == pytest.approx(min(one.support for one in single))
    assert either.contradiction == pytest.approx(min(one.contradiction for one in single))
    halves = [chance_of(part, cells, claims=2, prior=0.5)[0] for part in parts]  # half of the level each
    assert both.contradiction == pytest.approx(max(one.contradiction for one in halves))
    assert either.support == pytest.approx(max(one.support for one in halves))


def test_equivalence_has_a_chance_where_both_sides_have():
    tight = chance_of(above(A, 0.0), {"a": [0.02, -0.03, 0.01]}, margin=1.0, prior=0.3)
    assert tight[-1].equivalence > 0.99 and tight[-1].support < 0.5
    wide = chance_of(above(A, 0.0), {"a": [0.9, 1.4, 1.0]}, margin=1.0, prior=0.3)
    assert wide[-1].equivalence < 0.2 and wide[-1].support > 0.99


def test_a_part_that_has_reached_the_look_is_known_and_one_without_a_run_is_not():
    cells = {"a": [5.0, 5.1, 5.2, 5.0, 5.1], "b": [0.1, 0.2, 0.3], "c": []}
    both = chance_of(all_of(above(A, 0.0), above(B, 0.0)), cells, prior=0.1)
    assert [one.n for one in both] == [5, 8, 12, 18, 27, 40, 60]
    assert both[0].support == pytest.approx(chance_of(above(B, 0.0), cells, prior=0.1)[0].support)
    unknown = chance_of(all_of(above(A, 0.0), above(C, 0.0)), cells, prior=0.1)
    assert unknown[0] == Chance(3, None, None, None) and unknown[0].best is None and not futile(unknown)


def test_futile_is_below_a_tenth_at_every_look_left():
    far = chance_of(greater(A, B), {"a": list(np.tile([50.0, 54.0, 46.0], 9)), "b": list(np.tile([50.2, 53.6, 46.3], 9))}, prior=4.0)
    assert all(one.best < 0.1 for one in far) and futile(far)
    near = chance_of(above(A, 0.0), {"a": [1.0, 1.2, 0.9]}, prior=0.3)
    assert (
        not futile(near)
        and futile(())
        and not futile((Chance(8, 0.01, 0.02, None), Chance(12, 0.01, 0.02, None)))
        and futile((Chance(12, 0.01, 0.02, None),))
    )


def test_scatter_is_drawn_towards_the_noise_study():
    assert shrunk(np.array([1.0, 3.0]), 1.0) == pytest.approx(math.sqrt((4 + 2) / 5))
    assert shrunk(np.array([1.0, 3.0]), None) == pytest.approx(math.sqrt(2)) and shrunk(np.array([1.0]), None) is None
    assert shrunk(np.array([1.0]), 0.7) == pytest.approx(0.7)
