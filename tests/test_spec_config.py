"""Configurations: what is refused and why, changes by path, settings from text, and the rules of scale."""

import ast
import dataclasses
import inspect
import traceback

import numpy as np
import pytest

from core.spec import config as c, methods, views
from core.spec.availability import unavailable
from core.spec.base import BASES, PROFILES, RELEASED, base, released_changes
from core.spec.errors import UserError
from core.spec.layout import Axis, Cell, FigureSpec, Metric
from core.spec.scale import SCALES, Scale, Sources, at_scale
from core.spec.study import Study
from core.spec.vary import parse_setting, paths, read, vary

SOURCES = Sources(
    corpus_digest="corpus", corpus_rows=40_000, corpus_name="text", encoder_digest="encoder", encoder_hidden=128,
    encoder_name="bert", evaluation_digest="pairs", evaluation_name="sets",
)
SMALL = Scale(
    name="small", seeds=3, steps=300, checks=10, batch_size=64, learning_rate=3e-4, warmup_fraction=0.1, precision="fp32",
    dev="DEV", tests=("A", "B"), probes=(), watermark=None,
)
FULL = Scale(
    name="full", seeds=5, steps=None, checks=None, batch_size=64, learning_rate=None, warmup_fraction=0.0, precision=None,
    dev="DEV", tests=("A", "B"), probes=(), watermark=None,
)
MOCOSE, SIMCSE, ESIMCSE = BASES["mocose"], BASES["simcse"], BASES["esimcse"]


def esimcse_queue(**fields):
    return c.MomentumQueue(**fields)


