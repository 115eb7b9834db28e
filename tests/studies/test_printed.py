"""The studies' printed numbers are those of studies/reference/tables, which agree, and every D-number that is named is explained."""

import csv
import re
import statistics
from pathlib import Path

import pytest
from made_scales import MOCOSE, printed
from places import ROOT

from core.spec.fields import explanations
from core.spec.identity import run_id
from studies import STUDIES, find

ESIMCSE = {study.name.removeprefix("esimcse-"): study for study in STUDIES if study.paper == "esimcse"}
BY_CELL = [  # study of MoCoSE, columns of its table, and what a row of it is called in the study
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
]  # fmt: skip
OF_ESIMCSE = {  # by study: a row of the reference table as the labels of its cell
    "table1": lambda row: ({"<=3": "at most 3", ">3": "more than 3"}[row["length_difference"]], row["task"]),
    "table2": lambda row: (
        {"original": "none", "random_insertion": "insertion", "random_deletion": "deletion", "word_repetition_example_1": "repetition",
         "word_repetition_example_2": "repetition 2"}[row["edit"]],
    ),
    "table3": lambda row: (row["split"], row["task"]),
    "table4": lambda row: (row["method"], row["backbone"]),
    "table5": lambda row: (f"{row['method']}-{row['backbone']}", row["task"]),
    "table6": lambda row: (row["method"],),
    "table7": lambda row: (row["method"], row["task"]),
    "table8": lambda row: (row["dropout"],),
    "table9": lambda row: (row["dup_rate"],),
    "table10": lambda row: (
        {"none (unsup-SimCSE)": "none", "insert_stopwords": "stop-words", "insert_mask": "[MASK]", "word_repetition": "word repetition",
         "subword_repetition": "sub-word repetition"}[row["length_extension"]],
    ),
    "table11": lambda row: (row["queue_over_batch"],),
}  # fmt: skip


