"""What each claim requires, by hand: queue, slow branch, lag, length, updates, and a method that
learns."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fake_store import SOURCES, FakeStore, add_simcse, as_table, made_setup, reworded
from made_scales import SHIPPED_STUDIES
from resolved import config_at
from scipy import stats

from core.config.methods import base
from core.config.scale import DEMO, MINI, PAPER, at_scale
from core.config.vary import vary
from core.data.encoders import MINI_ENCODER_DIGEST
from core.errors import UserError
from core.report.comparability import (
    START,
    against_bar,
    gain,
    learning,
    other_start,
    task_of,
    trained,
)
from core.report.frames import cell_frame, check_frame, claim_frame
from core.report.quantities import Rows
from core.report.run_lengths import initial_share, lag, length, too_few_steps, turnover
from core.report.statistics import over_seeds
from core.report.verdicts import judgeable_claims, reasons, study_result, why_unmarked
from core.report.words import number_note, run_notes, scope_note
from core.study.check import check_study
from core.study.claim import Claim, collapsed, greater
from core.study.reason import in_words
from core.study.registered import KNOWN_DATA, rows_of
from core.study.resolution import resolve
from core.study.study import Axis, Metric, Row
from core.study.study import study as make
from core.study.variants import varied
from studies import find

EMA = {"ema.end": None, "ema.total_updates": None}
CONSTANT = EMA | {"ema.schedule": "constant", "ema.start": 0.9}


ROWS = {
    "a": Row({"queue.size": 512}),
    "b": Row({"queue.size": 256}),
    "s": Row(method="simcse"),
    "t": Row({"loss.temperature": 0.1}, method="simcse"),
}


def study(rows=ROWS, **fields):
    """Cells a and b of MoCoSE, s and t of SimCSE, with claims on ab, as, st and on collapse."""
    pairs = {"AB": greater("a", "b"), "AS": greater("a", "s"), "S": greater("s", "t")}
    claims = [Claim(key=key, text="t", predicate=pair) for key, pair in pairs.items()]
    claims.append(Claim(key="C", text="t", predicate=collapsed("a"), margin=None))
    stated = {"name": "mocose-small", "paper": "mocose", "caption": "Small", "method": "mocose"}
    stated |= {"base": CONSTANT, "figure": None, "reference": "a", "claims": tuple(claims)}
    return make(rows=Axis("size", "Cell", rows), **stated | fields)


def filled(
    one, simcse=(59.0, 60.0, 61.0), before=(50.0, 50.0), cosine=0.8, sources=SOURCES, **scores
):
    """A study's result at scale mini: an untrained encoder scores 50, SimCSE 60, and cells these
    numbers by seed."""
    store = FakeStore()
    at = made_setup(3, scale=MINI, sources=sources)
    add_simcse(store, at, *simcse, untrained=before[1])
    for cell in one.cells:
        for seed, score in enumerate(scores.get(cell.labels[0], ())):
            score, status = score if isinstance(score, tuple) else (score, "ok")
            config = config_at(at, one, cell, seed)
            run = store.add(config, score, scale=MINI, status=status, untrained=before[0])
            run.rows.loc[len(run.rows)] = ("last", "dev", "mean_cosine", 300, 0.3)
            run.rows.loc[len(run.rows)] = ("untrained", "dev", "mean_cosine", 0, cosine)
    return study_result(resolve(one, at), store)


def no_verdict(judged):
    return {one.claim.key: one.reason for one in judged.verdicts if one.outcome == "no verdict"}


def kinds(judged):
    """Why claims have no verdict."""
    return {reason.kind for verdict in judged.verdicts for reason in verdict.barred}


def provisional(judged):
    return {one.claim.key: one.provisional for one in judged.verdicts if one.provisional}


def around(mean, spread=1.0):
    return (mean - spread, mean, mean + spread)


CLOSE = {
    "a": (52.0, 54.0, 55.0), "b": (30.0, 32.01, 32.99), "s": around(60.0), "t": around(57.0)
}  # fmt: skip
FAR = {"a": around(58.0), "b": around(52.0), "s": around(60.0), "t": around(57.0)}


def test_shares_of_the_run_and_the_lag_by_hand():
    short = dataclasses.replace(DEMO, steps=200)
    paper = vary(base("mocose", "repaired"), {"queue.size": 500, **CONSTANT})
    run = at_scale(paper, short, SOURCES)
    assert turnover(run) == 8 / 200  # 500 entries are seven batches of 64 and a part of the eighth
    assert initial_share(run) == pytest.approx(0.9**100)
    assert run.memory == pytest.approx(10 + 500 / 64)
    assert lag(run, paper) == pytest.approx(1e-3 / 3e-5)
    assert length(run, paper) == pytest.approx(200 * 64 / 1e6 * 1e-3 / 3e-5)
    slower = vary(run, {"ema.start": 0.99, "train.learning_rate": 3e-5})
    assert lag(slower, paper) == pytest.approx((100 + 500 / 64) / (10 + 500 / 64))
    plain = at_scale(base("simcse", "repaired"), short, SOURCES)
    assert (turnover(plain), initial_share(plain), plain.memory) == (0, 0, 0)
    rising = EMA | {"ema.schedule": "cosine_to_end", "ema.start": 0.75, "ema.end": 0.95}
    run = at_scale(vary(base("mocose", "repaired"), rising), short, SOURCES)
    etas = [0.95 - 0.2 * (math.cos(math.pi * step / 200) + 1) / 2 for step in range(1, 101)]
    assert initial_share(run) == pytest.approx(math.prod(etas))
    assert run.memory == pytest.approx(20 + 512 / 64)


def test_a_scale_of_the_papers_length_can_judge_every_study_and_the_demo_no_queue():
    rows = dataclasses.replace(SOURCES, corpus_rows=1_000_000)
    for one in SHIPPED_STUDIES:
        for scale, sources in ((MINI, SOURCES), (PAPER, rows)):
            at = made_setup(1, scale=scale, sources=sources)
            barred = no_verdict(study_result(resolve(one, at)))
            assert not barred, (one.name, scale.name, barred)
    barred = no_verdict(study_result(resolve(find("mocose-table7"), made_setup(1))))
    assert set(barred) == {one.key for one in find("mocose-table7").claims}
    assert all("160 steps are too few" in why for why in barred.values())
    # SimCSE alone
    assert "F2.3" not in no_verdict(study_result(resolve(find("mocose-figure2"), made_setup(1))))


def test_what_scale_mini_is_stands_beside_its_verdicts():
    encoder = SOURCES.encoder._replace(digest=MINI_ENCODER_DIGEST)
    sources = dataclasses.replace(SOURCES, encoders=(encoder,), corpus_rows=48_118)
    words = scope_note(study_result(resolve(study(), made_setup(1, scale=MINI, sources=sources))))
    cut = "mini's encoder was cut from a sentence encoder"
    assert cut in words
    # an encoder of the user's
    assert cut not in scope_note(study_result(resolve(study(), made_setup(1, scale=MINI))))
    assert not scope_note(study_result(resolve(study(), made_setup(1, scale=PAPER))))


def test_the_error_of_test_pairs_stands_where_it_was_measured_alone():
    """Of averages, on one text and these pairs with one encoder: known_data.csv has their
    digests."""
    (row,) = (row for row in rows_of(KNOWN_DATA) if row["score"] == "avg spearman")
    encoder = SOURCES.encoder._replace(digest=row["encoder"])
    here = {"corpus_digest": row["text"], "evaluation_digest": row["pairs"]}
    here = dataclasses.replace(SOURCES, encoders=(encoder,), **here)
    gap = dataclasses.replace(study(), metric=Metric(task="avg", title="", quantity="length_gap"))
    for one, sources, stands in (
        (study(), here, True),
        (study(), dataclasses.replace(here, corpus_digest="another"), False),
        (study(), dataclasses.replace(here, evaluation_digest="another"), False),
        (study(), SOURCES, False),
        (gap, here, False),
    ):
        at = made_setup(1, scale=MINI, sources=sources)
        assert (row["sentence"] in number_note(study_result(resolve(one, at)))) is stands


def test_a_claim_on_trained_cells_has_the_start_beside_it_where_that_is_known_to_be_another():
    """Whatever the method, and without a verdict, too; the encoder decides, by its digest."""
    known = SOURCES.encoder._replace(digest=MINI_ENCODER_DIGEST)
    fails = FAR | {"a": around(50.5), "b": around(50.0)}
    for encoder, keys in ((known, {"AB", "AS", "S", "C"}), (SOURCES.encoder, set())):
        judged = filled(study(), sources=dataclasses.replace(SOURCES, encoders=(encoder,)), **fails)
        assert set(no_verdict(judged)) == {"AB", "AS"}
        assert {one.claim.key for one in judged.verdicts if START in one.reason} == keys


def test_a_claim_on_another_start_too_names_it():
    cells = []
    for digest, words in ((MINI_ENCODER_DIGEST, START), ("another", "")):
        run = SimpleNamespace(encoder=SimpleNamespace(digest=digest))
        cells.append(SimpleNamespace(begun=True, trains=True, config=lambda _, run=run: run))
        assert other_start(cells) == words


@pytest.mark.parametrize(
    "setting, words",
    [
        ("train.steps=3000", "rate × sentences read is 0.19 times"),
        ("ema.start=0.99", "7.4 times as far as the paper's; at most 3 times is allowed (b)"),
    ],
)
def test_a_setting_that_breaks_a_check_says_which_claims_it_cannot_judge(setting, words):
    at = made_setup(3, scale=MINI)
    one = study()
    barred = no_verdict(study_result(resolve(varied(one, at, (setting,)), at)))
    assert {"AB", "AS", "C"} == set(barred) and words in barred["AB"], barred


def test_each_claim_has_its_own_gates():
    good = filled(study(), **FAR)
    assert not no_verdict(good) and not provisional(good)
    (passes,) = [check for check in good.checks if check.kind == "passes"]
    assert passes.value == pytest.approx(25.0)  # 15,625 steps of 64 over 40,000 sentences
    poor = filled(study(), **{**FAR, "a": around(52.0, 0.5)})
    assert set(no_verdict(poor)) == {"AB", "AS"}  # not SimCSE's own, nor collapse
    row = claim_frame([poor]).set_index("claim").loc["AB"]  # what is not judged is still shown
    assert row["estimate"] == pytest.approx(0.0) and row["ci95_low"] < 0 < row["ci95_high"]
    gains = "+2.0 ± 1.2 over the best untrained vector; a third of SimCSE's +10.0 ± 2.5"
    assert row["verdict"] == "no verdict" and gains in row["reason"]
    of_simcse = learning(good, "avg")["simcse", "bert-base"].reason.words
    assert of_simcse.count("+") == 1  # compared with no other gain
    exempt = dataclasses.replace(study().claims[0], gate="none")
    assert not no_verdict(filled(study(claims=(exempt,)), **{**FAR, "a": around(52.0, 0.5)}))


def test_a_gain_that_is_too_close_to_the_bar_makes_verdicts_provisional():
    close = filled(study(), **CLOSE)
    assert set(provisional(close)) == {"AB", "AS"}
    assert "too close to call" in in_words(provisional(close)["AB"])
    verdict = next(one for one in close.verdicts if one.claim.key == "AB")
    assert verdict.outcome == "supported" and verdict.reason.startswith("provisional: ")
    assert "+3.7" in verdict.reason


@pytest.mark.parametrize("runs, simcse, one", [(1, 3, True), (3, 1, True), (2, 2, False)])
def test_one_run_has_no_interval_and_two_runs_are_not_called_one(runs, simcse, one):
    scores = {name: CLOSE[name][:runs] for name in "ab"}
    judged = filled(study(), simcse=(59.0, 60.0, 61.0)[:simcse], **scores)
    words = learning(judged, "avg")["mocose", "bert-base"].reason.words
    assert ("one run does not show" in words) is one
    assert ("too close to call" in words) is not one


def test_a_run_has_too_few_steps_where_no_rate_meets_both_limits():
    """Against a search over learning rates."""
    run = study().paper_config(study().cells[0], "paper")
    for steps in (160, 1_000, 1_800, 3_000, 15_625):
        able = []
        for factor in np.geomspace(0.01, 1_000, 501):
            rate = float(run.train.learning_rate * factor)
            tried = vary(run, {"train.steps": steps, "train.learning_rate": rate})
            able.append(lag(tried, run) <= 3.0 and length(tried, run) >= 1 / 3)
        shorter = vary(run, {"train.steps": steps, "train.learning_rate": 1e-3})
        assert too_few_steps(shorter, run) is not any(able), steps


def test_the_bar_is_welchs_interval_of_the_gain_less_a_third_of_simcses():
    gains = [4.0, 6.0, 5.5, 4.9], [12.0, 14.0, 13.0]
    method, simcse = map(over_seeds, gains)
    above, half = against_bar(method, simcse)
    test = stats.ttest_ind(gains[0], [one / 3 for one in gains[1]], equal_var=False)
    assert (above - half, above + half) == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert against_bar(method, over_seeds([-2.0, -1.0]))[0] == method.mean  # a bar of at least 0
    assert against_bar(method, over_seeds([12.0]))[1] == math.inf
    assert against_bar(over_seeds([5.0, 5.0]), over_seeds([3.0, 3.0]))[1] == 0.0


def test_without_simcse_or_the_reference_the_command_is_named():
    bare = filled(study(), simcse=(), a=around(58.0), b=around(52.0))
    assert no_verdict(bare)["AB"] == "train SimCSE first: `run_study.py simcse-alone --scale mini`"
    assert "C" not in no_verdict(bare)
    empty = filled(study())
    assert "a has no run: `run_study.py mocose-small --scale mini` trains it." in run_notes(empty)
    assert {verdict.outcome for verdict in empty.verdicts} == {"not run"}
    assert not why_unmarked(empty)


@pytest.mark.parametrize("status", ["diverged", "collapsed"])
def test_a_failed_reference_counts_as_a_score_of_0(status):
    failed = filled(study(), **{**FAR, "a": (60.0, (math.nan, status), (math.nan, status))})
    assert failed.checks[-1].value == pytest.approx((10 - 50 - 50) / 3)


def test_what_must_learn_stands_for_a_study_without_a_reference_and_its_best_row_does_not():
    """Or a claim that the best row collapses could be contradicted, and never hold."""
    one = study(reference=None, must_learn=(("b",),))
    poor = filled(one, **FAR)
    assert poor.checks[-1].value == pytest.approx(2.0)  # b's gain
    assert set(no_verdict(poor) | provisional(poor)) == {"AB", "AS"}
    best = filled(study(reference=None), **{**FAR, "b": around(59.0)})
    assert best.checks[-1].value == pytest.approx(9.0)
    with pytest.raises(UserError, match="must_learn speaks of d, which is no cell"):
        check_study(study(must_learn=(("d",),)))


ABOVE_T = Claim(
    key="S", text="t", predicate=greater(("s",), ("t",)), untrained=greater(("u",), ("t",))
)


def with_untrained(**fields):
    """The study with a row u without training."""
    return study(ROWS | {"u": Row(method="untrained")}, **fields)


def test_a_claim_has_no_verdict_where_the_untrained_encoder_shows_it():
    one = with_untrained(claims=(ABOVE_T,))
    assert not no_verdict(filled(one, **FAR, u=(50.0, 50.0, 50.0)))
    assert kinds(filled(one, **FAR, u=(58.0, 58.0, 58.0))) == {"untrained shows it"}
    assert kinds(filled(one, **FAR)) == {"untrained unmeasured"}
    assert not no_verdict(filled(one, u=(50.0, 50.0, 50.0)))  # the claim's own rows have no run


def test_a_claim_on_collapse_has_no_verdict_where_vectors_count_as_collapsed_before_training():
    both = {"predicate": collapsed(("a",)), "untrained": collapsed(("a",), "untrained")}
    claim = Claim(key="C", text="t", margin=None, gate="none", **both)
    one = study(claims=(claim,))
    for cosine, barred in ((0.8, False), (0.97, True)):
        assert bool(no_verdict(filled(one, cosine=cosine, **FAR))) == barred


def test_rows_without_training_need_not_learn_and_have_no_length():
    result = filled(with_untrained(reference=None), **FAR, u=(50.0, 50.0, 50.0))
    assert "u" not in {cell.name for cell in trained(result)} and not no_verdict(result)


def test_a_claim_on_a_row_that_the_scale_lacks_is_not_counted_as_judged():
    names = ("mocose-figure13", "esimcse-table2")
    assert [judgeable_claims(resolve(find(name), made_setup()))[0] for name in names] == [0, 1]


def decided(judged):
    """What tables, verdicts and notes decide, without a word of a reason."""
    return (
        claim_frame([judged]).drop(columns="reason"),
        check_frame(judged).drop(columns="words"),
        cell_frame(judged).drop(columns="unavailable"),
        pd.Series([len(run_notes(judged)), len(reasons(judged)), len(why_unmarked(judged))]),
    )


def test_other_words_of_every_reason_change_text_alone():
    def every():
        yield filled(study(), **FAR)
        yield filled(study(), **{**FAR, "a": around(52.0, 0.5)})
        yield filled(study(claims=()), **{**FAR, "a": around(52.0, 0.5)})
        yield filled(study(), **CLOSE)
        yield filled(study(), simcse=(), a=FAR["a"], b=FAR["b"])
        yield filled(study(), before=(math.nan, 50.0), a=FAR["a"], b=FAR["b"])
        yield filled(with_untrained(claims=(ABOVE_T,)), **FAR)
        yield filled(with_untrained(claims=(ABOVE_T,)), **FAR, u=around(58.0))
        for name in ("mocose-table3", "mocose-figure13", "esimcse-table5"):
            yield study_result(resolve(find(name), made_setup(1)))

    originals = list(every())
    with reworded():
        others = list(every())
    for original, other in zip(originals, others, strict=True):
        for first, second in zip(decided(original), decided(other), strict=True):
            assert first.equals(second)
    every_kind = set().union(*map(kinds, originals))
    assert {"too short", "gain", "no baseline", "no score", "untrained shows it"} <= every_kind
    assert {"untrained unmeasured", "no encoder"} <= every_kind


def gained(*scores, task="avg", made_up=False):
    """The gain of a run that has these scores by checkpoint and task."""
    rows = [(place, of, "spearman_all", 0, score) for place, of, score in scores]
    table = as_table(pd.DataFrame(rows, columns=["checkpoint", "task", "metric", "step", "value"]))
    return gain([SimpleNamespace(status="ok", rows=Rows(table, {}))], task, made_up).mean


def test_a_claim_is_gated_by_the_score_that_it_reads():
    """Cosines of the development set count as it; a claim on a test set needs their average."""
    dev, cosine = (
        Metric(task="dev", title="", quantity=name) for name in ("spearman", "mean_cosine")
    )
    sets = Metric(task="STS12", title="")
    assert [task_of(of) for of in ([dev, cosine], [dev, sets], [sets])] == ["dev", "avg", "avg"]
    scores = [("selected", "avg", 60.0), ("selected", "dev", 44.0)]
    scores += [("untrained", task, 40.0) for task in ("avg", "dev")]
    assert [gained(*scores, task=task) for task in ("avg", "dev")] == [20.0, 4.0]


def test_a_gain_counts_from_the_method_s_own_vector_where_that_is_not_cls():
    """Mean pooling that learns nothing has no gain, however much better than [CLS] it starts."""
    before, start, after = (
        (place, "avg", score)
        for place, score in (("untrained", 20.0), ("start", 50.0), ("selected", 50.5))
    )
    for made_up in (False, True):
        assert gained(before, start, after, made_up=made_up) == pytest.approx(0.5)
        assert gained(before, after, made_up=made_up) == pytest.approx(30.5)
        # the best of all that needs no training; in a made-up language the vector that is trained
        better = ("untrained_first_last_0", "avg", 51.0)
        expected = 0.5 if made_up else -0.5
        assert gained(before, start, after, better, made_up=made_up) == pytest.approx(expected)
