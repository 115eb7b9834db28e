"""The analysis of effective rank and score: RankMe by its formula, and each kind of correlation on
a case worked by hand."""

import numpy as np
import pandas as pd
import pytest

from tools.effective_rank import NUMBERS, correlations, rank_me, table


def test_rank_me_is_the_exponential_of_the_entropy_of_singular_values():
    assert rank_me(np.full(8, 2.5)) == pytest.approx(8, rel=1e-5)
    assert rank_me(np.array([1.0, 0.0, 0.0])) == pytest.approx(1, rel=1e-4)
    p = np.array([0.5, 0.3, 0.2])
    assert rank_me(4 * p) == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-4)


def test_correlations_over_cells_within_tables_and_within_cells():
    """One measure: it rises with the score over cells and within the one table of four cells, and
    falls with it over seeds."""
    cells = [np.array([[10.0 * n + 1, n], [10.0 * n, n + 0.1]]) for n in (1, 2, 3, 4, 5)]
    # the best cell has the least of the measure, and stands in no table
    cells[4][:, 1] = [0.1, 0.2]
    in_table = np.array([[True]] * 4 + [[False]])
    over, within, seeds = correlations(cells, in_table)[:, 0]
    # ranks 2 3 4 5 1 against 1 2 3 4 5
    assert (over, within) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    assert seeds < -0.8  # differences that rounding alone tells from one another


def test_a_table_of_runs_has_a_line_a_measure_with_intervals_around_it():
    generator = np.random.default_rng(1)
    level = np.repeat(np.arange(8.0), 3)
    runs = pd.DataFrame({name: generator.normal(size=24) for name in NUMBERS})
    runs["score"], runs["effective rank"] = (level + generator.normal(0, 0.1, 24) for _ in range(2))
    runs = runs.assign(run=range(24), cell=level, table="t")
    lines = table(runs, resamples=50).set_index("measure")
    assert list(lines.index) == list(NUMBERS[1:])
    rank = lines.loc["effective rank"]
    assert rank["over cells"] == pytest.approx(1.0) and rank["over cells, low"] > 0.7
    assert (lines["over cells, low"] <= lines["over cells"] + 1e-9).all()
