"""The spread that seeds alone give, against the known distribution of a range of normal means."""

import numpy as np
import pytest
from scipy import stats

from core.report.null import DRAWS, spread


def normal(n: int, scale: float) -> np.ndarray:
    """A sample whose quantiles are the normal's, so that no luck is in it."""
    return 50.0 + scale * stats.norm.ppf((np.arange(n) + 0.5) / n)


def test_the_range_of_normal_cell_means_is_the_studentized_ranges_with_known_scatter():
    found = spread([50.0] * 6, 4, normal(400, 2.0), np.random.default_rng(0))
    unit = 2.0 / np.sqrt(4)  # SD of a cell's mean
    many = stats.studentized_range(6, 1e6)
    assert found.median == pytest.approx(unit * many.ppf(0.5), rel=0.03)
    assert (found.low, found.high) == (pytest.approx(unit * many.ppf(0.025), rel=0.06), pytest.approx(unit * many.ppf(0.975), rel=0.04))


def test_a_wide_table_is_told_from_seeds_and_a_flat_one_is_not():
    noise = normal(24, 1.0)
    wide = spread([50.0, 51.0, 60.0], 3, noise, np.random.default_rng(0))
    flat = spread([50.0, 50.0, 50.0], 3, noise, np.random.default_rng(0))
    assert wide.observed == 10.0 and wide.p == pytest.approx(1 / (1 + DRAWS))
    assert flat.observed == 0.0 and flat.p == 1.0


def test_few_runs_are_scaled_to_the_scatter_of_the_population():
    two = spread([50.0, 50.0], 1, [49.0, 51.0], np.random.default_rng(0))
    assert two.high == pytest.approx(2.0 * np.sqrt(2))  # SD of (49, 51) with n-1 is sqrt(2)
