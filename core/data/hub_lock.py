"""The lock file of what was fetched from the hub: once a file is accepted, no other content is."""

from __future__ import annotations

import json
from pathlib import Path

from core.data.hub_pins import Repository
from core.spec.errors import UserError
from core.store.files import write_whole


class Lock:
    """What was accepted of one repository: its commit, and each file's SHA-256. Kept in one JSON file for all repositories."""

    def __init__(self, path: Path, repository: Repository):
        self.path, self.key = path, f"{repository.kind}s/{repository.name}"

    @property
    def revision(self) -> str | None:
        """The commit that was accepted, or None."""
        return self._entry().get("revision")

    def digest(self, name: str) -> str | None:
        """The SHA-256 that was accepted for a file, or None."""
        return self._entry().get("files", {}).get(name)

    def record(self, revision: str, name: str, digest: str) -> None:
        """Add a file to what is accepted."""
        content, entry = self._read(), self._entry()
        content[self.key] = {"revision": revision, "files": {**entry.get("files", {}), name: digest}}
        write_whole(self.path, json.dumps(content, indent=1, sort_keys=True).encode())

    def _entry(self) -> dict:
        return self._read().get(self.key, {})

    def _read(self) -> dict:
        try:
            content = json.loads(self.path.read_text())
            if not all(isinstance(entry.get("files", {}), dict) for entry in content.values()):
                raise ValueError("no lock")
            return content
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise UserError(f"{self.path} cannot be read; delete the folder {self.path.parent} to fetch all again.") from error
