"""Files that can be made again: counts, token tables, baselines, rates, texts of the hub.

    <folder>/<name>.<digest>.<ending>

`digest` is of the content, so that a file which was changed is not read, but made anew.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from core.errors import UserError
from core.formatting import say
from core.store import files, locks

Cached = TypeVar("Cached")


def cached(
    folder: Path,
    key: Any,
    make: Callable[[], Cached],
    *,
    load: Callable[[bytes], Cached] = json.loads,
    dump: Callable[[Cached], bytes] = lambda value: json.dumps(value).encode(),
    ending: str = "json",
) -> Cached:
    """The value that is cached under this key, else the value that `make` gives, which is cached
    then.

    `key` (JSON) names everything that the value depends on. Without a writable folder nothing is
    cached.
    """
    name = key_digest(key)
    path = find_cached(folder, name, ending)
    if path is not None:
        with contextlib.suppress(Exception):  # numpy and zip files have errors of many kinds
            return load(path.read_bytes())
        _reject(path)
    value = make()
    with contextlib.suppress(UserError):
        write_cached(folder, name, ending, dump(value))
    return value


def key_digest(key: Any) -> str:
    """The name of what is cached under this key."""
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:24]


def find_cached(folder: Path, name: str, ending: str) -> Path | None:
    """The file that is cached under this name. A file with other content than its name says is
    removed, with a printed sentence."""
    for path in sorted(folder.glob(f"{name}.*.{ending}")):
        with contextlib.suppress(OSError):
            if path.is_file() and path == _content_path(folder, name, ending, path.read_bytes()):
                return path
        if os.path.lexists(path):  # else another process has removed it
            _reject(path)
    return None


def write_cached(folder: Path, name: str, ending: str, content: bytes) -> Path:
    """Cache this content alone under this name. Removes what killed writers left. Raises
    UserError."""
    path = _content_path(folder, name, ending, content)
    with locks.waiting(folder / ".lock", f"writing into {folder}"):
        files.sweep(folder / "*")
        files.write_whole(path, content)
        for other in folder.glob(f"{name}.*.{ending}"):
            if other != path:
                with contextlib.suppress(OSError):
                    other.unlink()
    return path


def _content_path(folder: Path, name: str, ending: str, content: bytes) -> Path:
    """Where this content lies under this name."""
    return folder / f"{name}.{hashlib.sha256(content).hexdigest()[:16]}.{ending}"


def _reject(path: Path) -> None:
    """Remove a damaged file, and say so."""
    say(f"{path} is not as it was written, so it is made anew.")
    with contextlib.suppress(OSError):
        path.unlink()
