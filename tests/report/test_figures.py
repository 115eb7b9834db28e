"""Every kind of figure is drawn from its CSV files, its artists are counted, and titles say what is
drawn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claim_study import A, B, around
from claim_study import result as judged
from claim_study import study as claim_study
from fake_store import FakeStore, add_simcse, config_of, filled, made_setup, reworded
from matplotlib.colors import to_hex
from small_study import result, small, stored

from core.config.scale import MINI
from core.report.drawing import DIFFERENT, GREY, as_numbers, drawing, image
from core.report.figure_words import largest_difference
from core.report.figures import ends_of_curves, figures, scatters
from core.report.frames import cell_frame, curve_frame
from core.report.render import _heading
from core.report.verdicts import study_result, why_unmarked
from core.runner.best_scale import stored_setup
from core.store.store import Store
from core.study.claim import greater
from core.study.grid import resolve
from core.study.study import FigureSpec
from studies import find

PUBLISHED = Path(__file__).parents[2] / "results" / "published"


def title_of(figure):
    return " ".join(figure.get_suptitle().split())


def drawn(one):
    """A study's figures, each of which can be saved, with its legend on the sheet."""
    with drawing():
        heading = _heading(one)
        made = figures(one.study, cell_frame(one), curve_frame(one), heading, not why_unmarked(one))
        for figure in made.values():
            figure.draw_without_rendering()
            assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1
            assert image(figure, "png")[:4] == b"\x89PNG"
        return made


def line_of(axes, name):
    return next(line for line in axes.get_lines() if line.get_label().startswith(name))


def labels_of(axes):
    return set(axes.get_legend_handles_labels()[1])


def points(axes, marker):
    """What is drawn with a marker: x of each point."""
    lines = [line for line in axes.get_lines() if line.get_marker() == marker]
    return [float(x) for line in lines for x in line.get_xdata() if np.isfinite(x)]


def test_a_numeric_axis_has_our_line_with_its_band_and_the_papers_points_at_their_numbers():
    study = find("mocose-table6b")
    one = result(study, filled(study, level=76.0))
    made = drawn(one)
    assert list(made) == [study.name, f"{study.name}-differences"]
    axes, beside = made[study.name].axes
    ours, paper = line_of(axes, "ours"), line_of(beside, "paper")
    assert np.ptp(axes.get_ylim()) == pytest.approx(np.ptp(beside.get_ylim()))
    sizes = [float(label) for label in study.axes[0].labels]
    assert list(ours.get_xdata()) == list(paper.get_xdata()) == sizes
    assert list(ours.get_ydata()) == pytest.approx(
        [cell.estimate.mean for cell in one.cells], abs=1e-4
    )
    assert list(paper.get_ydata()) == [cell.cell.published for cell in one.cells]
    assert len(axes.collections) == 1
    assert [text.get_text() for text in axes.get_xticklabels()] == list(study.axes[0].labels)
    assert len(points(axes, ".")) == 3 * len(sizes)
    (axes,) = made[f"{study.name}-differences"].axes
    ours = "ours, no verdict, 95 % interval"
    assert labels_of(axes) == {"one seed", "paper (BERT-base)", ours}
    assert axes.get_ylabel() == study.axes[0].title
    reason = "No verdict: 160 steps are too few to test a queue or a moving average"
    assert title_of(axes.figure).startswith(
        f"MoCoSE Table 6b: Batch size at a fixed queue. {reason}"
    )


def test_rows_show_each_difference_with_its_seeds_and_what_differs_in_another_shape_and_colour():
    study = claim_study(greater(B, A), published={"a": 50.0, "b": 55.0, "d": 51.0})
    one = judged(study, a=around(50, 5), b=around(60, 5), c=around(50.05, 5, step=0.3), d=[])
    (figure,) = drawn(one).values()
    (axes,) = figure.axes
    assert points(axes, "D") == pytest.approx([10.0])
    assert points(axes, "o") == pytest.approx([0.05, 5.0, 1.0], abs=1e-3)  # ours, paper's
    ours = {"ours, significant, tested interval", "ours, not significant, tested interval"}
    assert labels_of(axes) == {
        "one seed",
        "paper (BERT-base)",
        *ours,
    }  # nothing of d, which has no run
    assert len(points(axes, "|")) == 10
    marked = [line for line in axes.get_lines() if line.get_marker() == "D"]
    assert {to_hex(line.get_color()).upper() for line in marked} == {DIFFERENT}
    with drawing():
        (figure,) = figures(
            study, cell_frame(one), curve_frame(one), "No verdict: why", False
        ).values()
    (axes,) = figure.axes
    dots = [line for line in axes.get_lines() if line.get_marker() in ("o", "D")]
    assert title_of(figure) == "No verdict: why" and {line.get_color() for line in dots} == {GREY}