# Each case: a run, what is changed, and a piece of the sentence that must come.
CONTRADICTIONS = [
    (MOCOSE, {"data.max_length": 2}, "at least 3 tokens"),
    (MOCOSE, {"data.rows": 0}, "no sentences"),
    (MOCOSE, {"encoder.hidden_dropout": 1.0}, "encoder.hidden_dropout is 1.0"),
    (MOCOSE, {"encoder.attention_dropout": -0.1}, "encoder.attention_dropout"),
    (MOCOSE, {"heads.projection_layers": 4}, "depths 0 to 3"),
    (MOCOSE, {"heads.predictor_layers": -1}, "heads.predictor_layers"),
    (MOCOSE, {"heads.out_size": 0}, "heads.out_size"),
    (MOCOSE, {"heads.dropout": 1.0}, "heads.dropout"),
    (MOCOSE, {"heads.predictor_hidden": 64, "heads.predictor_layers": 1}, "no effect"),
    (MOCOSE, {"loss.temperature": 0.0}, "loss.temperature"),
    (MOCOSE, {"queue.size": 0, "queue.init_size": 0}, "at least one place"),
    (MOCOSE, {"queue.init_size": 513}, "queue.size=512"),
    (MOCOSE, {"queue.init_size": -1}, "between 0 and"),
    (MOCOSE, {"queue.slice": ((0, 513),)}, "does not fit"),
    (MOCOSE, {"queue.slice": ((5, 5),)}, "does not fit"),
    (MOCOSE, {"queue.slice": ()}, "is empty"),
    (MOCOSE, {"queue.clusters": 5}, "goes with queue.negatives=kmeans"),
    (MOCOSE, {"queue.negatives": "kmeans", "queue.clusters": 513}, "queue.clusters is 513"),
    (ESIMCSE, {"queue": (esimcse_queue, {"size": 0})}, "for no queue"),
    (MOCOSE, {"target.freeze_projection": False}, "no gradient reaches it"),
    (MOCOSE, {"ema.start": 1.1}, "ema.start"),
    (MOCOSE, {"ema.schedule": "constant"}, "takes neither"),
    (MOCOSE, {"ema.end": None}, "needs ema.end"),
    (MOCOSE, {"ema.end": 1.5}, "needs ema.end"),
    (MOCOSE, {"ema.total_updates": None}, "total_updates of at least 1"),
    (MOCOSE, {"ema.schedule": "cosine_to_end"}, "over the whole run"),
    (MOCOSE, {"fgsm.epsilon": -1e-9}, "must not be negative"),
    (MOCOSE, {"fgsm.epsilon": 0.0}, "go together"),
    (MOCOSE, {"fgsm.gradient": "none"}, "go together"),
    (MOCOSE, {"fgsm.at_eval": True, "fgsm.gradient": "current"}, "only a stored gradient"),
    (MOCOSE, {"aug.token_cutoff": 1.0}, "aug.token_cutoff is 1.0"),
    (MOCOSE, {"aug.feature_cutoff": -0.1}, "aug.feature_cutoff"),
    (MOCOSE, {"aug.position_shuffle": "per_batch"}, "position_shuffle_range go together"),
    (MOCOSE, {"aug.token_cutoff": 0.1}, "token_cutoff_pool go together"),
    (MOCOSE, {"text": (c.TextView, {"kind": "typos", "rate": 0.0})}, "text=none"),
    (MOCOSE, {"text": (c.TextView, {"kind": "continuation", "rate": 0.5, "model": "xlnet-base-cased"})}, "has no effect"),
    (MOCOSE, {"text": (c.TextView, {"kind": "typos", "model": "roberta-base"})}, "needs no model"),
    (MOCOSE, {"text": (c.TextView, {"kind": "contextual_insert"})}, "needs text.model=roberta-base or encoder"),
    (MOCOSE, {"text": (c.TextView, {"kind": "typos"}), "fgsm.gradient": "current"}, "set fgsm.views=online_only"),
    (ESIMCSE, {"text": (c.TextView, {"kind": "typos"})}, "has no section text"),
    (ESIMCSE, {"dup.rate": 0.0}, "dup=none"),
    (ESIMCSE, {"dup.rate": 1.1}, "dup.rate"),
    (ESIMCSE, {"dup.cap": 0}, "dup.cap"),
    (ESIMCSE, {"momentum.lambda": 0.0}, "switch the queue off"),
    (ESIMCSE, {"momentum.lambda": 1.0}, "momentum.lambda"),
    (MOCOSE, {"train.steps": 0}, "at least one step"),
    (MOCOSE, {"train.batch_size": 1}, "at least 2 sentences"),
    (MOCOSE, {"train.learning_rate": -1.0}, "must not be negative"),
    (MOCOSE, {"train.weight_decay": -1.0}, "must not be negative"),
    (MOCOSE, {"train.warmup_fraction": 1.0}, "warmup_fraction"),
    (MOCOSE, {"train.clip_norm": 0.0}, "clip_norm"),
    (MOCOSE, {"train.beta2": 1.0}, "beta1 and train.beta2"),
    (MOCOSE, {"train.epsilon": 0.0}, "train.epsilon is above 0"),
    (MOCOSE, {"eval.every": 0}, "at least 1 step"),
    (MOCOSE, {"select.metric": "sts_test_avg"}, "select.score goes with"),
    (MOCOSE, {"select.score": "mean_of_7"}, "select.score goes with"),
    (MOCOSE, {"seed.model": -1}, "must not be negative"),
    (MOCOSE, {"data.rows": 63}, "only 63 sentences"),
    (MOCOSE, {"queue": (esimcse_queue, {})}, "not ESimCSE's"),
    (MOCOSE, {"eval.vector": None}, "needs eval.vector"),
    (MOCOSE, {"eval.head": "on"}, "takes no eval.head"),
    (MOCOSE, {"loss.in_batch_negatives": False, "queue.init_size": 0}, "without negatives"),
    (MOCOSE, {"data.drop_last": False}, "ragged batch"),
    (MOCOSE, {"heads": None}, "needs the section heads"),
    (MOCOSE, {"momentum": (c.Momentum, {})}, "has no section momentum"),
    (ESIMCSE, {"queue": None}, "go together"),
    (ESIMCSE, {"queue": (c.NegativeQueue, {})}, "not MoCoSE's"),
    (ESIMCSE, {"queue": None, "momentum": None, "dup": None}, "is SimCSE"),
    (ESIMCSE, {"queue.view": "repeated", "dup": None}, "needs repetition"),
    (ESIMCSE, {"fgsm": (c.FGSM, {})}, "has no section fgsm"),
    (SIMCSE, {"dup": (c.Repetition, {})}, "has no section dup"),
    (SIMCSE, {"eval.head": None}, "needs eval.head"),
    (SIMCSE, {"loss.in_batch_negatives": False}, "by definition"),
    (SIMCSE, {"eval.apply_augmentation": True}, "leave it false"),
]


