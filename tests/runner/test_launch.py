"""One run, one process: every way to end has its name, and claims and slots live as long as what
they guard."""

import errno
import os
import signal
import threading
import time

import pytest
from desk import Desk, until
from places import ROOT
from small_runs import planned

from core.config.identity import canonical_json
from core.errors import UserError
from core.runner import devices
from core.runner.devices import Resources
from core.runner.launch import Launcher, Stop, Worker, environment, tail
from core.runner.plan import PlannedRun
from core.runner.worker import LESS_MEMORY, RunOrder, failure, train_run
from core.store import locks
from core.training.execution import Execution
from tests.support.fake_jobs import silent

FAKE = "tests.support.fake_jobs:run"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = Desk(tmp_path_factory.mktemp("launch"))
    made.store.prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(made.folder / "cache"))
        yield made


def begin(desk: Desk, job: str = FAKE) -> Launcher:
    execution = Execution(results_dir=str(desk.results), cache_dir=str(desk.cache))
    order = RunOrder(execution=execution, job=job, provenance={"encoder_hidden": 384})
    return Launcher(
        order,
        Resources(device="cpu", jobs=2, threads=1, slots=dict.fromkeys(("cpu.0", "cpu.1"), "")),
    )


@pytest.fixture(scope="module")
def launcher(desk):
    made = begin(desk)
    yield made
    made.close()


def launch(launcher: Launcher, run: PlannedRun, stop=None, hear=lambda *_: None, force=False):
    return launcher.launch(run.run_id, canonical_json(run.config), stop or Stop(), hear, force)


def in_thread(*arguments) -> tuple[threading.Thread, list]:
    endings = []
    thread = threading.Thread(target=lambda: endings.append(launch(*arguments)))
    thread.start()
    return thread, endings


def test_a_run_that_ends_well_is_stored(desk, launcher):
    run = planned(1)
    heard = []
    desk.behave()
    ending = launch(launcher, run, hear=lambda *message: heard.append(message))
    stored = desk.store.load(run.run_id)
    average = f"test average {stored.rows['value'][0]:.2f}"
    assert (ending.state, ending.cause, ending.score) == ("done", "", average)
    assert stored.config == run.config and stored.provenance["encoder_hidden"] == 384
    assert not desk.store.claimed(run.run_id) and launch(launcher, run).state == "found"
    assert {run for run, _ in heard} == {run.run_id}
    assert [message.step for _, message in heard if message.phase] == [0, 10, 1]
    # a fork copies one thread
    assert len(os.listdir(f"/proc/{launcher._worker.process.pid}/task")) == 1
    assert launch(launcher, run, force=True).state == "done"


def test_a_failure_is_named_by_its_cause(desk, launcher):
    cuda = f"out of memory: {LESS_MEMORY} OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
    ways = (
        ("raise", "ValueError: the job broke on purpose"),
        ("refuse", "This run was refused; give it another try."),
        ("cuda", cuda),
        ("kill 9", f"killed by signal 9 (SIGKILL): {LESS_MEMORY}"),
        ("kill 11", "killed by signal 11 (SIGSEGV)"),
        ("exit 3", "exit status 3 without a result"),
    )
    run = planned(10)
    for way, cause in ways:
        desk.behave_all(way)
        ending = launch(launcher, run)
        assert ending.state == "failed" and ending.cause.startswith(cause), way
        assert desk.store.failure(run.run_id) == ending.cause and not desk.store.has(run.run_id)
        assert not desk.store.claimed(run.run_id)
        lines = tail(ending.log)
        assert len(lines) <= 12 and all(len(line) <= 400 for line in lines)
        assert way != "raise" or any("on purpose" in line for line in lines)
    desk.behave_all("")
    assert launch(launcher, run).state == "done" and not desk.store.failure(run.run_id)


def test_the_child_keeps_claim_and_slot_while_it_lives(desk, launcher):
    run = planned(42)
    gate = desk.folder / "gate"
    slot = devices.slot_folder() / "cpu.0.lock"
    desk.behave_all(f"hold {gate}")
    thread, _ = in_thread(launcher, run)
    until(lambda: run.run_id in desk.started())
    assert desk.store.claimed(run.run_id) and locks.held(slot)
    assert launch(launcher, run).state == "elsewhere"
    gate.touch()
    thread.join()
    assert not desk.store.claimed(run.run_id) and not locks.held(slot)


