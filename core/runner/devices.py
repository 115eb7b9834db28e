"""The GPUs and cores of this machine, found without torch, and the slots that they make."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import joblib

from core.spec.errors import UserError, refusing, say
from core.spec.scale import SCALES

PROJECT = Path(__file__).resolve().parents[2]
# Bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2
# GiB.
RUN_MEMORY = 8 << 30
OWN_CGROUP = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
GPU_RUNS = 2  # runs at once on a GPU, where its free memory holds them
GPU_MEMORY = {"paper": 8 << 30}  # bytes of a GPU for each run, bert-base's at scale paper
SMALL_GPU_MEMORY = 2 << 30  # and a small encoder's at the other scales
QUERY = (
    "nvidia-smi",
    "--query-gpu=uuid,mig.mode.current,memory.free",
    "--format=csv,noheader,nounits",
)
ROW = re.compile(r"(GPU-[^\s,]+), *([^,]*), *([^,]*)")  # of its answer
DRIVER = Path("/proc/driver/nvidia/gpus")  # has an entry for each GPU


def visible_gpus() -> dict[str, int]:
    """The GPUs that a process started here would see, by their names in CUDA_VISIBLE_DEVICES, with
    their free memory in bytes: 0 if it cannot be read, or is shared out by MIG. As in the driver,
    the first name there that names no GPU ends the list."""
    present = _present()
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(len(present)))))
    visible: dict[str, int] = {}
    for name in map(str.strip, names.split(",")):
        free = _free(name, present)
        if free is None:
            break
        visible[name] = free
    return visible


def _free(name: str, present: list[tuple[str, int]]) -> int | None:
    """Free bytes of the GPU with this name in CUDA_VISIBLE_DEVICES; None if no GPU has the name."""
    if name.isdecimal():
        return present[int(name)][1] if int(name) < len(present) else None
    if name.startswith("MIG-"):  # nvidia-smi does not list the parts of a GPU here
        return 0 if any(free == 0 for _, free in present) else None
    for uuid, free in present:
        if name.startswith("GPU-") and (uuid or name).startswith(name):
            return free
    return None


def _present() -> list[tuple[str, int]]:
    """UUID and free bytes of all GPUs of this machine, by index: the rows of nvidia-smi that are a
    GPU's, or without nvidia-smi, and without UUIDs, the driver's folder."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listing = subprocess.run(
            QUERY, capture_output=True, encoding="utf-8", errors="replace", timeout=20, check=True
        )
        gpus = []
        for line in filter(str.strip, listing.stdout.splitlines()):
            if (row := ROW.fullmatch(line.strip())) is None:
                _pass_over(line)
            else:
                known = row[3].isdecimal() and row[2] != "Enabled"
                gpus.append((row[1], int(row[3]) << 20 if known else 0))
        return gpus
    return [("", 0)] * len(list(DRIVER.iterdir())) if DRIVER.is_dir() else []


@functools.cache  # a command asks several times
def _pass_over(line: str) -> None:
    say(f"nvidia-smi printed {line[:80]!r}, which is no GPU; the line is not used.")


@functools.cache  # takes seconds
def check_torch(device: str) -> None:
    """Raise UserError if a GPU is wanted and visible, but torch cannot use it."""
    if device == "cpu" or not visible_gpus():
        return
    words = [sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"]
    cause = "it gives no answer"
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            words,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )
        if done.returncode == 0:
            return
        cause = (done.stderr.splitlines() or [f"exit status {done.returncode}"])[-1].strip()
    raise UserError(
        f"torch cannot use the GPU that nvidia-smi lists ({cause[:200]}); install a build of torch "
        "for its "
        "driver (https://pytorch.org/get-started/locally), or give --device cpu."
    )


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less in a container or a batch
    job."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    lines = OWN_CGROUP.read_text().splitlines() if OWN_CGROUP.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers in ("", "memory"):  # version 2, version 1
            root = CGROUPS / controllers
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            folder = root / path.strip("/")
            for place in (folder, *folder.parents):
                # groups around a container; no limit
                with contextlib.suppress(OSError, ValueError):
                    limits.append(int((place / name).read_text()))
    return min(limits)


