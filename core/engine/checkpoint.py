"""Checkpoints of a running training: all that the next step depends on, so that an interrupted run goes on as if it had not been.

One file a run, replaced every few minutes. What a model keeps beside its weights is in its state dict, as buffers or as extra
state, so nothing here knows a method. The data streams are not in the file: they follow from the seed and the number of steps
alone, and `training_batches` winds them forward. On a CPU a resumed run equals an undisturbed one to the last bit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from core.engine import tensor_file
from core.engine.standing import Checkpoint, Standing
from core.spec.errors import UserError
from core.spec.execution import Execution
from core.spec.identity import NUMERICS, run_id
from core.spec.result import Row
from core.spec.run import RunConfig
from core.store.store import Store

Content = TypeVar("Content")


class Unfit(Exception):
    """A checkpoint does not fit the model and was set aside. The model is partly overwritten, so the run must begin again."""


class Keeper:
    """The checkpoint file of one run, held by its only process. `found` is what an earlier attempt left, or None.

    A file that is damaged, belongs to another run or device, or does not fit this code, is set aside and named through `note`.
    """

    def __init__(self, config: RunConfig, execution: Execution, note: Callable[[str], None]):
        assert execution.checkpoint_minutes is not None, "without it there is no keeper"
        self.config = config
        self.device = torch.device(execution.device)
        self.rows: list[Row] = []  # of the run so far; the job's own list, growing
        self.step = 0  # of the checkpoint that was found
        self.earlier_seconds = 0.0  # of training in earlier attempts
        self.resumed_at: list[int] = []
        self.asked = False
        self._note = note
        self._every = execution.checkpoint_minutes * 60  # seconds
        self._began = self._wrote = time.monotonic()
        self._store = Store(Path(execution.results_dir), None)
        self._path = self._store.checkpoint(run_id(config))
        self.found: dict | None = None
        try:
            self._take(tensor_file.read(self._path))
        except FileNotFoundError:
            pass
        except tensor_file.Damaged as error:
            self._set_aside(error)

    def saved_rows(self) -> list[Row] | None:
        """The rows of the run up to its checkpoint, or None without a checkpoint."""
        return list(self.rows) if self.found is not None else None

    def restored(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> Standing:
        """Restore model and optimiser. Returns where the loop stood. Raises Unfit."""
        self._began = self._wrote = time.monotonic()
        if self.found is None:
            return Standing()
        try:
            standing = self._put(self.found, model, optimiser)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
            if any(word in str(error) for word in ("memory", "CUDA")):
                raise  # a device in trouble says nothing about the file
            self._set_aside(error)
            raise Unfit from error
        self.found = None  # some gigabytes that nobody needs any more
        return standing

    def due(self) -> bool:
        """Whether a checkpoint is to be written after this step."""
        return self.asked or time.monotonic() - self._wrote >= self._every

    def write(self, at: Standing, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Write where the run stands. A full disk is told and costs no more than the checkpoint. If the process was asked to
        end, this ends it."""
        content = {
            "run_id": run_id(self.config), "numerics": NUMERICS, "device": self.device.type,
            "step": at.step, "rows": self.rows, "losses": at.losses, "score": at.score,
            "pending": torch.stack(at.pending) if at.pending else None,
            "selected": at.selected._asdict() if at.selected is not None else None,
            "model": model.state_dict(), "optimiser": optimiser.state_dict()["state"],
            "resumed_at": self.resumed_at, "seconds": self.seconds(),
        }  # fmt: skip
        try:
            tensor_file.write(self._path, content)
        except UserError as error:
            self._note(f"no checkpoint at step {at.step}: {error}")
        self._wrote = time.monotonic()
        if self.asked:
            self._end()

    def seconds(self) -> float:
        """Seconds of training so far, in all attempts that are part of this result."""
        return self.earlier_seconds + time.monotonic() - self._began

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Within this context SIGTERM asks for a checkpoint before the process ends."""

        def ask(*_) -> None:
            self.asked = True

        before = signal.signal(signal.SIGTERM, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)
        if self.asked:
            self._end()

    def _end(self) -> None:
        """End as the signal would have ended the process."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def _take(self, content: dict) -> None:
        """Accept what was read if it belongs to this run, this code and this kind of device. Raises Damaged."""
        expected = {"run_id": run_id(self.config), "numerics": NUMERICS, "device": self.device.type}
        for name, value in expected.items():
            if content.get(name) != value:
                raise tensor_file.Damaged(f"its {name} is {content.get(name)}, not {value}")
        step, steps = content.get("step"), self.config.train.steps
        if type(step) is not int or not 0 < step <= steps:
            raise tensor_file.Damaged(f"its step is {step}, and the run has {steps}")
        try:
            rows, seconds, resumed_at = [Row(*row) for row in content["rows"]], float(content["seconds"]), [*content["resumed_at"], step]
        except (KeyError, TypeError, ValueError) as error:
            raise tensor_file.Damaged(_misfit(error)) from error
        self.found, self.step, self.rows, self.earlier_seconds, self.resumed_at = content, step, rows, seconds, resumed_at

    def _put(self, content: dict, model: nn.Module, optimiser: torch.optim.Optimizer) -> Standing:
        model.load_state_dict({
            name: value if isinstance(value, Tensor) else _own(value, self.device) for name, value in content["model"].items()
        })  # fmt: skip
        _put_optimiser(optimiser, content["optimiser"])
        selected = content["selected"]
        if selected is not None:
            selected = Checkpoint(selected["step"], selected["score"], _own(selected["state"], self.device))
        pending = [] if content["pending"] is None else list(_own(content["pending"], self.device))
        return Standing(self.step, selected, [(step, loss) for step, loss in content["losses"]], pending, content["score"])

    def _set_aside(self, error: Exception) -> None:
        target = self._store.set_aside(self._path)
        reason = str(error) if isinstance(error, tensor_file.Damaged) else _misfit(error)
        self._note(f"starts from nothing, since the checkpoint {self._path} is of no use: {reason}; it was set aside as {target}")


def _misfit(error: Exception) -> str:
    return f"it does not fit this code ({type(error).__name__}: {' '.join(str(error).split())[:200]})"


def _own(value: Content, device: torch.device) -> Content:
    """Tensors, however nested, copied from the file's memory to the device."""
    return tree_map_only(Tensor, lambda tensor: tensor.to(device, copy=True), value)


def _put_optimiser(optimiser: torch.optim.Optimizer, saved: dict[str, dict[str, Tensor]]) -> None:
    """Put the moments of every parameter back, by its place among the groups. Raises ValueError or IndexError if they are another model's."""
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    for place, state in saved.items():  # a parameter that nothing reads has none
        parameter = parameters[int(place)]
        if any(value.dim() and value.shape != parameter.shape for value in state.values()):
            raise ValueError(f"moments of another shape for parameter {place}")
    moments = {int(place): _own(state, torch.device("cpu")) for place, state in saved.items()}
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
