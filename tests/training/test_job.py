"""A whole run at scale demo, a few steps long: rows, selection, determinism, collapse,
divergence."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold
from small_runs import run as result_of
from small_runs import shared_cache, small, thinned

from core.config.quantities import EXCESS
from core.config.scale import DEMO
from core.config.vary import vary
from core.data.own_data import own_digest, own_sets
from core.data.sources import demo_sources
from core.encoder import tokens
from core.errors import UserError
from core.evaluation import scoring, transfer
from core.evaluation.edits import EDITS
from core.evaluation.metrics import AGGREGATES
from core.evaluation.scoring import EvaluationResult, Scorer
from core.methods.mocose.sections import TextView
from core.rewriting import rewrite
from core.training import job, provenance
from core.training.execution import Execution
from core.training.job import load_encoder, scorer_for
from core.training.run import Run
from core.training.trainer import BestCheckpoint, TrainingState


@pytest.fixture(scope="module")
def execution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return Execution(results_dir=str(folder), cache_dir=shared_cache(), sources=demo_sources())


@pytest.fixture(scope="module", autouse=True)
def thin_sets():
    """All runs here are scored on the thinned sets, and the transfer tasks with one C on three
    folds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "load_demo", thinned)
        for grid in ("WIDE_GRID", "HIGH_GRID"):
            patch.setattr(transfer, grid, (1.0,))  # tests/evaluation/test_transfer.py tries each
        patch.setattr(transfer, "FOLDS", StratifiedKFold(3, shuffle=True, random_state=1))
        yield


@pytest.fixture(scope="module")
def whole(execution):
    """The result of the small run with transfer tasks, checked after every other step."""
    return result_of(small(eval__transfer=True), execution)


def values(result, checkpoint, task, metric):
    return [
        row.value
        for row in result.rows
        if (row.checkpoint, row.task, row.metric) == (checkpoint, task, metric)
    ]


def test_rows_and_pairs_of_a_run(whole):
    assert whole.status == "ok" and {block.task for block in whole.pairs} == {*DEMO.tests, "DEV"}
    for checkpoint in ("selected", "last"):
        tests = [values(whole, checkpoint, task, "spearman_all")[0] for task in DEMO.tests]
        (average,) = values(whole, checkpoint, "avg", "spearman_all")
        assert average == pytest.approx(sum(tests) / len(tests))
        assert len(values(whole, checkpoint, "dev", "spearman_wmean")) == 1
    curve = [row for row in whole.rows if row[:3] == ("curve", "dev", "spearman_all")]
    assert [row.step for row in curve] == [0, 2, 4]
    best = max(row.value for row in curve[1:])
    assert values(whole, "selected", "dev", "spearman_all") == [pytest.approx(best, abs=1e-9)]
    for checkpoint in ("selected", "untrained"):  # MoCoSE, Figure 7
        assert values(whole, checkpoint, "dev", "singular_value_127")
    assert values(whole, "last", "train", "mtd_nominal") == [pytest.approx(1 / 0.15 + 512 / 16)]
    assert 0 < values(whole, "last", "train", "fgsm_changed_fraction")[0] <= 1
    assert 0 < whole.provenance["step_seconds"] < whole.provenance["seconds"]["train"]
    for task in (*DEMO.probes, "avg_transfer"):
        for checkpoint in ("selected", "untrained", "untrained_first_last"):
            assert 5 < values(whole, checkpoint, task, "accuracy_test")[0] <= 100


def test_a_run_without_training_scores_where_every_run_starts(whole, execution, monkeypatch):
    # every embedding counts as collapsed, which is a result
    monkeypatch.setattr(scoring, "COLLAPSED_SPREAD", 2.0)
    untrained = result_of(small("untrained", "paper", train__steps=0), execution)
    assert untrained.status == "collapsed" and not values(untrained, "curve", "train", "loss")
    for task in (*DEMO.tests, "avg", "dev"):
        score = values(whole, "untrained", task, "spearman_all")
        assert values(untrained, "selected", task, "spearman_all") == pytest.approx(score)
    rank = values(whole, "untrained", "dev", "effective_rank")
    assert values(untrained, "selected", "dev", "effective_rank") == pytest.approx(rank)
    for edit in EDITS:  # what no trained run says of its start
        assert len(values(untrained, "selected", "edits", f"cosine_{edit}")) == 1


