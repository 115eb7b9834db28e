"""Verdicts against hand-computed cases and scipy: contrasts by seed, correction, Kleene's logic, seeds that would decide."""

import math

import numpy as np
import pytest
from scipy import stats

from core.report.cells import gather
from core.report.statistics import holm
from core.report.verdicts import NOTHING, Evidence, evidence, outcome_of, paper_evidence, table_scatter, verdicts
from core.spec.claim import Claim, above, all_of, at_least, below, best, collapses, greater, truth, within
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.scale import DEMO
from core.spec.study import Study
from fake_store import SOURCES, FakeStore, config_of

SIZES = {"a": 128, "b": 256, "c": 512, "d": 1024}
A, B, C, D = ((name,) for name in SIZES)


def study(*claims, published=None, runs=None):
    published, runs = published or {}, runs or {}
    return Study(
        name="mocose-small", paper="mocose", title="Table 0", caption="Small", method="mocose",
        axes=(Axis(name="size", title="Size", labels=tuple(SIZES)),), rows=None, columns="size",
        cells=tuple(
            Cell(labels=(name,), changes={"queue.size": size}, published=published.get(name), published_runs=runs.get(name, ()))
            for name, size in SIZES.items()
        ),
        metric=Metric(task="avg", title="Average"), figure=FigureSpec(kind="grouped", x="size"), reference=("a",),
        claims=tuple(Claim(key=f"X.{place}", text="A claim.", predicate=one) for place, one in enumerate(claims)),
    )  # fmt: skip


def result(one, **values):
    store = FakeStore()
    for label, numbers in values.items():
        for seed, number in enumerate(numbers):
            number, status = number if isinstance(number, tuple) else (number, "ok")
            store.add(config_of(one, (label,), seed), number, status=status)
    return gather(one, profile="paper", scale=DEMO, sources=SOURCES, seeds=max(map(len, values.values()), default=3), store=store)


def known(*truths):
    """Contrasts with these truths, as evidence."""
    return {greater(A, B, by): Evidence(1.0 if t else -1.0, 0.1, 9, 3, 0.5, 0.5 if t is None else 0.01) for by, t in enumerate(truths)}


def test_two_cells_alone_are_tested_as_scipy_tests_pairs():
    a, b = [50.0, 52.0, 51.0, 53.5], [48.0, 51.5, 50.2, 51.0]
    one = evidence(greater(A, B), result(study(greater(A, B)), a=a, b=b))
    test = stats.ttest_rel(a, b)  # with two cells the table's residual is that of their differences
    assert (one.effect, one.n, one.freedom) == (pytest.approx(np.mean(np.subtract(a, b))), 4, 3)
    assert one.p == pytest.approx(test.pvalue)
    low, high = test.confidence_interval()
    assert (one.effect - one.half, one.effect + one.half) == (pytest.approx(low), pytest.approx(high))


def test_the_tables_scatter_is_the_residual_of_a_two_way_analysis_of_variance():
    table = {"a": [50.0, 52.0, 51.0], "b": [48.0, 51.5, 50.2], "c": [47.0, 49.0, 49.5]}
    one = result(study(greater(A, B)), **table)
    values = np.array(list(table.values()))
    residual = sum(
        (values[i, j] - values[i].mean() - values[:, j].mean() + values.mean()) ** 2 for i in range(3) for j in range(3)
    )
    scatter, freedom = table_scatter(one)
    assert (scatter, freedom) == (pytest.approx(math.sqrt(residual / 4)), 4)
    found = evidence(greater(A, B), one)
    assert found.error == pytest.approx(scatter * math.sqrt(2 / 3)) and found.freedom == 4


def test_a_cell_that_scatters_by_itself_keeps_its_own_error():
    table = {"a": [50.0, 50.3, 50.1], "b": [49.0, 49.4, 49.2], "c": [49.1, 49.0, 49.5], "d": [20.0, 50.0, 35.0]}
    one = result(study(greater(A, D)), **table)
    found = evidence(greater(A, D), one)
    assert found.freedom == 2 and found.p == pytest.approx(stats.ttest_rel(table["a"], table["d"]).pvalue)
    assert evidence(greater(A, B), one).freedom == 4  # d is not in the table's scatter


def test_a_threshold_moves_the_effect_and_a_level_keeps_the_seeds_own_scatter():
    a = [50.0, 52.0, 51.0]
    one = result(study(above(A, 49.0), below(A, 49.0)), a=a, b=[1.0, 2.0, 3.0])
    up, down = evidence(above(A, 49.0), one), evidence(below(A, 49.0), one)
    assert (up.effect, down.effect) == (2.0, -2.0)
    assert up.p == pytest.approx(stats.ttest_1samp(a, 49.0).pvalue) == pytest.approx(down.p)


def test_a_wildcard_is_the_mean_over_its_cells():
    one = result(study(greater(A, (None,))), a=[50.0, 52.0], b=[48.0, 51.0], c=[47.0, 47.0], d=[40.0, 41.0])
    assert evidence(greater(A, (None,)), one).effect == pytest.approx(51.0 - np.mean([51.0, 49.5, 47.0, 40.5]))


