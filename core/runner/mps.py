"""NVIDIA's MPS: a daemon that lets the runs on a GPU compute side by side instead of in turns.

    <cache>/mps/<name>/         the pipes of a daemon, its logs and what it printed
    <cache>/mps/<name>.gate     a lock: who holds it starts or ends the daemon
    <cache>/mps/<name>.users    a lock that commands, warm processes and runs share

If the cache's path is too long for a socket, they lie where temporary files go. A daemon that the
user or Slurm started is used and left alone. The card's settings stay as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError, refusing, say
from core.runner.devices import MPS_CONTROL, cache_folder, temporary_folder
from core.store import locks

PIPES = "CUDA_MPS_PIPE_DIRECTORY"
LOGS = "CUDA_MPS_LOG_DIRECTORY"
SHARE_VARIABLE = "RUN_STUDY_MPS_SHARE"  # the descriptor that a warm process inherits
DEFAULT_PIPES = Path("/tmp/nvidia-mps")  # where CUDA looks without PIPES
LONGEST_SOCKET = 107  # bytes of a path of a socket on Linux
CONTROL_SOCKET = "control"
SOCKET = "control_privileged"  # the longest name that a daemon gives a socket
CONTEXT_PATIENCE = 30.0  # seconds that a CUDA context has, with the start of a server
DAEMON_PATIENCE = 30.0  # seconds that a daemon has to answer, or to end
START = 10.0  # seconds after its start until it answers
# makes a CUDA context, and prints CUDA's error or 0
CONTEXT = (sys.executable, str(Path(__file__).with_name("cuda_context.py")))
NO_MPS = "runs share GPUs without it"


@dataclass(frozen=True, kw_only=True)
class Share:
    """The use that a process makes of a daemon: while somebody holds the share, the daemon stays.

    Without a folder the daemon is the user's. `uuids` are GPUs by their names in
    CUDA_VISIBLE_DEVICES: the daemon numbers GPUs anew, and a UUID means the same to everybody."""

    folder: Path | None = None
    descriptor: int = -1
    uuids: Mapping[str, str]

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What a child must inherit to hold the share, too."""
        return () if self.folder is None else (self.descriptor,)

    @property
    def variables(self) -> dict[str, str]:
        """What a child's environment must say to use the daemon."""
        if self.folder is None:
            return {}
        return {**_places(self.folder), SHARE_VARIABLE: str(self.descriptor)}

    def leave(self) -> None:
        """Give the share up, and end the daemon if nobody else uses it."""
        if self.folder is None:
            return
        with locks.waiting(_daemon_lock(self.folder, "gate"), "starting or ending MPS"):
            os.close(self.descriptor)
            alone = locks.hold(_daemon_lock(self.folder, "users"))
            if alone is not None:
                _end(self.folder)
                os.close(alone)


def join(uuids: Mapping[str, str]) -> Share | None:
    """A share in the user's daemon, or else in our own for these GPUs, which is started if it is
    not there. None if there is no daemon; a sentence says why."""
    try:
        if os.environ.get(PIPES):
            _check_users_own(os.environ[PIPES])
            return Share(uuids={})
        if DEFAULT_PIPES.is_dir() and _status(DEFAULT_PIPES) == 0:
            return Share(uuids={})
        return own(uuids)
    except UserError as error:
        say(str(error))
        return None


def inherited() -> Share | None:
    """The share that a warm process inherited from its command, if it did."""
    descriptor = os.environ.pop(SHARE_VARIABLE, None)
    if descriptor is None:
        return None
    return Share(folder=Path(os.environ[PIPES]), descriptor=int(descriptor), uuids={})


def end_stale() -> None:
    """End the daemons of this machine that nobody uses any more, such as after a kill -9."""
    if shutil.which(MPS_CONTROL) is None:
        return
    with contextlib.suppress(UserError, OSError):  # a cache that cannot be used has no daemons
        for folder in _root().glob(f"{_host()}*/"):
            _end_if_stale(folder)


def _end_if_stale(folder: Path) -> None:
    gate = locks.hold(_daemon_lock(folder, "gate"))
    if gate is None:  # it is being started or ended just now
        return
    alone = locks.hold(_daemon_lock(folder, "users"))
    if alone is not None:
        _end(folder)
        os.close(alone)
    os.close(gate)


def _check_users_own(pipes: str) -> None:
    """Raise UserError if there is no daemon where the user's variable says. One of root may have a
    socket and take no commands of others."""
    if not (Path(pipes) / CONTROL_SOCKET).is_socket() and _status(Path(pipes)) != 0:
        raise UserError(
            f"There is no MPS daemon at {PIPES}={pipes}, so {NO_MPS}; start one there or unset "
            "the variable."
        )


