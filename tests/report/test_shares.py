"""Claims on a share of runs: exact tails and bounds, and how often a wrong verdict is given of cells whose runs are of two kinds."""

import numpy as np
import pytest
from scipy import stats

from core.report import shares
from core.report.sequential import ALPHA, LOOKS, alpha_at, claim_p, decide, on_values
from core.spec.claim import Claim, collapsed, sound

CLAIMS = 7  # of MoCoSE's Figure 5
CELL = ("a",)


def values(predicate, fallen):
    """A contrast's values of runs that have collapsed (1), have not (0) or have diverged (0.5)."""
    (term,) = predicate.terms
    return term.weight * np.asarray(fallen, dtype=float) - predicate.above


def of(fallen):
    """The samples of one cell for any contrast of it."""
    return lambda contrast, n: None if len(fallen) < n else values(contrast, fallen[:n])


def claim(predicate):
    return Claim(key="X.1", text="It collapses.", predicate=predicate, margin=None)


@pytest.mark.parametrize(
    "fallen, more, less", [([1, 1, 1], 3, 0), ([1, 0, 0, 1, 1], 3, 2), ([0, 0, 0.5], 0, 2), ([1, 0.5, 0.5], 1, 0), ([0.5], 0, 0)]
)
def test_tails_are_those_of_the_binomial_test_with_what_tells_neither_against_both(fallen, more, less):
    n = len(fallen)
    up, down = shares.tail(values(collapsed(CELL), fallen))
    assert up == pytest.approx(stats.binom.sf(more - 1, n, 0.5)) and down == pytest.approx(stats.binom.cdf(n - less, n, 0.5))
    assert shares.tail(values(sound(CELL), fallen)) == pytest.approx((down, up))


def test_bounds_are_clopper_and_pearsons():
    low, high = shares.bounds(values(collapsed(CELL), [1, 1, 1, 0, 1, 1, 0.5, 1]), 0.01, 0.02)
    assert low + 0.5 == pytest.approx(stats.binomtest(6, 8, alternative="greater").proportion_ci(0.99, "exact").low)
    assert high + 0.5 == pytest.approx(stats.binomtest(7, 8, alternative="less").proportion_ci(0.98, "exact").high)
    assert shares.bounds(values(collapsed(CELL), [1, 1, 1]), 0.01, 0.02)[1] == 0.5
    assert shares.bounds(values(collapsed(CELL), [0, 0, 0]), 0.01, 0.02)[0] == -0.5


def test_a_verdict_takes_more_than_three_runs_that_agree():
    first = next(n for look, n in enumerate(LOOKS) if 0.5**n <= alpha_at(look, CLAIMS))
    for predicate, kind in ((collapsed(CELL), 1), (sound(CELL), 0)):
        found = decide(claim(predicate), of([kind] * 60), CLAIMS)
        assert (found.outcome, found.n) == ("supported", first) and first == 12
        assert decide(claim(predicate), of([1 - kind] * 60), CLAIMS).outcome == "contradicted"
        assert decide(claim(predicate), of([0.5] * 60), CLAIMS).outcome == "undecided"  # every run diverged


def test_wrong_verdicts_of_runs_of_two_kinds_are_within_their_share():
    """At a half each, where either verdict is wrong. The means of three seeds of one kind settled 12.8 % of such studies for collapse."""
    generator, studies = np.random.default_rng(0), 20_000
    runs = (generator.random((studies, LOOKS[-1])) < 0.5).astype(float)
    wrong = np.zeros(studies, dtype=bool)
    for look, n in enumerate(LOOKS):
        p = claim_p(claim(collapsed(CELL)), on_values({collapsed(CELL): values(collapsed(CELL), runs[:, :n])}))
        wrong |= np.minimum(p.sup, p.con) <= alpha_at(look, CLAIMS)
    assert 0 < wrong.mean() <= ALPHA / CLAIMS * 2  # both sides
