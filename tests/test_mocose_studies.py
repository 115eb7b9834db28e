"""MoCoSE's studies: every printed number is the reference's, every cell can be run, and no claim is missing or there twice."""

from dataclasses import replace

import pytest
from fake_store import SOURCES
from printed import printed_rows

from core.spec.identity import run_id
from core.spec.profiles import PROFILES
from core.spec.scale import DEMO, MINI, PAPER, STS_TESTS, TRANSFER, EncoderSource
from core.spec.study import Study
from core.spec.table import ENCODERS
from core.spec.vary import read
from studies import STUDIES

MOCOSE = {study.name.removeprefix("mocose-"): study for study in STUDIES if study.paper == "mocose"}
CLAIMS = """T1.1 T1.2 T1.3 T1.4 T1.5 T1.6 T1.7 T2.1 T2.2 T2.3 T3.1 T3.2 T3.3 T4.1 T4.2 T4.3 T5.1 T5.2 T5.3 T5.4 T5.5 T5.6 T5.7 T6a.1 T6a.2
T6b.1 T6b.2 T7.1 T7.2 T7.3 T7.4 T7.5 T8.1 T8.2 T8.3 T8.4 T9.1 F2.1 F2.2 F2.3 F3.1 F3.2 F4.1 F5.1 F5.2 F5.3 F5.4 F6.1 F6.2 F7.1 F7.2
F13.1 F13.2""".split()
LARGE = replace(
    SOURCES, corpus_rows=1_000_000, encoder_hidden=768,
    others=tuple(
        EncoderSource(stands_for=name, digest=name, hidden=1024 if name.endswith("large") else 768, name=name)
        for name in ENCODERS[1:]
    ),
)  # fmt: skip
PLACES = [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, LARGE)]


def reference(name: str) -> list[dict[str, str]]:
    """The rows of one of MoCoSE's printed tables."""
    return printed_rows(f"mocose_{name}")


def printed(study: Study) -> dict[tuple[str, ...], float]:
    return {cell.labels: cell.published for cell in study.cells if cell.published is not None}


def config(study: Study, *labels: str, profile: str = "paper", scale=PAPER, sources=LARGE, seed: int = 0):
    cell = next(cell for cell in study.cells if cell.labels == labels)
    return study.config(cell, profile=profile, scale=scale, sources=sources, seed=seed)


@pytest.mark.parametrize(
    "name, columns, rename",
    [
        ("table3", ("ema_decay",), {}),
        ("table4", ("proj_layers", "pred_layers"), {}),
        ("table5", ("augmentation", "parameter"), {
            "dropout_only,": "Dropout only", "fgsm,epsilon=5e-9": "FGSM 5e-9", "position_shuffle,on": "Position shuffle",
            "token_dropout,prob=0.1": "Token dropout 0.1", "feature_dropout,prob=0.01": "Feature dropout 0.01",
            "feature_dropout,prob=0.1": "Feature dropout 0.1", "typos,nlpaug SpellingAug": "Typos",
            "synonym_replace,nlpaug ContextualWordEmbsAug roberta-base": "Synonym replace",
            "paraphrasing,nlpaug ContextualWordEmbsForSentenceAug xlnet-base-cased": "Paraphrasing",
            "backtranslation,nlpaug BackTranslationAug en-de-en": "Back-translation",
        }),
        ("table6a", ("predictor_dim",), {}),
        ("table6b", ("batch_size",), {}),
        ("table7", ("init", "queue_size"), {}),
        ("table8", ("queue_slice",), {
            "0-512": "0~512", "256-768": "256~768", "512-1024": "512~1024", "without_256-768": "without 256~768",
        }),
        ("table9", ("fgsm_epsilon",), {}),
    ],
)  # fmt: skip
def test_tables_print_the_reference_and_nothing_else(name, columns, rename):
    keys = [",".join(row[column] for column in columns) for row in reference(name)]
    wanted = {tuple(rename.get(key, key).split(",")): float(row["value"]) for key, row in zip(keys, reference(name), strict=True)}
    assert printed(MOCOSE[name]) == wanted


@pytest.mark.parametrize("name", ["table1", "table2"])
def test_tables_1_and_2_print_the_reference_and_nothing_else(name):
    trained = {"SimCSE": "SimCSE-BERT", "MoCoSE": "MoCoSE-BERT"}
    wanted = {}
    for row in reference(name):
        model = trained.get(row["model"], row["model"])
        if model.startswith(("SimCSE", "MoCoSE")):
            model += "-" + row["size_group"]
        reported = () if name == "table1" else ("dev" if model.startswith("MoCoSE") else "test",)
        wanted[(model, *reported, row["task"].replace("SST2", "SST-2"))] = float(row["value"])
    assert printed(MOCOSE[name]) == wanted and len(wanted) == {"table1": 112, "table2": 72}[name]


