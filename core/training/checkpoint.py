"""Checkpoints of a running training: all that the next step depends on.

Each run has one file, replaced every few minutes. What a model keeps beside its weights is in its
state dict. The data streams follow from the seed and the number of steps, and `training_batches`
winds them forward. On a CPU a resumed run equals an undisturbed run bit for bit. The comment of the
file, a zip archive, is its seal.
"""

from __future__ import annotations

import copy
import hashlib
import math
import mmap
import os
import signal
import time
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from core.config.identity import NUMERICS
from core.config.method_code import code_digest
from core.config.result import Measurement
from core.data.encoders import versions
from core.errors import UserError
from core.evaluation.scoring import Candidate
from core.store.files import regular, whole
from core.training.provenance import CODE
from core.training.run import Run

SEAL_BYTES = 64


class TrainingState(NamedTuple):
    """The state of the training loop after `step` steps. `pending` are the losses (scalars) since
    the last development check, `score` is that check's."""

    step: int = 0
    selected: Candidate | None = None
    losses: list[tuple[int, float]] | tuple = ()
    pending: list[Tensor] | tuple = ()
    score: float | None = None


def write_checkpoint(path: Path, content: dict) -> None:
    """Write tensors, numbers and texts, in dicts, lists and tuples. Raises UserError if the disk is
    full or read-only; the old file stays then."""
    with whole(path) as temporary, open(temporary, "w+b") as file:
        try:  # with a path in place of the file, torch would hide the system's errors
            torch.save(tree_map_only(Tensor, lambda tensor: tensor.detach().cpu(), content), file)
        except RuntimeError as error:  # torch's writer fails once more while it closes
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
        file.seek(-2, os.SEEK_END)  # the length of the archive's comment
        file.write(SEAL_BYTES.to_bytes(2, "little"))
        file.write(checkpoint_seal(file, file.tell()))


def read_checkpoint(path: Path) -> dict:
    """The content of the file, tensors as views of it. A damaged file raises an error of some
    kind."""
    with open(regular(path), "rb") as file:
        length = file.seek(0, os.SEEK_END) - SEAL_BYTES
        if length <= 0 or checkpoint_seal(file, length) != file.read():
            raise ValueError("its content does not match its seal")
    return dict(torch.load(str(path), map_location="cpu", weights_only=True, mmap=True))


def checkpoint_seal(file: BinaryIO, length: int) -> bytes:
    """SHA-256 over the first bytes of a file, in hexadecimal digits; the file stands behind these
    bytes."""
    file.flush()
    with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) as content:
        digest = hashlib.sha256(content).hexdigest()
    file.seek(length)
    return digest.encode()


class CheckpointFile:
    """The checkpoint file of one run, read and written by the process that trains it. A new one
    restores the model of an earlier attempt.

    A file that is damaged, or of another run, kind of device, libraries or code of the method, is
    set aside, which the run notes. Without `checkpoint_minutes` an earlier attempt's file is used,
    and none is written.
    """

    def __init__(self, run: Run, model: nn.Module):
        self.device = run.device
        self._note = run.note
        self.rows: list[Measurement] = []  # of the run so far; the job adds to them
        # of earlier attempts
        self.step = 0
        self.earlier_seconds = 0.0
        self.resumed_at: list[int] = []
        self.codes = {CODE}  # of this and earlier attempts
        self.asked = False  # whether the process was asked to end
        self._owner = {
            "run_id": run.id,
            "numerics": NUMERICS,
            "device": self.device.type,
            "libraries": versions(),
            "code of the method": code_digest(run.config.method),
        }
        self._every = (run.execution.checkpoint_minutes or math.inf) * 60  # seconds
        self._began = self._wrote = time.monotonic()
        self._store = run.store
        self._path = run.store.path("checkpoints", run.id)
        self._left: dict | None = None
        if self._path.exists():
            before = copy.deepcopy(model.state_dict())
            try:
                self._take_over(model)
            except Exception as error:  # torch and the unpickler have errors of many kinds
                model.load_state_dict(before)
                run.note(f"starts from nothing, since {self._unfit(error)}")

    def _take_over(self, model: nn.Module) -> None:
        """Restore the model of the earlier attempt, and then what is known of it."""
        content = read_checkpoint(self._path)
        for name, value in self._owner.items():
            if content[name] != value:
                raise ValueError(f"its {name} is another")
        rows = [Measurement(*row) for row in content["rows"]]
        resumed_at = [*content["resumed_at"], content["step"]]
        codes = {*self.codes, *content["codes"]}
        seconds = content["seconds"]
        model.load_state_dict(_on(self.device, content["model"]))
        self.rows = rows
        self.resumed_at = resumed_at
        self.codes = codes
        self.earlier_seconds = seconds
        self.step = content["step"]
        self._left = content

    def restored(self, optimiser: torch.optim.Optimizer) -> TrainingState:
        """Restore the optimiser; the state of the loop. From here on SIGTERM asks for a checkpoint
        before the process ends, if checkpoints are written."""
        self._began = self._wrote = time.monotonic()
        if self._every < math.inf:
            signal.signal(signal.SIGTERM, self._ask)
        if self._left is None:
            return TrainingState()
        # some gigabytes that nobody needs any more
        content = self._left
        self._left = None
        groups = optimiser.state_dict()["param_groups"]
        try:
            moments = _on("cpu", content["optimiser"])
            optimiser.load_state_dict({"state": moments, "param_groups": groups})
            pending = _on(self.device, content["pending"])
            selected = None
            if content["selected"] is not None:
                selected = Candidate(*_on(self.device, content["selected"]))
            return TrainingState(self.step, selected, content["losses"], pending, content["score"])
        except Exception as error:  # by now the model has the weights of the checkpoint
            raise UserError(f"{self._unfit(error)}; give the same command again.") from error

    def _unfit(self, error: Exception) -> str:
        """Set the file aside; why it is of no use."""
        aside = f"{self._path} (now {self._store.set_aside(self._path)})"
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return f"the checkpoint {aside} is of no use: {reason}"

    def due(self) -> bool:
        """Whether a checkpoint is to be written after this step."""
        return self.asked or time.monotonic() - self._wrote >= self._every

    def write(self, at: TrainingState, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Write the state of the run. A full disk costs no more than the checkpoint, which the
        run notes. If the process was asked to end, it ends here."""
        content = {
            **self._owner,
            **at._asdict(),
            "selected": None if at.selected is None else tuple(at.selected),
            "rows": [(*row[:-1], float(row.value)) for row in self.rows],
            "model": dict(model.state_dict()),
            "optimiser": optimiser.state_dict()["state"],
            "resumed_at": self.resumed_at,
            "codes": sorted(self.codes),
            "seconds": self.earlier_seconds + time.monotonic() - self._began,
        }
        try:
            self._store.check_there()
            write_checkpoint(self._path, content)
        except UserError as error:
            self._note(f"no checkpoint at step {at.step}: {error}")
        self._wrote = time.monotonic()
        if self.asked:
            self.close()

    def close(self) -> None:
        """End listening to SIGTERM. If the process was asked to end, it ends as if by the
        signal."""
        if self._every < math.inf:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self.asked:
            os.kill(os.getpid(), signal.SIGTERM)

    def _ask(self, *_) -> None:
        self.asked = True


def _on(device: torch.device | str, content: Any) -> Any:
    """Tensors, however nested, copied from the file's memory to a device."""
    return tree_map_only(Tensor, lambda tensor: tensor.to(device, copy=True), content)
