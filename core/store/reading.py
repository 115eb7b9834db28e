"""A file of the store as it is read back: bounded, whole, under its own name, and nothing that no run can have written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from core.spec.errors import UserError
from core.spec.run import RunConfig
from core.store import files, parquet
from core.store.sense import nonsense
from core.store.stored import CorruptRun, MissingRun, believed

MOST_BYTES = 256 << 20  # of a run or its pairs, which have less than one


def consistent(table: pa.Table, footer: dict[str, str], run: str, where: str, mend: str) -> RunConfig:
    """The configuration of a run whose numbers and provenance can be what a run wrote. Raises CorruptRun or OtherVersion."""
    config = believed(footer, run, where, mend)
    if why := nonsense(table, json.loads(footer["provenance"])):
        raise CorruptRun(f"{where} holds what no run can have written ({why}); {mend}.")
    return config


def content(path: Path) -> bytes:
    """A run's file as it is. Raises MissingRun or CorruptRun where there is none, UserError if it may not be read."""
    try:
        return files.content(path, MOST_BYTES)
    except FileNotFoundError as error:
        raise MissingRun(f"{path} is not there; train the run again.") from error
    except files.NotAFile as error:
        raise CorruptRun(f"{path} was not read ({error.strerror}); delete it and train the run again.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); mend that and give the same command again.") from error


def opened(path: Path, read: bytes, schema: pa.Schema) -> tuple[pa.Table, dict[str, str]]:
    """Table and footer of a run's file, both as they were written and under the run's own name."""
    try:
        table, metadata = parquet.from_bytes(read, schema)
    except parquet.Damaged as error:
        raise CorruptRun(f"{path} is damaged: {error}; delete it and train the run again.") from error
    if metadata.get("run_id") != path.stem:
        raise CorruptRun(f"{path} holds run {metadata.get('run_id')}, not the one it is named after; delete it or name it rightly.")
    return table, metadata
