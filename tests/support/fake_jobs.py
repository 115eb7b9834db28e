"""A job without torch, whose behaviour a test chooses: `<cache_dir>/behaviour.json` maps run ids
(or "*") to what to do.

Each start is noted in `<cache_dir>/started`, so that tests can count trainings.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

from core.config.identity import run_id
from core.config.result import Measurement, PairBlock, Result
from core.config.scale import SCALES
from core.errors import UserError


class OutOfMemoryError(RuntimeError):
    """As torch's is called, which takes seconds to import."""


def run(config, execution, progress) -> Result:
    """Do what the test asked for, then leave numbers that follow from the configuration alone."""
    folder = Path(execution.cache_dir)
    identity = run_id(config)
    places = [os.environ.get(f"CUDA_{name}") for name in ("VISIBLE_DEVICES", "MPS_PIPE_DIRECTORY")]
    with open(folder / "started", "a") as file:
        print(identity, os.getpid(), *places, file=file)
    progress({"phase": "train", "step": 0, "total": 10, "rate": 5.0, "dev": None})
    file = folder / "behaviour.json"
    asked = json.loads(file.read_text()) if file.exists() else {}
    behave(*asked.get(identity, asked.get("*", "")).split())
    progress({"phase": "train", "step": 10, "total": 10, "rate": 5.0, "dev": 50.0})
    commit = folder / "commit"
    about = {"made": "up", "commit": commit.read_text()[:12] if commit.exists() else "unknown"}
    return replace(made_result(config), provenance=about)


def behave(word: str = "", argument: str = "") -> None:
    """sleep S, hold FILE (until it is there), deaf FILE (to SIGTERM, once it is there), raise, refuse, cuda (short of its
    memory), exit N, kill N (a signal to itself), or nothing."""
    match word:
        case "sleep":
            time.sleep(float(argument))
        case "hold":
            while not os.path.exists(argument):
                time.sleep(0.02)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Path(argument).touch()
            time.sleep(60)
        case "raise":
            print("x" * 1000)
            raise ValueError("the job broke on purpose")
        case "refuse":
            raise UserError("This run was refused; give it another try.")
        case "cuda":
            raise OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 20.00 MiB. "
                + "GPU 0 has a total capacity. " * 20
            )
        case "exit":
            os._exit(int(argument))
        case "kill":
            os.kill(os.getpid(), int(argument))
            signal.pause()


def made_result(config) -> Result:
    """Rows and pairs as a real run would leave them."""
    scale = SCALES[config.scale]
    value = int(run_id(config)[:4], 16) / 1000 + 0.1
    rows = [
        Measurement("selected", task, f"spearman_{aggregate}", config.train.steps, value)
        for task in (*scale.tests, "avg", "dev")
        for aggregate in ("all", "mean", "wmean")
    ]
    pairs = tuple(
        PairBlock(task, "part", [0.0, 2.5, 5.0], [0.1, 0.2, 0.9], [5, 6, 5_000], [7, 8, 9])
        for task in scale.tests
    )
    return Result(status="ok", rows=tuple(rows), pairs=pairs, provenance={"made": "up"})


def witnessed(config, execution, progress) -> Result:
    """The same for storms, taking a random moment. Started while another is at the same run, or
    when the run is stored already, it says so in `<cache_dir>/accused`."""
    folder = Path(execution.cache_dir)
    identity = run_id(config)
    if (Path(execution.results_dir) / "runs" / f"{identity}.parquet").exists():
        accuse(folder, f"stored before: {identity}")
    # held to the end of this process
    witness = os.open(folder / f"witness-{identity}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(witness, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        accuse(folder, f"two at once: {identity}")
    made = run(config, execution, progress)
    time.sleep(random.uniform(0.0, 0.08))
    # more pairs, so that writing takes a moment in which to be killed
    draw = random.Random(identity)
    gold = [draw.uniform(0.0, 5.0) for _ in range(300)]
    cosine = [draw.uniform(-1.0, 1.0) for _ in range(300)]
    tests = SCALES[config.scale].tests
    return replace(
        made,
        pairs=tuple(PairBlock(task, "part", gold, cosine, [5] * 300, [7] * 300) for task in tests),
    )


def accuse(folder: Path, what: str) -> None:
    with open(folder / "accused", "a") as file:
        file.write(f"{what}\n")


def silent(report) -> None:
    """Never answer, as a GPU may."""
    time.sleep(60)
