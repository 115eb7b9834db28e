"""Comparisons of claims, one by one, against scipy and cases by hand; where an undecided claim
points."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from claim_study import A, B, C, D, around, result, study
from fake_store import config_of
from scipy import stats
from small_study import result as small_result
from small_study import small, stored

from core.config.identity import run_id
from core.config.scale import DEMO
from core.errors import UserError
from core.report.claims import verdict_sentences
from core.report.comparisons import over_pairs
from core.report.contrasts import MeasuredContrast
from core.report.frames import cell_frame, claim_frame, comparison_frame
from core.report.statistics import alpha_at
from core.report.words import number_note, verdict_note
from core.study.claim import (
    above,
    all_of,
    any_of,
    below,
    best,
    between,
    differ,
    gains,
    greater,
    some_of,
    sound,
    within,
)
from core.study.study import Metric

RUNS = {
    "a": [50.0, 50.4, 50.1],
    "b": [52.0, 53.4, 51.6],  # above a
    "c": [47.9, 47.5, 48.5],  # below a
    "d": [50.1, 50.2, 50.3],  # about a
}


def above_by(mean):
    """Eight seeds of a and of b, which lies above it by so much."""
    a = around(50, 8)
    return {"a": a, "b": [value + mean + 0.01 * (k % 3) for k, value in enumerate(a)]}


def judged(*claims, margin=1.0, published=None, **runs):
    return result(study(*claims, margin=margin, published=published), **(runs or RUNS))


@pytest.mark.parametrize(
    ("predicate", "points"),
    [
        (greater(B, A), "for"),
        (greater(C, A), "against"),
        (greater(D, A), ""),
        (all_of(greater(B, A), greater(A, C)), "for"),
        (all_of(greater(B, A), greater(C, A)), "against"),  # one that cannot hold is enough
        (all_of(greater(B, A), greater(D, A)), ""),
        (any_of(greater(D, A), greater(B, A)), "for"),
        (any_of(greater(D, A), greater(C, A)), ""),
        (some_of(2, [greater(C, A), greater(A, B), greater(D, A)]), "against"),
        (some_of(2, [greater(B, A), greater(A, C), greater(D, A)]), "for"),
    ],
)
def test_an_undecided_claim_points_by_its_own_logic_over_95_percent_intervals(predicate, points):
    verdict = judged(predicate, margin=None).verdicts[0]
    assert (verdict.outcome, verdict.direction) == ("undecided", points)
    for contrast, measured in verdict.contrasts.items():
        plus, minus = (RUNS[term.cell[0]] for term in contrast.terms)
        interval = stats.ttest_rel(plus, minus).confidence_interval(0.95)
        assert measured.estimate[1:3] == pytest.approx(tuple(interval))


def test_shares_of_runs_point_by_clopper_and_pearson():
    sound_a = sound(A)
    none_of_three = MeasuredContrast(sound_a, (), np.array([-1.0]), np.zeros((1, 3)))
    assert none_of_three.holds is None
    low = stats.binomtest(3, 3).proportion_ci(0.95, "exact").low
    assert none_of_three.estimate[:2] == (0.5, pytest.approx(low - 0.5))


def rows(predicate, **more):
    return comparison_frame([judged(predicate, **more)]).to_dict("records")


def test_two_directions_of_one_comparison_are_one_row():
    (row,) = rows(within([A, D], 0.5), margin=None)
    difference = np.subtract(RUNS["a"], RUNS["d"])
    assert (row["left"], row["right"], row["above"], row["below"]) == ("a", "d", -0.5, 0.5)
    assert row["estimate"] == pytest.approx(difference.mean())
    low, high = stats.ttest_1samp(difference, 0).confidence_interval(0.95)
    assert row["points"] == ("for" if -0.5 < low and high < 0.5 else "")
    either = rows(differ([A, B, C], by=0.2), margin=None)
    assert [(row["left"], row["right"]) for row in either] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(row["above"] > row["below"] for row in either)
    assert [row["points"] for row in either] == ["for"] * 3  # apart, in whichever direction
    for range_of in (gains(B, A, 2.0, 0.5), between(B, [A], 1.5, 2.5)):
        (gained,) = rows(range_of, margin=None)
        assert (gained["above"], gained["below"]) == (1.5, 2.5)


def test_a_number_alone_is_a_row():
    (alone,) = rows(below(A, 60.0), margin=None)
    assert (alone["left"], alone["right"], alone["below"]) == ("a", "", 60.0)
    assert alone["estimate"] == pytest.approx(np.mean(RUNS["a"]))
    assert alone["points"] == "for"


def test_bounds_that_a_study_states_one_by_one_are_rows_of_their_own():
    three = rows(all_of(greater(A, B, -1.0), greater(B, A, -5.0), greater(B, A, -2.0)), margin=None)
    assert [(row["left"], row["above"]) for row in three] == [("a", -1.0), ("b", -5.0), ("b", -2.0)]
    outside = rows(any_of(above(A, 60.0), below(A, 10.0)), margin=None)
    assert [row["points"] for row in outside] == ["against", "against"]
    crossed = all_of(any_of(greater(A, B), greater(C, D)), any_of(greater(B, A), greater(D, C)))
    assert len(rows(crossed, margin=None)) == 4
    assert len(rows(some_of(2, [greater(A, B), greater(B, A), greater(C, D)]), margin=None)) == 3


def test_a_verdict_by_less_than_the_margin_says_so():
    small = above_by(0.4)
    result = judged(greater(B, A), greater(A, B), greater(B, A, by=-1.0), **small)
    outcomes = [(verdict.outcome, verdict.within_margin) for verdict in result.verdicts]
    assert outcomes == [("supported", True), ("contradicted", True), ("supported", False)]
    sentences = verdict_sentences(claim_frame([result]), comparison_frame([result]))
    assert "smaller than the margin" in sentences[0].text
    assert list(claim_frame([result])["within_margin"]) == ["yes", "yes", ""]
    (part,) = judged(all_of(greater(B, A), greater(B, C)), **small, c=around(40, 8)).verdicts
    assert part.within_margin  # one of both is


def test_whether_a_pair_differs_is_tested_once_for_table_and_comparisons():
    runs = above_by(3) | {"c": around(50, 8, 3.0)[::-1]}
    one = study(greater(B, A), all_of(greater(A, C), greater(B, C, by=1.0)))
    one = replace(one, reference=A)
    judged = result(one, **runs)
    cells = cell_frame(judged).set_index("size")
    rows = comparison_frame([judged]).set_index(["left", "right"])
    assert list(rows["different"]) == [cells["different"]["b"], cells["different"]["c"], ""]
    assert cells["different"]["b"] == "yes" and cells["different"]["c"] == "no"
    bounds = ["tested_low", "tested_high"]
    of_table = cells.loc["b"][bounds].tolist()  # rounded
    assert rows.loc["b", "a"][bounds].tolist() == pytest.approx(of_table, abs=1e-4)
    turned = -cells.loc["c"][bounds][::-1]
    assert rows.loc["a", "c"][bounds].tolist() == pytest.approx(turned.tolist(), abs=1e-4)


def test_a_claims_row_is_the_comparison_on_which_it_turns_with_raw_numbers():
    published = {"a": 70.0, "b": 73.0, "c": 70.4}
    claims = best(B, [A, C], by=2.0), gains(C, A, 1.0, 0.5)
    later = {name: [*values, values[0]] for name, values in RUNS.items()}  # no check is at four
    judged = result(study(*claims, published=published), **later)
    best_row, gained = claim_frame([judged]).to_dict("records")
    assert (best_row["left"], best_row["right"], best_row["above"]) == ("b", "a", 2.0)
    assert best_row["estimate"] == pytest.approx(np.mean(later["b"]) - np.mean(later["a"]))
    assert (best_row["n"], best_row["tested_n"]) == (4, 3)
    assert (best_row["printed"], gained["printed"]) == pytest.approx((3.0, 0.4))
    assert (gained["left"], gained["above"], gained["below"]) == ("c", 0.5, 1.5)
    difference = np.subtract(RUNS["c"], RUNS["a"])
    error = difference.std(ddof=1) / np.sqrt(3)
    # both sides of a range are needed: each supports at the level, and contradicts at half of it
    low, high = (stats.t.isf(alpha_at(3, 2) / sides, 2) * error for sides in (1, 2))
    assert gained["estimate"] == pytest.approx(np.mean([*difference, difference[0]]))
    assert difference.mean() - low == pytest.approx(gained["tested_low"])
    assert difference.mean() + high == pytest.approx(gained["tested_high"])


def pairs(scale, noise, count=60):
    """Pairs of every test set, with cosines that follow the gold scores up to this noise."""
    random = np.random.default_rng(len(str(noise)))
    tables = []
    for name in scale.tests:
        gold = random.uniform(0, 5, count)
        cosine = gold + random.normal(0, noise, count)
        tables.append(pd.DataFrame({"task": name, "gold": gold, "cosine": cosine}))
    return pd.concat(tables)


def test_the_error_of_test_pairs_is_computed_where_both_rows_pairs_are_stored():
    one = small()
    store = stored(one, a=[50.0] * 3, b=[51.0] * 3)
    assert not over_pairs(small_result(one, store))
    ids = {labels: run_id(config_of(one, labels, 0)) for labels in "ab"}
    store.pairs[ids["a"]] = pairs(DEMO, 1.0)
    assert not over_pairs(small_result(one, store))
    store.pairs[ids["b"]] = store.pairs[ids["a"]].assign(cosine=pairs(DEMO, 2.25)["cosine"])
    judged = small_result(one, store)
    (size,) = over_pairs(judged)

    # against resampling row by row, a set's pairs at a time
    sets = [
        (a["gold"].to_numpy(), a["cosine"].to_numpy(), b["cosine"].to_numpy())
        for (_, a), (_, b) in zip(
            *(store.pairs[run].groupby("task") for run in ids.values()), strict=True
        )
    ]
    random = np.random.default_rng(5)
    means = []
    for _ in range(300):
        by_set = []
        for gold, a, b in sets:
            drawn = random.integers(0, len(gold), len(gold))
            a, b = (stats.spearmanr(column[drawn], gold[drawn]).statistic for column in (a, b))
            by_set.append(100 * (b - a))
        means.append(np.mean(by_set))
    low, high = np.quantile(means, [0.025, 0.975])
    assert size == pytest.approx((high - low) / 2, rel=0.2)
    assert f"by about ± {size:.2f} points." in number_note(judged)

    gap = replace(one, metric=Metric(task="avg", title="", quantity="length_gap"))
    assert not over_pairs(small_result(gap, store))
    store.load_pairs = raises
    assert not over_pairs(small_result(one, store))


def raises(_):
    raise UserError("The pairs are damaged.")


@pytest.mark.parametrize(
    "younger, covers, excepts",
    [
        (["", ""], True, False),
        (["⚑⚐", "↯"], True, True),
        (["⚑", "⚑↯"], False, False),
        ([], False, False),
    ],
)
def test_one_study_in_twenty_is_of_verdicts_whose_rule_is_older(younger, covers, excepts):
    """A claim without a verdict says nothing of how often verdicts are wrong."""
    rows = [{"verdict": "supported", "flags": age} for age in younger]
    frame = pd.DataFrame([*rows, {"verdict": "no verdict", "flags": ""}])
    words = verdict_note(frame)
    assert ("one study in twenty" in words and "test pairs" in words) is covers
    assert ("⚑" in words) is excepts
