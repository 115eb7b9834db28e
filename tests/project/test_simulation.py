"""Known truths put to the real verdicts: wrong ones in at most one study of twenty, however the
runs are looked at or chosen."""

import math

import numpy as np
import pytest

from benchmarks.simulation import (
    CLAIMS,
    COLLAPSE,
    A,
    B,
    Kinds,
    Learning,
    World,
    chased,
    collapse_outcomes,
    outcomes,
    studies_in_error,
    values_of,
    wrong,
)
from core.report.statistics import ALPHA, CODED, LOOKS, decide
from core.study.claim import Claim, greater

STUDIES = 300
MOST = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / STUDIES)
WORLDS = [
    World(truth="all equal", sd=0.84),
    World(truth="all equal", sd=0.35, wide=5.0, shared=0.9),
    World(truth="one exact tie", sd=1.9, shared=0.5),
    World(truth="at the margin", sd=0.35, shared=0.9),
    World(truth="as printed", sd=0.84, wide=5.0),
    World(truth="all equal", sd=1.9, tails="t3"),
]


def drawn(world, studies=STUDIES, seed=1):
    return world.draw(studies, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "world",
    WORLDS,
    ids=lambda world: f"{world.truth}, {world.sd}, {world.wide}, {world.shared}, {world.tails}",
)
def test_at_most_one_study_in_twenty_has_a_wrong_verdict_when_it_is_looked_at_every_time(world):
    assert studies_in_error(world, drawn(world)).any(0).mean() <= MOST


@pytest.mark.parametrize("share", [0.03, 0.5, 0.7])
def test_claims_on_collapse_are_wrong_in_at_most_one_study_of_twenty(share):
    world = Kinds(share=share, shared=0.5)
    found = collapse_outcomes(drawn(world))[:, -1]
    wrongs = [wrong(claim, world, one) for claim, one in zip(COLLAPSE, found, strict=True)]
    assert np.any(wrongs, axis=0).mean() <= MOST
    assert ((found > 0).mean() > 0.2) == (share != 0.5)  # told from a half where it is another


def test_runs_spent_on_the_most_promising_claim_do_not_make_it_wrong_more_often():
    world = World(truth="one exact tie", sd=0.84, shared=0.5)
    most = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 40)
    assert chased(world, drawn(world, 40)).mean() <= most


@pytest.mark.parametrize("ratio, seeds", [(0.7, 3), (1.0, 3), (1.3, 1)])
def test_the_bars_own_noise_adds_no_wrong_verdict(ratio, seeds):
    one = Learning(world=World(truth="all equal", sd=0.84, shared=0.5), ratio=ratio, seeds=seeds)
    shown = one.shown(STUDIES, np.random.default_rng(2))
    assert shown["wrong"].mean() <= MOST and (shown["wrong"] <= shown["any"]).all()
    assert (shown["any"] == (shown["provisional"] | shown["firm"])).all()
    if ratio < 1:
        assert shown["firm"].mean() <= 0.05
    if seeds == 1:
        assert not shown["firm"].any()  # one run of SimCSE has no interval


def test_a_claim_decided_for_many_studies_at_once_is_decided_as_each_by_itself():
    world = World(truth="as printed", sd=0.84, shared=0.5)
    runs = drawn(world, 4)
    runs[1, 0, 20:] = np.nan  # cell a has 20 seeds, b to f have 60
    for claim in CLAIMS:
        many = outcomes(claim, runs)[-1]
        for place in range(4):

            def samples(contrast, n, place=place):
                values = values_of(contrast, runs[place : place + 1], n)[0]
                return None if np.isnan(values).any() else values

            assert CODED[many[place]] == decide(claim, samples, len(CLAIMS))[0], claim.key


def test_most_claims_are_settled_in_the_end():
    world = World(truth="as printed", sd=0.84, shared=0.5)
    share = np.mean([(outcomes(claim, drawn(world, 100)) > 0).mean(1) for claim in CLAIMS], axis=0)
    assert len(share) == len(LOOKS) and share[0] < 0.1 and 0.15 < share[3] < 0.5 and share[-1] > 0.7


def test_what_is_wrong_follows_from_the_truth():
    equal = World(truth="all equal", sd=1.0)
    margin = World(truth="at the margin", sd=1.0)
    by_key = {claim.key: claim for claim in CLAIMS}
    for key, world, expected in (
        ("greater", equal, [False, True, False, False]),  # not greater, and equivalent
        ("greater", margin, [False, False, True, True]),  # by a hair more than the margin
        ("within", equal, [False, False, True, True]),  # its own margin makes it never equivalent
        ("scatters more", World(truth="all equal", sd=1.9, wide=5.0), [False, False, True, True]),
    ):
        assert wrong(by_key[key], world, np.arange(4)).tolist() == expected, key


def test_at_an_exact_tie_a_claim_of_one_comparison_gets_either_side_in_less_than_one_study_in_twenty():
    """3.4 % supported, which is wrong, and 3.2 % contradicted, in docs/method.md as 6.6 %
    together."""
    claim = Claim(key="tie", text="a > b", predicate=greater(A, B), margin=None)
    runs = drawn(World(truth="one exact tie", sd=0.84), studies=20_000)
    found = outcomes(claim, runs, claims=1)[-1]
    supported, contradicted = ((found == side).mean() for side in (1, 2))
    assert max(supported, contradicted) <= ALPHA
    assert supported + contradicted == pytest.approx(0.066, abs=0.005)
