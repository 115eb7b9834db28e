"""MoCoSE's studies against the printed numbers: every number is the reference's, and claims are judged on them as they say."""

import pytest
from mocose_cells import MOCOSE, config, printed
from printed import printed_rows

from core.spec.identity import run_id

CLAIMS = """T1.1 T1.2 T1.3 T1.4 T1.5 T1.6 T1.7 T1.8 T2.1 T2.2 T2.3 T3.1 T3.2 T3.3 T4.1 T4.2 T4.3 T5.1 T5.2 T5.3 T5.4 T5.5 T5.6 T5.7 T6a.1 T6a.2
T6b.1 T6b.2 T7.1 T7.2 T7.3 T7.4 T7.5 T8.1 T8.2 T8.3 T8.4 T9.1 F2.1 F2.2 F2.3 F3.1 F3.2 F3.3 F4.1 F4.2 F5.1 F5.2 F5.3 F5.4 F6.1 F6.2 F7.1 F7.2
F13.1 F13.2""".split()


def reference(name: str) -> list[dict[str, str]]:
    """The rows of one of MoCoSE's printed tables."""
    return printed_rows(f"mocose_{name}")


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
    settings = {
        (r["batch_size"], f"{float(r['mtd']):g}"): (float(r["ema_decay_inferred"]), int(r["queue_size_inferred"]))
        for r in reference("fig3_digitised")
    }
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
        "align_positive_pairs": "alignment, by batches",
        "align_all_pairs": "alignment of all pairs, by batches",
        "uniformity_all_pairs_first_sentences": "uniformity, by batches",
    }
    assert printed(MOCOSE["figure4"]) == {
        (measures[r["metric"]], f"{float(r['mtd']):g}"): float(r["value"])
        for r in reference("notebook_align_uniform")
        if r["metric"] in measures
    }
    curves = [[float(r["value"]) for r in reference(f"fig{number}_digitised")] for number in (5, 6)]
    late = [curve[-len(curve) // 3 :] for curve in curves]
    wanted = {
        ("no predictor, η = 0", "start"): curves[0][0],
        ("no predictor, η = 0", "best later"): max(curves[0][1:]),
        ("no predictor, η = 0", "last"): curves[0][-1],
        ("no predictor, η = 0", "late range"): max(late[0]) - min(late[0]),
        ("predictor, η = 0", "best later"): max(curves[1]),
        ("predictor, η = 0", "last"): curves[1][-1],
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


def test_every_claim_is_declared_once():
    keys = [claim.key for study in MOCOSE.values() for claim in study.claims]
    assert len(set(keys)) == len(keys)
    assert [key for key in keys if " " not in key] == CLAIMS
    assert {key.partition(" ")[0] for key in keys} == set(CLAIMS)  # a second reading goes by its claim's number


def test_what_the_printed_numbers_contradict_or_do_not_say():
    verdicts = {claim.key: claim.printed for study in MOCOSE.values() for claim in study.claims}
    assert {key for key in CLAIMS if verdicts[key] == "fails"} == {"T1.7", "T5.4", "T5.6", "T7.4", "F3.2", "F3.3"}
    assert {key for key in CLAIMS if verdicts[key] == "not printed"} == set(
        "T2.3 T5.7 T7.3 F2.3 F4.1 F4.2 F5.3 F5.4 F6.1 F7.1 F7.2 F13.1 F13.2".split()
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
    # 128 and 256 at 14.67 have 76.62 and 76.76, with the queue of 512 76.78 and 76.62
    assert effect("F3.3") == pytest.approx([(76.62 + 76.76 - 76.78 - 76.62) / 2])
    # the fills of 1024 have 76.4625 in the mean, those of 4096 46.2825
    assert effect("T7.3 (worse)") == pytest.approx([76.4625 - 46.2825])
    assert sum(one > 0 for one in effect("T1.8")) == 6
    assert effect("T6b.2") == pytest.approx([1 + 77.25 - 76.78, 1 + 77.25 - 76.62])
    # 64: 382.85 / 5 and 306.14 / 4; 128: 384.09 / 5 and 307.08 / 4; 256: 383.54 / 5 and 305.50 / 4
    assert effect("F3.1") == pytest.approx([382.85 / 5 - 306.14 / 4, 384.09 / 5 - 307.08 / 4, 383.54 / 5 - 305.50 / 4])


def test_copied_rows_are_no_better_than_simcse():
    averages = {cell.labels[0]: cell.published for cell in MOCOSE["table1"].cells if cell.copied and cell.labels[1] == "avg"}
    assert len(averages) == 5 and max(averages.values()) < printed(MOCOSE["table1"])["SimCSE-BERT-base", "avg"]
