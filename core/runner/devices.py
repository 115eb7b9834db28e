"""The GPUs and cores of this machine, found without torch, and the slots that they make."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import joblib

from core.spec.errors import UserError
from core.spec.scale import SCALES
from core.store import locks

RUN_MEMORY = (
    8 << 30
)  # bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2
OWN_CGROUP, CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
GPU_RUNS = 2  # runs at once on a GPU, where its free memory holds them
GPU_MEMORY = {"paper": 8 << 30}  # bytes of a GPU for each run, bert-base's at scale paper
SMALL_GPU_MEMORY = 2 << 30  # and a small encoder's at the other scales
QUERY = ("nvidia-smi", "--query-gpu=index,uuid,mig.mode.current,memory.free", "--format=csv,noheader,nounits")
DRIVER = Path("/proc/driver/nvidia/gpus")  # has an entry for each GPU


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its UUID (empty: not known). `free` is its free memory in bytes; None where it cannot be read,
    or is shared out by MIG."""

    uuid: str
    free: int | None


def visible_gpus(environment: Mapping[str, str] = os.environ) -> dict[str, Gpu]:
    """The GPUs that a process started here would see, by their names in CUDA_VISIBLE_DEVICES. As in the
    driver, the first name there that names no GPU ends the list."""
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
    """The GPU of an index, of a UUID or of its beginning; a part of one for a name such as MIG-<uuid>. None
    if there is none."""
    if name.isdecimal():
        return present[int(name)] if int(name) < len(present) else None
    if name.startswith("MIG-") and present:
        return Gpu(name, None)
    same = [gpu for gpu in present if name.startswith("GPU-") and gpu.uuid.startswith(name)]
    unknown = name.startswith("GPU-") and any(not gpu.uuid for gpu in present)
    return same[0] if len(same) == 1 else Gpu(name, None) if unknown else None


def _present() -> tuple[Gpu, ...]:
    """All GPUs of this machine, by index: from nvidia-smi, or without memory and UUIDs from the driver's
    folder."""
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
    """The GPU of each slot, one on each GPU before a second on any. A GPU has two slots, as far as its free
    memory goes; one if that is not known."""
    need = GPU_MEMORY.get(scale, SMALL_GPU_MEMORY)
    places = ((i, name, gpu.free or 0) for i in range(GPU_RUNS) for name, gpu in gpus.items())
    return tuple(name for i, name, free in places if i == 0 or free >= (i + 1) * need)


def cores() -> int:
    """The cores that this process may use, by its affinity and its container's quota."""
    return joblib.cpu_count()


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less in a container or a batch job."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    lines = OWN_CGROUP.read_text().splitlines() if OWN_CGROUP.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers in ("", "memory"):  # version 2, version 1
            root, name = CGROUPS / controllers, "memory.limit_in_bytes" if controllers else "memory.max"
            folder = root / path.strip("/")
            for place in (folder, *folder.parents):
                with contextlib.suppress(OSError):  # a container does not see the groups around it
                    limit = (place / name).read_text().strip()
                    limits += [int(limit)] if limit.isdecimal() else []
    return min(limits)


def cache_folder() -> Path:
    """The folder for downloads and other files that can be made again. Raises UserError if the user has no
    home folder."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # a relative one is to be ignored, says the specification of these folders
        return Path(named) / "run_study"
    try:
        return Path.home() / ".cache" / "run_study"
    except RuntimeError as error:
        raise UserError(
            "There is no home folder to keep downloads in; set HOME, or XDG_CACHE_HOME to an absolute folder."
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """How many runs a command trains at once, on which device. `slots` counts the slots of this machine, for
    all commands: `jobs` or more."""

    device: str  # "cpu" or "cuda"
    jobs: int
    threads: int  # of each run
    gpus: tuple[str, ...]  # of each slot, in the order in which slots are tried; none on a CPU
    slots: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All slots, gpu0.0, … or cpu.0, …, in the order in which they are tried: one run on each GPU
        first."""
        wanted = max(self.jobs, self.slots)
        if self.device == "cpu":
            return tuple(f"cpu.{i}" for i in range(wanted))
        different, gpus = tuple(dict.fromkeys(self.gpus)), self.gpus
        if wanted > len(gpus):  # by the user's choice
            gpus = different * -(-wanted // len(different))
        return tuple(f"gpu{gpu}.{gpus[:place].count(gpu)}" for place, gpu in enumerate(gpus))


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` on a machine without a GPU.

    On a GPU two runs at once, as far as its free memory goes. On a CPU a single-threaded run a core, which
    trains more than one run over all cores (1.25 times as much with a 6 x 384 encoder on two); but at scales
    with real encoders no more than memory holds, and then the cores are shared out among the slots. A run has
    as many threads alone as beside others: another number of threads rounds otherwise, and a run would not
    repeat (in bf16 a score moves by 0.07 points within 20 steps).
    """
    visible = visible_gpus() if device != "cpu" else {}
    if device == "cuda" and not visible:
        raise UserError("No GPU is visible for --device cuda; check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    available = cores()
    if visible:
        gpus = gpu_slots(scale, visible)
        # Threads must not depend on the memory that is free just now.
        slots, most = len(gpus), GPU_RUNS * len(visible)
    else:
        held = available if SCALES[scale].generated else memory() // RUN_MEMORY
        gpus, slots = (), max(1, min(available, held))
        most = slots
    jobs = jobs or slots
    threads = max(1, available // max(most, jobs))
    return Resources(device="cuda" if visible else "cpu", jobs=jobs, threads=threads, gpus=gpus, slots=slots)


def slot_folder() -> Path:
    """This user's slots on this machine, the same for every command: not under the results, nor where a batch
    job has temporary files of its own or a cleaner removes what is old."""
    folder = cache_folder() / f"slots-{socket.gethostname()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that may only be read
        folder = Path(tempfile.gettempdir()) / f"run-study-slots-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def slot_environment(slot: str) -> dict[str, str]:
    """What narrows a run to the device of its slot."""
    gpu = slot.removeprefix("gpu").rpartition(".")[0] if slot.startswith("gpu") else ""
    # An index of ours is nvidia-smi's; the user's is meant as CUDA counts in the user's own environment.
    order = {} if "CUDA_VISIBLE_DEVICES" in os.environ else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {"CUDA_VISIBLE_DEVICES": gpu, **order}


def holders(names: Sequence[str], folder: Path) -> str:
    """Who holds these slots, in a sentence for whoever waits."""
    paths = {name: folder / f"{name}.lock" for name in names}
    notes = {name: locks.holder(path) for name, path in paths.items() if locks.held(path)}
    if not notes:
        return "A slot of this machine has just become free."
    by = "; ".join(f"{name} by {note or 'a command that left no name'}" for name, note in notes.items())
    return f"All slots of this machine are taken ({by}); waiting for one."
