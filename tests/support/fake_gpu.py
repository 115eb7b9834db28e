"""A GPU that is not there: the tools of its driver in a folder of their own, with MPS, and what
daemons of MPS did."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from places import SUPPORT

UUID = "GPU-aa01"


class FakeGPU:
    """One GPU with 80 GB, whose tools lie in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "tools").mkdir()
        self.lists(f"{UUID}, Disabled, 80000")
        self.tool(
            "nvidia-cuda-mps-control", f"exec {sys.executable} -I -S {SUPPORT}/fake_mps.py $1"
        )
        self.environment = {
            "PATH": f"{folder}/tools{os.pathsep}{os.environ['PATH']}",
            "FAKE_MPS": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "CUDA_VISIBLE_DEVICES": "0",
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        }

    def tool(self, name: str, script: str) -> None:
        """Make a tool of the driver."""
        path = self.folder / "tools" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def lists(self, *gpus: str) -> None:
        """Have nvidia-smi list these: UUID, MIG mode and free MiB of each."""
        self.tool("nvidia-smi", "\n".join(["cat <<'END'", *gpus, "END"]))

    def notes(self) -> list[list[str]]:
        """What daemons did, in order, with their pid."""
        file = self.folder / "notes"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def said(self) -> list[str]:
        """The same, without the pid."""
        return [note[0] for note in self.notes()]


@contextlib.contextmanager
def fake_gpu(monkeypatch) -> Iterator[FakeGPU]:
    """A GPU as this process sees it within this context; its daemons end with it."""
    # pytest's folders have too long names for a socket
    with tempfile.TemporaryDirectory(prefix="m-") as place:
        gpu = FakeGPU(Path(place))
        for name, value in gpu.environment.items():
            monkeypatch.setenv(name, value)
        for name in ("CUDA_MPS_PIPE_DIRECTORY", "RUN_STUDY_MPS", "SLURM_JOB_ID"):
            monkeypatch.delenv(name, raising=False)
        yield gpu
        ended = {pid for what, pid, *_ in gpu.notes() if what == "quit"}
        for what, pid, *_ in gpu.notes():
            if what == "start" and pid not in ended:
                os.kill(int(pid), signal.SIGKILL)
