"""Comparability by hand: shares of the run for queue and momentum, updates, the reference's gain, where it was selected."""

import dataclasses
import math

import pandas as pd
import pytest
from fake_store import SOURCES, FakeStore, edition

from core.report.cells import gather
from core.report.comparability import _named, comparability, initial_share, judged, not_begun, reasons, travel, turnover
from core.report.frames import check_frame
from core.report.verdicts import verdicts
from core.spec import identity
from core.spec.check import check_shape
from core.spec.claim import Claim, greater, of_metric
from core.spec.errors import UserError
from core.spec.methods import base
from core.spec.scale import DEMO, PAPER, at_scale
from core.spec.study import Study
from core.spec.table import Axis, Cell, Metric
from core.spec.vary import vary
from studies import find

CONSTANT = {"ema.schedule": "constant", "ema.start": 0.9, "ema.end": None, "ema.total_updates": None}
STEPS_200 = dataclasses.replace(DEMO, steps=200)


def study(**cells):
    return Study(
        name="mocose-small",
        paper="mocose",
        title="Table 0",
        caption="Small",
        method="mocose",
        base_changes=CONSTANT,
        axes=(Axis(name="cell", title="Cell", labels=tuple(cells)),),
        rows=None,
        columns="cell",
        cells=tuple(Cell(labels=(name,), changes=changes) for name, changes in cells.items()),
        metric=Metric(task="avg", title="Average"),
        figure=None,
        reference=(next(iter(cells)),),
    )


def result(one, store=None, scale=STEPS_200, seeds=3):
    return gather(one, edition(seeds, "repaired", scale), store or FakeStore())


def kinds(found):
    return {check.kind: check for check in found.checks}


def test_shares_of_the_run_by_hand():
    run = at_scale(vary(base("mocose", "repaired"), {"queue.size": 500, **CONSTANT}), STEPS_200, SOURCES)
    assert turnover(run) == 8 / 200  # 500 entries are seven batches of 64 and a part of the eighth
    assert initial_share(run) == pytest.approx(0.9**100)
    assert travel(run) == pytest.approx(1e-3 * 200 / 2 / 0.02)
    assert (
        turnover(at_scale(base("simcse", "repaired"), STEPS_200, SOURCES)),
        initial_share(at_scale(base("simcse", "repaired"), STEPS_200, SOURCES)),
    ) == (0, 0)
    momentum = at_scale(base("esimcse", "repaired"), STEPS_200, SOURCES)
    assert initial_share(momentum) == pytest.approx(0.995**100)


def test_a_rising_decay_leaves_the_product_of_its_values():
    run = at_scale(
        vary(base("mocose", "repaired"), {"ema.schedule": "cosine_to_end", "ema.start": 0.75, "ema.end": 0.95, "ema.total_updates": None}),
        STEPS_200,
        SOURCES,
    )
    etas = [0.95 - 0.2 * (math.cos(math.pi * step / 200) + 1) / 2 for step in range(1, 101)]
    assert initial_share(run) == pytest.approx(math.prod(etas))


def test_the_papers_own_runs_pass_where_short_ones_fail():
    one = study(short={"queue.size": 512}, long={"queue.size": 4096})
    rows = dataclasses.replace(SOURCES, corpus_rows=1_000_000)
    paper = gather(one, edition(1, "repaired", PAPER, rows), FakeStore())
    assert comparability(paper).reasons == ()
    found = comparability(result(one))
    assert kinds(found)["turnover"].value == 64 / 200
    assert found.reasons == (kinds(found)["turnover"].words,)
    assert "32 % of the run (long; at most 5 %)" in found.reasons[0]


def test_batches_of_other_sizes_differ_in_updates_by_design_and_nothing_else_does():
    found = comparability(result(study(small={"train.batch_size": 64}, large={"train.batch_size": 128})))
    assert kinds(found)["updates"].met is True
    assert "100 to 200 updates, as in the paper" in kinds(found)["updates"].words


