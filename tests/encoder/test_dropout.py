"""Dropout's own stream: which bits it draws, how they are spread, that views and seeds differ, and
that gradients are dropped alike."""

import math
import operator

import numpy as np
import pytest
import tiny
import torch

from core.config import methods
from core.encoder import dropout
from core.encoder.dropout import (
    DeviceDropout,
    Dropout,
    DropoutStream,
    dropped_of_65536,
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
    assert [naive_word(1234567, i) for i in range(5)] == PUBLISHED
    draws = [word >> 16 * i & 0xFFFF for word in PUBLISHED for i in range(4)]
    # a draw is the largest number that keeps its element
    for i, draw in enumerate(np.array(draws, np.uint16).view(np.int16).tolist()):
        for least, kept in ((draw, 1.0), (draw + 1, 0.0)):
            mask = dropout._masks(1234567, 5, least, 1.0, torch.float32, 20)
            assert mask[i] == kept, i


def test_the_first_bits_never_change():
    assert stream().key == stream_seed(0, "dropout") == 7938499265082287326
    bits = "".join(str(int(x > 0)) for x in drawn(stream(), 48, rate=0.5))
    assert bits == "001000100011110101111011110000100010110001100010"


@pytest.mark.parametrize(
    "count, rate", [(1, 0.5), (7, 0.1), (4001, 0.15), (dropout.BLOCK * 4 + 5, 0.1)]
)
def test_a_mask_and_a_naive_loop_agree(count, rate):
    made = stream(3)
    drawn(made, 10)
    start = int(made.position)
    mask = drawn(made, count, rate=rate)
    assert start == 3 and int(made.position) == 3 + -(-count // 4)
    naive = torch.tensor(naive_mask(made.key, start, count, rate))
    assert torch.equal(mask > 0, naive)
    assert torch.equal(mask[naive], torch.full((int(naive.sum()),), scale(rate)))


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


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_the_share_kept_and_the_expectation(rate):
    assert abs(dropped_of_65536(rate) / 65536 - rate) <= 2**-17
    mask = drawn(stream(1), 1000, 2000, rate=rate)
    share = float((mask > 0).double().mean())
    assert abs(share - (1 - rate)) < 5 * math.sqrt(rate * (1 - rate) / mask.numel())
    kept = 1 / (1 - dropped_of_65536(rate) / 65536)
    assert mask.unique().tolist() == [0.0, pytest.approx(kept, rel=1e-7)]


def test_masks_drawn_ahead_come_again_and_a_stream_goes_on_from_its_position():
    made = stream()
    other = stream()

    def two(one):
        return [drawn(one, 33), drawn(one, 70)]

    assert torch.equal(drawn(made, 9), drawn(other, 9))
    mark = made.position.clone()
    with made.ahead():
        after = two(made)
    assert torch.equal(made.position, mark)
    with made.again():
        again = two(made)
    assert not made._kept
    for masks in (again, two(other)):
        assert all(map(torch.equal, after, masks))
    assert not torch.equal(drawn(made, 33), after[0])
    resumed = stream()
    resumed.position.copy_(mark)
    assert torch.equal(drawn(resumed, 33), after[0])


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


@pytest.mark.parametrize(
    "method, masks, repeated, changes",
    [  # embeddings once, three a layer and branch; three more in the heads of MoCoSE
        ("mocose", 17, 0, {}),
        ("mocose", 17, 0, {"target__embeddings": "ema"}),
        ("mocose", 17, 9, {"fgsm__gradient": "current", "fgsm__views": "online_only"}),
        ("mocose", 17, 17, {"fgsm__gradient": "current"}),
        ("esimcse", 14, 0, {"momentum__dropout": "on"}),
        ("simcse", 7, 0, {}),
    ],
)
def test_every_dropout_of_a_step_has_a_mask_of_its_own(
    method, masks, repeated, changes, monkeypatch
):
    heads = {"heads__dropout": 0.1} if method == "mocose" else {}
    config = tiny.config(method, **heads, **changes)
    encoder = tiny.encoder(tiny.bert(), dropout=0.1, attention_dropout=0.1)
    model = methods.model(config.method).Model(config, encoder, CPU).train()
    dropouts = [module for module in model.modules() if isinstance(module, Dropout)]
    assert all(module.streams == (model.dropping,) for module in dropouts)
    seen = []
    original = DropoutStream.mask

    def mask(self, shape, rate, dtype, spare=0):
        seen.append((int(self.position), (shape[0] - spare, *shape[1:])))
        return original(self, shape, rate, dtype, spare)

    monkeypatch.setattr(DropoutStream, "mask", mask)
    torchs_own = torch.get_rng_state()
    model.loss(*tiny.views(config, tiny.sentences(4)))
    assert torch.equal(torch.get_rng_state(), torchs_own), "a dropout drew from another stream"
    distinct = sorted(set(seen))
    assert len(distinct) == len({position for position, _ in distinct}) == masks
    assert len(seen) == masks + repeated
    ends = [position + -(-math.prod(shape) // 4) for position, shape in distinct]
    starts = [position for position, _ in distinct[1:]]
    assert all(map(operator.le, ends, starts)), "two masks share bits"
