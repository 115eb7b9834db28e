"""The queues' contents step by step, against traces of the released code."""

import numpy as np
import pytest
import torch

from core.methods.esimcse.model import VectorQueue
from core.methods.esimcse.settings import MomentumQueue
from core.methods.mocose.queue import KeyQueue
from core.methods.mocose.settings import NegativeQueue


def trace(size, init_size, batch, steps, init):
    """(used, random among them) before each step; keys are marked by a value of 100."""
    queue = KeyQueue(NegativeQueue(size=size, init=init, init_size=init_size), 3, torch.Generator().manual_seed(0), torch.device("cpu"))
    found = []
    for _ in range(steps):
        seen = queue.visible()
        found.append((len(seen), int((seen[:, 0] != 100).sum())))
        queue.push(torch.full((batch, 3), 100.0))
    return found


def test_traces_of_the_released_code():
    assert trace(512, 128, 64, 9, "released_2022") == [
        (256, 256), (320, 256), (384, 256), (448, 256), (768, 512), (832, 512), (896, 512), (512, 64), (512, 0),
    ]  # fmt: skip
    assert trace(1024, 128, 256, 5, "released_2022")[3:] == [(1792, 1024), (1024, 0)]
    assert trace(512, 128, 64, 9, "paper_grow") == [
        (128, 128), (192, 128), (256, 128), (320, 128), (384, 128), (448, 128), (512, 128), (512, 64), (512, 0),
    ]  # fmt: skip


def test_a_released_queue_of_no_initial_size_is_replaced_whole_by_the_first_keys():
    """D14: 0 random vectors are seen at any step; today's keys are those of the steps before, 32 a step, up to the size."""
    assert trace(128, 0, 32, 7, "released_2022") == [(0, 0), (32, 0), (64, 0), (96, 0), (128, 0), (128, 0), (128, 0)]
    assert trace(64, 0, 32, 5, "released_2022") == trace(64, 0, 32, 5, "paper_grow")
    queue = KeyQueue(NegativeQueue(size=96, init="released_2022", init_size=0), 3, torch.Generator().manual_seed(0), torch.device("cpu"))
    for step in range(4):
        queue.push(torch.full((32, 3), float(step)))
    assert queue.visible()[:, 0].tolist() == [3.0] * 32 + [2.0] * 32 + [1.0] * 32


@pytest.mark.parametrize("init", ["paper_grow", "released_2022"])
def test_slice_applies_once_the_queue_is_full(init):
    config = NegativeQueue(size=8, init=init, init_size=1, slice=((0, 2), (6, 8)))
    queue = KeyQueue(config, 3, torch.Generator().manual_seed(0), torch.device("cpu"))
    assert len(queue.visible()) == (1 if init == "paper_grow" else 2)
    for step in range(6):
        queue.push(torch.full((2, 3), float(step)))
    assert queue.visible()[:, 0].tolist() == [5, 5, 2, 2]


@pytest.mark.parametrize("cut,expected", [(True, 3), (False, 5)])
def test_first_batch_is_cut_or_not(cut, expected):
    queue = VectorQueue(MomentumQueue(size=3, cut_first_batch=cut))
    queue.push(torch.from_numpy(np.arange(5.0)[:, None]))
    assert len(queue.entries) == expected
    queue.push(torch.from_numpy(np.arange(5.0)[:, None]))
    assert len(queue.entries) == 3
