"""`--cluster ADDRESS`: joblib's dask backend hands the runs to the workers of a dask scheduler, and each worker
launches a run as one machine does. The store and its claims, which all machines share, say which runs are done
and which are being trained. So a lost worker or scheduler costs at most the runs in training."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import joblib
from distributed import Client, get_worker, rpc
from joblib._dask import DaskDistributedBackend

from core.runner import devices
from core.runner.launch import PATIENCE, POLL, PROJECT, Ending, Hear, Launcher, Order, Stop
from core.runner.plan import PlannedRun
from core.spec.errors import UserError
from core.spec.identity import canonical_json
from core.spec.run import Execution
from core.store import files
from core.store.store import Failure

ANSWER = 8.0  # seconds that a scheduler has to answer
LONELY = 15.0  # seconds without a worker after which a line says so
TELL = 2.0  # least seconds between two reports of a run's progress


class Backend(DaskDistributedBackend):
    """joblib would train on this machine where the cluster has one thread, and give up where it has none yet."""

    def effective_n_jobs(self, n_jobs):
        return 2


class Cluster:
    """Trains runs on the workers of a scheduler. `lost` is a sentence once the scheduler is gone. Raises
    UserError if no scheduler answers at the address."""

    def __init__(self, address: str, order: Order, scale: str, device: str, jobs: int | None):
        self.address, self.client, self.lost = address, connected(address), ""
        self.device = device if device != "auto" else "cuda" if self.offers("cuda") else "cpu"
        self.jobs = max(1, self.offers(self.device))
        key = uuid.uuid4().hex
        # A file that is there while the command runs. Workers see by it that they share the results folder; to
        # stop them, the command writes into it how many seconds they have.
        self.sign = Path(order.execution.results_dir) / ".locks" / f"{key}.cluster"
        files.write_whole(self.sign, b"")
        self.words = {
            "key": key,
            "sign": str(self.sign),
            "order": asdict(order),
            "on": [scale, self.device, jobs],
        }

    def offers(self, device: str) -> int:
        """How many runs the present workers take at once."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(
            int(one["resources"].get("GPU", 0)) if device == "cuda" else one["nthreads"] for one in workers
        )

    def train(
        self, runs: Sequence[PlannedRun], stop: Stop, hear: Hear, force: bool
    ) -> Iterator[tuple[PlannedRun, Ending]]:
        """Train these runs; yields each run with its ending, as they end."""
        by_id, done = {run.run_id: run for run in runs}, threading.Event()
        self.client.subscribe_topic(self.words["key"], lambda event: hear(*event[1]))
        threading.Thread(target=self._watch, args=(stop, hear, done), daemon=True).start()
        gpu = {"resources": {"GPU": 1}} if self.device == "cuda" else {}
        parallel = joblib.Parallel(
            n_jobs=-1, backend=Backend(client=self.client, **gpu), batch_size=1, pre_dispatch="all",
            return_as="generator_unordered",
        )  # fmt: skip
        task, words = joblib.delayed(sent(str(PROJECT))), {**self.words, "force": force}
        calls = [task({**words, "run": [r.run_id, canonical_json(r.config), r.label]}) for r in runs]
        try:
            for run, state, seconds, failure in parallel(calls):
                yield by_id[run], Ending(state, seconds, failure and Failure(**failure))
        except Exception as error:  # dask and joblib have many
            if not stop.asked:
                self.lost = (
                    f"The scheduler at {self.address} was lost ({type(error).__name__}); finished runs are kept, "
                    "and workers store those that they are at."
                )
        finally:
            done.set()

    def _watch(self, stop: Stop, hear: Hear, done: threading.Event) -> None:
        """Pass a stop on to the workers, see the scheduler go, and say so if no worker is there."""
        told, lonely = float("inf"), time.monotonic()
        while not done.wait(POLL):
            if stop.deadline < told:
                told = stop.deadline
                files.write_whole(self.sign, str(max(0.0, told - time.monotonic())).encode())
            if self.client.status != "running" or time.monotonic() > stop.deadline + 2 * PATIENCE:
                return self.client.close(timeout=2)  # which ends the generator
            if time.monotonic() - lonely > LONELY and not self.offers(self.device):
                lonely, offer = float("inf"), " --resources GPU=1" if self.device == "cuda" else ""
                hear("", {"note": f"No worker is there; waiting for one: dask worker {self.address}{offer}"})

    def close(self) -> None:
        """Let the workers' warm processes and the scheduler go."""
        self.sign.unlink(missing_ok=True)
        with contextlib.suppress(Exception):  # nothing hangs on a polite goodbye
            self.client.close(timeout=2)


