"""Which studies are drawn when all are: those that are begun."""

from fake_store import FakeStore, config_of, made_setup

from core.runner.draw import Drawing
from studies import STUDIES, find

FIGURE5, TABLE3, NOISE = find("figure5"), find("table3"), find("noise")


def begun(*stored, seeds=2):
    """Names of the begun studies of all, where these (study, label, seed) are stored."""
    store = FakeStore()
    for study, label, seed in stored:
        store.add(config_of(study, label if isinstance(label, tuple) else (label,), seed), 50.0)
    drawing = Drawing(None, store, None, None)
    return [study.name for study in drawing.begun(list(STUDIES), made_setup(seeds))]


def test_a_study_is_begun_by_a_run_of_its_own_a_whole_seed_or_the_first_check_of_a_claim():
    assert begun((TABLE3, "0.85", 0)) == []  # the standard setting, which many tables have
    assert begun((TABLE3, "0.9", 0)) == ["mocose-table3"]
    whole = [(TABLE3, label, 1) for label in TABLE3.axes[0].labels]
    assert begun(*whole) == ["mocose-table3"] and begun(*whole, seeds=1) == []
    bare = ("no predictor, η = 0", "last")  # the study of collapse asks for these runs, too
    assert begun(*[(FIGURE5, bare, seed) for seed in (0, 1)]) == []
    assert begun(*[(FIGURE5, bare, seed) for seed in (0, 1, 2)]) == ["mocose-figure5"]
    seeds = [(NOISE, NOISE.cells[0].labels[0], seed) for seed in range(NOISE.least_seeds)]
    assert "noise" not in begun(*seeds[:-1]) and "noise" in begun(*seeds)
