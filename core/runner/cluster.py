"""`--cluster ADDRESS`: a dask scheduler hands the runs to its workers, and a worker launches a run
as one machine does. The shared store and its claims say which runs are done and which are being
trained. So a lost worker or scheduler costs at most the runs in training."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from distributed import Client, as_completed, get_worker, rpc

from core.config.identity import canonical_json
from core.errors import HOME, UserError
from core.runner import devices
from core.runner.launch import SHORT_GRACE, STOP_POLL, Ending, Hear, Launcher, Stop
from core.runner.plan import PlannedRun
from core.runner.worker import Message, RunOrder
from core.store import files

ANSWER = 8.0  # seconds that a scheduler has to answer
LONELY = 15.0  # seconds without a worker before the command says so


class Cluster:
    """Trains runs on the workers of a scheduler. `lost` is a sentence once the scheduler is gone.
    The sign is a file that workers see while the command runs; it holds how often the command was
    asked to stop."""

    def __init__(self, address: str, order: RunOrder, scale: str, device: str, jobs: int | None):
        self.address = address
        self.client = connected(address)
        self.lost = ""
        self.key = uuid.uuid4().hex
        self.jobs = max(1, sum(self.client.ncores().values()))
        self.needs = {"GPU": 1} if device == "cuda" else {}
        self.sign = Path(order.execution.results_dir) / ".locks" / f"{self.key}.cluster"
        files.write_whole(self.sign, b"0")
        # as bytes: neither the scheduler nor a worker has to find this project before the task runs
        self.order = pickle.dumps((self.sign, order, (scale, device, jobs)))

    def train(
        self, runs: Sequence[PlannedRun], stop: Stop, hear: Hear, force: bool
    ) -> Iterator[Ending]:
        """Train these runs; yields the ending of each as it comes."""
        done = threading.Event()

        def pass_on(event: tuple) -> None:
            run, fields = event[1]
            hear(run, Message(**fields))

        self.client.subscribe_topic(self.key, pass_on)
        threading.Thread(target=self._watch, args=(stop, hear, done), daemon=True).start()
        task = sent(str(HOME), self.order)
        try:
            futures = []
            for run in runs:
                arguments = run.run_id, canonical_json(run.config), force
                future = self.client.submit(task, *arguments, pure=False, resources=self.needs)
                futures.append(future)
            for future in as_completed(futures, loop=self.client.loop):
                yield Ending(*future.result())
        except Exception as error:  # dask has many
            if not stop.asked:
                words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
                self.lost = (
                    f"The scheduler at {self.address} was lost, or takes no runs ({words}); "
                    "finished runs are kept, and workers store those that they are at."
                )
        finally:
            done.set()

    def _watch(self, stop: Stop, hear: Hear, done: threading.Event) -> None:
        """Pass a stop on to the workers, see the scheduler go, and say so if no worker is there."""
        asked = 0
        lonely = time.monotonic()
        while not done.wait(STOP_POLL):
            if stop.asked > asked:
                asked = stop.asked
                files.write_whole(self.sign, str(asked).encode())
            late = time.monotonic() > stop.deadline + 2 * SHORT_GRACE
            if late or self.client.status != "running":
                self.client.close(timeout=2)  # which ends the generator
                return
            if time.monotonic() - lonely > LONELY and not self.client.ncores():
                lonely = float("inf")
                note = f"No worker is there; waiting for one: dask worker {self.address}"
                hear("", Message(note=note))

    def close(self) -> None:
        """Let workers and scheduler go."""
        with contextlib.suppress(Exception):  # nothing hangs on a polite goodbye
            self.sign.unlink()
            self.client.close(timeout=2)


def connected(address: str) -> Client:
    """A client of the scheduler at this address. Raises UserError if none answers within some
    seconds."""
    logging.disable(logging.CRITICAL)  # what matters is said here, in sentences
    # a client would wait for ever where somebody listens but does not speak, so ask before making
    # one
    try:
        asyncio.run(asyncio.wait_for(rpc(address, timeout=ANSWER).identity(n_workers=0), ANSWER))
        return Client(address, timeout=ANSWER, set_as_default=False)
    except Exception as error:  # a wrong name, no route, another protocol: there is no scheduler
        start = "start one with `dask scheduler` and give its address, such as tcp://host:8786."
        raise UserError(f"No dask scheduler answers at {address}; {start}") from error


def sent(project: str, order: bytes) -> Callable[[str, str, bool], tuple]:
    """The task of a worker. Being local, it is pickled by value."""

    def task(run: str, config: str, force: bool) -> tuple:
        import sys

        if project not in sys.path:
            sys.path.insert(0, project)
        try:
            from core.runner.cluster import perform

            return perform(run, config, force, order)
        except Exception as error:
            cause = f"A worker that uses {project} says: {type(error).__name__}: {error}"
            return run, "failed", 0.0, "", cause

    return task


_launchers: dict[Path, tuple[Launcher, Stop]] = {}  # of a worker, by the command's sign
_lock = threading.Lock()


def perform(run: str, config: str, force: bool, order: bytes) -> tuple:
    """Train one run here, as a task of a worker. Raises UserError if this machine cannot take
    part."""
    sign, whole, here = pickle.loads(order)  # noqa: S301  (dask unpickles all that it sends)
    if not sign.exists():
        raise UserError(
            f"{sign.parents[1]} is not there; give a --results-dir that all machines share."
        )
    with _lock:
        if sign not in _launchers:
            _launchers[sign] = Launcher(whole, devices.resources(*here)), Stop()
            threading.Thread(target=_mind, args=(sign,), daemon=True).start()
    launcher, stop = _launchers[sign]
    worker = get_worker()

    def report(run: str, message: Message) -> None:
        if message.stated():
            worker.log_event(sign.stem, (run, message.stated()))

    return tuple(launcher.launch(run, config, stop, report, force))


def _mind(sign: Path) -> None:
    """Stop what this worker does for a command when its sign says so; let the warm process go with
    the command."""
    launcher, stop = _launchers[sign]
    with contextlib.suppress(OSError):  # the sign is gone
        while True:
            if int(sign.read_text()) > stop.asked:
                stop.ask(signal.SIGTERM)
            time.sleep(STOP_POLL)
    del _launchers[sign]
    launcher.close()