def attempt(run, changes):
    """The UserError of these changes; a pair (class, arguments) is a section still to be made."""
    with pytest.raises(UserError) as caught:
        vary(run, {path: v[0](**v[1]) if isinstance(v, tuple) and v and callable(v[0]) else v for path, v in changes.items()})
    return caught


@pytest.mark.parametrize("run, changes, sentence", CONTRADICTIONS, ids=[case[2] for case in CONTRADICTIONS])
def test_contradictions_are_refused_with_their_sentence(run, changes, sentence):
    assert sentence in str(attempt(run, changes).value)


def test_every_refusal_in_config_is_reached_by_a_case():
    raises = {
        (module.__file__, n.lineno, n.end_lineno)
        for module in (c, methods, views) for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.Raise)
    }  # fmt: skip
    files = {file for file, _, _ in raises}
    reached = set()
    for run, changes, _ in CONTRADICTIONS:
        frames = traceback.extract_tb(attempt(run, changes).value.__traceback__)
        file, line = [(frame.filename, frame.lineno) for frame in frames if frame.filename in files][-1]
        reached |= {span for span in raises if span[0] == file and span[1] <= line <= span[2]}
    assert len(raises) > 30
    assert raises - reached == set(), "refusals that no case reaches, by line"


@pytest.mark.parametrize(
    "path, value",
    [
        ("train.learning_rate", float("nan")), ("train.learning_rate", float("inf")), ("train.learning_rate", "1e-4"),
        ("train.learning_rate", np.float64(1e-4)), ("train.learning_rate", True), ("train.steps", np.int64(3)), ("train.steps", 3.0),
        ("train.steps", True), ("target.stop_gradient", 1), ("target.stop_gradient", None), ("ema.schedule", "linear"),
        ("queue.slice", [[0, 512]]), ("queue.slice", ((0, 1, 2),)), ("queue.slice", ((0, 1.0),)), ("data.digest", b"x"),
        ("queue", "big"), ("heads.predictor_hidden", 1.5), ("encoder", None),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_refused_by_name(path, value):
    with pytest.raises(UserError, match=f"{path} is .*, but it must be"):
        vary(MOCOSE, {path: value})


def test_numpy_float_that_is_a_python_float_does_not_slip_through():
    assert isinstance(np.float64(1.0), float)  # the reason why the exact type is asked for
    with pytest.raises(UserError):
        c.Loss(temperature=np.float64(0.05))


def test_whole_numbers_become_floats_where_floats_are_declared():
    changed = vary(MOCOSE, {"ema.start": 1})
    assert type(changed.ema.start) is float
    assert str(vary(MOCOSE, {"aug.token_cutoff": -0.0}).aug.token_cutoff) == "0.0"
    assert vary(MOCOSE, {"ema.end": 1}) == MOCOSE


def test_vary_sets_deep_and_whole_fields_together_and_leaves_the_original():
    changed = vary(MOCOSE, {"queue.size": 64, "queue.init_size": 64, "scale": "x", "seed": c.Seed(model=3), "seed.data": 4})
    assert (changed.queue.size, changed.queue.init_size, changed.scale) == (64, 64, "x")
    assert (changed.seed.model, changed.seed.data) == (3, 4)
    assert (MOCOSE.queue.size, MOCOSE.scale, MOCOSE.seed.model) == (512, "paper", 0)
    with pytest.raises(UserError):
        vary(MOCOSE, {"queue.size": 64})  # 128 initial vectors do not fit: order of changes must not hide it


@pytest.mark.parametrize(
    "path, hint",
    [
        ("queue.sise", "did you mean queue.size"), ("queu.size", "did you mean"), ("loss.xyzzy", "known: in_batch"),
        ("nothing", "There is no field nothing"), ("dup.rate", "no section dup"), ("queue.size.x", "There is no field queue.size.x"),
    ],
)  # fmt: skip
def test_unknown_paths_are_refused_with_a_hint(path, hint):
    with pytest.raises(UserError, match=hint):
        vary(MOCOSE, {path: 1})


def test_read_gives_what_vary_set_and_paths_lists_every_leaf():
    changed = vary(ESIMCSE, {"momentum.lambda": 0.9})
    assert read(changed, "momentum.lambda") == 0.9
    assert "momentum.lambda" in paths(changed) and "momentum.lambda_" not in paths(changed)
    leaves = {path for path in paths(MOCOSE) if "." in path}
    assert (read(MOCOSE, "queue.init_size"), read(MOCOSE, "scale")) == (128, "paper")
    sections = [getattr(MOCOSE, f.name) for f in dataclasses.fields(MOCOSE)]
    assert len(leaves) == sum(len(dataclasses.fields(s)) for s in sections if dataclasses.is_dataclass(s))
    with pytest.raises(UserError, match="no section dup"):
        read(MOCOSE, "dup.rate")


@pytest.mark.parametrize(
    "text, path, value",
    [
        ("loss.temperature=0.1", "loss.temperature", 0.1), (" queue.size = 64 ", "queue.size", 64),
        ("ema.total_updates=none", "ema.total_updates", None), ("target.stop_gradient=False", "target.stop_gradient", False),
        ("ema.schedule=constant", "ema.schedule", "constant"), ("queue.slice=[[0,256],[768,1024]]", "queue.slice", ((0, 256), (768, 1024))),
        ("loss.temperature=1", "loss.temperature", 1.0), ("heads.predictor_hidden=32", "heads.predictor_hidden", 32),
        ("ema.end=0.9", "ema.end", 0.9), ("scale=x", "scale", "x"),
    ],
)  # fmt: skip
def test_settings_are_read_by_the_type_of_their_field(text, path, value):
    got_path, got = parse_setting(MOCOSE, text)
    assert (got_path, got) == (path, value)
    assert type(got) is type(value)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("loss.temperature", "takes FIELD=VALUE"), ("=3", "takes FIELD=VALUE"), ("queue.size=", "takes FIELD=VALUE"),
        ("queue.slic=3", "did you mean queue.slice"), ("dup.rate=0.3", "no section dup"), ("queue.slice=[[0,", "is not a list like"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_read_are_refused(text, sentence):
    with pytest.raises(UserError, match=sentence):
        parse_setting(MOCOSE, text)


def test_a_setting_of_the_wrong_type_is_refused_when_it_is_applied():
    with pytest.raises(UserError, match="queue.size is 'big'"):
        vary(MOCOSE, dict([parse_setting(MOCOSE, "queue.size=big")]))
    with pytest.raises(UserError, match="finite number"):
        vary(MOCOSE, dict([parse_setting(MOCOSE, "loss.temperature=nan")]))


def test_profiles_differ_in_exactly_what_is_listed():
    for method in BASES:
        clean, released = base(method, "clean"), base(method, "released")
        changed = {path for path in paths(clean) if read(clean, path) != read(released, path)} - {
            f.name for f in dataclasses.fields(clean)
        }
        assert changed == {path for path in RELEASED[method] if not path.startswith("text.")}  # no base has that section
    with pytest.raises(UserError, match="no profile 'dirty'"):
        base("mocose", "dirty")
    assert PROFILES == ("clean", "released")


def test_released_passes_over_sections_that_a_run_lacks():
    only_repetition = vary(ESIMCSE, {"queue": None, "momentum": None})
    assert not {"momentum.init", "queue.cut_first_batch"} & set(released_changes(only_repetition))
    assert "dup.range" in released_changes(only_repetition)


def test_scale_rules_against_hand_computed_runs():
    run = at_scale(MOCOSE, SMALL, SOURCES)
    assert (run.scale, run.data.digest, run.encoder.digest, run.eval.digest) == ("small", "corpus", "encoder", "pairs")
    assert run.data.rows == 40_000  # the text's own, though 300 x 64 of them are read
    assert (run.train.steps, run.train.batch_size, run.train.warmup_fraction) == (300, 64, 0.1)
    assert run.train.learning_rate == pytest.approx(3e-4)
    assert run.eval.every == 30  # ten checks
    assert run.heads.out_size == 128  # 768 at hidden 768
    assert (run.queue.size, run.queue.init_size) == (512, 128)  # eight batches stay eight batches
    assert run.ema.total_updates == 288  # 15000 / 15625 of 300


def test_scale_keeps_ratios_of_what_a_cell_changes():
    wide = at_scale(vary(MOCOSE, {"heads.out_size": 256, "heads.predictor_hidden": 1536}), SMALL, SOURCES)
    assert (wide.heads.out_size, wide.heads.predictor_hidden) == (43, 256)  # 256 x 128 / 768 = 42.67
    slow = at_scale(vary(MOCOSE, {"train.learning_rate": 1e-5}), SMALL, SOURCES)
    assert slow.train.learning_rate == pytest.approx(1e-4)
    often = at_scale(vary(MOCOSE, {"eval.every": 300}), SMALL, SOURCES)
    assert often.eval.every == 90
    plain = at_scale(SIMCSE, SMALL, SOURCES)
    assert plain.eval.every == 30  # 125 is that method's own cadence
    assert plain.train.precision == "fp32"


def test_a_larger_batch_means_fewer_steps_and_the_same_schedule_in_sentences():
    large = at_scale(vary(MOCOSE, {"train.batch_size": 256}), SMALL, SOURCES)
    assert (large.train.batch_size, large.train.steps) == (256, 75)  # 19200 sentences
    assert large.ema.total_updates == 288  # in updates, whatever the batch: at 75 steps the decay hardly moves (D2)
    assert large.queue.size == 512
    small = at_scale(vary(MOCOSE, {"train.batch_size": 32}), SMALL, SOURCES)
    assert (small.train.steps, small.ema.total_updates) == (600, 288)  # and here it comes down again


def test_a_scale_of_another_batch_keeps_counts_in_batches():
    half = dataclasses.replace(SMALL, batch_size=32)
    sliced = at_scale(vary(MOCOSE, {"queue.slice": ((0, 256), (256, 512))}), half, SOURCES)
    assert (sliced.train.batch_size, sliced.train.steps) == (32, 300)
    assert (sliced.queue.size, sliced.queue.init_size) == (256, 64)
    assert sliced.queue.slice == ((0, 128), (128, 256))
    one = at_scale(vary(MOCOSE, {"queue.init_size": 1}), half, SOURCES)
    assert one.queue.init_size == 1  # "no initial vectors" stays that
    assert at_scale(ESIMCSE, half, SOURCES).queue.size == 80  # 2.5 batches


def test_full_scale_is_one_pass_in_the_papers_own_units():
    sources = dataclasses.replace(SOURCES, corpus_rows=1_000_001, encoder_hidden=768)
    run = at_scale(MOCOSE, FULL, sources)
    assert (run.train.steps, run.train.learning_rate, run.eval.every, run.ema.total_updates) == (15_625, 3e-5, 100, 15_000)
    assert at_scale(SIMCSE, FULL, sources).train.precision == "fp16"
    ragged = at_scale(base("simcse", "released"), FULL, sources)
    assert (ragged.train.steps, ragged.seed.data) == (15_626, 42)  # the last batch of one sentence is kept (D78)


def test_a_text_that_is_too_short_is_refused_in_a_sentence():
    with pytest.raises(UserError, match="trains on 19200 sentences but the training text has only 500"):
        at_scale(MOCOSE, SMALL, dataclasses.replace(SOURCES, corpus_rows=500))


def study(**changes):
    fields = dict(
        name="mocose-x", paper="mocose", title="Table X", caption="x", method="mocose",
        axes=(Axis(name="size", title="Size", labels=("a", "b")),), rows=None, columns="size",
        cells=(Cell(labels=("a",), changes={"queue.size": 256}, published=1.0, published_runs=(1.0,)),
               Cell(labels=("b",), changes={"queue.size": 512}, published=2.0)),
        metric=Metric(task="avg", title="Average"), figure=FigureSpec(kind="grouped", x="size"), reference=("a",),
    )  # fmt: skip
    return Study(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"cells": (Cell(labels=("a",), changes={}), Cell(labels=("a",), changes={}))}, "same labels"),
        ({"cells": (Cell(labels=("c",), changes={}),)}, "does not lie on the axes"),
        ({"reference": ("c",)}, "is no cell"), ({"rows": "depth"}, "no axis depth"),
        ({"figure": FigureSpec(kind="line", x="depth")}, "no axis depth"),
    ],
)  # fmt: skip
def test_a_study_that_does_not_hang_together_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        study(**changes)


