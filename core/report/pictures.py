"""Pictures, each drawn once from what it shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import joblib

from core.report.drawing import drawing, image
from core.store import code

LIBRARIES = ("matplotlib", "numpy", "pandas")
MOST_KEPT = "1G"  # of pictures, in all: the ones that were used last


def images(
    by: tuple[str, ...], draw: Callable, frames: tuple, kinds: tuple[str, ...]
) -> dict[str, bytes]:
    """The files of what `draw` makes of the `frames`, by name; `by` names code and libraries."""
    with drawing():
        drawn = draw(*frames)
        return {f"{name}.{kind}": image(drawn[name], kind) for name in drawn for kind in kinds}


def drawing_once(memory: Path | None = None) -> Callable[..., dict[str, bytes]]:
    """`images` by this code and these libraries. What was drawn is kept in the folder `memory`;
    None keeps nothing."""
    store = joblib.Memory(memory, verbose=0)
    store.reduce_size(bytes_limit=MOST_KEPT)
    return partial(store.cache(images), (code.digest(), *map(version, LIBRARIES)))
