"""A run's development curve as lines of JSON, written while it trains: `<results>/logs/<run id>.jsonl`, for `tail -f` and other tools."""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path


class CurveFile:
    """One line a check: run, step, of, dev (Spearman x 100 on the development set), loss (mean since the last check), seconds.

    If the file cannot be written, the run goes on without it.
    """

    def __init__(self, results: Path, run: str, steps: int, resumed_after: int = 0):
        """Begin the file anew, or go on behind the checks up to this step."""
        self._path = Path(results) / "logs" / f"{run}.jsonl"
        self._run, self._steps, self._began = run, steps, time.monotonic()
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = [line for line in _lines(self._path) if resumed_after and line["step"] <= resumed_after]
            self._path.write_text("".join(json.dumps(line) + "\n" for line in kept))

    def check(self, step: int, dev: float, loss: float | None) -> None:
        """Append one check; numbers that are not finite become null."""
        line = {
            "run": self._run, "step": step, "of": self._steps, "dev": _finite(dev), "loss": _finite(loss),
            "seconds": round(time.monotonic() - self._began, 2),
        }  # fmt: skip
        with contextlib.suppress(OSError), open(self._path, "a") as file:
            file.write(json.dumps(line) + "\n")


def _lines(path: Path) -> list[dict]:
    if not path.is_file():
        return []
    found = []
    for text in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):  # a line that a kill cut short
            line = json.loads(text)
            if isinstance(line, dict) and type(line.get("step")) is int:
                found.append(line)
    return found


def _finite(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None
