"""Products of matrices, in the way that is fastest on this processor.

In float32 torch multiplies with MKL, which on processors of other makers than its own keeps to AVX2; oneDNN,
which torch brings too, uses AVX-512 wherever it is there (2.2 times as fast on the machine of
benchmarks/README.md). Both give the same sums in another order, so results agree to rounding.

In bf16 torch multiplies with the processor's instructions for it, or in software. Where that is slower than
float32, values rounded to bf16 are multiplied in float32 instead: a product of two such values is exact
there, and sums are kept in float32 either way, so results agree to the order of the sums and the last bit of
bf16.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.engine.processor import multiplies_bf16, multiplies_bf16_fast

LEAST_ROWS = 64  # below it oneDNN's preparations cost more than they gain


def _onednn():
    """oneDNN's product x weight^T + bias as an operator of torch, or None where it is missing or no gain."""
    if not torch.backends.mkldnn.is_available() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return None
    found = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return found.default if found is not None else None


ONEDNN = _onednn()
BF16_IN_FLOAT32 = not multiplies_bf16_fast()
SMALL_BF16_IN_FLOAT32 = not multiplies_bf16()


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x weight^T + bias: (rows, out) from x (rows, in), weight (out, in), bias (out,). What F.linear gives,
    to rounding."""
    if x.device.type != "cpu":
        return F.linear(x, weight, bias)
    if torch.is_autocast_enabled("cpu"):
        rounded = BF16_IN_FLOAT32 and torch.get_autocast_dtype("cpu") == torch.bfloat16
        return _Rounded.apply(x, weight, bias) if rounded else F.linear(x, weight, bias)
    if ONEDNN is None or x.dtype != torch.float32 or len(x) < LEAST_ROWS:
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        return _Linear.apply(x, weight, bias)
    return _product(x, weight, bias)


def batched(multiply: Callable[..., Tensor], *parts: Tensor, **given: float) -> Tensor:
    """multiply(*parts, **given), one of torch's batched products of small matrices: what it gives, to
    rounding."""
    if not SMALL_BF16_IN_FLOAT32 or parts[-1].device.type != "cpu" or parts[-1].dtype != torch.bfloat16:
        return multiply(*parts, **given)
    with torch.autocast("cpu", enabled=False):
        return multiply(*(part.bfloat16().float() for part in parts), **given).bfloat16()


class _Linear(torch.autograd.Function):
    """In float32. oneDNN's operator has no derivative of its own."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        return _gradients(ctx, grad, *ctx.saved_tensors)


class _Rounded(torch.autograd.Function):
    """In bf16 as autocast has it, forth and back, each product in float32 and then rounded; autograd widens
    the gradients again."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        x, weight, bias = x.bfloat16(), weight.bfloat16(), bias.bfloat16()
        ctx.save_for_backward(x, weight)
        with torch.autocast("cpu", enabled=False):
            return _product(x.float(), weight.float(), bias.float()).bfloat16()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        with torch.autocast("cpu", enabled=False):  # FGSM asks for its gradient within the step's
            for_x, for_weight, for_bias = _gradients(ctx, grad.float(), x.float(), weight.float())
        return _rounded(for_x), _rounded(for_weight), _rounded(for_bias)


def _rounded(grad: Tensor | None) -> Tensor | None:
    return None if grad is None else grad.bfloat16()


def _gradients(
    ctx, grad: Tensor, x: Tensor, weight: Tensor
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Of x, weight and bias where they are needed, from grad (rows, out); all in float32."""
    grad = grad.contiguous()
    for_x, for_weight, for_bias = ctx.needs_input_grad
    return (
        _product(grad, weight.t(), None) if for_x else None,
        _product(grad.t(), x.t(), None) if for_weight else None,
        grad.sum(0) if for_bias else None,
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weight^T + bias in float32."""
    if ONEDNN is None or len(x) < LEAST_ROWS:
        return F.linear(x, weight, bias)
    return ONEDNN(x, weight, bias, "none", [], "")
