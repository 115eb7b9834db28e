"""What a machine has, in a container and behind masks too, and its slots between commands."""

import io
import os
import socket
from types import SimpleNamespace

import pytest
from small_runs import planned

from core.errors import UserError
from core.runner import devices, progress, worker
from core.runner.devices import narrowed, resources, visible_gpus
from core.runner.launch import Stop
from core.runner.train import RunTrainer
from core.runner.worker import Message
from core.store import locks

ONE = ("mocose-table3", "--seeds", "1", "--cell", "0.85", "--jobs", "1")  # a command with one run


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Eight cores, plenty of memory, and a nvidia-smi that lists what a test gives: UUID, MIG mode
    and free MiB of each GPU."""
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.setattr(devices, "memory", lambda: 1 << 40)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def lists(*gpus: str, status: int = 0) -> None:
        lines = "".join(f"{gpu}\n" for gpu in gpus)
        script = tmp_path / "nvidia-smi"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}END\nexit {status}\n")
        script.chmod(0o755)

    lists()
    return lists


def test_jobs_and_threads_fill_the_cores(machine, monkeypatch):
    found = resources("demo", "auto", None)
    assert (found.device, found.jobs, found.threads, [*found.slots][7]) == ("cpu", 8, 1, "cpu.7")
    for gigabytes, jobs, threads in ((64, 8, 1), (23, 2, 4), (4, 1, 8)):
        monkeypatch.setattr(devices, "memory", lambda gigabytes=gigabytes: gigabytes << 30)
        # a run has as many threads alone as beside others
        for wanted in (None, *range(1, jobs + 1)):
            assert resources("mini", "auto", wanted).threads == threads
        assert resources("mini", "auto", None).jobs == jobs
        assert resources("demo", "auto", None).jobs == 8
    chosen = resources("mini", "cpu", 3)
    assert (chosen.jobs, chosen.threads) == (3, 2)
    with pytest.raises(UserError, match="No GPU is visible"):
        resources("demo", "cuda", None)


def test_a_container_and_a_batch_job_have_less_than_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "OWN_CGROUP", tmp_path / "own")
    monkeypatch.setattr(devices, "CGROUPS", tmp_path)
    whole = devices.memory()  # without any group
    for line, file, limit, expected in (
        ("0::/", "memory.max", 3 << 30, 3 << 30),
        ("0::/job/step", "job/memory.max", 2 << 30, 2 << 30),
        ("0::/job/other", "job/other/memory.max", "max", 2 << 30),
        ("7:cpu:/a\n9:memory:/a", "memory/a/memory.limit_in_bytes", 1 << 30, 1 << 30),
        ("9:memory:/b", "memory/b/memory.limit_in_bytes", (1 << 63) - 4096, whole),
    ):
        (tmp_path / "own").write_text(f"{line}\n")
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"{limit}\n")
        assert devices.memory() == expected


def test_a_gpu_has_two_slots_as_far_as_its_free_memory_goes(machine):
    four = ("GPU-0a.0", "GPU-1a.0", "GPU-0a.1", "GPU-1a.1")
    for free, paper, mini in (
        (("81000", "81000"), four, four),
        (("16384", "16383"), four[:3], four),
        (("4095", "[N/A]"), four[:2], four[:2]),
        (("4096", "100"), four[:2], four[:3]),
    ):
        machine(*(f"GPU-{place}a, Disabled, {memory}" for place, memory in enumerate(free)))
        for scale, names in (("paper", paper), ("mini", mini), ("demo", mini)):
            found = resources(scale, "auto", None)
            assert (found.device, found.jobs, (*found.slots,)) == ("cuda", len(names), names)
            assert found.threads == 2  # of four slots, whatever memory is free just now
    machine("GPU-0a, Disabled, 100", "GPU-1a, Disabled, 20000")
    assert [*resources("paper", "cuda", 1).slots] == ["GPU-0a.0", "GPU-1a.0", "GPU-1a.1"]
    five = resources("paper", "cuda", 5)
    assert (*five.slots,) == (*four, "GPU-0a.2", "GPU-1a.2") and five.threads == 1


def test_masked_gpus_end_the_list_as_the_driver_reads_it(machine, monkeypatch):
    # MIG shares the second one's memory out
    machine("GPU-aa01, Disabled, 80000", "GPU-bb02, Enabled, 80000")
    slots = {"GPU-aa01.0": "0", "GPU-bb02.0": "1", "GPU-aa01.1": "0"}
    assert resources("paper", "auto", None).slots == slots
    assert narrowed("0") == {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    # a GPU has the same slots by its index and by its UUID
    by_uuid = {"GPU-bb02.0": "GPU-b", "GPU-aa01.0": "GPU-aa01", "GPU-aa01.1": "GPU-aa01"}
    for setting, slots in (
        ("1", {"GPU-bb02.0": "1"}),
        ("1,0", {"GPU-bb02.0": "1", "GPU-aa01.0": "0", "GPU-aa01.1": "0"}),
        ("GPU-b,GPU-aa01", by_uuid),
        ("MIG-7c", {"MIG-7c.0": "MIG-7c"}),
        ("0,-1,1", {"GPU-aa01.0": "0", "GPU-aa01.1": "0"}),  # nothing from the first that is none
    ):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
        assert [*resources("paper", "auto", None).slots.items()] == [*slots.items()]
        assert narrowed("GPU-b") == {"CUDA_VISIBLE_DEVICES": "GPU-b"}
    for setting in ("", "GPU-zz,0"):  # a UUID that no GPU has is no GPU
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
        assert visible_gpus() == {} and resources("paper", "auto", None).device == "cpu"


def test_only_rows_of_nvidia_smi_that_are_a_gpu_s_are_gpus(machine, monkeypatch):
    warning = "WARNING: infoROM is corrupted at gpu 0000:3B:00.0"
    for lines, gpus in (
        (("No devices were found",), {}),
        (("GPU-aa01, Disabled, 80", warning, ""), {"0": ("GPU-aa01", 80 << 20)}),
        (("GPU-aa01, [N/A], [Unknown Error]",), {"0": ("GPU-aa01", 0)}),
    ):
        machine(*lines)
        assert visible_gpus() == gpus
    machine("GPU-aa01, Disabled, 80")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-7c")  # no GPU is shared out
    assert visible_gpus() == {}


def test_a_daemon_of_mps_that_is_there_is_used(machine, monkeypatch, tmp_path):
    machine("GPU-aa01, Disabled, 80000")
    monkeypatch.setattr(devices, "MPS_PIPES", tmp_path)
    alone = resources("mini", "auto", None)
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(tmp_path / "control"))
        shared = resources("mini", "auto", None)
        assert (shared.jobs, shared.gpu_runs, shared.mps) == (8, 8, True)
        assert not resources("mini", "auto", 1).mps
        assert resources("paper", "auto", None).jobs == 2
    assert (alone.jobs, alone.gpu_runs, alone.mps) == (2, 2, False)


def test_without_nvidia_smi_gpus_are_counted_and_have_a_slot_each(machine, monkeypatch, tmp_path):
    machine("GPU-aa01, Disabled, 80000", status=9)
    assert resources("demo", "auto", None).device == "cpu"
    for gpu in ("1", "2"):
        (tmp_path / "gpus" / gpu).mkdir(parents=True)
    monkeypatch.setattr(devices, "DRIVER", tmp_path / "gpus")
    assert resources("demo", "auto", None).slots == {"0.0": "0", "1.0": "1"}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aa,0,2")
    assert visible_gpus() == {"GPU-aa": ("GPU-aa", 0), "0": ("0", 0)}


def test_a_command_takes_any_free_slot_and_else_waits_for_one_and_says_so(desk):
    """Slots are the same for every command of a user, whatever folder for temporary files it
    has."""
    folder = desk.cache / f"slots-{os.uname().nodename}"
    slots = resources("mini", "cpu", None).jobs
    held = [locks.hold(folder / f"cpu.{number}.lock") for number in range(slots)]
    waiting = desk.start(*ONE, TMPDIR=str(desk.folder))
    while "commands hold slots: a run of an older version" not in (
        line := waiting.stdout.readline()
    ):
        assert line, waiting.stderr.read()
    assert not desk.started()
    for descriptor in held:
        os.close(descriptor)
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and len(desk.started()) == 1, (out, err)


def test_only_runs_of_other_commands_are_named_as_holders(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "SLOT_NOTICE", 0.0)
    texts = {
        "cpu.0": f"run ours\n{os.getppid()}",
        "cpu.1": f"run theirs\n{os.getpid()}",
        "cpu.2": "",
    }
    held = {}
    for name, text in texts.items():
        held[name] = locks.hold(tmp_path / f"{name}.lock")
        os.write(held[name], text.encode())
    others = []

    def report(message):
        others.append(message.waiting)
        os.close(held["cpu.1"])
        return True

    assert worker.take_slot(texts, tmp_path, "run new", report) == "cpu.1"
    assert others == ["run theirs; a run of an older version"]
    assert (tmp_path / "cpu.1.lock").read_text() == f"run new\n{os.getppid()}"


def test_a_command_that_waits_says_so_every_few_minutes(monkeypatch):
    monkeypatch.setattr(progress, "time", clock := SimpleNamespace(monotonic=lambda: 0.0))
    run = planned(160)
    out = io.StringIO()
    shown = progress.Display([run], lambda config: 40.0, 1, progress.Answers(), out)
    for minutes, holders, lines in ((0, "", 0), (0, "a", 1), (1, "b", 1), (6, "", 1), (6, "b", 2)):
        clock.monotonic = lambda minutes=minutes: 60.0 * minutes
        shown.hear(run.run_id, Message(waiting=holders))
        assert out.getvalue().count("\n") == lines
    assert out.getvalue().endswith("hold slots: b.\n")


def test_a_gpu_that_torch_cannot_use_or_that_hangs_is_one_sentence():
    """What its child says of the GPU comes from a launcher of the test."""
    training = RunTrainer(None, None, (), None, None)
    for report, words in (
        (Message(ended=1, cause="RuntimeError: driver too old"), "RuntimeError: driver too old"),
        (Message(pid=1), "no answer within 120 s"),
    ):
        launcher = SimpleNamespace(call=lambda *_, patience, report=report: (report, 0.0))
        training.__dict__["launcher"] = launcher
        with pytest.raises(UserError, match=f"lists \\({words}\\); install .* --device cpu"):
            training.check_gpu(Stop())
    launcher.call = lambda *_, patience: (Message(ended=0), 0.0)
    training.check_gpu(Stop())