def printed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of the papers' printed numbers ("mocose_table3")."""
    with (ROOT / "studies" / "reference" / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def reference(name: str) -> list[dict[str, str]]:
    """The rows of one of MoCoSE's printed tables."""
    return printed_rows(f"mocose_{name}")


def runs(name: str, *keys: str, scores: str = "run_") -> dict[tuple[str, ...], tuple[float, ...]]:
    """The single runs of each cell of a digitised figure."""
    cells: dict[tuple[str, ...], tuple[float, ...]] = {}
    for row in reference(name):
        if row["metric"].startswith(scores):
            key = tuple(f"{float(row[one]):g}" if one == "mtd" else row[one] for one in keys)
            cells[key] = (*cells.get(key, ()), float(row["value"]))
    return cells


def test_mocose_s_tables_print_the_reference_and_nothing_else():
    for name, columns, rename in BY_CELL:
        keys = [",".join(row[column] for column in columns) for row in reference(name)]
        wanted = {tuple(rename.get(key, key).split(",")): float(row["value"]) for key, row in zip(keys, reference(name), strict=True)}
        assert printed(MOCOSE[name]) == wanted, name
    trained = {"SimCSE": "SimCSE-BERT", "MoCoSE": "MoCoSE-BERT"}
    for name, entries in (("table1", 112), ("table2", 72)):
        wanted = {}
        for row in reference(name):
            model = trained.get(row["model"], row["model"])
            model += f"-{row['size_group']}" if model.startswith(("SimCSE", "MoCoSE")) else ""
            reported = () if name == "table1" else ("dev" if model.startswith("MoCoSE") else "test",)
            wanted[(model, *reported, row["task"].replace("SST2", "SST-2"))] = float(row["value"])
        assert printed(MOCOSE[name]) == wanted and len(wanted) == entries


def test_esimcse_s_tables_print_the_reference_and_nothing_else():
    for name, labels in OF_ESIMCSE.items():
        rows = printed_rows(f"esimcse_{name}")
        wanted = {labels(row): float(row["value"]) * (100 if row["metric"] == "spearman" else 1) for row in rows}
        cells = printed(ESIMCSE[name])
        if name in ("table8", "table9"):  # the column that their text compares with is Table 4's
            assert cells.pop(("SimCSE",)) == printed(ESIMCSE["table4"])["unsup-SimCSE", "BERT-base"]
        assert len(wanted) == len(rows) and cells == pytest.approx(wanted), name
    assert not printed(ESIMCSE["figure2"])


def test_simcse_s_tables_print_the_reference_and_leave_out_what_is_not_run():
    table3 = {(row["dropout"],): float(row["value"]) for row in printed_rows("simcse_table3") if row["dropout"] != "fixed 0.1"}
    assert printed(find("simcse-table3")) == table3 and len(table3) == 7
    poolers = {"cls with mlp": "with layer", "cls with mlp in training": "with layer in training alone", "cls without mlp": "without layer"}
    table6 = {
        (f"[CLS] {poolers[row['pooler']]}",): float(row["value"])
        for row in printed_rows("simcse_table6")
        if row["model"] == "unsupervised" and row["pooler"] in poolers
    }
    assert printed(find("simcse-table6")) == table6 and len(table6) == 3
    assert not printed(find("simcse-tabled1")) and len(printed_rows("simcse_tabled1")) == 6  # of the supervised model


def test_mocose_s_figures_print_what_was_read_off():
    means = {key: value for key, (value,) in runs("fig3_digitised", "batch_size", "mtd", scores="mean_of_3").items()}
    settings = {
        (row["batch_size"], f"{float(row['mtd']):g}"): (float(row["ema_decay_inferred"]), int(row["queue_size_inferred"]))
        for row in reference("fig3_digitised")
    }
    single = runs("fig3_digitised", "batch_size", "mtd")
    for name, more in (("figure2", {("64", "SimCSE"): 76.25}), ("figure3", {})):
        assert printed(MOCOSE[name]) == means | more
        for cell in MOCOSE[name].cells:
            if cell.method is None:
                assert (cell.changes["ema.start"], cell.changes["queue.size"]) == settings[cell.labels]
            assert not cell.published_runs or cell.published_runs == tuple(sorted(single[cell.labels]))
    measures = {
        "align_positive_pairs": "alignment, by batches", "align_all_pairs": "alignment of all pairs, by batches",
        "uniformity_all_pairs_first_sentences": "uniformity, by batches",
    }  # fmt: skip
    assert printed(MOCOSE["figure4"]) == {
        (measures[row["metric"]], f"{float(row['mtd']):g}"): float(row["value"])
        for row in reference("notebook_align_uniform")
        if row["metric"] in measures
    }
    (bare, kept), late = ([[float(row["value"]) for row in reference(f"fig{n}_digitised")] for n in (5, 6)]), lambda c: c[-len(c) // 3 :]
    assert printed(MOCOSE["figure5"]) == pytest.approx({
        ("no predictor, η = 0", "start"): bare[0], ("no predictor, η = 0", "best later"): max(bare[1:]),
        ("no predictor, η = 0", "last"): bare[-1], ("no predictor, η = 0", "late range"): max(late(bare)) - min(late(bare)),
        ("predictor, η = 0", "best later"): max(kept), ("predictor, η = 0", "last"): kept[-1],
        ("predictor, η = 0", "late range"): max(late(kept)) - min(late(kept)),
    })  # fmt: skip
    seen = {(row["model"], row["metric"]): float(row["value"]) for row in reference("fig7_digitised")}
    for model, name in (("MoCoSE", "MoCoSE"), ("SimCSE", "SimCSE"), ("BERT", "BERT-base")):
        wanted = [seen[name, metric] for metric in ("largest_singular_value", "value_at_index_50", "value_at_index_100")]
        assert [value for labels, value in printed(MOCOSE["figure7"]).items() if labels[0] == model] == wanted
    centres = {"mean_average": "mean"} | {f"kmeans_{k}": f"{k} clusters" for k in (5, 10, 15, 20)}
    slides = {(centres.get(row["negatives"], row["negatives"]),): float(row["value"]) for row in reference("slides_kmeans_queue")}
    assert printed(MOCOSE["kmeans"]) == slides and not printed(MOCOSE["figure13"])


def test_single_runs_are_the_figures_and_average_to_what_is_printed():
    widths, single = runs("fig10_digitised", "predictor_dim"), runs("fig3_digitised", "batch_size", "mtd")
    assert all(cell.published_runs == tuple(sorted(widths[cell.labels])) for cell in MOCOSE["table6a"].cells)
    for batch, mtd in (("128", "10.67"), ("256", "8.67")):
        (cell,) = MOCOSE["table6b"].matching((batch,))
        assert cell.published_runs == tuple(sorted(single[batch, mtd]))
    queues = runs("fig12_digitised", "queue_size", "init_size")
    (extra,) = MOCOSE["figure12"].matching(("128",))  # a cell that Table 7 lacks
    assert extra.published is None and extra.published_runs == tuple(sorted(queues["4096", "128"]))
    for init, fill in {"1": "none", "1024": "quarter", "2048": "half", "4096": "all"}.items():
        (here,), (same,) = MOCOSE["figure12"].matching((init,)), MOCOSE["table7"].matching((fill, "4096"))
        assert (here.published, here.published_runs) == (same.published, same.published_runs)
        ids = [run_id(MOCOSE[name].paper_config(cell, "paper")) for name, cell in (("figure12", here), ("table7", same))]
        assert ids[0] == ids[1]
    known = {name: sum(bool(cell.published_runs) for cell in MOCOSE[name].cells) for name in ("table3", "table7")}
    assert known == {"table3": 5, "table7": 20}
    for study in MOCOSE.values():
        for cell in study.cells:
            if cell.published_runs and cell.published is not None:
                read_to = 0.3 if cell.labels[-1] == "4096" or study.name == "mocose-figure12" else 0.02
                assert len(cell.published_runs) == 3 and list(cell.published_runs) == sorted(cell.published_runs)
                assert statistics.mean(cell.published_runs) == pytest.approx(cell.published, abs=read_to), (study.name, cell.labels)


READ = [ROOT / "README.md", ROOT / "run_study.py", *(path for folder in ("core", "studies", "tests", "benchmarks", "docs")
        for end in ("py", "md") for path in sorted((ROOT / folder).rglob(f"*.{end}")))]  # fmt: skip
RANGE = re.compile(r"\bD(\d+) ?[-–…] ?D(\d+)\b")


def named(path: Path) -> set[str]:
    """The D-numbers of a file, those within a range ("D22 - D24") included."""
    text = path.read_text(encoding="utf-8")
    ranges = {f"D{n}" for first, last in RANGE.findall(text) if int(last) - int(first) < 10 for n in range(int(first), int(last) + 1)}
    return set(re.findall(r"\bD\d+\b", text)) | ranges


def test_every_number_that_is_named_is_explained():
    here = {path: named(path) - set(explanations()) for path in READ if path != Path(__file__)}
    assert not {str(path): numbers for path, numbers in here.items() if numbers}
