"""A real scheduler and real workers on this machine: the same results as at home, whatever is lost on the way."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from desk import Desk, until
from fake_jobs import made_result
from places import ROOT

from core.runner.cluster import driver as cluster
from core.runner.cluster import worker
from core.spec.errors import UserError
from core.spec.run import Execution

SIX = ("mocose-table3", "--seeds", "1", "--jobs", "3")


class Hall:
    """A scheduler and its workers, as processes of the test."""

    def __init__(self, desk: Desk):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.environment = desk.environment(PYTHONPATH=str(ROOT), DASK_DISTRIBUTED__WORKER__DAEMON="False")
        self.folder = desk.folder
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        with open(self.folder / f"dask{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], env=self.environment | environment, cwd=self.folder,
                stdout=log, stderr=log,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def worker(self, *arguments: str, **environment: str) -> subprocess.Popen:
        return self.start(
            "worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1",
            "--local-directory", str(self.folder / "tmp"), *arguments, **environment,
        )  # fmt: skip

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def hall(desk):
    made = Hall(desk)
    yield made
    made.close()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_cluster_trains_what_one_machine_would_though_a_worker_is_lost(desk, hall):
    workers = [hall.worker() for _ in range(3)]
    desk.behave_all("sleep 0.5")
    driver = desk.start(*SIX, "--cluster", hall.address)
    until(lambda: len(desk.pids()) >= 3, 40)
    child = desk.pids()[-1]
    lost = next(worker for worker in workers if worker.pid == parent(parent(child)))
    lost.kill()
    os.kill(child, signal.SIGKILL)  # as if its machine were gone
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 0, out + err
    assert len(desk.store.runs()) == 6 and "Trained " in out and "of 6 runs" in out and "Traceback" not in err
    counted = Counter(desk.started())
    assert len(counted) == 6 and sum(counted.values()) == 7  # one run, of the lost worker, was begun again
    for run in desk.store.runs():
        stored = desk.store.load(run)
        assert [row.value for row in made_result(stored.config).rows] == list(stored.rows["value"])
    assert not list((desk.results / ".locks").glob("*.cluster"))


def test_a_lost_scheduler_costs_nothing_that_was_finished(desk, hall):
    hall.worker()
    desk.behave_all("sleep 0.3")
    driver = desk.start(*SIX, "--cluster", hall.address)
    until(lambda: len(desk.store.runs()) >= 2, 40)
    hall.scheduler.kill()
    out, err = driver.communicate(timeout=30)
    assert driver.returncode == 1 and f"The scheduler at {hall.address} was lost" in out and "Traceback" not in out + err, out + err
    assert "--cluster" in out and 2 <= len(desk.store.runs()) < 6 and all(desk.store.verified(run) for run in desk.store.runs())


def test_a_stop_reaches_the_workers(desk, hall):
    hall.worker()
    desk.behave_all("sleep 60")
    driver = desk.start(*SIX, "--cluster", hall.address)
    until(lambda: len(desk.started()) == 1, 40)
    driver.send_signal(signal.SIGTERM)
    out, err = driver.communicate(timeout=20)
    assert driver.returncode == 143 and "6 runs are still to be trained" in out and "FAILED" not in out, out + err
    until(lambda: not desk.store.claimed(desk.started()[0]))


def test_gpu_runs_go_to_workers_that_offer_one_and_see_it(desk, hall):
    tool = desk.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho '0, GPU-a, Disabled, 80000'\necho '1, GPU-b, Disabled, 80000'\n")
    tool.chmod(0o755)
    hall.worker()  # without a GPU: a run that came here would fail
    hall.worker("--resources", "GPU=1", PATH=f"{tool.parent}:{os.environ['PATH']}", CUDA_VISIBLE_DEVICES="1")
    driver = desk.start("mocose-table3", "--seeds", "1", "--cluster", hall.address, "--device", "cuda")
    out, err = driver.communicate(timeout=60)
    assert driver.returncode == 0 and "Trained 6 of 6" in out, out + err
    assert {line.split()[2] for line in (desk.cache / "started").read_text().splitlines()} == {"1"}


def test_a_worker_with_another_version_of_the_code_trains_nothing_and_the_right_one_goes_on(desk, hall):
    other = desk.folder / "other version"
    for name in ("core", "studies", "tests/support"):
        shutil.copytree(ROOT / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("run_study.py", "tests/__init__.py"):
        if (ROOT / file).exists():
            shutil.copy(ROOT / file, other / file)
    identity = other / "core" / "spec" / "identity.py"
    text, changed = identity.read_text(), re.compile(r"^NUMERICS = (\d+)", re.MULTILINE)
    identity.write_text(changed.sub(lambda found: f"NUMERICS = {int(found[1]) + 1}", text))
    assert identity.read_text() != text
    wrong = hall.worker(PYTHONPATH=str(other))
    out, err = desk.start(*SIX, "--cluster", hall.address).communicate(timeout=200)
    assert "two versions of the code are mixed, so start the command again." in out and "Traceback" not in out + err, out + err
    assert "Trained 0 of 6 runs." in out and not desk.store.runs() and not desk.started()
    wrong.kill()
    wrong.wait()
    hall.worker()
    done = desk.do(*SIX, "--cluster", hall.address)
    assert done.returncode == 0 and "Trained 6 of 6 runs." in done.stdout, done.stdout + done.stderr


def test_a_worker_that_does_not_share_the_folder_trains_nothing(desk, tmp_path):
    errand = worker.Errand(
        key="k", scale="mini", device="cpu", jobs=1, execution=Execution(results_dir=str(tmp_path / "local"), cache_dir=""),
        published=None, job="", warm=(), time_limit=None, provenance={}, use_published=False, force=False,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UserError, match="does not see .*that all machines share"):
        patch.setattr(worker, "get_worker", lambda: type("W", (), {"address": "tcp://there:1"}))
        worker.perform(errand, None)
    assert not (tmp_path / "local").exists()


def test_an_address_where_no_scheduler_answers_is_one_sentence(monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        for address in ("tcp://127.0.0.1:9", "nonsense", "http://127.0.0.1:9", f"127.0.0.1:{silent.getsockname()[1]}"):
            with pytest.raises(UserError, match=f"^No dask scheduler answers at {address}; start one"):
                cluster.connected(address)
        assert time.monotonic() - began < 10


def test_a_command_without_its_cluster_ends_with_status_2(desk):
    done = desk.do(*SIX, "--cluster", "nonsense")
    assert done.returncode == 2 and done.stderr.startswith("No dask scheduler answers") and done.stderr.count("\n") == 1, done.stderr
    assert not desk.started()
