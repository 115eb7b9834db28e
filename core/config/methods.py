"""Methods, found by their folders under core/methods, and profiles.

A method's `settings.py` states METHOD, without torch; its `model.py` trains. Profile `paper` is the
paper as we read it, `repaired` the code's design without its slips, `released` what the code did,
slips included.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any, Literal

from core.config.run import RunConfig
from core.config.section import Section, Typed, fields_of, frozen
from core.config.vary import over, value_at, vary
from core.errors import UserError, fault
from core.formatting import nearest

PACKAGE = "core.methods"
PROFILES = ("paper", "repaired", "released")
SETTLED = {  # fields that `--set` may not change, with the option that settles them
    "scale": "--scale",
    "method": "the study",
    "seed": "--seeds",
    "seed.model": "--seeds",
    "data.rows": "--data-dir",
    "data.digest": "--data-dir",
    "data.columns": "--text",
    "eval.digest": "--data-dir",
    "encoder.digest": "--encoder",
}


@frozen
class Method(Typed):
    """A method: its name in sentences, and its base configuration under the profile `paper`, in the
    papers' units. `repaired` is what that profile changes in it, and `released` what that one
    changes beyond.

    Changes are values by dotted path; a mapping as a value says which values become which. A path
    whose section a run lacks has no effect.
    """

    title: str
    paper: RunConfig
    repaired: Mapping[str, object]
    released: Mapping[str, object]

    @property
    def name(self) -> str:
        """The name that `method` has in its runs, and its folder."""
        return self.paper.method

    @property
    def run(self) -> type[RunConfig]:
        """The class of its runs."""
        return type(self.paper)


@dataclass(frozen=True, eq=False, slots=True)
class Derived:
    """A method that has the rules, profiles, fields and schedule of the method `base`, and a
    section of its own. State it as METHOD = Derived(…) in the `settings.py` of a method's folder,
    which names the method; `method` makes the Method of it.

    changes: defaults that differ from those of `base` under every profile, by dotted path and in
    the paper's units. columns: how many columns of the training text the method reads, from the
    first on. unread: fields that the method does not read, such as loss.temperature, which then
    cannot be changed; a trial compares them with what the method reads.
    """

    base: str
    _: dataclasses.KW_ONLY
    title: str
    section: type[Section] | None = None
    changes: Mapping[str, object] = dataclasses.field(default_factory=dict)
    columns: int = 1
    unread: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_settled(self.title, self.changes)


def refuse_settled(owner: str, changes: Iterable[str]) -> None:
    """Raise UserError for paths that an option of each command settles."""
    for path in changes:
        for field, option in {**SETTLED, "train.steps": "--scale", "method": "method="}.items():
            if f"{field}.".startswith(f"{path}."):
                raise UserError(f"{owner} changes {path}, which {option} settles; leave it out.")


_begun = set[tuple[str, int]]()  # methods whose base is being made, each by its thread


@functools.cache  # one class of runs a method
def _method_of(derived: Derived, name: str) -> Method:
    """The method that a folder of this name states as derived."""
    here = (name, get_ident())
    if here in _begun:
        raise UserError(f"{name} derives from itself.")
    _begun.add(here)
    try:
        parent = method(derived.base)
    finally:
        _begun.remove(here)
    section = derived.section

    def check(run: RunConfig) -> None:
        parent.run.check(run)
        for path in derived.unread:  # a method that derives from this one may read it
            usual = value_at(parent.paper, path)
            if run.method == name and value_at(run, path) != usual:
                raise UserError(f"{name} reads no {path}; leave it {usual}.")

    fields: list[Any] = [("method", Literal[name], dataclasses.field(default=name))]
    if section is not None:
        label = section.label()
        if hasattr(parent.run, label):
            raise UserError(
                f"{section.__name__} cannot be a section, since runs have another {label}; rename "
                "the class."
            )
        fields.append((label, section, dataclasses.field(default_factory=section)))
    namespace: dict[str, Any] = {"check": check, "unread": derived.unread}
    if derived.columns > 1:
        namespace["columns"] = derived.columns
        namespace["passes"] = 3.0 * derived.columns  # each column is a view
    run: Any = dataclasses.make_dataclass(
        f"{name.title()}Run",
        fields,
        bases=(parent.run,),
        frozen=True,
        slots=True,
        kw_only=True,
        namespace=namespace,
    )
    values = {name: getattr(parent.paper, name) for name in fields_of(parent.run)}
    own = derived.changes
    paper = vary(run(**values | {"method": name}), own)
    hash(paper)  # runs are compared and named by their values: a section is frozen
    return dataclasses.replace(
        parent,
        title=derived.title,
        paper=paper,
        repaired={path: value for path, value in parent.repaired.items() if path not in own},
        released={path: value for path, value in parent.released.items() if path not in own},
    )


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return tuple(_folders())


@functools.cache  # every configuration needs them
def _folders() -> dict[str, Path]:
    """The folder of each method, by its name."""
    folders = {}
    for root in importlib.import_module(PACKAGE).__path__:
        for file in Path(root).glob("[!.]*/*.py"):
            if file.stem in ("settings", "model"):
                folders[file.parent.name] = file.parent
    return dict(sorted(folders.items()))


def folder(name: str) -> Path:
    """The folder of a method's files."""
    return _folders()[name]


