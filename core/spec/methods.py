"""Methods, found by their folders under core/methods; profiles; and the fields that no method may settle.

A method's `settings.py` states METHOD, without torch. Its `model.py` trains, and states Model. A profile is
a named base configuration: `paper` is the paper to the letter, evaluated cleanly; `repaired` is the code's
design without its slips; `released` is what the code did, slips included.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import hashlib
import importlib
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from core.spec.errors import UserError, nearest
from core.spec.run import RunConfig
from core.spec.section import Section, public_name, public_names
from core.spec.vary import over, read, vary

PACKAGE = "core.methods"
PROFILES = ("paper", "repaired", "released")
SETTLED = {  # fields that `--set` may not change, with the option that settles them
    "scale": "--scale",
    "method": "the study",
    "seed": "--seeds",
    "seed.model": "--seeds",
    "data.rows": "--data-dir",
    "data.digest": "--data-dir",
    "eval.digest": "--data-dir",
    "encoder.digest": "--encoder",
}
# Fields that the scale settles, unless a study or a cell names them.
UNSCALED = ("train.warmup_fraction", "train.precision", "train.new_layer_factor")
# What a Model may define (core.methods.contrastive, core.methods.simcse.model), with its parameters.
HOOKS: dict[str, tuple[str, ...]] = {
    "contrast": ("self", "first", "second"),
    "views": ("tokens", "rng"),
    "pooled": ("self", "batch"),
    "build": ("self",),
    "new_layers": ("self",),
    "sentence_vectors": ("self", "batch"),
    "before_step": ("self",),
    "after_update": ("self",),
    "after_step": ("self",),
    "diagnostics": ("self", "batch"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method, whose `title` is its name in sentences. `paper` is its base configuration under the profile
    `paper`, in the papers' units.

    `repaired` is what that profile changes in it, and `released` what that one changes beyond: values by
    dotted path. A path whose section a run lacks has no effect. A mapping as a value says which values
    become which.
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
                if (section := path.partition(".")[0]) not in public_names(self.run):
                    raise TypeError(f"{name} changes {path}, but its runs have no section {section}")
                if path != "seed.data" and (path in UNSCALED or settled_for_cells(path)):
                    hint = "a study may name it, a method may not"
                    raise TypeError(f"{name} changes {path}, which the scale or an option settles; {hint}")
        for field in dataclasses.fields(self.paper):
            value = getattr(self.paper, field.name)
            if dataclasses.is_dataclass(value) and not isinstance(value, Section):
                what = f"a Section, a frozen dataclass, which {type(value).__name__} is not"
                raise TypeError(f"the section {public_name(field.name)} must be {what}")

    @property
    def name(self) -> str:
        """The name that `method` has in its runs, and its folder."""
        return self.paper.method

    @property
    def run(self) -> type[RunConfig]:
        """The class of its runs."""
        return type(self.paper)


def derived(base: str, *, title: str, section: type[Section] | None = None) -> Method:
    """A method that has another method's rules, profiles, fields and schedule, and a section of its own.

    `base` is a folder in core/methods. Call it in the `settings.py` of a method's folder, which names the
    method. A temperature that its `contrast` does not read cannot be changed.
    """
    module = sys._getframe(1).f_globals  # namedtuple finds its module in the same way
    name, folder = module["__name__"].split(".")[-2], Path(module["__file__"]).parent
    parent = method(base)
    model = folder / "model.py"
    text = model.read_text(encoding="utf-8") if model.is_file() else ""
    unread = [path for path in ("loss.temperature",) if not re.search(rf"\.{path.partition('.')[2]}\b", text)]

    def check(self: RunConfig) -> None:
        parent.run.check(self)
        for path in unread:
            if read(self, path) != (value := read(parent.paper, path)):
                raise UserError(f"{_place(model, 'def contrast')}: no line reads {path}; leave it {value}.")

    fields: list[Any] = [("method", Literal[name], dataclasses.field(default=name))]
    if section is not None:
        fields.append((section.label(), section, dataclasses.field(default_factory=section)))
    run: Any = dataclasses.make_dataclass(
        f"{name.title()}Run", fields, bases=(parent.run,), frozen=True, slots=True, kw_only=True,
        namespace={"check": check, "__module__": module["__name__"]},
    )  # fmt: skip
    module[run.__name__] = run  # where pickle looks for it
    shared = {
        f.name: getattr(parent.paper, f.name) for f in dataclasses.fields(parent.run) if f.name != "method"
    }
    return Method(title=title, paper=run(**shared), repaired=parent.repaired, released=parent.released)


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return tuple(_folders(tuple(importlib.import_module(PACKAGE).__path__)))


@functools.cache  # every configuration asks for them
def _folders(places: tuple[str, ...]) -> dict[str, Path]:
    files = [
        file for place in places for file in Path(place).glob("*/*.py") if file.stem in ("settings", "model")
    ]
    return dict(sorted((file.parent.name, file.parent) for file in files))


def method(name: str) -> Method:
    """What a method's settings say. Raises UserError for an unknown name and unusable files."""
    known = _folders(tuple(importlib.import_module(PACKAGE).__path__))
    if name not in known:
        hint = nearest(name, known, f"known: {', '.join(known)}.")
        raise UserError(f"There is no method {name}; {hint}")
    settings = known[name] / "settings.py"
    try:
        stated = importlib.import_module(f"{PACKAGE}.{name}.settings").METHOD
        if not isinstance(stated, Method):
            raise TypeError(f"METHOD must be a Method, not {type(stated).__name__}")
        if stated.name != name:  # its runs would be those of another method
            raise TypeError(f"the method of its runs is {stated.name!r}, and the folder is {name!r}")
    except Exception as error:  # the folder is being written, perhaps by somebody else
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(settings)]
        line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else 1)
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        mend = f"mend {PACKAGE.replace('.', '/')}/{name}/settings.py, line {line}"
        raise UserError(f"Method {name} has settings that cannot be used ({reason}); {mend}.") from error
    own = tuple(
        field for label in _own_sections(stated) for field in public_names(type(getattr(stated.paper, label)))
    )
    if trouble := _model_trouble(known[name], own):
        raise UserError(trouble)
    return stated


