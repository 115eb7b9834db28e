"""Words for people: printed lines, names, numbers of things and times."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TextIO

WEEKS = 14 * 24 * 3600.0  # from here on a time is given in weeks
LONGEST_NAME = 60  # characters of a name that tables and figures have room for


def printable(text: str) -> str:
    """The text with what is no letter, mark or blank as an escape, such as `\\x1b`: a name moves no
    cursor, begins no line, turns no direction of writing, and can be encoded."""
    if text.isprintable():
        return text
    letters = []
    for letter in text:
        if not letter.isprintable():
            letter = letter.encode("unicode_escape").decode("ascii")
        letters.append(letter)
    return "".join(letters)


def say(*lines: str, out: TextIO | None = None) -> None:
    """Print these lines at once, whatever their names hold."""
    print("\n".join(map(printable, lines)), file=out or sys.stdout, flush=True)


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 run` or `2 runs`."""
    ending = "" if number == 1 else "s"
    return f"{number} {noun}{ending}"


def spoken(seconds: float) -> str:
    """Seconds in the words of a person: `40 s`, `12 min`, `3.5 h`, `23 weeks`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < WEEKS:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / WEEKS * 2:.0f} weeks"


def are(number: int, noun: str) -> str:
    """How many things are there, with their verb: `1 run is`, `2 runs are`."""
    verb = "is" if number == 1 else "are"
    return f"{counted(number, noun)} {verb}"


def nearest(name: str, names: Iterable[str], otherwise: str, *, cutoff: float = 0.6) -> str:
    """How a sentence about an unknown name ends: `did you mean x?`, or `otherwise` if none is
    near."""
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=cutoff)
    if near:
        return f"did you mean {near[0]}?"
    return otherwise


def shown(name: str) -> str:
    """A name as tables, figures and pages show it: in one line, and cut where it would leave
    them."""
    name = printable(name)
    if len(name) > LONGEST_NAME:
        return f"{name[:LONGEST_NAME]}…"
    return name


def no_formula(name: str) -> str:
    """A name as a cell of a CSV file: with a quote where a spreadsheet would read a formula."""
    if name.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return f"'{name}"
    return name
