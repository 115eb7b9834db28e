"""The driver's side of the warm process that forks one child a run (`core.runner.process.nursery`, started by name)."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from core.runner.process import wire
from core.spec.errors import UserError
from core.store import files

POLL = 0.1
PROJECT = Path(__file__).resolve().parents[3]


class Child:
    """One run's process, as the driver sees it. `status` is its exit status (negative: signal), None while it runs or if lost."""

    def __init__(self, nursery: Nursery, number: int):
        self._nursery = nursery
        self._number = number
        self.ended = threading.Event()
        self.pid: int | None = None
        self.status: int | None = None

    def kill(self, number_of_signal: int) -> None:
        """Send a signal to the run's process group. Only while its pipe is open: a dead nursery cannot vouch for the pid."""
        if self._nursery.kill(self._number, number_of_signal) or self.pid is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number_of_signal)


class Nursery:
    """A started nursery. `alive` turns False when it is gone; its unfinished children then count as ended without a status."""

    def __init__(self, job: str, warm: tuple[str, ...], threads: int, log: Path):
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "core.runner.process.nursery", "--socket", str(theirs.fileno()), "--job", job]
        files.bound_log(log)
        try:
            with open(log, "ab") as output:
                self._process = subprocess.Popen(
                    [*command, "--warm", ",".join(warm)],
                    cwd=PROJECT,
                    env=environment(threads),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # Ctrl-C is for the driver alone
                )
        except OSError as error:
            ours.close()
            raise UserError(files.trouble(log, error)) from error
        finally:
            theirs.close()
        self._socket = ours
        self._log = log
        self._lock = threading.Lock()
        self._children: dict[int, Child] = {}
        self._next = 0
        self._broken = ""
        self._ready = threading.Event()
        self.alive = True
        self.threads: int | None = None  # of the nursery once it is ready; more than 1 would not survive a fork
        threading.Thread(target=self._listen, daemon=True, name="nursery").start()

    @property
    def pid(self) -> int:
        """The nursery's own process id."""
        return self._process.pid

    def wait_ready(self, given_up: Callable[[], bool]) -> None:
        """Wait until everything is imported, or it is given up. Raises UserError if the import failed."""
        while not self._ready.wait(POLL):
            if given_up():
                return
        if self._broken or not self.alive:
            raise UserError(
                f"The training code could not be started ({self._broken or 'it was killed'}); "
                f"pip install -r requirements.txt, and see {self._log}."
            )

    def start(self, request: dict, descriptors: tuple[int, ...]) -> Child:
        """Have a child forked for this request; it gets copies of the descriptors. Raises OSError if the nursery is gone."""
        with self._lock:
            if not self.alive:
                raise BrokenPipeError("the nursery is gone")
            self._next += 1
            child = self._children[self._next] = Child(self, self._next)
            try:
                wire.send(self._socket, {**request, "number": self._next}, descriptors)
            except OSError:
                del self._children[self._next]
                self.alive = False
                raise
        return child

    def kill(self, number: int, number_of_signal: int) -> bool:
        """Have one child signalled by the nursery, which knows whether the pid is still the child's; False if it is gone."""
        with self._lock:
            if not self.alive:
                return False
            try:
                wire.send(self._socket, {"kill": number, "signal": number_of_signal})
                return True
            except OSError:
                return False

    def close(self) -> None:
        """Let the nursery end: it ends with its last child, at once if it has not begun any."""
        if not self._ready.is_set():
            self._process.kill()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):  # children that outlive this command save their results all the same
            self._process.wait(timeout=10)

    def _listen(self) -> None:
        while (received := wire.receive(self._socket)) is not None:
            message, _ = received
            if "started" in message:
                self._children[message["started"]].pid = message["pid"]
            elif "ended" in message:
                child = self._children.pop(message["ended"])
                child.status = message["status"]
                child.ended.set()
            else:
                self._broken = message.get("broken", "")
                self.threads = message.get("threads")
                self._ready.set()
        with self._lock:
            self.alive = False
            lost = list(self._children.values())
            self._children.clear()
        self._ready.set()
        for child in lost:
            child.ended.set()


def environment(threads: int) -> dict[str, str]:
    """The nursery's environment: thread counts before any library reads them, and nothing that reaches for the network."""
    return {
        **os.environ,
        **{name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")},
        "OMP_WAIT_POLICY": "passive",  # threads that spin for one another stand still where another process wants their core
        "OPENBLAS_NUM_THREADS": "1",  # numpy's library starts its threads on import, and a fork copies none
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # so does the allocator that pyarrow brings
        # Training frees and takes the same large blocks at every step: kept by the allocator they need no new pages.
        "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
        "MALLOC_TOP_PAD_": str(1 << 28),
        "TOKENIZERS_PARALLELISM": str(threads > 1).lower(),  # a million sentences take 75 s of one thread
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asking for a GPU must not start CUDA before the fork
        "PYTHONUNBUFFERED": "1",
    }