def _own_sections(stated: Method) -> list[str]:
    """The sections that the method's own settings define."""
    values = {field.name: getattr(stated.paper, field.name) for field in dataclasses.fields(stated.paper)}
    module = f"{PACKAGE}.{stated.name}.settings"
    return [name for name, value in values.items() if type(value).__module__ == module]


@functools.cache
def _model_trouble(folder: Path, fields: tuple[str, ...]) -> str:
    """What is wrong with a method's model.py, with its line; or "". It is not imported."""
    file = folder / "model.py"
    try:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except FileNotFoundError:
        return f"{_place(file, '')}: there is no such file; write it as CONTRIBUTING.md says."
    except SyntaxError as error:
        return f"{_place(file, '', error.lineno)}: it is no Python ({error.msg}); mend that line."
    if not re.search(r"^(class Model\b|Model = |from .* import .*\bModel\b)", text, re.MULTILINE):
        return f"{_place(file, '')}: it states no Model; write one, as CONTRIBUTING.md says."
    for model in [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"]:
        functions = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)}
        for name, node in functions.items():
            near = difflib.get_close_matches(name.strip("_"), HOOKS, n=1, cutoff=0.7)
            if name not in HOOKS and near and near[0] not in functions:
                return f"{_place(file, '', node.lineno)}: {name} is no hook; did you mean {near[0]}?"
            parameters = HOOKS.get(name, ())
            if parameters and len(node.args.args) != len(parameters):
                return f"{_place(file, '', node.lineno)}: write def {name}({', '.join(parameters)})."
        if "TwoViews" in map(ast.unparse, model.bases) and "contrast" not in functions:
            hint = "write its loss as def contrast(self, first, second)"
            return f"{_place(file, '', model.lineno)}: Model leaves out contrast; {hint}."
        for field in fields:
            if not re.search(rf"\.{field}_?\b", text):
                place = _place(folder / "settings.py", rf"\s*{field}_?:")
                return f"{place}: model.py does not read {field}; read it there, or leave it out."
    return ""


def _place(file: Path, pattern: str, line: int | None = None) -> str:
    """A file of a method and the first line that a pattern matches, for messages."""
    text = file.read_text(encoding="utf-8").splitlines() if file.is_file() and pattern else []
    found = next((number for number, row in enumerate(text, 1) if re.match(rf"\s*{pattern}", row)), 1)
    return f"{PACKAGE.replace('.', '/')}/{file.parent.name}/{file.name}, line {line or found}"


def model(name: str) -> ModuleType:
    """The module that trains a method's runs; it needs torch."""
    return importlib.import_module(f"{PACKAGE}.{name}.model")


def code_digest(name: str) -> str:
    """SHA-256 of what the files of a method's folder say, 16 digits; comments do not count."""
    files = sorted(_folders(tuple(importlib.import_module(PACKAGE).__path__))[name].glob("*.py"))
    texts = [f"{file.name}\n{ast.dump(ast.parse(file.read_text(encoding='utf-8')))}\n" for file in files]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def settled_by(path: str) -> str | None:
    """The option that settles a field which `--set` may not change; None for every other field."""
    return SETTLED.get(path)


def settled_for_cells(path: str) -> str | None:
    """The option that settles a field which no study's cells can have of their own: also the length of a
    run, and sections that hold such a field; None for every other field."""
    settled = {**SETTLED, "train.steps": "--scale"}
    return next((option for field, option in settled.items() if f"{field}.".startswith(f"{path}.")), None)


def as_coded(changes: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Changes under `repaired` and `released`, and not under `paper`: a `by_profile` of a study or a cell."""
    return {"repaired": changes, "released": changes}


def base(name: str, profile: str) -> RunConfig:
    """A method's base configuration under a profile, in paper units."""
    run = method(name).paper
    return vary(run, profile_changes(run, profile))


def profile_changes(run: RunConfig, profile: str) -> dict[str, object]:
    """What a profile changes in a configuration of `paper`, as far as the run has the sections."""
    if profile not in PROFILES:
        hint = f"choose {', '.join(PROFILES[:-1])} or {PROFILES[-1]}"
        raise UserError(f"There is no profile {profile!r}; {hint}.")
    stated = method(run.method)
    wanted: Mapping[str, object] = {}
    if profile != "paper":
        wanted = stated.repaired if profile == "repaired" else over(stated.repaired, stated.released)
    changes = {}
    for path, value in wanted.items():
        if getattr(run, path.partition(".")[0]) is not None:
            changes[path] = (
                value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
            )
    return changes


def deviating(name: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value each has; without the seed's part
    (D35).

    A study that has those of `paper` among its base changes stays on the paper's side under every profile.
    """
    differing = [path for path in profile_changes(method(name).paper, "released") if path != "seed.data"]
    return {profile: {path: read(base(name, profile), path) for path in differing} for profile in PROFILES}
