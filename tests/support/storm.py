"""Storms: kill, crowd and corrupt the real command line for as long as wanted, and count what it survived.

    python -m tests.support.storm kill --kills 1000      SIGKILL to driver, nursery, children or all of them, until tables are complete
    python -m tests.support.storm drivers --count 4      so many commands at once on one results folder, by two paths
    python -m tests.support.storm corrupt --count 200    flip, cut, swap, rename and replace stored files

`test_storms.py` runs short ones. A storm ends with AssertionError at the first broken promise.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2])]

import harm
from desk import Desk

import studies
from core.runner.plan import PlannedRun, plan

JOB = {"FAKE_JOB": "tests.support.storm_jobs:run"}
STUDY = "mocose-table7"  # twenty cells
EARLY = 0.2  # of the commands may be shot before they train


@dataclass(frozen=True)
class Command:
    """What a storm rages over. `real` trains in earnest, so that a run's seconds differ and its numbers alone are compared."""

    words: tuple[str, ...] = (STUDY,)
    scale: str = "mini"
    job: str = JOB["FAKE_JOB"]
    real: bool = False

    def start(self, desk: Desk, seeds: int):
        """The command as a process."""
        return desk.start(*self.words, "--seeds", str(seeds), "--jobs", "3", scale=self.scale, FAKE_JOB=self.job)


FAST = Command()
SMALL = ("--set", "train.steps=4", "--set", "eval.every=2", "--set", "train.batch_size=16")
REAL = Command(("esimcse-table11", *SMALL), "demo", "core.engine.job:run", real=True)


def planned(desk: Desk, seeds: int, study: str = STUDY) -> tuple[PlannedRun, ...]:
    """The runs that a storm's table is made of."""
    return plan([studies.find(study)], desk.edition(seeds), desk.store).runs


def undisturbed(folder: Path, seeds: int, command: Command = FAST) -> dict[str, bytes]:
    """Every file of runs and pairs of the table in quiet, by folder and name."""
    desk = Desk(folder)
    driver = command.start(desk, seeds)
    out, err = driver.communicate(timeout=600)
    assert driver.returncode == 0, out + err
    return contents(desk, command.real)


def contents(desk: Desk, real: bool = False) -> dict[str, bytes]:
    """Files of runs and pairs, by folder and name, hidden ones too; of real runs the numbers."""
    found = {f"{kind}/{p.name}": p.read_bytes() for kind in ("runs", "pairs") for p in (desk.results / kind).iterdir()}
    if real:
        found |= {f"runs/{run}.parquet": desk.store.load(run).rows.to_csv(float_format="%.17g").encode() for run in desk.store.runs()}
    return found


@dataclass
class Figures:
    """What a storm did."""

    tables: int = 0
    commands: int = 0
    kills: Counter = field(default_factory=Counter)

    def __str__(self) -> str:
        kills = ", ".join(f"{n} {what}" for what, n in sorted(self.kills.items()))
        return f"{sum(self.kills.values())} kills ({kills}), {self.commands} commands, {self.tables} complete tables, nothing lost"


def processes(desk: Desk) -> tuple[list[int], list[int]]:
    """Worker and children of this desk that are alive, orphans too, told by their environment; a child has the worker for its
    parent, or had."""
    nurseries, children = [], []
    mark = f"FAKE_HOME={desk.folder / 'home'}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if b"core.runner.worker" in (entry / "cmdline").read_bytes() and mark in (entry / "environ").read_bytes().split(b"\0"):
                log = os.readlink(entry / "fd" / "2")
                (nurseries if log.endswith("worker.log") else children).append(int(entry.name))
    return nurseries, children


def kill_storm(
    folder: Path,
    expected: dict[str, bytes],
    kills: int,
    seed: int = 0,
    seconds: float = 1e9,
    command: Command = FAST,
    pace: float = 0.1,
) -> Figures:
    """Tables under fire until so many processes were killed; every table is brought to its end, which must be `expected`.

    `pace` is what a run takes in quiet, in seconds: there are some five shots in that time, so that some runs come through.
    """
    rng, figures, end, seeds = (
        random.Random(seed),
        Figures(),
        time.monotonic() + seconds,
        len(expected) // (10 if command.real else 40),
    )
    while sum(figures.kills.values()) < kills and time.monotonic() < end:
        desk = Desk(folder / f"storm{figures.tables}")
        seen: dict[str, tuple[int, int]] = {}
        for attempt in range(10_000):
            left = kills - sum(figures.kills.values())
            driver = command.start(desk, seeds)
            figures.commands += 1
            early = rng.random() < EARLY
            while left > 0 and driver.poll() is None:
                time.sleep(pace * rng.choice((0.0, 0.2, 0.5, 1.0)) * rng.random())
                left -= shoot(desk, driver, rng, figures.kills, early)
            out, err = driver.communicate(timeout=120)
            assert "Traceback" not in err, err
            assert driver.returncode in (0, 1, 2, -9), f"{driver.returncode}: {out}{err}"
            assert driver.returncode != 2 or "could not be started (it was killed)" in err, err
            immutable(desk, seen)
            if driver.returncode == 0:
                break
            assert attempt < 9_999
        complete(desk, expected, command.real)
        figures.tables += 1
        print(figures, flush=True)
        shutil.rmtree(desk.folder)
    return figures


