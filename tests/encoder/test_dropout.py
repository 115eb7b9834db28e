"""Dropout's own stream: which bits it draws, how they are spread, and that gradients are dropped
alike. That every dropout of a step has a mask of its own follows from
`tests/training/test_second_formulation.py`, which finds the masks by their positions."""

import pytest
import torch

from core.encoder import dropout
from core.encoder.dropout import (
    DeviceDropout,
    Dropout,
    DropoutStream,
    dropping,
    scale,
)
from core.encoder.streams import stream_seed

CPU = torch.device("cpu")
MASK = (1 << 64) - 1
# SplitMix64's first words of seed 1234567, as its published examples have them.
PUBLISHED = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def naive_word(key, number):
    """Word `number` (0 the first) in Python's own whole numbers."""
    z = (key + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def naive_mask(key, first, count, rate):
    """Kept elements, by one draw of 16 bits after the other, the lowest bits of a word first."""
    draws = [naive_word(key, first + i // 4) >> 16 * (i % 4) & 0xFFFF for i in range(count)]
    # read as int16, so the upper half comes first
    return [(draw ^ 0x8000) >= round(rate * 65536) for draw in draws]


def stream(seed=0):
    return DropoutStream(seed)


def drawn(made, *shape, rate=0.1):
    return made.mask(torch.Size(shape), rate, torch.float32)


def test_the_words_are_those_of_the_published_generator():
    """And the next test's masks are those of these words."""
    assert [naive_word(1234567, i) for i in range(5)] == PUBLISHED


@pytest.mark.parametrize(
    "count, rate", [(1, 0.5), (7, 0.1), (4001, 0.01), (dropout.BLOCK * 4 + 5, 0.9)]
)
def test_a_mask_and_a_naive_loop_agree(count, rate):
    assert stream().key == stream_seed(0, "dropout") == 7938499265082287326
    made = stream(3)
    drawn(made, 10)
    start = int(made.position)
    mask = drawn(made, count, rate=rate)
    assert start == 3 and int(made.position) == 3 + -(-count // 4)
    naive = torch.tensor(naive_mask(made.key, start, count, rate))
    assert torch.equal(mask > 0, naive)
    kept = 1 / (1 - round(rate * 65536) / 65536)  # so that the expectation stays
    assert mask[naive].unique().tolist() == [pytest.approx(kept, rel=1e-7)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_spare_rows_draw_nothing_and_are_dropped(dtype):
    plain = stream(2)
    longer = stream(2)
    wanted = plain.mask(torch.Size([7, 3]), 0.3, dtype)
    mask = longer.mask(torch.Size([12, 3]), 0.3, dtype, spare=5)
    assert torch.equal(mask[:7], wanted) and not mask[7:].any()
    assert int(longer.position) == int(plain.position) == 6


def test_another_device_has_torchs_own_dropout():
    layer = Dropout(0.3)
    made = dropping(0, torch.device("meta"), layer)
    assert isinstance(made, DeviceDropout) and not layer.streams and made.get_extra_state() == []
    x = torch.randn(40, 50)
    y = torch.randn(40, 50)
    for given in (layer, lambda x: layer.added(y, x) - y):
        torch.manual_seed(7)
        dropped = given(x)
        torch.manual_seed(7)
        assert torch.allclose(dropped, torch.nn.functional.dropout(x, 0.3), atol=1e-6)
        assert int((dropped == 0).sum()) > 400
    assert torch.equal(layer.eval()(x), x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_mask_multiplies_the_gradient_too(dtype):
    def random(seed):
        return torch.randn(6, 50, dtype=dtype, generator=torch.Generator().manual_seed(seed))

    layer = Dropout(0.4)
    layer.streams = (stream(),)
    x, y = (random(seed).requires_grad_() for seed in (0, 1))
    towards = random(9)
    out = layer(x)
    out.backward(towards)
    mask = drawn(stream(), 6, 50, rate=0.4).double()
    mask[mask > 0] = scale(0.4)
    near = {torch.float64: 1e-15, torch.float32: 1e-6, torch.bfloat16: 1e-2}[dtype]
    assert torch.allclose(out.double(), x.double() * mask, rtol=near)
    assert torch.equal(out == 0, mask == 0)
    assert torch.allclose(x.grad.double(), towards.double() * mask, rtol=near)
    x.grad = None
    layer.streams = (stream(),)
    total = layer.added(x, y)
    total.backward(towards)
    assert torch.allclose(total.double(), x.double() + y.double() * mask, rtol=near, atol=near)
    assert torch.equal(x.grad, towards)
    assert torch.allclose(y.grad.double(), towards.double() * mask, rtol=near)
