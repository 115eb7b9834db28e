"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library reads.

    FILE                     a sentence a line; or two sentences and a score a line, separated by tabs
    FILE.jsonl               a table of this machine, also .json and .parquet, and for pairs .csv
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in READERS

`?columns=sentence1,sentence2,label` behind the split names the columns, `?config=de` a configuration, `&`
joins both. Rows are written into the cache as lines. Scores may lie on any scale: only their order counts.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from core.data.sts import Pair, StsSet, pair, set_of, sets_digest
from core.data.text import expect, numbered_lines, parsed, text_digest
from core.spec.errors import UserError, refuse, refusing, say
from core.spec.scale import Scale
from core.store import cache as caching

Kind = Literal["text", "pairs"]
DEV = "dev"  # the name that makes a file the development set
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,39}")
_TAKEN = {"avg", "train", "data", "avg_transfer", "stsb", "sts-b dev"}  # tasks of a run's rows
_SCORE_TITLE = re.compile(r"[^0-9]*(score|label|gold|similarity|relatedness|rating)[^0-9]*", re.IGNORECASE)
_SPREADSHEET = re.compile(r'"[^"]*(""[^"]*)+"')
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
    unfit = not _NAME.fullmatch(name) or name.lower() in _TAKEN or not place.strip()
    hint = "write --pairs NAME=FILE, with a name of letters and digits that no task has"
    refuse(unfit, f"--pairs {text[:80]!r} names no set or no file; {hint}.")
    return name, place


def data_file(place: str, kind: Kind, cache: Path, *, fetch: bool = True) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the cache: of a
    data set at a commit once, unless its copy is damaged; of a table of this machine each time. Raises
    UserError, also for a data set at a commit that was not read yet, unless `fetch`."""
    path = Path(place).expanduser().absolute()
    if not place.startswith("hf:"):
        refuse(not path.is_file(), f"--{kind} {path} is no file; give one, or a data set with hf:.")
        if _ending(path) not in READERS or _ending(path) in BY_LINE[kind]:
            return path
        place = f"hf:{path}#train"
    title, arguments, columns = _table(place, kind)
    is_remote = arguments.get("revision") is not None
    key = text_digest([repr((arguments, columns))])[:16]
    stem, ending = re.sub(r"\W", "-", title.rpartition("/")[2])[:60], {"text": "txt", "pairs": "tsv"}[kind]
    folder, name = cache / "hf", f"{stem}.{key}"
    if is_remote:
        file = caching.find(folder, name, ending)
        if file is not None:
            return file
        hint = "only a command that trains fetches it; train with a network first, or give a file"
        refuse(not fetch, f"{title} is not in {cache}, and {hint}.")
        check_hub()
    print(f"Reading {title}, with the datasets library.", flush=True)
    lines = _lines(title, arguments, columns, kind)
    return caching.keep(folder, name, ending, "".join(lines).encode())


def check_hub() -> None:
    """Raises UserError unless the hub answers soon: its client asks a silent hub for seven minutes."""
    from huggingface_hub import constants, get_session

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    hint = "check the network and HF_ENDPOINT, or give --data-dir, --encoder and files"
    with refusing(f"{endpoint} does not answer", hint):
        get_session().head(endpoint, timeout=HUB_SECONDS)


def _table(place: str, kind: Kind) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """What `hf:…` names: in words, as arguments of `load_dataset`, and its columns if named. Raises
    UserError."""
    match = _PLACE.fullmatch(place)
    parts: dict[str, Any] = match.groupdict() if match else {}
    options = dict(parse_qsl(parts.get("options") or ""))
    columns = tuple(filter(None, options.pop("columns", "").split(",")))
    config = options.pop("config", None)
    unfit = match is None or options or len(columns) not in (0, len(COLUMNS[kind]))
    refuse(unfit, f"--{kind} {place[:120]!r} names no data set and its columns; {HOW}.")
    name, revision, split = parts["name"], parts["revision"], parts["split"]
    path = Path(name).expanduser().absolute()
    both = revision and path.exists()  # the library would read the folder
    refuse(both, f"{name} is a folder here, too; run the command in another folder.")
    name = name if revision else str(path)
    title = ", ".join(filter(None, (name, config, f"split {split}")))
    if revision or path.is_dir():
        return title, {"path": name, "name": config, "revision": revision, "split": split}, columns
    unread = not path.is_file() or _ending(path) not in READERS
    refuse(unread, f"{path} is no folder and no file that ends in {', '.join(READERS)}; {HOW}.")
    files = {re.split(r"\W", split)[0]: name}
    return title, {**READERS[_ending(path)], "data_files": files, "split": split}, columns


def _lines(title: str, arguments: Mapping[str, Any], columns: tuple[str, ...], kind: Kind) -> list[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises UserError."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it cannot read is told below
    # the library's own cache knows a changed file by its time alone
    with tempfile.TemporaryDirectory() as scratch:
        try:
            rows = datasets.load_dataset(**arguments, cache_dir=scratch).flatten()
        except Exception as error:  # the library has many kinds of its own, which hide the cause
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:200] or 'no rows'}"
            what = f"could not be read by the datasets library ({reason})"
            raise UserError(f"{title} {what}; mend it.") from error
        is_list = kind == "text" and len(rows.column_names) == 1
        columns = columns or (tuple(rows.column_names) if is_list else COLUMNS[kind])
        missing = [name for name in columns if name not in rows.column_names]
        has = f"has the columns {', '.join(rows.column_names)}, and no {', '.join(missing)}"
        refuse(missing, f"{title} {has}; name the columns behind the split, as in #test?columns=a,b,c.")

        def line(row: Mapping[str, Any]) -> str:
            texts = [_text(row[column], column) for column in columns]
            if kind == "pairs":
                _pair(texts)
            return "\t".join(texts) + "\n"

        numbered = enumerate(rows.select_columns(list(columns)), start=1)
        return list(parsed(f"{title}, row", numbered, line))


def _ending(path: Path) -> str:
    """The ending that says what a file holds, which may be packed by gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _text(value: Any, column: str) -> str:
    """A text or number of a row as text. Raises ValueError."""
    value = value.decode() if isinstance(value, bytes) else value  # as other programs write parquet
    usable = isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool)
    expect(usable, f"a text or a number in {column}", value)
    return " ".join(str(value).split())


