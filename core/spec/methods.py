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
import hashlib
import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from core.spec.errors import UserError, fault, nearest, place
from core.spec.run import RunConfig
from core.spec.section import Section, Typed, public_names
from core.spec.vary import over, read, unknown, vary

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
# fields that the scale settles, unless a study or a cell names them
UNSCALED = ("train.warmup_fraction", "train.precision", "train.new_layer_factor")
# What a Model may define (core.methods.contrastive, core.methods.simcse.model), with its
# parameters.
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


def derived(base: str, *, title: str, section: type[Section] | None = None) -> Method:
    """A method that has the rules, profiles, fields and schedule of the method `base`, and a
    section of its own. Call it in the `settings.py` of a method's folder, which names the method.

    A temperature that its `contrast` does not read cannot be changed.
    """
    module = sys._getframe(1).f_globals  # namedtuple finds its module in the same way
    name = module["__name__"].split(".")[-2]
    model = Path(module["__file__"]).parent / "model.py"
    parent = method(base)
    reads = model.is_file() and ".temperature" in model.read_text(encoding="utf-8")
    usual = parent.paper.loss.temperature
    mend = f"correct its spelling in contrast ({place(model, '    def contrast')})"

    def check(self: RunConfig) -> None:
        parent.run.check(self)
        unread = not reads and self.loss.temperature != usual
        if unread:
            raise UserError(f"{name} reads no loss.temperature; leave it {usual}, or {mend}.")

    own = [section] if section is not None else []
    fields: list[Any] = [("method", Literal[name], dataclasses.field(default=name))]
    fields += [(each.label(), each, dataclasses.field(default_factory=each)) for each in own]
    run: Any = dataclasses.make_dataclass(
        f"{name.title()}Run",
        fields,
        bases=(parent.run,),
        frozen=True,
        slots=True,
        kw_only=True,
        namespace={"check": check, "__module__": module["__name__"]},
    )
    module[run.__name__] = run  # where pickle looks for it
    shared = {
        field.name: getattr(parent.paper, field.name) for field in dataclasses.fields(parent.run)
    }
    return dataclasses.replace(parent, title=title, paper=run(**{**shared, "method": name}))


def names() -> tuple[str, ...]:
    """Every method's name, in order of the alphabet."""
    return tuple(_folders())


@functools.cache  # every configuration needs them
def _folders() -> dict[str, Path]:
    """The folder of each method, by its name."""
    places = importlib.import_module(PACKAGE).__path__
    files = [file for path in places for file in Path(path).glob("*/*.py")]
    folders = {
        file.parent.name: file.parent for file in files if file.stem in ("settings", "model")
    }
    return dict(sorted(folders.items()))


def method(name: str) -> Method:
    """What a method's settings say. Raises UserError for an unknown name and unusable files."""
    if name not in (folders := _folders()):
        hint = nearest(name, folders, f"choose one of {', '.join(folders)}.")
        raise UserError(f"There is no method {name}; {hint}")
    settings = folders[name] / "settings.py"
    try:
        if not settings.is_file():
            raise UserError("There is no such file; write one, as CONTRIBUTING.md says.")
        stated: Any = getattr(importlib.import_module(f"{PACKAGE}.{name}.settings"), "METHOD", None)
        # else its runs would be another method's
        own = isinstance(stated, Method) and stated.name == name
        if stated is not None and not own:
            raise UserError(f"METHOD is no method {name!r}; write METHOD = derived(…).")
        if not own:
            raise UserError("It states no METHOD; write METHOD = derived(…).")
    except Exception as error:  # the folder is being written, perhaps by somebody else
        raise UserError(fault(settings, error, "METHOD")) from error
    _check_files(folders[name], stated.paper)
    return stated


