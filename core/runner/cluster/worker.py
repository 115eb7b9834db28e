"""What happens on a dask worker: a launcher of the worker's own for each command, kept from run to run with its warm process."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker, get_worker

from core.runner import devices
from core.runner.launch import Launcher, Outcome
from core.runner.pace import Pace
from core.runner.plan import PlannedRun
from core.runner.progress import Display
from core.spec.errors import UserError
from core.spec.run import Execution
from core.store.store import Store

TELL = 2.0  # least seconds between two reports of one run


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What a worker has to know of a command; `key` names it. Device and threads of `execution` are the worker's to fill in."""

    key: str
    scale: str
    device: str  # "cpu" or "cuda"
    jobs: int | None
    execution: Execution
    published: Path | None
    job: str
    warm: tuple[str, ...]
    time_limit: float | None
    provenance: dict[str, object]
    use_published: bool
    force: bool

    @property
    def sign_path(self) -> Path:
        """The file that exists in the command's results folder for as long as the command runs."""
        return Path(self.execution.results_dir) / ".locks" / f"{self.key}.cluster"

    @property
    def resources(self) -> dict[str, int] | None:
        """What a run asks of its worker, in dask's words."""
        return {"GPU": 1} if self.device == "cuda" else None


class Telling(Display):
    """A display without a screen: tells the driver what only the worker knows. Outcomes are told by being returned."""

    def __init__(self, worker: Worker, key: str):
        super().__init__(Pace(0, 0.0, 1))
        self._worker, self._key = worker, key
        self._told: dict[str, float] = {}

    def started(self, run: PlannedRun) -> None:
        self._tell({"run": run.run_id})

    def progress(self, run: PlannedRun, message: dict) -> None:
        now = time.monotonic()
        if now - self._told.get(run.run_id, -TELL) >= TELL:
            self._told[run.run_id] = now
            self._tell({"run": run.run_id, **message})

    def tick(self) -> None:
        pass

    def finished(self, run: PlannedRun, seconds: float, score: str) -> None:
        pass

    def failed(self, run: PlannedRun, failure) -> None:
        pass

    def passed(self, run: PlannedRun, why: str) -> None:
        pass

    def dropped(self, run: PlannedRun) -> None:
        pass

    def note(self, *lines: str) -> None:
        for line in lines:
            self._tell({"note": line})

    def _tell(self, message: dict) -> None:
        self._worker.log_event(self._key, message)


_launchers: dict[str, Launcher] = {}
_busy: dict[str, int] = {}
_lock = threading.Lock()


def perform(errand: Errand, run: PlannedRun) -> Outcome:
    """Train one run here, as a task of a worker. Raises UserError if this machine cannot take part."""
    if not errand.sign_path.exists():
        raise UserError(
            f"A worker on {get_worker().address} does not see {errand.execution.results_dir}; give a --results-dir that all machines share."
        )
    with _lock:
        if errand.key not in _launchers:
            _clear()
            _launchers[errand.key] = _launcher(errand)
        launcher = _launchers[errand.key]
        _busy[errand.key] = _busy.get(errand.key, 0) + 1
    try:
        launcher.wait_ready()
        return launcher.launch(run)
    finally:
        with _lock:
            _busy[errand.key] -= 1


def stop(key: str, number_of_signal: int, grace: float) -> None:
    """Stop what this worker does for a command; its children have `grace` seconds."""
    launcher = _launchers.get(key)
    if launcher is not None:
        launcher.stop.ask(number_of_signal, grace)


def leave(key: str) -> None:
    """Forget a command that has ended, and let its warm process go."""
    with _lock:
        _let_go(key)


def _launcher(errand: Errand) -> Launcher:
    resources = devices.resources(errand.scale, errand.device, errand.jobs)
    store = Store(Path(errand.execution.results_dir), errand.published)
    return Launcher(
        store=store, execution=replace(errand.execution, device=resources.device, threads=resources.threads),
        slots=devices.Slots(resources, "a worker of a cluster"), display=Telling(get_worker(), errand.key), job=errand.job, warm=errand.warm,
        time_limit=errand.time_limit, provenance=errand.provenance, use_published=errand.use_published, force=errand.force,
    )  # fmt: skip


def _clear() -> None:
    """Let commands go whose driver went without a word."""
    for key in [key for key in _launchers if not _busy.get(key)]:
        _let_go(key)


def _let_go(key: str) -> None:
    launcher = _launchers.pop(key, None)
    if launcher is not None:
        threading.Thread(target=launcher.close, daemon=True).start()  # it may take seconds, and this is the worker's own thread