def test_what_the_papers_other_tables_need_is_measured(whole):
    for task in (*DEMO.tests, "dev"):
        (block,) = (b for b in whole.pairs if b.task == ("DEV" if task == "dev" else task))
        assert values(whole, "data", task, "pairs") == [len(block.gold)]
    trained, untrained = (
        {
            row.task: row.value
            for row in whole.rows
            if (row.checkpoint, row.metric) == (name, EXCESS)
        }
        for name in ("selected", "untrained")
    )
    assert trained and trained.keys() == untrained.keys() and trained != untrained
    for edit in EDITS:
        assert len(values(whole, "selected", "edits", f"cosine_{edit}")) == 1
    baselines = "untrained untrained_first_last untrained_first_last_0 bag_of_words whitening"
    for checkpoint in baselines.split():
        assert len(values(whole, checkpoint, "avg", "spearman_all")) == 1
    geometry = {row.metric for row in whole.rows if row.metric[:5] in ("align", "unifo")}
    assert geometry == {  # D43
        f"{metric}_{mode}"
        for metric in ("alignment", "alignment_all", "uniformity")
        for mode in ("global", "batched64")
    }


def test_neither_more_checks_nor_transfer_tasks_move_the_training(whole, execution):
    often = result_of(small(eval__every=1), execution)
    for task in DEMO.tests:
        score = values(whole, "last", task, "spearman_all")
        assert values(often, "last", task, "spearman_all") == score
    losses = values(often, "curve", "train", "loss")
    means = [sum(losses[:2]) / 2, sum(losses[2:]) / 2]
    assert values(whole, "curve", "train", "loss") == pytest.approx(means, rel=1e-6)


def test_a_run_is_selected_by_its_tests_where_the_profile_says_so(execution):
    result = result_of(small("mocose", "released"), execution)
    assert result.status == "ok"
    (score,) = values(result, "selected", "avg", "spearman_all")
    curve = values(result, "curve", "avg", "spearman_all")
    # in other batches the last bits differ, and two ranks may swap
    assert len(curve) == 2 and score == pytest.approx(max(curve), abs=1e-3)


# Table 5, D26
def test_a_rewritten_text_asks_for_no_further_package(execution, monkeypatch, tmp_path):
    monkeypatch.setattr(rewrite, "rewrite", lambda text, texts, *_: [f"{t} Yes." for t in texts])
    version = provenance.metadata.version

    def installed(package):
        if package not in provenance.LIBRARIES:
            raise provenance.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(provenance.metadata, "version", installed)
    view = TextView(kind="contextual_insert", model="encoder")
    config = small(text=view, fgsm__gradient="none", fgsm__epsilon=0.0)
    monkeypatch.setattr(tokens, "training_text", lambda data, path: ["The dog."] * data.rows)
    texts = []
    for change in ({}, {"text.view": "both"}):
        run_ = Run(vary(config, change), replace(execution, cache_dir=str(tmp_path)))
        texts.append(job.training_text_of(run_, load_encoder(run_)[1]))
    target, both = texts
    recorded = provenance.provenance_before(run_, both.rewritten)
    assert recorded["rewritten_text"] and np.array_equal(target.rewritten.ids, both.rewritten.ids)
    assert not np.array_equal(target.table.ids, both.table.ids)


def test_a_package_that_is_not_installed_is_missed_before_the_first_step(execution, monkeypatch):
    monkeypatch.setattr(provenance, "LIBRARIES", ("no-such-package",))
    monkeypatch.setattr(job, "train", None)
    with pytest.raises(provenance.metadata.PackageNotFoundError):
        result_of(small(), execution)


def test_divergence_is_a_result(execution):
    diverging = {"train__learning_rate": 1e30, "train__clip_norm": 1e30}
    result = result_of(small(train__warmup_fraction=0.0, **diverging), execution)
    assert result.status == "diverged" and not result.pairs
    assert len(values(result, "last", "train", "diverged_at")) == 1
    assert not values(result, "selected", "avg", "spearman_all")


