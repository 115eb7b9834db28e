"""Profiles and scales: which of base, profile, cell and scale wins, and by which rules a cell
becomes a run of a scale."""

from dataclasses import replace

import pytest
from made_scales import FULL, PAPER_SOURCES, SMALL, SOURCES, cell_run
from resolved import cell_at, config_at
from small_study import printed, small

from core.config import run as c
from core.config.methods import PROFILES, as_coded, base
from core.config.run import TextView
from core.config.scale import DEMO, SCALES, at_scale
from core.config.vary import vary
from core.errors import UserError
from core.methods.mocose.settings import rising, wrapping
from core.study.check import check_study
from core.study.grid import check_distinct, resolve
from core.study.setup import Setup, check_device
from core.study.study import Cell, Metric

MOCOSE, SIMCSE, ESIMCSE = (base(method, "repaired") for method in ("mocose", "simcse", "esimcse"))
TYPOS = TextView(kind="typos")
SUBSTITUTED = TextView(kind="contextual_substitute", model="roberta-base")


def test_scale_rules_against_hand_computed_runs():
    run = at_scale(MOCOSE, SMALL, SOURCES)
    assert (run.scale, run.data.digest, run.encoder.digest, run.eval.digest) == (
        "small",
        "corpus",
        "encoder",
        "pairs",
    )
    assert run.data.rows == 40_000  # the text's own, though 300 x 64 of them are read
    assert (run.train.steps, run.train.batch_size, run.train.warmup_fraction) == (300, 64, 0.1)
    assert run.train.learning_rate == pytest.approx(3e-4)
    assert run.eval.every == 30  # ten checks
    assert run.heads.out_size == 128  # 768 at hidden 768
    assert (run.queue.size, run.queue.init_size) == (512, 128)  # eight batches stay eight batches
    assert run.ema.total_updates == 288  # 15000 / 15625 of 300


def test_a_larger_batch_means_fewer_steps_and_the_same_schedule_in_sentences():
    large = at_scale(vary(MOCOSE, {"train.batch_size": 256}), SMALL, SOURCES)
    assert (large.train.batch_size, large.train.steps) == (256, 75)  # 19200 sentences
    # in updates, whatever the batch: at 75 steps the decay hardly moves (D2)
    assert large.ema.total_updates == 288
    assert large.queue.size == 512
    small = at_scale(vary(MOCOSE, {"train.batch_size": 32}), SMALL, SOURCES)
    # and here it comes down again
    assert (small.train.steps, small.ema.total_updates) == (600, 288)


def test_with_equal_updates_a_batch_of_any_size_has_as_many_steps():
    for size in (32, 64, 256):
        run = at_scale(vary(MOCOSE, {"train.batch_size": size}), SMALL, SOURCES, equal_updates=True)
        assert (run.train.batch_size, run.train.steps, run.ema.total_updates) == (size, 300, 288)


def test_a_scale_of_another_batch_keeps_counts_in_batches():
    half = replace(SMALL, batch_size=32)
    sliced = at_scale(vary(MOCOSE, {"queue.slice": ((0, 256), (256, 512))}), half, SOURCES)
    assert (sliced.train.batch_size, sliced.train.steps) == (32, 300)
    assert (sliced.queue.size, sliced.queue.init_size) == (256, 64)
    assert sliced.queue.slice == ((0, 128), (128, 256))
    one = at_scale(vary(MOCOSE, {"queue.init_size": 1}), half, SOURCES)
    assert one.queue.init_size == 1  # "no initial vectors" stays that
    assert at_scale(ESIMCSE, half, SOURCES).queue.size == 80  # 2.5 batches


def test_full_scale_is_one_pass_in_the_papers_own_units():
    sources = replace(PAPER_SOURCES, corpus_rows=1_000_001)
    run = at_scale(MOCOSE, FULL, sources)
    assert (run.train.steps, run.train.learning_rate, run.eval.every, run.ema.total_updates) == (
        15_625,
        3e-5,
        100,
        15_000,
    )
    assert at_scale(SIMCSE, FULL, sources).train.precision == "bf16"  # its own is fp16 (D71)
    ragged = at_scale(base("simcse", "released"), FULL, sources)
    # the last batch of one sentence is kept (D78)
    assert (ragged.train.steps, ragged.seed.data) == (15_626, 42)


def test_a_sentence_with_its_repetitions_has_to_fit_into_the_encoder_s_positions():
    repeated, plain = (
        vary(run, {"data.max_length": 40, "train.precision": "bf16"})
        for run in (base("esimcse", "paper"), SIMCSE)
    )
    assert repeated.longest == 52
    (
        check_device(repeated, 52, "cuda"),
        check_device(repeated, 40, "cpu"),
        check_device(plain, 40, "cpu"),
    )
    for run, positions, device, sentence in (
        (
            repeated,
            51,
            "cuda",
            "is 40 and repetition makes it up to 52, but the encoder has only 51 positions",
        ),
        (plain, 39, "cpu", "is 40 but the encoder has only 39 positions; lower it"),
    ):
        with pytest.raises(UserError, match=sentence):
            check_device(run, positions, device)


