"""The store: one immutable, self-describing parquet a run. Only this module knows the layout of its
folder.

<root>/runs/<id>.parquet      numbers, long form; configuration, status, provenance in the footer
<root>/pairs/<id>.parquet     gold and cosine of every test pair
<root>/failures/<id>.txt      how the last attempt failed; removed by success
<root>/logs/<id>.log          what the last attempt printed; beside it <id>.jsonl, its curve
<root>/checkpoints/<id>.pt    a training under way; removed by success
<root>/damaged/               files that were found broken, set aside and never deleted
<root>/models/<id>/           the run's model, with --keep-models
<root>/.locks/<id>.lock       the claim on a run
<published>/<scale>/runs.parquet  published runs, packed (core.store.published); read only
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.config.identity import canonical_json, run_id
from core.config.result import Result
from core.config.run import RunConfig
from core.config.scale import SCALES
from core.errors import UserError, refusing
from core.formatting import say
from core.store import files, locks, records
from core.store.published import PACK_NAME, Pack
from core.store.records import MEND, CorruptRun, MissingRun, StoredRun

if TYPE_CHECKING:  # pandas takes a second to import, and planning does not need it
    from pandas import DataFrame

_ID = re.compile(r"[0-9a-f]{16}")
SUFFIXES = {
    "runs": ".parquet",
    "pairs": ".parquet",
    "failures": ".txt",
    "logs": ".log",
    "checkpoints": ".pt",
    ".locks": ".lock",
    "models": "",
}


class Store:
    """Runs of one results folder, and the published ones beside them."""

    def __init__(self, root: Path | str, published: Path | None):
        self.root = Path(root)
        self.published = published

    @functools.cached_property
    def packs(self) -> dict[str, Pack]:
        """The published runs by scale; a damaged pack is named, and its runs count as missing."""
        packs: dict[str, Pack] = {}
        if self.published is None:
            return packs
        for scale in SCALES:
            path = self.published / scale / PACK_NAME
            try:
                if os.path.lexists(path):
                    packs[scale] = Pack(path)
            except CorruptRun as error:
                say(str(error))
        return packs

    def path(self, kind: str, run: str) -> Path:
        """Where a file of a run lies, or its model. Only the holder of the claim may change it."""
        return Path(f"{self.root}/{kind}/{run}{SUFFIXES[kind]}")

    def has(self, run: str, use_published: bool = False) -> bool:
        """Whether the run is done: its file is there. `load` says whether it can be believed."""
        return self.path("runs", run).exists() or (
            use_published and self.scale_of_pack(run) is not None
        )

    def save(self, config: RunConfig, result: Result) -> None:
        """Write the pairs, forget an earlier failure, write the run, forget its checkpoint: each
        file whole or not at all. Raises UserError if the disk is full or may not be written."""
        run = run_id(config)
        shared = {"run_id": run, "config": canonical_json(config)}
        pairs = records.to_bytes(records.pair_table(result.pairs), shared)
        footer = shared | {
            "status": result.status,
            "provenance": json.dumps(result.provenance, sort_keys=True),
            "pairs": hashlib.sha256(pairs).hexdigest(),
        }
        numbers = records.to_bytes(records.table(result.rows, records.RUN_SCHEMA), footer)
        files.write_whole(self.path("pairs", run), pairs)
        # before, so that no run that is there has failed
        self.path("failures", run).unlink(missing_ok=True)
        files.write_whole(self.path("runs", run), numbers)
        self.path("checkpoints", run).unlink(missing_ok=True)

    def load(self, run: str) -> StoredRun:
        """The user's own run, else the published one. Raises MissingRun, CorruptRun or
        OtherVersion."""
        path = self.path("runs", run)
        scale = None if path.exists() else self.scale_of_pack(run)
        if scale is not None:
            pack = self.packs[scale]
            where = f"Run {run} in {pack.path}"
            return records.stored_run(*pack.read(run), "published", where)
        table, footer, _ = records.read_file(path, records.RUN_SCHEMA)
        return records.stored_run(table, footer, "own", path)

    def recorded(self, run: str) -> dict[str, Any]:
        """What a run's footer records, and its fields by path; its pages are not read. Raises
        MissingRun, CorruptRun or OtherVersion."""
        path = self.path("runs", run)
        scale = None if path.exists() else self.scale_of_pack(run)
        if scale is not None:
            pack = self.packs[scale]
            row = records.row(pack.footers[run], "published", pack.path)
            row["score"] = pack.scores.get((run, f"spearman_{row['sts.aggregate']}"))
            if not pack.scores:
                row["status"] = "damaged"
            return row
        row = records.row(records.read_footer(path), "own", path)
        if row["score"] is None:  # as older runs record it
            row["score"] = self.load(run).score
        row["when"] = f"{datetime.fromtimestamp(path.stat().st_mtime):%Y-%m-%d %H:%M}"
        return row

    def content(self, run: str) -> str:
        """A text that changes whenever `load` or `load_pairs` may give something else: of the
        pack's content, and of the size and the change time of the user's own files."""
        scale = self.scale_of_pack(run)
        content = "" if scale is None else self.packs[scale].content
        for kind in ("runs", "pairs"):
            with contextlib.suppress(OSError):
                file = self.path(kind, run).stat()
                content += f" {kind} {file.st_size} {file.st_ctime_ns}"
        return content

    def load_pairs(self, run: str) -> DataFrame | None:
        """Every test pair of the user's own run; None if none are stored. Raises CorruptRun."""
        path = self.path("pairs", run)
        numbers = self.path("runs", run)
        if not path.exists():
            return None
        table, _, digest = records.read_file(path, records.PAIR_SCHEMA)
        if numbers.exists():
            _, footer, _ = records.read_file(numbers, records.RUN_SCHEMA)
            if footer.get("pairs") != digest:
                raise CorruptRun(
                    f"{path} is damaged (it belongs to another attempt at the run); {MEND['own']}."
                )
        return table.to_pandas()

    def verified(self, run: str, claimed: bool = False) -> StoredRun | None:
        """The user's own run, if it exists and can be believed. A damaged file that nobody is
        writing is set aside with a printed sentence; a run without its pairs stays done. `claimed`:
        the caller holds the claim."""
        stored = None
        kind = "runs"
        try:
            if self.has(run):
                stored = self.load(run)
                kind = "pairs"
                self.load_pairs(run)
        except MissingRun:
            return None
        except CorruptRun as error:
            if claimed:
                say(f"{error} The file was set aside as {self.set_aside(self.path(kind, run))}.")
                return stored
            claim = self.claim(run)
            if claim is not None:
                try:
                    return self.verified(run, claimed=True)
                finally:
                    os.close(claim)
            # a run without a stored one is being trained anew at this moment
        return stored

    def own_runs(self) -> list[str]:
        """Ids of the user's runs, sorted; files with other names do not count."""
        stems = [path.stem for path in (self.root / "runs").glob("*.parquet")]
        return sorted(filter(_ID.fullmatch, stems))

    def runs(self) -> tuple[str, ...]:
        """Ids of all runs, own and published, sorted."""
        ids = set(self.own_runs())
        for pack in self.packs.values():
            ids |= pack.footers.keys()
        return tuple(sorted(ids))

    def scale_of_pack(self, run: str) -> str | None:
        """The scale of a published run, without reading the run; None if it is not published."""
        for scale, pack in self.packs.items():
            if run in pack.footers:
                return scale
        return None

    def check_there(self) -> None:
        """Raises UserError if the folder was moved since the command began: another one would split
        it."""
        if not self.root.is_dir():
            raise UserError(f"{self.root} is not there any more; move it back and {files.AGAIN}.")

    def record_failure(self, run: str, cause: str) -> None:
        """Note why the last attempt failed. Raises UserError if it cannot be written."""
        files.write_whole(self.path("failures", run), cause.encode(errors="backslashreplace"))

    def failure(self, run: str) -> str:
        """Why the last attempt failed; empty if none did."""
        with contextlib.suppress(OSError):
            path = files.regular(self.path("failures", run))
            return path.read_text(encoding="utf-8", errors="replace")
        return ""

    def claim(self, run: str) -> int | None:
        """A descriptor that holds the claim on a run, or None. What killed writers left is
        swept."""
        descriptor = locks.hold(self.path(".locks", run))
        if descriptor is not None:
            for kind in SUFFIXES:
                files.sweep(self.path(kind, run))
        return descriptor

    def claimed(self, run: str) -> bool:
        """Whether somebody is at this run just now."""
        return locks.held(self.path(".locks", run))

    def sweep_checkpoints(self) -> None:
        """Remove the checkpoints of runs that are stored, which a kill or an unfinished --force
        left."""
        for path in (self.root / "checkpoints").glob("*.pt"):
            if _ID.fullmatch(path.stem) and self.has(path.stem) and not self.claimed(path.stem):
                path.unlink(missing_ok=True)

    def set_aside(self, path: Path) -> Path:
        """Move a damaged file aside; its new place. Only for the holder of the claim. Raises
        OSError."""
        folder = self.root / "damaged"
        folder.mkdir(exist_ok=True)
        return path.rename(folder / f"{path.parent.name}-{path.stem}.{time.time_ns()}{path.suffix}")

    def prepare(self) -> None:
        """Make the folders. Raises UserError if one of them cannot be written."""
        hint = "choose a folder of yours with --results-dir"
        for kind in SUFFIXES:
            folder = self.root / kind
            with refusing(f"{folder} may not be written", hint):
                folder.mkdir(parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=folder).close()
