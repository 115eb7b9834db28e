"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library
reads.

    FILE                     a sentence a line; or two sentences and a score a line, with tabs
    FILE.jsonl               a table of this machine, also .csv, .json and .parquet
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in READERS

`?columns=sentence1,sentence2,label` behind the split names the columns, `?config=de` a
configuration, `&` joins both; behind a file `FILE?columns=…` does, too. A training text may have
several columns: `--text FILE?columns=sent0,sent1,hard_neg`. Rows are written into the cache as
lines. Scores may lie on any scale: only their order counts.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from core.config.result import TASKS
from core.config.scale import PAPER, Scale
from core.data.sts import Pair, StsSet, pair, set_of, sets_digest
from core.data.text import COLUMNS_ENDING, HEADERS, expect, numbered_lines, parsed_rows, text_digest
from core.errors import UserError, refusing, say
from core.store import cache as caching

DataKind = Literal["text", "pairs"]
DEV = "dev"  # the name that makes a file the development set
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,39}")
# Tasks of a run's rows, and SentEval's sets: a set of your own would take their place.
_TAKEN = {"stsb", "data", "sts-b train", "sick-r train", "sick-r dev"}
_TAKEN |= {name.lower() for name in (*TASKS, PAPER.dev, *PAPER.tests, *PAPER.probes)}
_SCORE_TITLE = re.compile(
    r"[^0-9]*(score|label|gold|similarity|relatedness|rating)[^0-9]*", re.IGNORECASE
)
_SPREADSHEET = re.compile(r'"[^"]*(""[^"]*)+"')
HUB_SECONDS = 20.0  # in which the hub answers

# Fields stay as they are written: else the first rows decide whether a column is of whole numbers.
AS_TEXT: dict[str, Any] = {
    "path": "csv",
    "converters": dict.fromkeys(range(1000), str),
    "keep_default_na": False,
}
JSON: dict[str, Any] = {"path": "json", "chunksize": 1 << 28}  # likewise, as far as 256 MiB
# How `datasets` reads a file, by ending. A TSV has no quoting.
READERS: dict[str, dict[str, Any]] = {
    ".csv": AS_TEXT,
    ".tsv": AS_TEXT | {"delimiter": "\t", "quoting": 3},
    ".parquet": {"path": "parquet"},
    ".json": JSON,
    ".jsonl": JSON,
    ".ndjson": JSON,
    ".txt": {"path": "text"},
}
BY_LINE = (".txt", ".tsv")  # files that are read by line without `hf:`
TABLE_COLUMNS: dict[DataKind, tuple[str, ...]] = {
    "text": ("text",),
    "pairs": ("sentence1", "sentence2", "score"),
}
_PLACE = re.compile(
    r"hf:(?P<name>.+?)(@(?P<revision>[0-9a-f]{40}))?#(?P<split>[^#?]+)(\?(?P<options>.*))?",
    re.DOTALL,
)
OPTIONS = {"columns", "config"}
HOW = (
    "write hf:NAME@REVISION#SPLIT with the commit's 40 digits, or hf:FILE#SPLIT or hf:FOLDER#SPLIT "
    "of this machine, and behind it ?columns=sentence1,sentence2,score if need be"
)


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. Raises UserError."""
    name, equals, place = text.partition("=")
    if text.startswith("hf:") or not equals or Path(text).is_file():
        place = text
        file = re.split("[@#]", text)[0].rstrip("/").rpartition("/")[2]
        name = re.split("[.=]", file)[0]
    if not _NAME.fullmatch(name) or not place.strip():
        raise UserError(
            f"--pairs {text[:80]!r} names no set or no file; write --pairs NAME=FILE, with a name "
            "of letters and digits."
        )
    check_name(name, _TAKEN)
    return name, place


def check_name(name: str, taken: Collection[str]) -> None:
    """Raise UserError for a set of your own that has one of these names, which are in small
    letters."""
    if name != DEV and name.lower() in taken:
        raise UserError(
            f"The name {name} is taken by another set; write --pairs NAME=FILE with another."
        )


def data_file(place: str, kind: DataKind, cache: Path, *, fetch: bool = True) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the
    cache: of a data set at a commit once, unless its copy is damaged; of a table of this machine
    each time. Raises UserError, also for a data set at a commit that was not read yet, unless
    `fetch`."""
    path = Path(os.path.expanduser(place)).absolute()
    if not place.startswith("hf:"):
        options = ""
        if not path.is_file() and "?" in place:
            name, mark, stated = place.rpartition("?")
            path = Path(os.path.expanduser(name)).absolute()
            options = mark + stated
        if not path.is_file():
            raise UserError(f"--{kind} {path} is no file; give one, or a data set with hf:.")
        by_line = _ending(path) not in READERS or _ending(path) in BY_LINE
        if by_line and not options:
            return path
        place = f"hf:{path}#train{options}"
    title, arguments, columns = _table_source(place, kind)
    key = text_digest([repr((arguments, columns))])[:16]
    stem = re.sub(r"\W", "-", title.rpartition("/")[2])[:60]
    ending = {"text": "txt", "pairs": "tsv"}[kind]
    if kind == "text" and len(columns) > 1:
        ending = COLUMNS_ENDING.removeprefix(".")
    folder = cache / "hf"
    name = f"{stem}.{key}"
    if arguments.get("revision") is not None:
        file = caching.find(folder, name, ending)
        if file is not None:
            return file
        if not fetch:
            raise UserError(
                f"{title} is not in {cache}, and only a command that trains fetches it; train with "
                "a network first, or give a file."
            )
        check_hub()
    print(f"Reading {title}, with the datasets library.", flush=True)
    lines = _text_lines(title, arguments, columns, kind)
    return caching.keep(folder, name, ending, "".join(lines).encode())


