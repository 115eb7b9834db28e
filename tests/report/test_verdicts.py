"""Verdicts against cases by hand and scipy: contrasts, outcomes, intervals, the paper's numbers."""

import numpy as np
import pyarrow as pa
import pytest
from claim_study import A, B, C, D, around, result, study
from scipy import stats

from core.report.contrasts import measured_contrasts
from core.report.quantities import Rows
from core.report.statistics import alpha_at
from core.report.verdicts import judged
from core.study.claim import (
    Contrast,
    Term,
    above,
    all_of,
    any_of,
    below,
    best,
    greater,
    interaction,
    some_of,
    weighted,
)
from core.study.study import Metric

LAST = Metric(task="avg", title="Last", checkpoint="last")
COSINE = Metric(task="dev", title="Mean cosine", quantity="cosine_itself")
STEP = Metric(task="train", title="A step", quantity="step_seconds", checkpoint="time")
CLEAR = {"a": around(51, 5), "b": [v - 5 + 0.01 * k for k, v in enumerate(around(51, 5))]}


def verdicts(*claims, margin=1.0, published=None, **values):
    return result(study(*claims, margin=margin, published=published), **values).verdicts


def test_an_interaction_counts_only_with_one_sign_in_points_and_in_fishers_z():
    """95 to 90 are fewer points and more of z than 40 to 34."""
    steps = weighted([A, B, C, D], [1, -1, -1, 1])
    both = {"a": 95.0, "b": 90.0, "c": 40.0}
    for d, depends in ((34.0, True), (37.0, False)):
        values = {name: around(level, 5) for name, level in {**both, "d": d}.items()}
        plain, same_sign = verdicts(steps, interaction(steps), **values)
        (measured,) = same_sign.contrasts.values()
        z = [np.arctanh(np.array(values[name]) / 100).mean() for name in "abcd"]
        assert np.mean(measured.z, -1) == pytest.approx(z)
        assert (z[0] - z[1] - z[2] + z[3] > 0) and measured.depends_on_unit is depends
        assert plain.outcome == ("contradicted" if depends else "supported")
        assert same_sign.outcome == ("undecided" if depends else plain.outcome)
        assert bool(same_sign.reason) is depends and not (depends and same_sign.direction)


def test_whether_a_claim_depends_on_the_unit_is_read_from_all_its_seeds():
    """The first seed alone has one sign in both units."""
    steps = interaction(weighted([A, B, C, D], [1, -1, -1, 1]))
    ends = {"a": [95.0] * 3, "b": [90.0] * 3, "c": [40.0] * 3}
    for d, depends in (([38.0, 34.0, 30.0], True), ([34.0, 39.0, 39.0], False)):
        (verdict,) = verdicts(steps, **ends, d=d)
        (measured,) = verdict.contrasts.values()
        assert measured.depends_on_unit is depends


PREDICATES = (
    greater(A, B),
    all_of(greater(A, B), greater(A, C)),
    any_of(greater(B, A), greater(A, C)),
    some_of(2, [greater(A, B), greater(B, C), greater(D, A)]),
)


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("spread", [0.02, 3.0])
def test_the_tested_interval_leaves_zero_out_exactly_where_there_is_a_verdict(predicate, spread):
    rng = np.random.default_rng(5)
    cells = {
        name: list(50 + 1.5 * place + rng.normal(0, spread, 8)) for place, name in enumerate("dcba")
    }
    (verdict,) = verdicts(predicate, margin=None, **cells)
    assert (verdict.outcome == "supported") == (verdict.tested.low > 0)
    assert (verdict.outcome == "contradicted") == (verdict.tested.high < 0)


def test_an_effect_below_the_margin_is_equivalent():
    near = {"a": around(50, 8, 0.2), "b": around(50, 8, 0.2)[::-1]}
    (same,) = verdicts(greater(A, B), **near)
    assert same.outcome == "equivalent" and -1 < same.tested.low < 0 < same.tested.high < 1
    assert same.reason == ""
    (without_margin,) = verdicts(greater(A, B), margin=None, **near)
    assert without_margin.outcome == "undecided"


def test_without_runs_a_claim_is_not_run_unless_it_is_settled_anyway():
    parts = greater(B, A), greater(A, D)
    found = verdicts(greater(B, C), all_of(*parts), any_of(*parts), a=CLEAR["a"], b=CLEAR["b"])
    assert [verdict.outcome for verdict in found] == ["not run", "contradicted", "not run"]
    assert found[1].weakest.contrast == greater(B, A) and found[0].weakest.estimate.n == 0


