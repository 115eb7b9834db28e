"""Methods, found by their folders under core/methods, and the fields that no method may settle.

A method's `settings.py` states METHOD, without torch. Its `model.py` trains; `core/methods/__init__.py` says
what it has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from core.spec.errors import UserError, nearest
from core.spec.run import RunConfig
from core.spec.section import Section, public_name, public_names
from core.spec.vary import over, read, vary

PACKAGE = "core.methods"
SETTLED = {
    "scale": "--scale", "method": "the study", "seed": "--seeds", "seed.model": "--seeds",
    "data.rows": "--data-dir", "data.digest": "--data-dir", "encoder.digest": "--encoder",
    "eval.digest": "--data-dir",
}  # fmt: skip
# Fields that the scale settles, unless a study or a cell names them.
UNSCALED = ("train.warmup_fraction", "train.precision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method, whose `title` is its name in sentences. `paper` is its base configuration under the profile
    `paper`, in the papers' units.

    `repaired` is what that profile changes in it, and `released` what that one changes beyond: values by
    dotted path. A path whose section a run lacks is passed over. A mapping as a value says which values
    become which others, and leaves the rest.
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
                    raise TypeError(
                        f"{name} changes {path}, but its runs have no section {path.partition('.')[0]}"
                    )
                if path != "seed.data" and (path in UNSCALED or settled_for_cells(path)):
                    raise TypeError(
                        f"{name} changes {path}, which the scale or an option settles; "
                        "a study may name it, a method may not"
                    )
        for field in dataclasses.fields(self.paper):
            value = getattr(self.paper, field.name)
            if not isinstance(value, (str, int, float, tuple, type(None))) and not _frozen(value):
                raise TypeError(
                    f"the section {public_name(field.name)} must be a Section, a frozen dataclass, "
                    f"which {type(value).__name__} is not"
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
        own, shared = (
            ({public_name(field.name) for field in dataclasses.fields(cls)}) for cls in (self.run, RunConfig)
        )
        return frozenset(own - shared)


def _frozen(value: Any) -> bool:
    return isinstance(value, Section) and bool(
        getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
    )


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return _names_in(tuple(importlib.import_module(PACKAGE).__path__))


@functools.cache  # every configuration asks for them
def _names_in(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        sorted(path.parent.name for folder in folders for path in Path(folder).glob("*/settings.py"))
    )


def method(name: str) -> Method:
    """What a method's settings say. Raises UserError for an unknown name, and for settings that cannot be
    read."""
    known = names()
    if name not in known:
        raise UserError(
            f"There is no method {name}; {nearest(name, known, 'known: ' + ', '.join(known) + '.')}"
        )
    try:
        found = importlib.import_module(f"{PACKAGE}.{name}.settings").METHOD
        if not isinstance(found, Method):
            raise TypeError(f"METHOD must be a Method, not {type(found).__name__}")
        if found.name != name:  # its runs would be those of another method
            raise TypeError(f"the method of its runs is {found.name!r}, and the folder is {name!r}")
        return found
    except Exception as error:  # the folder is being written, perhaps by somebody else
        said = f"{type(error).__name__}: {error}"
        raise UserError(
            f"Method {name} has settings that cannot be used ({said}); mend core/methods/{name}/settings.py."
        ) from error


def sections() -> frozenset[str]:
    """The names of all sections that some method's runs have; methods whose settings cannot be used are
    passed over."""
    found: set[str] = set()
    for known in names():
        with contextlib.suppress(UserError):
            found |= method(known).sections()
    return frozenset(found)


def model(name: str) -> ModuleType:
    """The module that trains a method's runs; it needs torch."""
    return importlib.import_module(f"{PACKAGE}.{name}.model")


def settled_by(path: str) -> str | None:
    """The option that settles a field which `--set` may not change; None for every other field."""
    return SETTLED.get(path)


def settled_for_cells(path: str) -> str | None:
    """The option that settles a field which no study's cells can have of their own: also the length of a run,
    and sections that hold such a field; None for every other field."""
    settled = {**SETTLED, "train.steps": "--scale"}
    return next(
        (option for one, option in settled.items() if one == path or one.startswith(f"{path}.")), None
    )


PROFILES = ("paper", "repaired", "released")


def as_coded(changes: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Changes that hold under `repaired` and `released`, and not under `paper`: a `by_profile` of a study or a cell."""
    return {"repaired": changes, "released": changes}


def base(name: str, profile: str) -> RunConfig:
    """A method's base configuration under a profile, in paper units."""
    run = method(name).paper
    return vary(run, profile_changes(run, profile))


def profile_changes(run: RunConfig, profile: str) -> dict[str, object]:
    """What a profile changes in a configuration of `paper`, as far as it concerns the sections this run has."""
    if profile not in PROFILES:
        raise UserError(f"There is no profile {profile!r}; choose {', '.join(PROFILES[:-1])} or {PROFILES[-1]}.")
    stated = method(run.method)
    wanted: Mapping[str, object] = {}
    if profile != "paper":
        wanted = stated.repaired if profile == "repaired" else over(stated.repaired, stated.released)
    changes = {}
    for path, value in wanted.items():
        if getattr(run, path.partition(".")[0]) is not None:
            changes[path] = value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
    return changes


def deviating(name: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value each has; the seed's part (D35) is left out.

    A study that has those of `paper` among its base changes stays on the paper's side under every profile.
    """
    differing = [path for path in profile_changes(method(name).paper, "released") if path != "seed.data"]
    return {profile: {path: read(base(name, profile), path) for path in differing} for profile in PROFILES}