def method(name: str) -> Method:
    """What a method's settings say. Raises UserError for an unknown name and unusable files."""
    folders = _folders()
    if name not in folders:
        hint = nearest(name, folders, f"choose one of {', '.join(folders)}.")
        raise UserError(f"There is no method {name}; {hint}")
    settings = folders[name] / "settings.py"
    try:
        if not settings.is_file():
            raise UserError("There is no such file; write one, as CONTRIBUTING.md says.")
        stated: Any = getattr(importlib.import_module(f"{PACKAGE}.{name}.settings"), "METHOD", None)
        if stated is None:
            raise UserError("It states no METHOD; write METHOD = Derived(…).")
        if isinstance(stated, Derived):
            stated = _method_of(stated, name)
        # else its runs would be another method's
        if not isinstance(stated, Method) or stated.name != name:
            raise UserError(f"METHOD is no method {name!r}; write METHOD = Derived(…).")
    except (Exception, SystemExit) as error:  # the folder is being written, or ends the process
        raise UserError(fault(settings, error, "METHOD")) from error
    return stated


def model(name: str) -> ModuleType:
    """The module that trains a method's runs; it needs torch."""
    return importlib.import_module(f"{PACKAGE}.{name}.model")


def as_coded(changes: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Changes under `repaired` and `released`, and not under `paper`: a `by_profile` of a study or
    a cell."""
    return {"repaired": changes, "released": changes}


def base(name: str, profile: str) -> RunConfig:
    """A method's base configuration under a profile, in paper units."""
    run = method(name).paper
    return vary(run, profile_changes(run, profile))


def profile_changes(run: RunConfig, profile: str) -> dict[str, object]:
    """What a profile changes in a configuration of `paper`, as far as the run has the sections."""
    if profile not in PROFILES:
        raise UserError(f"There is no profile {profile!r}; choose one of {', '.join(PROFILES)}.")
    stated = method(run.method)
    changes: Mapping[str, object] = {}
    if profile == "repaired":
        changes = stated.repaired
    elif profile == "released":
        changes = over(stated.repaired, stated.released)
    values: dict[str, object] = {}
    for path, value in changes.items():
        if getattr(run, path.partition(".")[0]) is None:
            continue
        values[path] = value
        if isinstance(value, Mapping):
            before = value_at(run, path)
            values[path] = value.get(before, before)
    return values


def deviating(name: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value of each, without the seed's
    (D35). A study whose base changes hold those of `paper` stays on the paper's side under every
    profile."""
    differing = profile_changes(method(name).paper, "released")
    differing.pop("seed.data", None)
    by_profile = {}
    for profile in PROFILES:
        run = base(name, profile)
        by_profile[profile] = {path: value_at(run, path) for path in differing}
    return by_profile
