"""A study under --vary: its verdicts at each value, its table, its CSV file and its figure."""

import numpy as np
import pytest
from fake_store import FakeStore, add_simcse, made_setup
from resolved import config_at
from small_study import small

from core.config.scale import MINI
from core.report.drawing import drawing
from core.report.figures import study_figures
from core.report.frames import cell_frame, claim_frame, curve_frame
from core.report.sheet import make_sheet
from core.report.tables import latex, markdown, text_table
from core.report.terminal import terminal
from core.report.verdicts import study_result
from core.study import variants
from core.study.claim import Claim, greater
from core.study.resolution import resolve

AT = made_setup(5, scale=MINI)
K1 = Claim(key="K1", text="b is better than a.", predicate=greater(("b",), ("a",)))
STUDY = small(claims=(K1,))
RATES = ("2e-5", "3e-5", "6e-5")  # the second is the scale's


@pytest.fixture(scope="module")
def found():
    """K1's study at three rates: with five seeds b lies below a at the first, above it at the
    second."""
    store = FakeStore()
    own = variants.varied(STUDY, AT, (), (f"train.learning_rate={','.join(RATES)}",))
    means = {("a", "2e-5"): 60.0, ("b", "2e-5"): 50.0, ("a", "3e-5"): 50.0, ("b", "3e-5"): 60.0}
    for cell in (cell for cell in own.cells if cell.labels in means):
        for seed in range(5):
            score = means[cell.labels] + 0.1 * (seed * (2 + (cell.labels[0] == "b")) % 5)
            store.add(config_at(AT, own, cell, seed), score, scale=MINI, untrained=0.0)
    add_simcse(store, AT, 29.0, 30.0, 31.0)
    return study_result(resolve(own, AT), store), study_result(resolve(STUDY, AT), store)


def test_each_value_is_judged_like_a_study_of_its_own(found):
    found, single = found
    assert [one.outcome for one in found.verdicts] == ["contradicted", "supported", "not run"]
    (alone,), same = single.verdicts, found.verdicts[1]
    assert (same.outcome, same.tested) == (alone.outcome, alone.tested)
    assert list(claim_frame([found])["claim"]) == ["K1 (2e-5)", "K1 (3e-5)", "K1 (6e-5)"]


def test_cells_are_compared_with_the_reference_at_the_same_value_seed_by_seed(found):
    found, _ = found
    frame = cell_frame(found).set_index(["size", "train.learning_rate"])
    assert list(frame["mean"].dropna()) == pytest.approx([60.2, 50.2, 50.2, 60.2])
    assert {row.reference for (_, rate), row in frame.iterrows() if rate == "2e-5"} == {"a/2e-5"}
    slow, own = (frame.loc["b", rate]["paired_difference"] for rate in ("2e-5", "3e-5"))
    assert slow == -own != 0
    (measured,) = found.verdicts[0].contrasts.values()
    assert measured.under(5) == pytest.approx(
        -10 + 0.1 * (np.arange(5) * 3 % 5 - np.arange(5) * 2 % 5)
    )


def test_the_table_stands_once_for_each_value_and_says_where_claims_hold(found):
    found, _ = found
    table = text_table(found.study, cell_frame(found))
    assert table.headers[0] == "train.learning_rate"
    assert [row[0] for row in table.rows if row[0]] == list(RATES)
    assert all(len(row) == len(table.headers) for row in table.rows) and "50.20" in str(table.rows)
    for text in (markdown(make_sheet(found)), terminal(make_sheet(found))):
        assert "K1 (2e-5) contradicted" in text and "K1 (3e-5) supported" in text
    assert latex(make_sheet(found)).count(r"\begin{table}") == 1


def test_the_figure_has_a_panel_for_each_value(found):
    found, _ = found
    with drawing():
        (figure,) = study_figures(
            found.study, cell_frame(found), curve_frame(found), "", ""
        ).values()
    titles = [panel.get_title("left") for panel in figure.axes]
    assert titles == [f"train.learning_rate {rate}" for rate in RATES[:2]]  # no run at 6e-5
