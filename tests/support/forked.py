"""Commands as forks of one process that has imported the command line, which takes a second: real
processes, without that second.

`python forked.py` is that process. It reads requests from its standard input, a socket, and forks
a keeper for each. The keeper forks the command, and reports its process id and its exit status.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MESSAGES = socket.SOCK_SEQPACKET


class Forked:
    """A command that runs; of subprocess.Popen what the tests use."""

    def __init__(self, words: list[str], environment: dict[str, str]):
        self.args = words
        self.returncode: int | None = None
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self._reports, theirs = socket.socketpair(type=MESSAGES)
        request = {"words": words, "environment": environment, "folder": os.getcwd()}
        ends = [out_end, err_end, theirs.fileno()]
        socket.send_fds(server(), [json.dumps(request).encode()], ends)
        theirs.close()
        os.close(out_end)
        os.close(err_end)
        self.stdout = os.fdopen(out)
        self.stderr = os.fdopen(err)
        self.pid = int(self._reports.recv(64))

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status, or minus the signal that killed it."""
        if self.returncode is None:
            if not select.select([self._reports], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(self._reports.recv(64))
            self._reports.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit status if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it prints from now on, once it has ended."""
        with ThreadPoolExecutor() as pool:
            texts = [pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return texts[0].result(), texts[1].result()


@functools.cache
def server() -> socket.socket:
    """The socket to the process that forks, which ends with this one."""
    ours, theirs = socket.socketpair(type=MESSAGES)
    # threads do not live through a fork
    environment = {**os.environ, "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    process = subprocess.Popen([sys.executable, __file__], stdin=theirs, env=environment)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def serve() -> None:
    """Fork a keeper for each request, until nobody can ask any more."""
    import driver

    # what a command imports on its way
    # ruff: noqa: F401
    import core.report.render
    import core.runner.settle
    import tests.support.known_jobs
    import tools.verify

    requests = socket.socket(fileno=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest
    while True:
        request, descriptors, *_ = socket.recv_fds(requests, 1 << 20, 3)
        if not request:
            break
        if os.fork() == 0:
            requests.detach()
            keep(driver.main, json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # keepers that have ended
                pass


def keep(main, request: dict, out: int, err: int, reports: int) -> None:
    """Fork the command, and report what becomes of it."""
    child = os.fork()
    if child == 0:
        os.close(reports)
        os._exit(become(main, request, out, err))
    for descriptor in (out, err):
        os.close(descriptor)
    os.write(reports, f"{child}".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):  # nobody waits for it
        os.write(reports, f"{status}".encode())
    os._exit(0)


def become(main, request: dict, out: int, err: int) -> int:
    """The command itself; its exit status."""
    null = os.open(os.devnull, os.O_RDONLY)
    for place, descriptor in enumerate((null, out, err)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    tempfile.tempdir = None  # it follows from the environment
    status = 1
    try:
        status = main(request["words"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (as an interpreter does)
        traceback.print_exc()
    finally:
        # as at the end of a process: threads, then what was registered
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return status


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
    serve()
