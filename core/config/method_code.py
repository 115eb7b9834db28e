"""What the files of a method say, as a digest: stored runs and checkpoints record it."""

from __future__ import annotations

import ast
import hashlib
import importlib
from collections.abc import Mapping
from pathlib import Path

from core.config import methods, source


def code_digest(name: str) -> str:
    """SHA-256 of what the files of a method's folder say, 16 digits; comments do not count. Behind
    a plus, the same of the other files of `core/methods` that these need, if any."""
    own = {file: file.name for file in sorted(methods.folder(name).glob("*.py"))}
    needed: dict[Path, str] = {}
    waiting = [*own]
    while waiting:
        for file, module in _needed_files(waiting.pop()).items():
            if file not in own and file not in needed:
                needed[file] = module
                waiting.append(file)
    if not needed:
        return _digest_of(own)
    return f"{_digest_of(own)}+{_digest_of(needed)}"


def is_code_of(code: object, name: str) -> bool:
    """Whether a stored digest is of the method's present code; older runs have that of the folder
    alone."""
    digest = code_digest(name)
    return code in (digest, digest.partition("+")[0])


def _digest_of(files: Mapping[Path, str]) -> str:
    """SHA-256 of files by their names, in order of the names, 16 digits."""
    texts = []
    for file, named in sorted(files.items(), key=lambda item: item[1]):
        texts.append(f"{named}\n{ast.dump(source.tree_of(file))}\n")
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def _needed_files(file: Path) -> dict[Path, str]:
    """The files of `core/methods` that a file imports, or whose method it derives from, by their
    modules' names."""
    files = {}
    for module in _modules(file):
        if not module.startswith(f"{methods.PACKAGE}."):
            continue
        parts = module.removeprefix(f"{methods.PACKAGE}.").split(".")
        for root in importlib.import_module(methods.PACKAGE).__path__:
            place = Path(root, *parts).with_suffix(".py")
            if place.is_file():
                files[place] = module
    return files


def _modules(file: Path) -> list[str]:
    """The modules that a file imports, and the settings of the methods that it derives from."""
    modules: list[str] = []
    for node in ast.walk(source.tree_of(file)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("derived"):
            bases = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "base")]
            for base in bases:
                if isinstance(base, ast.Constant) and isinstance(base.value, str):
                    modules.append(f"{methods.PACKAGE}.{base.value}.settings")
    return modules
