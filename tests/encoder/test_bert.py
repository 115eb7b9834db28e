"""The packed encoder gives what transformers gives, and linear layers through oneDNN what the plain
ones give, values and gradients."""

import pytest
import tiny
import torch
import torch.nn.functional as F

from core.encoder import products
from core.encoder.packing import pack
from core.encoder.processor import bf16, multiplies_bf16_fast, processor


@pytest.mark.parametrize("make,pad", [(tiny.bert, 0), (tiny.roberta, 1)])
def test_values_and_gradients_equal_transformers_on_padded_input(make, pad):
    model = make()
    arrays = tiny.sentences(5)
    weights = torch.randn(5, tiny.HIDDEN, generator=torch.Generator().manual_seed(1))
    ids, mask = tiny.padded(arrays, 12, pad)
    theirs = model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
    (theirs * weights).sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    ours = tiny.encoder(model)(pack(arrays))
    (ours * weights).sum().backward()
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert ours.abs().max() > 0.1
    assert len(gradients) > 30
    for name, p in model.named_parameters():
        assert name not in gradients or torch.allclose(p.grad, gradients[name], atol=1e-4), name


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
        assert torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-4)
        assert float(a.detach().abs().max()) > 0.1
    with torch.no_grad():
        assert torch.equal(products.linear(x, weight, bias), ours)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("rows", [3, 200])
def test_bf16_in_float32_is_bf16_to_its_last_bit(rows, within, monkeypatch):
    """Forth and back, against sums in float64 of the same rounded values, and against torch's own
    way."""
    monkeypatch.setattr(products, "BF16_IN_FLOAT32", True)
    given = drawn((rows, 48), (40, 48), (40,))
    towards = torch.randn(rows, 40, generator=torch.Generator().manual_seed(4)).bfloat16()

    def step(multiply, within):
        """Gradients are asked for after the forward pass, or within its arithmetic, as FGSM
        does."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = multiply(*given)
            found = torch.autograd.grad(y, given, towards, retain_graph=True)
        return y, *(found if within else torch.autograd.grad(y, given, towards))

    ours = step(products.linear, within)
    theirs = step(F.linear, within)
    x, weight, bias, g = (part.detach().bfloat16().double() for part in (*given, towards))
    exact = (x @ weight.T + bias, g @ weight, g.T @ x, g.sum(0))
    for a, b, wanted in zip(ours, theirs, exact, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert torch.equal(a, a.bfloat16().to(a.dtype))
        assert torch.allclose(a.double(), wanted, rtol=2**-8, atol=1e-5)
        assert torch.allclose(
            a.float(), b.float(), rtol=2**-6, atol=2e-2 * float(wanted.abs().max())
        )
    assert ours[0].dtype == torch.bfloat16 and ours[2].dtype == torch.float32


def test_bf16_in_float32_needs_autocast_to_bf16(monkeypatch):
    monkeypatch.setattr(products, "BF16_IN_FLOAT32", True)
    x, weight, bias = drawn((100, 8), (8, 8), (8,))
    assert products.linear(x, weight, bias).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        products.linear(x.detach(), weight, bias.detach()).sum().backward()
    assert x.grad is None and bias.grad is None and bool(weight.grad.any())


CPUINFO = "processor\t: 0\nvendor_id\t: {}\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: EPYC\nflags\t\t: fpu {}\n\nprocessor\t: 1\nmodel\t\t: 7\n"


@pytest.mark.parametrize(
    "vendor, flags, known, instructions, fast",
    [
        ("GenuineIntel", "avx512f avx512_bf16", "avx512_bf16", True, False),
        ("GenuineIntel", "avx512_bf16 amx_bf16 amx_tile", "avx512_bf16, amx_bf16", True, True),
        ("GenuineIntel", "xavx512_bf16", "no bf16", False, False),
        ("AuthenticAMD", "avx512f avx512_bf16", "avx512_bf16", True, True),
    ],
)
def test_what_a_processor_does_in_16_bits(
    tmp_path, monkeypatch, vendor, flags, known, instructions, fast
):
    source = tmp_path / "cpuinfo"
    monkeypatch.setattr("core.encoder.processor.CPUINFO", source)
    assert bf16() and multiplies_bf16_fast()  # where nothing is known torch multiplies
    source.write_text(CPUINFO.format(vendor, flags))
    assert processor() == f"EPYC, family 25, model 17, {known}"
    assert bf16() == [name for name in known.split(", ") if name.endswith("_bf16")]
    assert bool(bf16()) is instructions and multiplies_bf16_fast() is fast
