"""One run, one process: every way to end has its name, and claims and slots live as long as what they guard."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from desk import Desk, until
from small_runs import planned

from core.runner.devices import Resources, Slots
from core.runner.launch import LESS_MEMORY, Launcher, diagnosis
from core.runner.pace import Pace
from core.runner.process.child import cause_of
from core.runner.progress import Display
from core.spec.errors import UserError
from core.spec.run import Execution
from core.store import locks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return Desk(tmp_path_factory.mktemp("launch"))


@pytest.fixture(scope="module")
def start(desk):
    """Launchers on the module's desk, closed at the end."""
    started = []
    before, locks.tempfile.tempdir = locks.tempfile.tempdir, str(desk.folder / "tmp")

    def begin(job: str = "tests.support.fake_jobs:run", time_limit: float | None = None) -> Launcher:
        desk.store.prepare()
        launcher = Launcher(
            store=desk.store, slots=Slots(Resources(device="cpu", jobs=2, threads=1, gpus=())), job=job, time_limit=time_limit,
            execution=Execution(results_dir=str(desk.results), cache_dir=str(desk.cache)),
            display=Display(Pace(100, 100.0, 2)), provenance={"encoder_hidden": 384},
        )  # fmt: skip
        started.append(launcher)
        return launcher

    yield begin
    for launcher in started:
        launcher.close()
    locks.tempfile.tempdir = before


@pytest.fixture(scope="module")
def launcher(start):
    return start()


def test_a_run_that_ends_well_is_stored(desk, launcher):
    run = planned(1)
    desk.behave()
    outcome = launcher.launch(run)
    assert outcome.state == "done" and outcome.failure is None
    stored = desk.store.load(run.run_id)
    assert stored.config == run.config and stored.provenance == {"encoder_hidden": 384, "made": "up"}
    assert not desk.store.claimed(run.run_id) and launcher.launch(run).state == "found"


def test_the_nursery_has_one_thread(launcher):
    launcher.wait_ready()
    assert launcher._nursery.threads in (1, None)


@pytest.mark.parametrize(
    "steps, behaviour, cause, detail",
    [
        (10, "raise", "exception", "ValueError: the job broke on purpose"),
        (11, "refuse", "refused", "This run was refused; give it another try."),
        (12, "memory", "out of memory", f"{LESS_MEMORY} MemoryError"),
        (16, "cuda", "out of memory", f"{LESS_MEMORY} OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."),
        (13, "kill 9", "killed by signal 9 (out of memory?)", LESS_MEMORY),
        (14, "kill 11", "killed by signal 11 (SIGSEGV)", ""),
        (15, "exit 3", "exit status 3", ""),
    ],
)
def test_a_failure_is_named_by_its_cause(desk, launcher, steps, behaviour, cause, detail):
    run = planned(steps)
    desk.behave_all(behaviour)
    outcome = launcher.launch(run)
    assert outcome.state == "failed" and outcome.failure.cause == cause and detail in outcome.failure.detail
    assert desk.store.failure(run.run_id) == outcome.failure and not desk.store.has(run.run_id)
    assert not desk.store.claimed(run.run_id)
    if behaviour == "raise":
        assert any("on purpose" in line for line in outcome.failure.log_tail)
    desk.behave_all("")
    assert launcher.launch(run).state == "done" and desk.store.failure(run.run_id) is None


def test_a_long_log_is_quoted_by_its_end(desk, launcher):
    desk.behave_all("flood 2000")
    failure = launcher.launch(planned(20)).failure
    assert len(failure.log_tail) <= 12 and any("after a long log" in line for line in failure.log_tail)
    assert max(map(len, failure.log_tail)) <= 400


def test_a_run_that_hangs_is_ended_by_its_time_limit(desk, start):
    desk.behave_all("sleep 60")
    began = time.monotonic()
    failure = start(time_limit=1.0).launch(planned(30)).failure
    assert failure.cause == "timed out after 1 s" and time.monotonic() - began < 10


def test_a_run_that_is_held_elsewhere_is_left_or_waited_for(desk, launcher):
    run = planned(40)
    desk.behave()
    launcher.again(Display(pace := Pace(1, 1.0, 1)))
    claim = desk.store.claim(run.run_id)
    assert launcher.launch(run).state == "elsewhere"
    assert list(pace.held) == [run.run_id]
    threading.Timer(0.5, locks.release, [claim]).start()
    assert launcher.launch(run, wait=True).state == "done"  # the holder left nothing
    assert not pace.held


def test_a_run_that_was_stored_while_we_waited_is_not_trained(desk, launcher):
    run = planned(41)
    from fake_jobs import made_result

    claim = desk.store.claim(run.run_id)

    def elsewhere():
        desk.store.save(run.config, made_result(run.config))
        locks.release(claim)

    threading.Timer(0.5, elsewhere).start()
    assert launcher.launch(run, wait=True).state == "found" and run.run_id not in desk.started()