def give(one, seconds=None):
    """Put a cosine among the numbers of every run, and the seconds of a step by cell."""
    for cell, time in zip(one.cells, seconds or (None,) * len(one.cells), strict=False):
        for run in (run for run in cell.runs if run.rows is not None):
            added = ("selected", "dev", "cosine_itself", 300, 0.5 + 0.01 * run.seed)
            row = pa.Table.from_pylist([dict(zip(run.rows.table.column_names, added, strict=True))])
            rows = Rows(pa.concat_tables([run.rows.table, row]), {"step_seconds": time})
            object.__setattr__(run, "rows", rows)
    return one


def test_another_metric_is_read_of_the_same_runs():
    one = result(study(above(A, 40.0, LAST), below(A, 40.0, COSINE)), a=CLEAR["a"])
    last, cosine = one.verdicts
    assert last.tested.mean == pytest.approx(np.mean(CLEAR["a"]) - 1 - 40)  # last is a point below
    assert cosine.outcome == "not run" and last.weakest.printed is None
    # settled at three seeds
    assert judged(give(one)).verdicts[1].tested.mean == pytest.approx(40 - 0.51)


def test_a_diverged_run_is_missing_where_the_metric_has_no_worst_value():
    claims = below(A, 0.9, COSINE), above(A, 40.0, LAST)
    one = give(result(study(*claims), a=[50.0, (0.0, "diverged"), 50.1]))
    assert measured_contrasts(one)[claims[1]].values.tolist() == [[49.0, 0.0, 49.1]]
    # seed 2 comes behind the gap
    assert measured_contrasts(one)[claims[0]].values.tolist() == [[0.5]]
    assert judged(one).verdicts[0].outcome == "undecided"


def test_seconds_of_two_devices_are_never_compared_and_other_rows_remove_no_seed():
    timed = Contrast((Term(1.0, A), Term(-1.0, B)), metric=STEP)
    for odd, wanted in (("cpu", [2.0, 2.0, 2.0]), ("cuda: a GPU", [2.0])):
        made = result(study(timed, greater(A, B)), **{name: around(51, 3) for name in "abc"})
        one = give(made, seconds=(3.0, 1.0, 9.0))
        one.cells[1].runs[1].provenance["device"] = odd
        one.cells[2].runs[0].provenance["device"] = "cuda: another GPU"
        measured = measured_contrasts(one)[timed]
        assert measured.seeds == len(wanted) and measured.under(measured.seeds).tolist() == wanted
        assert measured_contrasts(one)[greater(A, B)].seeds == 3  # scores are compared all the same


def test_a_claim_of_two_parts_turns_on_the_smaller_t_and_divides_the_level_on_its_own_side():
    """At five seeds of one claim: all of two needs each at a / 1, one of two at a / 2 contradicts
    it."""
    lead_b = np.array([1.0, 1.1, 0.9, 1.05, 0.95])  # less than over c, and surer
    lead_c = np.array([2.0, 8.0, -3.0, 6.0, 4.0])
    rows = {"a": [60.0] * 5, "b": list(60.0 - lead_b), "c": list(60.0 - lead_c)}
    (verdict,) = verdicts(best(A, (B, C)), **rows)
    error = lead_c.std(ddof=1) / np.sqrt(5)
    level = alpha_at(5, 1)
    assert (verdict.weakest.contrast, verdict.tested.n) == (greater(A, C), 5)
    assert verdict.tested.low == pytest.approx(lead_c.mean() - stats.t.isf(level, 4) * error)
    assert verdict.tested.high == pytest.approx(lead_c.mean() + stats.t.isf(level / 2, 4) * error)


def test_a_claim_turns_on_the_comparison_that_is_weakest_at_its_own_check():
    """Settled at three seeds by c; two later seeds bring b nearer."""
    rows = {"a": [60.0] * 5, "b": [50.0, 50.1, 49.9, 59.0, 59.5], "c": [55.0, 55.1, 54.9, 55, 55]}
    (verdict,) = verdicts(best(A, (B, C)), **rows)
    assert (verdict.outcome, verdict.tested.n) == ("supported", 3)
    assert verdict.weakest.contrast == greater(A, C)
    assert verdict.tested.mean == pytest.approx(5.0)


def test_a_claim_that_is_given_ten_times_is_tested_once():
    rows = {"a": around(60, 5, 2.0), "b": [59.0] * 5}
    (alone,) = verdicts(greater(A, B), **rows)
    for verdict in verdicts(*[greater(A, B)] * 10, **rows):
        assert (verdict.tested.low, verdict.outcome) == (alone.tested.low, alone.outcome)
    assert verdicts(greater(A, B), greater(B, A), **rows)[0].tested.low < alone.tested.low
