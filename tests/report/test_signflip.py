"""The sign-flip test over seeds against a naive count, and its error where cells share what a seed does."""

from itertools import product

import numpy as np
import pytest
from small_study import result, small, stored

from core.report.signflip import flat, noise_sd, sentences
from core.spec.table import Axis, Cell

ONE = np.random.default_rng(0)


def test_p_is_the_share_of_flips_that_give_as_much_counted_one_by_one():
    values = np.random.default_rng(3).normal(50, 1, (7, 4)) + np.array([0, 0.6, 0, 0])
    centred = values - values.mean(1, keepdims=True)

    def statistic(signs):
        return sum(np.mean([sign * row[cell] for sign, row in zip(signs, centred, strict=True)]) ** 2 for cell in range(4))

    found = flat(values, ONE)
    as_much = [statistic(signs) >= statistic((1,) * 7) - 1e-12 for signs in product((1, -1), repeat=7)]
    assert found.p == pytest.approx(np.mean(as_much)) and 2 / 128 <= found.p < 1
    assert (found.cells, found.seeds, found.range) == (4, 7, pytest.approx(np.ptp(values.mean(0))))


def test_drawn_flips_agree_with_all_of_them():
    values = np.random.default_rng(5).normal(0, 1, (13, 5)) + np.array([0, 0.5, 0, 0, 0])
    drawn = flat(values, np.random.default_rng(1)).p
    centred = values - values.mean(1, keepdims=True)
    signs = np.array(list(product((1, -1), repeat=13)))
    statistics = ((signs @ centred / 13) ** 2).sum(1)
    assert drawn == pytest.approx((statistics >= statistics[0] - 1e-12).mean(), abs=0.02)


def test_up_to_twelve_seeds_nothing_is_drawn():
    values = np.random.default_rng(5).normal(0, 1, (13, 5))

    class Drawn(Exception):
        """A flip was drawn."""

    class NoDraws:
        def choice(self, *_):
            raise Drawn

    assert 0 < flat(values[:12], NoDraws()).p <= 1
    with pytest.raises(Drawn):
        flat(values, NoDraws())


def test_below_six_seeds_there_is_no_p_and_a_wide_table_has_the_smallest():
    wide = np.random.default_rng(0).normal(0, 0.1, (6, 3)) + np.array([0.0, 1.0, 10.0])
    assert flat(wide, ONE).p == pytest.approx(2 / 64) and np.isnan(flat(wide[:5], ONE).p)
    assert flat(np.tile(np.arange(6.0)[:, None], 3), ONE).p == 1.0  # nothing but the seed


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_one_in_twenty_tables_of_equal_cells_is_told_whatever_the_cells_share(shared):
    rng = np.random.default_rng(7)
    draws = np.sqrt(shared) * rng.standard_normal((600, 8, 1)) + np.sqrt(1 - shared) * rng.standard_normal((600, 8, 6))
    told = np.mean([flat(one, ONE).p < 0.05 for one in draws])
    assert 0.02 < told < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def table(seeds):
    labels = ("a", "b", "c")
    study = small(
        axes=(Axis(name="size", title="Size", labels=labels),),
        cells=tuple(Cell(labels=(name,), changes={"queue.size": 128 * 2**place}) for place, name in enumerate(labels)),
    )
    rng = np.random.default_rng(2)
    return result(
        study, stored(study, **{name: list(50 + 9 * place + rng.normal(0, 0.3, seeds)) for place, name in enumerate(labels)}), seeds=seeds
    )


def test_the_sentence_of_a_table_names_range_cells_seeds_and_p():
    [few] = sentences([table(3)])
    assert few.startswith("mocose Table 0: Small: its 3 cells, each over 3 seeds, range over 1") and "not tested" in few
    [many] = sentences([table(6)])
    assert "each over 6 seeds" in many and many.endswith("p = 0.031.")


def test_the_noise_studys_sd_needs_ten_runs():
    study = small(name="noise", paper="ours")
    values = [50.0 + (place % 4) for place in range(10)]
    enough, few = (result(study, stored(study, a=values[:n]), seeds=n) for n in (10, 9))
    assert noise_sd(enough) == pytest.approx(np.std(values, ddof=1)) and noise_sd(few) is None and noise_sd(None) is None
    [said] = sentences([enough])
    assert said.startswith("One configuration under 10 seeds scores 51.30") and "differ by 3.00" in said and sentences([few]) == []
