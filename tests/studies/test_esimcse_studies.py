"""ESimCSE's studies: true to the printed numbers and to the scripts' settings, their claims judged on the paper's own numbers."""

import pytest
from fake_store import SOURCES
from made_scales import PAPER_SOURCES
from printed import printed_rows

from core.spec.claim import Contrast, Joined, Term, above, greater, holds_as_printed, truth
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import DEMO, MINI, PAPER
from studies import STUDIES

BY_NAME = {study.name.removeprefix("esimcse-"): study for study in STUDIES if study.paper == "esimcse"}
SCALES = [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, PAPER_SOURCES)]
KEYS = (
    "E1.1 E1.2 E1.3 E1.4 E2.1 E-F2.1 E4.1 E4.2 E4.3 E4.4 E4.5 E5.1 E5.3 E5.4 E5.5 E5.6 E6.1 E6.2 E6.3 E6.4 E7.1 E7.2 E7.3 E8.1 E8.2 E8.3 E8.4 "
    "E9.1 E9.2 E9.3 E10.1 E10.2 E10.3 E10.4 E10.5 E11.1 E11.2"
).split()
OF_BERT_BASE = ["E4.1 (BERT-base)", "E5.1 (BERT-base)"]  # a claim's own backbone, which every scale has
BACKBONES = ("BERT-base", "BERT-large", "RoBERTa-base", "RoBERTa-large")
CLAIMS = [(study, claim) for study in BY_NAME.values() for claim in study.claims]


def printed(name):
    """What a study has as the paper's numbers, by labels; without the rows that are ours."""
    return {cell.labels: cell.published for cell in BY_NAME[name].cells if not cell.labels[0].startswith(("ESimCSE, ", "MoCoSE, "))}


def run_of(name, *labels, profile="paper", scale=PAPER, sources=PAPER_SOURCES, seed=1):
    study = BY_NAME[name].at(scale)
    (cell,) = study.matching(labels)
    return study.config(cell, profile=profile, scale=scale, sources=sources, seed=seed)


def test_there_is_a_study_for_every_table_and_figure():
    assert set(BY_NAME) == {f"table{n}" for n in range(1, 12)} | {"figure2"}


def test_tables_as_printed_in_a_few_places():
    assert printed("table1")["at most 3", "STS12"] == 72.98 and printed("table1")["more than 3", "STS-B"] == 69.24
    assert list(printed("table2").values()) == [1.0, 0.76, 0.77, 1.0, 0.98]
    assert printed("table3")["test", "STS14"] == 3750 and printed("table3")["train", "SICK-R"] == 4500
    assert printed("table4")["ESimCSE", "BERT-large"] == 86.60 and printed("table4")["unsup-SimCSE", "RoBERTa-large"] == 85.07
    assert printed("table5")["ESimCSE-RoBERTa-base", "STS16"] == 80.30
    assert list(printed("table6").values()) == [82.45, 84.09, 83.98, 84.85]
    assert [printed("table7")[name, "avg"] for name in ("unsup-SimCSE", "+word repetition", "+momentum contrast", "ESimCSE")] == [
        76.25, 77.43, 77.54, 78.27,
    ]  # fmt: skip
    assert list(printed("table8").values()) == [84.85, 84.75, 83.37, 82.45]
    assert list(printed("table9").values()) == [83.5, 83.62, 82.01, 83.01, 84.24, 82.96, 84.85, 83.84, 82.45]
    assert list(printed("table10").values()) == [82.45, 81.72, 83.08, 84.40, 84.85]
    assert set(printed("figure2").values()) == {None}


@pytest.mark.parametrize("name", ["table5", "table7"])
def test_printed_averages_recompute(name):
    numbers = printed(name)
    for model in {labels[0] for labels in numbers}:
        tests = [value for (row, task), value in numbers.items() if row == model and task != "avg"]
        assert len(tests) == 7 and sum(tests) / 7 == pytest.approx(numbers[model, "avg"], abs=0.0051)


