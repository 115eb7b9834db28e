"""Mistakes that a user can mend, and text for people."""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import extract_tb
from typing import TextIO

HOME = Path(__file__).resolve().parents[1]
WEEKS = 14 * 24 * 3600.0  # from here on a time is given in weeks
LONGEST_NAME = 60  # characters of a name that tables and figures have room for


class UserError(Exception):
    """One sentence that says what is wrong and what to do; the command exits with status 2."""


@contextlib.contextmanager
def refusing(problem: str, hint: str, *kinds: type[Exception]) -> Iterator[None]:
    """Within this context errors of these kinds, or of every kind, become a UserError of one
    sentence: what went wrong, the error's own words in brackets, and what to do. A UserError stays
    as it is."""
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError) or (kinds and not isinstance(error, kinds)):
            raise
        cause = error.__cause__ or error
        words = getattr(cause, "strerror", None) or next(iter(str(cause).splitlines()), "")
        raise UserError(
            f"{problem} ({words.rstrip('.')[:200] or type(error).__name__}); {hint}."
        ) from error


def place(file: Path, pattern: str, line: int | None = None) -> str:
    """A file and its line in messages; without a line, the first that a pattern matches."""
    if line is None:
        text = ""
        if file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
        first = re.search(f"^(?:{pattern})", text, re.MULTILINE)
        line = text.count("\n", 0, first.start()) + 1 if first else 1
    if file.is_relative_to(HOME):
        file = file.relative_to(HOME)
    return f"{file}, line {line}"


def fault(file: Path, error: BaseException, pattern: str = "") -> str:
    """An error in a sentence with its line: the traceback's, else the first that a pattern
    matches."""
    text = " ".join(str(error).split())
    lines = [
        frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)
    ]
    if isinstance(error, SyntaxError):
        text = f"It is no Python ({error.msg}); mend that line."
        if error.filename == str(file):
            lines.append(error.lineno)
    elif not isinstance(error, UserError):
        text = f"{type(error).__name__}: {text[:300]}; mend that line."
    return f"{place(file, pattern, lines[-1] if lines else None)}: {text}"


def printable(text: str) -> str:
    """The text with what is no letter, mark or blank as an escape, such as `\\x1b`: a name moves no
    cursor, begins no line, turns no direction of writing, and can be encoded."""
    letters = []
    for letter in text:
        if not letter.isprintable():
            letter = letter.encode("unicode_escape").decode("ascii")
        letters.append(letter)
    return "".join(letters)


def say(*lines: str, out: TextIO | None = None) -> None:
    """Print these lines at once, whatever their names hold."""
    print(*map(printable, lines), sep="\n", file=out or sys.stdout, flush=True)


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
