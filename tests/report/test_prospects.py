"""The power of the verdicts' own test, against simulation and known sizes."""

from dataclasses import replace

import numpy as np
import pytest
from claim_study import A, B, C, around, result, study
from fake_store import SOURCES, made_setup
from scipy import stats

from core.report.prospects import chances, lines, of_study, one_sided, power, spread_of
from core.report.statistics import SETTLED, alpha_at, claim_p, settled
from core.report.verdicts import study_result
from core.spec.claim import Claim, best, gains, greater
from core.spec.scale import PAPER
from studies import find

AT = made_setup(1, scale=PAPER, sources=replace(SOURCES, corpus_rows=1_000_000))


def claim(predicate, margin=1.0):
    return Claim(key="K", text="t", predicate=predicate, margin=margin)


def test_the_power_of_one_comparison_is_that_of_the_t_test():
    for mean, sd, n, level in ((1.0, 1.2, 8, 0.01), (0.3, 0.8, 40, 0.002)):
        exact = stats.nct.sf(stats.t.isf(level, n - 1), n - 1, mean / sd * n**0.5)
        assert one_sided(mean, sd, n, level) == pytest.approx(exact, abs=1e-4)
    assert one_sided(1.0, 0.0, 3, 0.01) == 1.0 and one_sided(-1.0, 0.0, 3, 0.01) == 0.0


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
    """Parts of a claim count as independent: they share cell a, so the formula may lie a little below."""
    n, claims, sd, one = 18, 3, 0.84, claim(predicate)
    runs = np.random.default_rng(1).normal(np.array(means)[:, None], sd, (4000, 3, n))

    def sums(values, contrast):  # of cells, along the second axis
        return (
            sum(term.weight * values[:, (A, B, C).index(term.cell)] for term in contrast.terms)
            - contrast.above
        )

    values = {contrast: sums(runs, contrast) for contrast in predicate.contrasts()}
    simulated = (settled(claim_p(one, values), alpha_at(n, claims)) == SETTLED.index(outcome)).mean()
    means = np.array([means])
    of = {contrast: (float(sums(means, contrast)[0]), sd * 2**0.5) for contrast in predicate.contrasts()}
    assert -0.06 < power(one, of, n, claims)[outcome] - simulated < 0.03
    assert 0.1 < simulated < 0.99


def test_the_papers_claims_have_a_cost_with_its_source():
    names = ("mocose-table4", "mocose-table7", "esimcse-table6")
    every = [one for name in names for one in of_study(study_result(find(name), AT), lambda _: 3600.0)]
    costs_of = {one.claim: one for one in every}
    assert costs_of["T4.1"].seeds is None and "more than 60 seeds" in costs_of["T4.1"].words
    assert all(set(one.runs.values()) <= {1.0} for one in costs_of.values())
    assert spread_of(find("mocose-table4")) == (0.84, "hppRC's 50 seeds of SimCSE")
    assert spread_of(find("mocose-figure3"))[1] == "MoCoSE's single runs, read off its figures"
    text = lines([find("esimcse-table6")], AT, lambda _: 3600.0, 4)
    assert "80 % power" in text[0] and text[-1].startswith("In all up to 60 seeds, ") and "4 GPUs" in text[-1]


def test_chances_are_of_later_checks_and_follow_the_stored_seeds():
    (clear,) = result(study(greater(A, B)), a=around(50.4, 3, 0.3), b=around(50.0, 3, 0.2)).verdicts
    chance = chances(clear, 4)
    assert list(chance) == [5, 8, 12, 18, 27, 40, 60] and list(chance.values()) == sorted(chance.values())
    noise = {"a": [50.0, 52.0, 49.0], "b": [50.5, 51.0, 49.4]}
    (flat,) = result(study(greater(A, B), margin=None), **noise).verdicts
    assert max(chances(flat, 4).values()) < 0.3 < chance[60]
    (few,) = result(study(greater(A, B)), a=[50.0, 51.0], b=[49.0, 50.0]).verdicts
    assert not chances(few, 4)
