"""The chances by which --resolve orders its work: what is nearly sure, what is hopeless, and what comes true."""

import numpy as np
import pytest
from known_jobs import A, B

from core.report.prospects import DRAWS, _urn, chances
from core.spec.claim import Claim, greater


class Values:
    """The readings of one contrast: these values under seeds 0, 1, …"""

    def __init__(self, values):
        self.values = np.asarray(values)

    def samples(self, contrast, n):
        return self.values[:n] - contrast.above

    def seeds(self, contrast):
        return len(self.values)


CLAIM = Claim(key="K", text="a is better than b.", predicate=greater(A, B), margin=None)


def test_chances_are_of_later_checks_and_grow_with_seeds():
    found = chances(CLAIM, Values([1.0, 0.2, 0.9, 0.1, 0.6]), 4)
    assert list(found) == [8, 12, 18, 27, 40, 60] and list(found.values()) == sorted(found.values())
    assert found[60] > 0.9 > found[8]
    assert not chances(CLAIM, Values([1.0, 2.0]), 4)
    assert found == chances(CLAIM, Values([1.0, 0.2, 0.9, 0.1, 0.6]), 4)


def test_a_difference_that_is_not_there_has_a_small_chance_unless_a_margin_holds_it():
    values = np.tile([0.1, -0.1], 6)
    assert max(chances(CLAIM, Values(values), 4).values()) < 0.2
    equal = Claim(key="K", text="a is better than b.", predicate=greater(A, B), margin=1.0)
    assert chances(equal, Values(values), 4)[18] == 1.0


def test_the_urn_repeats_stored_seeds_and_keeps_their_spread():
    drawn = _urn(4, 60)
    assert (drawn[:, :4] == np.arange(4)).all() and set(np.unique(drawn)) == {0, 1, 2, 3} and drawn.shape == (DRAWS, 60)
    shares = (drawn == 0).mean(1)  # Dirichlet(1, 1, 1, 1) in the limit: mean 1/4, variance 3/80
    assert shares.mean() == pytest.approx(0.25, abs=0.04) and shares.var() == pytest.approx(3 / 80, rel=0.35)
