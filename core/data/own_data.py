"""Text and graded pairs of your own: files read by line, tables, and data sets on the hub.

    FILE                     a sentence a line; or two sentences and a score a line, with tabs
    FILE.jsonl               a table, also .csv, .json and .parquet
    hf:NAME@REVISION#SPLIT   a data set on the hub at one commit, which the `datasets` library reads

`?columns=sentence1,sentence2,label` behind it names the columns, `?config=de` a configuration of a
data set, `&` joins both. A training text may have several columns: `--text
FILE?columns=sent0,sent1,hard_neg`. Rows are written into the cache as lines. Scores may lie on any
scale: only their order counts.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from core.config.result import TASKS
from core.config.scale import PAPER, Scale
from core.data.sts import Pair, StsSet, pair, set_of, sets_digest
from core.data.text import (
    COLUMNS_ENDING,
    HEADERS,
    decoded,
    expect,
    numbered_lines,
    parsed_rows,
    text_bytes,
    text_digest,
)
from core.errors import UserError, refusing
from core.formatting import counted, say
from core.store.cache import find_cached, write_cached

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

JSON = (".json", ".jsonl", ".ndjson")  # an array, or an object a line
TABLES = (".csv", ".parquet", *JSON)  # a .tsv file without named columns is lines
TABLE_COLUMNS: dict[DataKind, tuple[str, ...]] = {
    "text": ("text",),
    "pairs": ("sentence1", "sentence2", "score"),
}
_PLACE = re.compile(r"hf:(?P<name>[^@#?]+)@(?P<revision>[0-9a-f]{40})#(?P<split>[^#?]+)")
HOW = "write FILE?columns=a,b,c, or hf:NAME@REVISION#SPLIT with the commit's 40 digits"


def named_pairs(text: str) -> tuple[str, str]:
    """Name and place of `FILE`, `NAME=FILE` or `dev=FILE`. Raises UserError."""
    name, equals, place = text.partition("=")
    if text.startswith("hf:") or not equals or "?" in name or Path(text).is_file():
        place = text
        file = text.partition("?")[0].rstrip("/").rpartition("/")[2]
        name = re.split("[.=@#]", file)[0]
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
    name, _, stated = place.partition("?")
    path = Path(os.path.expanduser(name)).absolute()
    hub = _PLACE.fullmatch(name)
    options = dict(parse_qsl(stated, keep_blank_values=True))
    columns = tuple(re.findall("[^,]+", options.pop("columns", "")))
    config = options.pop("config", None) if hub else None
    if options or not (hub or path.is_file()) or len({*columns}) < len(columns):
        raise UserError(
            f"--{kind} {place[:120]!r} is no file or data set, or has an unknown option or a column "
            f"twice; {HOW}."
        )
    if hub is None and not columns and _ending(path) not in TABLES:
        return path

    title = path.name if hub is None else f"{hub['name']}, split {hub['split']}"
    ending = "tsv" if kind == "pairs" else "txt"
    if kind == "text" and len(columns) > 1:
        ending = COLUMNS_ENDING.removeprefix(".")
    stem = re.sub(r"\W", "-", title.partition(",")[0].rpartition("/")[2])[:60]
    name_in_cache = f"{stem}.{text_digest([place, str(path)])[:16]}"
    folder = cache / "hf"
    if hub is None:
        rows = _table(path)
    else:
        file = find_cached(folder, name_in_cache, ending)
        if file is not None:
            return file
        if not fetch:
            raise UserError(
                f"{title} is not in {cache}, and only a command that trains fetches it; train with "
                "a network first, or give a file."
            )
        rows = _hub_rows(title, hub, config)
    first = next(iter(rows), None)
    names = list(first) if isinstance(first, Mapping) else []
    if not columns and kind == "text" and len(names) == 1:
        columns = tuple(names)
        if hub is None and _ending(path) == ".csv" and names[0].strip().lower() not in HEADERS:
            raise UserError(
                f"{title} begins with {names[0][:80]!r}; write FILE?columns=NAME for a column, or "
                "rename a text by line to .txt."
            )
    if not columns:
        written = {"".join(name.split()).lower(): name for name in names}
        columns = tuple(written.get(name, name) for name in TABLE_COLUMNS[kind])
    missing = [column for column in columns if column not in names]
    if missing:
        raise UserError(
            f"{title} has the columns {', '.join(names) or '(none)'}, and no "
            f"{', '.join(missing)}; name the columns, as in ?columns=a,b,c, or give lines of text."
        )
    lines = _text_lines(title, rows, columns, kind)
    return write_cached(folder, name_in_cache, ending, "".join(lines).encode())


def check_hub() -> None:
    """Raises UserError unless the hub answers soon: its client asks a silent hub for seven
    minutes."""
    from huggingface_hub import constants, get_session

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    hint = "check the network and HF_ENDPOINT, or give --data-dir, --encoder and files"
    with refusing(f"{endpoint} does not answer", hint):
        get_session().head(endpoint, timeout=HUB_SECONDS)


def _hub_rows(title: str, hub: re.Match[str], config: str | None) -> Any:
    """The rows of a data set on the hub. Raises UserError."""
    import datasets

    name, revision, split = hub.group("name", "revision", "split")
    if Path(name).exists():  # the library would read the folder
        raise UserError(f"{name} is a folder here, too; run the command in another folder.")
    check_hub()
    say(f"Reading {title}, with the datasets library.")
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    with refusing(f"{title} could not be read by the datasets library", "mend it"):
        return datasets.load_dataset(name, config, revision=revision, split=split).flatten()


def _table(path: Path) -> Any:
    """The rows of a table of this machine; fields of a CSV file stay as they are written. Raises
    UserError."""
    ending = _ending(path)
    with refusing(f"{path} could not be read", "mend it"):
        if ending == ".parquet":
            from pyarrow.parquet import read_table

            return read_table(path).flatten().to_pylist()
        text = decoded(text_bytes(path), str(path))
        if ending in JSON:
            if text.lstrip().startswith("["):
                return json.loads(text)
            lines = [row for row in enumerate(text.split("\n"), start=1) if row[1].strip()]
            return list(parsed_rows(f"{path}, line", lines, json.loads))
        import pandas as pd

        layout: dict[str, Any] = {"sep": "\t", "quoting": csv.QUOTE_NONE}
        if ending == ".csv":
            layout = {}
        # its first line as a row, too: pandas renames columns of one name, and moves fields of
        # longer lines (its issue 9295)
        head, *rows = pd.read_csv(
            io.StringIO(text), header=None, dtype=str, keep_default_na=False, **layout
        ).itertuples(index=False)
        if len(set(head)) < len(head):
            raise UserError(f"{path} has two columns of one name; name every column once.")
        return [dict(zip(head, row, strict=True)) for row in rows]


def _text_lines(
    title: str, rows: Sequence[Mapping[str, Any]], columns: tuple[str, ...], kind: DataKind
) -> list[str]:
    """The rows as lines, columns between tabs and white space runs made single blanks. Raises
    UserError."""

    def line(row: Mapping[str, Any]) -> str:
        expect(isinstance(row, Mapping), "a value for each column", row)
        texts = [_field_text(row.get(column), column) for column in columns]
        if kind == "pairs":
            _pair(texts)
        elif len(columns) > 1:
            for column, text in zip(columns, texts, strict=True):
                expect(text, f"a sentence in {column}", text)
        return "\t".join(texts) + "\n"

    return list(parsed_rows(f"{title}, row", enumerate(rows, start=1), line))


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
    text = " ".join(str(value).split())
    expect(b"\0" not in text.encode(), f"a text without a zero byte in {column}", text)
    return text


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
    # a sentence beside itself has the cosine 1, whichever it is
    cosines = {frozenset((a, b)) if a != b else None for a, b, _ in pairs}
    if len({score for *_, score in pairs}) < 2 or len(cosines) < 2:
        raise UserError(
            f"{path} has {counted(len(pairs), 'pair')} of one score or one cosine, which cannot be "
            "ranked; give more pairs."
        )
    return pairs


def own_sets(files: Sequence[tuple[str, Path]]) -> dict[str, StsSet]:
    """The sets of these (name, file), each of one subset. Says how many fields look quoted."""
    sets = {}
    for name, path in files:
        sets[name] = set_of(name, read_pairs(path))
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
