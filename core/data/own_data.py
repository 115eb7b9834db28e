"""Text and graded pairs of your own: files read by line, or tables that the `datasets` library
reads.

    FILE                     a sentence a line; or two sentences and a score a line, with tabs
    FILE.jsonl               a table of this machine, also .csv, .json and .parquet
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit
    hf:FOLDER#SPLIT          a folder on this machine, or a file with one of the endings in READERS

`?columns=sentence1,sentence2,label` behind the split names the columns, `?config=de` a
configuration, `&` joins both. Rows are written into the cache as lines. Scores may lie on any
scale: only their order counts.
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

from core.data.sts import Pair, StsSet, pair, set_of, sets_digest
from core.data.text import HEADERS, expect, numbered_lines, parsed, text_digest
from core.spec.errors import UserError, refusing, say
from core.spec.result import TASKS
from core.spec.scale import PAPER, Scale
from core.store import cache as caching

Kind = Literal["text", "pairs"]
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
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "text": ("text",),
    "pairs": ("sentence1", "sentence2", "score"),
}
_PLACE = re.compile(
    r"hf:(?P<name>.+?)(@(?P<revision>[0-9a-f]{40}))?#(?P<split>[^#?]+)(\?(?P<options>.*))?",
    re.DOTALL,
)
HOW = (
    "write hf:NAME@REVISION#SPLIT with the commit's 40 digits, or hf:FILE#SPLIT or hf:FOLDER#SPLIT "
    "of this "
    "machine, and behind it ?columns=sentence1,sentence2,score if need be"
)


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. Raises UserError."""
    name, equals, place = text.partition("=")
    if text.startswith("hf:") or not equals or Path(text).is_file():
        place = text
        name = (
            re.split("[@#]", text)[0]
            .rstrip("/")
            .rpartition("/")[2]
            .partition(".")[0]
            .partition("=")[0]
        )
    hint = "write --pairs NAME=FILE, with a name of letters and digits"
    if not _NAME.fullmatch(name) or not place.strip():
        raise UserError(f"--pairs {text[:80]!r} names no set or no file; {hint}.")
    check_name(name, _TAKEN)
    return name, place


def check_name(name: str, taken: Collection[str]) -> None:
    """Raise UserError for a set of your own that has one of these names, which are in small
    letters."""
    if name != DEV and name.lower() in taken:
        raise UserError(
            f"The name {name} is taken by another set; write --pairs NAME=FILE with another."
        )


def data_file(place: str, kind: Kind, cache: Path, *, fetch: bool = True) -> Path:
    """The file of lines that `--text` or `--pairs` names. Rows of a table are written into the
    cache: of a data set at a commit once, unless its copy is damaged; of a table of this machine
    each time. Raises UserError, also for a data set at a commit that was not read yet, unless
    `fetch`."""
    path = Path(os.path.expanduser(place)).absolute()
    if not place.startswith("hf:"):
        if not path.is_file():
            raise UserError(f"--{kind} {path} is no file; give one, or a data set with hf:.")
        if _ending(path) not in READERS or _ending(path) in BY_LINE:
            return path
        place = f"hf:{path}#train"
    title, arguments, columns = _table(place, kind)
    is_remote = arguments.get("revision") is not None
    key = text_digest([repr((arguments, columns))])[:16]
    stem = re.sub(r"\W", "-", title.rpartition("/")[2])[:60]
    ending = {"text": "txt", "pairs": "tsv"}[kind]
    folder = cache / "hf"
    name = f"{stem}.{key}"
    if is_remote:
        file = caching.find(folder, name, ending)
        if file is not None:
            return file
        hint = "only a command that trains fetches it; train with a network first, or give a file"
        if not fetch:
            raise UserError(f"{title} is not in {cache}, and {hint}.")
        check_hub()
    print(f"Reading {title}, with the datasets library.", flush=True)
    lines = _lines(title, arguments, columns, kind)
    return caching.keep(folder, name, ending, "".join(lines).encode())