def test_a_collapsed_run_without_a_score_counts_as_zero_and_collapse_is_supported():
    one = study(collapses(B, A))
    found = verdicts(result(one, a=[50.0, 52.0, 51.0], b=[(math.nan, "collapsed")] * 3))[0]
    assert (found.outcome, found.effect) == ("supported", pytest.approx(25.5))


def test_holm_runs_over_all_contrasts_of_the_study():
    values = dict(a=[50.0, 52.0, 51.0, 52.2], b=[48.0, 51.5, 50.2, 50.9], c=[49.0, 51.1, 50.4, 51.0])
    claims = (greater(A, B), greater(B, C), greater(A, C))
    one = result(study(*claims), **values)
    expected = holm([evidence(claim, one).p for claim in claims])
    assert [v.p_holm for v in verdicts(one)] == [pytest.approx(p) for p in expected]


@pytest.mark.parametrize(
    "truths, needed, expected",
    [((True, True), 2, True), ((True, None), 2, None), ((False, None), 2, False), ((True, False), 1, True), ((None, False), 1, None),
     ((False, False, None), 2, False), ((True, None, None), 2, None), ((True, True, None), 2, True)],
)  # fmt: skip
def test_joined_predicates_follow_kleene(truths, needed, expected):
    found = known(*truths)
    predicate = at_least(needed, list(found))
    assert truth(predicate, lambda contrast: found[contrast].truth) is expected
    assert outcome_of(predicate, found) == {True: "supported", False: "contradicted", None: "undecided"}[expected]


def test_without_runs_a_claim_is_not_run_unless_it_is_settled_anyway():
    settled = greater(A, B)
    found = {settled: Evidence(-5.0, 0.1, 9, 3, 0.0, 0.0), greater(A, C): NOTHING}
    assert outcome_of(greater(A, C), found) == "not run"
    assert outcome_of(all_of(*found), found) == "contradicted"
    assert outcome_of(at_least(1, list(found)), found) == "not run"


def test_clear_order_is_supported_and_its_opposite_contradicted():
    values = dict(a=[50.0, 52.0, 51.0], b=[45.0, 47.1, 46.2], c=[40.0, 41.9, 41.1], d=[30.0, 32.1, 31.1])
    found = verdicts(result(study(best(A, (A, B, C, D)), best(B, (A, C))), **values))
    assert [v.outcome for v in found] == ["supported", "contradicted"]
    assert found[0].effect == pytest.approx(51.0 - 46.1) and found[1].effect == pytest.approx(46.1 - 51.0)
    assert [v.seeds for v in found] == [None, None]


def test_no_effect_is_supported_only_if_every_difference_is_within_the_margin():
    tight = dict(a=[50.0, 50.2, 50.1], b=[50.1, 50.2, 50.0], c=[50.0, 50.1, 50.2])
    assert verdicts(result(study(within((A, B, C), 1.0)), **tight))[0].outcome == "supported"
    far = tight | {"c": [53.0, 53.1, 53.2]}
    assert verdicts(result(study(within((A, B, C), 1.0)), **far))[0].outcome == "contradicted"
    assert verdicts(result(study(within((A, B, C), 0.1)), **tight))[0].outcome == "undecided"


def test_seeds_that_would_decide_follow_from_effect_and_scatter():
    values = dict(a=[50.0, 52.0, 50.5], b=[49.5, 51.0, 51.0])
    one = result(study(greater(A, B)), **values)
    found, verdict = evidence(greater(A, B), one), verdicts(one)[0]
    sd = found.error * math.sqrt(3)
    assert verdict.outcome == "undecided" and verdict.seeds == math.ceil((stats.norm.ppf(0.975) * sd / found.effect) ** 2)
    same = verdicts(result(study(greater(A, B)), a=[50.0, 51.0, 52.0], b=[51.0, 50.0, 52.0]))[0]
    assert (same.outcome, same.effect, same.seeds) == ("undecided", 0.0, None)


def test_one_seed_leaves_a_claim_open_with_its_effect():
    verdict = verdicts(result(study(greater(A, B)), a=[50.0], b=[48.0]))[0]
    assert (verdict.outcome, verdict.effect, verdict.n, verdict.seeds) == ("undecided", 2.0, 1, None)


def test_the_papers_numbers_are_judged_by_sign_and_its_runs_by_welch():
    runs = {"a": (76.0, 77.0, 78.0), "b": (75.0, 75.5, 75.2)}
    one = result(study(greater(A, B), greater(B, A), greater(A, C), published={"a": 77.0, "b": 75.23}, runs=runs), a=[50.0, 51.0])
    found = verdicts(one)
    assert [v.printed for v in found] == [True, False, None]
    assert found[0].paper_runs == "undecided" and found[2].paper_runs == "not run"
    test = stats.ttest_ind(runs["a"], runs["b"], equal_var=False)
    theirs = paper_evidence(greater(A, B), one)
    assert (theirs.p, theirs.freedom) == (pytest.approx(test.pvalue), pytest.approx(test.df))
