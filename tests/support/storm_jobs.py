"""A job for storms, which bears witness against a runner that starts a run twice."""

from __future__ import annotations

import fcntl
import os
import random
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
    made = fake_jobs.run(config, execution, progress)
    time.sleep(random.uniform(0.0, 0.08))
    draw = random.Random(identity)  # more pairs, so that writing takes a moment in which to be killed
    gold, cosine = [draw.uniform(0.0, 5.0) for _ in range(300)], [draw.uniform(-1.0, 1.0) for _ in range(300)]
    tests = SCALES[config.scale].tests
    return replace(made, pairs=tuple(PairBlock(task, "part", gold, cosine, [5] * 300, [7] * 300) for task in tests))


def accuse(folder: Path, what: str) -> None:
    with open(folder / "accused", "a") as file:
        file.write(f"{what}\n")
