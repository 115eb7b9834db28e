"""Methods, found by their folders under core/methods, and profiles.

A method's `settings.py` states METHOD, without torch; its `model.py` trains. Profile `paper` is the
paper to the letter, `repaired` the code's design without its slips, `released` what the code did,
slips included.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from core.config import source
from core.config.run import RunConfig
from core.config.section import Section, Typed, public_names
from core.config.source import PACKAGE
from core.config.vary import over, unknown_path, value_at, vary
from core.errors import UserError, fault, nearest, place

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
# fields that the scale settles, unless a study or a cell names them
UNSCALED = ("train.warmup_fraction", "train.precision", "train.new_layer_factor")
WITH_TORCH = ("torch", "transformers", "core.encoder", "core.evaluation", "core.training")
# What a Model may define (core.methods.contrastive, core.methods.simcse.model), with its
# parameters.
HOOKS: dict[str, tuple[str, ...]] = {
    "contrast": ("self", "first", "second"),
    "views": ("tokens", "draw"),
    "pool": ("self", "encoded"),
    "pooled": ("self", "batch"),
    "extra": ("self", "batch"),
    "build": ("self",),
    "new_layers": ("self",),
    "sentence_vectors": ("self", "batch"),
    "before_step": ("self",),
    "after_update": ("self",),
    "after_step": ("self",),
    "diagnostics": ("self", "batch"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """A method by what it takes over and adds; `method` makes the Method of it."""

    base: str
    title: str
    section: type[Section] | None
    changes: tuple[tuple[str, object], ...]
    columns: int


def derived(
    base: str,
    *,
    title: str,
    section: type[Section] | None = None,
    changes: Mapping[str, object] | None = None,
    columns: int = 1,
) -> Derived:
    """A method that has the rules, profiles, fields and schedule of the method `base`, and a
    section of its own. State it in the `settings.py` of a method's folder, which names the method.

    changes: defaults that differ from those of `base` under every profile, by dotted path and in
    the paper's units. columns: how many columns of the training text the method reads, from the
    first on. A temperature that its `contrast` does not read cannot be changed.
    """
    if section is not None:
        _check_section(section)
    if not isinstance(columns, int) or columns < 1:
        raise UserError(f"columns is {columns!r}, but it must be a whole number of at least 1.")
    if not isinstance(title, str) or not title.strip():
        raise UserError(f"title is {title!r}, but tables need a name; give a text.")
    _check_defaults(changes or {})
    return Derived(base, title, section, tuple((changes or {}).items()), columns)


def _check_defaults(changes: object) -> None:
    """Refuse defaults that an option of each command settles."""
    if not isinstance(changes, Mapping):
        raise UserError(
            f"changes is {repr(changes)[:80]}; write a value by field, {{field: value}}."
        )
    for path in changes:
        for field, option in {**SETTLED, "train.steps": "--scale"}.items():
            if f"{field}.".startswith(f"{path}."):
                raise UserError(f"changes has {path}, which {option} settles; leave it out.")


def _check_section(section: type) -> None:
    """Refuse a section that is no frozen dataclass: runs are compared and named by its values."""
    parameters = getattr(section, "__dict__", {}).get("__dataclass_params__")
    if (
        not (isinstance(section, type) and issubclass(section, Section))
        or parameters is None
        or not parameters.frozen
    ):
        name = getattr(section, "__name__", repr(section))
        raise UserError(
            f"{name} is no frozen section; write class {name}(Section) "
            "under @dataclass(frozen=True, slots=True, kw_only=True)."
        )
    for field in dataclasses.fields(section):
        where = f"{section.__name__}.{field.name}"
        if hasattr(Section, field.name):
            raise UserError(f"{where} has the name of something that every section has; rename it.")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UserError(f"{where} has no default; give it one, such as the paper's value.")


@functools.cache  # one class of runs a method
def _method_of(derived: Derived, name: str) -> Method:
    """The method that a folder of this name states as derived."""
    _refuse_circle(derived, name)
    parent = method(derived.base)
    section = derived.section
    usual = parent.paper.loss.temperature
    model = _folders()[name] / "model.py"
    unread: tuple[str, ...] = ()
    if "temperature" not in source.attributes_with_bases(model, _folders()):
        unread = ("loss.temperature",)

    def check(run: RunConfig) -> None:
        parent.run.check(run)
        # a method that derives from this one may read it
        if unread and run.method == name and run.loss.temperature != usual:
            contrast = place(model, "    def contrast")
            raise UserError(
                f"{name} reads no loss.temperature; leave it {usual}, or correct its spelling in "
                f"contrast ({contrast})."
            )

    fields: list[Any] = [("method", Literal[name], dataclasses.field(default=name))]
    if section is not None:
        label = section.label()
        if hasattr(parent.run, label):
            raise UserError(
                f"{section.__name__} cannot be a section, since runs have another {label}; rename "
                "the class."
            )
        fields.append((label, section, dataclasses.field(default_factory=section)))
    namespace: dict[str, Any] = {"check": check, "unread": unread}
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
    values = {name: getattr(parent.paper, name) for name in public_names(parent.run).values()}
    paper = vary(run(**values | {"method": name}), dict(derived.changes))
    own = dict(derived.changes)
    return dataclasses.replace(
        parent,
        title=derived.title,
        paper=paper,
        repaired={path: value for path, value in parent.repaired.items() if path not in own},
        released={path: value for path, value in parent.released.items() if path not in own},
    )


def _refuse_circle(derived: Derived, name: str) -> None:
    """Refuse a method that derives from itself, at once or by way of others. Raises UserError."""
    bases = [name]
    while True:
        bases.append(derived.base)
        if derived.base == name:
            raise UserError(
                f"{name} derives from itself ({' from '.join(bases)}); derive it from another "
                "method, such as simcse."
            )
        if derived.base in bases[:-1] or derived.base not in _folders():
            return
        stated = getattr(_settings_of(derived.base), "METHOD", None)
        if not isinstance(stated, Derived):
            return
        derived = stated


def _settings_of(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}.settings")


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return tuple(_folders())


@functools.cache  # every configuration needs them
def _folders() -> dict[str, Path]:
    """The folder of each method, by its name."""
    folders = {}
    for root in importlib.import_module(PACKAGE).__path__:
        for file in Path(root).glob("*/*.py"):
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
        stated: Any = getattr(_settings_of(name), "METHOD", None)
        if stated is None:
            raise UserError("It states no METHOD; write METHOD = derived(…).")
        if isinstance(stated, Derived):
            stated = _method_of(stated, name)
        # else its runs would be another method's
        if not isinstance(stated, Method) or stated.name != name:
            raise UserError(f"METHOD is no method {name!r}; write METHOD = derived(…).")
    except (Exception, SystemExit) as error:  # the folder is being written, or ends the process
        raise UserError(fault(settings, error, "METHOD")) from error
    _check_files(folders[name], stated.paper)
    return stated


@functools.cache
def _check_files(folder: Path, run: RunConfig) -> None:
    """Refuse what is wrong with a method's files, by their text. Raises UserError with the line."""
    settings = folder / "settings.py"
    _check_settings(settings)
    file = folder / "model.py"
    tree = _model_tree(file)
    for path in sorted(folder.glob("*.py")):
        source.tree_of(path)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            _check_paths(file, node, run)
            _check_hooks(file, node, run)
            _check_own_fields(settings, file, run)