def baseline(store, config, value, before, selected):
    """A run with an untrained score, selected at this step of checks at 40, 80, …, 200."""
    run = store.add(config, value)
    extra = [("untrained", "avg", "spearman_all", 0, before), *(("curve", "dev", "spearman_all", step, 50.0) for step in (0, 40, 80))]
    run.rows = pd.concat([run.rows[run.rows["checkpoint"] != "curve"], pd.DataFrame(extra, columns=run.rows.columns)], ignore_index=True)
    run.rows.loc[run.rows["checkpoint"] == "selected", "step"] = selected


@pytest.mark.parametrize(("value", "selected", "failed"), [(56.0, 80, []), (54.0, 80, ["gain"]), (56.0, 40, ["selected"])])
def test_the_reference_has_to_learn_and_not_at_the_first_check(value, selected, failed):
    one, store = study(a={"queue.size": 512}, b={"queue.size": 256}), FakeStore()
    for seed in range(3):
        baseline(store, one.config(one.cells[0], profile="repaired", scale=STEPS_200, sources=SOURCES, seed=seed), value, 50.0, selected)
    found = comparability(result(one, store))
    assert [check.kind for check in found.checks if check.met is False] == failed
    assert kinds(found)["gain"].value == pytest.approx(value - 50.0)


@pytest.mark.parametrize(
    "value, words", [(54.0, "the trained reference (a) is +4.00 ± 0.00 points from the untrained [CLS] (at least +5; n = 2)"), (56.0, "")]
)
def test_a_study_that_is_not_begun_is_ruled_out_by_a_reference_that_has_run_for_another_and_by_nothing_else(value, words):
    one, store = study(a={"queue.size": 512}, b={"queue.size": 256}), FakeStore()
    here = edition(3, "repaired", STEPS_200)
    assert comparability(not_begun(one, here, store)).reasons == ()
    for seed, before in enumerate((50.0, 50.0)):
        baseline(store, here.config(one, one.cells[0], seed), value, before, 80)
        store.add(here.config(one, one.cells[1], seed), 20.0)  # other cells say nothing
    found = not_begun(one, here, store)
    assert found.not_comparable == words
    assert [len([run for run in cell.runs if run.rows is not None]) for cell in found.cells] == ([2, 0] if words else [0, 0])
    assert kinds(comparability(found))["gain"].value == pytest.approx(value - 50.0)
    assert ("no" in set(check_frame([found])["met"])) == bool(words)
    unnamed = dataclasses.replace(one, reference=None)
    assert not_begun(unnamed, here, store).not_comparable == ""


def claiming(**fields):
    """A study of methods without a reference, with a claim on a and b and one on b and c; a and b have to learn."""
    made = [
        Claim(key=key, text="t", quote="q", place="p", decided_by="d", predicate=greater((one,), (other,)))
        for key, one, other in (("AB", "a", "b"), ("BC", "b", "c"))
    ]
    cells = {"a": {"queue.size": 512}, "b": {"queue.size": 256}, "c": {"queue.size": 128}}
    return dataclasses.replace(study(**cells), **{"reference": None, "claims": tuple(made), "must_learn": (("a",), ("b",))} | fields)


def filled(one, **gains):
    """A store with two seeds of each of these cells, so many points above the untrained encoder: 50, and 1 less and more."""
    store, here = FakeStore(), edition(3, "repaired", STEPS_200)
    for cell in one.cells:
        for seed, aside in enumerate((-1.0, 1.0) if cell.labels[0] in gains else ()):
            baseline(store, here.config(one, cell, seed), 50.0 + gains[cell.labels[0]] + aside, 50.0, 80)
    return store


