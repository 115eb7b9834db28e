"""The store: one immutable, self-describing parquet a run. The only code that knows how a results folder is
laid out.

<root>/runs/<id>.parquet      numbers, long form; configuration, status, provenance in the footer
<root>/pairs/<id>.parquet     gold and cosine of every test pair
<root>/failures/<id>.json     how the last attempt failed; removed by success
<root>/logs/<id>.log          what the last attempt printed; beside it <id>.jsonl, its development curve
<root>/checkpoints/<id>.pt     a training under way; removed by success
<root>/damaged/               files that were found broken, set aside and never deleted
<root>/models/<id>/           the run's model, with --keep-models
<root>/first_runs.json         by scale, the run whose encoder and data the plain names of tables stand for
<root>/.locks/<id>.lock       the claim on a run
<published>/<scale>/runs.parquet  runs that the project publishes, packed (core.store.published); read only
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from core.spec.errors import UserError, say
from core.spec.identity import canonical_json, run_id
from core.spec.result import Result
from core.spec.run import RunConfig
from core.spec.scale import SCALES
from core.store import files, locks, records
from core.store.published import MEND, Published, Run
from core.store.records import CorruptRun, Failure, MissingRun, StoredRun

if TYPE_CHECKING:  # pandas takes a second to import, and planning does not need it
    import pyarrow as pa
    from pandas import DataFrame

_ID = re.compile(r"[0-9a-f]{16}")
FIRST = "first_runs.json"
MODEL_FILES = ("modules.json", "model.safetensors")  # without them a folder is no kept model


def model_folder(results: Path, run: str) -> Path:
    """Where a run's model is kept."""
    return Path(results) / "models" / run