def cache_folder() -> Path:
    """The folder for downloads and other files that can be made again: a temporary one where the
    user's own cannot be written, such as with another user's HOME, or with none. Raises UserError
    if the temporary one may be another user's, or written by others."""
    # a relative one is to be ignored, says its specification
    named = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(named if os.path.isabs(named) else os.path.expanduser("~/.cache")) / "run_study"
    there = next(place for place in (folder, *folder.parents) if os.path.exists(place))
    if folder.is_absolute() and os.access(there, os.W_OK | os.X_OK):
        return folder
    folder = Path(tempfile.gettempdir()) / f"run_study-{os.getuid()}"
    hint = "set XDG_CACHE_HOME to a folder of yours"
    with refusing(f"The cache {folder} cannot be used", hint, OSError):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        about = folder.lstat()
    if about.st_uid != os.getuid() or about.st_mode != stat.S_IFDIR | 0o700:
        raise UserError(f"The cache {folder} is no folder of yours with mode 700; {hint}.")
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """How many runs a command trains at once, on which device. `names` are the slots of this
    machine, for all commands, in the order in which they are tried: gpu0.0, … or cpu.0, …"""

    device: str  # "cpu" or "cuda"
    jobs: int
    threads: int  # of each run
    names: tuple[str, ...]
    gpus: int = 0


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` on a machine without a GPU.

    On a GPU two runs at once, as far as its free memory goes, and one on each GPU first. On a CPU a
    single-threaded run a core, which trains more than one run over all cores (1.25 times as much
    with a 6 x 384 encoder on two); but at scales with real encoders no more than memory holds, and
    then the cores are shared out among the slots. A run has as many threads alone as beside others:
    another number of threads rounds otherwise, and a run would not repeat (in bf16 a score moves by
    0.07 points within 20 steps). So threads do not depend on the memory of a GPU that is free just
    now.
    """
    visible = visible_gpus() if device != "cpu" else {}
    no_gpu = "No GPU is visible for --device cuda; check nvidia-smi and CUDA_VISIBLE_DEVICES."
    if device == "cuda" and not visible:
        raise UserError(no_gpu)
    cores = joblib.cpu_count()  # by affinity and the container's quota
    if visible:
        need = GPU_MEMORY.get(scale, SMALL_GPU_MEMORY)
        each = {gpu: max(1, min(GPU_RUNS, free // need)) for gpu, free in visible.items()}
        slots = sum(each.values())
        most = GPU_RUNS * len(visible)
        if jobs and jobs > slots:
            each = dict.fromkeys(visible, -(-jobs // len(visible)))
        rounds = range(max(each.values()))
        names = tuple(
            f"gpu{gpu}.{place}" for place in rounds for gpu, count in each.items() if place < count
        )
    else:
        slots = most = (
            cores if SCALES[scale].generated else max(1, min(cores, memory() // RUN_MEMORY))
        )
        names = tuple(f"cpu.{place}" for place in range(max(slots, jobs or 0)))
    threads = max(1, cores // max(most, jobs or slots))
    kind = "cuda" if visible else "cpu"
    return Resources(
        device=kind, jobs=jobs or slots, threads=threads, names=names, gpus=len(visible)
    )


def slot_folder() -> Path:
    """This user's slots on this machine, the same for every command: not under the results, nor
    where a batch job has temporary files of its own or a cleaner removes what is old."""
    return cache_folder() / f"slots-{socket.gethostname()}"


def slot_environment(slot: str) -> dict[str, str]:
    """What narrows a run to the device of its slot."""
    gpu = slot.removeprefix("gpu").rpartition(".")[0] if slot.startswith("gpu") else ""
    # An index of ours is nvidia-smi's; the user's is meant as CUDA counts in the user's own
    # environment.
    order = {} if "CUDA_VISIBLE_DEVICES" in os.environ else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    return {"CUDA_VISIBLE_DEVICES": gpu, **order}
