"""The warm process: imports the training code once, then forks one child a run.

Started by name (`python -m core.runner.process.nursery`), never imported by the runner. It computes nothing itself and starts no
thread, since a forked thread pool is a dead one. A child keeps the run's claim and slot for as long as it lives; when
the driver goes, the nursery takes no more requests, waits for its children and ends. It is also who keeps their logs short,
since it lives as long as they do.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable

import pandas  # noqa: F401  (pyarrow imports it at the first array, which would be once a child)

from core.runner.process import wire
from core.runner.process.child import live
from core.store import files

WATCH = 0.25  # seconds between looks at the length of the children's logs


def main(argv: list[str]) -> int:
    """Serve until the driver is gone and the last child has ended."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--job", required=True, help="module:function that trains one run")
    parser.add_argument("--warm", default="", help="modules to import and functions to call beforehand, separated by commas")
    options = parser.parse_args(argv)
    sock = socket.socket(fileno=options.socket)
    sock.set_inheritable(False)
    try:
        job = named(options.job)
        for name in filter(None, options.warm.split(",")):
            if ":" in name:
                named(name)()
            else:
                importlib.import_module(name)
    except Exception as error:
        wire.send(sock, {"broken": f"{type(error).__name__}: {error}"})
        raise
    gc.collect()
    gc.freeze()  # keeps a child's collections from copying what it shares with the others
    wire.send(sock, {"ready": True, "threads": threads()})
    Nursery(sock, job).serve()
    return 0


def named(name: str) -> Callable:
    """The function `module:function`."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def threads() -> int | None:
    """How many threads this process has, libraries' own included; None where the system does not say."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


class Nursery:
    """The children of one driver, by the number that the driver gave each."""

    def __init__(self, sock: socket.socket, job):
        self.sock = sock
        self.job = job
        self.numbers: dict[int, int] = {}  # pid -> number
        self.logs: dict[int, str] = {}  # pid -> its log
        self.driver_there = True
        self.wake, self.waker = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self.waker, False)

    def serve(self) -> None:
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a scheduler warns every process; the driver decides, and needs our reports
        while self.driver_there or self.numbers:
            listening = [self.wake] + ([self.sock] if self.driver_there else [])
            ready, _, _ = select.select(listening, [], [], WATCH if self.numbers else None)
            if self.sock in ready:
                self._attend()
            if self.wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake, 4096)
            for log in self.logs.values():
                files.bound_log(log)
            self._reap()

    def _attend(self) -> None:
        received = wire.receive(self.sock)
        if received is None:
            self.driver_there = False
            return
        message, descriptors = received
        if "kill" in message:
            self._kill(message["kill"], message["signal"])
            return
        pid = os.fork()
        if pid == 0:
            self._become_child(message, descriptors)  # never returns
        for descriptor in descriptors:
            os.close(descriptor)  # so that claim and slot are free as soon as the child ends
        self.numbers[pid], self.logs[pid] = message["number"], message["log"]
        self._tell({"started": message["number"], "pid": pid})

    def _become_child(self, message: dict, descriptors: tuple[int, ...]) -> None:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self.wake)
            os.close(self.waker)
            self.sock.close()
            status = live(message, descriptors[-1], self.job)
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)  # skips what the nursery registered for its own end

    def _kill(self, number: int, number_of_signal: int) -> None:
        for pid, known in self.numbers.items():
            if known == number:  # not reaped yet, so the pid is still this child's
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number_of_signal)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, number_of_signal)

    def _reap(self) -> None:
        while self.numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            number = self.numbers.pop(pid, None)
            if number is not None:
                files.bound_log(self.logs.pop(pid))
                self._tell({"ended": number, "status": os.waitstatus_to_exitcode(status)})

    def _tell(self, message: dict) -> None:
        try:
            wire.send(self.sock, message)
        except OSError:
            self.driver_there = False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
