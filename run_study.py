"""Reproduce a paper's ablation: plan, train what is missing, render. `python run_study.py --help`
lists the options. `import run_study` has what `core.api` has: `run_study.load()`,
`run_study.judge(…)`, `run_study.train(…)`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (before anything newer is imported)
    number = ".".join(map(str, sys.version_info[:2]))
    sys.stderr.write(f"This is Python {number}; use Python 3.11 or later.\n")
    sys.exit(2)

STOPPED = "Stopped; what is finished is kept, and the same command goes on."


def stop(*_) -> None:
    """End at once, without an exception, which would leave foreign code anywhere: pandas crashed on
    it."""
    with contextlib.suppress(Exception):  # the signal came within a print, or nobody reads
        sys.stdout.flush()
        os.write(2, f"{STOPPED}\n".encode())
    os._exit(130)


def open_streams() -> None:
    """Open the null device in place of standard streams that are closed: other files would take
    their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


open_streams()
if signal.getsignal(signal.SIGINT) is signal.default_int_handler and __name__ == "__main__":
    signal.signal(signal.SIGINT, stop)

from io import TextIOWrapper
from pathlib import Path

HOME = Path(__file__).resolve().parent


def refuse_others() -> None:
    """Raise ImportError if a script has loaded packages of its own under the names of this
    project's."""
    for name in ("core", "studies", "tools"):
        module = sys.modules.get(name)
        if module is not None:
            place = os.path.realpath(module.__file__ or module.__path__[0])
            if not place.startswith(os.path.realpath(HOME / name)):
                raise ImportError(
                    f"{name} is loaded from {place}, and run_study needs its own {name}; import "
                    "run_study in a process without yours."
                )


refuse_others()
sys.path.insert(0, str(HOME))  # before a script's own, and python -I leaves it out

from core.errors import UserError
from core.formatting import say

try:
    from core.runner import cli, command
    from core.runner.orders import AnyStudyOrder, RunsOrder
    from core.runner.train import Surroundings
    from core.store import files
except ModuleNotFoundError as error:
    say(
        f"The package {error.name} is not installed; {sys.executable} -m pip install -r "
        f"{HOME / 'requirements.txt'} brings it.",
        out=sys.stderr,
    )
    sys.exit(2)


def main(argv: list[str], surroundings: Surroundings | None = None, installed: bool = False) -> int:
    """Do what the command line asks; the `installed` command works in the current folder. The exit
    status: 0 done, 1 a run failed, 2 bad usage, 128 + signal if stopped."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                # a terminal's alphabet may lack what a name holds; a pipe shows each line at once
                stream.reconfigure(errors="backslashreplace", line_buffering=True)
        order = cli.parse(argv)
        if not isinstance(order, AnyStudyOrder | RunsOrder):
            return command.do_alone(order)
        from studies import CATALOGUE  # reads every study

        if surroundings is None:
            own = HOME
            if installed and HOME not in (Path.cwd(), *Path.cwd().parents):
                own = Path.cwd()
            surroundings = Surroundings(catalogue=CATALOGUE, home=HOME, own=own)
        if isinstance(order, RunsOrder):
            from core.runner.runs import list_runs

            status = list_runs(order, surroundings)
        else:
            status = command.do(order, surroundings)
        if sys.stdout is not None:  # it may have been closed before the start
            sys.stdout.flush()  # while a full disk can still be told
        return status
    except UserError as error:
        say(str(error), out=sys.stderr)
        return 2
    except BrokenPipeError:
        _let_go()  # whoever read our output has had enough
        return 141
    except OSError as error:
        say(files.trouble(error.filename or "The output", error), out=sys.stderr)
        if error.filename is None:
            _let_go()
        return 2
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
        return 130


def __getattr__(name: str) -> object:
    """What `core.api` has under this name, which is imported when it is needed."""
    if name.startswith("__"):  # a library looks at every module
        raise AttributeError(name)
    from core import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return [*globals(), "judge", "load", "train"]


def _let_go() -> None:
    """Send what is still to be written to the null device, since the output takes no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def start() -> None:
    """The command `run-study`, which `pip install -e .` makes."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
    sys.exit(main(sys.argv[1:], installed=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
