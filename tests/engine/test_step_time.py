"""Seconds of a training step, with a clock that the test moves."""

import time
from types import SimpleNamespace

import pytest
import tiny
import torch

from core.engine import trainer
from core.engine.encoder.packing import pack
from core.methods.mocose.model import MoCoSE


class Clock:
    """Seconds that pass when told; otherwise the time module."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def __getattr__(self, name):
        return getattr(time, name)


@pytest.mark.parametrize("waits, expected", [(True, 2.0), (False, (1.0 + 2.0 + 30.0) / 3)])
def test_a_step_s_time_has_neither_checks_nor_checkpoints_in_it(waits, expected, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(trainer, "time", clock)
    monkeypatch.setattr(trainer, "NO_WAITING", ("cpu",) if waits else ())  # a GPU is asked at checks alone
    config = tiny.config("mocose", train__steps=6, eval__every=3)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), torch.device("cpu"))
    after, seconds = model.after_step, iter((1.0, 2.0, 30.0) * 2)

    def slow_step():
        after()
        clock.now += next(seconds)

    def check(step):
        clock.now += 1000.0
        return 0.0

    monkeypatch.setattr(model, "after_step", slow_step)
    batches = ((pack(tiny.sentences(4, seed=seed)),) for seed in range(6))
    trained = trainer.train(config, model, batches, check, lambda report: None)
    assert trained.step_seconds == pytest.approx(expected) and [step for step, _ in trained.losses] == [3, 6]


def test_a_checkpoint_is_left_out_and_a_run_without_a_step_has_no_time(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(trainer, "time", clock)
    config = tiny.config("mocose", train__steps=2, eval__every=2)
    model = MoCoSE(config, tiny.encoder(tiny.bert()), torch.device("cpu"))
    after = model.after_step

    def slow_step():
        after()
        clock.now += 5.0

    def write(*_):
        clock.now += 700.0

    monkeypatch.setattr(model, "after_step", slow_step)
    keeper = SimpleNamespace(restored=lambda *_: trainer.TrainingState(), due=lambda: True, write=write)
    batches = [(pack(tiny.sentences(4, seed=seed)),) for seed in range(2)]
    assert trainer.train(config, model, batches, lambda step: 0.0, lambda report: None, keeper).step_seconds == 5.0
    assert trainer.train(config, model, [], lambda step: 0.0, lambda report: None).step_seconds is None
