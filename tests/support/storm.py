"""Storms on the real command line: kills, crowds and damaged files. A storm ends with
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

from desk import Desk

from core.errors import UserError

JOB = {"FAKE_JOB": "tests.support.fake_jobs:witnessed"}
STUDY = "mocose-table3"  # six cells
EARLY = 0.2  # of the commands may be shot before they train


def start(desk: Desk, seeds: int, *words: str, **more: str):
    """The command that a storm rages over, as a process."""
    return desk.start(STUDY, "--seeds", str(seeds), "--jobs", "3", *words, **JOB, **more)


def again(desk: Desk, seeds: int) -> str:
    """One command to its end; what it printed."""
    driver = start(desk, seeds)
    out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0 and "Traceback" not in err, out + err
    return out


def undisturbed(folder: Path, seeds: int) -> dict[str, bytes]:
    """Every file of runs and pairs of the table in quiet, by folder and name."""
    desk = Desk(folder)
    again(desk, seeds)
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


def kill_storm(
    folder: Path, expected: dict[str, bytes], count: int, seed: int = 0
) -> tuple[Counter, int]:
    """Tables under fire until so many processes were killed; every table is brought to its end,
    which must be `expected`. Kills by kind, and the number of tables."""
    rng = random.Random(seed)
    kills = Counter()
    tables = 0
    seeds = len(expected) // 12
    while kills.total() < count:
        desk = Desk(folder / f"storm{tables}")
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
        tables += 1
        print(kills, f"{tables} complete tables", flush=True)
        shutil.rmtree(desk.folder)
    return kills, tables


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
    limit = time.monotonic() + 20
    while any(processes(desk)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes(desk) == ([], []), "processes are left"
    assert contents(desk) == expected
    for run in desk.store.runs():
        assert not desk.store.claimed(run) and not desk.store.failure(run)
    for lock in desk.cache.rglob("*.lock"):
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if a slot is still taken
    assert not (desk.cache / "accused").exists(), (desk.cache / "accused").read_text()


def driver_storm(folder: Path, expected: dict[str, bytes], count: int) -> list[int]:
    """`count` commands at once on one folder, every second one by another path and from another
    "host" (its own slots); how many runs each trained."""
    desk = Desk(folder / "shared")
    seeds = len(expected) // 12
    (desk.folder / "mounted").symlink_to(desk.folder / "home", target_is_directory=True)
    paths = [str(desk.results), str(desk.folder / "mounted" / "results")]
    desk.behave_all("sleep 0.4")
    drivers = [
        start(desk, seeds, "--results-dir", paths[i % 2], FAKE_HOST=f"host{i % 2}")
        for i in range(count)
    ]
    ends = [driver.communicate(timeout=300) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0] * count, ends
    trained = [
        int(out.split("Trained ")[1].split()[0]) if "Trained " in out else 0 for out, _ in ends
    ]
    assert sum(trained) == 6 * seeds and max(Counter(desk.started()).values()) == 1, trained
    assert not any("FAILED" in out for out, _ in ends)
    complete(desk, expected)
    return trained


def harm(path: Path, way: str, other: Path, rng: random.Random) -> None:
    """Flip a bit, cut the end, swap with another file, or put a folder in the place of a file."""
    content = bytearray(path.read_bytes())
    if way == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif way == "cut":
        del content[rng.randrange(len(content)) :]
    elif way == "swap":
        content, _ = other.read_bytes(), other.write_bytes(content)
    path.write_bytes(content)
    if way == "folder":
        path.unlink()
        path.mkdir()


def corrupt_storm(place: Path, expected: dict[str, bytes], seed: int = 0) -> int:
    """Harm half of the runs, and then half of their pairs, and mend them by one command each: no
    wrong number is read, and what is not believed is named, set aside and trained again. How many
    files that were."""
    desk = Desk(place / "harmed")
    rng = random.Random(seed)
    seeds = len(expected) // 12
    desk.store.prepare()
    for name, content in expected.items():
        (desk.results / name).write_bytes(content)
    for kind, read in (("runs", desk.store.load), ("pairs", desk.store.load_pairs)):
        files = sorted((desk.results / kind).iterdir())
        refused = []
        rng.shuffle(files)
        for number, way in enumerate(["flip", "cut", "swap", "folder", "flip", "cut"]):
            harm(files[number], way, files[-1], rng)
        for path in files:
            content = expected[f"{kind}/{path.name}"]
            try:
                believed = read(path.stem)
            except UserError as error:
                assert str(path) in str(error), error
                refused.append(path)
                continue
            # a bit may carry nothing, such as the name of the writing library
            path.write_bytes(content)
            sound = read(path.stem)
            assert believed.rows.equals(sound.rows) if kind == "runs" else believed.equals(sound), (
                path
            )
        before = len(list((desk.results / "damaged").glob("*")))
        out = again(desk, seeds)
        for path in refused:
            lines = [line for line in out.splitlines() if str(path) in line]
            assert any("set aside as" in line for line in lines), (path, out)
        assert len(list((desk.results / "damaged").iterdir())) == before + len(refused) > 5
        # a run that is done without its pairs is trained again when it is deleted
        for path in refused if kind == "pairs" else ():
            (desk.results / "runs" / path.name).unlink()
    again(desk, seeds)
    assert contents(desk) == expected
