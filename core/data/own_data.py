"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library reads.

    FILE                     a sentence a line; or two sentences and a score a line, separated by tabs
    FILE.jsonl               a table of this machine, also .json and .parquet, and for pairs .csv
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in READERS

`?columns=sentence1,sentence2,label` behind the split names the columns, `?config=de` a configuration, `&`
joins both. The rows of a table are written into the cache as lines and then read as any file. Scores may lie
on any scale, since only their order is compared. Names and content of pairs enter a run's identity.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from core.data.sts import Pair, StsSet, set_of, sets_digest
from core.data.text import numbered_lines, parsed
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
HUB_SECONDS = 20.0  # in which the hub answers

# How `datasets` reads a file, by ending. An empty field is no value; a TSV has no quoting.
READERS: dict[str, dict[str, Any]] = {
    ".csv": {"path": "csv", "keep_default_na": False}, ".parquet": {"path": "parquet"},
    ".tsv": {"path": "csv", "keep_default_na": False, "delimiter": "\t", "quoting": 3},
    ".json": {"path": "json"}, ".jsonl": {"path": "json"}, ".ndjson": {"path": "json"},
    ".txt": {"path": "text"},
}  # fmt: skip
# Files that are read by line without `hf:`. A text that ends in .csv is, as its digest in stored runs says.
BY_LINE: dict[Kind, tuple[str, ...]] = {"text": (".txt", ".tsv", ".csv"), "pairs": (".txt", ".tsv")}
COLUMNS: dict[Kind, tuple[str, ...]] = {"text": ("text",), "pairs": ("sentence1", "sentence2", "score")}
_PLACE = re.compile(
    r"hf:(?P<name>.+?)(@(?P<revision>[0-9a-f]{40}))?#(?P<split>[^#?]+)(\?(?P<options>.*))?", re.DOTALL
)
HOW = (
    "write hf:NAME@REVISION#SPLIT with the commit's 40 digits, or hf:FILE#SPLIT or hf:FOLDER#SPLIT of this "
    "machine, and behind it ?columns=sentence1,sentence2,score if need be"
)


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. Raises UserError."""
    name, equals, place = text.partition("=")
    if text.startswith("hf:") or not equals or Path(text).is_file():
        place = text
        name = re.split("[@#]", text)[0].rstrip("/").rpartition("/")[2].partition(".")[0].partition("=")[0]
    if not _NAME.fullmatch(name) or name.lower() in _TAKEN or not place.strip():
        hint = "write --pairs NAME=FILE, with a name of letters and digits that no task has"
        raise UserError(f"--pairs {text[:80]!r} names no set or no file; {hint}.")
    return name, place


def data_file(place: str, kind: Kind, cache: Path, *, fetch: bool = True) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the cache.

    A data set at a commit is read once, unless its copy is damaged; a table of this machine each time.
    Raises UserError; also for a data set at a commit that was not read yet, unless `fetch`.
    """
    if not place.startswith("hf:"):
        path = Path(place).expanduser().absolute()
        if not path.is_file():
            raise UserError(f"--{kind} {path} is no file; give one, or a data set with hf:.")
        if _ending(path) not in READERS or _ending(path) in BY_LINE[kind]:
            return path
        place = f"hf:{path}#train"
    title, arguments, columns = _table(place, kind)
    is_remote = arguments.get("revision") is not None
    key = hashlib.sha256(repr((arguments, columns)).encode()).hexdigest()[:16]
    stem, ending = re.sub(r"\W", "-", title.rpartition("/")[2])[:60], {"text": "txt", "pairs": "tsv"}[kind]
    for file in (cache / "hf").glob(f"{stem}.{key}.*.{ending}") if is_remote else ():
        if file.name.split(".")[-2] == hashlib.sha256(file.read_bytes()).hexdigest()[:16]:
            return file
        file.unlink()  # cut or changed since
    if is_remote and not fetch:
        hint = "only a command that trains fetches it; train with a network first, or give a file"
        raise UserError(f"{title} is not in {cache}, and {hint}.")
    if is_remote:
        check_hub()
    print(f"Reading {title}, with the datasets library.", flush=True)
    content = _lines(title, arguments, columns, kind)
    target = cache / "hf" / f"{stem}.{key}.{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
    write_whole(target, content)
    return target


def check_hub() -> None:
    """Raises UserError unless the hub answers soon: its client asks a silent hub for seven minutes."""
    from huggingface_hub import constants, get_session

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    try:
        get_session().head(endpoint, timeout=HUB_SECONDS)
    except Exception as error:
        hint = "check the network and HF_ENDPOINT, or give --data-dir, --encoder and files"
        raise UserError(f"{endpoint} does not answer ({error}); {hint}.") from error


