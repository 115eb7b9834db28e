"""The runs that the project publishes, packed: one parquet file a scale, which only `publish` changes.

    <published>/<scale>/runs.parquet    columns run_id, checkpoint, task, metric, step, value

Runs stand in the order of their ids, 64 to a row group, so that one can be read without the others. The
file's footer holds each run's own footer (configuration, status, provenance) and seal, as they were when the
run was stored: reading checks both.
"""

from __future__ import annotations

import base64
import io
import json
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from core.spec.errors import UserError, say
from core.spec.scale import SCALES
from core.store import files, locks
from core.store.records import RUN_SCHEMA, UNREADABLE, CorruptRun, Damaged, seal

NAME = "runs.parquet"
GROUP = 64  # runs in a row group
SCHEMA = pa.schema([("run_id", pa.string()), *RUN_SCHEMA])
MEND = "get the file anew, with git checkout"

Run = tuple[pa.Table, dict[str, str]]  # a run's rows and its footer


class Place(NamedTuple):
    """Where a pack holds a run."""

    footer: dict[str, str]
    seal: str
    group: int
    start: int  # within the row group
    rows: int


class Pack:
    """One file, opened; rows are read when they are needed. Raises Damaged."""

    def __init__(self, path: Path):
        self._lock, self._path = threading.Lock(), path  # runs are launched from threads
        self._groups: dict[int, pa.Table] = {}
        self._places: dict[str, Place] = {}
        try:
            self._file = pq.ParquetFile(path, page_checksum_verification=True)
            if self._file.schema_arrow.names != SCHEMA.names or self._file.schema_arrow.types != SCHEMA.types:
                raise Damaged("its columns are not those of published runs")
            listed = json.loads(
                zlib.decompress(base64.b64decode((self._file.metadata.metadata or {})[b"runs"]))
            )
            start = 0
            for number, (footer, sealed, rows) in enumerate(listed):
                start = 0 if number % GROUP == 0 else start
                self._places[footer["run_id"]] = Place(footer, sealed, number // GROUP, start, rows)
                start += rows
            if sum(place.rows for place in self._places.values()) != self._file.metadata.num_rows:
                raise Damaged("its rows are not those of its runs")
        except (*UNREADABLE, zlib.error) as error:
            raise Damaged.by(error) from error

    def __contains__(self, run: str) -> bool:
        return run in self._places

    def runs(self) -> tuple[str, ...]:
        """The ids of its runs, sorted."""
        return tuple(sorted(self._places))

    def averages(self) -> tuple[list[dict[str, str]], pa.Table]:
        """The footers of all runs, and their average test scores; seals are not checked."""
        chosen = [("checkpoint", "=", "selected"), ("task", "=", "avg")]
        return [place.footer for place in self._places.values()], pq.read_table(self._path, filters=chosen)

    def read(self, run: str) -> Run:
        """Rows and footer of a run. Raises Damaged unless both are as they were when the run was stored."""
        place = self._places[run]
        try:
            table = self._group(place.group).slice(place.start, place.rows)
            own = set(table["run_id"].to_pylist()) <= {run} and table.num_rows == place.rows
            table = table.drop_columns(["run_id"]).combine_chunks()
            sealed = own and seal(table, place.footer) == place.seal
        except UNREADABLE as error:
            raise Damaged.by(error) from error
        if not sealed:
            raise Damaged("its content does not match its seal")
        return table, place.footer

    def _group(self, number: int) -> pa.Table:
        with self._lock:
            if number not in self._groups:
                group = self._file.read_row_group(number, use_threads=False)
                self._groups[number] = group.replace_schema_metadata(None)
            return self._groups[number]


def write(path: Path, runs: Mapping[str, Run]) -> None:
    """Put a pack of these runs at `path`, the same bytes for the same runs. Raises UserError."""
    ids = sorted(runs)
    listed = [[runs[run][1], seal(*runs[run]), runs[run][0].num_rows] for run in ids]
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink, SCHEMA, compression="zstd", compression_level=9, write_page_checksum=True, store_schema=False,
        use_dictionary=["run_id", "checkpoint", "task", "metric", "step"], use_byte_stream_split=["value"],
    ) as writer:  # fmt: skip
        for start in range(0, len(ids), GROUP):
            tables = []
            for run in ids[start : start + GROUP]:
                named = pa.array([run] * runs[run][0].num_rows, pa.string())
                tables.append(runs[run][0].add_column(0, SCHEMA.field("run_id"), named))
            group = pa.concat_tables(tables)
            writer.write_table(group, row_group_size=max(1, group.num_rows))
        text = json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()
        writer.add_key_value_metadata({"runs": base64.b64encode(zlib.compress(text, 9)).decode()})
    try:
        files.write_changed(path, sink.getvalue())  # git sees no change where there is none
    except OSError as error:
        raise UserError(files.trouble(path, error)) from error


class Published:
    """The published runs under a folder, the packs of every scale as one store; none without a folder."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self._opened: dict[str, Pack] | None = None

    def __contains__(self, run: str) -> bool:
        return any(run in pack for pack in self._packs().values())

    def runs(self) -> set[str]:
        """The ids of all runs."""
        return {run for pack in self._packs().values() for run in pack.runs()}

    def averages(self, scale: str) -> tuple[list[dict[str, str]], pa.Table] | None:
        """Footers and average scores of a scale's runs, fast for thousands; None without a pack."""
        pack = self._packs().get(scale)
        return None if pack is None else pack.averages()

    def scale(self, run: str) -> str | None:
        """The scale whose pack holds a run; None if no pack does."""
        return next((scale for scale, pack in self._packs().items() if run in pack), None)

    def place(self, run: str) -> str:
        """A run and its file, for messages."""
        return f"Run {run} in {self._path(str(self.scale(run)))}"

    def read(self, run: str) -> Run:
        """Rows and footer of a published run. Raises CorruptRun."""
        try:
            return self._packs()[str(self.scale(run))].read(run)
        except Damaged as error:
            raise CorruptRun(f"{self.place(run)} is damaged: {error}; {MEND}.") from error

    def publish(self, new: Mapping[str, Mapping[str, Run]]) -> None:
        """Add these runs by scale, each file whole or not at all; a new run replaces its published one.

        Raises CorruptRun where a pack cannot be read, UserError where it cannot be written.
        """
        with locks.waiting(self._home.parent / ".locks" / "published.lock", f"publishing in {self._home}"):
            for scale, runs in new.items():
                path = self._path(scale)
                files.sweep(path.parent, path.name)
                try:
                    old = Pack(path) if path.exists() else None
                    ids = [run for run in old.runs() if run not in runs] if old is not None else []
                    kept = {run: old.read(run) for run in ids} if old is not None else {}
                except Damaged as error:
                    raise CorruptRun(f"{path} is damaged: {error}; {MEND}.") from error
                write(path, {**kept, **runs})
        self._opened = None

    def _path(self, scale: str) -> Path:
        """The pack of a scale."""
        return self._home / scale / NAME

    @property
    def _home(self) -> Path:
        if self.folder is None:
            raise ValueError("this store has no folder of published runs")
        return self.folder

    def _packs(self) -> dict[str, Pack]:
        """The packs by scale, opened once; a damaged one is named, and its runs count as missing."""
        if self._opened is None:
            self._opened = {}
            for scale in SCALES if self.folder is not None else ():
                path = self._path(scale)
                try:
                    if path.is_file():
                        self._opened[scale] = Pack(path)
                except Damaged as error:
                    say(f"{path} is damaged: {error}; its runs count as missing; {MEND}.")
        return self._opened
