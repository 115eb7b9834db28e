"""The runs that the project publishes, packed: one parquet file a scale, which only `publish`
changes.

    <published>/<scale>/runs.parquet    columns run_id, checkpoint, task, metric, step, value

Runs stand in the order of their ids. The file's footer holds each run's own footer (configuration,
status, provenance) and seal, as they were when the run was stored: reading checks both.
"""

from __future__ import annotations

import base64
import functools
import io
import itertools
import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.config.scale import SCALES
from core.errors import UserError, say
from core.store import files, locks
from core.store.files import regular
from core.store.records import (
    MOST_BYTES,
    RUN_SCHEMA,
    SOURCE,
    CorruptRun,
    believed,
    check_seal,
    inflated,
    opened,
    seal,
)

PACK_NAME = "runs.parquet"
# times the bytes of a run that a pack may have: 3,055 runs have 91 MB; of others a fourth of it
MOST_RUNS: dict[SOURCE, int] = {"published": 16, "imported": 4}
SCHEMA = pa.schema([("run_id", pa.string()), *RUN_SCHEMA])

Run = tuple[pa.Table, dict[str, str]]  # a run's rows and its footer


class Pack:
    """One file, opened. `footers` are those of its runs, by id. Raises CorruptRun."""

    def __init__(self, path: Path, source: SOURCE = "published"):
        self.path = path
        self.source = source
        with believed(path, source):
            self._file = opened(regular(path), SCHEMA, MOST_RUNS[source])
            packed = base64.b64decode(self._file.metadata.metadata[b"runs"])
            text = zlib.decompressobj().decompress(packed, MOST_BYTES)
            listed = json.loads(text)  # of each run its footer, seal and number of rows
            starts = itertools.accumulate((rows for *_, rows in listed), initial=0)
            self.footers = {footer["run_id"]: footer for footer, *_ in listed}
            self._places = dict(zip(self.footers, zip(listed, starts, strict=False), strict=True))

    @functools.cached_property
    def _rows(self) -> pa.Table:
        """All rows (91 MB in 0.4 s for 3,000 runs); none if a page is damaged, so that no seal
        matches."""
        try:
            return inflated(self._file, SCHEMA, MOST_RUNS[self.source])
        except (pa.ArrowException, OSError, ValueError):
            return SCHEMA.empty_table()

    def read(self, run: str) -> Run:
        """Rows and footer of a run. Raises CorruptRun unless both are as they were when it was
        stored."""
        (footer, sealed, rows), start = self._places[run]
        table = self._rows.slice(start, rows).drop_columns(["run_id"]).combine_chunks()
        with believed(f"Run {run} in {self.path}", self.source):
            check_seal(table, footer, sealed)
        return table, footer

    def averages(self) -> tuple[list[dict[str, str]], pa.Table]:
        """The footers of all runs, and their average test scores; seals are not checked."""
        chosen = [("checkpoint", "=", "selected"), ("task", "=", "avg")]
        return [*self.footers.values()], pq.read_table(self.path, filters=chosen)


def packs(folder: Path | None, source: SOURCE = "published") -> dict[str, Pack]:
    """The packs of a folder by scale; a damaged pack is named, and its runs count as missing."""
    opened: dict[str, Pack] = {}
    if folder is None:
        return opened
    for scale in SCALES:
        path = folder / scale / PACK_NAME
        try:
            if path.is_file():
                opened[scale] = Pack(path, source)
        except CorruptRun as error:
            say(str(error))
    return opened


def publish(folder: Path, new: Mapping[str, Mapping[str, Run]], replace: bool = False) -> None:
    """Add these runs by scale, each file whole or not at all. The same runs make the same bytes.

    A published run stays if the new one has its numbers. Raises UserError if the numbers differ,
    unless `replace`, or if no pack can be written; CorruptRun if a pack cannot be read.
    """
    with locks.waiting(folder.parent / ".locks" / "published.lock", f"publishing in {folder}"):
        packs: dict[Path, dict[str, Run]] = {}
        differing: list[str] = []
        for scale, runs in new.items():
            path = folder / scale / PACK_NAME
            files.sweep(path)
            kept: dict[str, Run] = {}
            if path.exists():
                pack = Pack(path)
                kept = {run: pack.read(run) for run in pack.footers}
            shared = runs.keys() & kept.keys()
            differing += [run for run in runs if run in shared and not _same(runs[run], kept[run])]
            if replace:
                packs[path] = {**kept, **runs}
            else:
                packs[path] = {**runs, **kept}
        if differing and not replace:
            raise UserError(
                f"Published runs have other numbers than yours: {', '.join(differing)}; add "
                "--replace-published, or leave --publish out."
            )
        for path, content in packs.items():
            files.write_changed(path, packed(content))  # git sees no change where there is none


def _same(*runs: Run) -> bool:
    """Whether runs have the same status and the same numbers to the last bit."""
    seals = {seal(table, {"status": footer["status"]}) for table, footer in runs}
    return len(seals) == 1


def packed(runs: Mapping[str, Run]) -> bytes:
    """The bytes of a pack."""
    listed = []
    tables = []
    for run, (table, footer) in sorted(runs.items()):
        listed.append([footer, seal(table, footer), table.num_rows])
        named = pa.array([run] * table.num_rows, pa.string())
        tables.append(table.add_column(0, SCHEMA.field("run_id"), named))
    text = json.dumps(listed, sort_keys=True, separators=(",", ":")).encode()
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        SCHEMA,
        compression="zstd",
        compression_level=9,
        write_page_checksum=True,
        store_schema=False,
        use_dictionary=["run_id", "checkpoint", "task", "metric", "step"],
        use_byte_stream_split=["value"],
    ) as writer:
        writer.write_table(pa.concat_tables(tables), row_group_size=1 << 15)
        writer.add_key_value_metadata({"runs": base64.b64encode(zlib.compress(text, 9)).decode()})
    return sink.getvalue()