def test_a_child_that_does_not_heed_a_stop_is_killed_at_the_deadline(desk, launcher):
    run = planned(44)
    stop = Stop()
    deaf = desk.folder / "deaf"
    desk.behave_all(f"deaf {deaf}")
    thread, endings = in_thread(launcher, run, stop)
    until(deaf.exists)
    stop.ask(signal.SIGINT)
    time.sleep(0.5)
    assert thread.is_alive()
    stop.deadline = time.monotonic()
    thread.join(timeout=50)
    assert endings[0].state == "stopped" and not desk.store.failure(run.run_id)
    assert launch(launcher, run, stop).state == "stopped"


def test_a_dead_worker_costs_no_run_that_has_begun_and_is_started_again(desk):
    launcher = begin(desk)
    first, second, third = (planned(steps) for steps in (50, 51, 52))
    gate = desk.folder / "of_the_first"
    desk.behave(**{first.run_id: f"hold {gate}", second.run_id: "sleep 60"})
    (one, ended), (two, lost) = (in_thread(launcher, run) for run in (first, second))
    until(lambda: {first.run_id, second.run_id} <= set(desk.started()))
    launcher._worker.process.kill()
    os.kill(desk.pids()[second.run_id], signal.SIGKILL)
    gate.touch()
    for thread in (one, two):
        thread.join(timeout=60)
    assert ended[0].state == "done"  # its process outlived the worker
    assert lost[0].cause == "The process that starts the runs was killed"
    assert launch(launcher, third).state == "done"
    launcher.close()


def test_a_job_that_cannot_be_imported_is_one_sentence(desk):
    with pytest.raises(UserError, match="could not be started .*no_such_module"):
        begin(desk, "tests.support.no_such_module:run").worker(Stop())


def test_a_training_process_that_is_killed_is_not_answered_by_an_installation(desk):
    worker = Worker(["time"], 1, str(ROOT))
    worker.process.kill()
    with pytest.raises(UserError, match="it was killed.*give the same command again") as refused:
        worker.wait_ready(Stop())
    assert "pip" not in str(refused.value)
    worker.close()


def test_who_asks_to_stop_need_not_wait_for_the_training_code(desk):
    launcher = begin(desk, "tests.support.slow_to_import:run")
    stop = Stop()
    begun = time.monotonic()
    threading.Timer(0.3, lambda: stop.ask(signal.SIGINT)).start()
    launcher.worker(stop)
    assert launch(launcher, planned(70), stop).state == "stopped"
    launcher.close()
    assert time.monotonic() - begun < 30 and launcher._worker.process.poll() is not None


def test_a_configuration_of_another_version_of_the_code_is_refused():
    config = canonical_json(planned(80).config).replace('"numerics":', '"numerics":9')
    order = RunOrder(execution=Execution(results_dir="", cache_dir=""), job=FAKE, provenance={})
    with pytest.raises(UserError, match="two versions of the code are mixed"):
        train_run(order, "0" * 16, config, False, (), devices.slot_folder(), None)


def test_a_run_is_trained_by_the_code_that_the_order_means():
    """Files may change after a command began; a process of a cluster may be another checkout's."""
    run = planned(80)
    order = RunOrder(
        execution=Execution(results_dir="", cache_dir=""), job=FAKE, provenance={}, code="0" * 16
    )
    config = canonical_json(run.config)
    with pytest.raises(UserError, match="two versions of the code are mixed"):
        train_run(order, run.run_id, config, False, (), devices.slot_folder(), None)
    assert environment(1, "/other")["PYTHONPATH"].startswith("/other")


def test_memory_that_runs_short_is_named_whoever_says_it():
    for error in (
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ):
        assert failure(error).startswith("out of memory: ")


def test_a_call_that_takes_too_long_is_given_up_and_its_child_killed(desk, launcher):
    heard = []
    report, seconds = launcher.call(silent, Stop(), heard.append, patience=0.5)
    assert report.ended is None and 0.5 < seconds < 30
    until(lambda: not os.path.exists(f"/proc/{report.pid}"))
