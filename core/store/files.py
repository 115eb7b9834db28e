"""Writing a file so that readers see all of it or nothing, whatever dies in between."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
import socket
import threading
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.spec.errors import UserError

_FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
AGAIN = "give the same command again"
LOG_BYTES = 8 << 20  # a longer log loses its middle
_LOG_HEAD, _LOG_TAIL = 1 << 16, 1 << 20


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path`. Raises UserError of one sentence if there is no space or no permission."""
    with whole(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; on leaving it is synced, renamed to `path`, and the folder synced.

    Raises UserError of one sentence if there is no space or no permission; nothing is left behind then.
    """
    try:
        with beside(path) as temporary:
            yield temporary
    except OSError as error:
        raise UserError(trouble(path, error)) from error


@contextlib.contextmanager
def beside(path: Path) -> Iterator[Path]:
    """The same, but raises the system's OSError with `path`: a full disk names no file by itself."""
    temporary = path.with_name(temporary_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        with contextlib.suppress(OSError):
            sync(path.parent)  # some file systems cannot sync a folder; the rename stands all the same
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # only there if something went wrong


def write_changed(path: Path, content: bytes) -> None:
    """Put `content` at `path` unless it is there, so that unchanged files keep their time. Raises OSError."""
    if not path.is_file() or path.read_bytes() != content:
        with beside(path) as temporary:
            temporary.write_bytes(content)


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to write to; on leaving it is synced and takes the place of `folder`.

    Raises UserError of one sentence if there is no space or no permission; nothing is left behind then.
    """
    temporary, old = (folder.with_name(temporary_name(folder.name)) for _ in range(2))
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for path in (*temporary.rglob("*"), temporary):
            sync(path)
        if os.path.lexists(folder):
            os.replace(folder, old)  # no folder can be renamed over a full one
        os.replace(temporary, folder)
    except OSError as error:
        raise UserError(trouble(folder, error)) from error
    finally:
        if os.path.lexists(old) and not os.path.lexists(folder):
            os.replace(old, folder)
        for path in (temporary, old):
            shutil.rmtree(path, ignore_errors=True)


def content(path: Path, most: int) -> bytes:
    """The bytes of a user's file. Raises OSError for a folder, a pipe, and more than `most` bytes."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    if (size := os.path.getsize(path)) > most:
        raise OSError(errno.EFBIG, f"it has {size} bytes, where {most} are the most", str(path))
    return Path(path).read_bytes()


def temporary_name(name: str) -> str:
    """A hidden name that no other process, thread or host is using, which begins with what it is for."""
    host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())[:40]
    return f".{name}.{host}-{os.getpid()}-{threading.get_ident()}-{uuid.uuid4().hex}.tmp"


def sweep(folder: Path, name: str) -> None:
    """Remove what killed writers of `folder/name` left. Only for the holder of the claim."""
    for path in folder.glob(f".{name}.*.tmp"):
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def sweep_all(folders: Iterable[Path]) -> None:
    """Remove what killed writers left in these folders. Only where nobody else is writing."""
    for path in (path for folder in folders for path in folder.glob(".*.tmp") if path.is_file()):
        with contextlib.suppress(OSError):
            path.unlink()


def move_aside(path: Path, folder: Path, stem: str) -> Path:
    """Move a file into `folder` as stem.0 or stem.1 or …; the name. Raises UserError."""
    try:
        folder.mkdir(exist_ok=True)
        names = (folder / f"{stem}.{i}{path.suffix}" for i in itertools.count())
        target = next(name for name in names if not os.path.lexists(name))
        os.replace(path, target)
    except OSError as error:
        raise UserError(trouble(folder, error)) from error
    return target


def bound_log(path: str | Path) -> None:
    """Cut the middle out of a log that has grown too long, whoever is appending to it at this moment."""
    with contextlib.suppress(OSError):  # a log is for people; no run fails for it
        if os.stat(path).st_size > LOG_BYTES:
            with open(path, "r+b") as file:
                size = file.seek(-_LOG_TAIL, os.SEEK_END) + _LOG_TAIL
                end = file.read(_LOG_TAIL)
                file.truncate(_LOG_HEAD)
            with open(path, "ab") as file:
                file.write(b"\n[... %d bytes were cut out here ...]\n" % (size - _LOG_HEAD - len(end)) + end)


def trouble(path: Path, error: OSError) -> str:
    """The sentence for a failed write."""
    if error.errno in _FULL:
        return f"{path} could not be written because the disk is full; make space and {AGAIN}."
    if error.errno in FORBIDDEN:
        return f"{path} may not be written ({error.strerror}); choose a folder of yours with --results-dir."
    return (
        f"{path} could not be written ({error.strerror or error}); mend that and give the same command again."
    )


def stopped(error: OSError) -> str:
    """The sentence for a failed read or write; an error without a file is of the output."""
    if error.filename is None or error.errno in _FULL:
        return trouble(Path(error.filename or "The output"), error)
    return f"{error.filename} cannot be used ({error.strerror or error}); mend that and {AGAIN}."


def sync(path: Path) -> None:
    """Have the disk keep a file or a folder's names, whatever happens next."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
