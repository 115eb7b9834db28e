"""The power of the verdicts' own test, against simulation and known sizes."""

from dataclasses import replace

import numpy as np
import pytest
from claim_study import A, B, C, around, result, study
from fake_store import SOURCES, made_setup
from scipy import stats

from core.config.scale import PAPER
from core.report.prospects import SIMCSE_SPREAD, chances, lines, of_study, power, spread_of
from core.report.statistics import CODED, alpha_at, claim_p, settled
from core.report.verdicts import study_result
from core.study.claim import Claim, all_of, best, collapsed, gains, greater
from core.study.grid import resolve
from core.study.study import Cell
from studies import find

AT = made_setup(1, scale=PAPER, sources=replace(SOURCES, corpus_rows=1_000_000))


def claim(predicate, margin=1.0):
    return Claim(key="K", text="t", predicate=predicate, margin=margin)


@pytest.mark.parametrize(
    ("predicate", "means", "outcome"),
    [
        (greater(A, B), (1.3, 0.0, 0.0), "supported"),
        (best(A, (B, C)), (1.4, 0.0, 0.2), "supported"),
        (gains(A, B, 1.5, 1.0), (-0.9, 0.0, 0.0), "contradicted"),
        (greater(A, B), (0.1, 0.0, 0.0), "equivalent"),
    ],
)
def test_power_agrees_with_made_up_studies_put_to_the_verdicts_functions(predicate, means, outcome):
    """Parts of a claim count as independent: they share cell a, so the formula may lie a little
    below."""
    n = 18
    claims = 3
    sd = 0.84
    one = claim(predicate)
    runs = np.random.default_rng(1).normal(np.array(means)[:, None], sd, (4000, 3, n))

    def sums(values, contrast):  # of cells, along the second axis
        return (
            sum(term.weight * values[:, (A, B, C).index(term.cell)] for term in contrast.terms)
            - contrast.above
        )

    values = {contrast: sums(runs, contrast) for contrast in predicate.contrasts()}
    simulated = (settled(claim_p(one, values), alpha_at(n, claims)) == CODED.index(outcome)).mean()
    means = np.array([means])
    of = {one: (float(sums(means, one)[0]), sd * 2**0.5) for one in predicate.contrasts()}
    assert -0.06 < power(one, of, n, claims)[outcome] - simulated < 0.03
    assert 0.1 < simulated < 0.99


def cells(*runs, copied=False):
    of = {"copied": copied}
    return [Cell(labels=(str(n),), published_runs=one, **of) for n, one in enumerate(runs)]


# SDs 0.2 and 10
NARROW = (50.0, 50.2, 50.4)
WIDE = (40.0, 50.0, 60.0)


@pytest.mark.parametrize(
    ("compared", "expected"),
    [
        (cells((), ()), [0.84]),
        (cells(NARROW, copied=True), [0.84]),
        (cells(NARROW, NARROW), [0.84]),  # four degrees of freedom
        (cells(NARROW, ()), [0.84]),  # one row says nothing of the other
        (cells(*[NARROW] * 5), [0.84]),
        (cells(*[NARROW] * 6), [0.2]),  # twelve
        (cells(*[NARROW] * 6, ()), [0.84]),
        (cells(WIDE, ()), [10.0]),
        (cells(NARROW, WIDE), [(50.02) ** 0.5]),
    ],
)
def test_a_spread_is_that_of_the_cells_and_of_few_runs_at_least_simcse_s(compared, expected):
    assert [spread_of(compared)] == pytest.approx(expected)


def test_a_claim_is_priced_by_the_cells_that_it_compares():
    """Cell d scatters by 10 points: this counts for the claim on d alone."""
    published = {"a": 51.5, "b": 50.0, "d": 40.0}
    runs = dict.fromkeys("abc", NARROW) | {"d": WIDE}
    one = study(greater(A, B), greater(A, ("d",)), published=published, runs=runs)
    without, wild = of_study(result(one), lambda _: 360.0)
    assert (without.spread, without.seeds, len(without.runs)) == (SIMCSE_SPREAD, 12, 24)
    assert wild.spread == pytest.approx(50.02**0.5) and wild.seeds == 18


