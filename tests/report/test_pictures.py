"""Figures that are no difference: every cell is drawn where it belongs, with the numbers that it has."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fake_store import edition, filled

from core.report import pictures
from core.report.cells import gather
from core.report.figures import drawable, finding
from core.report.findings import of_curves, of_levels
from core.report.style import drawing, pixels, png_bytes
from core.spec.table import FigureSpec
from studies import find

TABLE3 = replace(find("mocose-table3"), reference=None)


def of(study, store):
    return gather(study, edition(), store)


def drawn(kind, store=None, study=TABLE3):
    study = replace(study, figure=FigureSpec(kind=kind, caption="A caption"))
    result = of(study, store or filled(study))
    with drawing():
        return result, pictures.of_levels(result)


def xs(axes, marker, size):
    """Where single points with this marker stand, by row."""
    found = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata()) == 1 and line.get_markersize() == size]
    return {round(float(line.get_ydata()[0])): float(line.get_xdata()[0]) for line in found}


def test_bars_show_each_cells_mean_and_the_papers_in_the_tables_order():
    result, figure = drawn("bars")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.5", "0.8", "0.85", "0.9", "0.95", "0.99"]
    assert xs(axes, "o", 4.6) == {row: pytest.approx(cell.estimate.mean) for row, cell in enumerate(result.cells)}
    assert xs(axes, "o", 4.2) == {row: pytest.approx(cell.cell.published) for row, cell in enumerate(result.cells)}
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is on top
    assert finding(figure).startswith("0 of 6 rows lie above what the paper prints; ")


@pytest.mark.parametrize("ours, said", [([60.0, 62.0], "stand in its order"), ([62.0, 60.0], "do not stand in its order")])
def test_of_two_rows_the_title_says_whether_they_stand_in_the_papers_order(ours, said):
    assert of_levels(ours, [82.0, 83.5], "points") == f"0 of 2 rows lie above what the paper prints; the two {said}"


def test_a_strip_has_a_dot_for_every_run_around_its_mean_on_one_axis_with_the_papers():
    result, figure = drawn("strip")
    (axes,) = figure.axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(dots) == 6 + 5  # one decay is printed without its runs
    ours, papers = result.cells[1], dots[2]
    values = np.array([run.value for run in ours.runs])
    assert sorted(dots[1].get_xdata()) == pytest.approx(sorted(values - values.mean()))
    assert papers.get_markerfacecolor() == "white" and sum(papers.get_xdata()) == pytest.approx(0.0)


def test_seeds_alone_are_the_finding_of_the_noise_study():
    study = find("noise")
    result = of(study, filled(study, seeds=24))
    with drawing():
        said = finding(pictures.of_levels(result))
    values = [run.value for run in result.cells[0].runs]
    assert f"over {np.ptp(values):.1f} points (SD {np.std(values, ddof=1):.1f}, n = 24); the paper prints it up to 0.9 apart" in said


def test_learning_curves_are_the_mean_over_seeds_named_at_their_ends():
    result, figure = drawn("curve")
    axes = figure.axes[0]
    means = [line for line in axes.lines if line.get_linewidth() == 1.5]
    assert len(means) == 6 and list(means[0].get_xdata()) == [100, 200, 300]
    mean = np.mean([run.value for run in result.cells[0].runs])
    assert list(means[0].get_ydata()) == pytest.approx([mean / 3, mean * 2 / 3, mean])
    names = {text.get_text() for text in axes.texts}
    assert names == {f"{cell.cell.labels[0]} (n = 3)" for cell in result.cells}
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert min(b - a for a, b in itertools.pairwise(heights)) >= pictures.DODGED - 1e-9 and 0 <= heights[0] and heights[-1] <= 1


def test_a_check_without_a_score_leaves_a_gap_that_the_figure_explains_and_no_name_hangs_on_it():
    store = filled(TABLE3)
    _, whole = drawn("curve", store)
    broken = next(iter(store.runs.values()))
    broken.rows.loc[(broken.rows["checkpoint"] == "curve") & (broken.rows["step"] == 300), "value"] = np.nan
    result, figure = drawn("curve", store)
    hurt = next(n for n, cell in enumerate(result.cells) if any(np.isnan(pictures.curve(run.rows, "all")).any() for run in cell.runs))
    line = [line for line in figure.axes[0].lines if line.get_linewidth() == 1.5][hurt]
    assert list(np.isfinite(line.get_ydata())) == [True, True, False]
    assert all(np.isfinite(text.get_position()[1]) and np.isfinite(text.xy[1]) for text in figure.axes[0].texts)
    said = [" ".join(text.get_text() for text in one.texts) for one in (whole, figure)]
    assert ["gap: a seed's vectors are all alike there" in one for one in said] == [False, True]
    assert f"{result.cells[hurt].cell.labels[0]} without a score" in finding(figure)


def test_no_two_lines_look_alike():
    study = find("mocose-table1")
    seen = [(pictures.LOOKS[n % 7].marker, pictures.LOOKS[n % 7].colour, pictures.DASHES[n // 7 % 4]) for n in range(len(study.cells) % 28)]
    assert len(set(seen)) == len(seen)


def test_spectra_are_shares_of_the_largest_singular_value():
    store = filled(TABLE3)
    for run in store.runs.values():
        rows = [("selected", "dev", f"singular_value_{i}", 300, value) for i, value in enumerate((8.0, 4.0, 2.0))]
        run.rows = pd.concat([run.rows, pd.DataFrame(rows, columns=run.rows.columns)], ignore_index=True)
    _, figure = drawn("spectrum", store)
    lines = [line for line in figure.axes[0].lines if line.get_linewidth() == 1.5]
    assert len(lines) == 6 and list(lines[0].get_xdata()) == [1, 2, 3] and list(lines[0].get_ydata()) == pytest.approx([1, 0.5, 0.25])


@pytest.mark.parametrize("kind", ["bars", "strip", "curve", "spectrum"])
def test_a_half_run_study_is_drawn(kind):
    _, figure = drawn(kind, filled(TABLE3, skip={(("0.9",), s) for s in range(3)}))
    assert png_bytes(pixels(figure))[:8] == b"\x89PNG\r\n\x1a\n"
    assert "Missing: 3 of 18 runs." in " ".join(text.get_text() for text in figure.texts)


def test_untrained_bert_has_a_line_of_its_own_among_the_spectra():
    shown = pictures._distinct(of(find("mocose-figure7"), filled(find("mocose-figure7"))))
    assert [cell.cell.labels[0] for cell in shown] == ["MoCoSE", "SimCSE", "BERT"]


def test_the_papers_own_curves_stand_beside_ours_at_their_share_of_the_run():
    study = find("mocose-figure5")
    with drawing():
        axes = pictures.of_levels(of(study, filled(study))).axes[0]
    printed = [line for line in axes.lines if line.get_linewidth() == 0.8 and len(line.get_xdata())]
    assert [len(line.get_xdata()) for line in printed] == [48, 51] and {line.get_markerfacecolor() for line in printed} == {"white"}
    assert list(printed[0].get_ydata())[:2] == [23.6, 10.5] and next(iter(printed[1].get_ydata())) == 17.3
    assert printed[0].get_xdata()[1] == pytest.approx(300 / 15_625 * 300)  # the made-up runs have 300 steps


def test_the_title_of_curves_says_which_end_highest_and_lowest_and_where_the_papers_end():
    assert of_curves([("a", 24.03), ("standard", 61.2), ("b", -0.3)]) == "Standard ends highest, at 61.2, and b lowest, at −0.3"
    assert of_curves([("a", 62.7), ("b", 63.8)], [4.2, 0.0]) == "All 2 lines end between 62.7 and 63.8; the paper's end at 0.0 and 4.2"
    assert of_curves([("a", 62.7)], [4.2]) == "A ends at 62.7; the paper's ends at 4.2"
    nothing = float("nan")
    assert of_curves([("a", 24.0), ("b", nothing), ("c", 61.0)]) == "C ends highest, at 61.0, and a lowest, at 24.0, b without a score"
    assert of_curves([("a", nothing), ("b", nothing)]) == "A and b without a score at the end"


def test_the_papers_curves_have_a_panel_of_their_own_where_they_lie_far_below_ours():
    study = find("mocose-figure5")
    shared, apart = (drawn_curves(along(filled(study), start)) for start in (12.0, 62.0))
    assert len(shared) == 1 and len(apart) == 2
    upper, lower = apart
    ours, papers = ([line for line in axes.lines if line.get_linewidth() == width and len(line.get_xdata()) > 1]
                    for axes, width in ((upper, 1.5), (lower, 0.8)))  # fmt: skip
    assert len(ours) == len(study.axis("setting").labels) and len(papers) == 2 and upper.get_xlim() == lower.get_xlim()
    assert upper.get_ylim()[0] > lower.get_ylim()[1] and upper.get_position().y0 > lower.get_position().y1


def along(store, start):
    """The store, each of whose runs rises by half a point at every check."""
    for run in store.runs.values():
        checks = run.rows["checkpoint"] == "curve"
        run.rows.loc[checks, "value"] = start + run.rows.loc[checks, "step"] / 200
    return store


def drawn_curves(store):
    with drawing():
        return pictures.of_levels(of(find("mocose-figure5"), store)).axes


def test_one_bar_is_no_figure_and_two_are():
    for run in (1, 2):
        study = replace(TABLE3, figure=FigureSpec(kind="bars", caption=""))
        others = {(cell.labels, seed) for cell in study.cells[run:] for seed in range(3)}
        assert drawable(of(study, filled(study, skip=others))) == (run == 2)


@pytest.mark.parametrize("run, named", [("no predictor, η = 0", True), ("standard", False)])
def test_the_papers_curves_are_explained_where_one_is_drawn(run, named):
    study = find("mocose-figure5")
    others = {(cell.labels, seed) for cell in study.cells if cell.labels[0] != run for seed in range(3)}
    with drawing():
        figure = pictures.of_levels(of(study, filled(study, skip=others)))
    printed = [line for line in figure.axes[0].lines if line.get_linewidth() == 0.8 and len(line.get_xdata())]
    said = " ".join(text.get_text() for text in figure.texts)
    assert bool(printed) == named and ("the paper's, of its own encoder" in said) == named


def test_the_title_of_levels_without_the_papers():
    assert of_levels([1.0, 2.5], [None, None], "cosine") == "2 rows from 1.00 to 2.50 (cosine)"
