"""One result as parquet bytes and back, sealed: a table of numbers with its configuration in the footer.

The seal is a SHA-256 over the metadata and every column, since parquet itself protects neither its footer nor, unless
asked, its pages: a flipped bit must never be read as a number.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from core.spec.result import PairBlock, Row

RUN_SCHEMA = pa.schema(
    [("checkpoint", pa.string()), ("task", pa.string()), ("metric", pa.string()), ("step", pa.int64()), ("value", pa.float64())]
)
PAIR_SCHEMA = pa.schema(
    [
        ("task", pa.string()), ("subset", pa.string()), ("gold", pa.float32()), ("cosine", pa.float32()),
        ("words_a", pa.int16()), ("words_b", pa.int16()),
    ]
)  # fmt: skip
MOST_ROWS = 10_000_000  # a few bytes can claim any number of equal rows
_LONGEST = 2**15 - 1  # words of a sentence that int16 can count; longer ones are cut by every encoder anyway


class Damaged(Exception):
    """These bytes are no sealed table; the text says why."""


def run_table(rows: tuple[Row, ...]) -> pa.Table:
    """The long table of a run's numbers."""
    columns: list[Sequence[object]] = list(zip(*rows, strict=True)) if rows else [[] for _ in RUN_SCHEMA]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, RUN_SCHEMA, strict=True)], schema=RUN_SCHEMA)


def pair_table(blocks: tuple[PairBlock, ...]) -> pa.Table:
    """Every test pair of a run. Raises ValueError if a block's columns differ in length."""
    columns: list[list] = [[] for _ in PAIR_SCHEMA]
    for block in blocks:
        n = len(block.gold)
        if not len(block.cosine) == len(block.words_a) == len(block.words_b) == n:
            raise ValueError(f"the columns of {block.task}/{block.subset} differ in length")
        columns[0] += [block.task] * n
        columns[1] += [block.subset] * n
        columns[2] += [float(x) for x in block.gold]
        columns[3] += [float(x) for x in block.cosine]
        columns[4] += [min(int(x), _LONGEST) for x in block.words_a]
        columns[5] += [min(int(x), _LONGEST) for x in block.words_b]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, PAIR_SCHEMA, strict=True)], schema=PAIR_SCHEMA)


def to_bytes(table: pa.Table, metadata: dict[str, str]) -> bytes:
    """The parquet file of a table with this metadata and its seal; the same content gives the same bytes."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", write_page_checksum=True, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({**metadata, "seal": seal(table, metadata)})
    return sink.getvalue()


def from_bytes(content: bytes, schema: pa.Schema) -> tuple[pa.Table, dict[str, str]]:
    """Table and metadata of such a file. Raises Damaged unless every byte that carries a number is as it was written."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        written = {key.decode(): value.decode() for key, value in (file.metadata.metadata or {}).items()}
        if file.metadata.num_rows > MOST_ROWS:
            raise Damaged(f"it says that it has {file.metadata.num_rows} rows")
        table = file.read(use_threads=False).replace_schema_metadata(None)
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError) as error:
        raise Damaged(f"it does not open ({str(error).splitlines()[0] if str(error) else type(error).__name__})") from error
    if "seal" not in written:
        raise Damaged("its footer is missing")
    if table.schema.names != schema.names or table.schema.types != schema.types:
        raise Damaged("its columns are not those of this store")
    metadata = {key: value for key, value in written.items() if key != "seal"}
    try:
        sealed = seal(table, metadata) == written["seal"]
    except ValueError:  # text that is no UTF-8
        sealed = False
    if not sealed:
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
