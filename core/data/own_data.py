"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library reads.

    FILE                     a sentence a line; or two sentences and a score a line, separated by tabs
    FILE.jsonl               a table of this machine, also .json and .parquet, and for pairs .csv
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit; also OWNER/NAME/CONFIGURATION
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in FILES

`?columns=sentence1,sentence2,label` behind the split names the columns, `?config=de` a configuration, `&`
joins both. The rows of a table are written into the cache as lines and then read as any file. Scores may lie
on any scale, since only their order is compared. Names and content of pairs enter a run's identity.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import numpy as np

from core.data.sts import Pair, StsSet, sets_digest
from core.data.text import numbered_lines
from core.spec.errors import UserError, say
from core.spec.scale import Scale
from core.spec.section import decimal
from core.store.files import write_whole

Kind = Literal["text", "pairs"]
DEV = "dev"  # the name that makes a file the development set
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,39}")
_TAKEN = {"avg", "train", "data", "avg_transfer", "stsb", "sts-b dev"}  # tasks of a run's rows
_SCORE_TITLE = re.compile(r"[^0-9]*(score|label|gold|similarity|relatedness|rating)[^0-9]*", re.IGNORECASE)
_SPREADSHEET = re.compile(r'"[^"]*(""[^"]*)+"')
LONGEST = 10_000  # characters of a sentence
LARGEST = float(np.finfo(np.float32).max)  # pairs are stored in single precision