def _table(place: str, kind: Kind) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """What `hf:…` names: in words, as arguments of `load_dataset`, and its columns if named. Raises
    UserError."""
    parts = _PLACE.fullmatch(place)
    options = dict(parse_qsl((parts and parts["options"]) or ""))
    columns = tuple(filter(None, options.pop("columns", "").split(",")))
    config = options.pop("config", None)
    if parts is None or options or len(columns) not in (0, len(COLUMNS[kind])):
        raise UserError(f"--{kind} {place[:120]!r} names no data set and its columns; {HOW}.")
    name, revision, split = parts["name"], parts["revision"], parts["split"]
    path = Path(name).expanduser().absolute()
    arguments = {"path": name, "name": config, "revision": revision, "split": split}
    if revision and path.exists():  # the library would read it in place of the hub's
        raise UserError(f"{name} is a folder here, too; run the command in another folder.")
    if not revision:
        arguments["path"] = name = str(path)
    if not revision and not path.is_dir():
        if not path.is_file() or _ending(path) not in READERS:
            endings = ", ".join(READERS)
            raise UserError(f"{path} is no folder and no file that ends in {endings}; {HOW}.")
        files = {re.split(r"\W", split)[0]: name}
        arguments = {**READERS[_ending(path)], "data_files": files, "split": split}
    return ", ".join(filter(None, (name, config, f"split {split}"))), arguments, columns


def _lines(title: str, arguments: Mapping[str, Any], columns: tuple[str, ...], kind: Kind) -> bytes:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises UserError."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it cannot read is told below
    # the library's own cache knows a changed file by its time alone
    with tempfile.TemporaryDirectory() as scratch:
        try:
            rows = datasets.load_dataset(**arguments, cache_dir=scratch).flatten()
        except Exception as error:  # the library has many kinds of its own
            while isinstance(error.__cause__, Exception):
                error = error.__cause__
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200] or 'no rows'}"
            what = f"could not be read by the datasets library ({reason})"
            raise UserError(f"{title} {what}; mend it.") from error
        only = tuple(rows.column_names) if len(rows.column_names) == len(COLUMNS[kind]) == 1 else ()
        columns = columns or only or COLUMNS[kind]
        if missing := [name for name in columns if name not in rows.column_names]:
            has = f"has the columns {', '.join(rows.column_names)}, and no {', '.join(missing)}"
            raise UserError(f"{title} {has}; name the columns behind the split, as in #test?columns=a,b,c.")

        def line(row: Mapping[str, Any]) -> bytes:
            texts = [_text(row[column], column) for column in columns]
            if kind == "pairs":
                _pair(texts)
            return ("\t".join(texts) + "\n").encode()

        numbered = enumerate(rows.select_columns(list(columns)), start=1)
        return b"".join(parsed(f"{title}, row", numbered, line, "mend the row"))


def _ending(path: Path) -> str:
    """The ending that says what a file holds, which may be packed by gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _text(value: Any, column: str) -> str:
    """A text or number of a row as text. Raises ValueError."""
    if isinstance(value, bytes):  # strings as other programs write them into parquet
        value = value.decode()
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        what = f"expected a text or a number in {column}, but found {value!r:.40}"
        raise ValueError(what)  # noqa: TRY004 (of a row, as the others)
    return " ".join(str(value).split())


def _pair(fields: Sequence[str]) -> Pair:
    """A pair from its columns. Raises ValueError that says what was expected."""
    if len(fields) != 3:
        raise ValueError(
            f"expected two sentences and a score, separated by tabs, but found {len(fields)} columns"
        )
    a, b, score = (" ".join(field.split()) for field in fields)
    number = decimal(score)
    if number is None:
        raise ValueError(f"expected a score, but found {score[:40]!r}")
    if not a or not b or max(len(a), len(b)) > LONGEST:
        raise ValueError(f"expected two sentences of 1 to {LONGEST} characters")
    return a, b, number


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs.

    A first line whose third column names a score is a header. Raises UserError, naming file and line, for all
    else.
    """
    numbered = numbered_lines(path, option="--pairs", mend="save it in that encoding")
    lines = [(number, line) for number, line in numbered if line.strip()]
    header = [line.split("\t") for number, line in lines[:1] if number == 1 and line.count("\t") == 2]
    lines = lines[1:] if header and _SCORE_TITLE.fullmatch(header[0][2]) else lines
    pairs = list(parsed(f"{path}, line", lines, lambda line: _pair(line.split("\t")), "mend the line"))
    quoted = sum(bool(_SPREADSHEET.fullmatch(text)) for a, b, _ in pairs for text in (a, b))
    if quoted:
        say(f"{path} has {quoted} fields as a spreadsheet quotes them; quotes are kept, so save it unquoted.")
    if len({score for _, _, score in pairs}) < 2:
        hint = "so nothing can be ranked; give more pairs"
        raise UserError(f"{path} has {len(pairs)} pairs and no two different scores, {hint}.")
    return pairs


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset."""
    return {name: set_of(name, read_pairs(path)) for name, path in files}


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
