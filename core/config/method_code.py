"""What the files of a method say, as a digest: stored runs and checkpoints record it."""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
from collections.abc import Mapping
from pathlib import Path

from core.config import methods
from core.errors import UserError, fault

# what a file imports, and the method that it derives from
NAMED = re.compile(r"^\s*(?:from|import)\b[^\n(]*(?:\([^)]*)?|Derived\([^)]*", re.MULTILINE)


def code_digest(method: str) -> str:
    """SHA-256 of what the files of a method's folder say, 16 digits; comments in code do not count.
    Behind a plus, the same of the other parts of `core/methods` that these name, if any."""
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


def is_code_of(code: object, name: str) -> bool:
    """Whether a stored digest is of the method's present code; older runs have that of the folder
    alone."""
    digest = code_digest(name)
    return code in (digest, digest.partition("+")[0])


def _digest_of(files: Mapping[Path, str]) -> str:
    """SHA-256 of files by their names, in order of the names, 16 digits. Raises UserError with the
    line that is no Python, or no UTF-8."""
    texts = []
    for file, named in sorted(files.items(), key=lambda item: item[1]):
        try:
            said: object = file.read_bytes()
            if file.suffix == ".py":
                said = ast.dump(ast.parse(file.read_bytes(), str(file)))
        except (OSError, SyntaxError) as error:
            raise UserError(fault(file, error)) from error
        texts.append(f"{named}\n{said}\n")
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
