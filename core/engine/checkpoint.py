"""Checkpoints of a running training: all that the next step depends on, so that an interrupted run goes on as if it had not been.

One file a run, replaced every few minutes. The data streams are not in it: they follow from the seed and the number of
steps alone, and `training_batches` winds them forward. On a CPU a resumed run equals an undisturbed one to the last bit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from core.engine import tensor_file
from core.engine.trainer import Checkpoint, Standing
from core.spec.errors import UserError
from core.spec.execution import Execution
from core.spec.identity import NUMERICS, run_id
from core.spec.result import Row
from core.spec.run import RunConfig
from core.store.store import Store

# What a model keeps beside its weights, by method: tensors, generators and plain numbers, as paths from the model.
BESIDE_WEIGHTS = {
    "mocose": (
        "queue.entries", "queue.counter", "updates", "augmenting", "augmenting_tests", "clustering",
        "stale.signs", "changed_share", "dropping.position",
    ),
    "esimcse": ("queue.entries", "dropping.position"),
    "simcse": ("dropping.position",),
}  # fmt: skip


class Saved(NamedTuple):
    """A checkpoint as it was read: tensors on the CPU by name, and the document beside them."""

    tensors: dict[str, Tensor]
    document: dict

    def group(self, name: str) -> dict[str, Tensor]:
        """The tensors under one heading, by the rest of their names."""
        return {key.removeprefix(f"{name}/"): value for key, value in self.tensors.items() if key.startswith(f"{name}/")}


class Keeper:
    """The checkpoint file of one run, held by its only process. `found` is what an earlier attempt left, or None.

    A file that is damaged, or belongs to another run or device, is set aside and named through `note`.
    """

    def __init__(self, config: RunConfig, execution: Execution, note: Callable[[str], None]):
        self.config = config
        self.device = torch.device(execution.device)
        self.rows: list[Row] = []  # of the run so far; the job's own list, growing
        self.asked = False
        self._note = note
        self._every = execution.checkpoint_minutes * 60  # seconds
        self._began = self._wrote = time.monotonic()
        self._store = Store(Path(execution.results_dir), None)
        self._path = self._store.checkpoint(run_id(config))
        self.found = self._read()
        document = self.found.document if self.found else {}
        self.step: int = document.get("step", 0)
        self.earlier_seconds: float = document.get("seconds", 0.0)  # of training in earlier attempts
        self.resumed_at: list[int] = document.get("resumed_at", []) + ([self.step] if self.found else [])

    def saved_rows(self) -> list[Row] | None:
        """The rows of the run up to its checkpoint, or None where it starts from nothing."""
        return [Row(*row) for row in self.found.document["rows"]] if self.found else None

    def restored(self, model: nn.Module, optimiser: torch.optim.Optimizer, scaler: torch.amp.GradScaler) -> Standing:
        """Put model, optimiser and scaler where the checkpoint left them; where the loop stood."""
        self._began = self._wrote = time.monotonic()
        if self.found is None:
            return Standing()
        saved, document = self.found, self.found.document
        model.load_state_dict(saved.group("model"))
        _put_beside(model, self.config.method, saved.group("beside"), document["beside"], self.device)
        _put_optimiser(optimiser, saved.group("optimiser"))
        if document["scaler"]:
            scaler.load_state_dict(document["scaler"])
        selected = None
        if document["selected"] is not None:
            state = {name: value.to(self.device, copy=True) for name, value in saved.group("selected").items()}
            selected = Checkpoint(*document["selected"], state)
        pending = list(saved.tensors["pending"].to(self.device, copy=True)) if "pending" in saved.tensors else []
        losses = [(step, loss) for step, loss in document["losses"]]
        self.found = None  # some gigabytes that nobody needs any more
        return Standing(self.step, selected, losses, pending, document["score"])

    def due(self) -> bool:
        """Whether a checkpoint is to be written after this step."""
        return self.asked or time.monotonic() - self._wrote >= self._every

    def write(
        self, at: Standing, model: nn.Module, optimiser: torch.optim.Optimizer, scaler: torch.amp.GradScaler
    ) -> None:
        """Write where the run stands. A full disk is told and costs no more than the checkpoint. If the process was asked to
        end, this ends it."""
        beside, plain = _beside(model, self.config.method)
        tensors = {
            **_under("model", model.state_dict()),
            **_under("beside", beside),
            **_under("optimiser", {f"{i}/{k}": v for i, s in optimiser.state_dict()["state"].items() for k, v in s.items()}),
            **_under("selected", at.selected.state if at.selected else {}),
        }
        if at.pending:
            tensors["pending"] = torch.stack(at.pending)
        document = {
            "run_id": run_id(self.config), "numerics": NUMERICS, "device": self.device.type,
            "step": at.step, "rows": self.rows, "losses": at.losses, "score": at.score,
            "selected": [at.selected.step, at.selected.score] if at.selected else None,
            "beside": plain, "scaler": scaler.state_dict(),
            "resumed_at": self.resumed_at, "seconds": self.seconds(),
        }  # fmt: skip
        try:
            tensor_file.write(self._path, tensors, document)
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
        """Within it SIGTERM asks for a checkpoint and the end, instead of the end at once."""

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

    def _read(self) -> Saved | None:
        try:
            saved = Saved(*tensor_file.read(self._path))
            self._check(saved.document)
            return saved
        except FileNotFoundError:
            return None
        except tensor_file.Damaged as error:
            target = self._store.set_aside(self._path)
            self._note(f"starts from nothing, since the checkpoint {self._path} is of no use: {error}; it was set aside as {target}")
            return None

    def _check(self, document: dict) -> None:
        expected = {"run_id": run_id(self.config), "numerics": NUMERICS, "device": self.device.type}
        for name, value in expected.items():
            if document.get(name) != value:
                raise tensor_file.Damaged(f"its {name} is {document.get(name)}, not {value}")


def _under(heading: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{heading}/{name}": tensor for name, tensor in tensors.items()}


def _owner(model: nn.Module, path: str) -> tuple[object | None, str]:
    """The object that holds the last name of a path, or None where the run has no such part, and that name."""
    *parts, name = path.split(".")
    owner = model
    for part in parts:
        owner = getattr(owner, part)
    return owner, name


def _beside(model: nn.Module, method: str) -> tuple[dict[str, Tensor], dict[str, object]]:
    """What the model keeps beside its weights: tensors (generators as their states), and plain values."""
    tensors, plain = {}, {}
    for path in BESIDE_WEIGHTS[method]:
        owner, name = _owner(model, path)
        value = getattr(owner, name, None)
        if isinstance(value, torch.Generator):
            tensors[path] = value.get_state()
        elif isinstance(value, Tensor):
            tensors[path] = value
        else:
            plain[path] = value
    return tensors, plain


def _put_beside(model: nn.Module, method: str, tensors: dict[str, Tensor], plain: dict, device: torch.device) -> None:
    for path in BESIDE_WEIGHTS[method]:
        owner, name = _owner(model, path)
        if owner is None:
            continue
        if isinstance(getattr(owner, name), torch.Generator):
            getattr(owner, name).set_state(tensors[path].clone())
        elif path in tensors:
            setattr(owner, name, tensors[path].to(device, copy=True))
        else:
            setattr(owner, name, plain[path])


def _put_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        place, key = name.split("/")
        state.setdefault(int(place), {})[key] = value.clone()
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
