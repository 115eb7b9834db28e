"""Figures of the other kinds: every cell is drawn where it belongs, with the numbers that it has."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fake_store import SOURCES, FakeStore, filled

from core.report import pictures, points
from core.report.cells import gather
from core.report.style import drawing, pixels, png_bytes
from core.spec.scale import DEMO
from core.spec.table import FigureSpec
from studies import find

TABLE3 = find("mocose-table3")


def of(study, store):
    return gather(study, profile="paper", scale=DEMO, sources=SOURCES, seeds=3, store=store)


def drawn(kind, store=None, study=TABLE3, seeds=3):
    study = replace(study, figure=FigureSpec(kind=kind, caption="A caption"))
    result = gather(study, profile="paper", scale=DEMO, sources=SOURCES, seeds=seeds, store=store or filled(study))
    with drawing():
        return result, pictures.DRAWN[kind](result)


def xs(axes, marker):
    """Where single points with this marker stand, by row."""
    found = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata()) == 1 and line.get_markersize() == 5]
    return {round(float(line.get_ydata()[0])): float(line.get_xdata()[0]) for line in found if line.get_ydata()[0] % 1 == 0}


def test_bars_show_each_cells_mean_in_the_tables_order():
    result, figure = drawn("bars")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.5", "0.8", "0.85", "0.9", "0.95", "0.99"]
    assert xs(axes, "o") == {row: pytest.approx(cell.estimate.mean) for row, cell in enumerate(result.cells)}
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is on top


def test_ranked_differences_go_from_gain_to_loss_and_leave_out_the_reference():
    result, figure = drawn("ranked")
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 5 and "0.85" not in labels
    means = {cell.cell.labels[0]: cell.comparison.difference for cell in result.cells if not cell.is_reference}
    assert labels == sorted(labels, key=means.get, reverse=True)
    places = xs(axes, "o") | xs(axes, "D")
    assert [places[row] for row in range(5)] == [pytest.approx(means[label]) for label in labels]


def test_a_strip_has_a_dot_for_every_run_and_the_papers_beside():
    result, figure = drawn("strip")
    ours, papers = figure.axes
    dots = [line for line in ours.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [3] * 6
    assert sorted(dots[0].get_xdata()) == pytest.approx(sorted(run.value for run in result.cells[0].runs))
    assert [len(line.get_xdata()) for line in papers.lines if line.get_marker() == "o"] == [3] * 5


def test_learning_curves_are_the_mean_over_seeds_of_the_development_score():
    result, figure = drawn("curve")
    axes = figure.axes[0]
    means = [line for line in axes.lines if line.get_linewidth() == 1.4]
    assert len(means) == 6 and list(means[0].get_xdata()) == [100, 200, 300]
    mean = np.mean([run.value for run in result.cells[0].runs])
    assert list(means[0].get_ydata()) == pytest.approx([mean / 3, mean * 2 / 3, mean])


def test_spectra_are_shares_of_the_largest_singular_value():
    store = filled(TABLE3)
    for run in store.runs.values():
        rows = [("selected", "dev", f"singular_value_{i}", 300, value) for i, value in enumerate((8.0, 4.0, 2.0))]
        run.rows = pd.concat([run.rows, pd.DataFrame(rows, columns=run.rows.columns)], ignore_index=True)
    _, figure = drawn("spectrum", store)
    lines = [line for line in figure.axes[0].lines if line.get_linewidth() == 1.4]
    assert len(lines) == 6 and list(lines[0].get_xdata()) == [1, 2, 3] and list(lines[0].get_ydata()) == pytest.approx([1, 0.5, 0.25])


@pytest.mark.parametrize("kind", pictures.DRAWN)
def test_a_half_run_study_is_drawn_and_so_is_the_watermark(kind):
    _, figure = drawn(kind, filled(TABLE3, skip={(("0.9",), s) for s in range(3)}))
    assert any(text.get_text() == DEMO.watermark for text in figure.texts)
    assert png_bytes(pixels(figure))[:8] == b"\x89PNG\r\n\x1a\n"


def test_nothing_is_drawn_of_a_study_without_runs():
    result, figure = drawn("bars", FakeStore())
    assert not xs(figure.axes[0], "o") and result.missing == 18


def test_the_paper_s_mean_over_a_group_is_of_what_it_prints():
    study = find("mocose-figure2")
    axis = study.axis("mtd").labels
    found = {point.x: point for point in points.paper(of(study, FakeStore()), {label: float(n) for n, label in enumerate(axis)})}
    assert found[0.0].mean == 76.25 and len(found) == len(axis)  # SimCSE: printed for one of the three batch sizes
    assert found[axis.index("21")].mean == pytest.approx((76.33 + 76.58 + 75.41) / 3)


def test_untrained_bert_has_a_line_of_its_own_among_the_spectra():
    shown = pictures._distinct(of(find("mocose-figure7"), filled(find("mocose-figure7"))))
    assert [cell.cell.labels[0] for cell in shown] == ["MoCoSE", "SimCSE", "BERT"]