def test_a_cell_wins_over_the_profile_and_the_profile_over_the_base():
    one = study(base_changes={"queue.init": "paper_grow"}, cells=(Cell(labels=("a",), changes={"ema.when": "after_optimizer_step"}),))
    run = one.paper_config(one.cells[0], "released")
    assert run.queue.init == "paper_grow"  # the study's own statement stands
    assert run.ema.when == "after_optimizer_step"
    assert run.target.stop_gradient is False  # the rest is released
    with pytest.raises(UserError, match="no profile"):
        one.paper_config(one.cells[0], "other")


TYPOS, SUBSTITUTED = c.TextView(kind="typos"), c.TextView(kind="contextual_substitute", model="roberta-base")


@pytest.mark.parametrize(
    "changes, kind, detokenize",
    [
        ({"text": TYPOS}, "typos", "wordpiece_join"),  # D26
        ({"text": SUBSTITUTED}, "contextual_insert", "wordpiece_join"),  # D27
        ({"text": SUBSTITUTED, "text.kind": "contextual_substitute"}, "contextual_substitute", "wordpiece_join"),
        ({"text": TYPOS, "text.detokenize": "original_text"}, "typos", "original_text"),
    ],
)
def test_the_profile_reaches_a_section_that_a_cell_brings_in(changes, kind, detokenize):
    one = study(cells=(Cell(labels=("a",), changes=changes),))
    released, clean = (one.paper_config(one.cells[0], profile) for profile in ("released", "clean"))
    assert (released.text.kind, released.text.detokenize) == (kind, detokenize)
    assert released.text.model == clean.text.model and clean.text == vary(MOCOSE, changes).text
    in_base = study(base_changes=changes, cells=(Cell(labels=("a",), changes={}),))
    assert in_base.paper_config(in_base.cells[0], "released").text == released.text