def check_hub() -> None:
    """Raises UserError unless the hub answers soon: its client asks a silent hub for seven
    minutes."""
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
    written = parse_qsl(parts.get("options") or "", keep_blank_values=True)
    options = dict(written)
    unclear = len(options) < len(written) or not all(options.values())
    columns = tuple(filter(None, options.pop("columns", "").split(",")))
    config = options.pop("config", None)
    unfit = match is None or unclear or options or len(columns) not in (0, len(COLUMNS[kind]))
    if unfit:
        raise UserError(f"--{kind} {place[:120]!r} names no data set and its columns; {HOW}.")
    name = parts["name"]
    revision = parts["revision"]
    split = parts["split"]
    path = Path(os.path.expanduser(name)).absolute()
    both = revision and path.exists()  # the library would read the folder
    if both:
        raise UserError(f"{name} is a folder here, too; run the command in another folder.")
    name = name if revision else str(path)
    pattern = path.is_dir() and re.search(r"[*?[]|::", str(path.resolve()))
    if pattern:
        raise UserError(
            f"The datasets library takes {name} for a pattern; give it a name without * ? [ and ::."
        )
    title = ", ".join(filter(None, (name, config, f"split {split}")))
    if revision or path.is_dir():
        return title, {"path": name, "name": config, "revision": revision, "split": split}, columns
    unread = not path.is_file() or _ending(path) not in READERS
    if unread:
        raise UserError(
            f"{path} is no folder and no file that ends in {', '.join(READERS)}; {HOW}."
        )
    if config:
        raise UserError(
            f"{path} is one file, which has no configuration; leave out config={config}."
        )
    files = {re.split(r"\W", split)[0]: name}
    return title, {**READERS[_ending(path)], "data_files": files, "split": split}, columns


def _lines(
    title: str, arguments: Mapping[str, Any], columns: tuple[str, ...], kind: Kind
) -> list[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises
    UserError."""
    import datasets

    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it cannot read is told below
    # the library's own cache knows a changed file by its time alone
    with tempfile.TemporaryDirectory() as scratch:
        if files := arguments.get("data_files"):
            # the library takes names for patterns: a[1].csv for a1.csv
            link = Path(scratch) / "file"
            link.symlink_to(next(iter(files.values())))
            arguments = {**arguments, "data_files": dict.fromkeys(files, str(link))}
        try:
            rows = datasets.load_dataset(**arguments, cache_dir=scratch).flatten()
        except Exception as error:  # the library has many kinds of its own, which hide the cause
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:200] or 'no rows'}"
            what = f"could not be read by the datasets library ({reason})"
            raise UserError(f"{title} {what}; mend it.") from error
        if rows.builder_name == "csv" and "__index_level_0__" in rows.column_names:
            # pandas takes the first field for a name of the line, and moves the others to the left
            hint = "put fields with commas in double quotes, or name every column in the first line"
            raise UserError(f"Lines of {title} have more fields than its first line; {hint}.")
        is_list = kind == "text" and len(rows.column_names) == 1
        are_named = bool(columns)
        headed = arguments["path"] != "csv" or rows.column_names[0].strip().lower() in HEADERS
        if is_list and not columns and not headed:
            hint = "write hf:FILE#train?columns=NAME for a column, or rename a text by line to .txt"
            raise UserError(f"{title} begins with {rows.column_names[0][:80]!r}; {hint}.")
        columns = columns or (tuple(rows.column_names) if is_list else COLUMNS[kind])
        missing = [name for name in columns if name not in rows.column_names]
        has = f"has the columns {', '.join(rows.column_names)}, and no {', '.join(missing)}"
        if missing:
            raise UserError(
                f"{title} {has}; name the columns behind the split, as in #test?columns=a,b,c."
            )
        twice = [name for name in columns if f"{name}.1" in rows.column_names]
        if rows.builder_name == "csv" and twice and not are_named:
            hint = f"rename the second, or name it behind the split as {twice[0]}.1"
            raise UserError(f"{title} has two columns {twice[0]}; {hint}.")

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
    has_header = (
        rows and rows[0][0] == 1 and len(rows[0][1]) == 3 and _SCORE_TITLE.fullmatch(rows[0][1][2])
    )
    pairs = list(parsed(f"{path}, line", rows[1:] if has_header else rows, _pair))
    few = len({score for _, _, score in pairs}) < 2
    hint = "so nothing can be ranked; give more pairs"
    if few:
        raise UserError(f"{path} has {len(pairs)} pairs and no two different scores, {hint}.")
    cosines = {frozenset((a, b)) if a != b else None for a, b, _ in pairs}  # those that can differ
    if len(cosines) < 2:
        raise UserError(f"{path} has one cosine for all of its pairs under any encoder, {hint}.")
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
    """SHA-256 over your own sets and names, and over `rest`, the digest of the scale's sets if
    scored."""
    return text_digest((f"own pairs\n{sets_digest(sets)}\n{rest}\n",))


def with_own_pairs(scale: Scale, names: Sequence[str]) -> Scale:
    """The scale with the tests and the development set that these names of your own pairs
    replace."""
    tests = tuple(name for name in names if name != DEV)
    return replace(scale, tests=tests or scale.tests, dev=DEV if DEV in names else scale.dev)


def scores_scale_sets(names: Sequence[str]) -> bool:
    """Whether sets of the scale itself are scored beside your own pairs: its tests or its
    development set."""
    return not set(names) > {DEV}
