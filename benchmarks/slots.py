"""Runs at once: what several processes train in the time in which one trains one."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.setting import Setting, settings
from benchmarks.step import OurTraining
from benchmarks.timing import Row
from core.runner.devices import cores


class Crowd(NamedTuple):
    """So many runs at once, each with so many threads."""

    name: str
    runs: int
    threads: int


def rows(setting: Setting, rounds: int, steps: int) -> Iterator[Row]:
    """Throughput of each crowd over that of the first; on a GPU also the memory of a run."""
    crowds = crowds_of(setting)
    context = multiprocessing.get_context("spawn")
    slots = [_Slot(context, setting) for _ in range(max(crowd.runs for crowd in crowds))]
    rates: dict[str, list[float]] = {crowd.name: [] for crowd in crowds}
    memory = 0
    try:
        for number in range(rounds + 1):
            for crowd in crowds:
                busy = slots[: crowd.runs]
                for slot in busy:
                    slot.begin(steps, crowd.threads)
                taken = [slot.end() for slot in busy]
                memory = max(memory, *(used for _, used in taken))
                if number:  # the first round warms up
                    rates[crowd.name].append(sum(1.0 / seconds for seconds, _ in taken))
    finally:
        for slot in slots:
            slot.close()
    first, *others = crowds
    yield Row("slots", setting.name, f"steps of {first.name}", statistics.median(rates[first.name]), "a second")
    for crowd in others:
        ratio = statistics.median(rate / one for rate, one in zip(rates[crowd.name], rates[first.name], strict=True))
        target = ">= 1.8" if setting.scale == "demo" and setting.device.type == "cpu" else ""
        yield Row("slots", setting.name, f"throughput of {crowd.name} / {first.name}", ratio, "x", target)
    if memory:
        yield Row("slots", setting.name, "GPU memory of a run", memory / 2**20, "MiB")


def crowds_of(setting: Setting) -> list[Crowd]:
    """What is compared: on a GPU one to eight runs on it; on a CPU one demo slot and two, or one run over all cores and
    one a core."""
    if setting.device.type == "cuda":
        return [Crowd(f"{count} on a GPU", count, 1) for count in (1, 2, 4, 8)]
    if setting.scale == "demo":
        return [Crowd("one slot", 1, 1), Crowd("two slots", 2, 1)]
    return [Crowd("a run over all cores", 1, cores()), Crowd("a run a core", cores(), 1)]


class _Slot:
    """A process that trains when told to."""

    def __init__(self, context, setting: Setting):
        self.pipe, theirs = context.Pipe()
        places = setting.found.places
        data = places.corpus.parent if places.corpus else None
        self.process = context.Process(
            target=_serve, args=(theirs, setting.name, data, places.encoder, str(setting.device), setting.cache), daemon=True
        )
        self.process.start()
        self.begin(2, 1)
        self.end()

    def begin(self, steps: int, threads: int) -> None:
        self.pipe.send((steps, threads))

    def end(self) -> tuple[float, int]:
        """Seconds a step, and bytes of GPU memory at most."""
        return self.pipe.recv()

    def close(self) -> None:
        self.pipe.send((0, 1))
        self.process.join()


def _serve(pipe, name: str, data: Path | None, encoder: Path | None, device: str, cache: Path) -> None:
    found = settings(data, encoder, torch.device(device), 1, cache)
    setting = next(setting for setting in found if setting.name == name)
    training = OurTraining(setting, setting.config("mocose"))
    while True:
        steps, threads = pipe.recv()
        if not steps:
            return
        torch.set_num_threads(threads)
        began = time.perf_counter()
        training.block(steps)
        seconds = (time.perf_counter() - began) / steps
        pipe.send((seconds, torch.cuda.max_memory_allocated() if setting.device.type == "cuda" else 0))
