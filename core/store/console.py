"""The standard streams: made usable before anything else, and what is printed on them."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TextIO

from core.spec.printable import printable


def open_closed() -> None:
    """Open the null device on each of the descriptors 0, 1 and 2 that is closed, and let no letter break off a print.

    Otherwise the next file or socket becomes the standard stream, and what is printed goes there. To be called before anything
    else is opened.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free, and so this one
        if getattr(sys, name) is None:  # Python's own sign that it was closed
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115  it stays open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal's alphabet may lack what a name holds


def say(*lines: str, out: TextIO | None = None) -> None:
    """Print these lines at once, whatever their names hold."""
    print(*map(printable, lines), sep="\n", file=out or sys.stdout, flush=True)


def let_go(number: int) -> None:
    """Have the null device take what is still to be written to a descriptor that takes no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
