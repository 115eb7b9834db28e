"""Kernel file locks: claims on runs and slots on a machine.

A lock is held for as long as a descriptor of its open file lives, in whichever process; so it dies with its
holder, and it outlives a killed driver while the training that inherited it goes on. Nothing here knows what
a run is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from core.spec.errors import UserError, printable, say

# A file system without locks: the worst that can happen there is that a run is trained twice, so go on.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
POLL = 0.05  # seconds between two tries for a lock that is waited for
PATIENCE = 10.0  # seconds of waiting before a line is printed
WORDS = 300  # characters of a holder's note


def hold(path: Path) -> int | None:
    """A descriptor that holds the lock at `path`, or None if it is held. Raises UserError."""
    while True:
        descriptor = _opened(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(descriptor)
                raise
        if _is_at(descriptor, path):
            return descriptor
        # somebody removed the file before it was locked: a lock of its name guards nothing
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that lies at `path` now."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def held(path: Path) -> bool:
    """Whether somebody holds the lock at `path`; leaves no file behind, and only reads."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # never made, or hidden from us
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def waiting(path: Path, what: str) -> Iterator[None]:
    """Hold the lock at `path` within this context, after a wait for its holder; a long wait prints `what` it
    waits for.

    Raises UserError if it cannot be made.
    """
    began, printed = time.monotonic(), False
    while (descriptor := hold(path)) is None:
        if not printed and time.monotonic() - began > PATIENCE:
            printed = True
            say(
                f"Waiting for another command to end with {what}; if it was suspended, let it go on "
                "or end it."
            )
        time.sleep(POLL)
    try:
        yield
    finally:
        release(descriptor)


def share(path: Path, alone: Callable[[], None]) -> int:
    """A descriptor that shares the lock at `path` with any number of others; whoever finds it free calls
    `alone` first, while nobody else can get it. Raises UserError if it cannot be made."""
    descriptor = _opened(path)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone()
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # whoever is alone just now is so for a moment
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            os.close(descriptor)
            raise
    return descriptor


def _opened(path: Path) -> int:
    """A descriptor of the lock's file, made with its folder. Raises UserError if it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        hint = "make its folder writable or choose another"
        raise UserError(f"{path} cannot be made ({error.strerror}); {hint}.") from error


def note_holder(descriptor: int, text: str) -> None:
    """Write into a held lock's file who holds it, for people who wait."""
    line = " ".join(text.split())[:WORDS].encode()
    with contextlib.suppress(OSError):  # a full disk is no reason not to hold
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, line, 0)


def holder(path: Path) -> str:
    """What the holder of the lock at `path` notes of itself; empty if nothing can be read."""
    try:
        with open(path, "rb") as file:
            return printable(file.read(4 * WORDS).decode(errors="replace"))[:WORDS]
    except OSError:
        return ""


def release(descriptor: int) -> None:
    """Let this process's share of the lock go; copies in other processes go on holding it."""
    os.close(descriptor)


def take_slot(names: tuple[str, ...], folder: Path) -> tuple[str, int] | None:
    """The first free slot of these and the descriptor that holds it, or None if all are taken."""
    for name in names:
        descriptor = hold(folder / f"{name}.lock")
        if descriptor is not None:
            return name, descriptor
    return None