def test_sections_that_the_base_has_keep_the_cell_s_own_values_under_released():
    one = study(cells=(Cell(labels=("a",), changes={"queue": c.NegativeQueue(size=64, init_size=1)}),))
    assert one.paper_config(one.cells[0], "released").queue.init == "paper_grow"


def test_text_models_by_scale_and_what_is_not_available():
    def at(scale, text, head=True):
        sources = dataclasses.replace(SOURCES, corpus_rows=1_000_000, encoder_masked_words=head)
        run = at_scale(vary(MOCOSE, {"text": text}), SCALES[scale], sources)
        return run, unavailable(run, scale, sources)

    continued = c.TextView(kind="continuation", model="xlnet-base-cased")
    translated = c.TextView(kind="back_translation", model="wmt19-en-de-en")
    assert unavailable(MOCOSE, "demo", SOURCES) is None
    for scale in SCALES:
        assert at(scale, TYPOS)[1] is None and at(scale, TYPOS)[0].text == TYPOS
        run, reason = at(scale, SUBSTITUTED)
        assert reason is None and run.text.model == ("roberta-base" if scale == "paper" else "encoder")
        assert at(scale, continued)[0].text == continued
    assert at("paper", SUBSTITUTED, head=False)[1] is at("paper", continued)[1] is at("paper", translated)[1] is None
    assert at("mini", SUBSTITUTED, head=False)[1] == "needs a masked-word head, which the encoder bert does not have"
    assert at("demo", continued)[1] == "needs xlnet-base-cased, which scale demo does not have"
    assert at("mini", translated)[1] == "needs wmt19-en-de-en, which scale mini does not have"