class Store:
    """Runs of one results folder, and the published ones beside them."""

    def __init__(self, root: Path, published: Path | None):
        self.root = Path(root)
        self.published = Path(published) if published is not None else None
        self._packs = Published(self.published)
        self._codes: dict[str, str] = {}

    def has(self, run: str, use_published: bool = False) -> bool:
        """Whether the run is done: its file is there. `load` says whether it can be believed."""
        return self._own(run).exists() or (use_published and run in self._packs)

    def stamp(self, run: str) -> tuple[int, int] | None:
        """A value that changes whenever the user's own run is written; None if the run does not exist."""
        try:
            status = os.stat(self._own(run))
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

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
        numbers = records.to_bytes(records.run_table(result.rows), footer)
        files.write_whole(self._pairs(run), pairs)
        with contextlib.suppress(OSError):
            self._failure(run).unlink()  # before the run, so that no run that is there has failed
        files.write_whole(self._own(run), numbers)
        with contextlib.suppress(OSError):
            self.checkpoint(run).unlink()
        if not getattr(SCALES.get(config.scale), "generated", True) and self.first(config.scale) is None:
            self._note_first(config.scale)

    def first(self, scale: str) -> str | None:
        """The user's first run of a scale, whose encoder and data have plain names in tables; or None."""
        run = self._first_runs().get(scale)
        return run if run is not None and self._own(run).exists() else None

    def _first_runs(self) -> dict[str, str]:
        try:
            return dict(json.loads((self.root / FIRST).read_bytes()))
        except (OSError, ValueError, TypeError):
            return {}

    def _note_first(self, scale: str) -> None:
        """Write down once which run of a scale came first: times of files change when a folder is copied."""
        with locks.waiting(self.root / ".locks" / "first.lock", f"{self.root / FIRST}"):
            for path in sorted(
                (self.root / "runs").glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns
            ):
                with contextlib.suppress(UserError):  # a damaged or foreign file was not the first
                    stored, _ = self._load_own(path.stem)
                    if stored.config.scale == scale and not stored.provenance.get("own_data"):
                        runs = {**self._first_runs(), scale: path.stem}
                        files.write_whole(self.root / FIRST, json.dumps(runs, sort_keys=True).encode())
                        return

    def load(self, run: str) -> StoredRun:
        """The user's own run, else the published one. Raises MissingRun, CorruptRun or OtherVersion."""
        if self._own(run).exists():
            return self._load_own(run)[0]
        if (published := self.load_published(run)) is not None:
            return published
        raise MissingRun(f"Run {run} is not in {self.root}; train it first.")

    def load_pairs(self, run: str) -> DataFrame | None:
        """Every test pair of the user's own run; None if none are stored. Raises CorruptRun."""
        path, own = self._pairs(run), self._own(run)
        if not path.exists():
            return None
        table, _, digest = records.read(path, records.PAIR_SCHEMA)
        if own.exists() and records.read(own, records.RUN_SCHEMA)[1].get("pairs") != digest:
            raise CorruptRun(f"{path} belongs to another attempt at run {run}; train it again with --force.")
        return table.to_pandas()

    def verified(self, run: str, claimed: bool = False) -> bool:
        """Whether the user's own run exists and can be believed. A damaged file is set aside with a printed
        sentence: the run's own, and it counts as missing; its pairs alone, and it stays done without them.
        `claimed` says that the caller holds the claim."""
        own, pairs = self._own(run), self._pairs(run)
        missing, done = "it counts as missing", "its run stays done, and is trained again if you delete it"
        if not own.exists() or not self._sound(run, own, lambda: self._load_own(run), missing, claimed):
            return False
        self._sound(run, pairs, lambda: self.load_pairs(run), done, claimed)
        return True

    def verified_published(self, run: str) -> bool:
        """Whether the project's published run is there and can be believed; a damaged one is named."""
        try:
            return self.load_published(run) is not None
        except CorruptRun as error:
            say(f"{error} It counts as missing.")
            return False

    def runs(self) -> tuple[str, ...]:
        """Ids of all runs, own and published, sorted; files with other names do not count."""
        own = {p.stem for p in (self.root / "runs").glob("*.parquet") if _ID.fullmatch(p.stem)}
        return tuple(sorted(own | self._packs.runs()))

    def published_averages(self, scale: str) -> tuple[list[dict[str, str]], pa.Table] | None:
        """Footers of a scale's published runs and their average test scores; None if there are none."""
        return self._packs.averages(scale)

    def scale_of_pack(self, run: str) -> str | None:
        """The scale of a published run, without reading the run; None if it is not published."""
        return self._packs.scale(run)

    def load_published(self, run: str) -> StoredRun | None:
        """The published run; None if there is none. Raises CorruptRun or OtherVersion."""
        if run not in self._packs:
            return None
        return records.stored_run(run, *self._packs.read(run), "published", self._packs.place(run), MEND)

    def publish(self, runs: Iterable[str], target: Path) -> None:
        """Pack the user's runs, without pairs, into the folder `target`. Raises MissingRun or CorruptRun."""
        new: dict[str, dict[str, Run]] = {}
        for run in runs:
            if not self._own(run).exists():
                raise MissingRun(f"Run {run} is not in {self.root}; train it before publishing it.")
            stored, footer = self._load_own(run)
            new.setdefault(stored.config.scale, {})[run] = (stored.table, footer)
        Published(Path(target)).publish(new)
        self._packs = Published(self.published)

    def record_failure(self, run: str, failure: Failure) -> None:
        """Note how the last attempt failed. Raises UserError if it cannot be written."""
        plain = json.dumps({"run_id": run, **dataclasses.asdict(failure)}, indent=2, sort_keys=True)
        files.write_whole(self._failure(run), plain.encode())

    def failure(self, run: str) -> Failure | None:
        """How the last attempt failed, or None; of unknown cause if the file cannot be read."""
        try:
            plain = json.loads(self._failure(run).read_text(encoding="utf-8"))
            return Failure(
                cause=str(plain["cause"]), detail=str(plain["detail"]),
                log_tail=tuple(map(str, plain["log_tail"])),
                log=str(plain["log"]), exit_status=plain["exit_status"],
            )  # fmt: skip
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return Failure(cause="unknown", detail=f"{self._failure(run)} cannot be read.")

    def claim(self, run: str) -> int | None:
        """A descriptor that holds the claim on a run, or None. What killed writers left is swept."""
        descriptor = locks.hold(self._lock(run))
        if descriptor is not None:
            written = (self._own(run), self._pairs(run), self._failure(run), self.checkpoint(run))
            for path in (*written, model_folder(self.root, run)):
                files.sweep(path.parent, path.name)
        return descriptor

    def claimed(self, run: str) -> bool:
        """Whether somebody is at this run just now."""
        return locks.held(self._lock(run))

    def log(self, run: str) -> Path:
        """Where an attempt's output goes."""
        return self.root / "logs" / f"{run}.log"

    def curve(self, run: str) -> Path:
        """Where an attempt's development curve goes while it trains."""
        return self.root / "logs" / f"{run}.jsonl"

    def checkpoint(self, run: str) -> Path:
        """Where a training under way leaves its checkpoints; only the holder of the claim may touch it."""
        return self.root / "checkpoints" / f"{run}.pt"

    def drop_checkpoint(self, run: str) -> None:
        """Remove a run's checkpoint, so that it starts from nothing. Only for the holder of the claim."""
        with contextlib.suppress(FileNotFoundError):
            self.checkpoint(run).unlink()

    def sweep_checkpoints(self) -> None:
        """Remove the checkpoints of runs that are stored, which a kill or an unfinished --force left."""
        for path in (self.root / "checkpoints").glob("*.pt"):
            if self.has(path.stem) and (claim := self.claim(path.stem)) is not None:
                try:
                    self.drop_checkpoint(path.stem)
                finally:
                    locks.release(claim)

    def set_aside(self, path: Path) -> Path:
        """Move a damaged file aside; its new place. Only for the holder of the claim. Raises UserError."""
        return files.move_aside(path, self.root / "damaged", f"{path.parent.name}-{path.stem}")

    def has_model(self, run: str) -> bool:
        """Whether the run's model is kept: its list of modules and its weights."""
        return all((model_folder(self.root, run) / name).is_file() for name in MODEL_FILES)

    def prepare(self, models: bool = False) -> None:
        """Make the folders, that of models with `models`. Raises UserError if a folder cannot be written."""
        names = "runs pairs failures logs checkpoints .locks".split()
        try:
            for name in [*names, *["models"] * models]:
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(files.trouble(Path(error.filename or self.root), error)) from error
        if not os.access(self.root / "runs", os.W_OK):
            raise UserError(f"{self.root} may not be written; choose a folder of yours with --results-dir.")
        if models and not os.access(self.root / "models", os.W_OK | os.X_OK):
            hint = "make it writable, or leave --keep-models out"
            raise UserError(f"{self.root / 'models'} may not be written; {hint}.")

    def _sound(self, run: str, path: Path, check: Callable[[], object], so: str, claimed: bool) -> bool:
        """Whether a file passes its check. A damaged file that nobody is writing is set aside."""
        claim = None
        try:
            try:
                check()
                return True
            except CorruptRun as error:
                try:
                    claim = None if claimed else self.claim(run)
                except UserError:  # somebody else's folder
                    say(f"{error} It counts as missing here.")
                    return False
                if not claimed and claim is None:
                    return False  # somebody is training it anew at this moment
                check()
                return True  # mended while we looked
        except MissingRun:
            return False
        except CorruptRun as error:
            target = self.set_aside(path)
            say(f"{str(error).rpartition(';')[0]}; {so}; the file was set aside as {target}.")
            return False
        finally:
            if claim is not None:
                locks.release(claim)

    def _load_own(self, run: str) -> tuple[StoredRun, dict[str, str]]:
        """The user's own run and the footer of its file. Raises MissingRun, CorruptRun or OtherVersion."""
        path = self._own(run)
        table, footer, _ = records.read(path, records.RUN_SCHEMA)
        mend = "delete the file and train the run again"
        stored = records.stored_run(run, table, footer, "own", str(path), mend)
        if (code := stored.provenance.get("method_code")) is not None:
            self._codes[run] = str(code)
        return stored, footer

    def method_code(self, run: str) -> str | None:
        """The digest of the method's code that made the user's own run, once it was read; else None."""
        return self._codes.get(run)

    def _own(self, run: str) -> Path:
        return self.root / "runs" / f"{run}.parquet"

    def _pairs(self, run: str) -> Path:
        return self.root / "pairs" / f"{run}.parquet"

    def _failure(self, run: str) -> Path:
        return self.root / "failures" / f"{run}.json"

    def _lock(self, run: str) -> Path:
        return self.root / ".locks" / f"{run}.lock"
