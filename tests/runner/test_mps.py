"""NVIDIA's MPS with a daemon that does nothing on a GPU: started before the first run, handed to
runs, ended with the last, and never another's."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from desk import SIX, Desk, until
from fake_gpu import UUID, FakeGPU, fake_gpu
from small_runs import planned

from core.config.identity import canonical_json
from core.config.run import Execution
from core.errors import UserError
from core.runner import devices, mps
from core.runner.launch import Stop, launcher
from core.runner.worker import Order

GPU = {"0": UUID}


class Machine:
    """A machine with one made-up GPU, and a desk in the same folder."""

    def __init__(self, gpu: FakeGPU):
        self.gpu = gpu
        self.said, self.notes = gpu.said, gpu.notes
        self.desk = Desk(gpu.folder)

    def runs(self) -> set[tuple[str, ...]]:
        """The GPU and the pipes of each run that began."""
        return {tuple(places) for _, _, *places in self.desk._notes()}

    @property
    def folders(self) -> list[Path]:
        """What is left of our daemons."""
        return [path for path in (self.desk.cache / "mps").glob("*") if path.is_dir()]

    def start(self, *words: str) -> subprocess.Popen:
        return self.desk.start(*words, **self.gpu.environment)


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    with fake_gpu(monkeypatch) as gpu:
        yield Machine(gpu)


def trainer(machine: Machine, scale: str = "mini", jobs: int | None = 2):
    execution = Execution(results_dir=str(machine.desk.results), cache_dir=str(machine.desk.cache))
    machine.desk.store.prepare()
    order = Order(execution=execution, job="tests.support.fake_jobs:run", provenance={})
    return launcher(order, scale, "auto", jobs)


def train(made) -> str:
    run = planned(7)
    return made.launch(run.run_id, canonical_json(run.config), Stop(), lambda *_: None).state


def test_where_several_runs_share_no_gpu_there_is_no_daemon(machine, monkeypatch):
    assert not trainer(machine, jobs=1).share
    machine.gpu.lists(f"{UUID}, Enabled, 80000")  # MIG
    assert not trainer(machine).share
    machine.gpu.lists(f"{UUID}, Disabled, 80000")
    monkeypatch.setenv(devices.MPS_SWITCH, "off")
    made = trainer(machine, jobs=None)
    assert not made.share and made.jobs == 2
    monkeypatch.setenv(devices.MPS_SWITCH, "of")
    with pytest.raises(UserError, match="is 'of'; set it to off, or unset it"):
        trainer(machine)
    assert not machine.notes()


def test_as_many_runs_as_were_measured_to_gain(machine, monkeypatch):
    for scale, free, jobs in (("mini", 80000, 8), ("mini", 9000, 4), ("paper", 80000, 2)):
        machine.gpu.lists(f"{UUID}, Disabled, {free}")
        found = devices.resources(scale, "auto", None)
        assert (found.jobs, found.mps, found.threads) == (jobs, True, 1 if scale == "mini" else 4)
        assert devices.resources(scale, "auto", None, mps=False).jobs == 2


def test_a_daemon_of_the_user_is_used_and_left_alone(machine, monkeypatch, capsys):
    folder = machine.desk.folder / "theirs"
    places = {mps.PIPES: str(folder), mps.LOGS: str(folder / "log")}
    words = ["nvidia-cuda-mps-control", "-d"]
    subprocess.run(words, env=os.environ | places, check=True)
    monkeypatch.setenv(mps.PIPES, str(folder))
    made = trainer(machine)
    assert train(made) == "done"
    made.close()
    assert machine.runs() == {("0", str(folder))} and machine.said() == ["start"]
    monkeypatch.delenv(mps.PIPES)
    monkeypatch.setattr(mps, "DEFAULT_PIPES", folder)
    made = trainer(machine, jobs=None)
    assert made.share and made.jobs == 8 and not made.share.variables
    made.close()
    mps.end_stale()
    monkeypatch.setenv(mps.PIPES, str(machine.desk.folder))  # where nothing answers
    made = trainer(machine, jobs=None)
    assert not made.share and made.jobs == 2 and machine.said() == ["start"]
    assert "There is no MPS daemon at CUDA_MPS_PIPE_DIRECTORY=" in capsys.readouterr().out


def test_a_daemon_through_which_no_process_computes_is_ended(machine, monkeypatch, capsys):
    monkeypatch.setattr(mps, "CONTEXT", (sys.executable, "-c", "print(805)"))
    made = trainer(machine, jobs=None)
    assert not made.share and made.jobs == 2 and not machine.folders
    assert machine.said() == ["start", "quit"]
    assert "no process can use a GPU through it (CUDA's error 805)" in capsys.readouterr().out
    monkeypatch.setattr(mps, "CONTEXT", (sys.executable, "-c", "import time; time.sleep(60)"))
    monkeypatch.setattr(mps, "CONTEXT_PATIENCE", 0.5)
    assert mps.join(GPU) is None
    assert "(CUDA's error is unknown)" in capsys.readouterr().out


def test_a_daemon_that_does_not_start_is_one_sentence_and_runs_go_on(machine, monkeypatch, capsys):
    (machine.desk.folder / "fails").write_text("No device is there.\n")
    made = trainer(machine, jobs=None)
    sentence = "MPS did not start (No device is there); runs share GPUs without it.\n"
    assert capsys.readouterr().out == sentence
    assert not made.share and made.jobs == 2 and train(made) == "done" and not machine.folders
    made.close()
    assert machine.runs() == {("0", "None")}
    monkeypatch.setattr(mps, "START", 0.2)
    machine.gpu.tool("nvidia-cuda-mps-control", 'test "$1" = -d')  # which starts nothing
    assert mps.join(GPU) is None and not machine.folders
    assert "(it does not answer)" in capsys.readouterr().out
    (machine.gpu.folder / "tools" / "nvidia-cuda-mps-control").write_text("damaged")
    assert mps.join(GPU) is None and not machine.folders
    assert capsys.readouterr().out.startswith("nvidia-cuda-mps-control gives no answer, so runs")


def test_what_a_daemon_of_ours_cannot_do_is_said(machine, monkeypatch, capsys):
    """Paths of sockets have an end, and CUDA's numbers are not always nvidia-smi's."""
    machine.gpu.lists(f"{UUID}, Disabled, 80000", "GPU-bb02, Disabled, 80000")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert devices.gpu_uuids() == {"1": "GPU-bb02"}
    monkeypatch.delenv("CUDA_DEVICE_ORDER")
    assert devices.gpu_uuids() == {}
    assert mps.join({}) is None
    assert "set CUDA_DEVICE_ORDER=PCI_BUS_ID or name GPUs" in capsys.readouterr().out
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b,GPU-aa01")
    assert devices.gpu_uuids() == {"GPU-b": "GPU-bb02", UUID: UUID}
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert devices.gpu_uuids() == {"0": UUID, "1": "GPU-bb02"}
    base = len(str(machine.desk.folder / "run_study/mps/0123456789abcd/control_privileged")) + 1
    monkeypatch.setattr("tempfile.tempdir", str(machine.desk.folder / "tmp"))
    for length, there in ((107, "x"), (108, "tmp/run_study-")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(machine.desk.folder / ("x" * (length - base))))
        mps.join(GPU).leave()
        (_, _, folder, _), _ = machine.notes()[-2:]
        assert folder.startswith(str(machine.desk.folder / there))
    long = machine.desk.folder / ("y" * 60)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert mps.join(GPU) is None
    assert "is too long for a socket; set XDG_CACHE_HOME to a" in capsys.readouterr().out
    assert machine.said() == ["start", "quit"] * 2


def test_a_command_starts_a_daemon_for_its_runs_and_the_last_command_ends_it(machine):
    desk = machine.desk
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    long = machine.start(*SIX)
    until(lambda: desk.started(), 60)
    share = mps.join(GPU)
    mps.end_stale()
    share.leave()
    mps.end_stale()
    assert machine.said() == ["start"]
    other = mps.join(GPU)
    gate.touch()
    out, err = long.communicate(timeout=60)
    assert long.returncode == 0 and "MPS" not in out + err, (out, err)
    assert machine.said() == ["start"]
    other.leave()
    (_, pid, folder, visible), last = machine.notes()
    assert last == ["quit", pid] and not machine.folders
    assert visible == UUID and Path(folder).parent == desk.cache / "mps"
    assert len(desk.started()) == 6 and machine.runs() == {(UUID, folder)}


def test_after_a_kill_the_last_run_or_the_next_command_ends_the_daemon(machine):
    desk = machine.desk
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    killed = machine.start(*SIX)
    until(lambda: len(desk.started()) == 2, 60)
    killed.kill()  # runs go on, and the warm process ends with the last
    killed.communicate()
    mps.end_stale()
    assert machine.said() == ["start"]
    gate.touch()
    until(lambda: machine.said() == ["start", "quit"])
    until(lambda: not machine.folders)

    gate.unlink()
    killed = machine.start(*SIX)
    until(lambda: len(desk.started()) == 4, 60)
    children = Path(f"/proc/{killed.pid}/task/{killed.pid}/children").read_text().split()
    for pid in (killed.pid, *map(int, children), *desk.pids()[2:]):
        os.kill(pid, signal.SIGKILL)
    killed.communicate()
    assert machine.said()[2:] == ["start"] and machine.folders
    assert desk.do("table7", "--plan", **machine.gpu.environment).returncode == 0
    assert machine.said()[2:] == ["start", "quit"] and not machine.folders
