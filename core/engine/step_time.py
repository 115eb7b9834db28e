"""How long a training step takes: batch, loss, backward, optimiser, moving average, queue; checks and checkpoints are not in it."""

from __future__ import annotations

import statistics
from collections.abc import Callable


class StepTime:
    """Laps of one or more steps, in seconds a step. A lap has to end where the device has nothing left to do."""

    def __init__(self, clock: Callable[[], float], step: int):
        """Start a lap behind step number `step`; `clock` gives seconds."""
        self._clock = clock
        self._laps: list[float] = []
        self.start(step)

    def start(self, step: int) -> None:
        """Start a lap behind this step; time since the last lap is not counted."""
        self._step, self._time = step, self._clock()

    def lap(self, step: int) -> None:
        """End a lap with this step, and start the next."""
        now = self._clock()
        self._laps.append((now - self._time) / (step - self._step))
        self._step, self._time = step, now

    def median(self) -> float | None:
        """Median of the laps, seconds a step; None without one."""
        return statistics.median(self._laps) if self._laps else None