@pytest.mark.parametrize("name", ["mocose-figure5", "collapse"])
def test_curves_have_a_line_and_the_bands_of_its_seeds_for_each_cell_and_the_papers_line(name):
    study = find(name)
    one = result(study, filled(study))
    figure = drawn(one)[name]
    (axes,) = figure.axes
    labelled = [
        line.get_label() for line in axes.get_lines() if not line.get_label().startswith("_")
    ]
    frame = curve_frame(one)
    by = [study.figure.series] if study.figure.series else [axis.name for axis in study.axes]
    groups = frame.groupby(by).ngroups
    papers = sum(label.endswith(", paper") for label in labelled)
    assert papers == len(study.figure.curves) and len(labelled) == groups + papers
    assert len(axes.get_lines()) == groups + papers and len(axes.collections) == 2 * groups


def test_a_figure_of_which_most_rows_have_no_run_is_left_out():
    study = claim_study()
    assert not drawn(judged(study, a=around(50, 3), b=[], c=[], d=[]))
    assert drawn(judged(study, a=around(50, 3), b=around(51, 3), c=[], d=[]))
    curves = find("collapse")
    skip = {(cell.labels, seed) for cell in curves.cells[1:] for seed in range(3)}
    assert not drawn(result(curves, filled(curves, skip=skip)))
    alone = small(figure=FigureSpec(), reference=None)
    assert len(drawn(result(alone, stored(alone, a=[50.0, 51.0], b=[52.0, 53.0])))) == 1


@pytest.mark.parametrize(
    "name, spread",
    [
        ("mocose-table7", 5.0),
        ("mocose-table3", 5.0),
        ("mocose-table3", 0.01),
        ("esimcse-table7", 5.0),
    ],
)
def test_the_sign_in_a_title_is_that_of_a_drawn_difference_along_one_axis(name, spread):
    study = find(name)
    store = FakeStore()
    rng = np.random.default_rng(50)
    for cell in study.cells:
        centre = 50 + rng.normal(0, spread)
        for seed in range(5):
            config = config_of(study, cell.labels, seed, scale=MINI)
            store.add(config, centre + rng.normal(0, 0.3), scale=MINI, untrained=0.0)
    add_simcse(store, made_setup(5, scale=MINI), 49.8, 49.9, 50.0, 50.1, 50.2)
    one = result(study, store, seeds=5, scale=MINI)
    made = drawn(one)
    frame = cell_frame(one)
    what = "rows"
    if "task" in frame:  # of which the average alone is in the title
        frame = frame[frame["task"] == "avg"]
        what = "averages"
    title = title_of([*made.values()][-1])
    different = frame[frame["different"] == "yes"]
    assert ("No significant difference" in title) == (spread < 1) == (not len(different))
    if len(different):
        axes = [axis.name for axis in study.axes]
        base = frame[axes].astype(str).agg("/".join, axis=1) == frame["reference"]
        along = (different[axes] != frame[base][axes].iloc[0]).sum(axis=1) == 1
        largest = different[along]["paired_difference"].loc[lambda each: each.abs().idxmax()]
        assert f" {abs(largest):.1f} points {'above' if largest > 0 else 'below'} " in title
        assert f"{len(different)} of {len(frame) - 1} tested {what} differ" in title


def test_scatters_show_every_run_that_has_both_numbers():
    rng = np.random.default_rng(0)
    rank = np.arange(20.0)
    runs = pd.DataFrame(
        {
            "scale": "demo",
            "profile": "paper",
            "encoder": "small",
            "method": ["mocose", "simcse"] * 10,
            "status": ["ok"] * 19 + ["diverged"],
            "score": 50 + rank,
            "mtd": [5.0, np.nan] * 10,
            "alignment": rng.uniform(size=20),
            "uniformity": -rank,
            "effective_rank": rank,
        }
    )
    with drawing():
        made = scatters(runs)
    assert set(made) == {"uniformity", "rank"}  # one MTD alone is no relation
    axes = made["rank"].axes[0]
    assert sum(len(group.get_offsets()) for group in axes.collections) == 19
    assert "rank correlation +1.00 over 19 runs" in title_of(made["rank"])
    assert axes.get_legend_handles_labels()[1] == ["MoCoSE (10 runs)", "SimCSE (9 runs)"]


def test_a_relation_over_runs_that_the_scale_cannot_judge_is_not_stated():
    runs = pd.DataFrame(
        {
            "scale": "demo",
            "profile": "paper",
            "encoder": "small",
            "method": "mocose",
            "status": "ok",
            "score": range(50, 60),
            "mtd": range(10, 110, 10),
            "alignment": np.nan,
            "uniformity": np.nan,
            "effective_rank": np.nan,
        }
    )
    with drawing():
        (figure,) = scatters(runs, {"mocose": "160 steps are too few"}).values()
        (judged_figure,) = scatters(runs, {"esimcse": "160 steps are too few"}).values()
    assert title_of(figure).endswith("10 runs. No verdict on MoCoSE: 160 steps are too few")
    assert "correlation" not in title_of(figure)
    assert "rank correlation +1.00" in title_of(judged_figure)
    assert figure.axes[0].get_xscale() == "log"


