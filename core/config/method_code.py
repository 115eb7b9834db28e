"""What the files of a method say, as a digest: stored runs and checkpoints record it."""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Mapping
from pathlib import Path

from core.config import methods

# what a file imports, and the method that it derives from
NAMED = re.compile(r"^\s*(?:from|import)\b[^\n(]*(?:\([^)]*)?|Derived\([^)]*", re.MULTILINE)
# a string, which stays; or ends of lines with blanks, comments and empty lines. No interpreter
# takes part, since each finds other tokens in an f-string.
PIECES = re.compile(
    r"""(\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?:[ \t\f]*(?:#[^\n]*)?\n)+",
    re.DOTALL,
)


def code_digest(method: str) -> str:
    """SHA-256 of what the files of a method's folder say, 16 digits; comments in code do not count.
    Behind a plus, the same of the other parts of `core/methods` that these name, if any. It is the
    same under every Python. Raises OSError."""
    files = sorted(file for file in methods.folder(method).glob("[!.]*") if file.is_file())
    own = len(files)
    for file in files:  # which grows by what they name
        named = " ".join(NAMED.findall(file.read_text(encoding="utf-8", errors="replace")))
        for name in {*re.findall(r"\w+", named)}:
            for root in importlib.import_module(methods.PACKAGE).__path__:
                part = Path(root, name)
                for other in (part.with_suffix(".py"), *part.glob("[!.]*.py")):
                    if other.is_file() and other not in files:
                        files.append(other)
    digest = _digest_of({file: file.name for file in files[:own]})
    if len(files) == own:
        return digest
    return f"{digest}+{_digest_of({file: '/'.join(file.parts[-2:]) for file in files[own:]})}"


def without_comments(text: str) -> str:
    """The text of a Python file without comments, empty lines and blanks at the ends of lines."""
    return PIECES.sub(lambda piece: piece[1] or "\n", f"\n{text}\n")


def _digest_of(files: Mapping[Path, str]) -> str:
    """SHA-256 of files by their names, in order of the names, 16 digits."""
    whole = hashlib.sha256()
    for file, named in sorted(files.items(), key=lambda item: item[1]):
        content = file.read_bytes()
        if file.suffix == ".py":
            text = file.read_text(encoding="utf-8", errors="replace")
            content = without_comments(text).encode()
        whole.update(f"{named} {hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()[:16]
