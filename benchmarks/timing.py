"""Taking turns: contestants alternate in blocks within one process, so that whatever slows the machine slows them all."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

# `cpu` counts this process's processor time: with one thread it stands still while other programs have the core.
CLOCK = "BENCHMARKS_CLOCK"

# Runs this many steps and gives the seconds of those that count; the first ones of a block are its own to drop.
Block = Callable[[int], list[float]]


@dataclass(frozen=True)
class Row:
    """One number of the table. `group` is its part of the table (floor, step, …), `setting` the encoder, `target` what is wanted."""

    group: str
    setting: str
    what: str
    value: float
    unit: str
    target: str = ""
    note: str = ""


def now(device: torch.device) -> float:
    """Seconds on a clock, once the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.process_time() if os.environ.get(CLOCK) == "cpu" else time.perf_counter()


def alternated(blocks: Mapping[str, Block], rounds: int, steps: int) -> dict[str, float]:
    """Median seconds a step of each contestant over `rounds` rounds in which each has one block of `steps` steps.

    A round before them warms up and is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    for number in range(rounds + 1):
        for name, block in blocks.items():
            taken = block(steps if number else 2)
            if number:
                seconds[name] += taken
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def median_seconds(call: Callable[[], object], device: torch.device, *, repeats: int = 7) -> float:
    """Median seconds of a call, each repeat long enough for the clock: calls are bundled to two milliseconds."""
    call()
    began = now(device)
    call()
    bundle = max(1, int(2e-3 / max(now(device) - began, 1e-7)))
    taken = []
    for _ in range(repeats):
        began = now(device)
        for _ in range(bundle):
            call()
        taken.append((now(device) - began) / bundle)
    return statistics.median(taken)