@pytest.mark.parametrize("gains, told", [({"b": 4.0}, "no"), ({"a": 4.0}, "not known"), ({"b": 6.0}, "not known"), ({}, "not known")])
def test_a_study_without_a_reference_of_which_every_claim_is_withheld_is_not_comparable(gains, told):
    """Before it has begun, by what has run for another study; b is in both claims, a in one of them."""
    one = claiming()
    why = reasons(not_begun(one, edition(3, "repaired", STEPS_200), filled(one, **gains)))
    assert ("b is +4.00" in " ".join(why)) == (told == "no")


@pytest.mark.parametrize("gain, told", [(4.0, "no"), (6.0, "not known")])
def test_a_claim_that_the_scale_cannot_run_does_not_make_a_withheld_study_comparable(gain, told):
    small = claiming()
    large = Cell(labels=("large",), changes={}, encoder="bert-large")
    claim = dataclasses.replace(small.claims[0], key="BL", predicate=greater(("b",), ("large",)))
    axis = dataclasses.replace(small.axes[0], labels=(*small.axes[0].labels, "large"))
    one = dataclasses.replace(small, axes=(axis,), cells=(*small.cells, large), claims=(small.claims[0], claim))
    found = not_begun(one, edition(3, "repaired", STEPS_200), filled(small, a=gain))
    assert bool(reasons(found)) == (told == "no")


def test_a_column_that_has_not_learnt_is_named_with_its_axis():
    one = find("mocose-figure4")
    said = [_named(labels, one) for labels in ((None, "14.67"), ("alignment", None), ("alignment", "5"))]
    assert said == ["MTD 14.67", "alignment", "alignment, MTD 5"]


def test_a_study_without_a_reference_is_judged_by_what_must_learn_and_not_by_its_best_row():
    """Or a claim that the best row collapses could be contradicted, and never hold: had it collapsed, nothing would be asked."""
    one, store = study(a={"queue.size": 512}, b={"queue.size": 256}), FakeStore()
    one = dataclasses.replace(one, reference=None, must_learn=(("a",),))
    for cell, value in zip(one.cells, (54.0, 60.0), strict=True):
        for seed in range(3):
            baseline(store, one.config(cell, profile="repaired", scale=STEPS_200, sources=SOURCES, seed=seed), value, 50.0, 80)
    assert kinds(comparability(result(one, store)))["gain"].value == pytest.approx(4.0)
    assert kinds(comparability(result(dataclasses.replace(one, must_learn=()), store)))["gain"].value == pytest.approx(10.0)


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_a_failed_reference_counts_as_a_score_of_0(status):
    """Collapsed without a number of its own: vectors that are all alike have no correlation."""
    one, store = study(a={"queue.size": 512}, b={"queue.size": 256}), FakeStore()
    for seed in range(3):
        config = one.config(one.cells[0], profile="repaired", scale=STEPS_200, sources=SOURCES, seed=seed)
        baseline(store, config, 60.0, 50.0, 80)
        if seed:
            run = store.runs[identity.run_id(config)]
            run.status = status
            if status == "collapsed":
                run.rows.loc[run.rows["checkpoint"] == "selected", "value"] = math.nan
    assert kinds(comparability(result(one, store)))["gain"].value == pytest.approx((10 - 50 - 50) / 3)


def test_a_claim_is_withheld_where_a_method_that_it_compares_has_not_learnt():
    one = claiming()
    words = "a is +2.00 ± 12.71 points from the untrained [CLS] (at least +5; n = 2)"  # t of one degree of freedom, an error of 1
    found = judged(result(one, filled(one, a=2.0, b=9.0, c=9.0)))
    assert found.not_comparable == "" and found.withheld == {"AB": words}
    assert [(one.outcome, one.reason) for one in verdicts(found)] == [("not comparable", words), ("undecided", "")]
    assert judged(result(one, filled(one, a=9.0, b=9.0, c=0.0))).withheld == {}  # c need not
    assert judged(result(one, filled(one, b=9.0))).withheld == {}  # a has not run
    assert set(judged(result(one, filled(one, a=9.0, b=1.0, c=9.0))).withheld) == {"AB", "BC"}


