"""The GPUs and cores of this machine, found without torch, and the slots that they make."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import joblib

from core.config.scale import SCALES
from core.config.section import frozen
from core.errors import UserError, refusing

# Bytes that a run with a real encoder may need on a CPU; a 6 x 384 one in batches of 256 took 7.2
# GiB.
RUN_MEMORY = 8 << 30
OWN_CGROUP = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
GPU_RUNS = 2  # runs at once on a GPU, where its free memory holds them
MPS_RUNS = {"mini": 8}  # and with NVIDIA's MPS, as many as were measured to help
MPS_PIPES = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
GPU_MEMORY = {"paper": 8 << 30}  # bytes of a GPU for each run, bert-base's at scale paper
SMALL_GPU_MEMORY = 2 << 30  # and a small encoder's at the other scales
QUERY = (
    "nvidia-smi",
    "--query-gpu=uuid,mig.mode.current,memory.free",
    "--format=csv,noheader,nounits",
)
ROW = re.compile(r"(GPU-[^\s,]+), *([^,]*), *([^,]*)")  # of its answer
NO_GPU = "torch cannot use the GPU that nvidia-smi lists"
MEND_GPU = (
    "install a build of torch for its driver (https://pytorch.org/get-started/locally), or give "
    "--device cpu"
)
DRIVER = Path("/proc/driver/nvidia/gpus")  # has an entry for each GPU


def visible_gpus() -> dict[str, tuple[str, int]]:
    """The GPUs that a process started here would see, by their names in CUDA_VISIBLE_DEVICES, each
    with one name for its index and its UUID, and its free memory in bytes: 0 if it cannot be read,
    or is shared out by MIG. As in the driver, the first name there that names no GPU ends the
    list."""
    present = _present()
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(len(present)))))
    visible: dict[str, tuple[str, int]] = {}
    for name in map(str.strip, names.split(",")):
        matches = []
        for index, (uuid, free) in enumerate(present):
            named = name.startswith("GPU-") and (uuid or name).startswith(name)
            if named or name == str(index):
                matches.append((uuid or name, free))
            elif free == 0 and name.startswith("MIG-"):  # nvidia-smi does not list a GPU's parts
                matches.append((name, free))
        if not matches:
            break
        visible[name] = matches[0]
    return visible


def _present() -> list[tuple[str, int]]:
    """UUID and free bytes of all GPUs of this machine, by index: the rows of nvidia-smi that are a
    GPU's, or without nvidia-smi, and without UUIDs, the driver's folder."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listing = subprocess.run(
            QUERY, capture_output=True, encoding="utf-8", errors="replace", timeout=20, check=True
        )
        gpus = []
        for line in filter(str.strip, listing.stdout.splitlines()):
            row = ROW.fullmatch(line.strip())
            if row is None:
                continue  # a warning
            free = 0
            if row[3].isdecimal() and row[2] != "Enabled":
                free = int(row[3]) << 20
            gpus.append((row[1], free))
        return gpus
    if not DRIVER.is_dir():
        return []
    return [("", 0)] * len(list(DRIVER.iterdir()))


def memory() -> int:
    """Bytes of memory that this process may use: the machine's, or less in a container or a batch
    job."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    text = OWN_CGROUP.read_text() if OWN_CGROUP.exists() else ""
    names = {"": "memory.max", "memory": "memory.limit_in_bytes"}  # version 2, version 1
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in names:
            continue
        folder = CGROUPS / controllers / path.strip("/")
        for place in (folder, *folder.parents):
            # groups around a container; no limit
            with contextlib.suppress(OSError, ValueError):
                limits.append(int((place / names[controllers]).read_text()))
    return min(limits)


def cache_folder() -> Path:
    """The folder for downloads and other files that can be made again: a temporary one where the
    user's own cannot be written, such as with another user's HOME, or with none. Raises
    UserError."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):  # a relative one is to be ignored, says its specification
        caches = os.path.expanduser("~/.cache")
    folder = Path(caches) / "run_study"
    there = next(place for place in (folder, *folder.parents) if os.path.exists(place))
    if folder.is_absolute() and os.access(there, os.W_OK | os.X_OK):
        return folder

    # Our folder among the temporary files, unless others may have made or may write it
    folder = Path(tempfile.gettempdir()) / f"run_study-{os.getuid()}"
    hint = "set XDG_CACHE_HOME to a folder of yours"
    with refusing(f"The cache {folder} cannot be used", hint, OSError):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        about = folder.lstat()
    if about.st_uid != os.getuid() or about.st_mode != stat.S_IFDIR | 0o700:
        raise UserError(f"The cache {folder} is no folder of yours with mode 700; {hint}.")
    return folder


