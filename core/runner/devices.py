"""The GPUs and cores of this machine, found without torch, and the slots that they make."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.spec.errors import UserError
from core.spec.scale import SCALES
from core.store import locks

RUN_MEMORY = 8 << 30  # bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2


def visible_gpus(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The GPUs that a process started here would see, as CUDA_VISIBLE_DEVICES names them."""
    present = _present()
    if "CUDA_VISIBLE_DEVICES" not in environment:
        return tuple(str(i) for i in range(present))
    named = [name.strip() for name in environment["CUDA_VISIBLE_DEVICES"].split(",")]
    wrong = [place for place, name in enumerate(named) if name == "-1" or (name.isdecimal() and int(name) >= present)]
    kept = named[: wrong[0]] if wrong else named  # as the driver reads it: nothing from the first that is none
    return tuple(dict.fromkeys(name for name in kept if name)) if present else ()


def _present() -> int:
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=False)
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
    """How many runs a command trains at once, on which device. `slots` counts the slots of this machine, for all commands: `jobs` or
    more."""

    device: str  # "cpu" or "cuda"
    jobs: int
    threads: int  # of each run
    gpus: tuple[str, ...]
    slots: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All slots of the machine, gpu0.0, … or cpu.0, …, in the order in which they are tried: one run on each GPU before a second on any."""
        wanted = max(self.jobs, self.slots)
        if self.device == "cpu":
            return tuple(f"cpu.{i}" for i in range(wanted))
        return tuple(f"gpu{gpu}.{i}" for i in range(-(-wanted // len(self.gpus))) for gpu in self.gpus)


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` on a machine without a GPU.

    On GPUs one run each. On a CPU a single-threaded run a core, which trains more than one run over all cores (1.25 times as much
    with a 6 x 384 encoder on two); but at scales with real encoders no more than memory holds, and then the cores are shared out
    among the slots. A run has as many threads alone as beside others: another number of threads rounds otherwise, and a run would
    not repeat (in bf16 a score moves by 0.07 points within 20 steps).
    """
    gpus = visible_gpus() if device != "cpu" else ()
    if device == "cuda" and not gpus:
        raise UserError("--device cuda was asked for but no GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    available = cores()
    slots = len(gpus) or (available if SCALES[scale].generated else max(1, min(available, memory() // RUN_MEMORY)))
    jobs = jobs or slots
    threads = max(1, available // max(slots, jobs))
    return Resources(device="cuda" if gpus else "cpu", jobs=jobs, threads=threads, gpus=gpus, slots=slots)


def taken(resources: Resources) -> dict[str, str]:
    """The slots that are held now, each with the name of its holder."""
    paths = {name: locks.slot_folder() / f"{name}.lock" for name in resources.names}
    return {name: locks.said(path) for name, path in paths.items() if locks.held(path)}


@dataclass(frozen=True, slots=True)
class Slot:
    """A held slot: `Slots.give_back` lets it go; `environment` narrows the run to its device."""

    name: str
    descriptor: int
    environment: dict[str, str]


class Slots:
    """The slots of this machine, shared with every other command of the same user; `jobs` of them at once for this command.

    `holder` says who this command is, for those who wait.
    """

    def __init__(self, resources: Resources, holder: str = ""):
        self._resources = resources
        self._folder = locks.slot_folder()
        self._holder = holder
        self._lock = threading.Lock()
        self._own = 0

    def take(self, what: str = "") -> Slot | None:
        """A free slot for this run, or None if all are taken or this command has its share."""
        with self._lock:
            found = locks.take_slot(self._resources.names, self._folder) if self._own < self._resources.jobs else None
            if found is None:
                return None
            self._own += 1
        name, descriptor = found
        locks.say(descriptor, f"{self._holder} (process {os.getpid()}), {what}")
        gpu = "" if self._resources.device == "cpu" else name.removeprefix("gpu").rpartition(".")[0]
        return Slot(name, descriptor, {"CUDA_VISIBLE_DEVICES": gpu})

    def give_back(self, slot: Slot) -> None:
        """Let a slot go; a child that has a copy of its descriptor goes on holding it."""
        locks.release(slot.descriptor)
        with self._lock:
            self._own -= 1

    def full(self) -> str:
        """Who holds the slots, in a sentence for whoever waits."""
        if self._own >= self._resources.jobs:
            return f"This command has its {self._resources.jobs} runs going; waiting for one of them to end."
        holders = taken(self._resources)
        if not holders:
            return "A slot of this machine has just become free."
        mine = f"{self._holder} (process {os.getpid()})"
        said = "; ".join(
            f"{name} by {'this command' if who.startswith(mine) else who or 'a command that left no name'}" for name, who in holders.items()
        )
        return f"All slots of this machine are taken ({said}); waiting for one."
