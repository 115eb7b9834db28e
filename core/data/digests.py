"""SHA-256 digests of what a run reads: files, evaluation sets, encoders."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from core.data.sts import senteval_root, used_files
from core.data.text import sentences, text_bytes
from core.spec.errors import UserError
from core.store import files

# another fit would be another number, and so another run
_PROBES = "logistic regression by Newton's method in float64, by conjugate gradients above two classes"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits. Raises UserError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        hint = "check --data-dir and --encoder"
        raise UserError(f"{path} cannot be read ({error.strerror}); {hint}.") from error


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


def measure(text: Path, cache: Path) -> tuple[str, int, int]:
    """SHA-256 of a text file and its sentences, by line and as the released reader finds them (D36).

    The file `cache` keeps them by path, size and times of change: a million lines take two seconds. A cache
    that cannot be read or written is done without. Raises UserError for an unusable text.
    """
    texts = {}
    with contextlib.suppress(OSError, ValueError, TypeError):
        texts = dict(json.loads(cache.read_bytes()))
    content, state = text_bytes(text), os.stat(text)
    key = f"{text.resolve()}|{state.st_size}|{state.st_mtime_ns}|{state.st_ctime_ns}"
    if key not in texts:
        counts = [len(sentences(content, reader, str(text))) for reader in ("lines", "csv_quoted")]
        texts[key] = [hashlib.sha256(content).hexdigest(), *counts]
        with contextlib.suppress(UserError):
            files.write_whole(cache, json.dumps(texts, indent=1, sort_keys=True).encode())
    digest, lines, csv_quoted = texts[key]
    return digest, lines, csv_quoted
