"""Linear layers through oneDNN, and rows moved between line and grid: values and gradients against the plain formulation."""

import numpy as np
import pytest
import tiny
import torch
import torch.nn.functional as F

from core.engine.encoder import products
from core.engine.encoder.packing import layout, pack


def drawn(*shapes):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("rows", [3, products.LEAST_ROWS, 200])
def test_linear_is_the_plain_linear_to_rounding(rows):
    x, weight, bias = drawn((rows, 48), (40, 48), (40,))
    towards = torch.randn(rows, 40, generator=torch.Generator().manual_seed(4))
    theirs = F.linear(x.double(), weight.double(), bias.double())
    wanted = torch.autograd.grad((theirs * towards).sum(), (x, weight, bias))
    ours = products.linear(x, weight, bias)
    got = torch.autograd.grad((ours * towards).sum(), (x, weight, bias))
    for a, b in zip((ours, *got), (theirs, *wanted), strict=True):
        assert torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-4) and float(a.detach().abs().max()) > 0.1
    with torch.no_grad():
        assert torch.equal(products.linear(x, weight, bias), ours)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("rows", [3, 200])
def test_bf16_in_float32_is_bf16_to_its_last_bit(rows, within, monkeypatch):
    """Forth and back, against sums in float64 of the same rounded values, and against torch's own way."""
    monkeypatch.setattr(products, "BF16_IN_FLOAT32", True)
    given = drawn((rows, 48), (40, 48), (40,))
    towards = torch.randn(rows, 40, generator=torch.Generator().manual_seed(4)).bfloat16()

    def step(multiply, within):
        """Gradients are asked for after the forward pass, or within its arithmetic, as FGSM does."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = multiply(*given)
            found = torch.autograd.grad(y, given, towards, retain_graph=True)
        return y, *(found if within else torch.autograd.grad(y, given, towards))

    ours, theirs = step(products.linear, within), step(F.linear, within)
    x, weight, bias, g = (part.detach().bfloat16().double() for part in (*given, towards))
    exact = (x @ weight.T + bias, g @ weight, g.T @ x, g.sum(0))
    for a, b, wanted in zip(ours, theirs, exact, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, a.bfloat16().to(a.dtype))
        assert torch.allclose(a.double(), wanted, rtol=2**-8, atol=1e-5)
        assert torch.allclose(a.float(), b.float(), rtol=2**-6, atol=2e-2 * float(wanted.abs().max()))
    assert ours[0].dtype == torch.bfloat16 and ours[2].dtype == torch.float32


def test_bf16_in_float32_needs_autocast_to_bf16_and_gives_gradients_where_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(products, "BF16_IN_FLOAT32", True)
    x, weight, bias = drawn((100, 8), (8, 8), (8,))
    assert products.linear(x, weight, bias).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.float16):
        assert products.linear(x, weight, bias).dtype == torch.float16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = products.linear(x.detach(), weight, bias.detach())
        with torch.no_grad():
            assert torch.equal(products.linear(x, weight, bias), y)
    y.sum().backward()
    assert x.grad is None and bias.grad is None and bool(weight.grad.any())


def test_small_products_of_bf16_in_float32(monkeypatch):
    """As autocast has them, which rounds what comes in float32; what is not bf16 is left alone."""
    bias, query, key = drawn((6, 1, 5), (6, 4, 8), (6, 8, 5))
    halves = [part.detach().bfloat16().requires_grad_() for part in (bias, query, key)]
    towards = torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(6)).bfloat16()

    def step(*given):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = products.batched(torch.baddbmm, *given, alpha=0.5)
        return y, *torch.autograd.grad(y, given, towards)

    theirs, mixed = step(*halves), step(halves[0], query, halves[2])
    monkeypatch.setattr(products, "SMALL_BF16_IN_FLOAT32", True)
    for found, wanted in ((step(*halves), theirs), (step(halves[0], query, halves[2]), mixed)):
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype and torch.allclose(a.float(), b.float(), rtol=2**-6, atol=3e-2) and bool(a.any())
    assert torch.equal(products.batched(torch.bmm, query, key), torch.bmm(query, key))


@pytest.mark.parametrize("parts", [2, 3])
def test_grid_and_line_against_loops(parts):
    heads, d = 2, 3
    packed = pack(tiny.sentences(4))
    where = layout(packed, heads)
    x = torch.randn(len(packed.ids), parts * heads * d, generator=torch.Generator().manual_seed(5)).requires_grad_()
    longer = where.lengthened(x)
    assert where.spare == len(longer) - len(x) > 0 and len(longer) == 32
    longer.retain_grad()
    grids = where.grid(longer, parts)
    assert len(grids) == parts and grids[0].shape == (4 * heads, packed.width, d)
    for number, grid in enumerate(grids):
        for token in range(len(packed.ids)):
            for head in range(heads):
                cell = grid[int(packed.row[token]) * heads + head, int(packed.slot[token])]
                start = (number * heads + head) * d
                assert torch.equal(cell, x[token, start : start + d])
    line = where.line(grids[-1])
    assert torch.equal(line[: len(x)], x[:, -heads * d :]) and len(line) == 32 and not line[len(x) :].any()
    line.sum().backward()  # each token is read once, and neither padding nor spare rows send anything back
    assert torch.equal(x.grad[:, -heads * d :], torch.ones(len(packed.ids), heads * d))
    assert not x.grad[:, : -heads * d].any() and not longer.grad[len(x) :].any()


def test_attention_never_sees_padding():
    packed = pack([np.array([7, 8, 9]), np.array([4])])
    assert layout(packed, 2).bias.tolist() == [[[0.0, 0.0, 0.0]]] * 2 + [[[0.0, -float("inf"), -float("inf")]]] * 2
