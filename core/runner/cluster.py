"""`--cluster ADDRESS`: a dask scheduler hands the runs to its workers, and a worker launches a run
as one machine does. The shared store and its claims say which runs are done and which are being
trained. So a lost worker or scheduler costs at most the runs in training."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from distributed import Client, as_completed, get_worker, rpc

from core.config.identity import canonical_json
from core.errors import UserError
from core.runner.devices import PROJECT
from core.runner.launch import SHORT_GRACE, STOP_POLL, Ending, Hear, Launcher, Stop, launcher
from core.runner.plan import PlannedRun
from core.runner.worker import Message, Order
from core.store import files

ANSWER = 8.0  # seconds that a scheduler has to answer


class Cluster:
    """Trains runs on the workers of a scheduler. `lost` is a sentence once the scheduler is gone.
    The sign is a file that workers see while the command runs; it holds how often the command was
    asked to stop."""

    def __init__(self, address: str, order: Order, scale: str, device: str, jobs: int | None):
        self.address = address
        self.client = connected(address)
        self.lost = ""
        self.key = uuid.uuid4().hex
        self.jobs = max(1, sum(self.client.ncores().values()))
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        self.device = device
        if device == "auto":
            offers_gpu = any(worker["resources"].get("GPU") for worker in workers)
            self.device = "cuda" if offers_gpu else "cpu"
        self.sign = Path(order.execution.results_dir) / ".locks" / f"{self.key}.cluster"
        files.write_whole(self.sign, b"0")
        self.words = {
            "sign": str(self.sign),
            "order": order.to_json(),
            "on": [scale, self.device, jobs],
        }

    def train(
        self, runs: Sequence[PlannedRun], stop: Stop, hear: Hear, force: bool
    ) -> Iterator[Ending]:
        """Train these runs; yields the ending of each as it comes."""
        done = threading.Event()

        def pass_on(event: tuple) -> None:
            run, fields = event[1]
            hear(run, Message(*fields))

        self.client.subscribe_topic(self.key, pass_on)
        threading.Thread(target=self._watch, args=(stop, hear, done), daemon=True).start()
        task = sent(str(PROJECT))
        needs = {}
        if self.device == "cuda":
            needs["GPU"] = 1
        try:
            futures = []
            for run in runs:
                config = canonical_json(run.config)
                futures.append(
                    self.client.submit(
                        task, run.run_id, config, force, self.words, pure=False, resources=needs
                    )
                )
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
            if (
                self.client.status != "running"
                or time.monotonic() > stop.deadline + 2 * SHORT_GRACE
            ):
                self.client.close(timeout=2)  # which ends the generator
                return
            if time.monotonic() - lonely > 15.0 and not self.client.ncores():
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


def sent(project: str) -> Callable[..., tuple]:
    """The task of a worker. It is pickled by value, being local, and takes plain values: neither
    the scheduler nor a worker has to find this project before the task runs."""

    def task(run: str, config: str, force: bool, words: dict) -> tuple:
        import sys

        if project not in sys.path:
            sys.path.insert(0, project)
        try:
            from core.runner.cluster import perform

            return perform(run, config, force, **words)
        except Exception as error:
            cause = f"A worker that uses {project} says: {type(error).__name__}: {error}"
            return run, "failed", 0.0, "", cause

    return task


_launchers: dict[str, tuple[Launcher, Stop]] = {}  # of a worker, by the command's sign
_lock = threading.Lock()


def perform(run: str, config: str, force: bool, sign: str, order: str, on: list) -> tuple:
    """Train one run here, as a task of a worker. Raises UserError if this machine cannot take
    part."""
    path = Path(sign)
    if not path.exists():
        raise UserError(
            f"{path.parents[1]} is not there; give a --results-dir that all machines share."
        )
    with _lock:
        if sign not in _launchers:
            _launchers[sign] = launcher(Order.from_plain(json.loads(order)), *on), Stop()
            threading.Thread(target=_mind, args=(path,), daemon=True).start()
    trainer, stop = _launchers[sign]
    worker = get_worker()

    def report(run: str, message: Message) -> None:
        worker.log_event(path.stem, (run, tuple(message)))

    trainer.worker(stop)
    return tuple(trainer.launch(run, config, stop, report, force))


def _mind(sign: Path) -> None:
    """Stop what this worker does for a command when its sign says so; let the warm process go with
    the command."""
    trainer, stop = _launchers[str(sign)]
    with contextlib.suppress(OSError):  # the sign is gone
        while True:
            if int(sign.read_text()) > stop.asked:
                stop.ask(signal.SIGTERM)
            time.sleep(STOP_POLL)
    del _launchers[str(sign)]
    trainer.close()
