"""Which of base, profile, cell and scale wins, and cells that a scale makes one run of."""

from dataclasses import replace

import pytest
from made_scales import FULL, PAPER_SOURCES, SMALL, SOURCES, cell_run
from small_study import printed as study

from core.methods.mocose.settings import rising, wrapping
from core.spec import run as c
from core.spec.check import check_study
from core.spec.errors import UserError
from core.spec.methods import PROFILES, as_coded, base
from core.spec.run import TextView
from core.spec.setup import Setup
from core.spec.study import Cell
from core.spec.vary import vary

MOCOSE = base("mocose", "paper")
TYPOS, SUBSTITUTED = TextView(kind="typos"), TextView(kind="contextual_substitute", model="roberta-base")


def test_a_cell_wins_over_the_profile_and_the_profile_over_the_base():
    one = study(base_changes={"queue.init": "paper_grow"}, cells=(Cell(labels=("a",), changes={"ema.when": "after_optimizer_step"}),))
    run = one.paper_config(one.cells[0], "released")
    assert run.queue.init == "paper_grow"  # the study's own statement stands
    assert run.ema.when == "after_optimizer_step"
    assert run.target.stop_gradient is False  # the rest is released
    with pytest.raises(UserError, match="no profile"):
        one.paper_config(one.cells[0], "other")


def test_the_profile_reaches_a_section_that_a_cell_brings_in():
    for changes, kind, detokenize in (
        ({"text": TYPOS}, "typos", "wordpiece_join"),  # D26
        ({"text": SUBSTITUTED}, "contextual_insert", "wordpiece_join"),  # D27
        ({"text": SUBSTITUTED, "text.kind": "contextual_substitute"}, "contextual_substitute", "wordpiece_join"),
        ({"text": TYPOS, "text.detokenize": "original_text"}, "typos", "original_text"),
    ):
        one = study(cells=(Cell(labels=("a",), changes=changes),))
        released, paper = (one.paper_config(one.cells[0], profile) for profile in ("released", "paper"))
        assert (released.text.kind, released.text.detokenize) == (kind, detokenize)
        assert released.text.model == paper.text.model and paper.text == vary(MOCOSE, changes).text
        in_base = study(base_changes=changes, cells=(Cell(labels=("a",), changes={}),))
        assert in_base.paper_config(in_base.cells[0], "released").text == released.text


def test_what_a_cell_says_for_a_profile_holds_under_that_one_alone_and_wins():
    cells = (Cell(labels=("a",), changes={"eval.every": 50}, by_profile=as_coded({"eval.every": 175})), Cell(labels=("b",)))
    one = study(base_changes=rising(0.75, 0.95), by_profile={"repaired": wrapping(0.75)}, cells=cells)
    runs = {profile: one.paper_config(one.cells[0], profile) for profile in PROFILES}
    assert [runs[profile].eval.every for profile in PROFILES] == [50, 175, 175]
    assert [runs[profile].ema.schedule for profile in PROFILES] == ["cosine_to_end", "released_cosine", "cosine_to_end"]
    assert [runs[profile].ema.end for profile in PROFILES] == [0.95, 1.0, 0.95]
    with pytest.raises(UserError, match="no profile tidy"):
        check_study(study(by_profile={"tidy": {}}))


def test_the_seed_moves_both_streams_but_under_released_the_model_alone():
    one = study()
    seeds = {p: cell_run(one, one.cells[0], profile=p, scale=SMALL, sources=SOURCES, seed=5).seed for p in PROFILES}
    assert seeds == {"paper": c.Seed(model=5, data=5), "repaired": c.Seed(model=5, data=5), "released": c.Seed(model=5, data=42)}


def test_cells_that_the_scale_makes_one_run_of_are_refused_and_cells_that_say_the_same_are_not():
    setup = Setup(profile="paper", scale=SMALL, sources=SOURCES, seeds=1)  # widths shrink by 6
    wide, wider, same = (Cell(labels=(label,), changes={"heads.out_size": size}) for label, size in (("a", 600), ("b", 601), ("b", 600)))
    with pytest.raises(UserError, match="a and b of mocose-x are one run at scale small; give"):
        setup.check(study(cells=(wide, wider)))
    setup.check(study(cells=(wide, same)))
    replace(setup, scale=FULL, sources=PAPER_SOURCES).check(study(cells=(wide, wider)))
