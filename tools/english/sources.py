"""The public sources of the text, and how one of them comes onto this machine."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from tools.english.sentences import sentences_of

LIST = Path(__file__).with_name("sources.csv")


@dataclass(frozen=True)
class Source:
    """A git repository at a commit, the patterns of its files that are read, in this order, its
    licence, and the number and SHA-256 of the plain sentences in these files."""

    repository: str
    commit: str
    files: str
    licence: str
    sentences: int
    sha256: str


def listed() -> list[Source]:
    """The sources in their order, which decides whose words a repeated sentence keeps."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [
            Source(
                repository=row["repository"],
                commit=row["commit"],
                files=row["files"],
                licence=row["licence"],
                sentences=int(row["sentences"]),
                sha256=row["sha256"],
            )
            for row in csv.DictReader(file)
        ]


def fetched(source: Source, origin: str, folder: Path) -> Path:
    """The folder with the source's files, from `origin`/`repository` unless they are here. Only the
    files that are read travel. Raises UserError if git cannot fetch them."""
    place = folder / source.repository.replace("/", "+")
    if place.is_dir():
        return place
    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a command that was broken off
    part.mkdir(parents=True)
    try:
        _git(part, "init")
        _git(part, "config", "core.autocrlf", "false")
        _git(part, "config", "core.sparseCheckout", "true")
        patterns = part / ".git" / "info" / "sparse-checkout"
        patterns.parent.mkdir(exist_ok=True)
        patterns.write_text("".join(f"{pattern}\n" for pattern in source.files.split()))
        _git(part, "remote", "add", "origin", f"{origin}/{source.repository}")
        _git(part, "fetch", "--depth=1", "--filter=blob:none", "origin", source.commit)
        _git(part, "checkout", "--detach", source.commit)
    except FileNotFoundError:
        raise UserError(
            "git is not installed; install it and give the same command again."
        ) from None
    except subprocess.CalledProcessError:
        raise UserError(
            f"{source.repository} cannot be fetched, for the reason above; give the same command "
            "again, which goes on with this source."
        ) from None
    part.rename(place)
    return place


def sentences(source: Source, place: Path) -> Iterator[str]:
    """The plain sentences of a source's files in the order of their paths."""
    for file in _files(source.files.split(), place):
        yield from sentences_of(file)


def _files(patterns: Iterable[str], place: Path) -> Iterator[Path]:
    for pattern in patterns:
        yield from sorted(place.rglob(pattern), key=lambda file: os.fsencode(file.as_posix()))


def _git(folder: Path, command: str, *arguments: str) -> None:
    """Run git in a folder. It asks nothing, and prints errors alone."""
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    quiet = [] if command in ("config", "remote") else ["--quiet"]
    words = ["git", "-C", str(folder), command, *quiet, *arguments]
    subprocess.run(words, env=environment, check=True)
