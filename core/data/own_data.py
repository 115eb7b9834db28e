"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library reads.

    FILE                     a sentence a line; or two sentences and a score a line, separated by tabs
    FILE.jsonl               a table of this machine, also .json and .parquet, and for pairs .csv
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in FILES

The rows of a table are written into the cache as lines and then read as any file. Scores may lie on any scale, since only
their order is compared. Names and content of pairs enter a run's identity.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.data.sts import Pair, StsSet, sets_digest
from core.data.text import numbered_lines
from core.spec.errors import UserError
from core.spec.scale import Scale
from core.spec.section import decimal
from core.store.files import write_whole

Kind = Literal["text", "pairs"]
DEV = "dev"  # the name that makes a file the development set
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,39}")
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)  # a broken score, not a column's title
_TAKEN = {"avg", "train", "data", "avg_transfer", "stsb", "sts-b dev"}  # tasks of a run's rows
LONGEST = 10_000  # characters of a sentence
LARGEST = float(np.finfo(np.float32).max)  # pairs are stored in single precision

# What `datasets` reads. A text that ends in .csv stays lines, as its digest in stored runs says.
FILES = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet", ".txt": "text"}
TABLES: dict[Kind, tuple[str, ...]] = {"text": (".json", ".jsonl", ".parquet"), "pairs": (".csv", ".json", ".jsonl", ".parquet")}
COLUMNS: dict[Kind, tuple[tuple[str, ...], ...]] = {
    "text": (("text", "sentence", "sentences", "sent"),),
    "pairs": (
        ("sentence1", "sentence_1", "sent1", "text1"),
        ("sentence2", "sentence_2", "sent2", "text2"),
        ("score", "similarity_score", "label"),
    ),
}  # fmt: skip
_HUB = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*(/[\w.-]+)?)@(?P<revision>[0-9a-f]{40})#(?P<split>\w+)", re.ASCII)
_LOCAL = re.compile(r"(?P<name>[./~].*)#(?P<split>\w+)", re.ASCII | re.DOTALL)


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. A FILE alone is named without its ending. Raises UserError."""
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


def data_file(place: str, kind: Kind, cache: Path) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the cache.

    A data set at a commit is read once, a table of this machine each time. Raises UserError.
    """
    if not place.startswith("hf:"):
        path = Path(place).expanduser().absolute()
        if path.suffix not in TABLES[kind] or not path.is_file():
            return path
        name, revision, split = str(path), None, "train"
    else:
        name, revision, split = _parts(place, kind)
    key = hashlib.sha256(f"{kind}\n{name}\n{revision}\n{split}".encode()).hexdigest()[:16]
    stem = "".join(c if c.isalnum() else "-" for c in f"{Path(name).name}-{split}")[:60]
    target = cache / "hf" / f"{stem}.{key}.{'txt' if kind == 'text' else 'tsv'}"
    if revision and target.is_file():
        return target
    print(f"Reading {name}, split {split}, with the datasets library.", flush=True)
    try:
        lines = _table_lines(name, revision, split, kind)
    except Exception as error:  # the library has many kinds of its own
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UserError(f"{name} could not be read by the datasets library ({reason}).") from error
    write_whole(target, "".join(lines).encode())
    return target


def _table_lines(name: str, revision: str | None, split: str, kind: Kind) -> list[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks."""
    import datasets

    datasets.disable_progress_bars()
    path = Path(name)
    with tempfile.TemporaryDirectory() as scratch:  # the library's own cache knows a changed file by its time alone
        if path.is_absolute() and path.is_file():
            if path.suffix not in FILES:
                raise ValueError(f"its ending {path.suffix!r} is not one of {', '.join(FILES)}")
            more: dict[str, Any] = {"delimiter": "\t"} if path.suffix == ".tsv" else {}
            table = datasets.load_dataset(FILES[path.suffix], data_files={split: name}, split=split, cache_dir=scratch, **more)
        else:
            table = datasets.load_dataset(name, split=split, revision=revision, cache_dir=scratch)
        names = [_column(table.column_names, choices) for choices in COLUMNS[kind]]
        for number, row in enumerate(table, start=1):
            if missing := [column for column in names if row[column] is None]:
                raise ValueError(f"row {number} has no {missing[0]}")
        return ["\t".join(" ".join(str(row[column]).split()) for column in names) + "\n" for row in table]


def _column(columns: Sequence[str], choices: tuple[str, ...]) -> str:
    for choice in choices:
        if choice in columns:
            return choice
    if choices in COLUMNS["text"] and len(columns) == 1:
        return columns[0]
    raise ValueError(f"it has the columns {', '.join(columns)}, and none of {', '.join(choices)}")


def _parts(place: str, kind: Kind) -> tuple[str, str | None, str]:
    """Name (or absolute path), revision and split."""
    text = place.removeprefix("hf:")
    if local := _LOCAL.fullmatch(text):
        path = Path(local["name"]).expanduser().absolute()
        if not path.exists():
            raise UserError(f"{path} is not there; give a folder or file of this machine, or hf:NAME@REVISION#SPLIT.")
        return str(path), None, local["split"]
    if hub := _HUB.fullmatch(text):
        return hub["name"], hub["revision"], hub["split"]
    raise UserError(
        f"--{kind} {place[:120]!r} is no data set at a commit; write hf:NAME@REVISION#SPLIT with the commit's 40 digits, "
        "such as hf:mteb/stsbenchmark-sts@<commit>#test, or hf:./FOLDER#SPLIT."
    )


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs.

    A first line without a digit in its score is a header. Raises UserError, naming file and line, for anything else.
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


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset."""
    sets = {}
    for name, path in files:
        a, b, gold = zip(*read_pairs(path), strict=True)
        sets[name] = StsSet(name=name, subset=(name,) * len(a), a=a, b=b, gold=np.array(gold, dtype=np.float64))
    return sets


def own_digest(sets: Mapping[str, StsSet], rest: str | None) -> str:
    """SHA-256 over your own sets and their names, and over `rest`: the digest of the scale's sets if some are scored."""
    return hashlib.sha256(f"own pairs\n{sets_digest(dict(sets))}\n{rest}\n".encode()).hexdigest()


def with_own_pairs(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with the tests and the development set that these names of your own pairs replace."""
    tests = tuple(name for name in names if name != DEV)
    return replace(scale, tests=tests or scale.tests, dev=DEV if DEV in names else scale.dev)


def scores_scale_sets(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside your own pairs: its tests or its development set."""
    return DEV not in names or not any(name != DEV for name in names)


def _malformed(path: Path, number: int, expected: str) -> UserError:
    return UserError(f"{path}, line {number}: expected {expected}; mend the line.")
