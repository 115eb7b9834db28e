"""Models that runs leave with --keep-models: <results>/models/<run id>/, each a whole folder or none. No torch here."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.spec.errors import UserError
from core.store import files

MARK, WEIGHTS = "modules.json", "model.safetensors"  # without them a folder is no kept model


def model_folder(results: Path, run: str) -> Path:
    """Where a run's model is kept."""
    return Path(results) / "models" / run


def kept(results: Path, run: str) -> bool:
    """Whether the run's model is there: its list of modules and its weights."""
    return all((model_folder(results, run) / name).is_file() for name in (MARK, WEIGHTS))


def prepare(results: Path) -> None:
    """Make the folder of kept models, before hours are spent on them. Raises UserError if it cannot be written."""
    place = Path(results) / "models"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(files.trouble(place, error)) from error
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"{place} may not be written; make it writable, or leave --keep-models out.")


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` to write to; on leaving it is synced and takes the place of `folder`. What killed writers left is
    removed, so the caller has to hold the run's claim.

    Raises UserError of one sentence if there is no space or no permission; nothing is left behind then.
    """
    temporary = folder.with_name(files.temporary_name(folder.name))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        files.sweep(folder.parent, folder.name)
        temporary.mkdir()
        yield temporary
        for path in (*temporary.rglob("*"), temporary):
            files.sync(path)
        _change(temporary, folder)
        files.sweep(folder.parent, folder.name)
    except OSError as error:
        raise UserError(files.trouble(folder, error)) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # only there if something went wrong


def _change(new: Path, folder: Path) -> None:
    """Put a folder in another's place. It cannot be renamed over it: between the two steps there is none, and the run counts as missing."""
    old = folder.with_name(files.temporary_name(folder.name))
    there = os.path.lexists(folder)
    if there:
        os.replace(folder, old)
    try:
        os.replace(new, folder)
    except OSError:
        if there:
            os.replace(old, folder)
        raise