# What `datasets` reads. A text that ends in .csv stays lines, as its digest in stored runs says.
FILES = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".txt": "text",
}  # fmt: skip
TABLES: dict[Kind, tuple[str, ...]] = {
    "text": (".json", ".jsonl", ".ndjson", ".parquet"),
    "pairs": (".csv", ".json", ".jsonl", ".ndjson", ".parquet"),
}  # fmt: skip
COLUMNS: dict[Kind, tuple[tuple[str, ...], ...]] = {
    "text": (("text", "sentence", "sentences", "sent"),),
    "pairs": (
        ("sentence1", "sentence_1", "sent1", "text1"), ("sentence2", "sentence_2", "sent2", "text2"),
        ("score", "similarity_score", "label"),
    ),
}  # fmt: skip
_PLACE = re.compile(
    r"((?P<hub>[A-Za-z0-9][\w.-]*(/[\w.-]+){0,2})@(?P<revision>[0-9a-f]{40})|(?P<local>[./~].*?))"
    r"#(?P<split>[\w+:%\[\]-]+)(\?(?P<options>.*))?",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: a data set on the hub at a commit, or a file or folder of this machine (revision None)."""

    name: str
    revision: str | None = None
    split: str = "train"
    config: str | None = None
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}{f'/{self.config}' if self.config else ''}, split {self.split}"


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. Raises UserError."""
    name, equals, place = text.partition("=")
    if text.startswith("hf:") or not equals or Path(text).is_file():
        place = text
        name = re.split("[@#]", text)[0].rstrip("/").rpartition("/")[2].partition(".")[0].partition("=")[0]
    if not _NAME.fullmatch(name) or name.lower() in _TAKEN:
        hint = "needs a name of letters and digits that no task has; write --pairs NAME=FILE"
        raise UserError(f"--pairs {text[:80]!r} {hint}.")
    if not place.strip():
        raise UserError(f"--pairs {text[:80]!r} names no file; write --pairs FILE or --pairs NAME=FILE.")
    return name, place


def data_file(place: str, kind: Kind, cache: Path, *, fetch: bool = True) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the cache.

    A data set at a commit is read once, unless its copy is damaged; a table of this machine each time.
    Raises UserError; also for a data set at a commit that was not read yet, unless `fetch`.
    """
    if place.startswith("hf:"):
        table = _table(place, kind)
    else:
        path = Path(place).expanduser().absolute()
        if _ending(path) not in TABLES[kind] or not path.is_file():
            return path
        table = Table(name=str(path))
    fields = (kind, table.name, table.revision, table.split, *filter(None, (table.config, *table.columns)))
    key = hashlib.sha256("\n".join(map(str, fields)).encode()).hexdigest()[:16]
    stem = "".join(c if c.isalnum() else "-" for c in f"{Path(table.name).name}-{table.split}")[:60]
    ending = "txt" if kind == "text" else "tsv"
    for file in (cache / "hf").glob(f"{stem}.{key}.*.{ending}") if table.revision else ():
        if file.name.split(".")[-2] == _digest(file.read_bytes()):
            return file
        file.unlink()  # cut or changed since
    if table.revision and not fetch:
        hint = "only a command that trains fetches it; train with a network first, or give a file"
        raise UserError(f"{table} is not in {cache}, and {hint}.")
    print(f"Reading {table}, with the datasets library.", flush=True)
    content = "".join(_lines(table, kind)).encode()
    target = cache / "hf" / f"{stem}.{key}.{_digest(content)}.{ending}"
    write_whole(target, content)
    return target


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _table(place: str, kind: Kind) -> Table:
    """The table that `hf:…` names. Raises UserError."""
    parts = _PLACE.fullmatch(place.removeprefix("hf:"))
    options = dict(parse_qsl((parts and parts["options"]) or ""))
    if parts is None or options.keys() - {"columns", "config"}:
        raise UserError(
            f"--{kind} {place[:120]!r} is no data set at a commit; write hf:NAME@REVISION#SPLIT "
            "with the commit's "
            "40 digits, hf:./FOLDER#SPLIT, and behind it ?columns=sentence1,sentence2,score if need be."
        )
    columns = tuple(filter(None, options.get("columns", "").split(",")))
    if columns and len(columns) != len(COLUMNS[kind]):
        raise UserError(f"--{kind} {place[:120]!r} names {len(columns)} columns; name {len(COLUMNS[kind])}.")
    more: dict[str, Any] = {"split": parts["split"], "columns": columns, "config": options.get("config")}
    if parts["local"] is None:
        owner, *rest = parts["hub"].split("/")
        if Path(parts["hub"]).exists():  # the library would read it in place of the hub's
            raise UserError(f"{parts['hub']} is a folder here, too; run the command in another folder.")
        if len(rest) == 2:
            more["config"] = rest[1]
        return Table(name="/".join((owner, *rest[:1])), revision=parts["revision"], **more)
    path = Path(parts["local"]).expanduser().absolute()
    if not path.exists():
        hint = "give a folder or file of this machine, or hf:NAME@REVISION#SPLIT"
        raise UserError(f"{path} is not there; {hint}.")
    if path.is_file() and _ending(path) not in FILES:
        raise UserError(f"{path} ends in none of {', '.join(FILES)}; give one that does.")
    return Table(name=str(path), **more)


def _lines(table: Table, kind: Kind) -> Iterator[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises UserError."""
    import datasets

    if not hasattr(datasets, "load_dataset"):
        hint = "install requirements.txt"
        raise UserError(f"The library datasets is not installed, and a folder has its name; {hint}.")
    datasets.disable_progress_bars()
    path = Path(table.name)
    # the library's own cache knows a changed file by its time alone
    with tempfile.TemporaryDirectory() as scratch:
        try:
            if path.is_absolute() and path.is_file():
                reader = FILES[_ending(path)]
                words: dict[str, Any] = {"keep_default_na": False} if reader == "csv" else {}
                words |= {"delimiter": "\t", "quoting": 3} if _ending(path) == ".tsv" else {}
                files = {re.split(r"\W", table.split)[0]: table.name}
                rows = datasets.load_dataset(
                    reader, data_files=files, split=table.split, cache_dir=scratch, **words
                )
            elif (path / "state.json").is_file():  # written by save_to_disk
                rows = datasets.load_from_disk(table.name)
                if str(rows.split or "train") != table.split:
                    raise ValueError(f"it is the split {rows.split or 'train'}")
            else:
                more = {"name": table.config} if table.config else {}
                rows = datasets.load_dataset(
                    table.name, split=table.split, revision=table.revision, cache_dir=scratch, **more
                )
        except Exception as error:  # the library has many kinds of its own
            while error.__cause__ is not None and isinstance(error.__cause__, Exception):
                error = error.__cause__
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200] or 'no rows'}"
            what = f"could not be read by the datasets library ({reason})"
            raise UserError(f"{table} {what}; mend it.") from error
        named = table.columns or [_column(table, rows.column_names, choices) for choices in COLUMNS[kind]]
        for number, row in enumerate(rows, start=1):
            try:
                texts = [_text(row, column) for column in named]
                if kind == "pairs":
                    _pair(*texts)
            except (ValueError, KeyError) as error:
                raise UserError(f"{table}, row {number}: expected {error.args[0]}; mend the row.") from error
            yield "\t".join(texts) + "\n"


