"""Finding papers and studies: a paper is a folder with an `__init__.py` that states PAPER, a study any other file in it, which
states STUDY. Nothing lists them. Files whose names begin with an underscore are passed over.

What is wrong with a file is kept as a fault with its place, so that commands on other studies go on.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from core.spec.check import check_configurations, check_names, check_shape
from core.spec.errors import UserError
from core.spec.paper import Paper
from core.spec.printable import nearest
from core.spec.scale import SCALES
from core.spec.study import Study

SETS = frozenset(name for scale in SCALES.values() for name in (*scale.tests, *scale.probes))
Stated = TypeVar("Stated", Paper, Study)
HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a file, and the names by which its study may be asked for, the full one first."""

    file: Path
    line: int
    sentence: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        place = self.file.relative_to(HOME) if self.file.is_relative_to(HOME) else self.file
        return f"{place}, line {self.line}: {self.sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file that holds a study. `study` is None where it has a fault."""

    file: Path
    folder: str
    study: Study | None = None
    fault: Fault | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The full names to which this answers."""
        if self.study is not None:
            return (self.study.name,)
        return self.fault.names if self.fault is not None else ()


class Catalogue:
    """Every paper and study of some folders, in order: papers by `order`; a paper's studies by theirs, then tables, figures and
    others, each by number."""

    def __init__(self, papers: Mapping[str, Paper], found: list[Found]):
        self.papers = tuple(papers.values())
        self._found = found
        self.studies = tuple(one.study for one in found if one.study is not None)
        self.faults = tuple(dict.fromkeys(one.fault for one in found if one.fault is not None))
        self.groups = {folder: tuple(one.study for one in found if one.folder == folder and one.study is not None) for folder in papers}

    def find(self, name: str) -> Study:
        """The study of that name; the paper may be left out, and the first that has such a study is meant: `table7` is
        `mocose-table7`, `table11` is `esimcse-table11`. Raises UserError: the study's fault, or the nearest name."""
        full = {known: one for one in reversed(self._found) for known in one.names}
        short = {known.removeprefix(f"{one.folder}-"): one for known, one in full.items()}
        one = full.get(name) or short.get(name)
        if one is None and name in self.groups:
            raise UserError(f"{name} stands for all studies of its folder; name one of them, such as {self.groups[name][0].name}.")
        if one is None:
            names = [study.name for study in self.studies]
            hint = nearest(name.lower(), [*names, *short, *self.groups], f"choose one of {', '.join(names)}.", cutoff=0.5)
            raise UserError(f"There is no study {name[:80]!r}; {hint}")
        if one.study is None:
            raise UserError(str(one.fault))
        return one.study

    def check(self, study: Study) -> None:
        """Refuse a study of which some cell makes no run. Raises UserError with the file and line."""
        one = next((one for one in self._found if one.study is not None and one.study.name == study.name), None)
        if one is None:
            return
        try:
            check_configurations(study)
        except UserError as error:
            raise UserError(str(_fault(one.file, error, (study.name,), "STUDY"))) from error


def catalogue(*folders: Path) -> Catalogue:
    """The papers and studies under these folders; what is wrong with one is among the faults."""
    papers: dict[str, Paper] = {}
    found: list[Found] = []
    for place in [path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir()]:
        files = sorted(path for path in place.glob("[!_.]*.py") if path.is_file())
        if not files and not (place / "__init__.py").is_file():
            continue
        try:
            if not (place / "__init__.py").is_file():
                raise UserError("There is no such file; write one that states the PAPER of this folder's studies.")
            paper = _stated(place / "__init__.py", "PAPER", Paper, f"studies.{place.name}")
            if any(paper.key == other.key for other in papers.values()) or place.name in papers:
                raise UserError(f"The paper {paper.key} is there already; give this folder and its PAPER a key of their own.")
        except Exception as error:
            names = tuple(name for file in files for name in _names(file)) or (place.name,)
            fault = _fault(place / "__init__.py", error, names, "PAPER")
            found.append(Found(file=place / "__init__.py", folder=place.name, fault=fault))
            continue
        papers[place.name] = paper
        found += [_read(file, paper) for file in files]
    papers = dict(sorted(papers.items(), key=lambda item: (item[1].order, item[0])))
    ranks = {folder: number for number, folder in enumerate(papers)}
    found.sort(key=lambda one: (ranks.get(one.folder, len(ranks)), _order(one)))
    return Catalogue(papers, _distinct(found))