def _check_settings(settings: Path) -> None:
    """Refuse settings that import torch."""
    for node in ast.walk(source.tree_of(settings)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        for module in modules:
            if module.startswith(WITH_TORCH):
                where = place(settings, "", node.lineno)
                raise UserError(
                    f"{where}: settings are read without torch; move what needs it to model.py."
                )


def _model_tree(file: Path) -> ast.Module:
    """The syntax of a model.py, which states Model."""
    start = place(file, "")
    write = "write one, as CONTRIBUTING.md says"
    if not file.is_file():
        raise UserError(f"{start}: There is no such file; {write}.")
    tree = source.tree_of(file)
    if "Model" not in source.stated_names(tree):
        raise UserError(f"{start}: It states no Model; {write}.")
    return tree


def _check_paths(file: Path, model: ast.ClassDef, run: RunConfig) -> None:
    """Refuse a field of `self.config` that the run has not."""
    for node in ast.walk(model):
        if not isinstance(node, ast.Attribute):
            continue
        path = re.fullmatch(r"self\.config\.(\w+)\.(\w+)", ast.unparse(node))
        if path is None:
            continue
        section = getattr(run, path[1], run)  # None where the run leaves it out
        if section is not None and not hasattr(section, path[2]):
            where = place(file, "", node.lineno)
            raise UserError(f"{where}: {unknown_path(run, f'{path[1]}.{path[2]}')}")


def _takes(function: ast.FunctionDef, count: int, own_views: bool) -> bool:
    """Whether a hook can be called with so many arguments, or, as `contrast` where a method makes
    its own views, with another number."""
    arguments = function.args
    if function.name == "contrast" and (own_views or arguments.vararg is not None):
        return len(arguments.args) > 1 or arguments.vararg is not None
    return len(arguments.args) == count


def _check_hooks(file: Path, model: ast.ClassDef, run: RunConfig) -> None:
    """Refuse a hook that is misspelt, has other parameters or is left out."""
    functions = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)}
    # then `contrast` gets as many views as these make
    own_views = bool(run.columns > 1 or functions.keys() & {"views", "batch", "loss"})
    for name, node in functions.items():
        where = place(file, "", node.lineno)
        if name not in HOOKS:
            near = difflib.get_close_matches(name.strip("_"), HOOKS, n=1, cutoff=0.7)
            if near and near[0] not in functions:
                raise UserError(f"{where}: {name} is no hook; did you mean {near[0]}?")
        elif not _takes(node, len(HOOKS[name]), own_views):
            raise UserError(f"{where}: write def {name}({', '.join(HOOKS[name])}).")
    bases = set(map(ast.unparse, model.bases))
    if bases & {"Views", "TwoViews"} and "contrast" not in functions:
        where = place(file, "", model.lineno)
        raise UserError(
            f"{where}: Model leaves out contrast; write def contrast(self, first, second)."
        )


