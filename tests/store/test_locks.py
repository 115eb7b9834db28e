"""Claims and slots: held by one, free when the last holder's process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from desk import until
from places import ROOT

from core.runner.devices import Gpu, Resources, Slots, resources, visible_gpus
from core.spec.errors import UserError
from core.store import locks


def test_one_holds_and_the_others_do_not(tmp_path):
    first = locks.hold(tmp_path / "a.lock")
    assert first is not None and locks.hold(tmp_path / "a.lock") is None and locks.held(tmp_path / "a.lock")
    other = locks.hold(tmp_path / "b.lock")
    assert other is not None
    locks.release(first)
    assert not locks.held(tmp_path / "a.lock")
    again = locks.hold(tmp_path / "a.lock")
    assert again is not None
    locks.release(again)
    locks.release(other)


def test_a_long_wait_is_said_once_and_a_short_one_is_not(tmp_path, monkeypatch, capsys):
    """A command that was suspended holds what it holds, and whoever waits for it should know."""
    for patience, said in (
        (30.0, ""),
        (0.1, "Waiting for another command to end with the files of x; if it was suspended, let it go on or end it.\n"),
    ):
        monkeypatch.setattr(locks, "PATIENCE", patience)
        held = locks.hold(tmp_path / "a.lock")
        threading.Timer(0.4, locks.release, [held]).start()
        with locks.waiting(tmp_path / "a.lock", "the files of x"):
            assert locks.held(tmp_path / "a.lock")
        assert capsys.readouterr().out == said and not locks.held(tmp_path / "a.lock")


def test_asking_leaves_no_file(tmp_path):
    assert not locks.held(tmp_path / "never.lock") and not list(tmp_path.iterdir())


def test_a_lock_lives_as_long_as_the_child_that_inherited_it(tmp_path):
    lock = tmp_path / "a.lock"
    code = (
        "import os, subprocess, sys, time; sys.path.insert(0, sys.argv[2]); from pathlib import Path; from core.store import locks\n"
        "fd = locks.hold(Path(sys.argv[1])); child = subprocess.Popen(['sleep', '60'], pass_fds=[fd]); print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = str(ROOT)
    driver = subprocess.Popen([sys.executable, "-c", code, lock, root], stdout=subprocess.PIPE, text=True)
    child = int(driver.stdout.readline())
    driver.kill()
    driver.wait()
    assert locks.held(lock)
    os.kill(child, signal.SIGKILL)
    until(lambda: not locks.held(lock))


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made"):
        locks.hold(tmp_path / "file" / "a.lock")


def test_slots_are_shared_and_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    two = Resources(device="cpu", jobs=2, threads=1, gpus=())
    mine, theirs = Slots(two), Slots(two)
    a, b = mine.take(), theirs.take()
    assert {a.name, b.name} == {"cpu.0", "cpu.1"} and mine.take() is None and theirs.take() is None
    mine.give_back(a)
    assert theirs.take().name == a.name


def test_gpu_slots_show_a_run_one_device(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    three = Resources(device="cuda", jobs=3, threads=1, gpus=("0", "3"))
    assert three.names == ("gpu0.0", "gpu3.0", "gpu0.1", "gpu3.1")
    slots = Slots(three)
    assert [slots.take().environment["CUDA_VISIBLE_DEVICES"] for _ in range(3)] == ["0", "3", "0"]


@pytest.mark.parametrize(
    "setting, present, seen",
    [
        (None, 2, ("0", "1")),
        ("", 2, ()),
        ("1", 2, ("1",)),
        ("0,-1,1", 2, ("0",)),
        ("GPU-0a, 1", 2, ("GPU-0a", "1")),
        ("0", 0, ()),
        ("0,0,1", 2, ("0", "1")),
        ("0,7,1", 2, ("0",)),
    ],
)
def test_visible_gpus_follow_the_environment(setting, present, seen, monkeypatch):
    monkeypatch.setattr("core.runner.devices._present", lambda: tuple(Gpu(f"GPU-{place}ab", None) for place in range(present)))
    assert tuple(visible_gpus({} if setting is None else {"CUDA_VISIBLE_DEVICES": setting})) == seen


def test_jobs_and_threads_fill_the_cores(monkeypatch):
    monkeypatch.setattr("core.runner.devices.cores", lambda: 8)
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)
    assert (resources("demo", "auto", None).jobs, resources("demo", "auto", None).threads) == (8, 1)
    for gigabytes, jobs, threads in ((64, 8, 1), (23, 2, 4), (4, 1, 8)):
        monkeypatch.setattr("core.runner.devices.memory", lambda gigabytes=gigabytes: gigabytes << 30)
        assert (resources("mini", "auto", None).jobs, resources("mini", "auto", None).threads) == (jobs, threads)
        assert resources("demo", "auto", None).jobs == 8
    assert (resources("mini", "cpu", 3).jobs, resources("mini", "cpu", 3).threads) == (3, 2)
    with pytest.raises(UserError, match="no GPU is visible"):
        resources("demo", "cuda", None)
    monkeypatch.setattr("core.runner.devices.visible_gpus", lambda: {name: Gpu("", 1 << 40) for name in "01"})
    assert (resources("paper", "auto", None).jobs, resources("paper", "auto", None).threads) == (4, 2)


def test_a_slot_folder_that_is_a_link_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"run-study-slots-{os.getuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match="is a link or belongs to another user"):
        locks.slot_folder()
