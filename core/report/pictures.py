"""Pictures drawn in several processes. The same bytes from any number of processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import joblib

from core.errors import UserError
from core.report.drawing import drawing, image
from core.store.files import write_changed

FEW = 6  # pictures that one process draws sooner than others start, which takes two seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Figures to draw into a folder: what `draw` makes of the `frames`. `clean` gets the names of the
    files when they are written."""

    name: str
    folder: Path
    draw: Callable
    frames: tuple
    kinds: tuple[str, ...] = ("png",)
    clean: Callable[[set[str]], object] = lambda names: None


def images(draw: Callable, frames: tuple, kinds: tuple[str, ...]) -> dict[str, bytes] | str:
    """The files of an order by name, or why its figures cannot be drawn."""
    try:
        with drawing():
            drawn = draw(*frames)
            return {f"{name}.{kind}": image(drawn[name], kind) for name in drawn for kind in kinds}
    except (OSError, UserError):  # of the machine, and so of every study
        raise
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


class Pictures:
    """Orders, and what became of them: names of files, or faults, by study."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.names: dict[str, set[str]] = {}
        self.faults: dict[str, str] = {}

    def finish(self, note: Callable[[int, int], object] = lambda done, of: None) -> None:
        """Draw and write all that was ordered; `note` gets how many are done, and of how many."""
        jobs = -1 if len(self.orders) >= FEW else 1
        parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
        draw = joblib.delayed(images)
        every = parallel(draw(order.draw, order.frames, order.kinds) for order in self.orders)
        for done, order in enumerate(self.orders):
            note(done, len(self.orders))
            try:
                drawn = next(every)
            except BrokenProcessPool as error:
                raise UserError(
                    "A process that draws was killed, perhaps for want of memory; give the command "
                    "again."
                ) from error
            if isinstance(drawn, str):
                self.faults[order.name] = drawn
                drawn = {}
            self.names[order.name] = {*drawn}
            for name, content in drawn.items():
                write_changed(order.folder / name, content)
            order.clean({*drawn})
