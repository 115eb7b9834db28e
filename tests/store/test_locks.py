"""Locks: held by one, free when the last holder's process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from desk import until
from places import ROOT

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


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    """As a cleaner of temporary files does: else two would hold one slot."""
    path, real = tmp_path / "a.lock", locks._opened

    def removed(path):
        descriptor = real(path)
        monkeypatch.setattr(locks, "_opened", real)
        path.unlink()
        return descriptor

    monkeypatch.setattr(locks, "_opened", removed)
    first = locks.hold(path)
    assert locks.held(path) and locks.hold(path) is None
    locks.release(first)


def test_a_long_wait_is_said_once_and_a_short_one_is_not(tmp_path, monkeypatch, capsys):
    """A command that was suspended holds what it holds, and whoever waits for it should know."""
    for patience, said in (
        (30.0, ""),
        (
            0.1,
            "Waiting for another command to end with the files of x; if it was suspended, let it go on or end it.\n",
        ),
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
