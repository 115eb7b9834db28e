"""Cells by learning rate: their numbers against hand-computed ones, and the table that shows them."""

from pathlib import Path

import numpy as np
import pytest
from fake_store import FakeStore, edition
from small_study import small

from core.report.rate_table import rate_frame, rate_grid, rate_notes
from core.report.render import gathered, render
from core.report.statistics import over_seeds
from core.report.tables import latex, markdown
from core.report.terminal import terminal
from core.spec.claim import Claim, greater
from core.spec.scale import OTHER_RATES
from core.spec.table import Metric

THIRD, THREE = OTHER_RATES
STUDY = small(claims=(Claim(key="K1", text="b is better than a.", predicate=greater(("b",), ("a",)), decided_by="b against a"),))
A = {THIRD: (50.0, 51.0, 52.0), 1.0: (60.0, 61.0, 63.0, 64.0), THREE: (61.0, 62.0, 66.0)}  # best at three times the rate
B = {THIRD: (53.0, 55.0, 54.0), 1.0: (62.0, 61.5, 66.0), THREE: (70.0,)}  # three times has one seed, so it is not chosen


def result(study=STUDY, **by_label):
    """The study with these values by label, rate and seed."""
    store = FakeStore()
    for cell in study.cells:
        for factor, values in by_label[cell.labels[0]].items():
            for seed, value in enumerate(values):
                store.add(edition(3).at_rate(factor).config(study, cell, seed), value)
    return gathered([study], edition(3), store, Path("none"))[0].result


def texts(found) -> list[list[str]]:
    return [[entry.text for entry in row] for row in rate_grid(found).rows]


def test_every_number_is_that_of_its_seeds_and_differences_are_paired():
    a, b = result(a=A, b=B).rates
    assert [one.factor for one in a.scores] == [THIRD, 1.0, THREE]
    assert [one.rate for one in a.scores] == pytest.approx([1e-3 / 3, 1e-3, 3e-3])
    assert [one.estimate for one in a.scores] == [over_seeds(A[factor]) for factor in (THIRD, 1.0, THREE)]
    assert a.base is None and all(not one.difference.n for one in a.scores)
    assert b.base == ("a",)
    third, own, three = b.scores
    assert third.difference == over_seeds([3.0, 4.0, 2.0]) and own.difference == over_seeds([2.0, 0.5, 3.0])
    assert three.difference.mean == 9.0 and three.difference.n == 1 and np.isnan(three.difference.high)
    assert [one.development for one in b.scores] == pytest.approx([54.0, 63.1666667, 70.0])


def test_each_cell_is_read_at_its_own_best_rate_of_three_seeds():
    a, b = result(a=A, b=B).rates
    assert a.chosen.factor == THREE and b.chosen.factor == 1.0
    assert b.chosen.difference == over_seeds([62.0 - 61.0, 61.5 - 62.0, 66.0 - 66.0])
    one_rate = result(a={**A, THIRD: A[THIRD][:2], THREE: A[THREE][:2]}, b=B).rates
    assert one_rate[0].chosen is None and not one_rate[1].chosen.difference.n  # two seeds choose nothing


def test_the_table_says_what_was_chosen_and_where_a_better_rate_may_lie():
    found = result(a=A, b=B)
    assert rate_grid(found).headers == (
        "", "a third of the rate, 3.33e-4", "the scale’s rate, 1e-3", "three times the rate, 3e-3", "each at its best", "paper",
    )  # fmt: skip
    a, b, difference = texts(found)
    assert a[0] == "a" and a[1] == "51.00 ± 2.48 (n=3)" and a[4].endswith(" at 3e-3") and a[5] == "50.00"
    assert b[0] == "b" and b[3] == "70.00 (n=1)" and b[4].endswith(" at 1e-3") and b[5] == ""
    assert difference[0] == "− a" and difference[3] == "+9.00 (n=1)" and difference[4] == "+0.17 ± 1.90 (n=3)"
    assert rate_notes(found)[-1] == "Best at the highest rate that was tried, so a better one may lie beyond: a."


