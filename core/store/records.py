"""One run as a sealed parquet file: numbers, with configuration, status and provenance in the
footer.

The seal is a SHA-256 over the metadata and every column, since parquet itself protects neither its
footer nor, unless asked, its pages: a flipped bit must never be read as a number.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from core.config.identity import NUMERICS, from_canonical_json, run_id, text_id
from core.config.result import PairBlock, Status
from core.config.run import RunConfig
from core.errors import UserError
from core.store.files import trouble

if TYPE_CHECKING:  # pandas takes a second to import, and planning does not need it
    from pandas import DataFrame

RUN_SCHEMA = pa.schema(
    {
        "checkpoint": pa.string(),
        "task": pa.string(),
        "metric": pa.string(),
        "step": pa.int64(),
        "value": pa.float64(),
    }
)
PAIR_SCHEMA = pa.schema(
    {
        "task": pa.string(),
        "subset": pa.string(),
        "gold": pa.float32(),
        "cosine": pa.float32(),
        "words_a": pa.int16(),
        "words_b": pa.int16(),
    }
)
# A run of scale paper has 1,409 rows and 34,000 pairs at most. A forged file of 274 KiB took 19.7
# GB.
MOST_ROWS = 1 << 22
MOST_BYTES = 1 << 28
MOST_WORDS = 2**15 - 1  # of a sentence, as int16 counts them; every encoder cuts longer ones anyway
SOURCE = Literal["own", "published", "imported"]
ANEW = "its runs count as missing; get the file anew, with git checkout"
MEND = {
    "own": "train the run again",  # training sets the file aside
    "published": ANEW,
    "imported": "get the pack anew, and import it again",
}


class MissingRun(UserError):
    """The run is not in the store."""


class CorruptRun(UserError):
    """A damaged or foreign run file; the sentence names it and says what to do."""


class OtherVersion(UserError):
    """A sound run file written under another NUMERICS: not damaged, but not for this version of the
    code."""


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """One finished run, as read back and verified. `table` has the columns of
    `core.config.result.Row`, `footer` is that of its file."""

    run_id: str
    status: Status
    table: pa.Table
    provenance: dict[str, object]
    footer: dict[str, str]
    source: SOURCE

    @functools.cached_property
    def config(self) -> RunConfig:
        """The run's configuration, read at the first use: a report needs none."""
        return from_canonical_json(self.footer["config"])[0]

    @functools.cached_property
    def rows(self) -> DataFrame:
        """The table as a frame, made at the first use: many readers of a run need its provenance
        alone."""
        return self.table.to_pandas()


@contextlib.contextmanager
def believed(where: object, source: SOURCE = "own") -> Iterator[None]:
    """Within this context an error of any kind but OtherVersion becomes CorruptRun: `where` is
    damaged."""
    try:
        yield
    except OtherVersion:
        raise
    except Exception as error:  # pyarrow has errors of every kind for bytes that are no parquet
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise CorruptRun(f"{where} is damaged ({line}); {MEND[source]}.") from error


def pair_table(blocks: tuple[PairBlock, ...]) -> pa.Table:
    """Every test pair of a run. Raises ValueError if a block's columns differ in length."""
    rows: list[tuple[object, ...]] = []
    for block in blocks:
        columns = zip(block.gold, block.cosine, block.words_a, block.words_b, strict=True)
        for gold, cosine, *words in columns:
            counts = [min(int(count), MOST_WORDS) for count in words]
            rows.append((block.task, block.subset, float(gold), float(cosine), *counts))
    return table(rows, PAIR_SCHEMA)


