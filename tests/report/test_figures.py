"""Every kind of figure is drawn from its CSV files, its artists are counted, and titles say what is
drawn."""

from pathlib import Path

import numpy as np
import pytest
from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study
from fake_store import filled
from matplotlib.colors import to_hex
from small_study import result, small, stored

from core.config.scale import MINI
from core.report.drawing import DIFFERENT, GREY, drawing, image
from core.report.figures import study_figures
from core.report.frames import cell_frame, curve_frame
from core.report.verdicts import study_result
from core.report.words import title_and_setting
from core.runner.best_scale import begun_at
from core.store.store import Store
from core.study.claim import greater
from core.study.study import FigureSpec
from studies import find

PUBLISHED = Path(__file__).parents[2] / "results" / "published"


def title_of(figure):
    return " ".join(figure.get_suptitle().split())


def drawn(one):
    """A study's figures, each of which can be saved, with its legend on the sheet."""
    with drawing():
        made = study_figures(one.study, cell_frame(one), curve_frame(one), *title_and_setting(one))
        for figure in made.values():
            figure.draw_without_rendering()
            assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1
            assert image(figure, "png")[:4] == b"\x89PNG"
        return made


def line_of(axes, name):
    lines = [(line.get_label(), line) for line in axes.get_lines()]
    lines += [(bars.get_label(), bars[0]) for bars in axes.containers]
    return next(line for label, line in lines if label.startswith(name))


def labels_of(axes):
    return set(axes.get_legend_handles_labels()[1])


def points(axes, marker):
    """What is drawn with a marker: x of each point."""
    lines = [line for line in axes.get_lines() if line.get_marker() == marker]
    return [float(x) for line in lines for x in line.get_xdata() if np.isfinite(x)]


def test_a_numeric_axis_has_our_line_with_bars_and_the_papers_points_at_their_numbers():
    study = find("mocose-table6b")
    one = result(study, filled(study, level=76.0))
    made = drawn(one)
    assert list(made) == [study.name, f"{study.name}-differences"]
    axes, beside = made[study.name].axes
    ours, paper = line_of(axes, "ours"), line_of(beside, "paper")
    assert np.ptp(axes.get_ylim()) == pytest.approx(np.ptp(beside.get_ylim()))
    sizes = [float(label) for label in study.axes[0].labels]
    assert list(ours.get_xdata()) == list(paper.get_xdata()) == sizes
    means = [cell.estimate.mean for cell in one.cells]
    assert list(ours.get_ydata()) == pytest.approx(means, abs=1e-4)
    assert list(paper.get_ydata()) == [cell.cell.published for cell in one.cells]
    assert [text.get_text() for text in axes.get_xticklabels()] == list(study.axes[0].labels)
    assert len(points(axes, ".")) == 3 * len(sizes)
    (axes,) = made[f"{study.name}-differences"].axes
    ours = "ours, not tested, 95 % interval"
    assert labels_of(axes) == {"one seed", "paper", ours}
    assert axes.get_ylabel() == study.axes[0].title
    reason = "No verdict: 160 steps are too few to test a queue or a moving average"
    assert reason in title_of(axes.figure)


def test_rows_show_each_difference_with_its_seeds_and_what_differs_in_another_colour():
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0, "d": 51.0})
    one = judged(study, a=around(50, 5), b=around(60, 5), c=around(50.05, 5, step=0.3), d=[])
    (figure,) = drawn(one).values()
    (axes,) = figure.axes
    assert points(axes, "D") == pytest.approx([10.0])
    assert points(axes, "o") == pytest.approx([0.05, 5.0, 1.0], abs=1e-3)  # ours, paper's
    ours = {"ours, significant, 95 % interval", "ours, not significant, 95 % interval"}
    ours.add("tested interval")
    assert labels_of(axes) == {"one seed", "paper", *ours}  # nothing of d, which has no run
    (thin,) = [line for line in axes.collections if line.get_label() == "tested interval"]
    row = cell_frame(one).iloc[2]
    assert thin.get_segments()[1][:, 0] == pytest.approx([row["tested_low"], row["tested_high"]])
    assert row["tested_low"] < row["paired_ci95_low"]
    assert "without a run: d" in " ".join(figure.legends[0].get_title().get_text().split())
    assert len(points(axes, "|")) == 10
    marked = [line for line in axes.get_lines() if line.get_marker() == "D"]
    assert {to_hex(line.get_color()).upper() for line in marked} == {DIFFERENT}
    with drawing():
        cells = cell_frame(one).assign(different="no verdict")
        (figure,) = study_figures(study, cells, curve_frame(one), "No verdict: why", "").values()
    (axes,) = figure.axes
    dots = [line for line in axes.get_lines() if line.get_marker() in ("o", "D")]
    assert title_of(figure) == "No verdict: why" and {line.get_color() for line in dots} == {GREY}


