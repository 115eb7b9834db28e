"""What the store gives back: a finished run, how an attempt failed, and why a file is not believed."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.spec.errors import UserError
from core.spec.result import Status
from core.spec.run import RunConfig

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table


class MissingRun(UserError):
    """The run is not in the store."""


class CorruptRun(UserError):
    """A run file that cannot be believed; the sentence names it and what to do."""


class OtherVersion(UserError):
    """A sound run file written under another NUMERICS: not damaged, but not for this version of the code."""


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """One finished run, as read back and verified. `table` has the columns of `core.spec.result.Row`."""

    run_id: str
    config: RunConfig
    status: Status
    table: Table
    provenance: dict[str, object]
    source: Literal["own", "published"]

    @functools.cached_property
    def rows(self) -> DataFrame:
        """The table as a frame, made when it is first asked for: many who read a run want its provenance alone."""
        return self.table.to_pandas()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an attempt at a run failed: for people, never a result. `cause` is a few words, `detail` a sentence or nothing."""

    cause: str
    detail: str = ""
    log_tail: tuple[str, ...] = ()
    log: str = ""
    exit_status: int | None = None