def table(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    """The long table of these rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def to_bytes(table: pa.Table, metadata: dict[str, str]) -> bytes:
    """The parquet file of a table with this metadata and its seal; the same content gives the same
    bytes."""
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", write_page_checksum=True, store_schema=False
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({**metadata, "seal": seal(table, metadata)})
    return sink.getvalue()


def seal(table: pa.Table, metadata: dict[str, str]) -> str:
    """SHA-256 over the metadata and every column's values."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for column in table.columns:
        if pa.types.is_string(column.type):
            # by way of numpy in a third of the time
            texts = column.to_numpy(zero_copy_only=False).tolist()
            digest.update(json.dumps(texts).encode())
        else:
            digest.update(column.null_count.to_bytes(8, "big") + column.to_numpy().tobytes())
    return digest.hexdigest()


def check_seal(table: pa.Table, metadata: dict[str, str], sealed: object) -> None:
    """Raises ValueError if the seal of a table and its metadata is another."""
    if seal(table, metadata) != sealed:
        raise ValueError("its content does not match its seal")


def check_bounds(rows: int, size: int, times: int = 1) -> None:
    """Raises ValueError for more rows or bytes, once they are inflated, than so many runs could
    have."""
    if rows > times * MOST_ROWS or size > times * MOST_BYTES:
        raise ValueError(f"it would take {rows} rows and {size} bytes")


def opened(source: Any, schema: pa.Schema, times: int = 1) -> pq.ParquetFile:
    """A parquet file, of which nothing is inflated yet. Raises ValueError for other columns, and
    for a footer with more than `check_bounds` allows."""
    file = pq.ParquetFile(source, page_checksum_verification=True)
    about = file.metadata
    if file.schema_arrow.names != schema.names or about.num_columns != len(schema):
        raise ValueError("it has other columns")
    size = sum(about.row_group(place).total_byte_size for place in range(about.num_row_groups))
    check_bounds(about.num_rows, size, times)
    if about.num_rows * size > MOST_BYTES:  # a long text may stand in every row, and is stored once
        text = [field.name for field in schema if pa.types.is_string(field.type)]
        file = pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=text)
    return file


def inflated(file: pq.ParquetFile, schema: pa.Schema, times: int = 1) -> pa.Table:
    """The rows of an opened file. Raises ValueError for texts that take more than `check_bounds`
    allows."""
    table = file.read(use_threads=times > 1).replace_schema_metadata(None)
    for column in table.columns:
        if not pa.types.is_dictionary(column.type):
            continue
        size = 0
        for part in column.chunks:
            size += len(part) * max(map(len, part.dictionary.drop_null().to_pylist()), default=0)
            check_bounds(0, size, times)
    return table.cast(schema)


def _content(path: Path) -> bytes:
    """The bytes of a run's file. Raises MissingRun, CorruptRun or UserError."""
    try:
        problem = f"it has {path.stat().st_size} bytes"
        if not path.is_file():  # reading a FIFO never ends
            problem = "it is no file"
        elif path.stat().st_size <= MOST_BYTES:
            return path.read_bytes()
    except FileNotFoundError as error:
        raise MissingRun(f"{path} is not there; train the run again.") from error
    except OSError as error:
        raise UserError(trouble(path, error)) from error
    raise CorruptRun(f"{path} is damaged ({problem}); {MEND['own']}.")


def read_file(path: Path, schema: pa.Schema) -> tuple[pa.Table, dict[str, str], str]:
    """Table, footer and SHA-256 of a run's file, as they were written. Raises MissingRun or
    CorruptRun."""
    content = _content(path)
    with believed(path):
        file = opened(pa.BufferReader(content), schema)
        footer = {
            key.decode(): value.decode() for key, value in (file.metadata.metadata or {}).items()
        }
        table = inflated(file, schema)
        sealed = footer.pop("seal", "")
        check_seal(table, footer, sealed)
        if footer["run_id"] != path.stem:
            raise ValueError(f"it holds run {footer['run_id']}")
    return table, footer, hashlib.sha256(content).hexdigest()


def stored_run(
    table: pa.Table,
    footer: dict[str, str],
    source: SOURCE,
    where: object,
    expected: bool = False,
) -> StoredRun:
    """The run of a table and its footer, which come from `where`. Raises CorruptRun unless
    configuration, status and provenance are a run's, OtherVersion for another NUMERICS.

    `expected`: the caller has the id from a configuration of its own. Then the stored text is that
    configuration if its digest is the id, and need not be read (a report: 5 ms for each of 3,000
    runs).
    """
    with believed(where, source):
        text = footer["config"]
        known = expected and text_id(text) == footer["run_id"]
        # a configuration of another version may have fields that are unknown here
        numerics = NUMERICS if known else json.loads(text)["numerics"]
        if numerics != NUMERICS:
            raise OtherVersion(
                f"{where} was written by another version of the code (NUMERICS {numerics}, here "
                f"{NUMERICS}); use that version or another --results-dir."
            )
        identity = footer["run_id"]
        if not known:
            config, _ = from_canonical_json(text)
            identity = run_id(config)
        if identity != footer["run_id"] or footer["status"] not in get_args(Status):
            raise ValueError(f"it holds run {identity}, {footer['status']}")
        provenance = json.loads(footer["provenance"])
        if not isinstance(provenance, dict):
            raise TypeError("its provenance is no object")
        return StoredRun(
            run_id=footer["run_id"],
            status=cast(Status, footer["status"]),
            table=table,
            provenance=provenance,
            footer=footer,
            source=source,
        )
