"""Configurations: what is refused and why, changes by path, and settings from text."""

import numpy as np
import pytest

from core.config import run as c
from core.config.methods import base
from core.config.run import TextView
from core.config.vary import parsed, vary
from core.errors import UserError
from core.methods.esimcse.settings import MomentumQueue

MOCOSE, SIMCSE, ESIMCSE = (base(method, "repaired") for method in ("mocose", "simcse", "esimcse"))


# Each case: a run, what is changed, and a piece of the sentence that must come.
CONTRADICTIONS = [
    (
        MOCOSE,
        {"encoder.hidden_dropout": 1.0},
        "encoder.hidden_dropout is 1.0, but it must be at least 0 and below 1.",
    ),
    (MOCOSE, {"heads.projection_layers": 4}, "one of 0 to 3 (D12)"),
    (MOCOSE, {"heads.predictor_hidden": 64, "heads.predictor_layers": 1}, "needs 2"),
    (
        MOCOSE,
        {"heads.predictor_tail": "linear", "heads.predictor_layers": 0},
        "needs predictor layers",
    ),
    (MOCOSE, {"loss.temperature": 0.0}, "must be above 0"),
    (MOCOSE, {"queue.size": 0, "queue.init_size": 0}, "queue.size is 0, but it must be at least 1"),
    (MOCOSE, {"queue.init_size": 513}, "queue.size=512"),
    (MOCOSE, {"queue.slice": ((0, 513),)}, "exceeds 512 keys"),
    (MOCOSE, {"queue.slice": ()}, "is empty"),
    (MOCOSE, {"queue.clusters": 5}, "goes with queue.negatives=kmeans"),
    (MOCOSE, {"queue.negatives": "kmeans", "queue.clusters": 513}, "queue.clusters=513 exceeds"),
    (
        ESIMCSE,
        {"queue": (MomentumQueue, {"size": 0})},
        "queue.size is 0, but it must be at least 1",
    ),
    (MOCOSE, {"target.freeze_projection": False}, "needs target.stop_gradient=false"),
    (MOCOSE, {"ema.start": 1.1}, "ema.start"),
    (MOCOSE, {"ema.schedule": "constant"}, "ema.end goes with"),
    (MOCOSE, {"ema.end": None}, "ema.end goes with"),
    (MOCOSE, {"ema.total_updates": None}, "goes with ema.schedule=released_cosine alone"),
    (MOCOSE, {"ema.schedule": "cosine_to_end"}, "goes with ema.schedule=released_cosine alone"),
    (MOCOSE, {"fgsm.epsilon": -1e-9}, "must be at least 0"),
    (MOCOSE, {"fgsm.epsilon": 0.0}, "goes with"),
    (MOCOSE, {"fgsm.at_eval": True, "fgsm.gradient": "current"}, "replays a stored gradient"),
    (MOCOSE, {"aug.position_shuffle": "per_batch"}, "position_shuffle goes with"),
    (MOCOSE, {"aug.token_cutoff": 0.1}, "token_cutoff goes with"),
    (
        MOCOSE,
        {"text": (TextView, {"kind": "continuation", "rate": 0.5, "model": "xlnet-base-cased"})},
        "has no effect",
    ),
    (
        MOCOSE,
        {"text": (TextView, {"kind": "typos", "model": "roberta-base"})},
        "needs text.model=none",
    ),
    (
        MOCOSE,
        {"text": (TextView, {"kind": "contextual_insert"})},
        "needs text.model=roberta-base or encoder",
    ),
    (
        MOCOSE,
        {"text": (TextView, {"kind": "typos"}), "fgsm.gradient": "current"},
        "needs fgsm.views=online_only",
    ),
    (ESIMCSE, {"dup.rate": 0.0}, "dup=none is no repetition"),
    (ESIMCSE, {"dup.cap": 0}, "dup.cap"),
    (ESIMCSE, {"momentum.lambda": 0.0}, "momentum=none is no queue"),
    (MOCOSE, {"train.batch_size": 1}, "train.batch_size is 1, but it must be at least 2"),
    (MOCOSE, {"train.learning_rate": -1.0}, "must be at least 0"),
    (MOCOSE, {"select.metric": "sts_test_avg"}, "select.score goes with"),
    (MOCOSE, {"data.rows": 63}, "only 63 sentences"),
    (MOCOSE, {"queue": (MomentumQueue, {})}, "it must be NegativeQueue"),
    (MOCOSE, {"eval.vector": None}, "needs eval.vector"),
    (MOCOSE, {"eval.head": "on"}, "takes no eval.head"),
    (MOCOSE, {"loss.in_batch_negatives": False, "queue.init_size": 0}, "has no negatives"),
    (MOCOSE, {"data.drop_last": False}, "ragged batch"),
    (MOCOSE, {"heads": None}, "heads is None, but it must be Heads"),
    (ESIMCSE, {"queue": None}, "go together"),
    (ESIMCSE, {"queue": None, "momentum": None, "dup": None}, "is SimCSE"),
    (ESIMCSE, {"queue.view": "repeated", "dup": None}, "needs repetition"),
    (SIMCSE, {"eval.head": None}, "needs eval.head"),
    (SIMCSE, {"loss.in_batch_negatives": False}, "in-batch negatives alone"),
    (SIMCSE, {"eval.apply_augmentation": True}, "leave it false"),
]


