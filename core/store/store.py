"""The store: one immutable, self-describing parquet a run. The only code that knows how a results folder is
laid out.

<root>/runs/<id>.parquet      numbers, long form; configuration, status, provenance in the footer
<root>/pairs/<id>.parquet     gold and cosine of every test pair
<root>/failures/<id>.json     how the last attempt failed; removed by success
<root>/logs/<id>.log          what the last attempt printed; beside it <id>.jsonl, its development curve
<root>/checkpoints/<id>.pt    a training under way; removed by success
<root>/damaged/               files that were found broken, set aside and never deleted
<root>/models/<id>/           the run's model, with --keep-models
<root>/first/<scale>          id of the run whose encoder and data the plain names of tables stand for
<root>/.locks/<id>.lock       the claim on a run
<published>/<scale>/runs.parquet  runs that the project publishes, packed (core.store.published); read only
"""

from __future__ import annotations

import errno
import functools
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from core.spec.errors import UserError, say
from core.spec.identity import canonical_json, run_id
from core.spec.result import Result
from core.spec.run import RunConfig
from core.store import files, locks, published, records
from core.store.published import MEND, Pack, Run
from core.store.records import CorruptRun, Failure, MissingRun, StoredRun

if TYPE_CHECKING:  # pandas takes a second to import, and planning does not need it
    import pyarrow as pa
    from pandas import DataFrame

_ID = re.compile(r"[0-9a-f]{16}")
MODEL_FILES = ("modules.json", "model.safetensors")  # without them a folder is no kept model


def model_folder(results: Path, run: str) -> Path:
    """Where a run's model is kept."""
    return Path(results) / "models" / run


