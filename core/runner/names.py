"""Which studies a command's words mean: their names, a paper's, a claim's, or a table's number."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import UserError
from core.runner.cli import INSTALLED, program
from core.study.catalogue import Catalogue

MOST_HINTS = 6  # studies that a sentence lists
TABLE_NUMBER = re.compile("[a-zA-Z]?[0-9]+[a-z]?")
NUMBERED_TABLE = re.compile("(table|figure|fig)[-_.]?([a-z]?[0-9]+[a-z]?)", re.IGNORECASE)
OPTIONS_MEANT = ("plan", "list", "all", "resolve", "fields", "version", "help")  # often given bare


def studies_meant(words: Sequence[str], catalogue: Catalogue) -> list[str]:
    """The names of studies and papers that these words mean; prints what a word was read as.
    Raises UserError for a word that names several studies, or an option without its hyphens."""
    names: list[str] = []
    for name in _with_papers(joined_numbers(words), catalogue):
        study = _of_claim(name, catalogue)
        if study:
            print(f"{name} is a claim of {study}.")
        if not study and _is_name(name.lower(), catalogue):
            name = name.lower()
        names.append(study or name)
    for name in names:
        _refuse_guess(name, catalogue)
    return names


def _is_name(name: str, catalogue: Catalogue) -> bool:
    """Whether a word names a paper or a study, with its paper or without."""
    if name in catalogue.groups:
        return True
    return any(f"-{study.name}".endswith(f"-{name}") for study in catalogue.studies)


def typed_command() -> list[str]:
    """The words that start this program from the current folder, as it was started now."""
    script = sys.argv[0]
    name = program()
    if name == INSTALLED:
        return [_as_typed(script)]
    if Path(script).name != name:  # started by other code
        script = name
    return [_as_typed(sys.executable), script]


def _as_typed(program: str) -> str:
    """A program by its name where the shell finds it so, else by its place, from here if it lies
    below."""
    name = Path(program).name
    if shutil.which(name) == program:
        return name
    place = os.path.relpath(program)
    return program if place.startswith(os.pardir) else place


def joined_numbers(words: Sequence[str]) -> list[str]:
    """The words with `table 7` as `table7`."""
    names: list[str] = []
    for word in words:
        if names and names[-1].lower() in ("table", "figure") and TABLE_NUMBER.fullmatch(word):
            names[-1] = f"{names[-1]}{word}".lower()
        else:
            names.append(word)
    return names


def _with_papers(words: Sequence[str], catalogue: Catalogue) -> list[str]:
    """The words with `mocose table7` as `mocose-table7`; prints which were read so."""
    studies = {study.name for study in catalogue.studies}
    names: list[str] = []
    for word in words:
        whole = f"{names[-1]}-{word}" if names else ""
        if whole in studies and names[-1] in catalogue.groups:
            print(f"{names[-1]} {word} is read as {whole}.")
            names[-1] = whole
        else:
            names.append(word)
    return names


def _of_claim(key: str, catalogue: Catalogue) -> str:
    """The name of the study that has a claim; empty without one."""
    for study in catalogue.studies:
        if any(claim.key.lower() == key.lower() for claim in study.claims):
            return study.name
    return ""


def _refuse_guess(name: str, catalogue: Catalogue) -> None:
    """Raise UserError for a name of no study that yet says what is meant."""
    if _is_name(name, catalogue) or catalogue.faults_of(name):
        return
    if name.lower() in OPTIONS_MEANT:
        raise UserError(f"There is no study {name!r}; did you mean --{name.lower()}?")
    numbered = NUMBERED_TABLE.fullmatch(name)
    if numbered:
        number = numbered[2].lower()
        near = []
        for study in catalogue.studies:
            if study.name.endswith((f"table{number}", f"figure{number}")):
                near.append(study.name)
        if near:
            raise UserError(f"There is no study {name!r}; did you mean {' or '.join(near)}?")
        return
    about = []
    for study in catalogue.studies:
        if len(name) > 3 and name.lower() in f"{study.title} {study.caption}".lower():
            about.append(study.name)
    if about:
        more = f" and {len(about) - MOST_HINTS} more" if len(about) > MOST_HINTS else ""
        raise UserError(
            f"There is no study {name[:80]!r}; these are about it: "
            f"{', '.join(about[:MOST_HINTS])}{more}."
        )
