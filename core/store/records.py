"""One run as a sealed parquet file: numbers, with configuration, status and provenance in the
footer.

The seal is a SHA-256 over the metadata and every column, since parquet itself protects neither its
footer nor, unless asked, its pages: a flipped bit must never be read as a number.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.config.identity import NUMERICS, fields_by_path, from_canonical_json, text_id
from core.config.result import PairBlock, Status
from core.config.run import RunConfig
from core.errors import UserError, refusing
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
ABOUT = ("host", "device", "commit", "code", "encoder", "corpus")  # of what a run records
Origin = Literal["own", "published"]
MEND = {
    # training sets the file aside; a run without its pairs stays done
    "own": "remove it or train the run again, with --force if its pairs alone are damaged",
    "published": "its runs count as missing; get the file anew, with git checkout",
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
    `core.config.result.Measurement`, `footer` is that of its file."""

    run_id: str
    aggregate: str  # of its scores the one that counts
    status: Status
    table: pa.Table
    provenance: dict[str, object]
    footer: dict[str, str]
    source: Origin

    @functools.cached_property
    def config(self) -> RunConfig:
        """The run's configuration, read at the first use: a report needs none."""
        return from_canonical_json(self.footer["config"])[0]

    @property
    def score(self) -> float | None:
        """The average test score that counts, x 100; None without one."""
        wanted = (pc.field("checkpoint") == "selected") & (pc.field("task") == "avg")
        wanted &= pc.field("metric") == f"spearman_{self.aggregate}"
        return next(iter(self.table.filter(wanted)["value"].to_pylist()), None)

    @functools.cached_property
    def rows(self) -> DataFrame:
        """The table as a frame, made at the first use: many readers of a run need its provenance
        alone."""
        return self.table.to_pandas()


def believed(where: object, source: Origin = "own") -> AbstractContextManager[None]:
    """Within this context an error of any kind but UserError becomes CorruptRun: `where` is
    damaged. pyarrow has errors of every kind for bytes that are no parquet."""
    return refusing(f"{where} is damaged", MEND[source], raised=CorruptRun)


def pair_table(blocks: tuple[PairBlock, ...]) -> pa.Table:
    """Every test pair of a run. Raises ValueError if a block's columns differ in length."""
    rows = []
    for block in blocks:
        columns = zip(block.gold, block.cosine, block.words_a, block.words_b, strict=True)
        for gold, cosine, *words in columns:
            rows.append((block.task, block.subset, float(gold), float(cosine), *map(int, words)))
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


def opened(source: Any, schema: pa.Schema) -> pq.ParquetFile:
    """A parquet file, of which nothing is read yet. Raises ValueError for other columns."""
    file = pq.ParquetFile(source, page_checksum_verification=True)
    if not file.schema_arrow.equals(schema):
        raise ValueError("it has other columns")
    return file


def _content(path: Path) -> bytes:
    """The bytes of a run's file. Raises MissingRun, CorruptRun or UserError."""
    try:
        if path.is_file() or not path.exists():
            return path.read_bytes()
    except FileNotFoundError as error:
        raise MissingRun(f"{path} is not there; train the run, or name another.") from error
    except OSError as error:
        raise UserError(trouble(path, error)) from error
    # reading a FIFO never ends
    raise CorruptRun(f"{path} is damaged (it is no file); {MEND['own']}.")


def read_file(path: Path, schema: pa.Schema) -> tuple[pa.Table, dict[str, str], str]:
    """Table, footer and SHA-256 of a run's file, as they were written. Raises MissingRun or
    CorruptRun."""
    content = _content(path)
    with believed(path):
        file = opened(pa.BufferReader(content), schema)
        footer = _footer(file.metadata, path)
        table = file.read(use_threads=False).replace_schema_metadata(None)
        sealed = footer.pop("seal", "")
        check_seal(table, footer, sealed)
    return table, footer, hashlib.sha256(content).hexdigest()


def read_footer(path: Path) -> dict[str, str]:
    """The footer of a run's file (0.05 ms), without a look at its pages and seal. Raises MissingRun
    or CorruptRun."""
    content = pa.BufferReader(_content(path))
    reader = pq.ParquetReader()  # ParquetFile takes twice as long
    with believed(path):
        reader.open(content)
        return _footer(reader.metadata, path)


def _footer(about: pq.FileMetaData, path: Path) -> dict[str, str]:
    """The footer of a file. Raises ValueError for the file of another run, such as a copy
    under another name."""
    footer = {key.decode(): value.decode() for key, value in about.metadata.items()}
    if footer["run_id"] != path.stem:
        raise ValueError(f"it holds run {footer['run_id']}")
    return footer


def settings_of(footer: dict[str, str], where: object) -> dict[str, Any]:
    """The run's configuration in a footer, as JSON has it. Raises OtherVersion for another
    NUMERICS, and ValueError unless its text has the run's id and the status is a run's."""
    document = json.loads(footer["config"])
    numerics = document["numerics"]
    if numerics != NUMERICS:
        raise OtherVersion(
            f"{where} was written by another version of the code (NUMERICS {numerics}, here "
            f"{NUMERICS}); use that version or another --results-dir."
        )
    identity = text_id(footer["config"])
    if identity != footer["run_id"] or footer["status"] not in get_args(Status):
        raise ValueError(f"it holds run {identity}, {footer['status']}")
    settings: dict[str, Any] = document["run"]
    return settings


def stored_run(table: pa.Table, footer: dict[str, str], source: Origin, where: object) -> StoredRun:
    """The run of a table and its footer, which come from `where`. Raises CorruptRun or
    OtherVersion. The configuration itself is read when it is needed (5 ms for each of 3,000
    runs)."""
    with believed(where, source):
        settings = settings_of(footer, where)
        provenance = json.loads(footer["provenance"])
        if not isinstance(provenance, dict):
            raise TypeError("its provenance is no object")
        return StoredRun(
            run_id=footer["run_id"],
            aggregate=settings["sts"]["aggregate"],
            status=cast(Status, footer["status"]),
            table=table,
            provenance=provenance,
            footer=footer,
            source=source,
        )


def row(footer: dict[str, str], source: Origin, where: object) -> dict[str, Any]:
    """What a run's footer records, and every field of its configuration by path. Raises CorruptRun
    or OtherVersion."""
    with believed(where, source):
        fields = fields_by_path(settings_of(footer, where))
        about = json.loads(footer["provenance"])
        seconds = about.get("seconds")
        return {
            "run": footer["run_id"],
            "status": footer["status"],
            "source": source,
            "score": about.get("score"),
            "seconds": None if seconds is None else sum(seconds.values()),
            "when": None,
            **{name: about.get(name) for name in ABOUT},
            **fields,
        }