def shoot(desk: Desk, driver, rng: random.Random, kills: Counter, early: bool) -> int:
    """Kill something of this desk at this moment, before its first training only if `early`; how many processes that was."""
    nurseries, children = processes(desk)
    if not children and (not early or rng.random() < 0.95):
        return 0  # on a slow machine most of a command's life is its start; the storm is for what comes then
    targets = {
        "children": children and [rng.choice(children)],
        "nurseries": nurseries and [rng.choice(nurseries)],
        "drivers": [driver.pid],
        "at once": [driver.pid, *nurseries, *children],
    }
    what = rng.choices(list(targets), weights=(80, 4, 6, 3))[0]
    shot = 0
    for pid in targets[what] or ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # looked up a moment ago, by the desk's own mark
            shot += 1
    kills[what] += shot
    return shot


def immutable(desk: Desk, seen: dict[str, tuple[int, int]]) -> None:
    """A stored run is never written again: its file stays the same file."""
    for run in desk.store.runs():
        stamp = desk.store.stamp(run)
        assert seen.setdefault(run, stamp) == stamp, f"{run} was stored twice"


def complete(desk: Desk, expected: dict[str, bytes], real: bool = False) -> None:
    """The table is whole, equal to the undisturbed one byte for byte, and nothing that blocks is left."""
    limit = time.monotonic() + 20
    while any(processes(desk)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert processes(desk) == ([], []), "processes are left"
    found = contents(desk, real)
    assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())
    assert all(found[name] == content for name, content in expected.items())
    for run in desk.store.runs():
        assert desk.store.load(run).run_id == run and desk.store.load_pairs(run) is not None
        assert not desk.store.claimed(run) and desk.store.failure(run) is None
    for lock in desk.cache.rglob("*.lock"):
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if a slot is still taken
    assert not (desk.cache / "accused").exists(), (desk.cache / "accused").read_text()


def driver_storm(folder: Path, expected: dict[str, bytes], count: int) -> dict[str, int]:
    """`count` commands at once on one folder, every second one by another path and from another "host" (its own slots); who trained how many."""
    desk, seeds = Desk(folder / "shared"), len(expected) // 40
    aliases = [desk.folder / "home" / "results", alias(desk)]
    desk.behave_all("sleep 0.05")
    drivers = []
    for i in range(count):
        here = ("--results-dir", str(aliases[i % 2]))
        drivers.append(desk.start(STUDY, "--seeds", str(seeds), "--jobs", "2", *here, FAKE_HOST=f"host{i % 2}", **JOB))
    ends = [driver.communicate(timeout=300) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0] * count, ends
    total = 20 * seeds
    trained = [int(out.split("Trained ")[1].split()[0]) if "Trained " in out else 0 for out, _ in ends]
    assert sum(trained) == total and max(Counter(desk.started()).values()) == 1, trained
    for driver_out, _ in ends:
        assert "FAILED" not in driver_out
    complete(desk, expected)
    return {f"driver {i}": n for i, n in enumerate(trained)}


def alias(desk: Desk) -> Path:
    """The results folder under another path, as another host might mount it."""
    (desk.folder / "home" / "results").mkdir(parents=True, exist_ok=True)
    other = desk.folder / "mounted"
    other.symlink_to(desk.folder / "home", target_is_directory=True)
    return other / "results"


def corrupt_storm(place: Path, expected: dict[str, bytes], count: int, seed: int = 0, each: int = 10) -> Counter:
    """Harm `count` stored files, `each` before every command; each harmed one is named, set aside and trained again."""

    def command(desk: Desk):
        return desk.do(STUDY, "--seeds", "1", "--jobs", "3", **JOB)

    return harm.harm_files(place, expected, count, seed, each, command, contents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("storm", choices=("kill", "drivers", "corrupt"))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--real", action="store_true", help="kill real trainings of four steps at scale demo")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no new table after so long")
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="storm-") as place:
        match given.storm:
            case "kill":
                command = REAL if given.real else FAST
                expected = undisturbed(Path(place) / "quiet", 3, command)
                pace = (time.monotonic() - began) / (len(expected) / 2)
                print(f"Undisturbed a run takes {pace:.1f} s.", flush=True)
                kill_storm(Path(place), expected, given.kills, given.seed, given.seconds, command, pace)
            case "drivers":
                print(
                    f"{given.count} commands on one folder, 60 runs, none trained twice: {driver_storm(Path(place), undisturbed(Path(place) / 'quiet', 3), given.count)}"
                )
            case "corrupt":
                harmed = corrupt_storm(Path(place), undisturbed(Path(place) / "quiet", 1), given.count, given.seed, each=20)
                print(f"{sum(harmed.values())} files harmed, none read wrongly, none lost: {dict(sorted(harmed.items()))}")
    print(f"{time.monotonic() - began:.0f} s, seed {given.seed}")


if __name__ == "__main__":
    main()
