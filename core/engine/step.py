"""One training step: loss, gradients, clipping, AdamW and what follows them. On a GPU all of it is one CUDA
graph.

A step of bert-base launches some 1,500 kernels, for which a GPU waits longer than it computes: 122 ms a step
became 14 on an H100. So batches are padded to a few shapes. The first step of a shape is done as usual, the
second is captured, and later ones replay it. With `train.precision=bf16` products read bf16 copies of the
weights, and the weights themselves, moments, averages, LayerNorm's statistics and the loss stay in float32.
Without a GPU the same code runs without graphs, on batches without padding.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from core.engine.encoder.bert import Embeddings
from core.engine.encoder.dropout import DeviceDropout
from core.engine.encoder.packing import Packed, Places, padded, places
from core.methods.contrastive import Contrastive
from core.spec.run import Train

BF16_CAPABILITY = (8, 0)  # of the first GPUs that multiply bf16


class Step:
    """The steps of one training. `copied` is the type of the copies that products read, or None; `captures`
    makes graphs."""

    def __init__(
        self,
        train: Train,
        model: Contrastive,
        optimiser: torch.optim.Optimizer,
        copied: torch.dtype | None,
        captures: bool,
    ):
        self.train, self.model, self.optimiser, self.captures = train, model, optimiser, captures
        self.trained = [p for p in model.parameters() if p.requires_grad]
        self.device = self.trained[0].device
        self.folds_clipping = self.device.type == "cuda" and isinstance(optimiser, torch.optim.AdamW)
        self._copies = _copies(model, copied) if copied is not None else {}
        self._slots = [
            (module._parameters, name, self._copies[p], p)
            for module in model.modules()
            for name, p in module._parameters.items()
            if p in self._copies
        ]
        copy = weakref.WeakMethod(self._copy)  # a trained model must not hold graphs and moments

        def moved(weights: list[nn.Parameter]) -> None:
            if (known := copy()) is not None:
                known(weights)

        model.weights_moved = moved  # type: ignore[method-assign]
        self._inputs: dict[tuple, list[tuple[Tensor, Places] | None]] = {}
        self._done: set[tuple] = set()  # shapes and forms of which a step was done as usual
        self._graphs: dict[tuple, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def __call__(self, batch: tuple, rate: float) -> Tensor:
        """Do one step at this learning rate. The loss (), or NaN if the loss or a gradient is not finite.

        `batch` is what the method's views made: batches, matrices (B, 1 + L) for a GPU, or None. After a loss
        or gradient that is not finite a CPU leaves weights and averages alone.
        """
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(group["factor"] * rate)
            else:
                group["lr"] = group["factor"] * rate
        self.model.before_step()
        loss = self._body(batch) if any(isinstance(part, Packed) for part in batch) else self._replayed(batch)
        if self.device.type != "cpu" or torch.isfinite(loss):
            self.model.after_step()
        return loss

    def _replayed(self, batch: tuple[Tensor | None, ...]) -> Tensor:
        """The step of matrices from the CPU: as usual, captured, or replayed."""
        shapes = tuple(None if part is None else part.shape for part in batch)
        if shapes not in self._inputs:
            self._inputs[shapes] = [self._input(shape) for shape in shapes]
        inputs = self._inputs[shapes]
        for given, part in zip(inputs, batch, strict=True):
            if given is not None and part is not None:
                given[0].copy_(part.pin_memory() if self.device.type == "cuda" else part, non_blocking=True)
        key = (shapes, self.model.form())
        if key in self._graphs:
            graph, loss = self._graphs[key]
            graph.replay()
            return loss.clone()
        if not self.captures or key not in self._done:
            self._done.add(key)
            return self._body(tuple(None if given is None else padded(*given) for given in inputs))
        return self._captured(key, inputs)

    def _input(self, shape: torch.Size | None) -> tuple[Tensor, Places] | None:
        """The memory of a matrix (B, 1 + L) and the places of its batch."""
        if shape is None:
            return None
        matrix = torch.zeros(shape, dtype=torch.int64, device=self.device)
        return matrix, places(shape[0], shape[1] - 1, self.device)

    def _captured(self, key: tuple, inputs: list[tuple[Tensor, Places] | None]) -> Tensor:
        """Capture the step of these inputs, and do it."""
        graph, before = torch.cuda.CUDAGraph(), next(iter(self._graphs.values()), None)
        for module in self.model.modules():
            for generator in module.twins if isinstance(module, DeviceDropout) else ():
                graph.register_generator_state(generator)
        pool = before[0].pool() if before is not None else None
        stream = torch.cuda.current_stream(self.device)
        with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
            loss = self._body(tuple(None if given is None else padded(*given) for given in inputs))
        self._graphs[key] = graph, loss
        graph.replay()
        return loss.clone()

    def _body(self, batch: tuple[Packed | Tensor | None, ...]) -> Tensor:
        """What a graph holds: everything whose operations are the same in each step."""
        with self._lowered():
            with self._autocast():
                loss = self.model.loss(*batch)
            loss.backward()
            self._gradients_of_copies()
            loss = torch.add(loss.detach(), self._clip(), alpha=0.0)  # NaN where the norm is not finite
            if self.device.type == "cpu" and not torch.isfinite(loss):
                return loss
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            self._copy(self.trained)
            self.model.after_update()
        return loss

    def _clip(self) -> Tensor:
        """The gradient's norm (), after the gradient was shortened to `clip_norm`; fused AdamW does it as it
        reads the gradients."""
        if not self.folds_clipping:
            return nn.utils.clip_grad_norm_(self.trained, self.train.clip_norm)
        norm = nn.utils.get_total_norm([grad for p in self.trained if (grad := p.grad) is not None])
        scale = ((norm + 1e-6) / self.train.clip_norm).clamp(min=1.0)
        self.optimiser.grad_scale = scale  # type: ignore[attr-defined]
        return norm

    def _gradients_of_copies(self) -> None:
        """Give each weight the gradient of its copy, in its own type."""
        pairs = [
            (p, copy)
            for p in self.trained
            if (copy := self._copies.get(p)) is not None and copy.grad is not None
        ]
        for p, _ in pairs:
            p.grad = torch.empty_like(p)
        if pairs:
            gradients: list[Any] = [p.grad for p, _ in pairs]
            torch._foreach_copy_(gradients, [copy.grad for _, copy in pairs])  # type: ignore[misc]
        for _, copy in pairs:
            copy.grad = None

    @torch.no_grad()
    def _copy(self, weights: list[nn.Parameter]) -> None:
        """Bring the copies of these weights up to date."""
        kept = [p for p in weights if p in self._copies]
        if kept:
            torch._foreach_copy_([self._copies[p] for p in kept], [p.detach() for p in kept])

    @contextlib.contextmanager
    def _lowered(self) -> Iterator[None]:
        """Within this context the model computes with the copies."""
        for parameters, name, copy, _ in self._slots:
            parameters[name] = copy
        try:
            yield
        finally:
            for parameters, name, _, weight in self._slots:
                parameters[name] = weight

    def _autocast(self) -> contextlib.AbstractContextManager:
        """The arithmetic of a CPU's forward pass (D34): float32, or autocast to bf16, each weight anew where
        it is used."""
        if self.device.type == "cpu" and self.train.precision == "bf16":
            return torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False)
        return contextlib.nullcontext()


def _copies(model: nn.Module, dtype: torch.dtype) -> dict[nn.Parameter, nn.Parameter]:
    """A copy in this type of every weight but those of embeddings, whose sum and LayerNorm stay in
    float32."""
    spared = {p for module in model.modules() if isinstance(module, Embeddings) for p in module.parameters()}
    others = [p for p in model.parameters() if p not in spared]
    return {p: nn.Parameter(p.detach().to(dtype), p.requires_grad) for p in others}


def step_for(
    train: Train, model: Contrastive, optimiser: torch.optim.Optimizer, device: torch.device
) -> Step:
    """The step of a run on this device, with the arithmetic that `train.precision` names, as far as the
    device has it."""
    if device.type != "cuda":
        return Step(train, model, optimiser, None, False)
    torch.backends.cuda.matmul.allow_tf32 = train.precision == "tf32"
    copied = torch.bfloat16 if train.precision == "bf16" and multiplies_bf16(device) else None
    return Step(train, model, optimiser, copied, model.capturable)


def multiplies_bf16(device: torch.device) -> bool:
    """Whether this GPU has instructions for bf16."""
    return torch.cuda.get_device_capability(device) >= BF16_CAPABILITY


def slower(train: Train, model: Contrastive, device: torch.device) -> list[str]:
    """What makes a run slower on this GPU than it could be, in sentences."""
    sentences = []
    if device.type == "cuda" and not model.capturable:
        why = "this method or setting computes with numbers on the CPU"
        sentences.append(f"Steps are not replayed as a CUDA graph: {why}.")
    if device.type == "cuda" and train.precision == "bf16" and not multiplies_bf16(device):
        sentences.append(f"{torch.cuda.get_device_name(device)} has no bf16, so this run trains in float32.")
    return sentences


@contextlib.contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Within this context a GPU works on a stream of its own: gradients wait for the stream that their
    weights were first read on, and a capture may not make the legacy stream wait. Nothing on another
    device."""
    if device.type != "cuda":
        yield
        return
    usual, own = torch.cuda.current_stream(device), torch.cuda.Stream(device)
    own.wait_stream(usual)
    with torch.cuda.stream(own):
        yield
    usual.wait_stream(own)
