"""Differences along training, against scipy on the stored curves, and the mark beside a verdict."""

import pandas as pd
import pytest
from claim_study import A, B, around, study
from fake_store import add_simcse, filled, made_setup
from scipy import stats
from small_study import result, stored

from core.api import load
from core.config.scale import MINI
from core.report.along import differs_along_training
from core.report.drawing import drawing
from core.report.figures import study_figures
from core.report.frames import cell_frame, curve_frame
from core.report.verdicts import study_result
from core.study.claim import greater, of_metric
from core.study.resolution import resolve
from core.study.study import Metric
from studies import find


def test_a_published_difference_is_what_scipy_makes_of_the_curves_of_the_runs():
    results = load()
    table = results.table("esimcse-table6", scale="mini").set_index("components")

    def curves(name):
        """(seeds,) of development scores by step."""
        by_run = []
        for run in table["run_ids"][name]:
            rows = results.store.load(run).rows
            here = rows[(rows["checkpoint"] == "curve") & (rows["metric"] == "spearman_all")]
            by_run.append(here[here["task"] == "dev"].set_index("step")["value"])
        return pd.concat(by_run, axis=1)

    frame = curve_frame(results.study("along", scale="mini"))
    assert (frame["seeds"] == 5).all() and frame["step"].min() == 125
    base = curves("unsup-SimCSE")
    for (name, step), row in frame.set_index(["components", "step"]).iterrows():
        if step in (125, 5000, 15625):
            paired = (curves(name) - base).loc[step]
            test = stats.ttest_1samp(paired, 0)
            interval = test.confidence_interval(0.95)
            assert row["difference"] == pytest.approx(paired.mean(), abs=1e-4)
            assert row["half_width"] == pytest.approx((interval.high - interval.low) / 2, abs=1e-4)
            assert row["passes"] == pytest.approx(step * 64 / 397_492, rel=1e-5)


def judged(early, predicate):
    """A above B by 3 at the end, and by `early` at the first of three checks; its cosines below."""
    one = study(predicate)
    store = stored(one, scale=MINI, a=around(53, 5), b=[50.0] * 5)
    for run in store.runs.values():
        rows = run.rows
        first = (rows["checkpoint"] == "curve") & (rows["step"] == 100)
        score = rows.loc[rows["step"] == 300, "value"].max()
        rows.loc[first, "value"] = 20 + (score - 51 if score > 52 else 0) * early / 3
        rows.loc[len(rows)] = ("selected", "dev", "cosine_itself", 300, 1 - score / 100)
    at = made_setup(5, scale=MINI)
    add_simcse(store, at, 29.0, 30.0, 31.0)
    return study_result(resolve(one, at), store)


@pytest.mark.parametrize(("early", "marked"), [(2.0, False), (-2.0, True)])
@pytest.mark.parametrize("by", [0.0, 5.0])  # the difference's own side counts, not the claim's
def test_a_verdict_is_marked_if_a_fifth_of_the_checks_say_the_opposite(early, marked, by):
    one = judged(early, greater(A, B, by))
    (verdict,) = one.verdicts
    assert verdict.weakest.estimate.mean == pytest.approx(3 - by, abs=0.3)
    assert differs_along_training(verdict, one.aggregate) is marked


def test_a_claim_on_no_difference_of_scores_is_not_marked_and_without_runs_nothing_is_drawn():
    cosine = Metric(task="dev", title="", quantity="cosine_itself")
    one = judged(2.0, of_metric(greater(B, A), cosine))
    assert one.verdicts[0].weakest.estimate.mean > 0
    assert not differs_along_training(one.verdicts[0], one.aggregate)
    assert not curve_frame(result(find("along"), stored(study()))).size


def test_the_figure_has_each_row_s_line_with_its_band_and_its_printed_difference():
    study_along = find("along")
    one = result(study_along, filled(study_along, scale=MINI), scale=MINI)
    frame = curve_frame(one)
    with drawing():
        (figure,) = study_figures(one.study, cell_frame(one), frame, "A title", "").values()
        figure.draw_without_rendering()
    (panel,) = figure.axes
    ours = [line for line in panel.get_lines() if line.get_label().startswith(("+", "ESimCSE"))]
    levels = [line.get_ydata()[0] for line in panel.get_lines() if line.get_linestyle() == "--"]
    assert levels == pytest.approx([1.64, 1.53, 2.40])
    by_row = frame.groupby("components", sort=False)["difference"].agg(list)
    assert [list(line.get_ydata()) for line in ours] == list(by_row)
    assert len(panel.collections) == 3
    (above,) = panel.child_axes  # passes over the text
    scale = above.get_xlim()[1] / panel.get_xlim()[1]
    assert scale == pytest.approx(frame["passes"].iloc[0] / frame["step"].iloc[0])
