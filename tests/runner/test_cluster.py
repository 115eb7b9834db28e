"""A real scheduler and real workers on this machine, started as docs/using.md says: the same
results as at home, whatever is lost on the way. And without dask, the same command several times at
once."""

import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest
from desk import Desk, until
from extras import needs
from fake_jobs import made_result
from places import ROOT

from core.errors import UserError
from core.runner.launch import Stop
from core.runner.worker import RunOrder
from core.training.execution import Execution

pytestmark = needs("distributed", "requirements-cluster.txt")
pytest.importorskip("distributed", reason="needs distributed: requirements-cluster.txt")
cluster = importlib.import_module("core.runner.cluster")

SIX = ("mocose-table3", "--seeds", "1", "--jobs", "3")
DASK = str(Path(sys.executable).with_name("dask"))


def recipe(kind: str) -> list[str]:
    """The words of docs/using.md that start a scheduler or a worker."""
    lines = (ROOT / "docs" / "using.md").read_text().splitlines()
    line = next(line for line in lines if f"bin/dask {kind}" in line)
    return [DASK, *line[line.index("dask ") :].partition("#")[0].split()[1:]]


class Hall:
    """A scheduler and its workers, as processes of the test, in a folder that is not the
    checkout."""

    def __init__(self, desk: Desk):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{port}"
        self.folder = desk.folder
        self.environment = {
            name: value for name, value in desk.environment().items() if name != "PYTHONPATH"
        }
        self.processes: list[subprocess.Popen] = []
        words = [port if word == "8786" else word for word in recipe("scheduler")]
        self.scheduler = self.start(*words, "--no-dashboard")
        until(lambda: socket.socket().connect_ex(("127.0.0.1", int(port))) == 0, 60)

    def start(self, *words: str, **environment: str) -> subprocess.Popen:
        with open(self.folder / f"dask{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [*words, "--host", "127.0.0.1"],
                env=self.environment | environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def worker(self, gpus: int = 0, **environment: str) -> subprocess.Popen:
        """A worker of one thread, and with so many GPUs."""
        new = {"tcp://HEAD:8786": self.address, "8": "1", '"GPU=8"': f"GPU={gpus}"}
        words = [new.get(word, word) for word in recipe("worker")]
        words = words if gpus else [word for word in words if word not in ("--resources", "GPU=0")]
        return self.start(
            *words, "--no-nanny", "--local-directory", str(self.folder / "tmp"), **environment
        )

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def hall(desk):
    made = Hall(desk)
    yield made
    made.close()


def test_a_cluster_trains_what_one_machine_would_though_a_worker_is_lost(desk, hall):
    workers = [hall.worker() for _ in range(3)]
    gate = desk.folder / "gate"
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX, "--cluster", hall.address)
    until(lambda: len(desk.pids()) == 3)
    child = min(desk.pids().values())
    above = psutil.Process(child).parents()[1].pid
    lost = next(worker for worker in workers if worker.pid == above)
    lost.kill()
    os.kill(child, signal.SIGKILL)  # as if its machine were gone
    gate.touch()
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, out + err
    assert len(desk.store.runs()) == 6 and "Trained 6 of 6 runs" in out and "Traceback" not in err
    counted = Counter(desk.started())
    # one run, of the lost worker, was begun again
    assert len(counted) == 6 and sum(counted.values()) == 7
    for run in desk.store.runs():
        stored = desk.store.load(run)
        assert [row.value for row in made_result(stored.config).rows] == list(stored.rows["value"])
    assert not list((desk.results / ".locks").glob("*.cluster"))


def test_a_lost_scheduler_costs_nothing_that_was_finished(desk, hall):
    """The driver cannot hear of one result, which counts all the same."""
    hall.worker()
    gate, later = (desk.folder / name for name in ("gate", "later"))
    desk.behave_all(f"hold {gate}")
    driver = desk.start(*SIX, "--cluster", hall.address)
    until(desk.started)
    driver.send_signal(signal.SIGSTOP)
    desk.behave_all(f"hold {later}")
    gate.touch()
    until(desk.store.runs)
    hall.scheduler.kill()
    driver.send_signal(signal.SIGCONT)
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 1 and f"The scheduler at {hall.address} was lost" in out, out + err
    assert "Trained 1 of 6 runs" in out and all(map(desk.store.verified, desk.store.runs()))
    later.touch()
    assert desk.do(*SIX).returncode == 0 and len(desk.store.runs()) == 6


def test_a_scheduler_that_cannot_read_its_orders_is_lost(desk, hall, monkeypatch):
    """As where dask on the scheduler's machine is of another version."""
    hall.worker()
    desk.store.prepare()
    # which is for a command's whole process
    monkeypatch.setattr("logging.disable", lambda level: None)
    # of a module that the scheduler lacks
    monkeypatch.setattr(cluster, "sent", lambda *_: made_result)
    execution = Execution(results_dir=str(desk.results), cache_dir=str(desk.cache))
    order = RunOrder(execution=execution, job="", provenance={})
    made = cluster.Cluster(hall.address, order, "mini", "cpu", None)
    assert list(made.train(desk.six().missing, Stop(), lambda *_: None, False)) == []
    assert "deserialization" in made.lost
    made.close()


def test_gpu_runs_go_to_workers_that_offer_one_and_see_it(desk, hall):
    tool = desk.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'GPU-a, Disabled, 80000'\necho 'GPU-b, Disabled, 80000'\n")
    tool.chmod(0o755)
    hall.worker()  # without a GPU: a run that came here would fail
    hall.worker(gpus=1, PATH=f"{tool.parent}:{os.environ['PATH']}", CUDA_VISIBLE_DEVICES="1")
    driver = desk.start(
        "mocose-table3", "--seeds", "1", "--cluster", hall.address, "--device", "cuda"
    )
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0 and "Trained 6 of 6" in out, out + err
    assert {line.split()[2] for line in (desk.cache / "started").read_text().splitlines()} == {"1"}


def test_a_worker_that_does_not_share_the_folder_trains_nothing(tmp_path):
    order = pickle.dumps((tmp_path / "local" / ".locks" / "a.cluster", None, ()))
    run, state, *_, cause = cluster.sent(str(ROOT), order)("b", "{}", False)
    assert (run, state) == ("b", "failed")
    assert "local is not there; give a --results-dir that all machines share." in cause
    assert not (tmp_path / "local").exists()


def test_an_address_where_no_scheduler_answers_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 1.0)
    # which is for a command's whole process
    monkeypatch.setattr("logging.disable", lambda level: None)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for address in ("nonsense", f"127.0.0.1:{silent.getsockname()[1]}"):
            with pytest.raises(UserError, match=f"^No dask scheduler answers at {address}; start"):
                cluster.connected(address)
