"""Learning rate and EMA decay step by step, and which parameter has which rate;
test_second_formulation.py has AdamW's arithmetic."""

import pytest
import tiny
import torch

from core.config import methods
from core.config.run import Train
from core.encoder.packing import pack
from core.methods.mocose.settings import EMA, ema_decay, traceable_distance
from core.training.optimiser import TransformersAdamW, learning_rate, parameter_groups
from core.training.trainer import train

CPU = torch.device("cpu")


def model_of(method, bert=None, **changes):
    config = tiny.config(method, train__weight_decay=0.1, train__new_layer_factor=10.0, **changes)
    return methods.model(config.method).Model(config, tiny.encoder(bert or tiny.bert()), CPU)


def factors(model):
    """Factor and decay of each trained parameter, by name."""
    groups = parameter_groups(model.config.train, model, model.new_layers())
    found = {id(p): (g["factor"], g["weight_decay"]) for g in groups for p in g["params"]}
    names = {name: found.pop(id(p)) for name, p in model.named_parameters() if p.requires_grad}
    assert not found
    return names


def test_new_heads_have_their_rate_and_the_encoder_its_own():
    names = factors(model_of("mocose"))
    for name, factor, decay in (
        ("encoder.stack.layers.0.query.weight", 1.0, 0.1),
        ("encoder.stack.layers.0.query.bias", 1.0, 0.0),
        ("encoder.embeddings.norm.weight", 1.0, 0.0),
        ("pooler.weight", 1.0, 0.1),  # the checkpoint has one, so MoCoSE's is not new
        ("projection.0.weight", 10.0, 0.1),
        ("projection.1.weight", 10.0, 0.0),
        ("predictor.3.bias", 10.0, 0.0),
    ):
        assert names[name] == (factor, decay), name
    assert not any(name.startswith("target") for name in names)
    assert factors(model_of("simcse"))["head.linear.weight"] == (10.0, 0.1)
    bert = tiny.bert()
    # a pooler that the checkpoint lacks is new, and so is a trained target projection
    bert.pooler = None
    trained = {"target__stop_gradient": False, "target__freeze_projection": False}
    names = factors(model_of("mocose", bert, **trained))
    assert names["pooler.weight"] == names["target_projection.0.weight"] == (10.0, 0.1)


@pytest.mark.parametrize(
    "form, kind", [("torch", torch.optim.AdamW), ("transformers", TransformersAdamW)]
)
def test_every_step_multiplies_warm_up_and_decay_alike(form, kind, monkeypatch):
    model = model_of("simcse", train__warmup_fraction=0.5, train__adamw=form)
    config = model.config
    rates = []
    original = kind.step

    def step(self, *arguments):
        rates.append({group["factor"]: group["lr"] for group in self.param_groups})
        return original(self, *arguments)

    monkeypatch.setattr(kind, "step", step)
    batches = [(pack(tiny.sentences(4, seed=i) * 2),) for i in range(6)]
    train(config, model, batches, lambda step: 0.0, lambda report: None)
    wanted = [learning_rate(config.train, step) for step in range(1, 7)]
    assert [found[1.0] for found in rates] == wanted and max(wanted) == 1e-3
    assert [found[10.0] for found in rates] == pytest.approx(
        [10 * rate for rate in wanted], rel=1e-15
    )


RELEASED = """0.75 3888 0.789, 0.75 7776 0.882, 0.75 10573 0.950, 0.75 12500 0.983, 0.75 15000 1.000,
    0.75 15553 0.999, 0.75 31107 0.753, 0.85 3888 0.873, 0.85 7776 0.929, 0 5000 0.25, 0 10000 0.75"""


def test_released_cosine_values_of_the_released_code():
    """Start, update and decay."""
    for values in RELEASED.split(","):
        start, update, decay = map(float, values.split())
        assert ema_decay(EMA(start=start), int(update), 15_625) == pytest.approx(decay, abs=6e-4)


def test_cosine_to_end_reaches_its_end_at_the_last_step_and_stays():
    ema = EMA(schedule="cosine_to_end", start=0.75, end=0.95, total_updates=None)
    assert ema_decay(ema, 50, 100) == pytest.approx(0.85)
    assert ema_decay(ema, 100, 100) == pytest.approx(0.95)
    assert ema_decay(ema, 130, 100) == pytest.approx(0.95)


def test_rates_by_hand_and_in_the_notebook():
    def rates(**settings):
        train = Train(**settings)
        return [learning_rate(train, step) for step in range(1, train.steps + 1)]

    assert rates(steps=4, learning_rate=8.0) == [8.0, 6.0, 4.0, 2.0]
    warmed = rates(steps=10, learning_rate=1.0, warmup_fraction=0.2)
    assert warmed == pytest.approx([0.0, 0.5, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    # The notebook logs 2.6142e-5 after 500 of 3,888 steps from 3e-5: the rate of the step that
    # follows.
    assert learning_rate(Train(steps=3888), 501) == pytest.approx(2.6142e-5, rel=1e-4)


@pytest.mark.parametrize(
    "decay,queue,batch,expected",
    [(0.85, 512, 64, 14.67), (0.75, 512, 64, 12.0), (0.95, 64, 64, 21.0), (0.85, 256, 256, 7.67)],
)
def test_traceable_distance_of_the_paper(decay, queue, batch, expected):
    assert traceable_distance(decay, queue, batch) == pytest.approx(expected, abs=0.005)
