"""Jobs for storms: they die in every way that a training can, and bear witness against a runner that starts one twice."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import resource
import time
from dataclasses import replace
from pathlib import Path

from core.spec.identity import run_id
from core.spec.result import PairBlock, Result
from core.spec.scale import SCALES
from tests.support import fake_jobs


def run(config, execution, progress) -> Result:
    """Take a random moment, and leave numbers that follow from the configuration alone; `behaviour.json` as for the fake job.

    Started while another is at the same run, or when the run is stored already, it says so in `<cache_dir>/accused`.
    """
    folder, identity = Path(execution.cache_dir), run_id(config)
    if (Path(execution.results_dir) / "runs" / f"{identity}.parquet").exists():
        accuse(folder, f"stored before: {identity}")
    witness = os.open(folder / f"witness-{identity}", os.O_RDWR | os.O_CREAT, 0o600)  # held to the end of this process
    try:
        fcntl.flock(witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        accuse(folder, f"two at once: {identity}")
    asked = fake_jobs.asked_of(folder, identity)
    if asked in WAYS:
        fake_jobs.note(folder, identity)
        WAYS[asked]()
    made = fake_jobs.run(config, execution, progress)
    time.sleep(random.uniform(0.0, 0.08))
    draw = random.Random(identity)  # more pairs, so that writing takes a moment in which to be killed
    gold, cosine = [draw.uniform(0.0, 5.0) for _ in range(300)], [draw.uniform(-1.0, 1.0) for _ in range(300)]
    tests = SCALES[config.scale].tests
    return replace(made, pairs=tuple(PairBlock(task, "part", gold, cosine, [5] * 300, [7] * 300) for task in tests))


def accuse(folder: Path, what: str) -> None:
    with open(folder / "accused", "a") as file:
        file.write(f"{what}\n")


def memory() -> None:
    """Ask for more than the process may have."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    bytearray(1 << 30)


def long_log() -> None:
    """Fifty megabytes, at once and then slowly, and an end that must not be lost."""
    for _ in range(50):
        print("x" * ((1 << 20) - 1))
    time.sleep(0.6)
    raise ValueError("after a long log")


def unprintable() -> None:
    """An error whose text is long, in several lines and in another script."""
    raise ValueError("первая строка\nвторая строка 🙂\n" * 500)


WAYS = {
    "segfault": lambda: ctypes.string_at(0), "allocate": memory, "long log": long_log, "nothing": lambda: os._exit(0),
    "unprintable": unprintable,
}  # fmt: skip


def real(config, execution, progress) -> Result:
    """The real training; `behaviour.json` may ask for `constant`: an encoder that sends all sentences to one point."""
    from core.engine import job

    if fake_jobs.asked_of(Path(execution.cache_dir), run_id(config)) == "constant":
        load = job.load_encoder

        def constant(*arguments):
            encoder, tokenizer = load(*arguments)
            last = encoder.stack.layers[-1].norm
            last.weight.requires_grad_(False).zero_()
            last.bias.requires_grad_(False).fill_(0.5)
            return encoder, tokenizer

        job.load_encoder = constant
    return job.run(config, execution, progress)