def check_hub() -> None:
    """Raises UserError unless the hub answers soon: its client asks a silent hub for seven
    minutes."""
    from huggingface_hub import constants, get_session

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    hint = "check the network and HF_ENDPOINT, or give --data-dir, --encoder and files"
    with refusing(f"{endpoint} does not answer", hint):
        get_session().head(endpoint, timeout=HUB_SECONDS)


def _table_source(place: str, kind: DataKind) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """What `hf:…` names: in words, as arguments of `load_dataset`, and its columns if named. Raises
    UserError."""
    match = _PLACE.fullmatch(place)
    unclear = f"--{kind} {place[:120]!r} names no data set and its columns; {HOW}."
    options = None if match is None else _options(match["options"] or "")
    if match is None or options is None:
        raise UserError(unclear)
    columns: tuple[str, ...] = ()
    if "columns" in options:
        columns = tuple(options["columns"].split(","))
        if not all(columns):
            raise UserError(f"--{kind} {place[:120]!r} has a column without a name; name each.")
    config = options.get("config")
    if kind == "pairs" and len(columns) not in (0, len(TABLE_COLUMNS[kind])):
        raise UserError(unclear)
    if len(set(columns)) < len(columns):
        raise UserError(f"--{kind} {place[:120]!r} names a column twice; name each once.")

    # A data set on the hub, or a folder here.
    name, revision, split = match.group("name", "revision", "split")
    path = Path(os.path.expanduser(name)).absolute()
    if revision is None:
        name = str(path)
    elif path.exists():  # the library would read the folder
        raise UserError(f"{name} is a folder here, too; run the command in another folder.")
    if path.is_dir() and re.search(r"[*?[]|::", str(path.resolve())):
        raise UserError(
            f"The datasets library takes {name} for a pattern; give it a name without * ? [ and ::."
        )
    title = ", ".join(filter(None, (name, config, f"split {split}")))
    if revision or path.is_dir():
        return title, {"path": name, "name": config, "revision": revision, "split": split}, columns

    return title, _file_source(path, name, config, split), columns


def _file_source(path: Path, name: str, config: str | None, split: str) -> dict[str, Any]:
    """A file here as arguments of `load_dataset`. Raises UserError for one that cannot be read."""
    if not path.is_file() or _ending(path) not in READERS:
        raise UserError(
            f"{path} is no folder and no file that ends in {', '.join(READERS)}; {HOW}."
        )
    if config:
        raise UserError(
            f"{path} is one file, which has no configuration; leave out config={config}."
        )
    files = {re.split(r"\W", split)[0]: name}
    return {**READERS[_ending(path)], "data_files": files, "split": split}


def _options(text: str) -> dict[str, str] | None:
    """What stands behind the question mark of `hf:…`; None unless each option is known, has a value
    and comes once."""
    pairs = parse_qsl(text, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs) or not all(options.values()) or options.keys() - OPTIONS:
        return None
    return options


def _text_lines(
    title: str, arguments: Mapping[str, Any], columns: tuple[str, ...], kind: DataKind
) -> list[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises
    UserError."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it cannot read is told below
    # the library's own cache knows a changed file by its time alone
    with tempfile.TemporaryDirectory() as scratch:
        files = arguments.get("data_files")
        if files is not None:
            # the library takes names for patterns: a[1].csv for a1.csv
            link = Path(scratch) / "file"
            link.symlink_to(next(iter(files.values())))
            arguments = {**arguments, "data_files": dict.fromkeys(files, str(link))}
        try:
            rows = datasets.load_dataset(**arguments, cache_dir=scratch).flatten()
        except Exception as error:  # the library has many kinds of its own, which hide the cause
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:200] or 'no rows'}"
            raise UserError(
                f"{title} could not be read by the datasets library ({reason}); mend it."
            ) from error
        headed = arguments["path"] != "csv" or rows.column_names[0].strip().lower() in HEADERS
        columns = _named_columns(title, rows, columns, kind, headed)

        def line(row: Mapping[str, Any]) -> str:
            texts = [_field_text(row[column], column) for column in columns]
            if kind == "pairs":
                _pair(texts)
            elif len(columns) > 1:
                for column, text in zip(columns, texts, strict=True):
                    expect(text, f"a sentence in {column}", text)
            return "\t".join(texts) + "\n"

        numbered = enumerate(rows.select_columns(list(columns)), start=1)
        return list(parsed_rows(f"{title}, row", numbered, line))


