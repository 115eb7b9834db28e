"""Runs on the workers of a dask scheduler: each worker claims, takes a slot and supervises a child, just as one machine does.

dask says which worker takes a run, and nothing else. The store, which all machines share, says which runs are done; the claims in
it say which are being trained. So a lost worker, driver or scheduler costs at most the runs that it was training. Imported only when
`--cluster` asks for it.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import itertools
import logging
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import replace

from distributed import Client, Future, KilledWorker, rpc

from core.runner.cluster import worker
from core.runner.cluster.worker import Errand
from core.runner.launch import PATIENCE, POLL, Outcome, Stop, failed
from core.runner.plan import PlannedRun, cost
from core.runner.progress import Display
from core.spec.errors import UserError
from core.store import files
from core.store.store import Failure, Store

ANSWER = 8.0  # seconds that a scheduler is given to answer
LONELY = 15.0  # seconds without a worker after which that is said


class Cluster:
    """A launcher whose children run on other machines: the same methods as `core.runner.launch.Launcher`.

    `lost` is a sentence once the scheduler is gone, else empty. Raises UserError if nobody answers at the address.
    """

    def __init__(self, address: str, errand: Errand, store: Store, display: Display):
        self.store = store
        self.stop = Stop()
        self.lost = ""
        self._address, self._errand, self._display = address, errand, display
        self._runs: dict[str, PlannedRun] = {}
        self._lock = threading.Lock()
        self._line: list[tuple[float, int, str]] = []  # runs that wait for a place, longest first
        self._arrival = itertools.count()
        self._placed = 0
        self._told_to_stop_by = float("inf")
        self._closed = threading.Event()
        self._client = connected(address)
        self._client.subscribe_topic(errand.key, self._hear)
        self.places = self._count()
        display.pace.jobs = max(1, self.places)
        threading.Thread(target=self._watch, daemon=True, name="cluster").start()

    def wait_ready(self) -> None:
        """Leave a sign in the results folder; a worker that sees it works in the same folder."""
        files.write_whole(self._errand.sign_path, b"")

    def close(self) -> None:
        """Let the workers' nurseries and the scheduler go."""
        self._closed.set()
        if not self.lost:
            self._everywhere(worker.leave).join(timeout=5)
        with contextlib.suppress(Exception):  # nothing hangs on a polite goodbye
            self._client.close(timeout=2)
        self._errand.sign_path.unlink(missing_ok=True)

    def launch(self, run: PlannedRun, wait: bool = False) -> Outcome:
        """Have a worker train this run. With `wait`, wait here for whoever holds it and look what they left."""
        try:
            while wait and not self._over() and self.store.claimed(run.run_id):
                time.sleep(POLL)
            if wait and self.store.has(run.run_id, self._errand.use_published):
                return self._told(Outcome(run=run, state="found"))
            if not self._take_place(run):
                return Outcome(run=run, state="stopped")
            try:
                return self._told(self._on_a_worker(run))
            finally:
                with self._lock:
                    self._placed -= 1
        except Exception as error:  # one run's trouble is not the others'
            detail = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"[:500]
            return failed(run, 0.0, Failure(cause="not started", detail=detail), self.store, self._display)

    def _take_place(self, run: PlannedRun) -> bool:
        """Wait until the workers have room for this run, after all longer runs; False if the command ends before that."""
        ticket = (-cost(run.config), next(self._arrival), run.run_id)
        with self._lock:
            self._runs[run.run_id] = run
            bisect.insort(self._line, ticket)
        while not self._over():
            with self._lock:
                if self._placed < self.places and self._line[0] == ticket:
                    self._line.pop(0)
                    self._placed += 1
                    return True
            self._display.tick()
            time.sleep(POLL)
        return False

    def _on_a_worker(self, run: PlannedRun) -> Outcome:
        key = f"{run.run_id}-{next(self._arrival)}-{self._errand.key}"
        future = self._client.submit(worker.perform, self._errand, run, resources=self._errand.resources, key=key)
        while not future.done():
            if self.lost:
                return self._unheard(run)
            if self.stop.asked:
                self._pass_on_the_stop()
                if time.monotonic() > self.stop.deadline + 2 * PATIENCE:
                    return self._unheard(run)
            self._display.tick()
            time.sleep(POLL)
        return self._result(run, future)

    def _result(self, run: PlannedRun, future: Future) -> Outcome:
        try:
            return replace(future.result(), run=run)
        except (CancelledError, TimeoutError):
            if not self.stop.asked:
                self._lose()
            return self._unheard(run)
        except KilledWorker:
            failure = Failure(cause="its workers died", detail="Several workers were lost while they were at this run.")
            self.store.record_failure(run.run_id, failure)
            return Outcome(run=run, state="failed", failure=failure)

    def _unheard(self, run: PlannedRun) -> Outcome:
        """What became of a run whose worker cannot be heard any more: the store knows."""
        there = not self._errand.force and self.store.has(run.run_id)
        return Outcome(run=run, state="done" if there else "stopped")

    def _told(self, outcome: Outcome) -> Outcome:
        """The outcome, once it is shown: a worker cannot reach our screen."""
        match outcome.state:
            case "done":
                self._display.finished(outcome.run, outcome.seconds, outcome.score)
            case "failed":
                self._display.failed(outcome.run, outcome.cause)
            case "found":
                self._display.passed(outcome.run, "trained by another command")
            case "elsewhere":
                self._display.elsewhere(outcome.run)
            case "stopped":
                self._display.dropped(outcome.run)
        return outcome

    def _over(self) -> bool:
        return self.stop.asked or bool(self.lost)

    def _hear(self, event: tuple) -> None:
        """Show what a worker says of a run."""
        _, message = event
        run = self._runs.get(message.get("run", ""))
        if "note" in message:
            self._display.note(message["note"])
        elif run is not None and "phase" in message:
            self._display.progress(run, message)
        elif run is not None:
            self._display.started(run)

    def _watch(self) -> None:
        """Keep count of the workers' places, see the scheduler go, and say so if no worker is present."""
        lonely_since, said = time.monotonic(), False
        while not self._closed.wait(1.0):
            try:
                if self._client.status != "running":
                    raise OSError("not connected")
                self.places = self._count()
                self._display.pace.jobs = max(1, self.places)
            except Exception:
                if not self._closed.is_set():
                    self._lose()
                return
            if self.places:
                lonely_since, said = time.monotonic(), False
            elif not said and time.monotonic() - lonely_since > LONELY:
                said = True
                offer = " that offers a GPU (--resources GPU=1)" if self._errand.device == "cuda" else ""
                self._display.note(f"No worker{offer} is at {self._address}; waiting for one: dask worker {self._address} …")

    def _count(self) -> int:
        """How many runs the present workers can take at once."""
        return sum(offers(worker)[self._errand.device] for worker in self._client.scheduler_info()["workers"].values())

    def _lose(self) -> None:
        self.lost = f"The scheduler at {self._address} was lost; finished runs are kept, and workers store those that they are at."

    def _pass_on_the_stop(self) -> None:
        with self._lock:
            if self.stop.deadline >= self._told_to_stop_by:
                return
            self._told_to_stop_by = self.stop.deadline
        self._everywhere(worker.stop, self.stop.signal, max(0.0, self.stop.deadline - time.monotonic()))

    def _everywhere(self, function, *arguments) -> threading.Thread:
        """Call something on every worker, in a thread, since a worker that is gone may take long not to answer."""

        def call() -> None:
            with contextlib.suppress(Exception):
                self._client.run(function, self._errand.key, *arguments, on_error="ignore")

        thread = threading.Thread(target=call, daemon=True, name="everywhere")
        thread.start()
        return thread


