"""What can be set: every field of a run's configuration with its type, its default under each profile and what it means.

Names, types and meanings come from the sections themselves (`Annotated[type, meaning]`), defaults from `core.spec.profiles`.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from core.spec import methods
from core.spec.errors import UserError
from core.spec.methods import settled_by
from core.spec.printable import nearest
from core.spec.profiles import PROFILES, base
from core.spec.run import RunConfig
from core.spec.section import Section, alternatives, describe, field_types, meanings, public_name

HEAD = (
    "Defaults are in the papers' units; a scale changes counts, widths and rates by its rules. Set a field with --set, for example\n"
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
        """The field as --fields prints it: name, type and D-numbers, then its meaning, then its default or what settles it."""
        last = f"Settled by {self.settled}." if self.settled else f"Default: {spelled_defaults(self.defaults)}."
        meaning = [f"    {self.meaning[:1].upper()}{self.meaning[1:]}."] if self.meaning else []
        return [f"{self.path:30}  {self.choices}  {', '.join(self.deviations)}".rstrip(), *meaning, f"    {last}"]


def fields(section: str | None = None) -> list[Field]:
    """Every field of that section, or of all. Raises UserError for a section that no run has."""
    found = [field for name, kind in _sections() for field in _fields_of(name, kind)]
    found += [_field(name, "", RunConfig) for name in ("scale", "method")]
    if section is None:
        return found
    chosen = [field for field in found if field.path == section or field.path.partition(".")[0] == section]
    if not chosen:
        names = list(dict.fromkeys(field.path.partition(".")[0] for field in found))
        hint = nearest(section, names, f"there are {', '.join(names)}.")
        raise UserError(f"There is no section {section[:80]!r}; {hint}")
    return chosen


def spelled_defaults(defaults: dict[str, dict[str, object]]) -> str:
    """Values by method and profile in words; what is the same is said once."""
    by_values: dict[str, list[str]] = {}
    for method, values in defaults.items():
        by_values.setdefault(_by_profile(values), []).append(method)
    if not by_values:
        return "none; no run has the section unless its cell brings it in"
    if len(by_values) == 1 and len(defaults) == len(methods.names()):
        return next(iter(by_values))
    return "; ".join(f"{words} ({', '.join(methods)})" for words, methods in by_values.items())


def _by_profile(values: dict[str, object]) -> str:
    same: dict[str, list[str]] = {}
    for profile, value in values.items():
        same.setdefault(_spelled(value), []).append(profile)
    if len(same) == 1:
        return next(iter(same))
    return ", ".join(f"{word} under {' and '.join(profiles)}" for word, profiles in same.items())


def _choices(expected) -> str:
    """An annotation in the words of a list rather than of a refusal."""
    words = describe(expected).replace("'", "").replace(" below 2**53", "").replace("a finite number", "a number")
    return words.replace(" or ranges", ", or ranges")


def _spelled(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _sections() -> list[tuple[str, type[Section]]]:
    """The sections of runs by name, those of every method first; two methods' sections may share a name (queue)."""
    runs: list[type[Section]] = [RunConfig, *(methods.method(name).run for name in methods.names())]
    kinds = [(name, option) for run in runs for name, hint in field_types(run).items() for option in alternatives(hint)]
    return list(dict.fromkeys((name, kind) for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Section)))


def _fields_of(name: str, kind: type[Section]) -> list[Field]:
    return [_field(public_name(field.name), name, kind) for field in dataclasses.fields(kind)]


def _field(name: str, section: str, kind: type[Section]) -> Field:
    path = f"{section}.{name}" if section else name
    expected = next(hint for own, hint in field_types(kind).items() if public_name(own) == name)
    text = meanings(kind).get(name, "")
    meaning, _, rest = text.partition(" (D")
    numbers = re.findall(r"D\d+", f"D{rest}") if rest else []
    return Field(
        path=path, choices=_choices(expected), deviations=tuple(numbers), meaning=meaning,
        defaults=_defaults(section, kind, name), settled=settled_by(path),
    )  # fmt: skip


def _defaults(section: str, kind: type[Section], name: str) -> dict[str, dict[str, object]]:
    found = {}
    for method in methods.names():
        owners = {profile: getattr(base(method, profile), section, None) for profile in PROFILES} if section else {}
        if owners and all(isinstance(owner, kind) for owner in owners.values()):
            own = next(field.name for field in dataclasses.fields(kind) if public_name(field.name) == name)
            found[method] = {profile: getattr(owner, own) for profile, owner in owners.items()}
    return found