def _named_columns(
    title: str, rows: Any, named: tuple[str, ...], kind: DataKind, headed: bool
) -> tuple[str, ...]:
    """The columns to read of a table: those that the user named, the only column of a text with a
    header, or the usual ones. Raises UserError for a table without them."""
    names = rows.column_names
    is_csv = rows.builder_name == "csv"
    if is_csv and "__index_level_0__" in names:
        # pandas takes the first field for a name of the line, and moves the others to the left
        raise UserError(
            f"Lines of {title} have more fields than its first line; put fields with commas in "
            "double quotes, or name every column in the first line."
        )
    lone_text = kind == "text" and len(names) == 1
    if not named and lone_text and not headed:
        raise UserError(
            f"{title} begins with {names[0][:80]!r}; write hf:FILE#train?columns=NAME for a "
            "column, or rename a text by line to .txt."
        )
    columns = named or (tuple(names) if lone_text else TABLE_COLUMNS[kind])
    missing = [name for name in columns if name not in names]
    if missing:
        raise UserError(
            f"{title} has the columns {', '.join(names)}, and no {', '.join(missing)}; name the "
            "columns behind the split, as in #test?columns=a,b,c."
        )
    if is_csv and not named:
        _refuse_twins(title, columns, names)
    return columns


def _refuse_twins(title: str, columns: Sequence[str], names: Sequence[str]) -> None:
    """Raise UserError for a column that a CSV file has twice."""
    twice = [name for name in columns if f"{name}.1" in names]
    if twice:
        raise UserError(
            f"{title} has two columns {twice[0]}; rename the second, or name it behind the split "
            f"as {twice[0]}.1."
        )


def _ending(path: Path) -> str:
    """The ending that says what a file holds, which may be packed by gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _field_text(value: Any, column: str) -> str:
    """A text or number of a row as text. Raises ValueError."""
    if isinstance(value, bytes):  # as other programs write parquet
        value = value.decode()
    usable = isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool)
    is_nan = isinstance(value, (float, Decimal)) and math.isnan(value)
    expect(usable and not is_nan, f"a text or a number in {column}", value)
    return " ".join(str(value).split())


def _pair(fields: Sequence[str]) -> Pair:
    """A pair from its columns. Raises ValueError that says what was expected."""
    expect(len(fields) == 3, "two sentences and a score, separated by tabs", "\t".join(fields))
    return pair(*fields)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file: two sentences and a score a line, separated by tabs. A first line whose
    third column names a score is a header. Raises UserError, naming file and line, for all else."""
    rows = [(number, line.split("\t")) for number, line in numbered_lines(path) if line.strip()]
    if rows:
        number, fields = rows[0]
        if number == 1 and len(fields) == 3 and _SCORE_TITLE.fullmatch(fields[2]):
            del rows[0]
    pairs = list(parsed_rows(f"{path}, line", rows, _pair))
    hint = "so nothing can be ranked; give more pairs"
    if len({score for _, _, score in pairs}) < 2:
        raise UserError(f"{path} has {len(pairs)} pairs and no two different scores, {hint}.")
    different = {frozenset((a, b)) for a, b, _ in pairs if a != b}
    equal = any(a == b for a, b, _ in pairs)  # all of these have the cosine 1
    if len(different) + equal < 2:
        raise UserError(f"{path} has one cosine for all of its pairs under any encoder, {hint}.")
    return pairs


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset. Says how many fields look quoted."""
    sets = {name: set_of(name, read_pairs(path)) for name, path in files}
    for name, path in files:
        quoted = list(filter(_SPREADSHEET.fullmatch, sets[name].a + sets[name].b))
        if quoted:
            say(
                f"{path} has {len(quoted)} fields as a spreadsheet quotes them; quotes are kept, "
                "so save it unquoted."
            )
    return sets


def own_digest(sets: Mapping[str, StsSet], rest: str | None) -> str:
    """SHA-256 over your own sets and names, and over `rest`, the digest of the scale's sets if
    scored."""
    return text_digest((f"own pairs\n{sets_digest(sets)}\n{rest}\n",))


def with_own_pairs(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with the tests and the development set that these names of your own pairs
    replace."""
    tests = tuple(name for name in names if name != DEV)
    if DEV in names:
        scale = replace(scale, dev=DEV)
    return replace(scale, tests=tests or scale.tests)


def scores_scale_sets(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside your own pairs: its tests or its
    development set."""
    return not set(names) > {DEV}
