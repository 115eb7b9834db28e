"""A study under --vary: its verdicts at each value, its table, its CSV file and its figure."""

import numpy as np
import pytest
from fake_store import FakeStore, add_simcse
from fake_store import edition as edition_of
from small_study import small

from core.report.contrasts import Readings
from core.report.drawing import drawing
from core.report.figures import figures
from core.report.frames import cell_frame, claim_frame, curve_frame
from core.report.tables import grid, latex, markdown, terminal
from core.report.verdicts import study_result
from core.report.words import by_value
from core.spec.claim import Claim, greater
from core.spec.identity import run_id
from core.spec.scale import MINI
from studies import STUDIES, find


def edition(seeds):
    return edition_of(seeds, scale=MINI)


A, B = ("a",), ("b",)
STUDY = small(claims=(Claim(key="K1", text="b is better than a.", predicate=greater(B, A), decided_by="b against a"),))
RATES = ("2e-5", "3e-5", "6e-5")  # the second is the scale's


def result(**by_rate):
    """K1's study at three rates, after five seeds with these means of a and b; a rate without means has no run."""
    store, own = FakeStore(), edition(5).varied(STUDY, (), (f"train.learning_rate={','.join(RATES)}",))
    for rate, means in zip(RATES, (by_rate.get(name) for name in ("slow", "own", "fast")), strict=True):
        for place, mean in enumerate(means or ()):
            cell = next(one for one in own.cells if one.labels == (STUDY.cells[place].labels[0], rate))
            for seed in range(5):
                store.add(edition(5).config(own, cell, seed), mean + 0.1 * (seed * (2 + place) % 5), scale=MINI, untrained=0.0)
    add_simcse(store, edition(5), 29.0, 30.0, 31.0)
    return study_result(own, edition(5), store), store


def test_each_value_is_judged_like_a_study_of_its_own():
    found, store = result(slow=(60.0, 50.0), own=(50.0, 60.0))
    assert [one.outcome for one in found.verdicts] == ["contradicted", "supported", "not run"]
    assert by_value(found) == ["K1: contradicted at 2e-5; supported at 3e-5; not run at 6e-5."]
    (alone,) = study_result(STUDY, edition(5), store).verdicts
    same = found.verdicts[1]
    assert (same.outcome, same.tested, same.p) == (alone.outcome, alone.tested, alone.p)
    assert by_value(study_result(STUDY, edition(5), store)) == []
    assert list(claim_frame([found])["claim"]) == ["K1 (2e-5)", "K1 (3e-5)", "K1 (6e-5)"]


def test_cells_are_compared_with_the_reference_at_the_same_value_seed_by_seed():
    found, _ = result(slow=(60.0, 50.0), own=(50.0, 60.0))
    frame = cell_frame(found).set_index(["size", "train.learning_rate"])
    assert list(frame["mean"].dropna()) == pytest.approx([60.2, 50.2, 50.2, 60.2])
    reference = STUDY.reference[0]
    other = "b" if reference == "a" else "a"
    assert {row.reference for (_, rate), row in frame.iterrows() if rate == "2e-5" and row.n} == {f"{reference}/2e-5"}
    slow, own = (frame.loc[other, rate]["paired_difference"] for rate in ("2e-5", "3e-5"))
    assert slow == -own != 0
    part = found.parts[0]
    values = Readings(part).samples(part.study.claims[0].predicate, 5)
    assert values == pytest.approx(-10 + 0.1 * (np.arange(5) * 3 % 5 - np.arange(5) * 2 % 5))


def test_the_table_stands_once_for_each_value_and_says_where_claims_hold():
    found, _ = result(slow=(60.0, 50.0), own=(50.0, 60.0))
    table = grid(found.study, cell_frame(found))
    assert table.headers[0] == "train.learning_rate" and [row[0].text for row in table.rows if row[0].text] == list(RATES)
    assert all(len(row) == len(table.headers) for row in table.rows) and "50.20" in table.text
    for text in (markdown(found), terminal(found)):
        assert "K1: contradicted at 2e-5; supported at 3e-5; not run at 6e-5." in text
    assert markdown(found).count("Decided by: b against a.") == 1 and latex(found).count(r"\begin{table}") == 1


def test_the_figure_has_a_panel_for_each_value():
    found, _ = result(slow=(60.0, 50.0), own=(50.0, 60.0))
    with drawing():
        (figure,) = figures(found.study, cell_frame(found), curve_frame(found)).values()
    axes = figure.subfigs[0].axes
    assert [panel.get_title(loc="left") for panel in axes] == [f"train.learning_rate {rate}" for rate in RATES[:2]]  # none at 6e-5
    means = [float(x) for panel in axes for line in panel.get_lines() if line.get_marker() == "D" for x in line.get_xdata()]
    assert len(means) == 2 and means[0] == pytest.approx(-means[1])


@pytest.mark.parametrize("name", ["mocose-table4", "mocose-figure5", "noise", "esimcse-table7"])  # of every sort of figure
def test_every_sort_of_study_is_laid_out_and_drawn(name):
    store, own = FakeStore(), edition(2).varied(find(name), (), ("train.learning_rate=2e-5,3e-5", "loss.temperature=0.05,0.1"))
    edition(2).check(own)
    for place, cell in enumerate(own.at(edition(2).scale).cells):
        for seed in range(2) if edition(2).unavailable(own, cell) is None else ():
            config = edition(2).config(own.at(edition(2).scale), cell, seed)
            if run_id(config) not in store.runs:
                store.add(config, 50.0 + place % 7 + seed, scale=MINI)
    found = study_result(own, edition(2), store)
    assert len(found.parts) == 4 and sum(len(part.cells) for part in found.parts) == len(found.cells)
    with drawing():
        assert markdown(found) and figures(found.study, cell_frame(found), curve_frame(found))
    assert any(study.name == name for study in STUDIES)
