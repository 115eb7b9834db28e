"""Checkpoints of a running training: all that the next step depends on, so that an interrupted run goes on
unchanged.

Each run has one file, replaced every few minutes. What a model keeps beside its weights is in its state dict,
as buffers or as extra state, so nothing here knows a method. The data streams are not in the file: they
follow from the seed and the number of steps, and `training_batches` winds them forward. On a CPU a resumed
run equals an undisturbed run bit for bit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from core.spec.errors import UserError
from core.spec.identity import NUMERICS, run_id
from core.spec.result import Row
from core.spec.run import Execution, RunConfig
from core.store.files import whole
from core.store.store import Store


class Checkpoint(NamedTuple):
    """A candidate for selection: the optimiser step, its development score, and the weights that scoring
    reads."""

    step: int
    score: float
    state: dict


class TrainingState(NamedTuple):
    """The state of the training loop after `step` steps. `pending` are the losses (scalars) since the last
    development check, `score` is that check's."""

    step: int = 0
    selected: Checkpoint | None = None
    losses: list[tuple[int, float]] | tuple = ()
    pending: list[Tensor] | tuple = ()
    score: float | None = None


class Damaged(Exception):
    """A checkpoint file is damaged or belongs to another run; the text says in a few words why."""


def write(path: Path, content: dict) -> None:
    """Write tensors, numbers and texts, in dicts, lists and tuples. Raises UserError if the disk is full or
    read-only; the old file stays then."""
    with (
        whole(path) as temporary,
        open(temporary, "wb") as file,
    ):  # to a path, torch hides the system's errors
        try:
            torch.save(tree_map_only(Tensor, lambda tensor: tensor.detach().cpu(), content), file)
        except RuntimeError as error:  # torch's writer fails once more while it closes
            raise error.__context__ if isinstance(error.__context__, OSError) else error from None