def own(uuids: Mapping[str, str]) -> Share:
    """A share in our own daemon for these GPUs. Raises UserError if it does not start."""
    if not uuids:
        raise UserError(
            f"MPS is not started, so {NO_MPS}: CUDA may number these GPUs otherwise than "
            "nvidia-smi; set CUDA_DEVICE_ORDER=PCI_BUS_ID or name GPUs by their UUIDs."
        )
    folder = _root() / _daemon_name(uuids)
    if not _fits(folder):
        raise UserError(
            f"MPS is not started, so {NO_MPS}: the path {folder} is too long for a socket; set "
            "XDG_CACHE_HOME to a shorter one."
        )
    with locks.waiting(_daemon_lock(folder, "gate"), "starting or ending MPS"):
        status = _status(folder)
        if status is None:
            raise UserError(f"{MPS_CONTROL} gives no answer, so {NO_MPS}; mend it.")
        alone = locks.hold(_daemon_lock(folder, "users"))
        try:
            if alone is not None:
                _end(folder)  # a stale one, if any
            if alone is not None or status != 0:
                _start_daemon(folder, uuids)
        finally:
            if alone is not None:
                os.close(alone)
        descriptor = locks.hold(_daemon_lock(folder, "users"), shared=True)
    if descriptor is None:  # somebody ends it without the gate
        raise UserError(f"MPS could not be shared, so {NO_MPS}.")
    return Share(folder=folder, descriptor=descriptor, uuids=uuids)


def _root() -> Path:
    """Where daemons have their folders."""
    root = cache_folder() / "mps"
    if _fits(root / _daemon_name({})):  # all names are as long
        return root
    return temporary_folder() / "mps"


def _fits(folder: Path) -> bool:
    """Whether sockets can be made in a folder."""
    return len(os.fsencode(folder / SOCKET)) <= LONGEST_SOCKET


def _daemon_name(uuids: Mapping[str, str]) -> str:
    """The name of the daemon for these GPUs on this machine. A batch job has its own, since its end
    kills what it started."""
    key = json.dumps([sorted(uuids.values()), os.environ.get("SLURM_JOB_ID")])
    return _host() + hashlib.sha256(key.encode()).hexdigest()[:8]


def _host() -> str:
    """How the names of this machine's daemons begin: machines may share a cache."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]


def _daemon_lock(folder: Path, what: str) -> Path:
    return folder.with_name(f"{folder.name}.{what}")


def _places(folder: Path) -> dict[str, str]:
    return {PIPES: str(folder), LOGS: str(folder / "log")}


def _start_daemon(folder: Path, uuids: Mapping[str, str]) -> None:
    """Start a daemon that has these GPUs. Raises UserError."""
    printed = folder / "start.log"
    hint = NO_MPS
    with refusing("MPS did not start", hint, OSError, subprocess.SubprocessError):
        (folder / "log").mkdir(mode=0o700, parents=True, exist_ok=True)
        visible = {"CUDA_VISIBLE_DEVICES": ",".join(dict.fromkeys(uuids.values()))}
        # into a file: the daemon would keep a pipe open
        with open(printed, "wb") as output:
            done = subprocess.run(
                [MPS_CONTROL, "-d"],
                env={**os.environ, **visible, **_places(folder)},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=DAEMON_PATIENCE,
                start_new_session=True,  # Ctrl-C is for the command alone
                check=False,
            )
        due = time.monotonic() + START
        while done.returncode == 0 and time.monotonic() < due:
            if _status(folder) == 0:
                _check_context(folder, visible)
                return
            time.sleep(0.1)
        lines = printed.read_text(errors="replace").split("\n")
    cause = " ".join(filter(str.strip, lines)).rstrip(".")[:200]
    if not cause:
        cause = f"exit status {done.returncode}" if done.returncode else "it does not answer"
    _end(folder)
    raise UserError(f"MPS did not start ({cause}); {NO_MPS}.")


def _check_context(folder: Path, visible: Mapping[str, str]) -> None:
    """End the daemon and raise UserError if no process can use a GPU through it: a container may
    let a daemon start and keep others from it."""
    error = ""
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            CONTEXT,
            env={**os.environ, **visible, **_places(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=CONTEXT_PATIENCE,
            check=False,
            text=True,
        )
        error = done.stdout.strip()
    if error != "0":
        _end(folder)
        raise UserError(
            "MPS started, but no process can use a GPU through it (CUDA's error "
            f"{error or 'is unknown'}); {NO_MPS}."
        )


def _end(folder: Path) -> None:
    """End the daemon of this folder, if there is one, and remove the folder."""
    if not folder.is_dir():
        return
    if _status(folder, "quit") is None:
        say(
            f"The MPS daemon of {folder} does not end; end it yourself: echo quit | "
            f"{PIPES}={folder} {MPS_CONTROL}"
        )
        return
    shutil.rmtree(folder, ignore_errors=True)


def _status(folder: Path, command: str = "get_default_active_thread_percentage") -> int | None:
    """The exit status of a command to the daemon of this folder: 0 if it answered, None if it took
    too long or NVIDIA's program cannot be run."""
    try:
        done = subprocess.run(
            [MPS_CONTROL],
            env={**os.environ, **_places(folder)},
            input=f"{command}\n".encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DAEMON_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode
