"""MoCoSE's studies: every cell is a valid run with the paper's settings, and what is the same setting is the same run."""

import pytest
from fake_store import SOURCES
from mocose_cells import MOCOSE, PLACES, config

from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import DEMO, MINI, STS_TESTS, TRANSFER
from core.spec.vary import read


@pytest.mark.parametrize("study", MOCOSE.values(), ids=MOCOSE)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scale, sources", PLACES, ids=["demo", "mini", "paper"])
def test_every_cell_that_a_scale_has_is_a_run_and_no_entry_is_there_twice(study, profile, scale, sources):
    seen = set()
    study = study.at(scale)
    for cell in study.cells:
        if study.unavailable(cell, scale, sources) is None:
            run = study.config(cell, profile=profile, scale=scale, sources=sources, seed=1)
            assert run.scale == scale.name and run.encoder.digest == sources.encoder(cell.encoder).digest
            seen.add((run_id(run), study.metric_of(cell)))
        else:
            text = cell.changes.get("text")  # a rewriting that needs a model
            assert cell.copied or cell.encoder != "bert-base" or (text is not None and text.model is not None)
    assert len(seen) == sum(study.unavailable(cell, scale, sources) is None for cell in study.cells)


def test_only_larger_and_other_encoders_and_copied_rows_are_missing_where_there_is_one_encoder():
    left = {
        name: {cell.labels[0] for cell in study.cells if study.unavailable(cell, MINI, SOURCES) is None} for name, study in MOCOSE.items()
    }
    assert left["table1"] == {"BERT (first-last avg.)", "BERT-whitening", "SimCSE-BERT-base", "MoCoSE-BERT-base"}
    assert left["table2"] == {"Avg. BERT embeddings", "BERT-[CLS] embedding", "SimCSE-BERT-base", "MoCoSE-BERT-base"}
    assert left["figure13"] == set()
    assert {cell.labels[0] for cell in MOCOSE["table5"].cells} - left["table5"] == {"Paraphrasing", "Back-translation"}
    others = set(left) - {"table1", "table2", "figure13", "table5"}
    assert all(left[name] == {cell.labels[0] for cell in MOCOSE[name].cells} for name in others)
    assert {cell.labels[0] for cell in MOCOSE["table1"].cells if cell.copied} == {
        "GloVe (avg.)", "BERT-flow", "IS-BERT", "CT-BERT", "DeCLUTR-RoBERTa",
    }  # fmt: skip


def test_the_standard_setting_is_one_run_in_every_table():
    shared = [
        ("table3", "0.85"), ("table4", "1", "2"), ("table5", "FGSM 5e-9"), ("table6a", "768"), ("table6b", "64"), ("table9", "5e-9"),
        ("table7", "quarter", "512"), ("figure2", "64", "14.67"), ("figure3", "64", "14.67"), ("figure5", "standard", "last"),
        ("kmeans", "normal"),
    ]  # fmt: skip
    for profile in PROFILES:
        for scale, sources in PLACES:
            ids = {run_id(config(MOCOSE[n], *labels, profile=profile, scale=scale, sources=sources)) for n, *labels in shared}
            assert len(ids) == 1
    pairs = [(("table6b", "128"), ("figure3", "128", "10.67")), (("table6b", "256"), ("figure3", "256", "8.67")),
             (("table7", "half", "256"), ("figure3", "64", "10.67")), (("table9", "none"), ("table5", "Dropout only")),
             (("figure4", "uniformity", "12"), ("figure3", "256", "12")), (("figure2", "256", "21"), ("figure3", "256", "21")),
             (("figure7", "SimCSE", "at 50"), ("table1", "SimCSE-BERT-base", "STS16")),
             (("figure7", "MoCoSE", "at 50"), ("table1", "BERT (first-last avg.)", "avg")),
             (("figure7", "MoCoSE", "at 50"), ("figure7", "BERT", "at 50")),
             (("table1", "MoCoSE-BERT-base", "avg"), ("table1", "BERT-whitening", "STS12")),
             (("table2", "MoCoSE-BERT-base", "dev", "MR"), ("table2", "BERT-[CLS] embedding", "test", "MR"))]  # fmt: skip
    for (one, *here), (other, *there) in pairs:
        assert run_id(config(MOCOSE[one], *here)) == run_id(config(MOCOSE[other], *there))


