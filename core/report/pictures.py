"""Pictures, each drawn once from what it shows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from pickle import dumps, loads

import joblib

from core.report.drawing import drawing, image
from core.store import code
from core.store.cache import cached

DRAWN_BY = ("matplotlib", "numpy", "pandas")
MOST_KEPT = 5_000  # figures, those that were drawn last: some 1 GB


def images(draw: Callable, frames: tuple, kinds: tuple[str, ...]) -> dict[str, bytes]:
    """The files of what `draw` makes of the `frames`, by name."""
    with drawing():
        drawn = draw(*frames)
        return {f"{name}.{kind}": image(drawn[name], kind) for name in drawn for kind in kinds}


def drawing_once(memory: Path | None = None) -> Callable[..., dict[str, bytes]]:
    """`images` by this code and these libraries. What was drawn is kept in the folder `memory`;
    None keeps nothing."""
    if memory is None:
        return images
    with contextlib.suppress(OSError):  # another command may remove them, too
        for path in sorted(memory.glob("*.pictures"), key=os.path.getmtime)[:-MOST_KEPT]:
            path.unlink()
    by = (code.digest(), *map(version, DRAWN_BY))

    def kept(*shown) -> dict[str, bytes]:
        key = [*by, joblib.hash(shown)]
        make = partial(images, *shown)
        return cached(memory, key, make, load=loads, dump=dumps, ending="pictures")

    return kept
