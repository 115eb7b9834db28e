"""Whether a redraw would change nothing: what it is made from, and what the last one left, by
digest. With nothing new, `--all --regenerate-figures` takes seconds in the place of a minute."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from core.config import methods
from core.config.scale import SCALES
from core.errors import UserError
from core.runner.devices import cache_folder
from core.store import cache, code
from core.store.store import Store

DRAWING_LIBRARIES = ("matplotlib", "numpy", "pandas", "scipy", "jinja2", "tabulate")
PAGE_ENDINGS = (".html", ".md", ".csv")


def inputs(store: Store, folders: Iterable[Path], options: Iterable[object]) -> str:
    """The digest of all that a redraw is made from: code, studies, runs, libraries, options. Empty
    if a file of code has changed since this process began."""
    project = code.CORE.parent
    # folders of papers and methods may be links, which a search does not follow
    places = [place for folder in folders for place in (folder, *folder.iterdir())]
    paths = set[Path]()
    for folder in (code.CORE, *map(methods.folder, methods.names()), *places):
        paths |= {path for path in folder.rglob("[!.]*") if "__pycache__" not in path.parts}
    if code.changed(paths):
        return ""
    paths |= {project / "README.md", *(project / "docs").glob("*.md")}  # the page links to them
    for name in ("runs", "first"):
        paths |= {*(store.root / name).glob("*")}
    if store.published is not None:
        paths |= {*store.published.glob("archive/*")}
    paths |= {*(store.root / "archive").glob("*")}
    for pack in store.packs.values():
        paths.add(pack.path)
    libraries = [sys.version, *(f"{name} {version(name)}" for name in DRAWING_LIBRARIES)]
    return cache.key_digest([libraries, [*map(str, options)], _digests(paths)])


def outputs(results: Path, figures: Path) -> dict[str, str]:
    """The digest of each file that a redraw may write, by path."""
    paths = {path for path in results.glob("*") if path.suffix in PAGE_ENDINGS}
    paths |= {*(results / "printed").glob("*")}
    for scale in SCALES:
        for folder in (results, figures):
            paths |= {*(folder / scale).glob("*/*")}
    return _digests(paths)


def is_there(key: str, results: Path, figures: Path) -> bool:
    """Whether every file lies as the last redraw from these inputs left it, and no other. Without a
    cache nothing is known."""
    with contextlib.suppress(UserError):
        name = cache.key_digest([key, outputs(results, figures)])
        return cache.find(cache_folder() / "redrawn", name, "json") is not None
    return False


def remember(key: str, results: Path, figures: Path) -> None:
    """Note what a redraw left."""
    with contextlib.suppress(OSError, UserError):
        name = cache.key_digest([key, outputs(results, figures)])
        cache.keep(cache_folder() / "redrawn", name, "json", b"{}")


def _digests(paths: Iterable[Path]) -> dict[str, str]:
    digests = {}
    for path in sorted(paths):
        if path.is_file():
            # another command may remove it meanwhile, and some may not be read
            with contextlib.suppress(OSError), path.open("rb") as file:
                digests[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests
