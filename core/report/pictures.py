"""Pictures drawn in several processes, and written as they come. The same bytes from any number of
processes; what was drawn from the same inputs by the same code is not drawn again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import matplotlib
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from matplotlib.figure import Figure

from core.errors import UserError
from core.report.drawing import drawing, image
from core.report.figures import figures, scatters
from core.store import cache, code
from core.store.files import write_changed
from core.study.study import Study

MOST_PROCESSES = 8
FEW = 6  # pictures that one process draws sooner than others start, which takes two seconds
IDLE = 20  # seconds after which a process ends that has nothing to draw
PARENT_POLL = 1.0  # seconds between looks whether the command is still there


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the figures of a study are drawn from: the arguments of `figures`, and kinds of
    file."""

    study: Study
    cells: pd.DataFrame
    curves: pd.DataFrame
    heading: str
    judged: bool
    kinds: tuple[str, ...]

    @property
    def name(self) -> str:
        """What messages call these figures."""
        return self.study.name

    def portable(self) -> Order:
        """The order without claims: they are functions, which no digest and no other process can
        read."""
        return replace(self, study=replace(self.study, claims=()))

    def images(self) -> dict[str, bytes]:
        """The files by name."""
        with drawing():
            drawn = figures(self.study, self.cells, self.curves, self.heading, self.judged)
            return _images(drawn, self.kinds)

    def inputs(self) -> list[str]:
        """What the files depend on, beside the code."""
        frames = [self.cells.to_csv(), self.curves.to_csv()]
        return [repr(self.study), *frames, self.heading, repr(self.judged), *self.kinds]


@dataclass(frozen=True, slots=True)
class Scatters:
    """The figures over all runs of a scale and profile, from runs.csv. `unjudged` says by method
    why the scale cannot judge most of its claims."""

    runs: pd.DataFrame
    unjudged: Mapping[str, str]
    name: str = "all runs"

    def portable(self) -> Scatters:
        """The order as another process reads it."""
        return self

    def images(self) -> dict[str, bytes]:
        """The files by name."""
        with drawing():
            return _images(scatters(self.runs, self.unjudged), ("png",))

    def inputs(self) -> list[str]:
        """What the files depend on, beside the code."""
        return ["scatters", self.runs.to_csv(), json.dumps(self.unjudged)]


def _images(drawn: Mapping[str, Figure], kinds: Iterable[str]) -> dict[str, bytes]:
    """The files of figures by name."""
    images = {}
    for name, figure in drawn.items():
        for kind in kinds:
            images[f"{name}.{kind}"] = image(figure, kind)
    return images


class Pictures:
    """Takes orders, draws them in processes where there are many, and writes the files into the
    folders of the orders when it is left.

    `memory` is a folder that remembers what was drawn; without one all is drawn. `processes` 0: one
    for each core.
    """

    def __init__(self, memory: Path | None = None, processes: int = 0):
        self.memory = memory
        self.processes = processes or min(joblib.cpu_count(), MOST_PROCESSES)
        self.names: dict[str, set[str]] = {}  # of the files by study, as drawn last
        self.faults: dict[str, str] = {}  # why a study's figures could not be drawn
        self._versions = (code.digest(), matplotlib.__version__, pd.__version__)
        self._waiting: list[_Waiting] = []
        self._executor: Any = None  # loky has no types

    def add(
        self, order: Order | Scatters, folder: Path, clean: Callable[[set[str]], object]
    ) -> None:
        """Draw an order into `folder`; `clean` gets the names of its files when they are
        written."""
        order = order.portable()
        digest = ""
        if self.memory:
            digest = cache.key_digest([*self._versions, *order.inputs()])
        names = self._lying(digest, folder)
        if names is not None:
            self.names[order.name] = names
            clean(names)
            return
        self._waiting.append(_Waiting(order, folder, clean, digest))
        if self.processes > 1 and len(self._waiting) >= FEW:
            self._start()

    def finish(self, note: Callable[[int, int], object] = lambda done, of: None) -> None:
        """Write all that was ordered; `note` gets how many orders are done, and of how many."""
        for done, waiting in enumerate(self._waiting):
            note(done, len(self._waiting))
            self._write(waiting)
        self._waiting.clear()

    def stop(self) -> None:
        """Draw nothing more."""
        if self._executor is not None and self._waiting:
            self._executor.shutdown(wait=False, kill_workers=True)
        self._executor = None
        self._waiting.clear()

    def _start(self) -> None:
        """Send what waits to the processes; without any it waits for `finish`."""
        try:
            if self._executor is None:
                with _quiet_trackers():
                    self._executor = get_reusable_executor(
                        self.processes,
                        timeout=IDLE,
                        initializer=_follow_command,
                        initargs=(os.getpid(),),
                    )
            for waiting in self._waiting:
                if waiting.images is None:
                    waiting.images = self._executor.submit(
                        type(waiting.order).images, waiting.order
                    )
        except (OSError, RuntimeError):  # no semaphores, no processes, or one that was killed
            self.processes = 1

    def _write(self, waiting: _Waiting) -> None:
        images = self._images(waiting)
        self.names[waiting.order.name] = {*images}
        for name, picture in images.items():
            write_changed(waiting.folder / name, picture)
        waiting.clean({*images})
        if self.memory and waiting.order.name not in self.faults:
            digests = {name: _picture_digest(picture) for name, picture in images.items()}
            with contextlib.suppress(UserError):
                cache.keep(self.memory, waiting.digest, "json", json.dumps(digests).encode())

    def _images(self, waiting: _Waiting) -> dict[str, bytes]:
        """The files of an order by name; none if its figures cannot be drawn."""
        try:
            if waiting.images is not None:
                with contextlib.suppress(BrokenProcessPool):  # killed, as for its memory
                    return waiting.images.result()
            return waiting.order.images()
        except (OSError, UserError):  # of the machine, and so of every study
            raise
        except Exception as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            self.faults[waiting.order.name] = words
            return {}

    def _lying(self, digest: str, folder: Path) -> set[str] | None:
        """The names of an order's files if all lie in the folder as they were drawn, else None."""
        if not self.memory:
            return None
        path = cache.find(self.memory, digest, "json")
        if path is None:
            return None
        with contextlib.suppress(OSError, ValueError):
            contents = json.loads(path.read_bytes())
            for name, content in contents.items():
                if _picture_digest((folder / name).read_bytes()) != content:
                    return None
            return {*contents}
        return None


@dataclass(slots=True)
class _Waiting:
    """An order that is not written yet, and its files to come."""

    order: Order | Scatters
    folder: Path
    clean: Callable[[set[str]], object]
    digest: str
    images: Future | None = None


@contextlib.contextmanager
def drawn_together(
    memory: Path | None = None, processes: int = 0, note: Callable = lambda done, of: None
) -> Iterator[Pictures]:
    """Pictures that are all written when the context is left; none after an error or Ctrl-C."""
    pictures = Pictures(memory, processes)
    try:
        yield pictures
        pictures.finish(note)
    finally:
        pictures.stop()


def _picture_digest(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()


@contextlib.contextmanager
def _quiet_trackers() -> Iterator[None]:
    """Processes that are started here clear up after a command that was stopped, and say nothing of
    it."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker")))
    try:
        yield
    finally:
        os.environ.pop("PYTHONWARNINGS")
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _follow_command(command: int) -> None:
    """In a drawing process: Ctrl-C is for the command alone, and a command that is killed takes its
    processes along. They would wait for the rest of an order for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(command,), daemon=True).start()


def _end_with(command: int) -> None:
    while os.getppid() == command:
        time.sleep(PARENT_POLL)
    os._exit(1)