def read(path: Path) -> dict:
    """The content of the file, tensors on the CPU as views of the file. Raises Damaged, and
    FileNotFoundError."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = archive.testzip()  # torch itself checks no checksum
        content = dict(torch.load(str(path), map_location="cpu", weights_only=True, mmap=True))
    except FileNotFoundError:
        raise
    except Exception as error:  # zipfile, torch and the unpickler have errors of many kinds
        raise Damaged(f"it cannot be read ({_short(error)})") from error
    if name is not None:
        raise Damaged(f"the checksum of {name} is wrong")
    return content


class CheckpointFile:
    """The checkpoint file of one run, read and written by the process that trains it.

    `found` is the content that an earlier attempt left, or None. A file that is damaged or belongs to another
    run or kind of device is set aside, and `note` gets a sentence. Without `checkpoint_minutes` an earlier
    attempt's file is used, and none is written.
    """

    def __init__(self, config: RunConfig, execution: Execution, note: Callable[[str], None]):
        self.device = torch.device(execution.device)
        self.rows: list[Row] = []  # of the run so far; the job's own list, growing
        self.step = 0  # of the content that was found
        self.earlier_seconds = 0.0  # of training in earlier attempts
        self.resumed_at: list[int] = []
        self.asked = False
        self._note, self._steps = note, config.train.steps
        self._owner = {"run_id": run_id(config), "numerics": NUMERICS, "device": self.device.type}
        minutes = execution.checkpoint_minutes
        self._every = None if minutes is None else minutes * 60  # seconds
        self._began = self._wrote = time.monotonic()
        self._store = Store(Path(execution.results_dir), None)
        self._path = self._store.checkpoint(run_id(config))
        self.found: dict | None = None
        try:
            self._accept(read(self._path))
        except FileNotFoundError:
            pass
        except Damaged as error:
            note(f"starts from nothing, since the checkpoint {self._set_aside()} is of no use: {error}")

    def saved_rows(self) -> list[Row] | None:
        """The rows of the run up to its checkpoint, or None without a checkpoint."""
        return list(self.rows) if self.found is not None else None

    def restored(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> TrainingState:
        """Restore model and optimiser. Returns the state of the loop. Raises UserError if the content does
        not fit the model, whose weights mean nothing then."""
        self._began = self._wrote = time.monotonic()
        if self.found is None:
            return TrainingState()
        try:
            state = self._restore(self.found, model, optimiser)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
            if any(word in str(error) for word in ("memory", "CUDA")):
                raise  # a device in trouble says nothing about the file
            raise UserError(
                f"The checkpoint {self._set_aside()} does not fit this code ({_short(error)}); "
                "give the same command again to start from nothing."
            ) from error
        self.found = None  # some gigabytes that nobody needs any more
        return state

    def due(self) -> bool:
        """Whether a checkpoint is to be written after this step."""
        return self.asked or self._every is not None and time.monotonic() - self._wrote >= self._every

    def write(self, at: TrainingState, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Write the state of the run. A full disk costs no more than the checkpoint, and `note` gets a
        sentence. If the process was asked to end, it ends here."""
        content = self._owner | at._asdict() | {
            "selected": at.selected and tuple(at.selected),
            "rows": [(*row[:-1], float(row.value)) for row in self.rows],
            "model": dict(model.state_dict()), "optimiser": optimiser.state_dict()["state"],
            "resumed_at": self.resumed_at, "seconds": self.earlier_seconds + time.monotonic() - self._began,
        }  # fmt: skip
        try:
            write(self._path, content)
        except UserError as error:
            self._note(f"no checkpoint at step {at.step}: {error}")
        self._wrote = time.monotonic()
        if self.asked:
            self._end()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Within this context SIGTERM asks for a checkpoint before the process ends, if checkpoints are
        written."""
        if self._every is None:
            yield
            return

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

    def _accept(self, content: dict) -> None:
        """Accept the content if it belongs to this run, this code and this kind of device. Raises Damaged."""
        for name, value in self._owner.items():
            if content.get(name) != value:
                raise Damaged(f"its {name} is {content.get(name)}, not {value}")
        step = content.get("step")
        if type(step) is not int or not 0 < step <= self._steps:
            raise Damaged(f"its step is {step}, and the run has {self._steps}")
        try:
            rows, seconds = [Row(*row) for row in content["rows"]], float(content["seconds"])
            self.resumed_at = [*content["resumed_at"], step]
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged(f"it does not fit this code ({_short(error)})") from error
        self.found, self.step, self.rows, self.earlier_seconds = content, step, rows, seconds

    def _restore(self, content: dict, model: nn.Module, optimiser: torch.optim.Optimizer) -> TrainingState:
        def copied(value: Any, device: torch.device) -> Any:
            """Tensors, however nested, copied from the file's memory to the device."""
            return tree_map_only(Tensor, lambda tensor: tensor.to(device, copy=True), value)

        model.load_state_dict({
            name: value if isinstance(value, Tensor) else copied(value, self.device)
            for name, value in content["model"].items()
        })  # fmt: skip
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        for place, moments in content["optimiser"].items():  # torch itself compares no shapes
            shape = parameters[place].shape
            if any(value.dim() and value.shape != shape for value in moments.values()):
                raise ValueError(f"moments of another shape for parameter {place}")
        groups = optimiser.state_dict()["param_groups"]
        moments = copied(content["optimiser"], torch.device("cpu"))
        optimiser.load_state_dict({"state": moments, "param_groups": groups})
        selected = copied(content["selected"], self.device)
        losses = [(step, loss) for step, loss in content["losses"]]
        return TrainingState(
            step=self.step,
            selected=selected and Checkpoint(*selected),
            losses=losses,
            pending=copied(list(content["pending"]), self.device),
            score=content["score"],
        )

    def _set_aside(self) -> str:
        """Move the file out of the way; its old and new place."""
        return f"{self._path} (now {self._store.set_aside(self._path)})"


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
