"""Mistakes that a user can mend, in one sentence each."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb

HOME = Path(__file__).resolve().parents[1]


class UserError(Exception):
    """One sentence that says what is wrong and what to do; the command exits with status 2."""


@contextlib.contextmanager
def refusing(
    problem: str, hint: str, *kinds: type[Exception], raised: type[UserError] = UserError
) -> Iterator[None]:
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
        raise raised(
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