@pytest.mark.parametrize("name", ["figure2", "figure3"])
def test_figures_2_and_3_print_what_was_read_off_figure_3(name):
    rows = {(r["batch_size"], f"{float(r['mtd']):g}", r["metric"]): float(r["value"]) for r in reference("fig3_digitised")}
    means = {key[:2]: value for key, value in rows.items() if key[2] == "mean_of_3_runs"}
    settings = {(r["batch_size"], f"{float(r['mtd']):g}"): (float(r["ema_decay_inferred"]), int(r["queue_size_inferred"]))
                for r in reference("fig3_digitised")}
    simcse = {("64", "SimCSE"): 76.25} if name == "figure2" else {}
    assert printed(MOCOSE[name]) == means | simcse
    for cell in MOCOSE[name].cells:
        if cell.method is None:
            assert (cell.changes["ema.start"], cell.changes["queue.size"]) == settings[cell.labels]
        if cell.published_runs:
            assert cell.published_runs == tuple(rows[(*cell.labels, m)] for m in ("run_min", "run_mid_inferred", "run_max"))


def test_figure_2_is_the_mean_of_figure_3():
    lines = {r["mtd"]: float(r["value"]) for r in reference("fig2_digitised") if r["metric"].startswith("mean_of_9")}
    for mtd, drawn in lines.items():
        found = [value for labels, value in printed(MOCOSE["figure2"]).items() if labels[1] == f"{float(mtd):g}"]
        assert sum(found) / 3 == pytest.approx(drawn, abs=0.02)


def test_single_runs_are_the_figures():
    dimensions = {(r["predictor_dim"], r["metric"]): float(r["value"]) for r in reference("fig10_digitised")}
    for cell in MOCOSE["table6a"].cells:
        assert cell.published_runs == tuple(dimensions[cell.labels[0], m] for m in ("run_min", "run_mid", "run_max"))
    runs = {(r["batch_size"], f"{float(r['mtd']):g}", r["metric"]): float(r["value"]) for r in reference("fig3_digitised")}
    for batch, mtd in (("128", "10.67"), ("256", "8.67")):
        cell = next(cell for cell in MOCOSE["table6b"].cells if cell.labels == (batch,))
        assert cell.published_runs == tuple(runs[batch, mtd, m] for m in ("run_min", "run_mid_inferred", "run_max"))


def test_figure_12_has_a_cell_that_table_7_lacks():
    runs = {r["metric"]: float(r["value"]) for r in reference("fig12_digitised") if (r["queue_size"], r["init_size"]) == ("4096", "128")}
    cell = next(cell for cell in MOCOSE["figure12"].cells if cell.labels == ("128",))
    assert cell.published is None and cell.published_runs == tuple(runs[m] for m in ("run_min", "run_mid", "run_max"))
    found = config(MOCOSE["figure12"], "128")
    assert (found.queue.size, found.queue.init_size) == (4096, 128)
    column = {"1": "none", "1024": "quarter", "2048": "half", "4096": "all"}
    for cell in MOCOSE["figure12"].cells:
        if cell.labels[0] in column:
            (same,) = MOCOSE["table7"].matching((column[cell.labels[0]], "4096"))
            assert (cell.published, cell.published_runs) == (same.published, same.published_runs)
            assert run_id(config(MOCOSE["figure12"], *cell.labels)) == run_id(config(MOCOSE["table7"], *same.labels))