def _ending(path: Path) -> str:
    """The ending that says what a file holds, which may be packed by gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _column(table: Table, columns: Sequence[str], choices: tuple[str, ...]) -> str:
    for choice in choices:
        if choice in columns:
            return choice
    if choices in COLUMNS["text"] and len(columns) == 1:
        return columns[0]
    has = f"has the columns {', '.join(columns)}, and none of {', '.join(choices)}"
    raise UserError(f"{table} {has}; name the columns behind the split, as in #test?columns=a,b,c.")


def _text(row: Mapping[str, Any], column: str) -> str:
    """The text or number in a column, or in a field of it (`a.b`). Raises ValueError or KeyError."""
    value: Any = row
    for part in column.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise KeyError(f"a column {column}, but there is none")
        value = value[part]
    if isinstance(value, bytes):  # strings as other programs write them into parquet
        value = value.decode(errors="surrogateescape")
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise ValueError(  # noqa: TRY004 (of a row, as the others)
            f"a text or a number in {column}, but found {value!r:.40}"
        )
    text = " ".join(str(value).split())
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError(f"a text in {column}, but found half a character")
    return text


def _pair(a: str, b: str, score: str) -> Pair:
    """A pair from its texts. Raises ValueError that says what was expected."""
    number = decimal(score)
    if number is None:
        raise ValueError(f"a score, but found {score.strip()[:40]!r}")
    if not a or not b or max(len(a), len(b)) > LONGEST:
        raise ValueError(f"two sentences of 1 to {LONGEST} characters")
    if abs(number) > LARGEST:
        raise ValueError(f"a score of at most {LARGEST:.2g}, but found {score.strip()[:40]!r}")
    return a, b, number


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs.

    A first line whose third column names a score is a header. Raises UserError, naming file and line, for all
    else.
    """
    pairs = []
    for number, line in numbered_lines(path, option="--pairs", mend="save it in that encoding"):
        try:
            if "\0" in line:
                raise ValueError("text, but found a NUL")
            fields = line.split("\t")
            if not line.strip():
                continue
            if len(fields) != 3:
                raise ValueError(
                    f"two sentences and a score, separated by tabs, but found {len(fields)} columns"
                )
            if number == 1 and _SCORE_TITLE.fullmatch(fields[2]):
                continue
            a, b = (" ".join(field.split()) for field in fields[:2])
            pairs.append(_pair(a, b, fields[2]))
        except ValueError as error:
            raise UserError(f"{path}, line {number}: expected {error}; mend the line.") from error
    quoted = sum(bool(_SPREADSHEET.fullmatch(text)) for a, b, _ in pairs for text in (a, b))
    if quoted:
        say(f"{path} has {quoted} fields as a spreadsheet quotes them; quotes are kept, so save it unquoted.")
    scores = {score for _, _, score in pairs}
    if len(scores) < 2:
        hint = "so nothing can be ranked; give more pairs"
        raise UserError(f"{path} has {len(pairs)} pairs and no two different scores, {hint}.")
    if len({float(np.float32(score)) for score in scores}) < len(scores):
        hint = "stored pairs keep seven; write their ranks in their place"
        raise UserError(f"{path} has scores that differ in their eighth digit alone, and {hint}.")
    return pairs


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset."""
    sets = {}
    for name, path in files:
        a, b, gold = zip(*read_pairs(path), strict=True)
        sets[name] = StsSet(
            name=name, subset=(name,) * len(a), a=a, b=b, gold=np.array(gold, dtype=np.float64)
        )
    return sets


def own_digest(sets: Mapping[str, StsSet], rest: str | None) -> str:
    """SHA-256 over your own sets and names, and over `rest`, the digest of the scale's sets if scored."""
    return hashlib.sha256(f"own pairs\n{sets_digest(dict(sets))}\n{rest}\n".encode()).hexdigest()


def with_own_pairs(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with the tests and the development set that these names of your own pairs replace."""
    tests = tuple(name for name in names if name != DEV)
    return replace(scale, tests=tests or scale.tests, dev=DEV if DEV in names else scale.dev)


def scores_scale_sets(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside your own pairs: its tests or its development set."""
    return DEV not in names or not any(name != DEV for name in names)