def test_text_models_by_scale_and_what_is_not_available():
    def at(scale, text, head=True):
        encoder = SOURCES.encoder._replace(masked_words=head)
        sources = replace(SOURCES, corpus_rows=1_000_000, encoders=(encoder,))
        setup = Setup(profile="repaired", scale=SCALES[scale], sources=sources, seeds=1)
        one = small(base={"text": text}, metric=Metric(task="dev", title=""))
        return config_at(setup, one, one.cells[0], 0), cell_at(setup, one, one.cells[0]).unavailable

    continued = TextView(kind="continuation", model="xlnet-base-cased")
    translated = TextView(kind="back_translation", model="wmt19-en-de-en")
    for scale in SCALES:
        assert at(scale, TYPOS)[1] is None and at(scale, TYPOS)[0].text == TYPOS
        run, reason = at(scale, SUBSTITUTED)
        assert reason is None
        assert run.text.model == ("roberta-base" if scale == "paper" else "encoder")
        assert at(scale, continued)[0].text == continued
    assert (
        at("paper", SUBSTITUTED, head=False)[1]
        is at("paper", continued)[1]
        is at("paper", translated)[1]
        is None
    )
    assert (
        at("mini", SUBSTITUTED, head=False)[1].words
        == "needs a masked-word head, which the encoder bert does not have"
    )
    assert (
        at("demo", continued)[1].words == "needs xlnet-base-cased, which scale demo does not have"
    )
    assert at("mini", translated)[1].words == "needs wmt19-en-de-en, which scale mini does not have"


def test_transfer_tasks_are_part_of_what_a_run_is_evaluated_on():
    plain = at_scale(MOCOSE, SMALL, SOURCES)
    with pytest.raises(UserError, match="eval.transfer=true needs SentEval's transfer tasks"):
        at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, SOURCES)
    both = replace(SOURCES, transfer_digest="t")
    assert at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, both) == vary(
        plain, {"eval.transfer": True, "eval.digest": "t"}
    )
    assert at_scale(MOCOSE, SMALL, both) == plain


def test_a_cell_wins_over_the_profile_and_the_profile_over_the_base():
    one = printed(
        base={"queue.init": "paper_grow"},
        cells=(Cell(labels=("a",), changes={"ema.when": "after_optimizer_step"}),),
    )
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
        (
            {"text": SUBSTITUTED, "text.kind": "contextual_substitute"},
            "contextual_substitute",
            "wordpiece_join",
        ),
        ({"text": TYPOS, "text.detokenize": "original_text"}, "typos", "original_text"),
    ):
        one = printed(cells=(Cell(labels=("a",), changes=changes),))
        released, paper = (
            one.paper_config(one.cells[0], profile) for profile in ("released", "paper")
        )
        assert (released.text.kind, released.text.detokenize) == (kind, detokenize)
        assert released.text.model == paper.text.model
        assert paper.text == vary(base("mocose", "paper"), changes).text
        in_base = printed(base=changes, cells=(Cell(labels=("a",), changes={}),))
        assert in_base.paper_config(in_base.cells[0], "released").text == released.text


def test_what_a_cell_says_for_a_profile_holds_under_that_one_alone_and_wins():
    cells = (
        Cell(labels=("a",), changes={"eval.every": 50}, by_profile=as_coded({"eval.every": 175})),
        Cell(labels=("b",)),
    )
    one = printed(base=rising(0.75, 0.95), by_profile={"repaired": wrapping(0.75)}, cells=cells)
    runs = {profile: one.paper_config(one.cells[0], profile) for profile in PROFILES}
    assert [runs[profile].eval.every for profile in PROFILES] == [50, 175, 175]
    assert [runs[profile].ema.schedule for profile in PROFILES] == [
        "cosine_to_end",
        "released_cosine",
        "cosine_to_end",
    ]
    assert [runs[profile].ema.end for profile in PROFILES] == [0.95, 1.0, 0.95]
    with pytest.raises(UserError, match="no profile tidy"):
        check_study(printed(by_profile={"tidy": {}}))


def test_the_seed_moves_both_streams_but_under_released_the_model_alone():
    one = printed()
    seeds = {
        p: cell_run(one, one.cells[0], profile=p, scale=SMALL, sources=SOURCES, seed=5).seed
        for p in PROFILES
    }
    assert seeds == {
        "paper": c.Seed(model=5, data=5),
        "repaired": c.Seed(model=5, data=5),
        "released": c.Seed(model=5, data=42),
    }


def test_cells_that_the_scale_makes_one_run_of_are_refused_and_cells_that_say_the_same_are_not():
    setup = Setup(profile="paper", scale=SMALL, sources=SOURCES, seeds=1)  # widths shrink by 6
    wide, wider, same = (
        Cell(labels=(label,), changes={"heads.out_size": size})
        for label, size in (("a", 600), ("b", 601), ("b", 600))
    )
    with pytest.raises(UserError, match="a and b of mocose-x are one run at scale small; give"):
        check_distinct(resolve(printed(cells=(wide, wider)), setup))
    check_distinct(resolve(printed(cells=(wide, same)), setup))
    full = replace(setup, scale=FULL, sources=PAPER_SOURCES)
    check_distinct(resolve(printed(cells=(wide, wider)), full))


def test_a_batch_that_leaves_no_step_is_refused_and_a_run_without_training_has_none():
    large = vary(base("simcse", "paper"), {"train.batch_size": 16_000})
    with pytest.raises(UserError, match="leaves no step to train"):
        at_scale(large, DEMO, SOURCES)
    assert at_scale(base("untrained", "paper"), DEMO, SOURCES).train.steps == 0
