"""The sentences around a table: what they name, and what they leave to the reader's eye."""

from dataclasses import replace

import pandas as pd
from fake_store import FakeStore, config_of, edition, filled
from small_study import result, small, stored

from core.report.cells import gather
from core.report.claims import claim_frame
from core.report.frames import cell_frame
from core.report.notes import footnotes, one_order, reading, seeds_of, setting
from core.report.tables import markdown
from core.spec.fields import explanations
from core.spec.scale import MINI
from core.spec.table import Axis, Cell
from studies import find

TABLE7, TABLE11 = find("table7"), find("esimcse-table11")


def test_title_and_setting_name_scale_profile_encoder_and_data():
    page = markdown(result(TABLE7, filled(TABLE7)))
    assert page.startswith("# MoCoSE Table 7: Queue size and initial fill of the queue\n")
    assert "scale demo · profile paper · encoder demo\\_bert 2x128 · text demo text · evaluation demo pairs" in page
    assert "**demo scale: made-up language**" in page and "mean over Para, Length, Roles, Mixed" in page
    mini = markdown(result(TABLE11, filled(TABLE11, scale=MINI), scale=MINI))
    assert "made-up" not in mini and "on STS-B dev" in mini


def test_a_run_that_reads_its_text_again_says_how_often():
    for steps, said in (
        (625, "text demo text · "),
        (1000, "text demo text (40,000 sentences, read 1.60 times, each time in a new order) · "),
    ):
        scale = replace(MINI, steps=steps)
        assert said in setting(result(TABLE11, filled(TABLE11, scale=scale), scale=scale))
    shorter = TABLE11.with_settings(("train.steps=20",), {(): config_of(TABLE11, TABLE11.cells[0].labels, 0)})
    assert "text demo text · " in setting(result(shorter, FakeStore(), scale=MINI))
    batches = find("updates")
    assert "read 12.50 to 100.00 times" in setting(result(batches, FakeStore(), scale=MINI))


def test_the_seeds_that_are_named_are_those_that_have_run():
    assert seeds_of(result(small(), FakeStore())) == "3 seeds"  # asked for
    assert seeds_of(result(small(), stored(small(), a=[50.0, 51.0, 52.0]))) == "3 seeds"
    assert seeds_of(result(small(), stored(small(), a=[50.0, 51.0, 52.0], b=[50.0]))) == "1 to 3 seeds"
    one = result(small(), stored(small(), a=[50.0]))
    assert seeds_of(one) == "1 seed" and "; one seed; its 95 % interval" in reading(one)


def test_mixed_environments_and_origins_are_footnoted():
    study, store = small(), FakeStore()
    for seed, (torch, source) in enumerate([("2.9.0", "own"), ("2.10.0", "published"), ("2.9.0", "own")]):
        nested = {"versions": {"torch": torch, "numpy": "2.4"}, "device": "cpu", "seconds": 3.0 + seed}
        store.add(config_of(study, ("a",), seed), 50.0 + seed, source=source, provenance=nested)
    notes = footnotes(result(study, store))
    assert "From the project's published results: 1 run of those shown, 2 from this machine." in notes
    assert "The runs differ in torch: 2.10.0 (1), 2.9.0 (2)." in notes
    assert not any("numpy" in note or "seconds" in note or "device" in note for note in notes)
    assert cell_frame(result(study, store))["source"].tolist() == ["own+published", ""]


def test_runs_of_two_kinds_of_device_are_told():
    study, store = small(), FakeStore()
    for cell, devices in (("a", ("cpu: x86_64", "cuda: One", "cuda: Other")), ("b", ("cuda: One", "", "cuda: One"))):
        for seed, device in enumerate(devices):
            store.add(config_of(study, (cell,), seed), 50.0 + seed, provenance={"device": device})
    differ = "Dropout masks can differ between the two kinds of device"
    told = [note for note in footnotes(result(study, store)) if differ in note]
    assert told == [f"CPUs trained 1 of these runs and GPUs 4. {differ}, so runs of one seed may share fewer of them."]
    for run in store.runs.values():
        run.provenance["device"] = "cuda: One"
    assert not any(differ in note for note in footnotes(result(study, store)))


