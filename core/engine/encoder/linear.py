"""Linear layers through oneDNN where that is faster than torch's default.

In float32 torch multiplies with MKL, which on processors of other makers than its own keeps to AVX2; oneDNN, which torch
brings too, uses AVX-512 wherever it is there (2.2 times as fast on the machine of benchmarks/README.md). Both give the same
sums in another order, so results agree to rounding.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

LEAST_ROWS = 64  # below it oneDNN's preparations cost more than they gain


def _onednn():
    """oneDNN's product x weight^T + bias as an operator of torch, or None where it is missing or no gain."""
    if not torch.backends.mkldnn.is_available() or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return None
    found = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return found.default if found is not None else None


ONEDNN = _onednn()


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x weight^T + bias: (rows, out) from x (rows, in), weight (out, in), bias (out,). What F.linear gives, to rounding."""
    if ONEDNN is None or x.device.type != "cpu" or x.dtype != torch.float32 or len(x) < LEAST_ROWS or torch.is_autocast_enabled("cpu"):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        return _Linear.apply(x, weight, bias)
    return _product(x, weight, bias)


class _Linear(torch.autograd.Function):
    """The operator has no derivative of its own."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()  # (rows, out)
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            _product(grad, weight.t(), None) if for_x else None,
            _product(grad.t(), x.t(), None) if for_weight else None,
            grad.sum(0) if for_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return ONEDNN(x, weight, bias, "none", [], "")
