"""Drawing that is killed at any moment: what is there is whole, and what is left over is swept by the next drawing."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time

import pytest
from desk import Desk
from fake_jobs import made_result
from storm import planned

from core.store import files, locks

DRAW = ("esimcse-table11", "--seeds", "1", "--regenerate-figures")


def drawn(desk: Desk) -> dict[str, bytes]:
    folders = (desk.results / "mini", desk.folder / "home" / "figures")
    return {
        str(p.relative_to(desk.folder)): p.read_bytes()
        for folder in folders
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.fixture
def trained(desk) -> Desk:
    for run in planned(desk, 1, "esimcse-table11"):
        desk.store.save(run.config, made_result(run.config))
    return desk


def test_kills_while_drawing_leave_whole_files_and_the_next_drawing_sweeps(trained):
    desk, rng = trained, random.Random(3)
    done = desk.do(*DRAW, REAL_REPORT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    expected = drawn(desk)
    assert any(name.endswith(".pdf") for name in expected)
    for _ in range(3):
        for name in expected:
            (desk.folder / name).write_bytes(b"old")
        driver = desk.start(*DRAW, REAL_REPORT="1")
        time.sleep(rng.uniform(1.0, 4.0))
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        assert all(
            content in (b"old", expected[name]) for name, content in drawn(desk).items() if name in expected
        )
    for folder in (desk.results / "mini" / "paper", desk.folder / "home" / "figures" / "mini" / "paper"):
        (folder / ".esimcse-table11.md.0123.tmp").write_text("half")  # what a kill between two calls leaves
    assert desk.do(*DRAW, REAL_REPORT="1").returncode == 0
    assert drawn(desk) == expected


def test_what_another_command_is_drawing_at_this_moment_is_not_swept(tmp_path):
    place, swept = tmp_path / ".locks" / "drawing.lock", []
    first = locks.share(place, lambda: swept.append("first"))
    second = locks.share(place, lambda: swept.append("second"))
    assert swept == ["first"]
    locks.release(first)
    third = locks.share(place, lambda: swept.append("third"))
    assert swept == ["first"]  # the second is still at it
    locks.release(second)
    locks.release(third)
    locks.release(locks.share(place, lambda: swept.append("fourth")))
    assert swept == ["first", "fourth"]


def test_who_is_alone_keeps_others_waiting_until_it_has_swept(tmp_path):
    place, other = tmp_path / "drawing.lock", []
    code = f"from core.store import locks; from pathlib import Path; locks.share(Path({str(place)!r}), lambda: print('alone')); print('in')"

    def alone() -> None:
        other.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True))
        time.sleep(1.5)
        assert other[0].poll() is None  # it waits

    held = locks.share(place, alone)
    assert other[0].communicate(timeout=30)[0] == "in\n"
    locks.release(held)


def test_only_what_writers_leave_is_swept(tmp_path):
    for name in (".a.md.12.tmp", ".hidden", "b.tmp", "c.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".folder.tmp").mkdir()
    files.sweep_all([tmp_path, tmp_path / "none"])
    assert sorted(p.name for p in tmp_path.iterdir()) == [".folder.tmp", ".hidden", "b.tmp", "c.md"]


def test_a_private_umask_is_respected_by_every_file(trained):
    driver = trained.start(*DRAW, REAL_REPORT="1", preexec_fn=lambda: os.umask(0o077))
    out, err = driver.communicate(timeout=200)
    assert driver.returncode == 0, out + err
    new = [
        p
        for folder in (trained.results / "mini", trained.folder / "home" / "figures")
        for p in folder.rglob("*")
        if p.is_file()
    ]
    assert new and all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in new)
