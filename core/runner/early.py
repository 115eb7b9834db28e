"""Drawing each study as soon as its last run is stored, while the runs of others train."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from core.runner.launch import Outcome
from core.runner.plan import Plan
from core.spec.study import Study

Draw = Callable[[Study], Sequence[str]]  # draws a study's files; the lines to print


class Early:
    """The studies of a plan that are drawn before training ends: those whose runs are all stored while runs of others are missing.

    One thread draws, one study after the other, so that no slot waits. What it cannot draw is drawn when training ends.
    """

    def __init__(self, studies: Sequence[Study], plan: Plan, draw: Draw):
        missing = {run.run_id for run in plan.missing}
        self._studies = {study.name: study for study in studies}
        self._lacking = {name: set(asked & missing) for name, asked in plan.by_study.items() if asked & missing}
        self._unsettled = missing
        self._draw = draw
        self._due: queue.SimpleQueue[Study | None] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def settled(self, outcome: Outcome) -> None:
        """A run has ended. Called from every launching thread."""
        if outcome.state == "elsewhere":
            return  # another command trains it, and it is looked at again
        run = outcome.run.run_id
        with self._lock:
            self._unsettled.discard(run)
            if outcome.state not in ("done", "found"):
                return  # its studies lack it for good
            for name in [name for name, lacking in self._lacking.items() if run in lacking]:
                self._lacking[name].discard(run)
                if not self._lacking[name] and self._unsettled:
                    self._due.put(self._studies[name])

    @contextlib.contextmanager
    def beside(self, note: Callable[..., None]) -> Iterator[None]:
        """Within this context studies are drawn when they are due; `note` prints lines. At its end no further drawing begins."""
        ended = threading.Event()

        def work() -> None:
            while (study := self._due.get()) is not None and not ended.is_set():
                try:
                    note(*self._draw(study))
                except Exception as error:  # whatever it is: training goes on
                    note(f"{study.name} cannot be drawn now ({str(error) or type(error).__name__}); it is tried again when training ends.")

        thread = threading.Thread(target=work, name="drawing", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            self._due.put(None)
            thread.join()
