"""Real children, killed at random steps and in the middle of a checkpoint: the finished run is the
undisturbed one."""

from __future__ import annotations

import random
import signal
import threading

import pytest
from desk import until
from small_runs import shared_cache, thinned
from threadpoolctl import threadpool_limits

from core.config.identity import canonical_json, run_id
from core.config.methods import base
from core.config.scale import DEMO, at_scale
from core.config.vary import vary
from core.data.sources import demo_sources
from core.data.sts import sets_digest
from core.runner.devices import Resources
from core.runner.launch import Launcher, Stop
from core.runner.plan import PlannedRun
from core.runner.train import WARM
from core.runner.worker import RunOrder
from core.store.store import Store
from core.training import job
from core.training.execution import Execution

STEPS = 13


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("resume")
    (found / "cache").symlink_to(shared_cache())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(found / "slots"))
        yield found


@pytest.fixture(scope="module")
def store(folder):
    made = Store(folder / "results", None)
    made.prepare()
    return made


@pytest.fixture(scope="module")
def launcher(folder, store):
    """One warm process for all tests here; a checkpoint after every step."""
    execution = Execution(
        results_dir=str(store.root), cache_dir=str(folder / "cache"), checkpoint_minutes=1e-9
    )
    job = "tests.support.killed_jobs:run"
    order = RunOrder(execution=execution, job=job, warm=WARM, provenance={})
    made = Launcher(order, Resources(device="cpu", jobs=1, threads=1, slots={"cpu.0": ""}))
    yield made
    made.close()


def launch(launcher: Launcher, run: PlannedRun, stop: Stop | None = None):
    return launcher.launch(run.run_id, canonical_json(run.config), stop or Stop(), lambda *_: None)


def planned(method: str) -> PlannedRun:
    run = at_scale(base(method, "repaired"), DEMO, demo_sources())
    sizes = {"train.steps": STEPS, "train.batch_size": 16, "eval.every": 5}
    run = vary(run, sizes | {"train.precision": "fp32", "eval.digest": sets_digest(thinned())})
    return PlannedRun(run_id=run_id(run), config=run, cells=("made-up a",), seed=0)


def same_as_undisturbed(run: PlannedRun, store: Store, folder) -> None:
    """The same run, trained here in one go, has the same bits."""
    execution = Execution(results_dir=str(folder / "calm"), cache_dir=str(folder / "cache"))
    calm = Store(folder / "calm", None)
    # as in the children: numpy's products round otherwise with another number of threads
    with threadpool_limits(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "load_demo", thinned)
        calm.save(run.config, job.run(run.config, execution, lambda message: None))
    ours = store.load(run.run_id)
    theirs = calm.load(run.run_id)
    # pandas writes floats to the last bit
    assert ours.status == theirs.status and ours.rows.to_csv() == theirs.rows.to_csv()
    pairs = [(each.root / "pairs" / f"{run.run_id}.parquet").read_bytes() for each in (store, calm)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize("method", [pytest.param("mocose", marks=pytest.mark.long), "esimcse"])
def test_a_run_that_is_killed_twice_is_the_undisturbed_one(method, folder, store, launcher):
    run = planned(method)
    outcomes = []
    stop = Stop()
    steps = random.Random(method).randint(2, 5)
    checkpoint = store.path("checkpoints", run.run_id)
    for fate in ("write 3", f"step {steps}"):
        (folder / "cache" / "fate").write_text(fate)
        outcome = launch(launcher, run)
        assert outcome.state == "failed" and "signal 9" in outcome.cause and checkpoint.exists()
    (folder / "cache" / "fate").write_text("slow 0.2")
    before = checkpoint.stat().st_mtime_ns
    thread = threading.Thread(target=lambda: outcomes.append(launch(launcher, run, stop)))
    thread.start()
    until(lambda: checkpoint.stat().st_mtime_ns != before, 120)
    stop.ask(signal.SIGTERM)
    thread.join()
    assert outcomes[0].state == "stopped" and checkpoint.exists()
    assert launch(launcher, run).state == "done"
    torn, killed, stopped = store.load(run.run_id).provenance["resumed_at_steps"]
    # the third checkpoint was torn
    assert (torn, killed) == (2, 2 + steps) and killed < stopped < STEPS
    assert not list((store.root / "checkpoints").iterdir())
    assert not (store.root / "damaged").exists()
    same_as_undisturbed(run, store, folder)
