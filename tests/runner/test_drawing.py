"""Which studies are drawn when all are: those that are begun."""

import pytest
from fake_store import FakeStore, config_of, edition

from core.runner.draw import Drawing
from studies import STUDIES, find

FIGURE5, TABLE3, NOISE = find("figure5"), find("table3"), find("noise")


def begun(*stored, seeds=2):
    """Names of the begun studies of all, where these (study, label, seed) are stored."""
    store = FakeStore()
    for study, label, seed in stored:
        store.add(config_of(study, label if isinstance(label, tuple) else (label,), seed), 50.0)
    drawing = Drawing(None, store, None, None)
    return [study.name for study in drawing.begun(list(STUDIES), edition(seeds))]


@pytest.mark.parametrize("label, names", [("0.85", []), ("0.9", ["mocose-table3"])])
def test_a_run_begins_a_study_if_no_other_study_asks_for_it(label, names):
    assert begun((TABLE3, label, 0)) == names  # 0.85 is the standard setting, which many tables have


def test_a_whole_seed_begins_a_study_though_others_share_its_runs():
    whole = [(TABLE3, label, 1) for label in TABLE3.axes[0].labels]
    assert begun(*whole) == ["mocose-table3"] and begun(*whole, seeds=1) == []


def test_the_first_look_of_a_claim_begins_its_study_though_others_share_its_runs():
    bare = ("no predictor, η = 0", "last")  # the study of collapse asks for these runs, too
    assert begun(*[(FIGURE5, bare, seed) for seed in (0, 1)]) == []
    assert begun(*[(FIGURE5, bare, seed) for seed in (0, 1, 2)]) == ["mocose-figure5"]


def test_a_study_of_many_seeds_waits_for_them_all():
    seeds = [(NOISE, NOISE.cells[0].labels[0], seed) for seed in range(NOISE.least_seeds)]
    assert "noise" not in begun(*seeds[:-1]) and "noise" in begun(*seeds)
