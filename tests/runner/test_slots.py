"""Slots of a machine between commands: any free one serves, and who waits is told for whom."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from desk import until

from core.runner import devices
from core.runner.devices import Resources, Slots, resources
from core.store import locks

ONE = ("mocose-table3", "--seeds", "1", "--cell", "0.85", "--jobs", "1")  # a command with one run


def slot(desk, number: int) -> Path:
    folder = desk.folder / "tmp" / f"run-study-slots-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"cpu.{number}.lock"


def held(desk, numbers) -> list[int]:
    found = [locks.hold(slot(desk, number)) for number in numbers]
    for number, descriptor in zip(numbers, found, strict=True):
        locks.say(descriptor, f"somebody's command {number}")
    return found


@pytest.fixture
def here(monkeypatch, tmp_path):
    """Four cores, plenty of memory, no GPU, and slots of the test's own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("core.runner.devices.cores", lambda: 4)
    monkeypatch.setattr("core.runner.devices.memory", lambda: 1 << 40)
    monkeypatch.setattr("core.runner.devices.visible_gpus", lambda: ())


def test_one_job_takes_any_free_slot(desk):
    if resources("mini", "cpu", None).slots < 2:
        pytest.skip("this machine has one slot")
    descriptors = held(desk, [0])
    try:
        done = desk.do(*ONE, "--time-limit", "60")
    finally:
        for descriptor in descriptors:
            locks.release(descriptor)
    assert done.returncode == 0 and len(desk.started()) == 1 and "taken" not in done.stdout, done.stdout


def test_with_no_slot_free_it_says_who_holds_them_and_goes_on_when_one_is(desk):
    slots = resources("mini", "cpu", None).slots
    descriptors = held(desk, range(slots))
    waiting = desk.start(*ONE)
    while "All slots" not in (line := waiting.stdout.readline()):
        assert line, waiting.stderr.read()
    assert f"cpu.0 by somebody's command 0; cpu.{slots - 1} by" in line if slots == 2 else "cpu.0 by somebody's command 0" in line
    assert not desk.started()
    locks.release(descriptors.pop())
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and len(desk.started()) == 1, (out, err)
    for descriptor in descriptors:
        locks.release(descriptor)


def test_a_command_says_what_it_is_in_its_slot(desk):
    release = desk.folder / "release"
    desk.behave_all(f"hold {release}")
    training = desk.start(*ONE)
    until(lambda: desk.started(), 120.0)
    said = locks.said(slot(desk, 0))
    release.touch()
    training.communicate(timeout=60)
    assert said.startswith("run_study.py mocose-table3 --seeds 1") and f"process {training.pid}" in said and "seed 0" in said
    assert not locks.held(slot(desk, 0))


def test_a_command_takes_no_more_than_its_share(here):
    slots = Slots(resources("demo", "cpu", 2))
    first, second = slots.take("a"), slots.take("b")
    assert slots.take("c") is None and "has its 2 runs going" in slots.full()
    slots.give_back(first)
    third = slots.take("c")
    assert third.name == first.name
    for one in (second, third):
        slots.give_back(one)


def test_a_run_has_as_many_threads_alone_as_beside_others(here, monkeypatch):
    monkeypatch.setattr("core.runner.devices.memory", lambda: 17 << 30)  # two real encoders
    alone = {resources("mini", "cpu", jobs).threads for jobs in (None, 1, 2)}
    other = Slots(resources("mini", "cpu", 1), "another command").take("its run")
    beside = {resources("mini", "cpu", jobs).threads for jobs in (None, 1, 2)}
    assert alone == beside == {2}
    assert list(devices.taken(resources("mini", "cpu", 1))) == ["cpu.0"]
    assert "another command" in devices.taken(resources("mini", "cpu", 1))["cpu.0"]
    locks.release(other.descriptor)
    assert resources("mini", "cpu", 4).threads == 1  # more at once than there are slots, by the user's choice


def test_one_run_may_go_to_any_gpu(here):
    assert Resources(device="cuda", jobs=1, threads=1, gpus=("0", "1", "5"), slots=3).names == ("gpu0.0", "gpu1.0", "gpu5.0")
    assert len(Resources(device="cuda", jobs=5, threads=1, gpus=("0", "1"), slots=2).names) == 6


def test_what_a_holder_says_cannot_move_a_terminal(tmp_path):
    descriptor = locks.hold(tmp_path / "a.lock")
    locks.say(descriptor, "x\x1b[2J\nsecond line " + "y" * 1000)
    said = locks.said(tmp_path / "a.lock")
    assert "\x1b" not in said and "\n" not in said and len(said) <= locks.WORDS and said.startswith("x")
    locks.say(descriptor, "short")
    assert locks.said(tmp_path / "a.lock") == "short" and locks.said(tmp_path / "none.lock") == ""
    locks.release(descriptor)
