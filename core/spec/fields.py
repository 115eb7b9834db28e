"""What can be set: every field of a run's configuration with its type, its default under each profile and
what it means.

Names, types and meanings come from the sections themselves (`Annotated[type, meaning]`), defaults from
`core.spec.methods`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.spec import methods
from core.spec.errors import UserError, nearest
from core.spec.methods import PROFILES, base, settled_by
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, describe, field_types, meanings, public_names

FILE = Path(__file__).parents[2] / "studies" / "reference" / "deviations.md"
ENTRY = re.compile(r"^\*\*(D\d+)\. (.+)\*\*$", re.MULTILINE)
NUMBER = re.compile(r"\bD\d+\b")


@cache
def explanations() -> dict[str, str]:
    """One sentence a D-number, in the file's order."""
    return dict(ENTRY.findall(FILE.read_text(encoding="utf-8")))


def explained(*texts: str) -> tuple[str, ...]:
    """A note for each D-number in these texts, each once, in the file's order: "D21: The code …"."""
    mentioned = {number for text in texts for number in NUMBER.findall(text)}
    return tuple(
        f"{number}: {sentence}" for number, sentence in explanations().items() if number in mentioned
    )


HEAD = (
    "Defaults are in the papers' units; a scale changes counts, widths and rates by its rules. Set "
    "a field with --set, for example\n"
    "run_study.py table3 --set loss.temperature=0.1. D-numbers name differences between a paper and its code."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field. `defaults` are values by method and profile, of the methods whose runs have the section."""

    path: str
    choices: str  # the values that it takes, in words
    deviations: tuple[str, ...]  # D-numbers
    meaning: str
    defaults: dict[str, dict[str, object]]
    settled: str | None  # the option that settles it, if --set may not

    def lines(self) -> list[str]:
        """The field as --fields prints it: name, type, D-numbers, meaning, default or what settles it."""
        last = f"Settled by {self.settled}." if self.settled else f"Default: {in_words(self.defaults)}."
        meaning = [f"    {self.meaning[:1].upper()}{self.meaning[1:]}."] if self.meaning else []
        return [
            f"{self.path:30}  {self.choices}  {', '.join(self.deviations)}".rstrip(),
            *meaning,
            f"    {last}",
        ]


def fields(section: str | None = None) -> list[Field]:
    """Every field of that section, or of all. Raises UserError for a section that no run has."""
    listed = [_field(name, kind, own) for name, kind in _sections() for own in public_names(kind)]
    listed += [_field("", RunConfig, name) for name in ("scale", "method")]
    chosen = [field for field in listed if section in (None, field.path, field.path.partition(".")[0])]
    if not chosen:
        names = list(dict.fromkeys(field.path.partition(".")[0] for field in listed))
        hint = nearest(str(section), names, f"there are {', '.join(names)}.")
        raise UserError(f"There is no section {str(section)[:80]!r}; {hint}")
    return chosen


def _sections() -> list[tuple[str, type[Section]]]:
    """The sections of runs by name, those of every method first; two may share a name (queue)."""
    runs: list[type[Section]] = [RunConfig, *(methods.method(name).run for name in methods.names())]
    kinds = [
        (name, option)
        for run in runs
        for name, hint in field_types(run).items()
        for option in alternatives(hint)
    ]
    return list(
        dict.fromkeys(
            (name, kind) for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)
        )
    )


def _field(section: str, kind: type[Section], name: str) -> Field:
    """The field of this public name in a section of this kind; a section without a name is the run itself."""
    path, own = (f"{section}.{name}" if section else name), public_names(kind)[name]
    choices = (
        describe(field_types(kind)[own])
        .replace("'", "")
        .replace(" below 2**53", "")
        .replace("a finite number", "a number")
    )
    meaning, _, numbers = meanings(kind).get(name, "").partition(" (D")
    defaults: dict[str, dict[str, object]] = {}
    for method in methods.names() if section else ():
        owners = {profile: getattr(base(method, profile), section, None) for profile in PROFILES}
        if all(isinstance(owner, kind) for owner in owners.values()):
            defaults[method] = {profile: getattr(owner, own) for profile, owner in owners.items()}
    return Field(
        path=path, choices=choices.replace(" or ranges", ", or ranges"),
        deviations=tuple(re.findall(r"D[0-9]+", f"D{numbers}")),
        meaning=meaning, defaults=defaults, settled=settled_by(path),
    )  # fmt: skip


def in_words(defaults: dict[str, dict[str, object]]) -> str:
    """Values by method and profile; equal ones are listed once."""
    if not defaults:
        return "none; no run has the section unless its cell brings it in"
    by_method = {
        method: _grouped({profile: _text(value) for profile, value in each.items()})
        for method, each in defaults.items()
    }
    words = {
        method: ", ".join(f"{text} under {' and '.join(profiles)}" for text, profiles in each.items())
        if len(each) > 1
        else next(iter(each))
        for method, each in by_method.items()
    }
    same = _grouped(words)
    if len(same) == 1 and len(defaults) == len(methods.names()):
        return next(iter(same))
    return "; ".join(f"{text} ({', '.join(names)})" for text, names in same.items())


def _grouped(texts: dict[str, str]) -> dict[str, list[str]]:
    """Names by their text."""
    groups: dict[str, list[str]] = {}
    for name, text in texts.items():
        groups.setdefault(text, []).append(name)
    return groups


def _text(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