def test_the_papers_claims_have_a_cost_with_its_source():
    costs = {}
    for name in ("mocose-table7", "mocose-table5", "mocose-table1"):
        result_of = study_result(resolve(find(name), AT))
        costs |= {cost.claim: cost for cost in of_study(result_of, lambda _: 3600.0)}
    fills = costs["T7.5"]  # of a queue of 512
    assert fills.spread == SIMCSE_SPREAD and fills.seeds == 18 and len(fills.runs) == 72
    assert set(fills.runs.values()) == {3600.0}
    fgsm = costs["T5.1"]  # single runs of one of its two rows
    assert fgsm.spread == SIMCSE_SPREAD and fgsm.seeds is None
    assert costs["T1.1"].seeds == 27 and len(costs["T1.1"].runs) == 54  # an average of sets
    text = lines([resolve(find("esimcse-table6"), AT)], lambda _: 3600.0)
    assert "80 % power" in text[0] and text[-1].startswith("In all up to 60 seeds, ")


def by_hand(stored, others, claims, seeds=5, draws=4000):
    """The share of draws in which five seeds settle "a above the others", with a margin of a
    point."""
    random = np.random.default_rng(7)
    wins = 0
    pairs = [np.subtract(stored["a"], stored[other]) for other in others]
    level = alpha_at(seeds, claims)
    needed, one_of = (stats.t.isf(each, seeds - 1) for each in (level, level / len(pairs)))
    for _ in range(draws):
        scale = np.sqrt(2 / random.chisquare(2))
        weights = random.normal(size=(3, 1)) / 3**0.5 + random.normal(size=(3, seeds - 3))
        means = []
        errors = []
        for pair in pairs:
            further = pair.mean() + scale * (pair - pair.mean()) / 2**0.5 @ weights
            values = np.concatenate((pair, further))
            means.append(values.mean())
            errors.append(values.std(ddof=1) / seeds**0.5)
        rows = list(zip(means, errors, strict=True))
        holds = all(mean >= needed * error for mean, error in rows)
        fails = any(mean <= -one_of * error for mean, error in rows)
        near = all(mean + 1.0 >= needed * error for mean, error in rows)
        not_above = any(mean - 1.0 <= -one_of * error for mean, error in rows)
        wins += holds or fails or (near and not_above)
    return wins / draws


@pytest.mark.parametrize("others", ["b", "bc"])
def test_a_chance_is_that_of_studies_drawn_around_the_stored_seeds(others):
    stored = {"a": [51.2, 52.1, 51.5], "b": [50.0, 50.8, 50.6], "c": [50.3, 50.7, 50.1]}
    predicate = all_of(*(greater(A, (other,)) for other in others))
    (verdict,) = result(study(predicate), **stored).verdicts
    assert verdict.outcome == "undecided"
    hand = by_hand(stored, others, claims=4)
    assert 0.2 < hand < 0.95
    assert chances(verdict, 4)[5] == pytest.approx(hand, abs=0.04)


def test_chances_are_of_later_checks_and_follow_the_stored_seeds():
    (clear,) = result(study(greater(A, B)), a=around(50.4, 3, 0.3), b=around(50.0, 3, 0.2)).verdicts
    chance = chances(clear, 4)
    assert list(chance) == [5, 8, 12] and list(chance.values()) == sorted(chance.values())


def test_before_the_first_check_the_printed_effect_counts_and_a_first_check_settles_little():
    one = study(greater(A, B), greater(B, A), collapsed(C), published={"a": 51.5, "b": 50.0})
    printed, against, share = result(one, a=[50.0, 51.0], b=[49.0, 50.0]).verdicts
    by_check = chances(printed, 3)
    assert list(by_check) == [3, 5, 8]
    expected = power(printed.claim, {greater(A, B): (1.5, 0.84 * 2**0.5)}, 8, 3)
    assert by_check[8] == pytest.approx(sum(expected.values())) and by_check[8] > 0.1
    assert by_check[3] < 0.01
    # it is contradicted as likely
    assert chances(against, 3)[8] == pytest.approx(by_check[8], abs=0.01)
    assert set(chances(share, 3).values()) == {0.0}  # no share of eight runs is settled
