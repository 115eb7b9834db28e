"""What the project publishes, as a store of its own: the packs of every scale in one folder, which only `publish` changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.spec.scale import SCALES
from core.store import files, locks, pack
from core.store.console import say
from core.store.pack import Pack, Run
from core.store.parquet import Damaged
from core.store.stored import CorruptRun

MEND = "get the file anew, with git checkout"


class Published:
    """The published runs under a folder; none without one."""

    def __init__(self, folder: Path | None):
        self.folder = folder
        self._opened: dict[str, Pack] | None = None

    def __contains__(self, run: str) -> bool:
        return any(run in one for one in self._packs().values())

    def runs(self) -> set[str]:
        """The ids of all runs."""
        return {run for one in self._packs().values() for run in one.runs()}

    def scale(self, run: str) -> str:
        """The scale whose pack holds a run that is there."""
        return next(scale for scale, one in self._packs().items() if run in one)

    def place(self, run: str) -> str:
        """Where a run stands, for messages."""
        return f"Run {run} in {self.path(self.scale(run))}"

    def path(self, scale: str) -> Path:
        """The pack of a scale."""
        return self._home / scale / pack.NAME

    def read(self, run: str) -> Run:
        """Rows and footer of a run that is there. Raises CorruptRun."""
        one = next(one for one in self._packs().values() if run in one)
        try:
            return one.read(run)
        except Damaged as error:
            raise CorruptRun(f"{self.place(run)} is damaged: {error}; {MEND}.") from error

    def publish(self, new: Mapping[str, Mapping[str, Run]]) -> None:
        """Pack these runs by scale with those that are there, each file whole or not at all; of a run that is there the new one
        stays. Raises CorruptRun where what is there cannot be read, UserError where it cannot be written."""
        with locks.waiting(self._home.parent / ".locks" / "published.lock", f"publishing in {self._home}"):
            for scale, runs in new.items():
                path = self.path(scale)
                files.sweep(path.parent, path.name)
                try:
                    old = Pack(path) if path.exists() else None
                    kept = {run: old.read(run) for run in old.runs() if run not in runs} if old is not None else {}
                except Damaged as error:
                    raise CorruptRun(f"{path} is damaged: {error}; {MEND}.") from error
                pack.write(path, {**kept, **runs})
        self._opened = None

    @property
    def _home(self) -> Path:
        if self.folder is None:
            raise ValueError("this store has no folder of published runs")
        return self.folder

    def _packs(self) -> dict[str, Pack]:
        """The packs that are there, by scale, opened once; one that is damaged is named, and its runs count as missing."""
        if self._opened is None:
            found = {}
            for scale in SCALES if self.folder is not None else ():
                path = self.path(scale)
                if not path.is_file():
                    continue
                try:
                    found[scale] = Pack(path)
                except Damaged as error:
                    say(f"{path} is damaged: {error}; its runs count as missing; {MEND}.")
            self._opened = found
        return self._opened
