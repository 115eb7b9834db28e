"""What can be set: every field with its type, defaults and meaning; and what a D-number stands
for."""

from __future__ import annotations

import re
from functools import cache

from core.config import methods
from core.config.methods import PROFILES, SETTLED, base
from core.config.run import RunConfig
from core.config.section import Section, describe, fields_of, section_classes
from core.config.vary import value_at
from core.errors import HOME, UserError
from core.formatting import nearest

DEVIATIONS = HOME / "studies" / "reference" / "deviations.md"
ENTRY = re.compile(r"^\*\*(D\d+)\. (.+)\*\*$", re.MULTILINE)
NUMBER = re.compile(r"\bD\d+\b")
HEAD = (
    "Defaults are in the papers' units; a scale changes counts, widths and rates by its rules. "
    "Three values\n"
    "are those of the profiles paper, repaired and released. Set a field with --set, for example\n"
    "run_study.py table3 --set loss.temperature=0.1. D-numbers name differences between a paper "
    "and its code."
)


@cache
def explanations() -> dict[str, str]:
    """One sentence a D-number, in the file's order."""
    return dict(ENTRY.findall(DEVIATIONS.read_text(encoding="utf-8")))


def explained(*texts: str) -> tuple[str, ...]:
    """A note for each D-number in these texts, each once, in the file's order: "D21: The code
    …"."""
    mentioned = NUMBER.findall(" ".join(texts))
    entries = explanations().items()
    return tuple(f"{number}: {sentence}" for number, sentence in entries if number in mentioned)


def fields() -> list[tuple[str, type[Section]]]:
    """Path and section class of every field, those of every method first; two sections may share a
    name (queue)."""
    listed: dict[tuple[str, type[Section]], None] = {}  # in order, each once
    for run in (RunConfig, *(methods.method(name).run for name in _usable()[0])):
        for name, of_run in fields_of(run).items():
            for section in section_classes(of_run.hint):
                for field in fields_of(section):
                    listed[f"{name}.{field}", section] = None
    return [*listed, ("scale", RunConfig), ("method", RunConfig)]


def described(section: str | None = None) -> str:
    """The fields of a section, or of all, as --fields prints them. Raises UserError for a section
    that no run has."""
    lines = [HEAD]
    names: dict[str, None] = {}
    for path, kind in fields():
        name = path.partition(".")[0]
        names[name] = None
        if section in (None, path, name):
            lines += _described(path, kind)
    if len(lines) == 1:
        hint = nearest(str(section), names, f"there are {', '.join(names)}.")
        raise UserError(f"There is no section {str(section)[:80]!r}; {hint}")
    return "\n".join([*lines, *_usable()[1]])


@cache
def _usable() -> tuple[list[str], list[str]]:
    """The names of the methods that can be used, and what is wrong with others, in sentences."""
    names = []
    faults = []
    for name in methods.names():
        try:
            methods.method(name)
            names.append(name)
        except UserError as error:
            faults.append(f"Method {name} is left out. {error}")
    return names, faults


def _described(path: str, kind: type[Section]) -> list[str]:
    """The lines of one field: name and type, meaning with D-numbers, what settles it or the default
    with the methods that have it; three values are those of the three profiles."""
    section, _, name = path.partition(".")
    field = fields_of(kind)[name or path]
    choices = describe(field.hint).replace("'", "").replace("finite ", "")
    lines = [f"{path:30}  {choices}"]
    if field.meaning:
        lines.append(f"    {field.meaning[:1].upper()}{field.meaning[1:]}.")
    if path in SETTLED:
        return [*lines, f"    Settled by {SETTLED[path]}."]
    having: dict[str, list[str]] = {}  # methods by default
    for method in _usable()[0]:
        texts = []
        for profile in PROFILES:
            run = base(method, profile)
            if isinstance(getattr(run, section, None), kind):
                texts.append(str(value_at(run, path)).lower())
        if len(set(texts)) == 1:
            texts = texts[:1]
        having.setdefault(" / ".join(texts), []).append(method)
    words = [f"{text} ({', '.join(names)})" for text, names in having.items() if text]
    none = "none; no run has the section unless its cell brings it in"
    return [*lines, f"    Default: {'; '.join(words) or none}."]
