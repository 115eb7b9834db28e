"""Standard streams that are full, broken, or too narrow: the command does its work and ends as it should."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from desk import SIX, Desk, until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def through_a_shell(desk):
    """The command with descriptors closed or sent elsewhere, in the shell's own words; one that hangs is ended with the test."""
    begun = []

    def begin(redirection: str, *arguments: str) -> subprocess.Popen:
        begun.append(started(desk, redirection, *arguments))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()


def started(desk: Desk, redirection: str, *arguments: str) -> subprocess.Popen:
    words = [sys.executable, str(ROOT / "tests" / "support" / "driver.py"), *arguments, "--scale", "mini", "--data-dir", str(desk.folder / "data"),
             "--encoder", str(desk.folder / "encoder")]  # fmt: skip
    return subprocess.Popen(["sh", "-c", f"exec {shlex.join(words)} {redirection}"], env=desk.environment(), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)  # fmt: skip


def test_a_stop_is_no_error_where_its_note_cannot_be_written(desk, through_a_shell):
    desk.behave_all("sleep 60")
    driver = through_a_shell("2>/dev/full", *SIX)
    until(lambda: len(desk.started()) == 2)
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=30)
    assert driver.returncode == 130 and "6 runs are still to be trained" in out, out


def listing(redirection: str, **environment: str) -> subprocess.CompletedProcess:
    words = shlex.join([sys.executable, str(ROOT / "run_study.py"), "--list"])
    return subprocess.run(["sh", "-c", f"{words} {redirection}"], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment}, timeout=60)  # fmt: skip


def test_a_reader_who_has_had_enough_is_no_error():
    found = listing("| true; echo done")
    assert (found.stdout, found.stderr) == ("done\n", "")


def test_an_output_that_is_full_is_a_sentence_and_status_2():
    found = listing(">/dev/full")
    assert found.returncode == 2 and found.stderr.count("\n") == 1 and "disk is full" in found.stderr, (
        found.stderr
    )


def test_letters_that_the_terminal_has_not_are_written_as_escapes():
    words = [sys.executable, str(ROOT / "run_study.py"), "größe", "--plan"]
    found = subprocess.run(
        words, check=False, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=60
    )
    assert found.returncode == 2 and b"gr\\xf6" in found.stderr and b"Traceback" not in found.stderr, (
        found.stderr
    )
