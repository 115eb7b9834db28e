"""Configurations: what is refused and why, changes by path, and settings from text."""

import numpy as np
import pytest

from core.config import run as c
from core.config.methods import base
from core.config.vary import parsed, vary
from core.errors import UserError
from core.methods.esimcse.settings import MomentumQueue
from core.methods.mocose.sections import TextView

MOCOSE, SIMCSE, ESIMCSE = (base(method, "repaired") for method in ("mocose", "simcse", "esimcse"))


# A run, and changes that contradict each other or the method. A pair is a section to be made.
CONTRADICTIONS = [
    (MOCOSE, {"encoder.hidden_dropout": 1.0}),
    (MOCOSE, {"heads.projection_layers": 4}),
    (MOCOSE, {"heads.predictor_hidden": 64, "heads.predictor_layers": 1}),
    (MOCOSE, {"heads.predictor_tail": "linear", "heads.predictor_layers": 0}),
    (MOCOSE, {"loss.temperature": 0.0}),
    (MOCOSE, {"queue.size": 0, "queue.init_size": 0}),
    (MOCOSE, {"queue.init_size": 513}),
    (MOCOSE, {"queue.slice": ((0, 513),)}),
    (MOCOSE, {"queue.slice": ()}),
    (MOCOSE, {"queue.clusters": 5}),
    (MOCOSE, {"queue.negatives": "kmeans", "queue.clusters": 513}),
    (ESIMCSE, {"queue": (MomentumQueue, {"size": 0})}),
    (MOCOSE, {"target.freeze_projection": False}),
    (MOCOSE, {"ema.start": 1.1}),
    (MOCOSE, {"ema.schedule": "constant"}),
    (MOCOSE, {"ema.end": None}),
    (MOCOSE, {"ema.total_updates": None}),
    (MOCOSE, {"ema.schedule": "cosine_to_end"}),
    (MOCOSE, {"fgsm.epsilon": -1e-09}),
    (MOCOSE, {"fgsm.epsilon": 0.0}),
    (MOCOSE, {"fgsm.at_eval": True, "fgsm.gradient": "current"}),
    (MOCOSE, {"aug.position_shuffle": "per_batch"}),
    (MOCOSE, {"aug.token_cutoff": 0.1}),
    (MOCOSE, {"text": (TextView, {"kind": "continuation", "rate": 0.5, "model": "x"})}),
    (MOCOSE, {"text": (TextView, {"kind": "typos", "model": "roberta-base"})}),
    (MOCOSE, {"text": (TextView, {"kind": "contextual_insert"})}),
    (MOCOSE, {"text": (TextView, {"kind": "typos"}), "fgsm.gradient": "current"}),
    (ESIMCSE, {"dup.rate": 0.0}),
    (ESIMCSE, {"dup.cap": 0}),
    (ESIMCSE, {"momentum.lambda": 0.0}),
    (MOCOSE, {"train.batch_size": 1}),
    (MOCOSE, {"train.learning_rate": -1.0}),
    (MOCOSE, {"select.metric": "sts_test_avg"}),
    (MOCOSE, {"data.rows": 63}),
    (MOCOSE, {"queue": (MomentumQueue, {})}),
    (MOCOSE, {"eval.vector": None}),
    (MOCOSE, {"eval.head": "on"}),
    (MOCOSE, {"loss.in_batch_negatives": False, "queue.init_size": 0}),
    (MOCOSE, {"data.drop_last": False}),
    (MOCOSE, {"heads": None}),
    (ESIMCSE, {"queue": None}),
    (ESIMCSE, {"queue": None, "momentum": None, "dup": None}),
    (ESIMCSE, {"queue.view": "repeated", "dup": None}),
    (SIMCSE, {"eval.head": None}),
    (SIMCSE, {"loss.in_batch_negatives": False}),
    (SIMCSE, {"eval.apply_augmentation": True}),
]


@pytest.mark.parametrize("run, changes", CONTRADICTIONS)
def test_contradictions_are_refused(run, changes):
    def value_of(stated):
        made = isinstance(stated, tuple) and stated and callable(stated[0])
        return stated[0](**stated[1]) if made else stated

    with pytest.raises(UserError):
        vary(run, {path: value_of(stated) for path, stated in changes.items()})


def test_a_value_of_the_wrong_type_is_refused_by_name():
    for path, value in (
        ("train.learning_rate", float("nan")),
        ("train.learning_rate", np.float64(1e-4)),
        ("train.learning_rate", True),
        ("train.steps", np.int64(3)),
        ("train.steps", 3.0),
        ("train.steps", True),
        ("target.stop_gradient", 1),
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
    changes = {"queue.size": 64, "queue.init_size": 64, "scale": "x"}
    changed = vary(MOCOSE, changes | {"seed": c.Seed(model=3), "seed.data": 4})
    assert (changed.queue.size, changed.queue.init_size, changed.scale) == (64, 64, "x")
    assert (changed.seed.model, changed.seed.data) == (3, 4)
    assert (MOCOSE.queue.size, MOCOSE.scale, MOCOSE.seed.model) == (512, "paper", 0)
    with pytest.raises(UserError):
        # 128 initial vectors do not fit: order of changes must not hide it
        vary(MOCOSE, {"queue.size": 64})


def test_settings_are_read_by_the_type_of_their_field():
    for path, text, value in (
        ("loss.temperature", "1", 1.0),
        ("queue.size", "64", 64),
        ("scale", "x", "x"),
        ("ema.total_updates", "none", None),
        ("target.stop_gradient", "False", False),
        ("ema.schedule", "constant", "constant"),
        ("queue.slice", "384-512,0-128", ((0, 128), (384, 512))),
        ("ema.end", "0.9", 0.9),
    ):
        made = parsed(MOCOSE, path, text)
        assert made == value and type(made) is type(value)


def test_what_no_run_has_or_reads_is_refused_with_what_is_near():
    for path, text, sentence in (
        ("queue.slic", "3", "did you mean queue.slice"),
        ("queu.size", "3", "did you mean queue.size"),
        ("loss.xyzzy", "3", "mocose has loss.temperature, loss.in_batch_negatives"),
        ("dup.rate", "0.3", "mocose has scale, method, data"),
        ("queue.size.x", "3", "no field queue.size.x"),
        (".scale", "x", "no field .scale"),
        ("queue.slice", "0-128,64-256", "overlapping"),
        ("queue.slice", "5-2", "ends before it begins"),
        ("queue.slice", "[[0,", "must be ranges"),
        ("queue.size", "٦٤", "'٦٤'"),
        ("loss.temperature", "1_0", "finite"),
        ("queue", "64", "set one of them, such as queue.size"),
    ):
        with pytest.raises(UserError, match=sentence):
            vary(MOCOSE, {path: parsed(MOCOSE, path, text)})