@pytest.mark.parametrize("name", ["mocose-figure5", "collapse"])
def test_curves_have_a_line_and_the_bands_of_its_seeds_for_each_cell_and_the_papers_line(name):
    study = find(name)
    one = result(study, filled(study))
    figure = drawn(one)[name]
    (axes,) = figure.axes
    labels = [line.get_label() for line in axes.get_lines()]
    labelled = [label for label in labels if not label.startswith("_")]
    frame = curve_frame(one)
    by = [study.figure.series] if study.figure.series else [axis.name for axis in study.axes]
    groups = frame.groupby(by).ngroups
    papers = sum(label.endswith(", paper") for label in labelled)
    assert papers == len(study.figure.curves) and len(labelled) == groups + papers
    assert len(axes.get_lines()) == groups + papers and len(axes.collections) == 2 * groups


def test_a_figure_of_which_most_rows_have_no_run_is_left_out():
    study = claim_study()
    assert not drawn(judged(study, a=around(50, 3), b=[], c=[], d=[]))
    assert not drawn(judged(study, a=around(50, 3), b=around(51, 3), c=[], d=[]))  # one dot
    assert drawn(judged(study, a=around(50, 3), b=around(51, 3), c=around(52, 3), d=[]))
    curves = find("collapse")
    skip = {(cell.labels, seed) for cell in curves.cells[1:] for seed in range(3)}
    assert not drawn(result(curves, filled(curves, skip=skip)))
    alone = small(figure=FigureSpec(), reference=None)
    assert len(drawn(result(alone, stored(alone, a=[50.0, 51.0], b=[52.0, 53.0])))) == 1


def test_rows_and_titles_name_the_encoder_that_ran():
    study = find("esimcse-table5")
    one = result(study, filled(study))
    (encoder,) = set(cell_frame(one)["encoder"]) - {""}
    axes = drawn(one)[study.name].axes
    assert axes[0].get_title("left") == f"ESimCSE-BERT-base ({encoder})"
    assert "paper" in labels_of(axes[0])
    words = " ".join(axes[-1].get_xlabel().split())
    assert words.endswith(f"unsup-SimCSE-BERT-base ({encoder})")


def test_singular_values_are_drawn_as_the_paper_prints_them():
    study = find("mocose-figure7")
    store = Store("none", PUBLISHED / "archive" / "earlier_text")
    one = study_result(begun_at(MINI, study, store, "paper"), store)
    figure = drawn(one)[study.name]
    panel = figure.axes[0]
    curves = curve_frame(one)
    mean = curves[curves["model"] == "MoCoSE"].groupby("x")["singular_value"].mean()
    assert list(line_of(panel, "MoCoSE (n").get_ydata()) == pytest.approx(list(mean.loc[:128]))
    assert list(line_of(panel, "MoCoSE, paper").get_ydata()) == [220.0, 57.0, 28.0]
    first = curves[curves["x"] == 1]
    assert list(first["value"]) == [1.0] * len(first)
    by_run = curves.groupby(["model", "run_id"])["singular_value"]
    shares = curves["singular_value"] / by_run.transform("max")
    assert list(shares) == pytest.approx(list(curves["value"]))


def bars(axes):
    """The ends of each drawn interval that has any length, lowest first."""
    ends = []
    for container in axes.containers:
        for (start, _), (end, _) in container[2][0].get_segments():
            ends.append((start, end))
    return sorted(end for end in ends if np.isfinite(end).all())


def test_each_bar_ends_where_its_csv_row_does():
    """A row of two seeds has an interval of a hundred points, another row one of a point."""
    study = claim_study(greater(B, A))
    one = judged(study, a=around(50, 3), b=[51.0, 52.2, 51.3], c=[45.0, 70.0], d=around(52, 3))
    frame = cell_frame(one)
    (figure,) = drawn(one).values()
    (axes,) = figure.axes
    rows = frame[frame["reference"] != frame["reference"].index.name]
    rows = rows[rows["paired_ci95_low"].notna() & (rows["paired_difference"] != 0)]
    expected = sorted(zip(rows["paired_ci95_low"], rows["paired_ci95_high"], strict=True))
    assert np.allclose(bars(axes), expected, atol=1e-6)
    low, high = axes.get_xlim()
    assert low < min(expected)[0] and max(end for _, end in expected) < high


def test_a_printed_number_far_from_ours_stands_at_the_edge_with_its_value():
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 20.0, "c": 51.0})
    one = judged(study, a=around(50, 3), b=around(52, 3), c=around(51, 3), d=[])
    (axes,) = drawn(one)[study.name].axes
    assert axes.get_xlim()[0] > -10
    assert "−30.00" in {text.get_text() for text in axes.texts}