def test_a_text_that_a_model_wrote_otherwise_elsewhere_is_told():
    """Under released every run draws alike, under paper each for itself: there other texts are what is asked for."""
    study, store = small(), FakeStore()
    for profile in ("released", "paper"):
        for seed, text in enumerate(("aa", "bb", "aa")):
            store.add(config_of(study, ("a",), seed, profile=profile), 50.0 + seed, provenance={"rewritten_text": text})
    told = "a: the same draws gave 2 texts, which differ by device or version (seeds 0, 2; 1)."
    assert told in footnotes(gather(study, edition(3, profile="released"), store))
    assert not any("same draws" in note for note in footnotes(gather(study, edition(3, profile="paper"), store)))


def test_studys_own_footnotes_come_last_with_what_their_numbers_stand_for_and_long_lists_are_cut():
    notes = footnotes(result(TABLE7, FakeStore()))
    assert notes[-1] == f"D14: {explanations()['D14']}" and notes[-1 - len(TABLE7.footnotes) : -1] == TABLE7.footnotes
    assert notes[0].startswith("Not comparable at this scale: the queue turns over for the first time in 40 % of the run (none/4096; ")
    assert notes[1].startswith("60 of 60 runs not run yet") and "; …" in notes[1] and notes[1].count(";") == 8


def test_every_mark_in_a_table_is_explained_and_no_other():
    a, b = [50.0, 50.1, 50.2, 50.0, 50.1], [60.0, (60.2, "collapsed"), 60.2, 60.1, 60.0]
    page = markdown(result(small(), stored(small(), a=a, b=b), seeds=5))
    assert {line[2] for line in page.splitlines() if line.startswith("- ") and line[2] in "▲▼†‡§"} == set("▲†‡")
    assert "- § one run" in markdown(result(small(), stored(small(), a=[50.0], b=[50.0]), seeds=1))


def test_a_table_of_single_sets_speaks_of_no_average():
    found = result(find("esimcse-table1"), filled(find("esimcse-table1")))
    page = markdown(found)
    assert "each test set by itself" in page and "mean over Para" not in page and "Without training" not in page
    assert "mean over Para" in markdown(result(TABLE7, filled(TABLE7)))


def test_baselines_stand_beside_scores_alone():
    for name, scored in (("table7", True), ("esimcse-table3", False), ("figure7", False)):
        store = filled(find(name))
        for run in store.runs.values():
            task = find(name).metric.task
            baselines = [(name, task, "spearman_all", 0, 30.0) for name in ("untrained", "bag_of_words")]
            run.rows = pd.concat([run.rows, pd.DataFrame(baselines, columns=run.rows.columns)])
        assert any("Without training" in note for note in footnotes(result(find(name), store))) is scored, name


def test_what_cannot_be_run_is_listed_by_rows_where_a_whole_row_cannot():
    cells = [(model, task) for model in ("base", "large") for task in ("x", "y")]
    study = small(
        axes=(Axis(name="model", title="Model", labels=("base", "large")), Axis(name="task", title="Task", labels=("x", "y"))),
        cells=tuple(Cell(labels=labels, changes={}, encoder=f"bert-{labels[0]}") for labels in cells), reference=("base", "x"),
        rows="model", columns="task", figure=None,
    )  # fmt: skip
    noted = [note for note in footnotes(result(study, FakeStore())) if note.startswith("Unavailable")]
    assert noted == ["Unavailable (n/a): scale demo has no encoder in the place of bert-large (large)."]
    study = replace(study, cells=tuple(replace(c, encoder="bert-base") if c.labels == ("large", "x") else c for c in study.cells))
    assert [note[-10:] for note in footnotes(result(study, FakeStore())) if note.startswith("Unavailable")] == ["(large/y)."]


def test_seeds_that_share_the_order_of_the_text_are_told():
    study = find("mocose-table3")
    for profile, shared in (("paper", False), ("released", True)):
        store = FakeStore()
        for seed in range(3):
            store.add(config_of(study, ("0.85",), seed, profile), 50.0 + seed)
        found = gather(study, edition(3, profile), store)
        assert set(claim_frame([found])["seed_of_data"]) == {"one for all" if shared else ""}
        assert one_order(found) == shared == any("in one order and with one dropout" in note for note in footnotes(found))
    assert not one_order(gather(study, edition(3, "released"), FakeStore()))
    orders, store = find("orders"), FakeStore()  # its rows name their seeds themselves
    for seed in range(3):
        store.add(config_of(orders, ("43", "ESimCSE"), seed, "released"), 50.0 + seed)
    assert not one_order(gather(orders, edition(3, "released"), store))