@frozen
class Resources:
    """How many runs a command trains at once, on which device. `slots` are those of this machine,
    for all commands, in the order in which they are tried, such as GPU-….0 or cpu.0, each with its
    GPU's name in CUDA_VISIBLE_DEVICES. With `mps` runs share a GPU through NVIDIA's MPS."""

    device: str  # "cpu" or "cuda"
    jobs: int
    threads: int  # of each run
    slots: dict[str, str]
    gpus: int = 0
    mps: bool = False

    @property
    def gpu_runs(self) -> int:
        """How many runs share a GPU at most; 1 without a GPU."""
        return -(-self.jobs // self.gpus) if self.gpus else 1


def resources(scale: str, device: str, jobs: int | None) -> Resources:
    """What a command at this scale uses. Raises UserError for `cuda` on a machine without a GPU.

    On a GPU two runs at once, or as many as gain by NVIDIA's MPS, as far as its free memory goes,
    and one on each GPU first. MPS is used where a user or Slurm has started its daemon.

    On a CPU a single-threaded run a core, which trains more than one run over all cores (1.25 times
    as much with a 6 x 384 encoder on two); but at scales with real encoders no more than memory
    holds, and then the cores are shared out among the slots. A run has as many threads alone as
    beside others: another number of threads rounds otherwise, and a run would not repeat (in bf16 a
    score moves by 0.07 points within 20 steps). So threads do not depend on the memory of a GPU
    that is free just now.
    """
    visible: dict[str, tuple[str, int]] = {}
    mps = False
    if device != "cpu":
        visible = visible_gpus()
    if device == "cuda" and not visible:
        raise UserError(
            "No GPU is visible for --device cuda; check nvidia-smi and CUDA_VISIBLE_DEVICES."
        )
    cores = joblib.cpu_count()  # by affinity and the container's quota
    names: dict[str, str] = {}
    if visible:
        kind = "cuda"
        mps = mps_daemon()
        runs = MPS_RUNS.get(scale, GPU_RUNS) if mps else GPU_RUNS
        most = runs * len(visible)
        need = GPU_MEMORY.get(scale, SMALL_GPU_MEMORY)
        by_gpu = {gpu: max(1, min(runs, free // need)) for gpu, (_, free) in visible.items()}
        slots = sum(by_gpu.values())
        if jobs and jobs > slots:
            by_gpu = dict.fromkeys(visible, -(-jobs // len(visible)))
        for place in range(max(by_gpu.values())):
            for gpu, count in by_gpu.items():
                if place < count:
                    names[f"{visible[gpu][0]}.{place}"] = gpu
    else:
        kind = "cpu"
        slots = cores
        if not SCALES[scale].generated:
            slots = max(1, min(cores, memory() // RUN_MEMORY))
        most = slots
        names = {f"cpu.{place}": "" for place in range(max(slots, jobs or 0))}
    return Resources(
        device=kind,
        jobs=jobs or slots,
        threads=max(1, cores // max(most, jobs or slots)),
        slots=names,
        gpus=len(visible),
        mps=mps and (jobs or slots) > len(visible),
    )


def mps_daemon() -> bool:
    """Whether the daemon of NVIDIA's MPS is there."""
    return (MPS_PIPES / "control").is_socket()


def slot_folder() -> Path:
    """This user's slots on this machine, the same for every command: not under the results, nor
    where a batch job has temporary files of its own or a cleaner removes what is old."""
    return cache_folder() / f"slots-{socket.gethostname()}"


def narrowed(gpu: str) -> dict[str, str]:
    """The environment that narrows a run to the GPU of its slot, if any."""
    # An index of ours is nvidia-smi's; the user's is meant as CUDA counts in the user's own
    # environment.
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return {"CUDA_VISIBLE_DEVICES": gpu}
    return {"CUDA_VISIBLE_DEVICES": gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
