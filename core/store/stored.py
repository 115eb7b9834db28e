"""What the store gives back: a finished run, how an attempt failed, and why a file is not believed."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from core.spec.errors import UserError
from core.spec.identity import NUMERICS, from_canonical_json, run_id
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


def believed(footer: dict[str, str], run: str, where: str, mend: str) -> RunConfig:
    """The configuration in a run's footer. Raises CorruptRun unless configuration, status and provenance can be read and are those of
    this run, OtherVersion if they are another NUMERICS's. `where` names the run and `mend` says what to do, for the sentence."""
    config = None
    try:
        if (numerics := json.loads(footer["config"])["numerics"]) == NUMERICS:  # another's may have fields that are not known here
            config, _ = from_canonical_json(footer["config"])
        known = footer["status"] in get_args(Status) and isinstance(json.loads(footer["provenance"]), dict)
    except (UserError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise CorruptRun(f"{where} holds a configuration that cannot be read; {mend}.") from error
    if config is None:
        raise OtherVersion(
            f"{where} was written by another version of the code (NUMERICS {numerics}, here {NUMERICS}); "
            "use that version or another --results-dir."
        )
    if not known:
        raise CorruptRun(f"{where} holds a status or a provenance that cannot be read; {mend}.")
    if run_id(config) != run:
        raise CorruptRun(f"{where} holds run {run_id(config)}, not the one it is named after; delete it or name it rightly.")
    return config
