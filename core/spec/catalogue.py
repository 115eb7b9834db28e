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
from core.spec.errors import UserError, nearest
from core.spec.scale import SCALES
from core.spec.study import Study
from core.spec.table import Paper

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
class StudyFile:
    """A file that states a study, or its fault."""

    path: Path
    study: Study | None = None
    fault: Fault | None = None

    @property
    def folder(self) -> str:
        """The folder of its paper."""
        return self.path.parent.name

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of its study."""
        if self.study is not None:
            return (self.study.name,)
        return self.fault.names if self.fault is not None else ()


class Catalogue:
    """Every paper and study of some folders.

    Papers come by `order`; a paper's studies by theirs, then tables, figures and others, each by number.
    """

    def __init__(self, papers: Mapping[str, Paper], files: list[StudyFile]):
        self.papers = tuple(papers.values())
        self._files = files
        self.studies = tuple(file.study for file in files if file.study is not None)
        self.faults = tuple(dict.fromkeys(file.fault for file in files if file.fault is not None))
        self.groups = {folder: tuple(file.study for file in files if file.folder == folder and file.study is not None) for folder in papers}

    def find(self, name: str) -> Study:
        """The study of that name. Raises UserError: the study's fault, or the nearest name.

        Without the paper, a name means the first study that has it: `table7` is `mocose-table7`, `table11` `esimcse-table11`.
        """
        full = {known: file for file in reversed(self._files) for known in file.names}
        short = {known.removeprefix(f"{file.folder}-"): file for known, file in full.items()}
        file = full.get(name) or short.get(name)
        if file is None and name in self.groups:
            raise UserError(f"{name} stands for all studies of its folder; name one of them, such as {self.groups[name][0].name}.")
        if file is None:
            names = [study.name for study in self.studies]
            hint = nearest(name.lower(), [*names, *short, *self.groups], f"choose one of {', '.join(names)}.", cutoff=0.5)
            raise UserError(f"There is no study {name[:80]!r}; {hint}")
        if file.study is None:
            raise UserError(str(file.fault))
        return file.study

    def check(self, study: Study) -> None:
        """Refuse a study of which some cell makes no run. Raises UserError with the file and line."""
        for file in self._files:
            if file.study is not None and file.study.name == study.name:
                try:
                    check_configurations(study)
                except UserError as error:
                    raise UserError(str(_fault(file.path, error, (study.name,), "STUDY"))) from error


def catalogue(*folders: Path) -> Catalogue:
    """The papers and studies under these folders; what is wrong with one is among the faults."""
    papers: dict[str, Paper] = {}
    files: list[StudyFile] = []
    for place in [path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir()]:
        paths, facts = sorted(path for path in place.glob("[!_.]*.py") if path.is_file()), place / "__init__.py"
        if not paths and not facts.is_file():
            continue
        try:
            if not facts.is_file():
                raise UserError("There is no such file; write one that states the PAPER of this folder's studies.")
            paper = _stated(facts, "PAPER", Paper, f"studies.{place.name}")
            if any(paper.key == other.key for other in papers.values()) or place.name in papers:
                raise UserError(f"The paper {paper.key} is there already; give this folder and its PAPER a key of their own.")
        except Exception as error:
            names = tuple(name for path in paths for name in _names(path)) or (place.name,)
            files.append(StudyFile(path=facts, fault=_fault(facts, error, names, "PAPER")))
            continue
        papers[place.name] = paper
        files += [_read(path, paper) for path in paths]
    papers = dict(sorted(papers.items(), key=lambda item: (item[1].order, item[0])))
    ranks = {folder: number for number, folder in enumerate(papers)}
    files.sort(key=lambda file: (ranks.get(file.folder, len(ranks)), _order(file)))
    return Catalogue(papers, _distinct(files))


def _read(path: Path, paper: Paper) -> StudyFile:
    """The study of a file, with its paper's facts, or what is wrong with it."""
    names = _names(path)
    try:
        study = _stated(path, "STUDY", Study, f"studies.{path.parent.name}.{path.stem}")
        names = tuple(dict.fromkeys([study.name, *names]))
        if study.paper != paper.key:
            raise UserError(f"There is no paper {study.paper} in this folder; it holds studies of {paper.key}.")
        if study.settings or study.varied:
            raise UserError("A file's study has no settings, which are what --set and --vary give; name these fields in base_changes.")
        check_shape(study)
        check_names(study, SETS)
        return StudyFile(path=path, study=replace(study, source=paper))
    except Exception as error:  # whatever a file does when it is run, other studies go on
        return StudyFile(path=path, fault=_fault(path, error, names, "STUDY"))


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


def _distinct(files: list[StudyFile]) -> list[StudyFile]:
    """The files, with a fault where a name or a claim's key is taken: by a paper's folder, another study, or an earlier claim."""
    folders = {file.folder for file in files}
    names: dict[str, list[StudyFile]] = {}
    keys: dict[str, StudyFile] = {}
    for file in files:
        if file.study is not None:
            names.setdefault(file.study.name, []).append(file)
            for claim in file.study.claims:
                keys.setdefault(claim.key, file)

    def checked(file: StudyFile) -> StudyFile:
        if file.study is None:
            return file
        name = file.study.name
        taken = [("study", f"name {name}", other) for other in names[name] if other is not file]
        taken += [("claim", f"key {claim.key}", keys[claim.key]) for claim in file.study.claims if keys[claim.key] is not file]
        if name in folders:
            sentence = f"{name} is a paper's folder, and stands for all studies in it; give the study another name."
        elif taken:
            kind, key, other = taken[0]
            sentence = f"The {key} is that of {other.folder}/{other.path.name}, too; give each {kind} its own."
        else:
            return file
        return StudyFile(path=file.path, fault=_fault(file.path, UserError(sentence), (name, *_names(file.path)), "STUDY"))

    return [checked(file) for file in files]


def _names(path: Path) -> tuple[str, ...]:
    """The names of an unreadable study, by its file."""
    stem = path.stem.replace("_", "-")
    return (f"{path.parent.name}-{stem}", stem)


def _order(file: StudyFile) -> tuple:
    """Where a study stands among its paper's: by its order, then tables, figures and others, each by number."""
    if file.study is None:
        return (sys.maxsize, 0, [], file.path.name)
    first = file.study.title.partition(" ")[0]
    kind = ("Table", "Figure").index(first) if first in ("Table", "Figure") else 2
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", file.study.title)]
    return (file.study.order, kind, parts, file.study.name)


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
