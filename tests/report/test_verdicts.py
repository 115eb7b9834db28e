"""Verdicts against hand-computed cases and scipy: contrasts by seed, outcomes, intervals that are tested, what the paper's numbers say."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from claim_study import A, B, C, D, around, result, study
from scipy import stats

from core.report.claims import measured
from core.report.contrasts import Readings
from core.report.rows import Rows
from core.report.scatter import NORMAL_SD, correction
from core.report.sequential import alpha_at
from core.report.verdicts import called_best, verdicts
from core.spec.claim import (
    Contrast,
    Term,
    above,
    all_of,
    any_of,
    at_least,
    below,
    best,
    differ,
    gains,
    greater,
    scatters_more,
    within,
)  # fmt: skip
from core.spec.table import Metric

LAST = Metric(task="avg", title="Last", checkpoint="last")
COSINE = Metric(task="dev", title="Mean cosine", quantity="cosine_mean")
CLEAR = {
    "a": around(51, 5),
    "b": [v - 5 + 0.01 * k for k, v in enumerate(around(51, 5))],
    "c": [v - 11 + 0.02 * (k % 3) for k, v in enumerate(around(51, 5))],
    "d": [v - 21 + 0.03 * (k % 2) for k, v in enumerate(around(51, 5))],
}


def test_a_contrast_is_paired_by_seed_and_tested_as_scipy_tests_it():
    a, b = [50.0, 52.0, 51.0, 53.5, 52.2], [48.0, 51.5, 50.2, 51.0, 51.9]
    verdict = verdicts(result(study(greater(A, B), greater(B, A)), a=a, b=b))[0]
    assert (verdict.n, verdict.look, verdict.alpha) == (5, 1, pytest.approx(alpha_at(1, 2)))
    assert verdict.p.sup == pytest.approx(stats.ttest_rel(a, b, alternative="greater").pvalue)
    assert verdict.p.con == pytest.approx(stats.ttest_rel(a, b, alternative="less").pvalue)
    low, high = stats.ttest_rel(a, b).confidence_interval(1 - 2 * alpha_at(1, 2))
    assert (verdict.low, verdict.high) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("predicate", [greater(A, B), all_of(greater(A, B), greater(A, C)), any_of(greater(B, A), greater(A, C)),
                                       at_least(2, [greater(A, B), greater(B, C), greater(D, A)]), greater(B, A), best(B, (A, C, D))])  # fmt: skip
@pytest.mark.parametrize("spread", [0.02, 0.4, 3.0])
def test_the_interval_shown_leaves_zero_out_exactly_where_there_is_a_verdict(predicate, spread):
    rng = np.random.default_rng(5)
    cells = {name: list(50 + 1.5 * place + rng.normal(0, spread, 8)) for place, name in enumerate("dcba")}
    verdict = verdicts(result(study(predicate, margin=None), **cells))[0]
    assert (verdict.outcome == "supported") == (verdict.low > 0) and (verdict.outcome == "contradicted") == (verdict.high < 0)


def test_clear_order_is_supported_and_its_opposite_contradicted():
    found = verdicts(result(study(best(A, (A, B, C, D)), best(B, (A, C)), differ((A, B))), **CLEAR))
    assert [v.outcome for v in found] == ["supported", "contradicted", "supported"]
    assert found[0].effect == pytest.approx(5.0, abs=0.03) and found[1].effect == pytest.approx(-5.0, abs=0.03)
    assert found[0].contrast == greater(A, B)


def test_an_effect_below_the_margin_is_equivalent_and_its_own_margin_a_claims_own_business():
    tight = {"a": around(50, 8, 0.05), "b": [v + 0.01 * (k % 3) for k, v in enumerate(around(50, 8, 0.05))]}
    cells = result(study(greater(A, B), within((A, B), 0.5)), **tight)
    assert [v.outcome for v in verdicts(cells)][1] == "supported"
    same = verdicts(result(study(greater(A, B, 0.0)), a=around(50, 8, 0.2), b=around(50, 8, 0.2)[::-1]))[0]
    assert same.outcome == "equivalent" and same.low > -1 and same.high < 1 and same.low < 0 < same.high
    assert "the printed effect, +0.40, is not above the margin of 1 either" in measured(replace(same, printed_effect=0.4))
    assert "either" not in measured(replace(same, printed_effect=1.4)) + measured(same)
    assert verdicts(result(study(greater(A, B), margin=None), a=around(50, 8, 0.2), b=around(50, 8, 0.2)[::-1]))[0].outcome == "undecided"


@pytest.mark.parametrize("higher, lower", [("a", "c"), ("c", "a"), ("b", "c")])
def test_cells_differ_whichever_of_them_is_higher(higher, lower):
    level = dict.fromkeys("abc", around(51, 5)) | {higher: [v + 3 + 0.01 * k for k, v in enumerate(around(51, 5))]}
    level[lower] = [v - 3 - 0.01 * k for k, v in enumerate(around(51, 5))]
    (found,) = verdicts(result(study(differ((A, B, C)), margin=None), **level))
    assert found.outcome == "supported" and found.effect > 0
    assert found.contrast.terms[0].cell == (higher,) or found.contrast.terms[1].cell == (lower,)


def test_printed_gains_are_met_only_within_their_margin():
    cells = {"a": around(52, 8), "b": [v - 2 + 0.02 * (k % 3) for k, v in enumerate(around(52, 8))]}
    outcomes = [v.outcome for v in verdicts(result(study(gains(A, B, 2.0, 0.5), gains(A, B, 4.0, 0.5), margin=None), **cells))]
    assert outcomes == ["supported", "contradicted"]


def test_between_looks_the_estimate_is_shown_beside_the_last_look():
    a, b = [50.0, 53.0, 51.0, 55.0], [49.0, 53.5, 50.0, 50.0]
    verdict = verdicts(result(study(greater(A, B)), a=a, b=b))[0]
    assert (verdict.outcome, verdict.n, verdict.effect) == ("undecided", 3, pytest.approx(0.5))
    assert (verdict.n_now, verdict.effect_now) == (4, pytest.approx(1.625))
    assert "n = 3 (now +1.62, n = 4)" in measured(verdict)
    first = verdicts(result(study(greater(A, B)), a=a[:2], b=b[:2]))[0]
    assert (first.look, first.n, first.effect, first.outcome) == (-1, 2, 0.25, "undecided") and math.isnan(first.low)


def test_without_runs_a_claim_is_not_run_unless_it_is_settled_anyway():
    found = verdicts(
        result(
            study(greater(B, C), all_of(greater(B, A), greater(A, D)), any_of(greater(B, A), greater(A, D)), greater(C, D)),
            a=CLEAR["a"],
            b=CLEAR["b"],
        )
    )
    assert [v.outcome for v in found] == ["not run", "contradicted", "not run", "not run"]
    assert found[1].contrast == greater(B, A) and found[0].n == 0 and measured(found[0]) == ""


def test_what_is_not_comparable_has_no_other_outcome_and_keeps_its_numbers():
    one = result(study(greater(A, B), greater(A, C)), a=CLEAR["a"], b=CLEAR["b"])
    plain, barred = verdicts(one), verdicts(replace(one, not_comparable="The queue never turns over."))
    assert [v.outcome for v in barred] == ["not comparable"] * 2 and barred[0].reason == "The queue never turns over."
    assert barred[0].effect == plain[0].effect


def test_more_claims_ask_for_more_evidence_whatever_has_run():
    a, b = around(50.5, 5), [50.1, 50.0, 49.9, 50.0, 50.1]
    p = stats.ttest_rel(a, b, alternative="greater").pvalue
    assert alpha_at(1, 4) < p < alpha_at(1, 1)
    assert verdicts(result(study(greater(A, B)), a=a, b=b))[0].outcome == "supported"
    assert verdicts(result(study(greater(A, B), *(greater(C, D, by) for by in range(3))), a=a, b=b))[0].outcome == "undecided"


@pytest.mark.parametrize("failed", [(math.nan, "collapsed"), (0.0, "diverged")])
def test_failed_runs_count_as_zero_in_verdict_and_table_alike(failed):
    one = result(study(Contrast((Term(0.5, A), Term(-1.0, B))), greater(A, B)), a=around(51, 3), b=[failed] * 3, c=[51.0, failed, 51.2])
    found = verdicts(one)
    assert found[0].outcome == "supported" and found[0].effect == pytest.approx(np.mean(around(51, 3)) / 2)
    assert (one.cells[1].estimate.mean, one.cells[1].estimate.n) == (0.0, 3)
    assert one.cells[2].estimate.mean == pytest.approx((51.0 + 51.2) / 3)


def test_a_wildcard_is_the_mean_over_its_cells():
    verdict = verdicts(result(study(greater(A, (None,))), a=[50.0, 52.0], b=[48.0, 51.0], c=[47.0, 47.0], d=[40.0, 41.0]))[0]
    assert verdict.effect == pytest.approx(51.0 - np.mean([51.0, 49.5, 47.0, 40.5]))


def with_row(run, *row):
    """Put one more number among those of a run."""
    table = pa.concat_tables(
        [run.rows.table, pa.table({name: [part] for name, part in zip(run.rows.table.column_names, row, strict=True)})]
    )
    object.__setattr__(run, "rows", Rows(table, run.provenance))


def test_another_metric_is_read_of_the_same_runs():
    one = result(study(above(A, 40.0, LAST), below(A, 40.0, COSINE)), a=CLEAR["a"])  # stored: the last checkpoint a point below
    found = verdicts(one)
    assert found[0].effect == pytest.approx(np.mean(CLEAR["a"]) - 1 - 40) and found[0].outcome == "supported"
    assert found[1].outcome == "not run" and found[0].printed is None and found[0].printed_effect is None
    for run in one.cells[0].runs:
        with_row(run, "selected", "dev", "cosine_mean", 300, 0.5 + 0.01 * run.seed)
    assert verdicts(one)[1].effect == pytest.approx(40 - 0.51)  # settled at three seeds


def test_a_diverged_run_is_missing_where_the_metric_has_no_worst_value():
    one = result(study(below(A, 0.9, COSINE)), a=[50.0, (0.0, "diverged"), 50.1])
    for run in one.cells[0].runs:
        with_row(run, "selected", "dev", "cosine_mean", 300, 0.5)
    assert Readings(one).values(COSINE)[A] == {0: 0.5, 2: 0.5} and Readings(one).seeds(below(A, 0.9, COSINE)) == 1


def test_scatter_is_the_mean_absolute_deviation_from_the_median_of_the_seeds_looked_at():
    a, b = [50.0, 54.0, 46.0, 51.0], [50.0, 50.5, 49.5, 90.0]
    readings = Readings(result(study(scatters_more(A, B)), a=a, b=b))
    three, four = readings.samples(scatters_more(A, B), 3), readings.samples(scatters_more(A, B, by=1.0), 4)
    assert three.mean() == pytest.approx((8 - 1) / 3 * correction(3)) and readings.samples(scatters_more(A, B), 5) is None
    assert four.mean() == pytest.approx(
        (9 - 41) / 4 * correction(4) - 1.0
    )  # medians are 50.5 and 50.25: 0.5 3.5 4.5 0.5, 0.25 0.25 0.75 39.75


def test_the_prior_scatter_of_a_contrast_is_that_of_independent_runs():
    prior = Readings(result(study(greater(A, B)), a=[50.0])).prior(0.8)
    assert prior(greater(A, B)) == pytest.approx(0.8 * math.sqrt(2)) and prior(above(A, 1.0)) == pytest.approx(0.8)
    assert prior(greater(A, (None,))) == pytest.approx(0.8 * math.sqrt(0.75**2 + 3 * 0.25**2))
    z = np.abs(np.random.default_rng(0).standard_normal(200_000))
    assert NORMAL_SD == pytest.approx(z.std(), abs=0.005) and prior(scatters_more(A, B)) == pytest.approx(NORMAL_SD * 0.8 * math.sqrt(2))
    assert prior(above(A, 0.0, COSINE)) is None and Readings(result(study(greater(A, B)), a=[50.0])).prior(None)(greater(A, B)) is None


def test_the_papers_numbers_are_judged_by_sign_and_compared_with_our_interval():
    cells = {"a": around(52, 8), "b": [v - 2 + 0.02 * (k % 3) for k, v in enumerate(around(52, 8))]}
    better = greater(A, B)

    def against(a, b, predicate=better):
        return verdicts(result(study(predicate, published={"a": a, "b": b}), **cells))[0]

    assert [against(a, 50.0).against_printed for a in (52.0, 55.0, 50.5)] == ["", "smaller than printed", "larger than printed"]
    assert (against(55.0, 50.0).printed, against(49.0, 50.0).printed, against(55.0, 50.0).printed_effect) == (True, False, 5.0)
    opposite = [against(a, 50.0, greater(B, A, -9.0)).against_printed for a in (55.0, 50.5)]  # printed below zero: -5 and -0.5, ours -2
    assert opposite == ["smaller than printed", "larger than printed"]
    signs = [against(a, 50.0).against_printed for a in (40.0, 49.9)] + [
        against(50.0, b, greater(B, A)).against_printed for b in (60.0, 40.0)
    ]
    other = "of the other sign than printed"
    assert signs == [other, other, other, "smaller than printed"]  # ours is 2 and -2
    assert against(30.0, 50.0, above(A, 40.0)).against_printed == ""  # a level, of which more is no larger effect
    assert "smaller than printed" in measured(against(55.0, 50.0)) and against(None, 50.0).printed_effect is None


def test_a_claim_of_two_parts_turns_on_the_one_with_the_smaller_t_and_divides_the_level_on_its_own_side():
    """By hand, at five seeds of one claim: all of two needs each at a / 1, and is contradicted by one of two at a / 2."""
    lead_b, lead_c = np.array([1.0, 1.1, 0.9, 1.05, 0.95]), np.array([2.0, 8.0, -3.0, 6.0, 4.0])  # over b less, and surer
    one = result(study(best(A, (B, C))), a=[60.0] * 5, b=(60.0 - lead_b).tolist(), c=(60.0 - lead_c).tolist())
    (found,) = verdicts(one)
    error, level = lead_c.std(ddof=1) / np.sqrt(5), alpha_at(1, 1)
    assert (found.contrast, found.n, found.look) == (greater(A, C), 5, 1)
    assert found.low == pytest.approx(lead_c.mean() - stats.t.isf(level, 4) * error)
    assert found.high == pytest.approx(lead_c.mean() + stats.t.isf(level / 2, 4) * error)


def test_a_claim_without_a_run_turns_on_what_decides_it_in_print():
    printed = {"a": 52.0, "b": 50.0, "c": 51.5}
    some, every = verdicts(result(study(any_of(greater(B, A), greater(A, B)), best(A, (B, C)), published=printed)))
    assert (some.contrast, some.printed_effect, some.printed) == (greater(A, B), 2.0, True)  # not the -2 of the other
    assert (every.contrast, every.printed_effect, every.n) == (greater(A, C), 0.5, 0)
    (one,) = verdicts(result(study(any_of(greater(B, A), greater(A, B)), published=printed), a=(50.0,), b=(51.0,)))
    assert (one.contrast, one.printed_effect) == (greater(B, A), -2.0)  # a run was made: what it says decides


def test_the_papers_own_runs_are_tested_by_welch_over_all_claims():
    runs = {"a": (76.0, 77.0, 78.0), "b": (75.0, 75.5, 75.2)}
    p = stats.ttest_ind(runs["a"], runs["b"], equal_var=False, alternative="greater").pvalue
    assert 0.025 < p < 0.05
    one, two = study(greater(A, B), runs=runs), study(greater(A, B), greater(A, C), runs=runs)
    assert verdicts(result(one, a=[50.0]))[0].paper_runs == "supported"
    assert [v.paper_runs for v in verdicts(result(two, a=[50.0]))] == ["undecided", "not run"]


def test_the_papers_own_runs_settle_exactly_where_scipys_welch_does():
    outcomes = []
    for gap in map(float, np.linspace(0.0, 4.0, 161)):
        runs = {"a": (75.0 + gap, 76.0 + gap, 76.6 + gap), "b": (75.0, 75.5, 75.2, 76.9)}
        up = stats.ttest_ind(runs["a"], runs["b"], equal_var=False, alternative="greater").pvalue
        (found,) = verdicts(result(study(greater(A, B), runs=runs), a=[50.0]))
        assert (found.paper_runs == "supported") == (up <= 0.05), gap
        outcomes.append(found.paper_runs)
    assert set(outcomes) >= {"supported", "undecided"}


def test_how_often_a_cell_is_best_when_seeds_are_drawn_anew():
    values = {"a": [50.0, 52.0, 51.0], "b": [51.0, 50.5, 51.2], "c": [40.0, 41.0, 42.0]}
    verdict = verdicts(result(study(best(A, (A, B, C)), greater(A, B)), **values))
    draws = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]  # every draw of three seeds
    exact = np.mean([sum(values["a"][s] for s in d) > max(sum(values[o][s] for s in d) for o in "bc") for d in draws])
    assert verdict[0].p_best == pytest.approx(exact, abs=0.02) and verdict[1].p_best is None
    assert verdict[0].p_best * 10_000 == pytest.approx(round(verdict[0].p_best * 10_000)) and verdict[0].p_best * 1000 % 1 > 1e-6
    assert "best of redrawn seeds" in measured(verdict[0])


def test_a_cell_that_ties_is_not_the_best():
    (verdict,) = verdicts(result(study(best(A, (A, B, C))), a=[50.0] * 3, b=[50.0] * 3, c=[40.0] * 3))
    assert verdict.p_best == 0.0


def test_below_three_seeds_none_are_drawn_anew():
    values = {"a": [50.0, 52.0], "b": [51.0, 50.5], "c": [40.0, 41.0]}
    assert verdicts(result(study(best(A, (A, B, C))), **values))[0].p_best is None


def test_only_a_claim_that_one_cell_beats_the_others_is_about_the_best():
    assert called_best(best(A, (A, B, C))) == (A, B, C) and called_best(best(A, (B, C), by=0.5)) == (A, B, C)
    for other in (
        greater(A, B),
        within((A, B), 1.0),
        any_of(greater(A, B), greater(A, C)),
        all_of(greater(A, B), greater(C, B)),
        all_of(greater(A, B), above(A, 1.0)),
        all_of(scatters_more(A, B), scatters_more(A, C)),
    ):
        assert called_best(other) == ()
