"""The least time that a step can take here: its matrix products at this machine's own rates, and the bytes of its state.

Counted are the products that the method cannot do without, over real tokens alone, and the memory traffic of AdamW and EMA.
Not counted: everything element by element (dropout, GELU, LayerNorm, softmax), look-ups and the time between operations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.timing import median_seconds
from core.methods.mocose.model import MoCoSE
from core.methods.mocose.settings import MoCoSERun

ADAMW_BYTES = 7 * 4  # a parameter: weight, gradient and both moments read, weight and moments written
EMA_BYTES = 3 * 4  # a parameter: target and source read, target written


@dataclass(frozen=True)
class Product:
    """(batch x) rows x inner times inner x columns, at whose shape the rate is measured, and how many operations are done at it."""

    rows: int
    inner: int
    columns: int
    batch: int
    operations: float

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """What the rate depends on."""
        return self.rows, self.inner, self.columns, self.batch


@dataclass(frozen=True)
class Shape:
    """An encoder's sizes."""

    layers: int
    hidden: int
    inner: int
    heads: int


def step_products(config: MoCoSERun, shape: Shape, lengths: Sequence[np.ndarray], width: int) -> list[Product]:
    """The products of a mean MoCoSE step over these batches, each the token counts of its sentences; `width` queue entries.

    Forward and backward of the online branch (two further products for each of the forward's), forward of the target branch.
    The last layer is computed for [CLS] alone. Gradients of the queue and, with a stopped gradient, of the keys are not needed.
    """
    batch, out = config.train.batch_size, config.heads.out_size
    branch = forward_products(shape, lengths)
    hidden_layers = _head_layers(config, shape)
    query = [Product(batch, i, o, 1, 2.0 * batch * i * o) for i, o in hidden_layers]
    keys = query[: 1 + config.heads.projection_layers]
    found = [p for product in (*branch, *query) for p in (product, *_backward(product))]
    logits = Product(batch, out, batch + width, 1, 2.0 * batch * out * (batch + width))
    return [*found, *branch, *keys, logits, Product(batch, batch + width, out, 1, logits.operations)]


def forward_products(shape: Shape, lengths: Sequence[np.ndarray]) -> list[Product]:
    """The products of one forward pass to [CLS], mean over these batches."""
    tokens = float(np.mean([np.sum(n) for n in lengths]))
    sentences = round(float(np.mean([len(n) for n in lengths])))
    squares = float(np.mean([np.sum(n.astype(np.int64) ** 2) for n in lengths]))
    longest = int(np.median([np.max(n) for n in lengths]))
    h, f, head = shape.hidden, shape.inner, shape.hidden // shape.heads
    found = []
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        queries = sentences if last else tokens
        for count, rows, inner, columns in ((2, tokens, h, h), (2, queries, h, h), (1, queries, h, f), (1, queries, f, h)):
            found += [Product(round(rows), inner, columns, 1, 2.0 * rows * inner * columns)] * count
        pairs = tokens if last else squares  # query-key pairs a head
        grid = sentences * shape.heads
        found.append(Product(1 if last else longest, head, longest, grid, 2.0 * pairs * h))
        found.append(Product(1 if last else longest, longest, head, grid, 2.0 * pairs * h))
    return found


def _head_layers(config: MoCoSERun, shape: Shape) -> list[tuple[int, int]]:
    """Inputs and outputs of pooler, projection and predictor."""
    h, out = shape.hidden, config.heads.out_size
    inner = config.heads.predictor_hidden or out
    layers = [(h, h)] + [(h, h)] * (config.heads.projection_layers - 1) + [(h, out)] * (config.heads.projection_layers > 0)
    depth = config.heads.predictor_layers
    widths = [out, *[inner] * (depth - 1), out] if depth else []
    return layers + list(itertools.pairwise(widths))


def _backward(product: Product) -> list[Product]:
    """The two products that give the gradients of a product's factors."""
    rows, inner, columns, batch = product.shape
    return [Product(rows, columns, inner, batch, product.operations), Product(columns, rows, inner, batch, product.operations)]


def operations(products: Sequence[Product]) -> float:
    """Floating-point operations, a multiplication and an addition counted as two."""
    return sum(product.operations for product in products)


def state_bytes(model: MoCoSE) -> int:
    """Bytes that AdamW and EMA move a step."""
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return trained * ADAMW_BYTES + sum(p.numel() for p in model.averaged[0]) * EMA_BYTES


def rates(products: Sequence[Product], device: torch.device, dtype: torch.dtype) -> dict[tuple[int, int, int, int], float]:
    """Operations a second at each shape, alone and with warm caches, by the fastest of the libraries that torch brings; of bf16 on a CPU
    in float32, too, as `core/engine/encoder/products.py` multiplies where that is faster."""
    kinds = (dtype, torch.float32) if dtype == torch.bfloat16 and device.type == "cpu" else (dtype,)
    shapes = dict.fromkeys(product.shape for product in products)
    return {shape: max(_rate(shape, device, kind) for kind in kinds) for shape in shapes}


def _rate(shape: tuple[int, int, int, int], device: torch.device, dtype: torch.dtype) -> float:
    rows, inner, columns, batch = shape
    left = torch.randn(batch, rows, inner, device=device).to(dtype)
    right = torch.randn(batch, inner, columns, device=device).to(dtype)
    ways: list[Callable[[], Tensor]] = [lambda: left @ right]
    if batch == 1:
        x, weight = left[0], right[0].T.contiguous()  # (rows, inner), (columns, inner)
        ways = [lambda: F.linear(x, weight), lambda: x @ right[0]]
        if device.type == "cpu" and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
            ways.append(lambda: torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], ""))
    with torch.inference_mode():
        return 2.0 * rows * inner * columns * batch / min(median_seconds(way, device) for way in ways)


def bandwidth(device: torch.device) -> float:
    """Bytes a second of adding two long arrays into a third."""
    a, b, c = (torch.ones(1 << 25, device=device) for _ in range(3))
    return 3 * a.numel() * 4 / median_seconds(lambda: torch.add(a, b, out=c), device)


def floor_seconds(products: Sequence[Product], rate: dict[tuple[int, int, int, int], float], moved: int, bytes_rate: float) -> float:
    """Seconds of the products at their rates, and of the bytes."""
    return sum(p.operations / rate[p.shape] for p in products) + (moved / bytes_rate if moved else 0.0)