def test_a_score_that_chose_its_own_rate_is_said_to_flatter():
    on_development = small(claims=STUDY.claims, metric=Metric(task="dev", title="Development set"))
    assert any("flattered" in note for note in rate_notes(result(on_development, a=A, b=B)))
    assert not any("flattered" in note for note in rate_notes(result(a=A, b=B)))


def test_a_cell_that_lacks_a_rate_shows_none_and_one_without_other_rates_is_left_out():
    found = result(a={1.0: A[1.0], THIRD: A[THIRD]}, b={1.0: B[1.0], THIRD: B[THIRD]})
    assert texts(found)[0][3] == "—"
    assert result(a={1.0: A[1.0]}, b={1.0: B[1.0]}).rates == ()
    assert "learning rate" not in markdown(result(a={1.0: A[1.0]}, b={1.0: B[1.0]}))


def test_without_a_reference_there_is_neither_difference_nor_choice():
    found = result(small(claims=STUDY.claims, reference=None), a=A, b=B)
    assert [row[0] for row in texts(found)] == ["a", "b"]
    assert rate_grid(found).headers[-2:] == ("three times the rate, 3e-3", "paper")
    assert not any("best" in note.lower() for note in rate_notes(found))


def test_a_diverged_run_counts_as_the_worst_in_mean_and_choice():
    store = FakeStore()
    for factor, by_cell in ((1.0, (60.0, 62.0)), (THREE, (61.0, 70.0))):
        for cell, value in zip(STUDY.cells, by_cell, strict=True):
            for seed in range(3):
                failed = factor == THREE and cell.labels == ("b",) and seed == 2
                store.add(edition(3).at_rate(factor).config(STUDY, cell, seed), value, status="diverged" if failed else "ok")
    (section,) = gathered([STUDY], edition(3), store, Path("none"))
    _, b = section.result.rates
    assert b.scores[2].estimate.mean == pytest.approx(140 / 3) and b.scores[2].development == pytest.approx(140 / 3)
    assert b.chosen.factor == 1.0


def test_the_csv_file_has_the_tables_numbers(tmp_path):
    found = result(a=A, b=B)
    frame = rate_frame(found)
    assert list(frame["size"]) == ["a"] * 3 + ["b"] * 3 and list(frame["factor"]) == [0.333333, 1.0, 3.0] * 2
    assert list(frame["best"]) == ["no", "no", "yes", "no", "yes", "no"] and list(frame["base"]) == [""] * 3 + ["a"] * 3
    own = frame.iloc[4]
    assert (own["mean"], own["mean_n"], own["difference"], own["difference_n"]) == (63.1667, 3, 1.8333, 3)
    assert (own["best_difference"], own["best_difference_n"]) == (0.1667, 3) and frame["best_difference"].notna().sum() == 1


def test_files_and_page_show_the_table(tmp_path):
    store = FakeStore()
    for factor in (1.0, *OTHER_RATES):
        for place, cell in enumerate(STUDY.cells):
            for seed in range(3):
                store.add(edition(3).at_rate(factor).config(STUDY, cell, seed), 50.0 + place + seed % 2)
    render([STUDY], edition(3), store, tmp_path / "results", tmp_path / "figures")
    folder = tmp_path / "results" / "demo" / "paper"
    assert (folder / "mocose-small_rates.csv").read_text().startswith("size,factor,learning_rate,base,mean,")
    found = gathered([STUDY], edition(3), store, tmp_path)[0].result
    assert (folder / "mocose-small.md").read_text() == markdown(found)
    assert "## At other learning rates\n\n|" in markdown(found)
    shown = terminal(found)
    assert shown.index("At other learning rates\n\n") < shown.index("− a ") < shown.index("  K1 ")
    assert latex(found).count(r"\begin{table}") == 2 and r"\label{tab:mocose-small-demo-paper-rates}" in latex(found)
    captions = [line for line in latex(found).splitlines() if line.startswith(r"\caption")]
    assert "mean over 3 seeds" in captions[0] and "seeds" not in captions[1]  # each entry has its own number of seeds