def test_seeds_are_both_under_clean_and_the_model_alone_under_released():
    one = study()
    clean = one.config(one.cells[0], profile="clean", scale=SMALL, sources=SOURCES, seed=5)
    released = one.config(one.cells[0], profile="released", scale=SMALL, sources=SOURCES, seed=5)
    assert (clean.seed.model, clean.seed.data) == (5, 5)
    assert (released.seed.model, released.seed.data) == (5, 42)


def sample(one):
    return one.config(one.cells[0], profile="clean", scale=SMALL, sources=SOURCES, seed=0)


def test_a_setting_makes_a_study_of_its_own_name_without_the_papers_numbers():
    one = study()
    own = one.with_settings(("loss.temperature=0.1", "ema.total_updates=100"), sample(one))
    assert own.name == "mocose-x@ema.total_updates=100,loss.temperature=0.1"
    assert [cell.published for cell in own.cells] == [None, None] and own.cells[0].published_runs == ()
    run = own.config(own.cells[1], profile="clean", scale=SMALL, sources=SOURCES, seed=0)
    assert (run.loss.temperature, run.ema.total_updates, run.queue.size) == (0.1, 100, 512)
    assert one.cells[0].published == 1.0


@pytest.mark.parametrize("text", ["queue.size=128", "queue=none"])
def test_a_setting_of_what_the_study_varies_is_refused(text):
    one = study()
    with pytest.raises(UserError, match="is what mocose-x varies"):
        one.with_settings((text,), sample(one))


