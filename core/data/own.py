"""Graded pairs of one's own: tab-separated files of two sentences and a score, as test sets or as the development set.

Scores may lie on any scale, since only their order is compared. What the files hold enters a run's identity, under their names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.data.graded import Pair, numbered_lines
from core.data.sts import StsSet, sets_digest
from core.spec.errors import UserError
from core.spec.numbers import decimal
from core.spec.scale import Scale

DEV = "dev"  # the name that makes a file the development set
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,39}")
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)  # a broken score, not a column's title
_TAKEN = {"avg", "train", "data", "avg_transfer", "stsb", "sts-b dev"}  # tasks of a run's rows
LONGEST = 10_000  # characters of a sentence
LARGEST = float(np.finfo(np.float32).max)  # pairs are stored in single precision

Named = tuple[str, Path]  # a set's name (`dev` for the development set) and its file


def named(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`; without a name the file's own, without its ending. Raises UserError."""
    name, equals, place = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        place = text
        stem = re.split("[@#]", text)[0].rstrip("/").rpartition("/")[2] if text.startswith("hf:") else Path(text).name
        name = stem.partition(".")[0]
    if not _NAME.fullmatch(name) or name.lower() in _TAKEN:
        raise UserError(f"--pairs {text[:80]!r} needs a name of letters and digits that no task has; write --pairs NAME=FILE.")
    if not place.strip():
        raise UserError(f"--pairs {text[:80]!r} names no file; write --pairs FILE or --pairs NAME=FILE.")
    return name, place


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs; a first line without a digit in its score is a header.

    Raises UserError, naming file and line, for anything else.
    """
    pairs = []
    for number, line in numbered_lines(path, option="--pairs", mend="save it in that encoding"):
        if "\0" in line:
            raise _malformed(path, number, "text, but found a NUL")
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != 3:
            raise _malformed(path, number, f"two sentences and a score, separated by tabs, but found {len(fields)} columns")
        a, b = (" ".join(field.split()) for field in fields[:2])
        score = decimal(fields[2])
        if score is None:
            if number == 1 and not any(c.isdigit() for c in fields[2]) and not _NO_NUMBER.fullmatch(fields[2].strip()):
                continue
            raise _malformed(path, number, f"a score, but found {fields[2].strip()[:40]!r}")
        if not a or not b or max(len(a), len(b)) > LONGEST:
            raise _malformed(path, number, f"two sentences of 1 to {LONGEST} characters")
        if abs(score) > LARGEST:
            raise _malformed(path, number, f"a score of at most {LARGEST:.2g}, but found {fields[2].strip()[:40]!r}")
        pairs.append((a, b, score))
    scores = {score for _, _, score in pairs}
    if len(scores) < 2:
        raise UserError(f"{path} has {len(pairs)} pairs and no two different scores, so nothing can be ranked; give more pairs.")
    if len({float(np.float32(score)) for score in scores}) < len(scores):
        raise UserError(
            f"{path} has scores that differ in their eighth digit alone, and stored pairs keep seven; write their ranks in their place."
        )
    return pairs


def own_sets(files: Sequence[Named]) -> dict[str, StsSet]:
    """The sets by name, each of one subset."""
    sets = {}
    for name, path in files:
        a, b, gold = zip(*read_pairs(path), strict=True)
        sets[name] = StsSet(name=name, subset=(name,) * len(a), a=a, b=b, gold=np.array(gold, dtype=np.float64))
    return sets


def own_digest(sets: Mapping[str, StsSet], rest: str | None) -> str:
    """SHA-256 over sets of one's own, names included, and the digest of the scale's own sets where some of those are scored, too."""
    return hashlib.sha256(f"own pairs\n{sets_digest(dict(sets))}\n{rest}\n".encode()).hexdigest()


def on_own(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with tests and development set of one's own, as far as there are any."""
    tests = tuple(name for name in names if name != DEV)
    return replace(scale, tests=tests or scale.tests, dev=DEV if DEV in names else scale.dev)


def needs_the_scale_s(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside those of one's own: its tests or its development set."""
    return DEV not in names or not any(name != DEV for name in names)


def _malformed(path: Path, number: int, expected: str) -> UserError:
    return UserError(f"{path}, line {number}: expected {expected}; mend the line.")
