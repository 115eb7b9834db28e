"""Writing a file so that readers see all of it or nothing, whatever dies in between."""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from core.errors import UserError

AGAIN = "give the same command again"


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path`. Raises UserError of one sentence if there is no space or no
    permission."""
    with whole(path) as temporary:
        temporary.write_bytes(content)


def write_changed(path: Path, content: bytes) -> None:
    """`write_whole`, but a file that has this content stays as it is and keeps its time."""
    if not path.is_file() or path.read_bytes() != content:
        write_whole(path, content)


@contextlib.contextmanager
def whole(path: Path, folder: bool = False) -> Iterator[Path]:
    """A name beside `path` to write a file to, or with `folder` an empty folder to fill; on leaving
    it is synced and takes the place of `path`, or of what a link there names. Raises UserError if
    there is no space or no permission; nothing is left behind then."""
    path = Path(os.path.realpath(path))
    temporary = path.with_name(_hidden(path, uuid.uuid4().hex))
    old = path.with_name(_hidden(path, uuid.uuid4().hex))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if folder:
            temporary.mkdir()
        yield temporary
        for written in (*temporary.rglob("*"), temporary):
            sync(written)
        if folder and path.exists():
            os.replace(path, old)  # no folder can be renamed over a full one
        os.replace(temporary, path)
        if old.exists():
            for name in {*os.listdir(old)} - {*os.listdir(path)}:
                os.replace(old / name, path / name)  # a user's own file
        with contextlib.suppress(OSError):
            # some file systems cannot sync a folder; the rename stands all the same
            sync(path.parent)
    except OSError as error:
        raise UserError(trouble(path, error)) from error
    finally:
        _remove(temporary, old)


def _remove(*paths: Path) -> None:
    """Remove files and folders that may not be there."""
    for path in paths:
        with contextlib.suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def regular(path: Path) -> Path:
    """The same path. Raises OSError if something other than a file is there: reading a FIFO never
    ends."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return path


def _hidden(path: Path, mark: str) -> str:
    """The name of a temporary file for `path`, no longer than the longest legal name."""
    return f".{path.name[:50]}.{mark}.tmp"


def sweep(path: Path) -> None:
    """Remove what killed writers of `path` left. Only for the holder of the claim."""
    _remove(*path.parent.glob(_hidden(path, "*")))


def trouble(path: Path | str, error: OSError) -> str:
    """The sentence for a file that could not be read or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{path} could not be written because the disk is full; make space and {AGAIN}."
    return f"{path} cannot be used ({error.strerror or error}); mend that and {AGAIN}."


def sync(path: Path) -> None:
    """Have the disk keep a file or a folder's names, whatever happens next."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_results_dir(folder: Path, published: Path) -> None:
    """Raise UserError for a file in the place of a folder of results, and for a folder within what
    the project publishes."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is no folder; give another --results-dir.")
    real = Path(os.path.realpath(folder))  # resolve() has no answer to a loop of links
    if published.resolve() in (real, *real.parents):
        raise UserError(
            f"{published} holds what the project publishes, and no command's own runs; "
            "give another --results-dir."
        )
