"""One training step: loss, gradients, clipping, AdamW and what follows them; on a GPU one CUDA
graph.

A step of bert-base launches some 1,500 kernels, for which a GPU waits longer than it computes: 122
ms a step became 14 on an H100. So batches are padded to a few shapes. The first step of a shape is
done as usual, the second is captured, and later ones replay it. With `train.precision=bf16`
products read bf16 copies of the weights, and the weights themselves, moments, averages, LayerNorm's
statistics and the loss stay in float32.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from core.config.run import Train
from core.encoder.bert import Embeddings
from core.encoder.dropout import DeviceDropout
from core.encoder.packing import Packed, TokenPlaces, padded, places
from core.methods.contrastive import Batch, Contrastive
from core.training.optimiser import parameters_of


class Step:
    """The steps of one training. `copied` is the type of the copies that products read, if any."""

    def __init__(
        self,
        train: Train,
        model: Contrastive,
        optimiser: Optimizer,
        copied: torch.dtype | None,
        captures: bool,
    ):
        self.train = train
        self.model = model
        self.optimiser = optimiser
        self.captures = captures
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.device = self.trained[0].device
        model.copies = {}
        if copied is not None:
            model.copies = _copies(model, copied)
        self._slots: list[Any] = []  # where each copied weight lies, its copy, and the weight
        for module in model.modules():
            for name, p in module._parameters.items():
                if p in model.copies:
                    self._slots.append((module._parameters, name, model.copies[p], p))
        self._inputs: dict[tuple, list[tuple[Tensor, TokenPlaces]]] = {}
        self._done: set[tuple] = set()  # shapes and forms of which a step was done as usual
        self._graphs: dict[tuple, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def __call__(self, batch: tuple[Batch, ...], rate: float) -> Tensor:
        """Do one step at this learning rate. The loss (), or NaN if the loss or a gradient is not
        finite; a CPU then leaves weights and averages alone."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(group["factor"] * rate)
            else:
                group["lr"] = group["factor"] * rate
        self.model.before_step()
        if isinstance(batch[0], Packed):
            loss = self._body(batch)
        else:
            loss = self._replayed(batch)
        if self.device.type != "cpu" or torch.isfinite(loss):
            self.model.after_step()
        return loss

    def _replayed(self, batch: tuple[Any, ...]) -> Tensor:
        """The step of matrices from the CPU: as usual, captured, or replayed."""
        shapes = tuple(part.shape for part in batch)
        if shapes not in self._inputs:
            matrices = [torch.zeros_like(part, device=self.device) for part in batch]
            self._inputs[shapes] = [
                (matrix, places(matrix[..., 0].numel(), matrix.shape[-1] - 1, self.device))
                for matrix in matrices
            ]
        inputs = self._inputs[shapes]
        for (matrix, _), part in zip(inputs, batch, strict=True):
            if self.device.type == "cuda":
                part = part.pin_memory()
            matrix.copy_(part, non_blocking=True)
        key = (shapes, self.model.form())
        if key not in self._graphs and (not self.captures or key not in self._done):
            self._done.add(key)
            return self._body(_padded(inputs))
        if key not in self._graphs:
            self._graphs[key] = self._captured(inputs)
        graph, loss = self._graphs[key]
        graph.replay()
        return loss.clone()

    def _captured(
        self, inputs: list[tuple[Tensor, TokenPlaces]]
    ) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        """The graph of a step of these inputs, which does nothing before it is replayed, and its
        loss."""
        graph = torch.cuda.CUDAGraph()
        for module in self.model.modules():
            if isinstance(module, DeviceDropout):
                for generator in module.generators[1:]:
                    graph.register_generator_state(generator)
        pool = next((before.pool() for before, _ in self._graphs.values()), None)
        stream = torch.cuda.current_stream(self.device)
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            loss = self._body(_padded(inputs))
        return graph, loss

    def _body(self, batch: tuple[Batch, ...]) -> Tensor:
        """What a graph holds: everything whose operations are the same in each step."""
        # a CPU's forward pass is in float32, or in bf16 with each weight rounded anew where it is
        # used (D34)
        half = self.device.type == "cpu" and self.train.precision == "bf16"
        try:
            for parameters, name, copy, _ in self._slots:  # the model computes with the copies
                parameters[name] = copy
            with torch.autocast("cpu", torch.bfloat16, enabled=half, cache_enabled=False):
                loss = self.model.loss(*batch)
            loss.backward()
            self._gradients_of_copies()
            # NaN where the norm is not finite
            loss = torch.add(loss.detach(), self._clip(), alpha=0.0)
            if self.device.type == "cpu" and not torch.isfinite(loss):
                return loss
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            self.model.weights_moved(self.trained)
            self.model.after_update()
        finally:
            for parameters, name, _, weight in self._slots:
                parameters[name] = weight
        return loss

    def _clip(self) -> Tensor:
        """The gradient's norm () before clipping, which fused AdamW does as it reads the
        gradients."""
        if self.device.type != "cuda" or not isinstance(self.optimiser, torch.optim.AdamW):
            return nn.utils.clip_grad_norm_(self.trained, self.train.clip_norm)
        norm = nn.utils.get_total_norm([p.grad for p in self.trained if p.grad is not None])
        scale = ((norm + 1e-6) / self.train.clip_norm).clamp(min=1.0)
        self.optimiser.grad_scale = scale  # type: ignore[attr-defined]
        return norm

    def _gradients_of_copies(self) -> None:
        """Give each weight the gradient of its copy, in its own type."""
        copies = self.model.copies
        pairs = [(p, copies[p]) for p in self.trained if p in copies and copies[p].grad is not None]
        if pairs:
            gradients: list[Any] = [torch.empty_like(p) for p, _ in pairs]
            torch._foreach_copy_(gradients, [copy.grad for _, copy in pairs])  # type: ignore[misc]
            for (p, copy), gradient in zip(pairs, gradients, strict=True):
                p.grad = gradient
                copy.grad = None