def test_of_cells_that_one_entry_names_each_has_to_learn():
    every = claiming(must_learn=((None,),))
    assert set(judged(result(every, filled(every, a=9.0, b=9.0, c=2.0))).withheld) == {"AB", "BC"}
    assert judged(result(every, filled(every, a=9.0, b=9.0, c=9.0))).withheld == {}


def test_claims_of_a_study_that_is_not_begun_are_withheld_by_what_must_learn():
    one, here = claiming(), edition(3, "repaired", STEPS_200)
    found = not_begun(one, here, filled(one, a=2.0, c=1.0))
    assert found.not_comparable == "" and set(found.withheld) == {"AB"} and all(run.rows is None for run in found.runs)
    named = not_begun(claiming(reference=("a",)), here, filled(one, a=2.0))
    assert named.not_comparable.startswith("the trained reference (a) is +2.00") and set(named.withheld) == {"AB"}


@pytest.mark.parametrize(
    ("checks", "words"), [(5, "the last third of the run has 2 development checks, too few for a range (at least 4)"), (12, "")]
)
def test_a_range_late_in_training_takes_checks(checks, words):
    one = claiming(metric=Metric(task="dev", title="Range", quantity="curve_late_range", checkpoint="curve"), must_learn=())
    found = judged(result(one, scale=dataclasses.replace(STEPS_200, checks=checks)))
    assert found.withheld == ({"AB": words, "BC": words} if words else {})
    named = dataclasses.replace(
        claiming(must_learn=()), claims=(Claim(key="X", text="", predicate=of_metric(greater(("a",), ("b",)), one.metric)),)
    )
    assert judged(result(named, scale=dataclasses.replace(STEPS_200, checks=checks))).withheld == ({"X": words} if words else {})


@pytest.mark.parametrize("seed, outcome", [(0, "not comparable"), (3, "not comparable"), (None, "undecided")])
def test_a_failed_run_that_counts_for_nothing_ends_the_looks_and_the_claim_says_so(seed, outcome):
    """A range of scores has no worst value. Three seeds of a and b are there, and open; a failed fourth keeps them from five."""
    late = Metric(task="dev", title="Range", quantity="curve_late_range", checkpoint="curve")
    one, scale, store = claiming(metric=late, must_learn=()), dataclasses.replace(STEPS_200, checks=12), FakeStore()
    here = edition(3, "repaired", scale)
    for cell in one.cells:
        for number in range(3):
            store.add(here.config(one, cell, number), 50.0 + 3 * number * (cell.labels == ("b",)) - 3, scale=scale)
    if seed is not None:
        store.add(here.config(one, one.cells[0], seed), 50.0, scale=scale, status="diverged")
    found = judged(result(one, store, scale))
    first, second = verdicts(found)
    assert (first.outcome, second.outcome) == (outcome, "undecided")
    words = f"seed {seed} of a diverged, and Spearman × 100 has no worst value to count that run by"
    assert first.reason == (words if outcome == "not comparable" else "")


def test_a_cell_that_must_learn_has_to_be_there():
    with pytest.raises(UserError, match="no cell d that could learn"):
        check_shape(claiming(must_learn=(("d",),)))


def test_before_any_run_the_gain_is_not_known_and_refuses_nothing():
    found = comparability(result(study(a={"queue.size": 512})))
    assert kinds(found)["gain"].met is None and found.reasons == ()
    assert "not known" in set(check_frame([result(study(a={"queue.size": 512}))])["met"])


def test_the_frame_has_every_number():
    frame = check_frame([result(study(a={"queue.size": 4096}))]).set_index("check")
    turnover = frame.loc["turnover"]
    assert (turnover["value"], turnover["limit"], turnover["met"], frame.loc["gain"]["met"]) == (0.32, 0.05, "no", "not known")