def test_contradictions_are_refused_with_their_sentence():
    """A pair (class, arguments) is a section still to be made."""
    for run, changes, sentence in CONTRADICTIONS:
        with pytest.raises(UserError) as refused:
            vary(
                run,
                {
                    path: v[0](**v[1]) if isinstance(v, tuple) and v and callable(v[0]) else v
                    for path, v in changes.items()
                },
            )
        assert sentence in str(refused.value)


def test_a_value_of_the_wrong_type_is_refused_by_name():
    for path, value in (
        ("train.learning_rate", float("nan")),
        ("train.learning_rate", "1e-4"),
        ("train.learning_rate", np.float64(1e-4)),
        ("train.learning_rate", True),
        ("train.steps", np.int64(3)),
        ("train.steps", 3.0),
        ("train.steps", True),
        ("target.stop_gradient", 1),
        ("target.stop_gradient", None),
        ("ema.schedule", "linear"),
        ("queue.slice", [[0, 512]]),
        ("queue.slice", ((0, 1, 2),)),
        ("queue.slice", ((0, 1.0),)),
        ("queue", "big"),
        ("heads.predictor_hidden", 1.5),
        ("encoder", None),
    ):
        with pytest.raises(UserError, match=f"{path} is .*, but it must be"):
            vary(MOCOSE, {path: value})


def test_whole_numbers_become_floats_where_floats_are_declared():
    changed = vary(MOCOSE, {"ema.start": 1})
    assert type(changed.ema.start) is float
    assert str(vary(MOCOSE, {"aug.token_cutoff": -0.0}).aug.token_cutoff) == "0.0"
    assert vary(MOCOSE, {"ema.end": 1}) == MOCOSE


def test_vary_sets_deep_and_whole_fields_together_and_leaves_the_original():
    changed = vary(
        MOCOSE,
        {
            "queue.size": 64,
            "queue.init_size": 64,
            "scale": "x",
            "seed": c.Seed(model=3),
            "seed.data": 4,
        },
    )
    assert (changed.queue.size, changed.queue.init_size, changed.scale) == (64, 64, "x")
    assert (changed.seed.model, changed.seed.data) == (3, 4)
    assert (MOCOSE.queue.size, MOCOSE.scale, MOCOSE.seed.model) == (512, "paper", 0)
    with pytest.raises(UserError):
        # 128 initial vectors do not fit: order of changes must not hide it
        vary(MOCOSE, {"queue.size": 64})


def test_unknown_paths_are_refused_with_a_hint():
    for path, hint in (
        ("queue.sise", r"did you mean queue.size\?"),
        ("data.data", "There is no field data.data; mocose has data.digest, data.rows"),
        ("queu.size", r"did you mean queue\.size\?"),
        ("loss.xyzzy", "mocose has loss.temperature, loss.in_batch_negatives"),
        ("nothing", "There is no field nothing"),
        ("dup.rate", "mocose has scale, method, data"),
        ("queue.size.x", "There is no field queue.size.x"),
    ):
        with pytest.raises(UserError, match=hint):
            vary(MOCOSE, {path: 1})


def test_settings_are_read_by_the_type_of_their_field():
    for path, text, value in (
        ("loss.temperature", "1", 1.0),
        ("queue.size", "64", 64),
        ("scale", "x", "x"),
        ("ema.total_updates", "none", None),
        ("target.stop_gradient", "False", False),
        ("ema.schedule", "constant", "constant"),
        ("heads.predictor_hidden", "32", 32),
        ("queue.slice", "384-512,0-128", ((0, 128), (384, 512))),
        ("ema.end", "0.9", 0.9),
    ):
        made = parsed(MOCOSE, path, text)
        assert made == value and type(made) is type(value)


def test_settings_that_cannot_be_read_or_applied_are_refused():
    for path, text, sentence in (
        ("queue.slic", "3", "did you mean queue.slice"),
        ("dup.rate", "0.3", "mocose has scale, method, data"),
        (".scale", "x", "no field .scale"),
        ("queue.slice", "0-128,64-256", "has overlapping ranges"),
        ("queue.slice", "[[0,", "must be ranges such as"),
        ("queue.size", "٦٤", "queue.size is '٦٤'"),
        ("loss.temperature", "1_0", "must be a finite number"),
        ("queue.size", "big", "queue.size is 'big'"),
        ("loss.temperature", "nan", "finite number"),
        ("queue", "64", "queue is a section of fields; set one of them, such as queue.size"),
    ):
        with pytest.raises(UserError, match=sentence):
            vary(MOCOSE, {path: parsed(MOCOSE, path, text)})