def test_figures_4_5_6_and_7_and_the_slides_print_the_reference():
    measures = {
        "align_positive_pairs": "alignment, by batches", "align_all_pairs": "alignment of all pairs, by batches",
        "uniformity_all_pairs_first_sentences": "uniformity, by batches",
    }
    assert printed(MOCOSE["figure4"]) == {
        (measures[r["metric"]], f"{float(r['mtd']):g}"): float(r["value"])
        for r in reference("notebook_align_uniform") if r["metric"] in measures
    }
    curves = [[float(r["value"]) for r in reference(f"fig{number}_digitised")] for number in (5, 6)]
    late = [curve[-len(curve) // 3 :] for curve in curves]
    wanted = {
        ("no predictor, η = 0", "start"): curves[0][0], ("no predictor, η = 0", "best later"): max(curves[0][1:]),
        ("no predictor, η = 0", "last"): curves[0][-1], ("no predictor, η = 0", "late range"): max(late[0]) - min(late[0]),
        ("predictor, η = 0", "best later"): max(curves[1]), ("predictor, η = 0", "last"): curves[1][-1],
        ("predictor, η = 0", "late range"): max(late[1]) - min(late[1]),
    }
    assert printed(MOCOSE["figure5"]) == pytest.approx(wanted)
    seen = {(r["model"], r["metric"]): float(r["value"]) for r in reference("fig7_digitised")}
    for model, name in (("MoCoSE", "MoCoSE"), ("SimCSE", "SimCSE"), ("BERT", "BERT-base")):
        wanted = [seen[name, m] for m in ("largest_singular_value", "value_at_index_50", "value_at_index_100")]
        assert [value for labels, value in printed(MOCOSE["figure7"]).items() if labels[0] == model] == wanted
    centres = {"mean_average": "mean"} | {f"kmeans_{k}": f"{k} clusters" for k in (5, 10, 15, 20)}
    assert printed(MOCOSE["kmeans"]) == {
        (centres.get(r["negatives"], r["negatives"]),): float(r["value"]) for r in reference("slides_kmeans_queue")
    }


def test_numbers_checked_by_hand():
    assert printed(MOCOSE["table1"])["MoCoSE-BERT-base", "STS-B"] == 78.68
    assert printed(MOCOSE["table1"])["SimCSE-BERT-base", "avg"] == 76.25
    assert printed(MOCOSE["table2"])["MoCoSE-BERT-base", "dev", "TREC"] == 84.06
    assert ("MoCoSE-BERT-base", "test", "TREC") not in printed(MOCOSE["table2"])
    assert printed(MOCOSE["table4"])["3", "2"] == 43.97
    assert printed(MOCOSE["table5"])[("Token dropout 0.1",)] == 41.32
    assert printed(MOCOSE["table6b"])[("32",)] == 73.86
    assert printed(MOCOSE["table8"])[("256~768",)] == 77.02
    assert printed(MOCOSE["table9"])[("none",)] == 76.26
    assert printed(MOCOSE["figure3"])["128", "6"] == 77.06
    assert not printed(MOCOSE["figure13"])
    sums = {name: round(sum(printed(MOCOSE[name]).values()), 2) for name in ("table4", "table5", "table6a", "table9")}
    assert sums == {"table4": 726.05, "table5": 597.69, "table6a": 381.07, "table9": 380.52}


def test_tables_1_and_2_averages_are_the_means_of_their_rows():
    for name, reported in (("table1", ()), ("table2", ("dev",)), ("table2", ("test",))):
        numbers = printed(MOCOSE[name])
        for model in MOCOSE[name].axis("model").labels:
            tasks = [v for k, v in numbers.items() if k[:-1] == (model, *reported) and k[-1] != "avg"]
            if tasks:
                assert len(tasks) == 7
                assert numbers[(model, *reported, "avg")] == pytest.approx(sum(tasks) / 7, abs=0.0151)  # D50


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


def test_every_claim_is_declared_once():
    keys = [claim.key for study in MOCOSE.values() for claim in study.claims]
    assert len(set(keys)) == len(keys)
    assert [key for key in keys if " " not in key] == CLAIMS
    assert {key.partition(" ")[0] for key in keys} == set(CLAIMS)  # a second reading goes by its claim's number


def test_what_the_printed_numbers_contradict_or_do_not_say():
    verdicts = {claim.key: claim.printed for study in MOCOSE.values() for claim in study.claims}
    assert {key for key in CLAIMS if verdicts[key] == "fails"} == {"T1.7", "T5.4", "T5.6", "T7.4", "F3.2"}
    assert {key for key in CLAIMS if verdicts[key] == "not printed"} == set(
        "T2.3 T5.7 T7.3 F2.3 F4.1 F5.3 F5.4 F6.1 F7.1 F7.2 F13.1 F13.2".split()
    )


def effect(key: str) -> list[float]:
    """What the printed numbers give for each contrast of a claim, above its threshold."""
    study, claim = next((study, claim) for study in MOCOSE.values() for claim in study.claims if claim.key == key)

    def mean(labels):
        found = [cell.published for cell in study.matching(labels)]
        return sum(found) / len(found)

    return [sum(t.weight * mean(t.cell) for t in contrast.terms) - contrast.above for contrast in claim.predicate.contrasts()]


def test_means_slopes_and_leads_by_hand():
    # STS12-14 gain 3.62, 0.38, 0.89; the others -0.39, -0.09, 1.27, -0.62
    assert effect("T1.5") == pytest.approx([4.89 / 3 - 0.17 / 4])
    # means over fills 76.3375, 76.1825, 76.4775, 76.4625, 46.2825 at log2 = 7, 8, 9, 10, 12 (mean 9.2, squares 14.8)
    assert effect("T7.2") == pytest.approx([-(-2.2 * 76.3375 - 1.2 * 76.1825 - 0.2 * 76.4775 + 0.8 * 76.4625 + 2.8 * 46.2825) / 14.8])
    # the middle leads the other halves by 77.02 - 75.9967, the whole leads the four by 76.86 - 76.2525
    assert effect("T8.4") == pytest.approx([(77.02 - 227.99 / 3) - (76.86 - 305.01 / 4)])
    assert effect("T6b.2") == pytest.approx([77.25 - 76.70])
    # 64: 382.85 / 5 and 306.14 / 4; 128: 384.09 / 5 and 307.08 / 4; 256: 383.54 / 5 and 305.50 / 4
    assert effect("F3.1") == pytest.approx([382.85 / 5 - 306.14 / 4, 384.09 / 5 - 307.08 / 4, 383.54 / 5 - 305.50 / 4])


def test_copied_rows_are_no_better_than_simcse():
    averages = {cell.labels[0]: cell.published for cell in MOCOSE["table1"].cells if cell.copied and cell.labels[1] == "avg"}
    assert len(averages) == 5 and max(averages.values()) < printed(MOCOSE["table1"])["SimCSE-BERT-base", "avg"]