def _pair(fields: Sequence[str]) -> Pair:
    """A pair from its columns. Raises ValueError that says what was expected."""
    expect(len(fields) == 3, "two sentences and a score, separated by tabs", "\t".join(fields))
    return pair(*fields)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs. A first line whose third
    column names a score is a header. Raises UserError, naming file and line, for all else."""
    rows = [(number, line.split("\t")) for number, line in numbered_lines(path) if line.strip()]
    has_header = rows and rows[0][0] == 1 and len(rows[0][1]) == 3 and _SCORE_TITLE.fullmatch(rows[0][1][2])
    pairs = list(parsed(f"{path}, line", rows[1:] if has_header else rows, _pair))
    few, hint = len({score for _, _, score in pairs}) < 2, "so nothing can be ranked; give more pairs"
    refuse(few, f"{path} has {len(pairs)} pairs and no two different scores, {hint}.")
    return pairs


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset. Says how many fields look quoted."""
    sets = {name: set_of(name, read_pairs(path)) for name, path in files}
    for name, path in files:
        quoted = sum(bool(_SPREADSHEET.fullmatch(text)) for text in (*sets[name].a, *sets[name].b))
        if quoted:
            hint = "quotes are kept, so save it unquoted"
            say(f"{path} has {quoted} fields as a spreadsheet quotes them; {hint}.")
    return sets


def own_digest(sets: Mapping[str, StsSet], rest: str | None) -> str:
    """SHA-256 over your own sets and names, and over `rest`, the digest of the scale's sets if scored."""
    return text_digest((f"own pairs\n{sets_digest(sets)}\n{rest}\n",))


def with_own_pairs(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with the tests and the development set that these names of your own pairs replace."""
    tests = tuple(name for name in names if name != DEV)
    return replace(scale, tests=tests or scale.tests, dev=DEV if DEV in names else scale.dev)


def scores_scale_sets(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside your own pairs: its tests or its development set."""
    return not set(names) > {DEV}