def _padded(inputs: list[tuple[Tensor, TokenPlaces]]) -> tuple[Packed, ...]:
    """The batches of these matrices."""
    return tuple(padded(matrix, shared) for matrix, shared in inputs)


def _copies(model: nn.Module, dtype: torch.dtype) -> dict[nn.Parameter, nn.Parameter]:
    """A copy in this type of every weight outside embeddings, whose sum and LayerNorm stay in
    float32."""
    spared = parameters_of(m for m in model.modules() if isinstance(m, Embeddings))
    copies = {}
    for p in model.parameters():
        if p not in spared:
            copies[p] = nn.Parameter(p.detach().to(dtype), p.requires_grad)
    return copies


def step_for(train: Train, model: Contrastive, optimiser: Optimizer, device: torch.device) -> Step:
    """The step of a run, with the arithmetic that `train.precision` names as far as the device has
    it."""
    if device.type != "cuda":
        return Step(train, model, optimiser, None, False)
    torch.backends.cuda.matmul.allow_tf32 = train.precision == "tf32"
    copied = None
    if train.precision == "bf16" and multiplies_bf16(device):
        copied = torch.bfloat16
    captures = model.capturable and model.encoder.capturable
    return Step(train, model, optimiser, copied, captures)


def multiplies_bf16(device: torch.device) -> bool:
    """Whether this GPU has instructions for bf16, as GPUs have from compute capability 8.0 on."""
    return torch.cuda.get_device_capability(device) >= (8, 0)


def slower(train: Train, model: Contrastive, device: torch.device) -> list[str]:
    """What makes a run slower on this GPU than it could be, in sentences."""
    if device.type != "cuda":
        return []
    sentences = []
    if not model.capturable:
        sentences.append(
            "Steps are not replayed as a CUDA graph: the method does not state capturable, or this "
            "setting computes with numbers on the CPU."
        )
    if not model.encoder.capturable:
        sentences.append(
            "Steps are not replayed as a CUDA graph: this encoder runs in transformers' own module."
        )
    if train.precision == "bf16" and not multiplies_bf16(device):
        name = torch.cuda.get_device_name(device)
        sentences.append(f"{name} has no bf16, so this run trains in float32.")
    return sentences


@contextlib.contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Within this context a GPU works on a stream of its own: gradients wait for the stream that
    their weights were first read on, and a capture may not make the legacy stream wait."""
    if device.type != "cuda":
        yield
        return
    usual = torch.cuda.current_stream(device)
    stream = torch.cuda.Stream(device)
    stream.wait_stream(usual)
    with torch.cuda.stream(stream):
        yield
    usual.wait_stream(stream)
