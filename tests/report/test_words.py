"""What stands around a table: names as they hold at a scale, and notes on these runs."""

from fake_store import FakeStore, config_of, made_setup
from small_study import result, small

from core.report.verdicts import study_result
from core.report.words import of_runs
from core.spec.table import Axis, Cell
from studies import find


def test_mixed_environments_and_origins_are_footnoted():
    study, store = small(), FakeStore()
    for seed, (torch, source) in enumerate([("2.9.0", "own"), ("2.10.0", "published"), ("2.9.0", "own")]):
        versions = {"torch": torch, "numpy": "2.4"}
        nested = {"versions": versions, "device": f"cuda: {seed // 2}", "seconds": 3.0 + seed}
        store.add(config_of(study, ("a",), seed), 50.0 + seed, source=source, provenance=nested)
    notes = of_runs(result(study, store))
    assert "From the project's published results: 1 run of those shown, 2 from this machine." in notes
    differ = "The runs differ in torch, device (environment.csv); dropout can differ between devices."
    assert differ in notes


def test_unavailable_runs_are_listed():
    axes = tuple(
        Axis(name=name, title=name, labels=("base", "large")[: 2 - place]) for place, name in enumerate("mt")
    )
    cells = tuple(
        Cell(labels=(name, "base"), changes={}, encoder=f"bert-{name}") for name in ("base", "large")
    )
    study = small(axes=axes, cells=cells, reference=("base", "base"), rows="m", columns="t", figure=None)
    notes = of_runs(result(study, FakeStore()))
    assert any(
        note.startswith("Unavailable (n/a): scale demo has no encoder in the place of") for note in notes
    )


def test_seeds_that_share_the_order_of_the_text_are_told():
    study = find("mocose-table3")
    for profile, shared in (("paper", False), ("released", True)):
        store = FakeStore()
        for seed in range(3):
            store.add(config_of(study, ("0.85",), seed, profile), 50.0 + seed)
        one = study_result(study, made_setup(3, profile), store)
        assert shared == any("one order of the text" in note for note in of_runs(one))