def connected(address: str) -> Client:
    """A client of the scheduler at this address. Raises UserError if none answers within some seconds."""
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said here, in sentences
    try:  # a client would wait for ever where somebody listens but does not speak, so ask before making one
        asyncio.run(asyncio.wait_for(_greet(address), ANSWER))
        return Client(address, timeout=ANSWER, set_as_default=False)
    except Exception as error:  # whatever it is (a wrong name, no route, another protocol): there is no scheduler
        raise UserError(
            f"No dask scheduler answers at {address}; start one with `dask scheduler` and give its address, such as tcp://host:8786."
        ) from error


async def _greet(address: str) -> None:
    """Ask who is there. Raises something if it is no scheduler."""
    async with rpc(address, timeout=ANSWER) as there:
        if (await there.identity(n_workers=0))["type"] != "Scheduler":
            raise ValueError("not a scheduler")


def offers(worker: dict) -> dict[str, int]:
    """How many runs a worker takes at once, by device."""
    return {"cpu": worker["nthreads"], "cuda": int(worker["resources"].get("GPU", 0))}


def device_of(address: str) -> str:
    """The device that `auto` means here: the GPUs that workers offer, else their CPUs. Raises UserError as `connected`."""
    with connected(address) as client:
        workers = client.scheduler_info()["workers"].values()
        return "cuda" if any(offers(worker)["cuda"] for worker in workers) else "cpu"
