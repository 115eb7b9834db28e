"""What can be set: every field with its type, defaults and meaning; and what a D-number stands
for."""

from __future__ import annotations

import re
from functools import cache

from core.spec import methods
from core.spec.errors import HOME, UserError, nearest
from core.spec.methods import PROFILES, SETTLED, base
from core.spec.run import RunConfig
from core.spec.section import (
    Section,
    describe,
    field_types,
    meanings,
    public_names,
    section_classes,
)

FILE = HOME / "studies" / "reference" / "deviations.md"
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
    return dict(ENTRY.findall(FILE.read_text(encoding="utf-8")))


def explained(*texts: str) -> tuple[str, ...]:
    """A note for each D-number in these texts, each once, in the file's order: "D21: The code
    …"."""
    mentioned = {number for text in texts for number in NUMBER.findall(text)}
    return tuple(
        f"{number}: {sentence}"
        for number, sentence in explanations().items()
        if number in mentioned
    )


def fields() -> list[tuple[str, type[Section]]]:
    """Path and section class of every field, those of every method first; two sections may share a
    name (queue)."""
    runs: list[type[RunConfig]] = [
        RunConfig,
        *(methods.method(name).run for name in methods.names()),
    ]
    hints = [item for run in runs for item in field_types(run).items()]
    sections = dict.fromkeys((name, kind) for name, hint in hints for kind in section_classes(hint))
    listed = [(f"{name}.{field}", kind) for name, kind in sections for field in public_names(kind)]
    return [*listed, ("scale", RunConfig), ("method", RunConfig)]


def described(section: str | None = None) -> str:
    """The fields of a section, or of all, as --fields prints them: name, type, D-numbers, meaning,
    default or what settles it. Raises UserError for a section that no run has."""
    lines = [HEAD]
    names = list(dict.fromkeys(path.partition(".")[0] for path, _ in fields()))
    hint = nearest(str(section), names, f"there are {', '.join(names)}.")
    for path, kind in fields():
        if section in (None, path, path.partition(".")[0]):
            name = path.rpartition(".")[2]
            choices = (
                describe(field_types(kind)[public_names(kind)[name]])
                .replace("'", "")
                .replace("finite ", "")
            )
            meaning, _, numbers = meanings(kind).get(name, "").partition(" (D")
            deviations = ", ".join(re.findall(r"D[0-9]+", f"D{numbers}"))
            lines += [f"{path:30}  {choices}  {deviations}".rstrip()]
            lines += [f"    {meaning[:1].upper()}{meaning[1:]}."] if meaning else []
            option = SETTLED.get(path)
            lines += [
                f"    Settled by {option}." if option else f"    Default: {_default(path, kind)}."
            ]
    if len(lines) == 1:
        raise UserError(f"There is no section {str(section)[:80]!r}; {hint}")
    return "\n".join(lines)


def _default(path: str, kind: type[Section]) -> str:
    """The default in words, with the methods that have it; three values are those of the three
    profiles."""
    section, _, name = path.partition(".")
    having: dict[str, list[str]] = {}  # methods by default
    for method in methods.names():
        runs = [base(method, profile) for profile in PROFILES]
        owners = [
            getattr(run, section) for run in runs if isinstance(getattr(run, section, None), kind)
        ]
        texts = [str(getattr(owner, public_names(kind)[name])).lower() for owner in owners]
        having.setdefault(" / ".join(texts if len(set(texts)) > 1 else texts[:1]), []).append(
            method
        )
    words = [f"{text} ({', '.join(names)})" for text, names in having.items() if text]
    return "; ".join(words) or "none; no run has the section unless its cell brings it in"
