"""What stands around a table: names as they hold at a scale, and notes on these runs."""

from dataclasses import replace

import pandas as pd
from fake_store import FakeStore, config_of, edition, filled
from small_study import result, small, stored

from core.report.verdicts import study_result
from core.report.words import contrast_here, meanings, of_runs, reading, setting, text_here, title
from core.spec.claim import greater, mean_above
from core.spec.fields import explanations
from core.spec.methods import PROFILES
from core.spec.scale import MINI
from core.spec.table import Axis, Cell, Metric
from studies import find

TABLE7, TABLE11 = find("table7"), find("esimcse-table11")


def test_title_and_setting_name_scale_profile_encoder_and_data():
    one = result(TABLE7, FakeStore())
    assert title(one) == "MoCoSE Table 7: Queue size and initial fill of the queue"
    assert setting(one) == "scale demo · profile paper · encoder demo_bert 2x128 · text demo text · evaluation demo pairs"
    assert reading(one).startswith("Spearman × 100 (all), mean over Para, Length, Roles, Mixed; mean over 3 seeds ±")


def test_a_run_that_reads_its_text_again_says_how_often():
    assert "read 25.00 times, each time in a new order" in setting(result(TABLE11, FakeStore(), scale=MINI))
    shorter = TABLE11.with_settings(("train.steps=20",), {(): config_of(TABLE11, TABLE11.cells[0].labels, 0)})
    assert "text demo text · " in setting(result(shorter, FakeStore(), scale=MINI))


def test_the_seeds_that_are_named_are_those_that_have_run():
    assert "mean over 3 seeds ±" in reading(result(small(), FakeStore()))  # planned
    assert "mean over 1 to 3 seeds ±" in reading(result(small(), stored(small(), a=[50.0, 51.0, 52.0], b=[50.0])))
    assert "; one seed; its 95 % interval" in reading(result(small(), stored(small(), a=[50.0])))


def test_mixed_environments_and_origins_are_footnoted():
    study, store = small(), FakeStore()
    for seed, (torch, source) in enumerate([("2.9.0", "own"), ("2.10.0", "published"), ("2.9.0", "own")]):
        nested = {"versions": {"torch": torch, "numpy": "2.4"}, "device": f"cuda: {seed // 2}", "seconds": 3.0 + seed}
        store.add(config_of(study, ("a",), seed), 50.0 + seed, source=source, provenance=nested)
    notes = of_runs(result(study, store))
    assert "From the project's published results: 1 run of those shown, 2 from this machine." in notes
    assert "The runs differ in torch: 2.10.0 (1), 2.9.0 (2)." in notes
    assert "The runs differ in device: cuda: 0 (2), cuda: 1 (1); dropout can differ between them." in notes
    assert not any("numpy" in note or "seconds" in note for note in notes)


def test_d_numbers_have_their_meaning_and_long_lists_are_cut():
    one = result(TABLE7, FakeStore())
    assert f"D14: {explanations()['D14']}" in meanings(one)
    missing = next(note for note in of_runs(one) if note.startswith("60 of 60 runs not run yet"))
    assert "; …" in missing and missing.count(";") == 8


def test_baselines_stand_beside_scores_alone():
    for name, scored in (("table7", True), ("esimcse-table3", False), ("figure7", False)):
        store, task = filled(find(name)), find(name).metric.task
        for run in store.runs.values():
            baselines = [(place, task, "spearman_all", 0, 30.0) for place in ("untrained", "bag_of_words")]
            run.rows = pd.concat([run.rows, pd.DataFrame(baselines, columns=run.rows.columns)])
        assert any("Without training" in note for note in of_runs(result(find(name), store))) is scored, name


def test_failed_and_unavailable_runs_are_listed():
    cells = [(model, task) for model in ("base", "large") for task in ("x", "y")]
    study = small(
        axes=(Axis(name="model", title="Model", labels=("base", "large")), Axis(name="task", title="Task", labels=("x", "y"))),
        cells=tuple(Cell(labels=labels, changes={}, encoder=f"bert-{labels[0]}") for labels in cells), reference=("base", "x"),
        rows="model", columns="task", figure=None,
    )  # fmt: skip
    assert "Unavailable (n/a): scale demo has no encoder in the place of bert-large (large)." in of_runs(result(study, FakeStore()))
    some = replace(study, cells=tuple(replace(c, encoder="bert-base") if c.labels == ("large", "x") else c for c in study.cells))
    assert any(note.endswith("bert-large (large/y).") for note in of_runs(result(some, FakeStore())))
    failed = of_runs(result(small(), stored(small(), a=[50.0, (0.0, "diverged")], b=[50.0])))
    assert "1 of 6 runs diverged (‡), counted as 0, the worst (a: 1)." in failed


def test_seeds_that_share_the_order_of_the_text_are_told():
    study, orders = find("mocose-table3"), find("orders")
    for profile, shared in (("paper", False), ("released", True)):
        store = FakeStore()
        for seed in range(3):
            store.add(config_of(study, ("0.85",), seed, profile), 50.0 + seed)
            store.add(config_of(orders, ("43", "ESimCSE"), seed, profile), 50.0 + seed)  # rows that name their seeds
        one = study_result(study, edition(3, profile), store)
        assert shared == any("one order of the text" in note for note in of_runs(one))
        assert not any("one order of" in note for note in of_runs(study_result(orders, edition(3, profile), store)))


def test_a_table_names_what_the_study_does_not_change_in_another_methods_rows():
    axis = Axis(name="size", title="Size", labels=("a", "b", "c"))
    cells = (
        Cell(labels=("a",)),
        Cell(labels=("b",), method="simcse"),
        Cell(labels=("c",), method="simcse", changes={"data.max_length": 40}),
    )
    one = small(axes=(axis,), cells=cells, base_changes={"data.max_length": 24, "queue.size": 256}, reference=None)
    for profile in PROFILES:
        notes = of_runs(study_result(one, edition(1, profile), FakeStore()))
        assert "Not changed in rows of another method: data.max_length=24 (b)." in notes


def test_comparisons_in_words():
    one = result(TABLE7, FakeStore())
    a, b = ("none", "128"), ("quarter", "512")
    assert contrast_here(greater(b, a, 0.5), one) == "quarter/512 minus none/128, above 0.5"
    assert text_here("Seven transfer tasks of seven STS sets", one) == "Four transfer tasks of four test sets"
    halves = replace(mean_above([a, b], [(None, "256")], -1.0), metric=Metric(task="dev", title="Cosine", quantity="mean_cosine"))
    assert contrast_here(halves, one) == "cosine: 0.5 × none/128 plus 0.5 × quarter/512 minus every initial fill/256, above −1"