def test_settings_that_are_easy_to_get_wrong():
    run = config(MOCOSE["table8"], "without 256~768")
    assert (run.queue.size, run.queue.init_size, run.train.batch_size, run.eval.every) == (1024, 128, 256, 100)
    assert config(MOCOSE["table8"], "all", profile="repaired").eval.every == 175
    assert run.queue.slice == ((0, 256), (768, 1024)) and run.fgsm.epsilon == 5e-9
    assert config(MOCOSE["table8"], "all").queue.slice is None
    assert config(MOCOSE["table8"], "512~1024", scale=DEMO, sources=SOURCES).queue.slice == ((512, 1024),)
    collapse = config(MOCOSE["figure5"], "no predictor, η = 0", "last")
    assert (collapse.heads.predictor_layers, collapse.ema.schedule, collapse.ema.start, collapse.ema.end) == (0, "constant", 0.0, None)
    revival = config(MOCOSE["figure5"], "predictor, η from 0", "last")
    assert (revival.heads.predictor_layers, revival.ema.schedule, revival.ema.start) == (2, "released_cosine", 0.0)
    dropout, shuffled = config(MOCOSE["table5"], "Dropout only"), config(MOCOSE["table5"], "Position shuffle", profile="released")
    assert dropout.fgsm.gradient == "none" and not dropout.aug.active() and dropout.text is None
    assert shuffled.eval.apply_augmentation and shuffled.aug.position_shuffle == "per_batch" and shuffled.fgsm.epsilon == 0
    assert config(MOCOSE["table5"], "Typos").text.kind == "typos" and config(MOCOSE["table5"], "Typos").train.batch_size == 64
    assert config(MOCOSE["table4"], "0", "3", scale=DEMO, sources=SOURCES).heads.out_size == SOURCES.encoder_hidden
    large = config(MOCOSE["table1"], "MoCoSE-BERT-large", "avg")
    assert (large.train.batch_size, large.train.learning_rate, large.queue.size, large.heads.out_size) == (32, 1e-5, 512, 1024)
    assert config(MOCOSE["table1"], "SimCSE-RoBERTa-large", "avg", profile="released").train.batch_size == 512
    assert config(MOCOSE["table2"], "SimCSE-BERT-base", "dev", "MR").eval.transfer
    assert config(MOCOSE["kmeans"], "15 clusters").queue.clusters == 15


def test_the_distance_in_a_label_is_that_of_its_setting():
    for name, place in (("figure2", 1), ("figure3", 1), ("figure4", 1), ("figure13", 0)):
        for cell in MOCOSE[name].cells:
            if cell.labels[place] != "SimCSE":
                run = config(MOCOSE[name], *cell.labels)
                assert 1 / (1 - run.ema.start) + run.queue.size / run.train.batch_size == pytest.approx(
                    float(cell.labels[place]), abs=0.005
                )


@pytest.mark.parametrize("study", MOCOSE.values(), ids=MOCOSE)
def test_cells_keep_what_they_vary_under_every_profile(study):
    for cell in study.cells:
        for profile in PROFILES:
            own = {**study.base_changes, **study.by_profile.get(profile, {})} if cell.method in (None, study.method) else {}
            run = study.paper_config(cell, profile)
            for path, value in {**own, **cell.changes, **cell.by_profile.get(profile, {})}.items():
                if path == "text":  # what it says of the code's slips is the profile's (D26, D27)
                    assert (run.text.rate, run.text.model) == (value.rate, value.model) and (profile == "released" or run.text == value)
                else:
                    assert read(run, path) == value


def test_tests_and_probes_are_the_scales():
    assert MOCOSE["table1"].axis("task").labels == (*STS_TESTS, "avg")
    assert MOCOSE["table2"].axis("task").labels == (*TRANSFER, "avg")
    demo = MOCOSE["table1"].at(DEMO)
    assert demo.axis("task").labels == (*DEMO.tests, "avg")
    assert {claim.key for claim in demo.claims} == {"T1.1", "T1.4", "T1.6", "T1.6 (large)"}
    by_labels = {cell.labels: cell for cell in demo.cells}
    assert by_labels["BERT (first-last avg.)", DEMO.tests[0]].metric.checkpoint == "untrained_first_last"
    assert by_labels["MoCoSE-BERT-base", DEMO.tests[0]].metric.task == DEMO.tests[0]
    assert by_labels["CT-BERT", "avg"].copied and by_labels["CT-BERT", "avg"].published == 72.05