@functools.cache
def _check_files(folder: Path, run: RunConfig) -> None:
    """Refuse what is wrong with a method's files, by their text. Raises UserError with the line."""
    sections = [type(getattr(run, field.name)) for field in dataclasses.fields(run)]
    own = [kind for kind in sections if kind.__module__ == f"{PACKAGE}.{folder.name}.settings"]
    file = folder / "model.py"
    settings = folder / "settings.py"
    write = "write one, as CONTRIBUTING.md says"
    with_torch = r"\s*(import|from) (torch|transformers|core\.engine)\b"
    wrong = any(
        re.match(with_torch, line) for line in settings.read_text(encoding="utf-8").splitlines()
    )
    where = place(settings, with_torch)
    if wrong:
        raise UserError(
            f"{where}: settings are read without torch; move what needs it to model.py."
        )
    if not file.is_file():
        raise UserError(f"{place(file, '')}: There is no such file; {write}.")
    text = file.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text, str(file))
    except SyntaxError as error:
        raise UserError(fault(file, error)) from error
    stated = re.search(r"^(class Model\b|Model = |from .* import .*\bModel\b)", text, re.MULTILINE)
    if not stated:
        raise UserError(f"{place(file, '')}: It states no Model; {write}.")
    for model in [
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model"
    ]:
        for named in [node for node in ast.walk(model) if isinstance(node, ast.Attribute)]:
            path = re.fullmatch(r"self\.config\.(\w+)\.(\w+)", ast.unparse(named))
            # None, too, where the run leaves it out
            section = getattr(run, path[1], run) if path else None
            if path and section is not None and not hasattr(section, path[2]):
                raise UserError(
                    f"{place(file, '', named.lineno)}: {unknown(run, f'{path[1]}.{path[2]}')}"
                )
        functions = {node.name: node for node in model.body if isinstance(node, ast.FunctionDef)}
        for name, node in functions.items():
            where = place(file, "", node.lineno)
            hook = HOOKS.get(name)
            near = difflib.get_close_matches(name.strip("_"), HOOKS, n=1, cutoff=0.7)
            if not hook and set(near) - functions.keys():
                raise UserError(f"{where}: {name} is no hook; did you mean {''.join(near)}?")
            arguments = len(node.args.args)
            if hook and arguments != len(hook):
                raise UserError(f"{where}: write def {name}({', '.join(hook or ())}).")
        left_out = "TwoViews" in map(ast.unparse, model.bases) and "contrast" not in functions
        where = place(file, "", model.lineno)
        if left_out:
            raise UserError(
                f"{where}: Model leaves out contrast; write def contrast(self, first, second)."
            )
        for field in (field for kind in own for field in public_names(kind)):
            where = place(settings, rf"\s*{field}_?:")
            is_read = re.search(rf"\.{field}_?\b", text)
            if not is_read:
                raise UserError(
                    f"{where}: model.py does not read {field}; read it there, or leave it out."
                )


def model(name: str) -> ModuleType:
    """The module that trains a method's runs; it needs torch."""
    return importlib.import_module(f"{PACKAGE}.{name}.model")


def code_digest(name: str) -> str:
    """SHA-256 of what the files of a method's folder say, 16 digits; comments do not count."""
    files = sorted(_folders()[name].glob("*.py"))
    texts = [
        f"{file.name}\n{ast.dump(ast.parse(file.read_text(encoding='utf-8')))}\n" for file in files
    ]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


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
    steps = {
        "paper": {},
        "repaired": stated.repaired,
        "released": over(stated.repaired, stated.released),
    }
    return {
        path: value.get(read(run, path), read(run, path)) if isinstance(value, Mapping) else value
        for path, value in steps[profile].items()
        if getattr(run, path.partition(".")[0]) is not None
    }


def deviating(name: str) -> dict[str, dict[str, object]]:
    """By profile, the paths in which the profiles differ with the value of each, without the seed's
    (D35). A study whose base changes hold those of `paper` stays on the paper's side under every
    profile."""
    differing = [
        path for path in profile_changes(method(name).paper, "released") if path != "seed.data"
    ]
    return {
        profile: {path: read(base(name, profile), path) for path in differing}
        for profile in PROFILES
    }