def test_a_setting_inside_a_section_that_a_cell_replaces_is_refused():
    whole = study(cells=(Cell(labels=("a",), changes={"queue": c.NegativeQueue(size=256)}),))
    with pytest.raises(UserError, match="queue.init is what mocose-x varies"):
        whole.with_settings(("queue.init=released_2022",), sample(whole))


@pytest.mark.parametrize("text", ["seed.model=3", "scale=paper", "data.digest=x", "data.rows=5", "encoder.digest=x", "method=simcse"])
def test_what_other_options_settle_cannot_be_set(text):
    one = study()
    with pytest.raises(UserError, match="cannot be set"):
        one.with_settings((text,), sample(one))


def test_a_setting_that_contradicts_the_run_is_refused_before_anything_is_planned():
    one = study()
    with pytest.raises(UserError, match="loss.temperature is -1.0"):
        one.with_settings(("loss.temperature=-1",), sample(one))


def test_transfer_tasks_are_part_of_what_a_run_is_evaluated_on():
    plain = at_scale(MOCOSE, SMALL, SOURCES)
    with pytest.raises(UserError, match="eval.transfer=true needs SentEval's transfer tasks"):
        at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, SOURCES)
    both = dataclasses.replace(SOURCES, transfer_digest="t")
    assert at_scale(vary(MOCOSE, {"eval.transfer": True}), SMALL, both) == vary(plain, {"eval.transfer": True, "eval.digest": "t"})
    assert at_scale(MOCOSE, SMALL, both) == plain
