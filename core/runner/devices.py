"""What this machine can train on, found without torch: GPUs, cores, and the slots made of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.store import locks
from core.spec.errors import UserError

RUN_MEMORY = 8 << 30  # bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2


def visible_gpus(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The GPUs that a process started here would see, as CUDA_VISIBLE_DEVICES names them."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        names = [name.strip() for name in environment["CUDA_VISIBLE_DEVICES"].split(",")]
        if "-1" in names:
            names = names[: names.index("-1")]  # as the driver reads it: nothing from there on
        return tuple(name for name in names if name) if _present() else ()
    return tuple(str(i) for i in range(_present()))


def _present() -> int:
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20)
        if listing.returncode == 0:
            return sum(line.startswith("GPU ") for line in listing.stdout.splitlines())
    except (OSError, subprocess.TimeoutExpired):
        pass
    try:
        return len(list(Path("/proc/driver/nvidia/gpus").iterdir()))
    except OSError:
        return 0


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """How many runs go at once and with what. `names` are this machine's slots: gpu0.0, … or cpu.0, …"""

    device: str  # "cpu" or "cuda"
    jobs: int
    threads: int  # of each run
    gpus: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The slots, in the order in which they are tried: one run on each GPU before a second on any."""
        if self.device == "cpu":
            return tuple(f"cpu.{i}" for i in range(self.jobs))
        each = -(-self.jobs // len(self.gpus))
        return tuple(f"gpu{gpu}.{i}" for i in range(each) for gpu in self.gpus)[: self.jobs]


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` where there is no GPU.

    On GPUs one run each. On a CPU a single-threaded run a core, which trains more than one run over all cores (1.25 times as much
    with a 6 x 384 encoder on two); but at scales with real encoders no more than memory holds, and then cores are shared out.
    """
    gpus = visible_gpus() if device != "cpu" else ()
    if device == "cuda" and not gpus:
        raise UserError("--device cuda was asked for but no GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    available = cores()
    if gpus:
        jobs = jobs or len(gpus)
        return Resources(device="cuda", jobs=jobs, threads=max(1, available // jobs), gpus=gpus)
    jobs = jobs or (available if scale == "demo" else max(1, min(available, memory() // RUN_MEMORY)))
    threads = 1 if scale == "demo" else max(1, available // jobs)
    return Resources(device="cpu", jobs=jobs, threads=threads, gpus=())


@dataclass(frozen=True, slots=True)
class Slot:
    """A held slot: release `descriptor` to give it back; `environment` narrows the run to its device."""

    name: str
    descriptor: int
    environment: dict[str, str]


class Slots:
    """The slots of this machine that a command may use, shared with every other command of the same user."""

    def __init__(self, resources: Resources):
        self._resources = resources
        self._folder = locks.slot_folder()

    def take(self) -> Slot | None:
        """A free slot, or None if all are taken."""
        taken = locks.take_slot(self._resources.names, self._folder)
        if taken is None:
            return None
        name, descriptor = taken
        if self._resources.device == "cpu":
            return Slot(name, descriptor, {"CUDA_VISIBLE_DEVICES": ""})
        gpu = name.removeprefix("gpu").rpartition(".")[0]
        return Slot(name, descriptor, {"CUDA_VISIBLE_DEVICES": gpu})