class Numbered:
    """A model whose scored parts are the number of the step."""

    step = 0

    def scored_parts(self):
        return self

    def state_dict(self):
        return {"step": torch.tensor(self.step)}


@pytest.mark.parametrize(
    "metric, scores, expected",
    [
        ("dev", [3.0, 5.0, 5.0, 4.0], 2),  # the earlier of equals
        ("dev", [math.nan, 1.0, math.nan], 2),  # any score is better than none
        ("dev", [math.nan, math.nan], 2),
        ("last", [5.0, 4.0, 5.0], 3),
    ],
)
def test_the_best_check_is_selected_and_the_earlier_of_equals(metric, scores, expected):
    config = small(select__metric="last") if metric == "last" else small()
    model = Numbered()
    selection = BestCheckpoint(config, model, TrainingState())
    for model.step, score in enumerate(scores, start=1):
        selection.consider(model.step, score)
    assert selection.selected.step == int(selection.selected.state["step"]) == expected


@pytest.mark.parametrize("field", ["encoder__digest", "data__digest", "eval__digest", "data__rows"])
def test_other_data_than_planned_is_refused(field, execution):
    changes = {field: 128 if field == "data__rows" else "0"}
    with pytest.raises(UserError, match="planned with"):
        result_of(small(**changes), execution)


class StubScorer:
    """Scores by name: (all, mean, wmean), whatever the model."""

    tests = ("A", "B")
    dev_sentences = ("a", "b")

    def score(self, model, names):
        known = {"dev": (10.0, 20.0, 30.0), "A": (50.004, 60.0, 70.0), "B": (51.0, 61.0, 71.5)}
        scores = {name: dict(zip(AGGREGATES, known[name], strict=True)) for name in names}
        return EvaluationResult(scores, (), {}, lambda texts: np.eye(2))


TESTS = {"select.metric": "sts_test_avg"}


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, 10.0),
        ({"sts.aggregate": "mean"}, 20.0),
        ({"sts.aggregate": "wmean"}, 30.0),  # D80
        (TESTS | {"select.score": "mean_of_7"}, 50.502),  # D40
        (TESTS | {"select.score": "mean_of_7", "sts.aggregate": "wmean"}, 70.75),
        (TESTS | {"select.score": "mean_of_8_rounded"}, (50.0 + 51.0 + 50.5) / 3),  # D41
    ],
)
def test_what_selects_a_checkpoint(changes, expected):
    score, rows = Scorer.check(StubScorer(), None, vary(small(), changes), 7)
    assert score == pytest.approx(expected, abs=1e-9)
    assert rows[0].step == 7
    assert rows[0].task == "dev"
    assert ("curve", "dev", "mean_cosine", 7, 0.0) in rows


def test_pairs_in_another_order_have_their_own_sentences(tmp_path):
    """embeddings-benchmark/mteb#1366, sentence-transformers#3338: a kept table, and sentences in
    another order."""
    for name, words in {"a": "a cat", "b": "two dogs that run", "dev": "one house"}.items():
        pairs = (f"{words} {i}\t{words} again {i % 3}\t{i}\n" for i in range(4))
        (tmp_path / f"{name}.tsv").write_text("".join(pairs))
    for order in (("dev", "a", "b"), ("b", "dev", "a")):
        files = tuple((name, tmp_path / f"{name}.tsv") for name in order)
        digest = own_digest(own_sets(files), None)
        config = vary(small("simcse"), {"scale": "mini", "eval.digest": digest})
        places = {"results_dir": str(tmp_path), "cache_dir": str(tmp_path / "cache")}
        run = Run(config, Execution(**places, sources=replace(demo_sources(), pairs=files)))
        encoder, tokenizer = load_encoder(run)
        scorer = scorer_for(run, tokenizer, encoder)
        for sentence, place in scorer.index.items():
            assert scorer.table[place].tolist() == tokenizer(sentence)["input_ids"], sentence