def connected(address: str) -> Client:
    """A client of the scheduler at this address. Raises UserError if none answers within some seconds."""
    for name in [
        name
        for name in logging.root.manager.loggerDict
        if name.startswith(("distributed", "tornado", "asyncio"))
    ]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said here, in sentences

    async def greet() -> None:
        async with rpc(address, timeout=ANSWER) as there:
            await there.identity(n_workers=0)

    try:  # a client would wait for ever where somebody listens but does not speak, so ask before making one
        asyncio.run(asyncio.wait_for(greet(), ANSWER))
        return Client(address, timeout=ANSWER, set_as_default=False)
    except Exception as error:  # a wrong name, no route, another protocol: there is no scheduler
        raise UserError(
            f"No dask scheduler answers at {address}; start one with `dask scheduler` and give its address, "
            "such as tcp://host:8786."
        ) from error


def sent(project: str) -> Callable[[dict], tuple]:
    """The task of a worker. It is pickled by value, being local, and takes plain values: neither the scheduler
    nor a worker has to find this project before the task runs."""

    def task(words: dict) -> tuple:
        import importlib
        import sys

        sys.path[:0] = [] if project in sys.path else [project]
        try:
            return importlib.import_module("core.runner.cluster").perform(words)
        except Exception as error:
            detail = f"A worker that uses {project} says: {type(error).__name__}: {error}"
            return words["run"][0], "failed", 0.0, {"cause": "not started", "detail": detail}

    return task


_launchers: dict[str, tuple[Launcher, Stop]] = {}  # of a worker, by command
_lock = threading.Lock()


def perform(words: dict) -> tuple:
    """Train one run here, as a task of a worker. Raises UserError if this machine cannot take part."""
    sign, key, told = Path(words["sign"]), words["key"], 0.0
    run, config, label = words["run"]
    if not sign.exists():
        raise UserError(f"{sign.parents[1]} is not there; give a --results-dir that all machines share.")
    worker = get_worker()

    def hear(run: str, message: dict) -> None:
        nonlocal told
        if "phase" not in message or time.monotonic() - told >= TELL:
            told = time.monotonic()
            worker.log_event(key, (run, message))

    with _lock:
        if key not in _launchers:
            order = Order(**{**words["order"], "execution": Execution(**words["order"]["execution"])})
            _launchers[key] = Launcher(order, devices.resources(*words["on"])), Stop()
            threading.Thread(target=_mind, args=(key, sign), daemon=True).start()
    launcher, stop = _launchers[key]
    launcher.wait_ready(stop)
    ending = launcher.launch(run, config, label, stop, hear, words["force"])
    return run, ending.state, ending.seconds, ending.failure and asdict(ending.failure)


def _mind(key: str, sign: Path) -> None:
    """Stop what this worker does for a command when its sign says so; let the warm process go with the command."""
    (launcher, stop), told = _launchers[key], b""
    with contextlib.suppress(OSError):  # the sign is gone
        while True:
            if (text := sign.read_bytes()) != told:
                told = text
                stop.ask(signal.SIGTERM, float(text))
            time.sleep(POLL)
    del _launchers[key]
    launcher.close()