class Store:
    """Runs of one results folder, and the published ones beside them."""

    def __init__(self, root: Path, published: Path | None):
        self.root = Path(root)
        self.published = Path(published) if published is not None else None
        self.codes: dict[str, object] = {}  # digests of the methods' code that made own runs, once read

    @functools.cached_property
    def _packs(self) -> dict[str, Pack]:
        return published.packs(self.published)

    def has(self, run: str, use_published: bool = False) -> bool:
        """Whether the run is done: its file is there. `load` says whether it can be believed."""
        return self._own(run).exists() or (use_published and self.scale_of_pack(run) is not None)

    def save(self, config: RunConfig, result: Result) -> None:
        """Write the pairs, forget an earlier failure, write the run, forget its checkpoint: each file whole
        or not at all.

        Raises UserError of one sentence if the disk is full or may not be written.
        """
        run = run_id(config)
        shared = {"run_id": run, "config": canonical_json(config)}
        pairs = records.to_bytes(records.pair_table(result.pairs), shared)
        footer = {
            **shared,
            "status": result.status,
            "provenance": json.dumps(result.provenance, sort_keys=True),
            "pairs": hashlib.sha256(pairs).hexdigest(),
        }
        numbers = records.to_bytes(records.table(result.rows, records.RUN_SCHEMA), footer)
        files.write_whole(self._pairs(run), pairs)
        self._failure(run).unlink(missing_ok=True)  # before the run, so that no run that is there has failed
        files.write_whole(self._own(run), numbers)
        self.checkpoint(run).unlink(missing_ok=True)
        if not result.provenance.get("own_data") and self.first(config.scale) is None:
            # Written down, since times of files change when a folder is copied.
            files.write_whole(self.root / "first" / config.scale, run.encode())

    def first(self, scale: str) -> str | None:
        """The user's first run of a scale, whose encoder and data have plain names in tables; or None."""
        path = self.root / "first" / scale
        run = path.read_text() if path.is_file() else ""
        return run if run and self._own(run).exists() else None

    def load(self, run: str) -> StoredRun:
        """The user's own run, else the published one. Raises MissingRun, CorruptRun or OtherVersion."""
        if self._own(run).exists():
            return self._load_own(run)[0]
        if (scale := self.scale_of_pack(run)) is not None:
            pack = self._packs[scale]
            return records.stored_run(*pack.read(run), "published", f"Run {run} in {pack.path}", MEND)
        raise MissingRun(f"Run {run} is not in {self.root}; train it first.")

    def load_pairs(self, run: str) -> DataFrame | None:
        """Every test pair of the user's own run; None if none are stored. Raises CorruptRun."""
        path, own = self._pairs(run), self._own(run)
        if not path.exists():
            return None
        table, _, digest = records.read(path, records.PAIR_SCHEMA)
        if own.exists() and records.read(own, records.RUN_SCHEMA)[1].get("pairs") != digest:
            raise CorruptRun.of(path, "it belongs to another attempt at the run")
        return table.to_pandas()

    def verified(self, run: str, claimed: bool = False) -> bool:
        """Whether the user's own run exists and can be believed. A damaged file is set aside with a printed
        sentence: the run's own, and it counts as missing; its pairs alone, and it stays done without them.
        `claimed` says that the caller holds the claim."""
        done = self._sound(run, self._own(run), self._load_own, claimed)
        if done:
            self._sound(run, self._pairs(run), self.load_pairs, claimed)
        return done

    def _sound(self, run: str, path: Path, load: Callable[[str], object], claimed: bool) -> bool:
        """Whether a file can be believed. A damaged file that nobody is writing is set aside."""
        try:
            load(run)
            return True
        except MissingRun:
            return False
        except CorruptRun as error:
            if claimed:
                say(f"{error} The file was set aside as {self.set_aside(path)}.")
                return False
        if (claim := self.claim(run)) is None:
            return False  # somebody is training it anew at this moment
        try:
            return self._sound(run, path, load, True)
        finally:
            locks.release(claim)

    def runs(self) -> tuple[str, ...]:
        """Ids of all runs, own and published, sorted; files with other names do not count."""
        ids = {path.stem for path in (self.root / "runs").glob("*.parquet") if _ID.fullmatch(path.stem)}
        return tuple(sorted(ids.union(*(pack.footers for pack in self._packs.values()))))

    def published_averages(self, scale: str) -> tuple[list[dict[str, str]], pa.Table] | None:
        """Footers of a scale's published runs and their average test scores; None if there are none."""
        return self._packs[scale].averages() if scale in self._packs else None

    def scale_of_pack(self, run: str) -> str | None:
        """The scale of a published run, without reading the run; None if it is not published."""
        return next((scale for scale, pack in self._packs.items() if run in pack.footers), None)

    def publish(self, runs: Iterable[str], target: Path) -> None:
        """Pack the user's runs, without pairs, into the folder `target`. Raises MissingRun or CorruptRun."""
        new: dict[str, dict[str, Run]] = {}
        for run in runs:
            stored, footer = self._load_own(run)
            new.setdefault(stored.config.scale, {})[run] = stored.table, footer
        published.publish(Path(target), new)
        self.__dict__.pop("_packs", None)

    def record_failure(self, run: str, failure: Failure) -> None:
        """Note how the last attempt failed. Raises UserError if it cannot be written."""
        text = json.dumps({"run_id": run, **asdict(failure)}, indent=2, sort_keys=True)
        files.write_whole(self._failure(run), text.encode())

    def failure(self, run: str) -> Failure | None:
        """How the last attempt failed, or None; of unknown cause if the file cannot be read."""
        try:
            plain = json.loads(self._failure(run).read_bytes())
            about = {name: str(plain[name]) for name in ("cause", "detail", "log")}
            return Failure(**about, log_tail=tuple(plain["log_tail"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            return Failure(cause="unknown", detail=f"{self._failure(run)} cannot be read.")

    def claim(self, run: str) -> int | None:
        """A descriptor that holds the claim on a run, or None. What killed writers left is swept."""
        descriptor = locks.hold(self._lock(run))
        if descriptor is not None:
            written = self._own(run), self._pairs(run), self._failure(run), self.checkpoint(run)
            for path in (*written, model_folder(self.root, run)):
                files.sweep(path)
        return descriptor

    def claimed(self, run: str) -> bool:
        """Whether somebody is at this run just now."""
        return locks.held(self._lock(run))

    def log(self, run: str) -> Path:
        """Where an attempt's output goes."""
        return self.root / "logs" / f"{run}.log"

    def checkpoint(self, run: str) -> Path:
        """Where a training under way leaves its checkpoints; only the holder of the claim may touch it."""
        return self.root / "checkpoints" / f"{run}.pt"

    def sweep_checkpoints(self) -> None:
        """Remove the checkpoints of runs that are stored, which a kill or an unfinished --force left."""
        for path in (self.root / "checkpoints").glob("*.pt"):
            if self.has(path.stem) and not self.claimed(path.stem):
                path.unlink(missing_ok=True)

    def set_aside(self, path: Path) -> Path:
        """Move a damaged file aside; its new place. Only for the holder of the claim. Raises OSError."""
        folder = self.root / "damaged"
        folder.mkdir(exist_ok=True)
        names = (folder / f"{path.parent.name}-{path.stem}.{i}{path.suffix}" for i in itertools.count())
        return path.rename(next(name for name in names if not name.exists()))

    def has_model(self, run: str) -> bool:
        """Whether the run's model is kept: its list of modules and its weights."""
        return all((model_folder(self.root, run) / name).is_file() for name in MODEL_FILES)

    def prepare(self, models: bool = False) -> None:
        """Make the folders, that of models with `models`. Raises UserError if a folder cannot be written."""
        names = ["runs", "pairs", "failures", "logs", "checkpoints", ".locks", *["models"] * models]
        try:
            for folder in (self.root / name for name in names):
                folder.mkdir(parents=True, exist_ok=True)
                if not os.access(folder, os.W_OK | os.X_OK):
                    raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        except OSError as error:
            hint = "choose a folder of yours with --results-dir"
            raise UserError(f"{error.filename} may not be written ({error.strerror}); {hint}.") from error

    def _load_own(self, run: str) -> tuple[StoredRun, dict[str, str]]:
        """The user's own run and the footer of its file. Raises MissingRun, CorruptRun or OtherVersion."""
        path = self._own(run)
        table, footer, _ = records.read(path, records.RUN_SCHEMA)
        stored = records.stored_run(table, footer, "own", path)
        self.codes[run] = stored.provenance.get("method_code")
        return stored, footer

    def _own(self, run: str) -> Path:
        return self.root / "runs" / f"{run}.parquet"

    def _pairs(self, run: str) -> Path:
        return self.root / "pairs" / f"{run}.parquet"

    def _failure(self, run: str) -> Path:
        return self.root / "failures" / f"{run}.json"

    def _lock(self, run: str) -> Path:
        return self.root / ".locks" / f"{run}.lock"
