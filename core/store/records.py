"""One run as a sealed parquet file: a table of numbers with configuration, status and provenance in the
footer.

The seal is a SHA-256 over the metadata and every column, since parquet itself protects neither its footer
nor, unless asked, its pages: a flipped bit must never be read as a number.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from core.spec.errors import UserError
from core.spec.identity import NUMERICS, from_canonical_json, run_id
from core.spec.result import PairBlock, Row, Status
from core.spec.run import RunConfig

if TYPE_CHECKING:  # pandas takes a second to import, and planning does not need it
    from pandas import DataFrame

RUN_SCHEMA = pa.schema(
    [
        ("checkpoint", pa.string()),
        ("task", pa.string()),
        ("metric", pa.string()),
        ("step", pa.int64()),
        ("value", pa.float64()),
    ]
)
PAIR_SCHEMA = pa.schema(
    [
        ("task", pa.string()), ("subset", pa.string()), ("gold", pa.float32()), ("cosine", pa.float32()),
        ("words_a", pa.int16()), ("words_b", pa.int16()),
    ]
)  # fmt: skip
MISNAMED = "not the one it is named after; delete it or name it rightly"
MOST_WORDS = 2**15 - 1  # of a sentence, as int16 counts them; every encoder cuts longer ones anyway
UNREADABLE = (
    pa.ArrowException,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    MemoryError,
    OverflowError,
    RecursionError,
)


class MissingRun(UserError):
    """The run is not in the store."""


class CorruptRun(UserError):
    """A damaged or foreign run file; the sentence names it and says what to do."""


class OtherVersion(UserError):
    """A sound run file written under another NUMERICS: not damaged, but not for this version of the code."""


class Damaged(Exception):
    """These bytes are no sealed table; the text says why."""

    @classmethod
    def by(cls, error: Exception) -> Damaged:
        """Damage that a library has met."""
        return cls(f"it does not open ({next(iter(str(error).splitlines()), type(error).__name__)})")


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """One finished run, as read back and verified. `table` has the columns of `core.spec.result.Row`."""

    run_id: str
    config: RunConfig
    status: Status
    table: pa.Table
    provenance: dict[str, object]
    source: Literal["own", "published"]

    @functools.cached_property
    def rows(self) -> DataFrame:
        """The table as a frame, made at the first use: many readers of a run need its provenance alone."""
        return self.table.to_pandas()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an attempt at a run failed: `cause` is a few words, `detail` a sentence or nothing."""

    cause: str
    detail: str = ""
    log_tail: tuple[str, ...] = ()
    log: str = ""
    exit_status: int | None = None


def run_table(rows: tuple[Row, ...]) -> pa.Table:
    """The long table of a run's numbers."""
    return _table(list(zip(*rows, strict=True)) if rows else [[] for _ in RUN_SCHEMA], RUN_SCHEMA)


def pair_table(blocks: tuple[PairBlock, ...]) -> pa.Table:
    """Every test pair of a run. Raises ValueError if a block's columns differ in length."""
    rows: list[tuple] = []
    for block in blocks:
        words = [[min(int(x), MOST_WORDS) for x in side] for side in (block.words_a, block.words_b)]
        numbers = [[float(x) for x in side] for side in (block.gold, block.cosine)]
        names = ([name] * len(block.gold) for name in (block.task, block.subset))
        rows += zip(*names, *numbers, *words, strict=True)
    return _table(list(zip(*rows, strict=True)) if rows else [[] for _ in PAIR_SCHEMA], PAIR_SCHEMA)


def _table(columns: Sequence[Sequence[object]], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def to_bytes(table: pa.Table, metadata: dict[str, str]) -> bytes:
    """The parquet file of a table with this metadata and its seal; the same content gives the same bytes."""
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", write_page_checksum=True, store_schema=False
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({**metadata, "seal": seal(table, metadata)})
    return sink.getvalue()


def from_bytes(content: bytes, schema: pa.Schema) -> tuple[pa.Table, dict[str, str]]:
    """Table and metadata of such a file. Raises Damaged unless all is as it was written."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        metadata = {key.decode(): value.decode() for key, value in (file.metadata.metadata or {}).items()}
        table = file.read(use_threads=False).replace_schema_metadata(None)
        sealed = metadata.pop("seal", None)
        as_written = sealed == seal(table, metadata)
    except UNREADABLE as error:
        raise Damaged.by(error) from error
    if sealed is None:
        raise Damaged("its footer is missing")
    if table.schema.names != schema.names or table.schema.types != schema.types:
        raise Damaged("its columns are not those of this store")
    if not as_written:
        raise Damaged("its content does not match its seal")
    return table, metadata


def seal(table: pa.Table, metadata: dict[str, str]) -> str:
    """SHA-256 over the metadata and every column's values."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for column in table.columns:
        if pa.types.is_string(column.type):
            digest.update(json.dumps(column.to_pylist()).encode())
        else:
            digest.update(column.null_count.to_bytes(8, "big") + column.to_numpy().tobytes())
    return digest.hexdigest()


def read(path: Path, schema: pa.Schema) -> tuple[pa.Table, dict[str, str], str]:
    """Table, footer and SHA-256 of a run's file. Raises MissingRun, CorruptRun or UserError."""
    try:
        content = path.read_bytes()
        table, footer = from_bytes(content, schema)
    except FileNotFoundError as error:
        raise MissingRun(f"{path} is not there; train the run again.") from error
    except (Damaged, IsADirectoryError) as error:
        reason = "it is a folder" if isinstance(error, IsADirectoryError) else error
        raise CorruptRun(f"{path} is damaged: {reason}; delete it and train the run again.") from error
    except OSError as error:
        hint = "mend that and give the command again"
        raise UserError(f"{path} cannot be read ({error.strerror}); {hint}.") from error
    if (held := footer.get("run_id")) != path.stem:
        raise CorruptRun(f"{path} holds run {held}, {MISNAMED}.")
    return table, footer, hashlib.sha256(content).hexdigest()


def stored_run(
    run: str,
    table: pa.Table,
    footer: dict[str, str],
    source: Literal["own", "published"],
    where: str,
    mend: str,
) -> StoredRun:
    """The run of a table and its footer. `where` names the run and `mend` says what to do, for messages.

    Raises CorruptRun unless configuration, status and provenance are those of this run, OtherVersion for
    another NUMERICS.
    """
    config = None
    try:
        # another's may have fields that are unknown here
        if (numerics := json.loads(footer["config"])["numerics"]) == NUMERICS:
            config, _ = from_canonical_json(footer["config"])
        status = next(status for status in get_args(Status) if status == footer["status"])
        provenance = json.loads(footer["provenance"])
    except (UserError, KeyError, ValueError, TypeError, StopIteration, RecursionError) as error:
        what = "a configuration, a status or a provenance that cannot be read"
        raise CorruptRun(f"{where} has {what}; {mend}.") from error
    if config is None:
        what = f"another version of the code (NUMERICS {numerics}, here {NUMERICS})"
        raise OtherVersion(f"{where} was written by {what}; use that version or another --results-dir.")
    if run_id(config) != run:
        raise CorruptRun(f"{where} holds run {run_id(config)}, {MISNAMED}.")
    about = {"status": status, "provenance": provenance, "source": source}
    return StoredRun(run_id=run, config=config, table=table, **about)
