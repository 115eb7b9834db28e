"""Profiles and scales: which of base, profile, cell and scale wins, and by which rules a cell
becomes a run of a scale."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from made_scales import FULL, PAPER_SOURCES, SMALL, SOURCES
from resolved import cell_at
from small_study import printed, small

from core.config.methods import base
from core.config.scale import DEMO, SCALES, at_scale
from core.config.vary import vary
from core.errors import UserError
from core.methods.mocose.sections import TextView
from core.study.resolution import check_distinct, resolve
from core.study.setup import Setup
from core.study.study import Cell, Metric

MOCOSE, SIMCSE, ESIMCSE = (base(method, "repaired") for method in ("mocose", "simcse", "esimcse"))
TYPOS = TextView(kind="typos")
SUBSTITUTED = TextView(kind="contextual_substitute", model="roberta-base")


def test_scale_rules_against_hand_computed_runs():
    run = at_scale(MOCOSE, SMALL, SOURCES)
    digests = (run.data.digest, run.encoder.digest, run.eval.digest)
    assert (run.scale, *digests) == ("small", "corpus", "encoder", "pairs")
    assert run.data.rows == 40_000  # the text's own, though 300 x 64 of them are read
    assert (run.train.steps, run.train.batch_size, run.train.warmup_fraction) == (300, 64, 0.1)
    assert run.train.learning_rate == pytest.approx(3e-4)
    assert run.eval.every == 30  # ten checks
    assert run.heads.out_size == 128  # 768 at hidden 768
    assert (run.queue.size, run.queue.init_size) == (512, 128)  # eight batches stay eight batches
    assert run.ema.total_updates == 288  # 15000 / 15625 of 300


@pytest.mark.parametrize("batch, steps", [(32, 600), (64, 300), (256, 75)])
def test_another_batch_reads_as_many_sentences_and_keeps_the_schedule_in_updates(batch, steps):
    """At 75 steps the decay hardly moves, and at 600 it comes down again (D2)."""
    run = at_scale(vary(MOCOSE, {"train.batch_size": batch}), SMALL, SOURCES)
    assert (run.train.batch_size, run.train.steps, run.ema.total_updates) == (batch, steps, 288)
    assert run.queue.size == 512
    equal = at_scale(vary(MOCOSE, {"train.batch_size": batch}), SMALL, SOURCES, equal_updates=True)
    assert (equal.train.batch_size, equal.train.steps, equal.ema.total_updates) == (batch, 300, 288)


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
    assert (run.train.steps, run.train.learning_rate) == (15_625, 3e-5)
    assert (run.eval.every, run.ema.total_updates) == (100, 15_000)
    assert at_scale(SIMCSE, FULL, sources).train.precision == "bf16"  # its own is fp16 (D71)
    ragged = at_scale(base("simcse", "released"), FULL, sources)
    # the last batch of one sentence is kept (D78)
    assert (ragged.train.steps, ragged.seed.data) == (15_626, 42)


def test_a_sentence_with_its_repetitions_has_to_fit_into_the_encoder_s_positions():
    changes = {"data.max_length": 40, "train.precision": "bf16"}
    repeated, plain = (vary(run, changes) for run in (base("esimcse", "paper"), SIMCSE))
    assert repeated.longest == 52
    for run, positions, device, fits in (
        (repeated, 52, "cuda", True),
        (repeated, 51, "cuda", False),
        (repeated, 40, "cpu", True),  # where nothing is padded
        (plain, 40, "cpu", True),
        (plain, 39, "cpu", False),
    ):
        with nullcontext() if fits else pytest.raises(UserError, match=f"only {positions} pos"):
            run.check_device(positions, device)


def test_text_models_by_scale_and_what_is_not_available():
    def at(scale, text, head=True):
        """The text view of a run, and the reason why there is none."""
        encoder = SOURCES.encoder._replace(masked_words=head)
        sources = replace(SOURCES, corpus_rows=1_000_000, encoders=(encoder,))
        setup = Setup(profile="repaired", scale=SCALES[scale], sources=sources, seeds=1)
        one = small(base={"text": text}, metric=Metric(task="dev", title=""))
        cell = cell_at(setup, one, one.cells[0])
        return cell.config(0).text, cell.unavailable

    models = {"continuation": "xlnet-base-cased", "back_translation": "wmt19-en-de-en"}
    for scale in SCALES:
        assert at(scale, TYPOS) == (TYPOS, None)
        model = "roberta-base" if scale == "paper" else "encoder"
        assert at(scale, SUBSTITUTED) == (replace(SUBSTITUTED, model=model), None)
        for kind, model in models.items():
            text = TextView(kind=kind, model=model)
            made, unavailable = at(scale, text)
            assert made == text and (unavailable is None) == (scale == "paper")
    assert at("paper", SUBSTITUTED, head=False)[1] is None
    assert "masked-word head" in at("mini", SUBSTITUTED, head=False)[1].words


def test_transfer_tasks_are_part_of_what_a_run_is_evaluated_on():
    plain = at_scale(MOCOSE, SMALL, SOURCES)
    with pytest.raises(UserError, match="eval.transfer=true needs SentEval's transfer tasks"):
        at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, SOURCES)
    both = replace(SOURCES, transfer_digest="t")
    assert at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, both) == vary(
        plain, {"eval.transfer": True, "eval.digest": "t"}
    )
    assert at_scale(MOCOSE, SMALL, both) == plain


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
    with pytest.raises(UserError, match="steps is 0 with batches of"):
        at_scale(large, DEMO, SOURCES)
    assert at_scale(base("untrained", "paper"), DEMO, SOURCES).train.steps == 0