def _read(file: Path, paper: Paper) -> Found:
    """The study of a file, with its paper's facts, or what is wrong with it."""
    folder = file.parent.name
    study = None
    try:
        study = _stated(file, "STUDY", Study, f"studies.{folder}.{file.stem}")
        if study.paper != paper.key:
            raise UserError(f"There is no paper {study.paper} in this folder; it holds studies of {paper.key}.")
        if study.settings or study.varied:
            raise UserError("A file's study has no settings, which are what --set and --vary give; name these fields in base_changes.")
        check_shape(study)
        check_names(study, SETS)
        return Found(file=file, folder=folder, study=replace(study, source=paper))
    except Exception as error:  # whatever a file does when it is run, other studies go on
        names = tuple(dict.fromkeys([*([study.name] if isinstance(study, Study) else []), *_names(file)]))
        return Found(file=file, folder=folder, fault=_fault(file, error, names, "STUDY"))


def _stated(file: Path, name: str, kind: type[Stated], module: str) -> Stated:
    """What a file states under a name. Raises whatever its code does, and UserError if the name is not there."""
    spec = importlib.util.spec_from_file_location(module, file)
    if spec is None or spec.loader is None:
        raise UserError(f"{file.name} cannot be read as Python.")
    made = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except SystemExit as error:
        raise UserError(f"It ends the command (exit {error.code}); it may only state {name}.") from error
    value = getattr(made, name, None)
    if not isinstance(value, kind):
        raise UserError(f"It states no {name}; write {name} = {kind.__name__}(…), or begin the file's name with an underscore.")
    return value


def _distinct(found: list[Found]) -> list[Found]:
    """The files, with a fault where a name or a claim's key is taken: by a paper's folder, another study, or an earlier claim."""
    folders = {one.folder for one in found}
    names: dict[str, list[Found]] = {}
    keys: dict[str, Found] = {}
    for one in found:
        if one.study is not None:
            names.setdefault(one.study.name, []).append(one)
            for claim in one.study.claims:
                keys.setdefault(claim.key, one)

    def checked(one: Found) -> Found:
        if one.study is None:
            return one
        name = one.study.name
        taken = [("study", f"name {name}", other) for other in names[name] if other is not one]
        taken += [("claim", f"key {claim.key}", keys[claim.key]) for claim in one.study.claims if keys[claim.key] is not one]
        if name in folders:
            sentence = f"{name} is a paper's folder, and stands for all studies in it; give the study another name."
        elif taken:
            kind, what, other = taken[0]
            sentence = f"The {what} is that of {other.folder}/{other.file.name}, too; give each {kind} its own."
        else:
            return one
        return replace(one, study=None, fault=_fault(one.file, UserError(sentence), (name, *_names(one.file)), "STUDY"))

    return [checked(one) for one in found]


def _names(file: Path) -> tuple[str, ...]:
    """What a study is called that nobody can read, by its file."""
    stem = file.stem.replace("_", "-")
    return (f"{file.parent.name}-{stem}", stem)


def _order(one: Found) -> tuple:
    """Where a study stands among its paper's: by its order, then tables, figures and others, each by number."""
    if one.study is None:
        return (sys.maxsize, 0, [], one.file.name)
    first = one.study.title.partition(" ")[0]
    kind = ("Table", "Figure").index(first) if first in ("Table", "Figure") else 2
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", one.study.title)]
    return (one.study.order, kind, parts, one.study.name)


def _fault(file: Path, error: BaseException, names: tuple[str, ...], stated: str) -> Fault:
    """An error as a sentence with its line in the file: the traceback's, else the line that states PAPER or STUDY."""
    text = " ".join(str(error).split())
    sentence = text if isinstance(error, UserError) else f"{type(error).__name__}: {text[:300]}; mend that line."
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return Fault(file=file, line=error.lineno or 1, sentence=f"It is no Python ({error.msg}); mend that line.", names=names)
    frames = [frame for one in (error, error.__cause__) if one is not None for frame in traceback.extract_tb(one.__traceback__)]
    lines = [frame.lineno for frame in frames if frame.filename == str(file) and frame.lineno]
    if not lines and file.is_file():
        text = file.read_text(encoding="utf-8", errors="replace")
        lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(rf"{stated}\b", line)]
    return Fault(file=file, line=lines[-1] if lines else 1, sentence=sentence, names=names)
