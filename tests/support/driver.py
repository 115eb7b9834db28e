"""`run_study.py` with the fake job and a report that draws nothing, in a home of its own: for the
runner's tests."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import types
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import run_study
import studies
from core.runner import launch, worker
from core.runner.devices import cache_folder
from core.study.catalogue import Catalogue, catalogue


def without_drawing() -> None:
    """Put a report that draws nothing in the place of the real one."""
    import core.report

    nothing = types.SimpleNamespace(name="", line="drew nothing", sheet=None)
    drawn = types.ModuleType("core.report.drawn")
    drawings = types.SimpleNamespace(
        every=lambda wanted: [nothing] * len(wanted), outlines=lambda *_: []
    )
    drawn.Drawings = lambda *_: drawings
    render = types.ModuleType("core.report.render")
    render.refuse_foreign = render.write_runs = lambda *_: None
    for name, module in (("drawn", drawn), ("render", render)):
        sys.modules[f"core.report.{name}"] = module
        setattr(core.report, name, module)


class ForkedWorker(launch.Worker):
    """A warm process that is a fork of the command, which has imported all: a second less."""

    def __init__(self, modules, threads, home):
        self.log = cache_folder() / "worker.log"
        self._broken = None
        self._lock = threading.Lock()
        self._requests, theirs = multiprocessing.Pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for number, descriptor in enumerate((theirs.fileno(), output, output)):
                os.dup2(descriptor, number)
            self._requests.close()
            theirs.close()
            try:
                worker.main(*modules)
            finally:
                os._exit(0)
        theirs.close()
        self.process = Child(pid)


class Child(psutil.Process):
    """A child; of subprocess.Popen what a launcher uses."""

    def wait(self, timeout: float = 0.0) -> int | None:
        with contextlib.suppress(psutil.TimeoutExpired):
            return super().wait(timeout)
        return None

    poll = wait


def main(argv: list[str]) -> int:
    """Do what the command line asks, in the surroundings that the environment names."""
    if not os.environ.get("REAL_REPORT"):
        without_drawing()
    if os.environ.get("FAKE_HOST"):  # which has slots of its own
        socket.gethostname = lambda: os.environ["FAKE_HOST"]
    for number in os.environ.get("IGNORED_SIGNALS", "").split():
        signal.signal(int(number), signal.SIG_IGN)
    if not os.environ.get("REAL_WORKER"):
        launch.Worker = ForkedWorker
    found = studies.CATALOGUE
    if os.environ.get("PAPERS_FOLDER"):  # further papers and studies, for tests of finding them
        found = catalogue(Path(studies.__file__).parent, Path(os.environ["PAPERS_FOLDER"]))
    if os.environ.get("KNOWN_STUDIES"):
        from tests.support.known_jobs import STUDIES

        found = Catalogue({Path(f"mocose/{study.name}.py"): study for study in STUDIES}, {})

    around = run_study.Surroundings(
        catalogue=found,
        home=Path(os.environ["FAKE_HOME"]),
        own=Path(os.environ["FAKE_HOME"]),
        job=os.environ.get("FAKE_JOB", "tests.support.fake_jobs:run"),
        warm=(),
    )
    if argv[:1] in (["publish"], ["verify"]):
        tool = importlib.import_module(f"tools.{argv[0]}")
        return tool.main(argv[1:], around)
    return run_study.main(argv, around)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
