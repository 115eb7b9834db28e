"""Pictures drawn in several processes. The same bytes from any number of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import joblib

from core.config.section import frozen
from core.errors import UserError
from core.report.drawing import drawing, image
from core.store.files import write_changed

FEW = 6  # pictures that one process draws sooner than others start, which takes two seconds
MOST_PROCESSES = 8
PARENT_POLL = 1.0  # seconds between looks whether the command is still there


@frozen
class Order:
    """Figures to draw into a folder: what `draw` makes of the `frames`. `clean` gets the names of
    the files when they are written."""

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
        for done, (order, drawn) in enumerate(zip(self.orders, self._drawn(), strict=True)):
            note(done, len(self.orders))
            if isinstance(drawn, str):
                self.faults[order.name] = drawn
                drawn = {}
            self.names[order.name] = {*drawn}
            for name, content in drawn.items():
                write_changed(order.folder / name, content)
            order.clean({*drawn})

    def _drawn(self) -> Iterator[dict[str, bytes] | str]:
        """The files of each order, or why they cannot be drawn. What the processes do not draw,
        since one was killed or none starts, is drawn here."""
        done = 0
        if len(self.orders) >= FEW:
            processes = min(joblib.cpu_count(), MOST_PROCESSES)
            follow = {"initializer": _follow, "initargs": (os.getpid(),)}
            parallel = joblib.Parallel(processes, return_as="generator", **follow)
            draw = joblib.delayed(images)
            with contextlib.suppress(OSError, RuntimeError):
                jobs = (draw(order.draw, order.frames, order.kinds) for order in self.orders)
                for drawn in parallel(jobs):
                    yield drawn
                    done += 1
        for order in self.orders[done:]:
            yield images(order.draw, order.frames, order.kinds)


def _follow(command: int) -> None:
    """In a drawing process: Ctrl-C is for the command alone, and a command that is killed takes its
    processes along. They would wait for the rest of an order for ever."""

    def end_with_it() -> None:
        while os.getppid() == command:
            time.sleep(PARENT_POLL)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_it, daemon=True).start()
