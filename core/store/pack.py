"""The runs that the project publishes, packed: one parquet file a scale.

    <published>/<scale>/runs.parquet    columns run_id, checkpoint, task, metric, step, value

Runs stand in the order of their ids, 64 to a row group, so that one can be read without the others. The file's footer holds each
run's own footer (configuration, status, provenance) and seal, as they were when the run was stored: what is read is checked as a
file of its own would be.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.store import files, parquet
from core.store.parquet import Damaged

NAME = "runs.parquet"
GROUP = 64  # runs in a row group
SCHEMA = pa.schema([("run_id", pa.string()), *parquet.RUN_SCHEMA])
MOST_BYTES = 1 << 30  # of all footers together, unpacked

Run = tuple[pa.Table, dict[str, str]]  # a run's rows and its footer


@dataclass(frozen=True, slots=True)
class _Entry:
    footer: dict[str, str]
    seal: str
    group: int
    start: int  # within its row group
    rows: int


class Pack:
    """One file, opened: which runs it holds is known, their rows are read when they are asked for. Raises Damaged."""

    def __init__(self, path: Path):
        self._lock = threading.Lock()  # runs are launched from threads
        self._groups: dict[int, pa.Table] = {}
        try:
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            if self._file.schema_arrow.names != SCHEMA.names or self._file.schema_arrow.types != SCHEMA.types:
                raise Damaged("its columns are not those of published runs")
            listed = _unpacked((self._file.metadata.metadata or {})[b"runs"])
            self._entries = _entries(listed, [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)])
        except KeyError as error:
            raise Damaged("its list of runs is missing") from error
        except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError, MemoryError, zlib.error, RecursionError) as error:
            raise Damaged(f"it does not open ({str(error).splitlines()[0] if str(error) else type(error).__name__})") from error

    def __contains__(self, run: str) -> bool:
        return run in self._entries

    def runs(self) -> tuple[str, ...]:
        """The ids of its runs, sorted."""
        return tuple(sorted(self._entries))

    def read(self, run: str) -> Run:
        """Rows and footer of a run. Raises Damaged unless both are as they were when the run was stored."""
        entry = self._entries[run]
        try:
            table = self._group(entry.group).slice(entry.start, entry.rows)
            whole = set(table["run_id"].to_pylist()) <= {run} and table.num_rows == entry.rows
            table = table.drop_columns(["run_id"]).combine_chunks()
            sealed = whole and parquet.seal(table, entry.footer) == entry.seal
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise Damaged(f"its rows cannot be read ({str(error).splitlines()[0] if str(error) else type(error).__name__})") from error
        if not sealed:
            raise Damaged("its content does not match its seal")
        return table, entry.footer

    def _group(self, place: int) -> pa.Table:
        with self._lock:
            if place not in self._groups:
                self._groups[place] = self._file.read_row_group(place, use_threads=False).replace_schema_metadata(None)
            return self._groups[place]


def write(path: Path, runs: Mapping[str, Run]) -> bool:
    """Put a pack of exactly these runs at `path`, whole or not at all; whether it is another file than before.

    The same runs give the same bytes. Raises UserError if it cannot be written.
    """
    content = packed(runs)
    if path.is_file() and path.read_bytes() == content:
        return False
    files.write_whole(path, content)
    return True


def packed(runs: Mapping[str, Run]) -> bytes:
    """The file of these runs."""
    ids = sorted(runs)
    listed = [[runs[run][1], parquet.seal(*runs[run]), runs[run][0].num_rows] for run in ids]
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, SCHEMA, compression="zstd", compression_level=9, write_page_checksum=True, store_schema=False,
        use_dictionary=["run_id", "checkpoint", "task", "metric", "step"], use_byte_stream_split=["value"],
    ) as writer:  # fmt: skip
        for start in range(0, len(ids), GROUP):
            tables = [
                runs[run][0].add_column(0, SCHEMA.field("run_id"), pa.array([run] * runs[run][0].num_rows, pa.string()))
                for run in ids[start : start + GROUP]
            ]
            writer.write_table(pa.concat_tables(tables), row_group_size=max(1, sum(table.num_rows for table in tables)))
        text = json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()
        writer.add_key_value_metadata({"runs": base64.b64encode(zlib.compress(text, 9)).decode()})
    return sink.getvalue()


def _unpacked(text: bytes) -> list:
    try:
        stream = zlib.decompressobj()
        plain = stream.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except binascii.Error as error:
        raise ValueError("its list of runs is no base64") from error
    return json.loads(plain)


def _entries(listed: list, groups: list[int]) -> dict[str, _Entry]:
    """Where each run stands. Raises ValueError where the rows are not those of the runs."""
    found: dict[str, _Entry] = {}
    start = 0
    for number, (footer, sealed, rows) in enumerate(listed):
        if type(rows) is not int or rows < 0 or not all(isinstance(text, str) for text in (sealed, *footer, *footer.values())):
            raise ValueError("its list of runs is not as it is written")
        start = 0 if number % GROUP == 0 else start
        found[footer["run_id"]] = _Entry(footer, sealed, number // GROUP, start, rows)
        start += rows
    sizes = [sum(rows for _, _, rows in listed[first : first + GROUP]) for first in range(0, len(listed), GROUP)]
    if sizes != groups or len(found) != len(listed):
        raise ValueError("its rows are not those of its runs")
    return found
