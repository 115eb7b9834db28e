"""Learning rate and EMA decay step by step, against values of the released code."""

import pytest

from core.engine.optimiser import learning_rate
from core.methods.mocose.settings import EMA, ema_decay, traceable_distance
from core.spec.run import Train


@pytest.mark.parametrize(
    "start,update,expected",
    [
        (0.75, 3888, 0.789), (0.75, 7776, 0.882), (0.75, 10_573, 0.950), (0.75, 12_500, 0.983), (0.75, 15_000, 1.000),
        (0.75, 15_553, 0.999), (0.75, 31_107, 0.753), (0.85, 3888, 0.873), (0.85, 7776, 0.929), (0.0, 5_000, 0.25),
        (0.0, 10_000, 0.75),
    ],
)  # fmt: skip
def test_released_cosine_values_of_the_released_code(start, update, expected):
    assert ema_decay(EMA(start=start), update, 15_625) == pytest.approx(expected, abs=6e-4)


def test_cosine_to_end_reaches_its_end_at_the_last_step_and_stays():
    ema = EMA(schedule="cosine_to_end", start=0.75, end=0.95, total_updates=None)
    assert ema_decay(ema, 50, 100) == pytest.approx(0.85)
    assert ema_decay(ema, 100, 100) == pytest.approx(0.95)
    assert ema_decay(ema, 130, 100) == pytest.approx(0.95)


def test_rates_by_hand_and_in_the_notebook():
    assert [learning_rate(Train(steps=4, learning_rate=8.0), step) for step in (1, 2, 3, 4)] == [8.0, 6.0, 4.0, 2.0]
    warmed = [learning_rate(Train(steps=10, learning_rate=1.0, warmup_fraction=0.2), step) for step in range(1, 11)]
    assert warmed == pytest.approx([0.0, 0.5, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    # The notebook logs 2.6142e-5 after 500 of 3,888 steps from 3e-5: the rate of the step that follows.
    assert learning_rate(Train(steps=3888), 501) == pytest.approx(2.6142e-5, rel=1e-4)


@pytest.mark.parametrize(
    "decay,queue,batch,expected", [(0.85, 512, 64, 14.67), (0.75, 512, 64, 12.0), (0.95, 64, 64, 21.0), (0.85, 256, 256, 7.67)]
)
def test_traceable_distance_of_the_paper(decay, queue, batch, expected):
    assert traceable_distance(decay, queue, batch) == pytest.approx(expected, abs=0.005)
