"""Storms on the real command line: kills and crowds. A storm ends with
AssertionError at the first broken promise."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

from desk import Desk, until

JOB = {"FAKE_JOB": "tests.support.fake_jobs:witnessed"}
STUDY = "mocose-table3"  # six cells
EARLY = 0.2  # of the commands may be shot before they train


def start(desk: Desk, seeds: int, *words: str, **more: str):
    """The command that a storm rages over, as a process."""
    return desk.start(STUDY, "--seeds", str(seeds), "--jobs", "3", *words, **JOB, **more)


def undisturbed(folder: Path, seeds: int) -> dict[str, bytes]:
    """Every file of runs and pairs of the table in quiet, by folder and name."""
    desk = Desk(folder)
    driver = start(desk, seeds)
    out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0 and "Traceback" not in err, out + err
    return contents(desk)


def contents(desk: Desk) -> dict[str, bytes]:
    """Files of runs and pairs, by folder and name, hidden ones too."""
    files = (path for kind in ("runs", "pairs") for path in (desk.results / kind).iterdir())
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}


def processes(desk: Desk) -> tuple[list[int], list[int]]:
    """Workers and children of this desk that are alive, orphans too, known by environment and
    log."""
    workers = []
    children = []
    mark = f"FAKE_HOME={desk.folder / 'home'}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                ours = mark in (entry / "environ").read_bytes().split(b"\0")
                if ours and b"core.runner.worker" in (entry / "cmdline").read_bytes():
                    log = os.readlink(entry / "fd" / "2")
                    (workers if log.endswith("worker.log") else children).append(int(entry.name))
    return workers, children


def kill_storm(folder: Path, expected: dict[str, bytes], count: int) -> None:
    """Tables under fire until so many processes were killed; every table is brought to its end,
    which must be `expected`."""
    rng = random.Random(1)
    kills = Counter()  # by kind
    seeds = len(expected) // 12
    while kills.total() < count:
        desk = Desk(folder / f"storm{kills.total()}")
        stamps = {}
        status = None
        while status != 0:
            driver = start(desk, seeds, REAL_WORKER="yes")  # which `processes` knows
            early = rng.random() < EARLY
            while kills.total() < count and driver.poll() is None:
                # a run takes 0.1 s
                time.sleep(0.1 * rng.choice((0.0, 0.2, 0.5, 1.0)) * rng.random())
                shoot(desk, driver, rng, kills, early)
            out, err = driver.communicate(timeout=120)
            status = driver.returncode
            assert "Traceback" not in err and status in (0, 1, 2, -9), f"{status}: {out}{err}"
            assert status != 2 or "could not be started (it was killed)" in err, err
            # a stored run is never written again
            for path in (desk.results / "runs").glob("[0-9a-f]*"):
                stamp = path.stat().st_ino, path.stat().st_mtime_ns
                assert stamps.setdefault(path, stamp) == stamp, f"{path} was stored twice"
        complete(desk, expected)
        print(kills, flush=True)
        shutil.rmtree(desk.folder)


def shoot(desk: Desk, driver, rng: random.Random, kills: Counter, early: bool) -> None:
    """Kill something of this desk at this moment, before its first training only if `early`."""
    workers, children = processes(desk)
    if not children and (not early or rng.random() < 0.95):
        # on a slow machine most of a command's life is its start; the storm is for what comes then
        return
    targets = {
        "children": children and [rng.choice(children)],
        "workers": workers and [rng.choice(workers)],
        "drivers": [driver.pid],
        "at once": [driver.pid, *workers, *children],
    }
    what = rng.choices(list(targets), weights=(80, 4, 6, 3))[0]
    for pid in targets[what]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # looked up a moment ago, by the desk's own mark
            kills[what] += 1


def complete(desk: Desk, expected: dict[str, bytes]) -> None:
    """The table is whole, equal to the undisturbed one byte for byte, and nothing that blocks is
    left."""
    until(lambda: not any(processes(desk)))
    assert contents(desk) == expected
    for run in desk.store.runs():
        assert not desk.store.claimed(run) and not desk.store.failure(run)
    for lock in desk.cache.rglob("*.lock"):
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if a slot is still taken
    assert not (desk.cache / "accused").exists(), (desk.cache / "accused").read_text()


def driver_storm(folder: Path, expected: dict[str, bytes], count: int) -> None:
    """`count` commands at once on one folder, every second one by another path and from another
    "host" (its own slots)."""
    desk = Desk(folder / "shared")
    seeds = len(expected) // 12
    (desk.folder / "mounted").symlink_to(desk.folder / "home", target_is_directory=True)
    paths = [str(desk.results), str(desk.folder / "mounted" / "results")]
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    drivers = [
        start(desk, seeds, "--results-dir", paths[i % 2], FAKE_HOST=f"host{i % 2}")
        for i in range(count)
    ]
    until(lambda: len(desk.started()) > 3, 60)  # one command trains three at once
    gate.touch()
    ends = [driver.communicate(timeout=300) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0] * count, ends
    trained = [
        int(out.split("Trained ")[1].split()[0]) if "Trained " in out else 0 for out, _ in ends
    ]
    assert sum(trained) == 6 * seeds and max(Counter(desk.started()).values()) == 1, trained
    assert sum(runs > 0 for runs in trained) > 1, trained
    assert not any("FAILED" in out for out, _ in ends)
    complete(desk, expected)