# By study: a row of the reference table as the labels of its cell.
COLUMNS = {
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


@pytest.mark.parametrize("name", COLUMNS)
def test_every_printed_number_is_that_of_the_reference_tables(name):
    rows = printed_rows(f"esimcse_{name}")
    expected = {COLUMNS[name](row): float(row["value"]) * (100 if row["metric"] == "spearman" else 1) for row in rows}
    assert len(expected) == len(rows)
    found = printed(name)
    if name in ("table8", "table9"):  # the column that their text compares with is Table 4's
        assert found.pop(("SimCSE",)) == printed("table4")["unsup-SimCSE", "BERT-base"]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("scale, sources", SCALES, ids=lambda value: getattr(value, "name", ""))
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("study", BY_NAME.values(), ids=lambda study: study.name)
def test_every_cell_that_is_available_is_a_valid_run(study, profile, scale, sources):
    study = study.at(scale)
    found = [cell for cell in study.cells if study.unavailable(cell, scale, sources) is None]
    assert found
    for cell in found:
        run = study.config(cell, profile=profile, scale=scale, sources=sources, seed=3)
        assert run.scale == scale.name and run.method == (cell.method or study.method)
        assert run.seed.data == (42 if profile == "released" else 3)


def test_what_needs_another_encoder_says_so_and_what_has_no_split_is_not_run():
    for name in ("table4", "table5"):
        study = BY_NAME[name]
        for cell in study.cells:
            reason = study.unavailable(cell, MINI, SOURCES)
            assert (reason is None) == any(label.endswith("BERT-base") and "Ro" not in label for label in cell.labels)
            assert study.unavailable(cell, PAPER, PAPER_SOURCES) is None
    assert [cell.labels[0] for cell in BY_NAME["table3"].cells if cell.copied] == ["train"] * 5 + ["dev"] * 5
    assert not any(cell.copied for name, study in BY_NAME.items() if name != "table3" for cell in study.cells)


@pytest.mark.parametrize("profile", PROFILES)
def test_the_method_itself_is_one_run_in_eight_tables_and_simcse_one_in_eleven(profile):
    own = [("table4", "ESimCSE", "BERT-base"), ("table5", "ESimCSE-BERT-base", "avg"), ("table6", "ESimCSE"), ("table7", "ESimCSE", "STS12"),
           ("table8", "0.1"), ("table9", "0.32"), ("table10", "sub-word repetition"), ("table11", "2.5")]  # fmt: skip
    simcse = [("table1", "at most 3", "STS12"), ("table2", "deletion"), ("table3", "test", "STS12"), ("figure2", "64"),
              ("table4", "unsup-SimCSE", "BERT-base"), ("table5", "unsup-SimCSE-BERT-base", "STS-B"), ("table6", "unsup-SimCSE"),
              ("table7", "unsup-SimCSE", "avg"), ("table8", "SimCSE"), ("table9", "SimCSE"), ("table10", "none")]  # fmt: skip
    for cells in (own, simcse):
        assert len({run_id(run_of(*cell, profile=profile)) for cell in cells}) == 1


def test_settings_of_the_backbones():
    def settings(method, backbone, profile="paper"):
        run = run_of("table4", method, backbone, profile=profile)
        rates = (run.encoder.hidden_dropout, run.encoder.attention_dropout)
        own = (run.dup.rate, run.queue.size, run.momentum.lambda_) if method == "ESimCSE" else ()
        return (run.train.learning_rate, run.train.batch_size, *rates, *own)

    paper = {name: settings("ESimCSE", name) for name in BY_NAME["table4"].axis("backbone").labels}
    assert paper == {
        "BERT-base": (3e-5, 64, 0.1, 0.1, 0.32, 160, 0.995),
        "BERT-large": (1e-5, 64, 0.15, 0.15, 0.32, 160, 0.995),
        "RoBERTa-base": (1e-5, 64, 0.1, 0.1, 0.32, 160, 0.995),
        "RoBERTa-large": (1e-5, 64, 0.15, 0.15, 0.32, 160, 0.995),
    }
    for profile in ("repaired", "released"):  # as the script
        assert settings("ESimCSE", "BERT-base", profile) == (3e-5, 64, 0.1, 0.1, 0.32, 160, 0.995)
        assert settings("ESimCSE", "BERT-large", profile) == (1e-5, 64, 0.1, 0.1, 0.32, 160, 0.995)
        assert settings("ESimCSE", "RoBERTa-base", profile) == (1e-5, 64, 0.1, 0.1, 0.30, 160, 0.995)
        assert settings("ESimCSE", "RoBERTa-large", profile) == (1e-5, 64, 0.15, 0.15, 0.28, 128, 0.995)
    for profile in PROFILES:
        assert settings("unsup-SimCSE", "BERT-base", profile) == (3e-5, 64, 0.1, 0.1)
        assert settings("unsup-SimCSE", "BERT-large", profile) == (1e-5, 64, 0.1, 0.1)
        assert settings("unsup-SimCSE", "RoBERTa-base", profile) == (1e-5, 512, 0.1, 0.1)
        assert settings("unsup-SimCSE", "RoBERTa-large", profile) == (3e-5, 512, 0.1, 0.1)
    for method in ("unsup-SimCSE", "ESimCSE"):
        for backbone in BY_NAME["table4"].axis("backbone").labels:
            assert run_id(run_of("table4", method, backbone)) == run_id(run_of("table5", f"{method}-{backbone}", "STS13"))


def test_components_alone_lack_the_other_one():
    repetition, queue = run_of("table6", "+word repetition"), run_of("table6", "+momentum contrast")
    assert (repetition.queue, repetition.momentum, repetition.dup.rate) == (None, None, 0.32)
    assert (queue.dup, queue.queue.size, queue.momentum.lambda_) == (None, 160, 0.995)
    released = run_of("table6", "+momentum contrast", profile="released")
    assert released.momentum.init == "random" and released.dup is None
    units = [run_of("table10", name).dup.unit for name in BY_NAME["table10"].axis("lengthening").labels[1:]]
    assert units == ["stopword", "mask", "word", "subword"]


@pytest.mark.parametrize("name", ["table1", "table5", "table7"])
def test_entries_by_test_set_read_their_own_set(name):
    for scale in (DEMO, MINI):
        study = BY_NAME[name].at(scale)
        assert set(study.axis("task").labels) - {"avg"} <= set(scale.tests)
        for cell in study.cells:
            metric = study.metric_of(cell)
            sides = {"at most 3": "spearman_gap_le3", "more than 3": "spearman_gap_gt3"}
            wanted = "spearman" if name != "table1" else sides[cell.labels[0].rpartition(", ")[2]]
            assert (metric.task, metric.quantity) == (cell.labels[1], wanted)
    assert set(study.axis("task").labels) == set(BY_NAME[name].axis("task").labels)  # at scale mini, the paper's own


def test_claims_about_english_sets_are_left_out_where_the_sets_are_made_up():
    kept = {key: [claim.key for claim in BY_NAME[key].at(DEMO).claims] for key in ("table1", "table5", "table7")}
    assert kept == {
        "table1": ["E1.1"],
        "table5": ["E5.1", "E5.1 (BERT-base)", "E5.3", "E5.4", "E5.5", "E5.6"],
        "table7": ["E7.1", "E7.2", "E7.3"],
    }


def test_counts_and_edits_are_rows_of_their_own():
    study = BY_NAME["table3"]
    tasks = {cell.labels: study.metric_of(cell).task for cell in study.cells if not cell.copied}
    assert tasks == {("test", task): task for task in MINI.tests} | {
        ("train", "STS-B"): "STS-B train", ("dev", "STS-B"): "dev", ("train", "SICK-R"): "SICK-R train", ("dev", "SICK-R"): "SICK-R dev",
    }  # fmt: skip
    assert {(m.quantity, m.checkpoint) for m in map(study.metric_of, study.cells)} == {("pairs", "data")}
    at_demo = study.at(DEMO)
    assert [cell.labels for cell in at_demo.cells if not cell.copied] == [("test", task) for task in DEMO.tests]
    edits = BY_NAME["table2"]
    assert {edits.metric_of(cell).task for cell in edits.cells} == {"edits"}
    assert [edits.metric_of(cell).quantity for cell in edits.cells] == [
        f"cosine_{edit}" for edit in ("itself", "insertion", "deletion", "repetition", "repetition_subword")
    ]


def test_every_claim_is_declared_once():
    keys = [claim.key for _, claim in CLAIMS]
    assert sorted(key for key in keys if " " not in key) == sorted(KEYS) and [key for key in keys if " " in key] == OF_BERT_BASE


def test_what_the_printed_numbers_contradict_or_do_not_say():
    assert not [claim.key for _, claim in CLAIMS if claim.printed == "fails"]
    assert [claim.key for _, claim in CLAIMS if claim.printed == "not printed"] == ["E1.1", "E1.3", "E1.4", "E6.4", "E10.5", "E-F2.1"]


@pytest.mark.parametrize("study, claim", CLAIMS, ids=[claim.key for _, claim in CLAIMS])
def test_every_claim_can_fail(study, claim):
    """Whatever all the other contrasts say: the runs can contradict any of those that a claim needs."""
    first = claim.predicate.contrasts()[0]
    assert truth(claim.predicate, lambda contrast: contrast != first) is (bool(isinstance(claim.predicate, Joined) and _spare(claim)))
    assert truth(claim.predicate, lambda contrast: False) is False and truth(claim.predicate, lambda contrast: True) is True


def _spare(claim) -> bool:
    """Whether a claim needs fewer contrasts than it has."""
    return claim.predicate.needed < len(claim.predicate.parts)


def test_gains_are_the_printed_ones():
    for name, pairs in (
        ("table4", zip(("E4.2", "E4.3", "E4.4", "E4.5"), BACKBONES, strict=True)),
        ("table5", zip(("E5.3", "E5.4", "E5.5", "E5.6"), BACKBONES, strict=True)),
    ):
        claims = {claim.key: claim for claim in BY_NAME[name].claims}
        for key, backbone in pairs:
            rows = (
                [("ESimCSE", backbone), ("unsup-SimCSE", backbone)]
                if name == "table4"
                else [(f"ESimCSE-{backbone}", "avg"), (f"unsup-SimCSE-{backbone}", "avg")]
            )
            gain = printed(name)[rows[0]] - printed(name)[rows[1]]
            low, high = claims[key].predicate.contrasts()
            assert (low.above, -high.above) == pytest.approx((gain / 2, gain * 1.5)) and f"{gain:.2f}" in claims[key].text
    for name, margin in (("table4", 0.26), ("table5", 0.55)):
        claims = [claim for claim in BY_NAME[name].claims if claim.margin is not None]
        base = printed(name)["ESimCSE", "BERT-base"] - printed(name)["unsup-SimCSE", "BERT-base"] if name == "table4" else 2.02
        assert [claim.margin for claim in claims] == pytest.approx([margin, base])


def test_the_evaluator_of_these_tests():
    values = {("a", "x"): 1.0, ("a", "y"): 3.0, ("b", "x"): 1.5, ("b", "y"): None}
    mean_of_a = Contrast((Term(1.0, ("a", None)),), 1.9)  # (1 + 3) / 2 = 2
    step = greater(("b", "x"), ("a", "x"), 0.5)  # 1.5 - 1 is not above 0.5
    assert (holds_as_printed(mean_of_a, values), holds_as_printed(step, values), holds_as_printed(above(("b", None), 0.0), values)) == (
        True,
        False,
        None,
    )
    assert [holds_as_printed(Joined((mean_of_a, step), needed), values) for needed in (1, 2)] == [True, False]
