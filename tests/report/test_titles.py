"""Titles of figures by difference: sentences made by rule from what is drawn, and no finding where verdicts are withheld."""

from dataclasses import replace

import pandas as pd
import pytest
from fake_store import edition, filled
from small_study import result as small_result
from small_study import small, stored

from core.report.cells import gather
from core.report.comparability import judged
from core.report.differences import Panel, Row, base_of, differences
from core.report.figures import drawable, figure, finding
from core.report.findings import amount, of_differences
from core.report.naming import contrast_here, label_here, spoken
from core.report.style import drawing
from core.report.withholding import instead_of_finding, silent
from core.spec.claim import Claim, greater
from core.spec.scale import MINI, PAPER
from core.spec.table import FigureSpec
from studies import find

TABLE3, TABLE4 = find("table3"), find("esimcse-table4")


def of(study, store, scale=None):
    return gather(study, edition(3, **({} if scale is None else {"scale": scale})), store)


def one_panel(*rows):
    """Differences to a decay of 0.85 with these rows."""
    found = differences(of(TABLE3, filled(TABLE3)))
    return replace(found, panels=(Panel(title="", unit="", rows=rows),))


def told(label, mean, printed=None, name=None):
    ends = sorted((0.5 * mean, 1.5 * mean))
    name = f"EMA decay {label}" if name is None else name
    return Row(label=label, name=name, mean=mean, low=ends[0], high=ends[1], basis="own", told=True, n=5, printed=printed)


def open_row(label, mean, printed=None):
    return replace(told(label, mean, printed), low=-1.0, high=1.0, told=False)


def test_the_title_names_the_rows_that_differ_with_the_papers_numbers():
    found = replace(one_panel(told("0.5", -4.6, -0.1), told("0.8", -5.8, -1.5), open_row("0.9", 0.1)), base_name="EMA decay 0.85")
    assert of_differences(found) == "EMA decay 0.8 lies 5.8 below 0.85 (the paper prints 1.5 below), 0.5 lies 4.6 below (0.1 below)"
    third = replace(found, panels=(Panel(title="", unit="", rows=(*found.rows, told("0.95", 2.0))),))
    assert of_differences(third).endswith("; in all 3 of 4 rows differ")


def test_a_row_without_an_axis_of_its_own_keeps_the_bases_axis_in_the_title():
    found = replace(one_panel(told("SimCSE", 2.0, name="SimCSE"), open_row("0.9", 0.1)), base_name="EMA decay 0.85")
    assert of_differences(found) == "SimCSE lies 2.0 above EMA decay 0.85"


def test_the_title_says_where_no_row_differs_and_which_claims_are_settled_all_the_same():
    found = replace(one_panel(open_row("0.5", 0.1), open_row("0.8", 0.2)), base_name="EMA decay 0.85")
    assert of_differences(found) == "None of 2 rows can be told from EMA decay 0.85"
    few = replace(found, panels=(Panel(title="", unit="", rows=(open_row("0.5", 0.1), replace(open_row("0.8", 0.2), n=1))),))
    assert of_differences(few) == "None of 2 rows can be told from EMA decay 0.85, 1 with one seed"
    assert of_differences(found, {"X": ("contradicted", 12)}).endswith("; claim X is contradicted all the same, with 12 seeds")
    three = {"X": ("contradicted", 3), "Y": ("supported", 3), "Z": ("contradicted", 3)}
    said = "; claims X and Z are contradicted all the same, with 3 seeds; claim Y is supported all the same, with 3 seeds"
    assert of_differences(found, three).endswith(said)
    one = replace(found, panels=(Panel(title="", unit="", rows=(open_row("0.5", -0.3, -2.4),)),))
    assert of_differences(one) == "EMA decay 0.5 cannot be told from EMA decay 0.85 (0.3 below; the paper prints 2.4 below)"


def test_the_papers_largest_difference_that_ours_leaves_out_is_said_once():
    found = replace(one_panel(told("0.5", 2.0), open_row("0.8", 0.2, -2.4)), base_name="EMA decay 0.85")
    assert of_differences(found).endswith("; EMA decay 0.8, which the paper prints 2.4 below, lies 0.2 above")
    said = replace(found, panels=(Panel(title="", unit="", rows=(told("0.5", 2.0, -4.0), open_row("0.8", 0.2))),))
    assert of_differences(said).count("the paper prints") == 1


def test_averages_are_named_before_single_test_sets():
    found = replace(one_panel(told("STS12", 9.0, name="b on STS12"), told("avg", 2.0, name="b")), base_name="a")
    assert of_differences(found).startswith("B lies 2.0 above a, b on STS12 lies 9.0 above")


def test_amounts_are_words():
    assert (amount(-1.48), amount(0.03), amount(0.0)) == ("1.5 below", "0.030 above", "the same")


@pytest.mark.parametrize(
    "name, labels, said",
    [
        ("esimcse-table8", ("0.2",), "dropout 0.2"),
        ("esimcse-table8", ("SimCSE",), "SimCSE"),
        ("mocose-table9", ("none",), "FGSM ε none"),
        ("mocose-figure2", ("128", "SimCSE"), "SimCSE, batch size 128"),
        ("mocose-figure2", ("64", "14.67"), "batch size 64, MTD 14.67"),
        ("esimcse-table4", ("unsup-SimCSE", "BERT-base"), "unsup-SimCSE, demo_bert 2x128"),
        ("esimcse-table1", ("at most 3", "STS-B"), "difference in length at most 3 on STS-B"),
        ("esimcse-table7", ("ESimCSE", "avg"), "ESimCSE"),
        ("deviations", ("paper",), "paper"),
    ],
)
def test_a_number_is_spoken_with_its_axis(name, labels, said):
    study = find(name)
    assert spoken(labels, of(study, filled(study, seeds=1))) == said


