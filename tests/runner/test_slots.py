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
        locks.note_holder(descriptor, f"somebody's command {number}")
    return found


@pytest.fixture
def here(monkeypatch, tmp_path):
    """Four cores, plenty of memory, no GPU, and slots of the test's own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("core.runner.devices.cores", lambda: 4)
    monkeypatch.setattr("core.runner.devices.memory", lambda: 1 << 40)
    monkeypatch.setattr("core.runner.devices.visible_gpus", dict)


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
    said = locks.holder(slot(desk, 0))
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


@pytest.fixture
def card(monkeypatch, tmp_path):
    """A machine of eight cores whose nvidia-smi lists what a test gives: UUID, MIG mode and free MiB of each GPU."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("core.runner.devices.cores", lambda: 8)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def lists(*gpus: str, status: int = 0) -> None:
        lines = "".join(f"{place}, {gpu}\n" for place, gpu in enumerate(gpus))
        script = tmp_path / "nvidia-smi"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}END\nexit {status}\n")
        script.chmod(0o755)

    return lists


@pytest.mark.parametrize(
    "free, paper, mini",
    [
        (("81000", "81000"), ("gpu0.0", "gpu1.0", "gpu0.1", "gpu1.1"), ("gpu0.0", "gpu1.0", "gpu0.1", "gpu1.1")),
        (("16384", "16383"), ("gpu0.0", "gpu1.0", "gpu0.1"), ("gpu0.0", "gpu1.0", "gpu0.1", "gpu1.1")),
        (("4095", "[N/A]"), ("gpu0.0", "gpu1.0"), ("gpu0.0", "gpu1.0")),
        (("4096", "100"), ("gpu0.0", "gpu1.0"), ("gpu0.0", "gpu1.0", "gpu0.1")),
    ],
)
def test_a_gpu_has_two_slots_as_far_as_its_free_memory_goes(card, free, paper, mini):
    card(*(f"GPU-{place}a, Disabled, {memory}" for place, memory in enumerate(free)))
    for scale, names in (("paper", paper), ("mini", mini), ("demo", mini)):
        found = resources(scale, "auto", None)
        assert (found.device, found.jobs, found.names) == ("cuda", len(names), names)
        assert found.threads == 2  # of four slots, whatever memory is free just now


def test_jobs_of_the_user_s_are_taken_as_given(card):
    card("GPU-0a, Disabled, 100", "GPU-1a, Disabled, 20000")
    one = resources("paper", "cuda", 1)
    assert one.jobs == 1 and one.names == ("gpu0.0", "gpu1.0", "gpu1.1")
    six = resources("paper", "cuda", 6)
    assert six.jobs == 6 and six.names == ("gpu0.0", "gpu1.0", "gpu0.1", "gpu1.1", "gpu0.2", "gpu1.2") and six.threads == 1


@pytest.mark.parametrize(
    "setting, names",
    [
        (None, ("gpu0.0", "gpu1.0", "gpu0.1")),
        ("1", ("gpu1.0",)),
        ("1,0", ("gpu1.0", "gpu0.0", "gpu0.1")),
        ("GPU-aa01", ("gpuGPU-aa01.0", "gpuGPU-aa01.1")),
        ("GPU-aa", ("gpuGPU-aa.0", "gpuGPU-aa.1")),
        ("GPU-b,GPU-aa", ("gpuGPU-b.0", "gpuGPU-aa.0", "gpuGPU-aa.1")),
        ("MIG-7c", ("gpuMIG-7c.0",)),
        ("0,GPU-c,1", ("gpu0.0", "gpu0.1")),  # nothing from the first that is none
        ("0,-1,1", ("gpu0.0", "gpu0.1")),
        ("GPU-", ()),  # of which?
        ("-1", ()),
        ("", ()),
    ],
)
def test_masked_gpus_have_slots_by_their_own_memory(card, monkeypatch, setting, names):
    card("GPU-aa01, Disabled, 80000", "GPU-bb02, Enabled, 80000")  # MIG shares the second one's memory out
    if setting is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    found = resources("paper", "auto", None)
    assert found.device == ("cuda" if names else "cpu")
    assert not names or found.names == names
    if names:
        slot = Slots(found).take()
        assert slot.environment["CUDA_VISIBLE_DEVICES"] == names[0][3:-2]
        assert ("CUDA_DEVICE_ORDER" in slot.environment) is (setting is None)
        locks.release(slot.descriptor)


def test_without_an_answer_of_nvidia_smi_s_gpus_are_counted_and_have_a_slot_each(card, monkeypatch, tmp_path):
    card("GPU-aa01, Disabled, 80000", status=9)
    assert resources("demo", "auto", None).device == "cpu"
    driver = tmp_path / "gpus"
    (driver / "0000:01:00.0").mkdir(parents=True)
    (driver / "0000:02:00.0").mkdir()
    monkeypatch.setattr("core.runner.devices.DRIVER", driver)
    assert resources("demo", "auto", None).names == ("gpu0.0", "gpu1.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aa,0,2")
    assert resources("demo", "auto", None).names == ("gpuGPU-aa.0", "gpu0.0")


def test_what_a_holder_says_cannot_move_a_terminal(tmp_path):
    descriptor = locks.hold(tmp_path / "a.lock")
    locks.note_holder(descriptor, "x\x1b[2J\nsecond line " + "y" * 1000)
    said = locks.holder(tmp_path / "a.lock")
    assert "\x1b" not in said and "\n" not in said and len(said) <= locks.WORDS and said.startswith("x")
    locks.note_holder(descriptor, "short")
    assert locks.holder(tmp_path / "a.lock") == "short" and locks.holder(tmp_path / "none.lock") == ""
    locks.release(descriptor)
