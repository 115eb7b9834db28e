"""What a method says of itself, without torch: its runs, its three profiles, and how its sections follow a scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.spec.run import RunConfig
from core.spec.scale import UNSCALED
from core.spec.section import Section, public_name, public_names
from core.spec.vary import settled_for_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method, whose `title` is its name in sentences. `paper` is its base configuration under the profile `paper`, in the papers' units.

    `repaired` is what that profile changes in it, and `released` what that one changes beyond: values by dotted path. A path whose
    section a run lacks is passed over. A mapping as a value says which values become which others, and leaves the rest.
    """

    title: str
    paper: RunConfig
    repaired: Mapping[str, Any]
    released: Mapping[str, Any]

    def __post_init__(self):
        if not isinstance(self.paper, RunConfig):
            raise TypeError(f"paper must be a RunConfig, not {type(self.paper).__name__}")
        for name, changes in (("repaired", self.repaired), ("released", self.released)):
            if not isinstance(changes, Mapping):
                raise TypeError(f"{name} must be a mapping of paths to values, not {type(changes).__name__}")
            for path in changes:
                if path.partition(".")[0] not in public_names(type(self.paper)):
                    raise TypeError(f"{name} changes {path}, but its runs have no section {path.partition('.')[0]}")
                if path != "seed.data" and (path in UNSCALED or settled_for_cells(path)):
                    raise TypeError(f"{name} changes {path}, which the scale or an option settles; a study may name it, a method may not")
        for field in dataclasses.fields(self.paper):
            value = getattr(self.paper, field.name)
            if not isinstance(value, (str, int, float, tuple, type(None))) and not _frozen(value):
                raise TypeError(
                    f"the section {public_name(field.name)} must be a Section, a frozen dataclass, which {type(value).__name__} is not"
                )

    @property
    def name(self) -> str:
        """The name that `method` has in its runs, and its folder."""
        return self.paper.method

    @property
    def run(self) -> type[RunConfig]:
        """The class of its runs."""
        return type(self.paper)

    def sections(self) -> frozenset[str]:
        """The sections that its runs may have beyond those of every run."""
        own, shared = (({public_name(field.name) for field in dataclasses.fields(cls)}) for cls in (self.run, RunConfig))
        return frozenset(own - shared)


def _frozen(value: Any) -> bool:
    return isinstance(value, Section) and bool(getattr(getattr(value, "__dataclass_params__", None), "frozen", False))
