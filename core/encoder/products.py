"""Products of matrices, in the way that is fastest on this processor.

In float32 torch multiplies with MKL, which on other makers' processors keeps to AVX2; oneDNN uses
AVX-512 wherever it is there (2.2 times as fast on the machine of benchmarks/README.md). Results
agree to rounding.

In bf16 torch uses the processor's instructions for it, or software. Where that is slower than
float32, values rounded to bf16 are multiplied in float32: a product of two such values is exact
there, and sums are kept in float32 either way, so results agree to the order of the sums and the
last bit of bf16.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.encoder.processor import bf16, multiplies_bf16_fast

LEAST_ROWS = 64  # below it oneDNN's preparations cost more than they gain
AVX512 = (
    torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"
)
# oneDNN's product x weight^T + bias as an operator of torch, where it is there and a gain
ONEDNN = None
if AVX512:
    ONEDNN = getattr(getattr(torch.ops.mkldnn, "_linear_pointwise", None), "default", None)
BF16_IN_FLOAT32 = not multiplies_bf16_fast()
SMALL_BF16_IN_FLOAT32 = not bf16()


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What F.linear gives, to rounding: (rows, out) of x (rows, in), weight (out, in), bias
    (out,)."""
    if x.device.type == "cpu":
        if torch.is_autocast_enabled("cpu"):
            if BF16_IN_FLOAT32 and torch.get_autocast_dtype("cpu") == torch.bfloat16:
                return _Linear.apply(x, weight, bias, True)
        elif ONEDNN is not None and x.dtype == torch.float32 and len(x) >= LEAST_ROWS:
            return _Linear.apply(x, weight, bias, False)
    return F.linear(x, weight, bias)


def batched_product(multiply: Callable[..., Tensor], *parts: Tensor, **options: float) -> Tensor:
    """What `multiply`, one of torch's batched products of small matrices, gives of these, to
    rounding."""
    if (
        not SMALL_BF16_IN_FLOAT32
        or parts[-1].device.type != "cpu"
        or parts[-1].dtype != torch.bfloat16
    ):
        return multiply(*parts, **options)
    with torch.autocast("cpu", enabled=False):
        return multiply(*(part.bfloat16().float() for part in parts), **options).bfloat16()


class _Linear(torch.autograd.Function):
    """oneDNN's operator with its derivative. With `half` in bf16 as autocast has it, forth and
    back, each product in float32 and then rounded; autograd widens the gradients again."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, half: bool) -> Tensor:
        if half:
            x = x.bfloat16()
            weight = weight.bfloat16()
            bias = bias.bfloat16()
        ctx.save_for_backward(x, weight)
        with torch.autocast("cpu", enabled=False):
            return _product(x.float(), weight.float(), bias.float()).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad = grad.float().contiguous()
        for_x, for_weight, for_bias, _ = ctx.needs_input_grad
        of_x = of_weight = of_bias = None
        with torch.autocast("cpu", enabled=False):  # FGSM takes its gradient within the step's
            if for_x:
                of_x = _product(grad, weight.float().t(), None).to(x.dtype)
            if for_weight:
                of_weight = _product(grad.t(), x.float().t(), None).to(x.dtype)
            if for_bias:
                of_bias = grad.sum(0).to(x.dtype)
        return of_x, of_weight, of_bias, None


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weight^T + bias in float32."""
    if ONEDNN is None or len(x) < LEAST_ROWS:
        return F.linear(x, weight, bias)
    return ONEDNN(x, weight, bias, "none", [], "")