def test_bert_alone_is_the_encoder_that_was_run_in_rows_that_are_run():
    study = find("mocose-table1")
    here = of(study, filled(study, scale=MINI), MINI)
    encoder = here.sources.encoder_name
    assert label_here("BERT (first-last avg.)", here) == f"{encoder} (first-last avg.)"
    assert label_here("BERT-whitening", here) == f"{encoder} whitening"
    kept = ("BERT-flow", "IS-BERT", "RoBERTa (first-last avg.)", "SimCSE-BERT-large")
    assert [label_here(label, here) for label in kept] == list(kept)
    assert label_here("BERT (first-last avg.)", of(study, filled(study, seeds=1, scale=PAPER), PAPER)) == "BERT (first-last avg.)"


def test_the_words_of_a_comparison_stay_as_they_stand_in_csv_files():
    study = find("mocose-table1")
    contrast = greater(("BERT-whitening", "avg"), ("MoCoSE-BERT-base", "avg"))
    here = of(study, filled(study, seeds=1, scale=MINI), MINI)
    assert contrast_here(contrast, here).startswith(f"BERT-whitening/avg minus MoCoSE-{here.sources.encoder_name}/avg")


def learner(gain, claims):
    """A study whose rows are ten points apart, and whose reference ends so many points above the untrained encoder."""
    study = small(claims=claims, figure=FigureSpec(kind="bars"))
    store = stored(study, a=[30.0 + gain + e for e in (0.0, 0.3, 0.1, 0.2, 0.4)], b=[40.0 + gain + e for e in (0.2, 0.1, 0.4, 0.3, 0.0)])
    return judged(small_result(study, untrained_at(store, 30.0), seeds=5))


def untrained_at(store, level):
    """The store, each of whose runs began at this average."""
    for run in store.runs.values():
        before = pd.DataFrame([("untrained", "avg", "spearman_all", 0, level)], columns=run.rows.columns)
        run.rows = pd.concat([before, run.rows], ignore_index=True)
    return store


CLAIM = Claim(key="X", text="b is better.", predicate=greater(("b",), ("a",)), margin=None)


def test_a_figure_announces_nothing_where_verdicts_are_withheld():
    well, badly = learner(20.0, (CLAIM,)), learner(2.0, (CLAIM,))
    assert well.not_comparable == "" and instead_of_finding(well) == "" and differences(well).rows[1].told and not silent(well)
    assert badly.not_comparable and instead_of_finding(badly) == "Verdicts withheld: MoCoSE does not learn enough here"
    found = differences(badly)
    assert not any(row.told for row in found.rows) and found.rows[1].mean == pytest.approx(differences(well).rows[1].mean)
    with drawing():
        made = figure(badly)
    assert finding(made) == instead_of_finding(badly)
    assert badly.not_comparable in " ".join(" ".join(text.get_text() for text in made.texts).split())


def test_a_study_without_claims_is_not_the_papers_experiment_where_its_reference_does_not_learn():
    assert instead_of_finding(learner(2.0, ())) == "Not the paper's experiment: MoCoSE does not learn enough here"
    assert instead_of_finding(learner(20.0, ())) == ""


def test_each_backbone_is_drawn_against_its_own_and_what_is_never_run_is_left_out():
    assert base_of(("unsup-SimCSE", "RoBERTa-large"), TABLE4.figure.base) == ("ESimCSE", "RoBERTa-large")
    here = differences(of(TABLE4, filled(TABLE4, scale=MINI), MINI))
    assert [row.printed for row in here.rows] == pytest.approx([-2.40], abs=0.005) and here.elsewhere > 0
    assert here.base_name == "ESimCSE"


def test_no_row_of_another_encoder_than_its_bases_is_drawn_without_runs():
    study = find("mocose-table1")
    found = differences(of(study, filled(study, scale=MINI), MINI))
    assert not [row.label for row in found.rows if "RoBERTa" in row.label or "large" in row.label or "GloVe" in row.label]


def test_a_study_whose_base_has_not_run_has_no_figure():
    study = find("esimcse-table6")
    others = {(("ESimCSE",), seed) for seed in range(3)}
    assert drawable(of(study, filled(study))) and not drawable(of(study, filled(study, skip=others)))


def test_panels_beside_each_other_have_the_same_rows_since_the_first_names_them():
    study = find("orders")
    lacking = {("44", "+word repetition"), ("43", "+momentum contrast"), *(("45", part) for part in study.axis("components").labels)}
    found = differences(of(study, filled(study, skip={(labels, seed) for labels in lacking for seed in range(3)})))
    assert [panel.title for panel in found.panels] == ["+word repetition", "+momentum contrast", "ESimCSE"]
    assert [[row.label for row in panel.rows] for panel in found.panels] == [["42", "43", "44", "46", "47"]] * 3
    empty = [[row.label for row in panel.rows if row.word == "not run" and row.mean is None] for panel in found.panels]
    assert empty == [["44"], ["43"], []] and found.left_out == 4  # those of 45, SimCSE among them, stand in no panel
