"""What --follow prints: each check of each running training, from the lines that the runs write beside their logs."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

BARS = "▁▂▃▄▅▆▇█"
EVERY = 0.5  # seconds between two looks at a run's file
MOST_BYTES = 1 << 20  # read at a look
MOST = 1e30  # that a number of a check may be; others were not written by a run


class Follower:
    """Reads the curves of runs as they grow."""

    def __init__(self, logs: Path):
        self._logs = logs
        self._read: dict[str, int] = {}  # bytes, by run
        self._looked: dict[str, float] = {}
        self._curves: dict[str, list[float]] = {}
        self._old: dict[str, int | None] = {}  # when an earlier attempt wrote last, ns

    def begin(self, run: str) -> None:
        """Forget what an earlier attempt wrote. The file is read again once the new attempt has written to it, with the checks that it
        goes on from."""
        self._read[run], self._looked[run], self._curves[run] = 0, time.monotonic(), []
        self._old[run] = self._written(run)

    def lines(self, run: str, at_once: bool = False) -> list[str]:
        """One line for each check since the last look."""
        if run not in self._read or not (at_once or time.monotonic() - self._looked[run] >= EVERY):
            return []
        self._looked[run] = time.monotonic()
        if self._old[run] is not None and self._written(run) == self._old[run]:
            return []  # the new attempt has not begun its file
        self._old[run] = None
        path = self._logs / f"{run}.jsonl"
        try:
            if not path.is_file():  # opening a FIFO would keep us waiting
                return []
            with open(path, "rb") as file:
                file.seek(self._read[run])
                new = file.read(MOST_BYTES)
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read[run] += len(whole)
        return [line for text in whole.splitlines() if (line := self._line(run, text))]

    def _written(self, run: str) -> int | None:
        try:
            return (self._logs / f"{run}.jsonl").stat().st_mtime_ns
        except OSError:
            return None

    def _line(self, run: str, text: bytes) -> str:
        try:
            said = json.loads(text)
            step, of, dev, loss, seconds = (said[name] for name in ("step", "of", "dev", "loss", "seconds"))
            numbers = [value for value in (step, of, dev, loss, seconds) if value is not None]
            if not all(type(value) in (int, float) and abs(value) < MOST for value in numbers):
                return ""
            curve = self._curves[run]
            curve.append(float("nan") if dev is None else float(dev))
            score = "no score" if dev is None else f"dev {dev:.2f}"
            return f"step {step}/{of}, {score}{'' if loss is None else f', loss {loss:.3f}'}, {seconds:.0f} s  {picture(curve)}"
        except (ValueError, KeyError, TypeError, RecursionError):
            return ""


def picture(curve: list[float]) -> str:
    """A curve as bars between its least and largest value; a check without a score is a blank."""
    known = [value for value in curve if not math.isnan(value)]
    if not known:
        return ""
    low, width = min(known), max(known) - min(known)
    return "".join(" " if math.isnan(value) else BARS[round((value - low) / width * (len(BARS) - 1)) if width else 0] for value in curve)
