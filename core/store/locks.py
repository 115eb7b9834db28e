"""Kernel file locks: claims on runs and slots on a machine.

A lock is held for as long as a descriptor of its open file lives, in whichever process; so it dies
with its holder, and it outlives a killed driver while the training that inherited it goes on.
Nothing here knows what a run is.
"""

import contextlib
import errno
import fcntl
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

from core.errors import refusing
from core.formatting import say
from core.store.files import regular

# A file system without locks: the worst that can happen there is that a run is trained twice, so go
# on.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
LOCK_POLL = 0.05  # seconds between two tries for a lock that is waited for
LOCK_PATIENCE = 10.0  # seconds of waiting before a line is printed


def hold(path: Path) -> int | None:
    """A descriptor that holds the lock at `path` until it is closed, here and in every process that
    inherited it; or None if the lock is held. Raises UserError."""
    with refusing(f"{path} cannot be made", "make its folder writable or choose another", OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    locked = _locked(descriptor, fcntl.LOCK_EX)
    # a cleaner may remove the file before it is locked
    with contextlib.suppress(FileNotFoundError):
        if locked and os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    os.close(descriptor)
    if locked:
        return hold(path)
    return None


def held(path: Path) -> bool:
    """Whether somebody holds the lock at `path`; leaves no file behind, and only reads."""
    # else never made, or hidden
    with contextlib.suppress(OSError), open(regular(path), "rb") as file:
        return not _locked(file.fileno(), fcntl.LOCK_SH)
    return False


def _locked(descriptor: int, kind: int) -> bool:
    """Whether the lock of an open file was free, and is now held."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


@contextlib.contextmanager
def waiting(path: Path, work: str) -> Iterator[None]:
    """Hold the lock at `path` within this context, after a wait for its holder; a long wait prints
    the `work` of the holder. Raises UserError if the lock cannot be made."""
    due = time.monotonic() + LOCK_PATIENCE
    while (descriptor := hold(path)) is None:
        if time.monotonic() > due:
            due = math.inf
            hint = "if it was suspended, let it go on or end it"
            say(f"Waiting for another command to end with {work}; {hint}.")
        time.sleep(LOCK_POLL)
    try:
        yield
    finally:
        os.close(descriptor)