def test_the_child_keeps_claim_and_slot_while_it_lives(desk, launcher):
    run = planned(42)
    desk.behave_all("sleep 1.0")
    thread = threading.Thread(target=launcher.launch, args=(run,))
    thread.start()
    until(lambda: run.run_id in desk.started())
    assert desk.store.claimed(run.run_id) and locks.held(locks.slot_folder() / "cpu.0.lock")
    thread.join()
    assert not desk.store.claimed(run.run_id) and not locks.held(locks.slot_folder() / "cpu.0.lock")


def test_without_a_free_slot_it_waits_and_stops_when_asked(desk, start):
    launcher = start()
    held = [locks.hold(locks.slot_folder() / f"cpu.{i}.lock") for i in range(2)]
    threading.Timer(0.5, launcher.stop.ask, [signal.SIGTERM, 0.0]).start()
    run = planned(43)
    assert launcher.launch(run).state == "stopped" and not desk.store.claimed(run.run_id)
    for descriptor in held:
        locks.release(descriptor)


def test_a_stop_ends_the_child_and_is_no_failure(desk, start):
    launcher = start()
    run = planned(44)
    desk.behave_all("sleep 60")
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(launcher.launch(run)))
    thread.start()
    until(lambda: run.run_id in desk.started())
    launcher.stop.ask(signal.SIGINT, 0.0)
    thread.join(timeout=10)
    assert outcomes[0].state == "stopped" and desk.store.failure(run.run_id) is None and launcher.launch(run).state == "stopped"


def test_a_dead_nursery_costs_no_run_and_is_started_again_once(desk, start):
    launcher = start()
    first, second, third, fourth = (planned(steps) for steps in (50, 51, 52, 53))
    desk.behave(**{first.run_id: "sleep 1.5", second.run_id: "sleep 60"})
    outcomes = {}
    threads = [threading.Thread(target=lambda run=run: outcomes.update({run.run_id: launcher.launch(run)})) for run in (first, second)]
    for thread in threads:
        thread.start()
    until(lambda: {first.run_id, second.run_id} <= set(desk.started()))
    os.kill(launcher._nursery.pid, signal.SIGKILL)
    os.kill(dict(zip(desk.started(), desk.pids(), strict=False))[second.run_id], signal.SIGKILL)
    for thread in threads:
        thread.join(timeout=20)
    assert outcomes[first.run_id].state == "done"  # its process outlived the nursery
    assert outcomes[second.run_id].failure.cause == "launcher died"
    assert launcher.launch(third).state == "done"
    os.kill(launcher._nursery.pid, signal.SIGKILL)
    until(lambda: not launcher._nursery.alive)
    assert "died twice" in launcher.launch(fourth).failure.detail


def test_the_next_batch_goes_on_with_the_same_warm_process_and_begins_a_dead_one_anew(desk, start):
    launcher = start()
    desk.behave()
    launcher.wait_ready()
    first = launcher._nursery.pid
    launcher.stop.ask(signal.SIGTERM, 0.0)
    assert launcher.launch(planned(60)).state == "stopped"
    launcher.again(Display(Pace(1, 1.0, 2)))
    assert launcher.launch(planned(60)).state == "done" and launcher._nursery.pid == first
    os.kill(first, signal.SIGKILL)
    until(lambda: not launcher._nursery.alive)
    launcher.again(Display(Pace(1, 1.0, 2)))
    launcher.wait_ready()
    assert launcher.launch(planned(61)).state == "done" and launcher._nursery.pid != first


def test_a_job_that_cannot_be_imported_is_one_sentence(start):
    with pytest.raises(UserError, match="could not be started .*no_such_module"):
        start(job="tests.support.no_such_module:run").wait_ready()


def test_who_asks_to_stop_need_not_wait_for_the_training_code(start):
    launcher = start(job="tests.support.slow_to_import:run")
    begun = time.monotonic()
    threading.Timer(0.3, lambda: launcher.stop.ask(signal.SIGINT, 0.0)).start()
    launcher.wait_ready()
    assert launcher.launch(planned(70)).state == "stopped"
    launcher.close()
    assert time.monotonic() - begun < 10 and launcher._nursery._process.poll() is not None


def test_causes_of_statuses_without_words():
    assert diagnosis(137, None, None).cause == "killed by signal 9 (out of memory?)"
    assert diagnosis(-signal.SIGALRM, None, 2.0).cause == "timed out after 2 s"
    assert diagnosis(None, None, None).cause == "launcher died"


@pytest.mark.parametrize(
    "error, cause",
    [
        (RuntimeError("CUDA error: out of memory"), "out of memory"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), "out of memory"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "out of memory"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: can't allocate memory"), "out of memory"),
        (OSError(12, "Cannot allocate memory"), "out of memory"),
        (RuntimeError("CUDA error: device-side assert triggered"), "exception"),
    ],
)
def test_errors_that_mean_too_little_memory(error, cause):
    assert cause_of(error) == cause
