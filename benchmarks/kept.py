"""A CSV file to which a program appends what it measures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from core.spec.errors import UserError

T = TypeVar("T")


def is_new(out: Path) -> bool:
    """Whether nothing is written there yet."""
    return not out.exists() or (out.is_file() and out.stat().st_size == 0)


def begin(out: Path, columns: Sequence[str]) -> None:
    """Write the head of a new file; one that holds something stays."""
    if is_new(out):
        out.write_text(",".join(columns) + "\n")


def kept(out: Path, columns: Sequence[str], what: str, read: Callable[[dict[str, str]], T]) -> list[T]:
    """Each row as `read` takes it; none if the file is new. Raises UserError for other columns, or for what is no file of `what`."""
    if is_new(out):
        return []
    try:
        with out.open(newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if tuple(rows.fieldnames or ()) != tuple(columns):
                raise UserError(f"{out} has other columns than {','.join(columns)}; give another --out, or move it away.")
            return [read(row) for row in rows]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise UserError(f"{out} is no file of {what} ({type(error).__name__}); give another --out, or move it away.") from error


def append(out: Path, rows: Sequence[Sequence[object]]) -> None:
    """Add rows at the end."""
    with out.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
