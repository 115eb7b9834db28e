"""The GPUs and cores of this machine, found without torch, and the slots that they make."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.spec.errors import UserError
from core.spec.scale import SCALES
from core.store import locks

RUN_MEMORY = 8 << 30  # bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2
GPU_RUNS = 2  # runs at once on a GPU, where its free memory holds them
GPU_MEMORY = {"paper": 8 << 30}  # bytes of a GPU for each run, bert-base's at scale paper
SMALL_GPU_MEMORY = 2 << 30  # and a small encoder's at the other scales
QUERY = ("nvidia-smi", "--query-gpu=index,uuid,mig.mode.current,memory.free", "--format=csv,noheader,nounits")
DRIVER = Path("/proc/driver/nvidia/gpus")  # has an entry for each GPU


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its UUID (empty: not known). `free` is its free memory in bytes; None where it cannot be read, or is shared out by MIG."""

    uuid: str
    free: int | None


def visible_gpus(environment: Mapping[str, str] = os.environ) -> dict[str, Gpu]:
    """The GPUs that a process started here would see, by their names in CUDA_VISIBLE_DEVICES. As in the driver, the first name there
    that names no GPU ends the list."""
    present = _present()
    if "CUDA_VISIBLE_DEVICES" not in environment:
        return {str(i): gpu for i, gpu in enumerate(present)}
    visible: dict[str, Gpu] = {}
    for name in map(str.strip, environment["CUDA_VISIBLE_DEVICES"].split(",")):
        if (gpu := _named(name, present)) is None:
            break
        visible[name] = gpu
    return visible


def _named(name: str, present: Sequence[Gpu]) -> Gpu | None:
    """The GPU of an index, of a UUID or of its beginning; a part of one for a name such as MIG-<uuid>. None if there is none."""
    if name.isdecimal():
        return present[int(name)] if int(name) < len(present) else None
    if name.startswith("MIG-") and present:
        return Gpu(name, None)
    same = [gpu for gpu in present if name.startswith("GPU-") and gpu.uuid.startswith(name)]
    unknown = name.startswith("GPU-") and any(not gpu.uuid for gpu in present)
    return same[0] if len(same) == 1 else Gpu(name, None) if unknown else None


def _present() -> tuple[Gpu, ...]:
    """All GPUs of this machine, by index: from nvidia-smi, or without memory and UUIDs from the driver's folder."""
    try:
        listing = subprocess.run(QUERY, capture_output=True, text=True, timeout=20, check=False)
        if listing.returncode == 0:
            rows = [[part.strip() for part in line.split(",")] for line in listing.stdout.splitlines()]
            return tuple(_gpu(*row[1:]) for row in rows if len(row) == 4 and row[0].isdecimal())
    except (OSError, subprocess.TimeoutExpired):
        pass
    try:
        return (Gpu("", None),) * len(list(DRIVER.iterdir()))
    except OSError:
        return ()


def _gpu(uuid: str, mig: str, free: str) -> Gpu:
    """A GPU from nvidia-smi's words; `free` is in MiB, or says why it cannot be read."""
    return Gpu(uuid, int(free) << 20 if free.isdecimal() and mig != "Enabled" else None)


def gpu_slots(scale: str, gpus: Mapping[str, Gpu]) -> tuple[str, ...]:
    """The GPU of each slot, one on each GPU before a second on any. A GPU has two slots, as far as its free memory goes; one if that
    is not known."""
    need = GPU_MEMORY.get(scale, SMALL_GPU_MEMORY)
    return tuple(name for i in range(GPU_RUNS) for name, gpu in gpus.items() if i == 0 or (gpu.free or 0) >= (i + 1) * need)


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
    gpus: tuple[str, ...]  # of each slot, in the order in which slots are tried; none on a CPU
    slots: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All slots of the machine, gpu0.0, … or cpu.0, …, in the order in which they are tried: one run on each GPU before a second on any."""
        wanted = max(self.jobs, self.slots)
        if self.device == "cpu":
            return tuple(f"cpu.{i}" for i in range(wanted))
        different, gpus = tuple(dict.fromkeys(self.gpus)), self.gpus
        if wanted > len(gpus):  # by the user's choice
            gpus = different * -(-wanted // len(different))
        before: Counter[str] = Counter()
        names = []
        for gpu in gpus:
            names.append(f"gpu{gpu}.{before[gpu]}")
            before[gpu] += 1
        return tuple(names)


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` on a machine without a GPU.

    On a GPU two runs at once, as far as its free memory goes. On a CPU a single-threaded run a core, which trains more than one run
    over all cores (1.25 times as much with a 6 x 384 encoder on two); but at scales with real encoders no more than memory holds, and
    then the cores are shared out among the slots. A run has as many threads alone as beside others: another number of threads rounds
    otherwise, and a run would not repeat (in bf16 a score moves by 0.07 points within 20 steps).
    """
    visible = visible_gpus() if device != "cpu" else {}
    if device == "cuda" and not visible:
        raise UserError("--device cuda was asked for but no GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    available = cores()
    if visible:
        gpus = gpu_slots(scale, visible)
        slots, most = len(gpus), GPU_RUNS * len(visible)  # threads must not depend on the memory that is free just now
    else:
        gpus, slots = (), available if SCALES[scale].generated else max(1, min(available, memory() // RUN_MEMORY))
        most = slots
    jobs = jobs or slots
    threads = max(1, available // max(most, jobs))
    return Resources(device="cuda" if visible else "cpu", jobs=jobs, threads=threads, gpus=gpus, slots=slots)


def taken(resources: Resources) -> dict[str, str]:
    """The slots that are held now, each with the name of its holder."""
    paths = {name: locks.slot_folder() / f"{name}.lock" for name in resources.names}
    return {name: locks.holder(path) for name, path in paths.items() if locks.held(path)}


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
        locks.note_holder(descriptor, f"{self._holder} (process {os.getpid()}), {what}")
        gpu = "" if self._resources.device == "cpu" else name.removeprefix("gpu").rpartition(".")[0]
        # An index of ours is nvidia-smi's; one of the user's is meant as CUDA counts in the user's own environment.
        order = {} if "CUDA_VISIBLE_DEVICES" in os.environ else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        return Slot(name, descriptor, {"CUDA_VISIBLE_DEVICES": gpu, **order})

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
