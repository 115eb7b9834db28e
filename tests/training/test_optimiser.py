"""Learning rate and EMA decay step by step; test_second_formulation.py has AdamW's arithmetic, and
which parameter has which rate and decay."""

import pytest
import tiny
import torch

from core.config.run import Train
from core.methods.mocose.model import MoCoSE
from core.methods.mocose.sections import EMA
from core.methods.mocose.settings import ema_decay, traceable_distance
from core.training.optimiser import learning_rate, parameter_groups

CPU = torch.device("cpu")


def test_a_pooler_that_the_checkpoint_lacks_is_new_and_so_is_a_trained_target_projection():
    bert = tiny.bert()
    bert.pooler = None
    trained = {"target__stop_gradient": False, "target__freeze_projection": False}
    changes = {"train__weight_decay": 0.1, "train__new_layer_factor": 10.0}
    model = MoCoSE(tiny.config("mocose", **changes, **trained), tiny.encoder(bert), CPU)
    groups = parameter_groups(model.config.train, model, model.new_layers())
    settings = {id(p): (g["factor"], g["weight_decay"]) for g in groups for p in g["params"]}
    for layer in (model.pooler, model.target_projection[0]):
        assert settings[id(layer.weight)] == (10.0, 0.1)
        assert settings[id(layer.bias)] == (10.0, 0.0)


RELEASED = """0.75 3888 0.789, 0.75 7776 0.882, 0.75 10573 0.950, 0.75 12500 0.983, 0.75 15000 1.000,
    0.75 15553 0.999, 0.75 31107 0.753, 0.85 3888 0.873, 0.85 7776 0.929, 0 5000 0.25, 0 10000 0.75"""


def test_released_cosine_values_of_the_released_code():
    """Start, update and decay."""
    for values in RELEASED.split(","):
        start, update, decay = map(float, values.split())
        assert ema_decay(EMA(start=start), int(update), 15_625) == pytest.approx(decay, abs=6e-4)


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