def test_rows_and_titles_name_the_encoder_that_ran_and_the_papers_marks_the_papers():
    study = find("esimcse-table5")
    figure = drawn(result(study, filled(study)))[study.name]
    encoder = shown_encoder(result(study, filled(study)))
    assert figure.axes[0].get_title("left") == f"ESimCSE ({encoder})"
    assert "paper (BERT-base)" in labels_of(figure.axes[0])
    assert figure.axes[0].get_xlabel().endswith(f"unsup-SimCSE ({encoder})")


def shown_encoder(one):
    """The encoder of a result's cells."""
    (name,) = set(cell_frame(one)["encoder"]) - {""}
    return name


def test_singular_values_are_drawn_as_the_paper_prints_them():
    study = find("mocose-figure7")
    store = Store("none", PUBLISHED)
    one = study_result(resolve(study, stored_setup(MINI, store, "paper")), store)
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


def test_a_title_of_curves_says_whether_a_score_falls():
    study = find("collapse")
    (series,) = [study.axes[0].name]
    curves = pd.DataFrame(
        [("a", 0, "r", 0, 42.0), ("a", 0, "r", 10, 60.0), ("b", 0, "s", 0, 42.0)],
        columns=[series, "seed", "run_id", "x", "value"],
    )
    rows = pd.DataFrame({"failed_seeds": [""]})
    spec = FigureSpec(kind="curve", series=series)
    assert ends_of_curves(spec, rows, curves).startswith("Nothing collapses here")
    fallen = pd.concat([curves, curves[1:2].assign(**{series: "b", "value": 5.0})])
    assert ends_of_curves(spec, rows, fallen) == "1 of 2 scores end below their start"


def test_an_infinite_label_is_a_word():
    assert as_numbers(["0", "1", "inf", "-inf", "1e999"]).count() == 2


def test_other_words_of_the_reasons_change_a_title_and_no_mark():
    study = find("mocose-table7")
    pictures = []
    one = result(study, filled(study))
    assert why_unmarked(one)
    pictures.append(drawn(one))
    with reworded():
        pictures.append(drawn(result(study, filled(study))))
    for first, second in zip(*(made.values() for made in pictures), strict=True):
        assert title_of(first) != title_of(second)
        for mine, other in zip(first.axes, second.axes, strict=True):
            assert labels_of(mine) == labels_of(other) and any(
                "no verdict" in x for x in labels_of(mine)
            ) == (first is pictures[0][f"{study.name}-differences"])


def test_a_title_speaks_of_trained_rows_before_the_untrained_baselines():
    study = find("mocose-table1")
    rows = pd.DataFrame(
        [("BERT-whitening", "avg", -6.0), ("MoCoSE-BERT-base", "avg", -2.0)],
        columns=["model", "task", "paired_difference"],
    ).assign(paired_n=3, is_base=False, different="", steps=1, unit="Spearman × 100")
    rows = rows.assign(values=["50.0 51.0", "54.0 55.0"], reference=0)
    assert "MoCoSE-BERT-base is 2.0 points below" in largest_difference(study, rows)
    assert "BERT-whitening" in largest_difference(study, rows.head(1)).replace("bERT", "BERT")


def bars(axes):
    """The ends of each drawn interval that has any length, lowest first."""
    ends = []
    for container in axes.containers:
        for (start, _), (end, _) in container[2][0].get_segments():
            ends.append((start, end))
    return sorted(end for end in ends if np.isfinite(end).all())


def test_each_bar_ends_where_its_csv_row_does_and_a_bar_beyond_the_axis_has_its_number():
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
    words = [text.get_text() for text in axes.texts]
    for start, end in expected:
        assert start >= low or any(f"{abs(start):.1f}" in word and "←" in word for word in words)
        assert end <= high or any(f"{abs(end):.1f}" in word and "→" in word for word in words)
    assert max(abs(end) for ends in expected for end in ends) > max(abs(low), abs(high))


def test_a_line_goes_through_paired_means_where_rows_have_other_numbers_of_seeds():
    """The reference has more seeds than the others, which equal it at each common seed."""
    study = find("mocose-table9")
    store = FakeStore()
    for cell in study.cells:
        seeds = range(6 if cell.labels == study.reference else 3)
        for seed in seeds:
            store.add(config_of(study, cell.labels, seed, scale=MINI), 50.0 + seed, scale=MINI)
    add_simcse(store, made_setup(3, scale=MINI), 49.8, 49.9, 50.0)
    figure = drawn(result(study, store, seeds=3, scale=MINI))[study.name]
    line = line_of(figure.axes[0], "ours")
    assert np.allclose(line.get_ydata(), 52.5)  # the mean of the six, not 51
