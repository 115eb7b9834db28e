"""SHA-256 digests of what a run reads: files, evaluation sets, encoders. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from core.data.sts import senteval_root, used_files
from core.data.text import measure, text_bytes
from core.spec.errors import UserError
from core.store import files

MOST_CACHE = 64 << 20  # bytes of what is remembered about texts
_CHUNK = 1 << 20
# another fit would be another number, and so another run
_PROBES = "logistic regression by Newton's method in float64, by conjugate gradients above two classes"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits. Raises UserError if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        hint = "check --data-dir and --encoder"
        raise UserError(f"{path} cannot be read ({error.strerror}); {hint}.") from error
    return digest.hexdigest()


def evaluation_digest(evaluation_path: Path, transfer: bool = False) -> str:
    """SHA-256 over the evaluation files that a run uses (`core.data.sts.used_files`), by name and content.

    With `transfer` the transfer tasks are among them, and the way in which their probes are fitted.

    Places, and files that nothing reads (licences, SICK's training split), do not enter. Raises UserError for
    a missing file.
    """
    root = senteval_root(evaluation_path)
    digest = named_digest((name, root / name) for name in used_files(transfer))
    return with_probes(digest) if transfer else digest


def with_probes(digest: str) -> str:
    """The digest of sets with transfer tasks, with the way in which probes are fitted taken in."""
    return hashlib.sha256(f"{digest}\n{_PROBES}\n".encode()).hexdigest()


def named_digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 over the lines `name sha256` of these files, in order of name."""
    lines = sorted(f"{name} {file_digest(path)}\n" for name, path in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class DigestCache:
    """Digest and rows of large texts, kept by path, size and times of change, which are compared for being
    the same and never for order; a cache that cannot be read is begun anew."""

    def __init__(self, path: Path):
        self._path = path

    def text(self, file: Path) -> tuple[str, int, int]:
        """SHA-256 of a text file and its sentences, by line and as the released reader finds them (D36).

        Raises UserError if it cannot be read.
        """
        try:
            state = os.stat(file)
            key = f"{file.resolve()}|{state.st_size}|{state.st_mtime_ns}|{state.st_ctime_ns}|{state.st_ino}"
            texts = self._read()
            if key not in texts:
                digest, rows = measure(text_bytes(file), str(file))
                texts[key] = [digest, rows["lines"], rows["csv_quoted"]]
        except OSError as error:
            hint = "check --data-dir"
            raise UserError(f"The training text {file} cannot be read ({error.strerror}); {hint}.") from error
        with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
            files.write_whole(self._path, json.dumps(texts, indent=1, sort_keys=True).encode())
        return tuple(texts[key])

    def _read(self) -> dict[str, list]:
        try:
            texts = json.loads(files.content(self._path, MOST_CACHE))
            return {k: v for k, v in texts.items() if [type(x) for x in v] == [str, int, int]}
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return {}