def _check_own_fields(settings: Path, file: Path, run: RunConfig) -> None:
    """Refuse a field of the method's own sections that neither its model nor another file of its
    folder reads."""
    files = [path for path in sorted(file.parent.glob("*.py")) if path != settings]
    for attribute in public_names(type(run)).values():
        section = type(getattr(run, attribute))
        if section.__module__ != f"{PACKAGE}.{run.method}.settings":
            continue
        read = set().union(*(_fields_read(path, section.label()) for path in files))
        for name, field in public_names(section).items():
            if name not in read and field not in read:
                where = place(settings, rf"\s*{field}:")
                raise UserError(
                    f"{where}: model.py does not read {name}; read it there, or leave it out."
                )


def _fields_read(file: Path, section: str) -> set[str]:
    """The names that a Python file reads of a section: behind its name, behind a variable that was
    set to it, or of a function's parameter, which may stand for it."""
    nodes = list(ast.walk(source.tree_of(file)))
    variables = {section}
    for node in nodes:
        if isinstance(node, ast.arg) and node.arg != "self":
            variables.add(node.arg)
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(f".{section}"):
            variables.update(map(ast.unparse, node.targets))
    fields = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner in variables or owner.endswith(f".{section}"):
                fields.add(node.attr)
    return fields


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
