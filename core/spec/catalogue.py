"""Papers and studies, found in folders: a paper is a folder whose `__init__.py` states PAPER, a study any
other file in it, which states STUDY. Files whose names begin with an underscore are left out.

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
from typing import Any

from core.spec.check import check_comparisons, check_configurations, check_names, check_shape
from core.spec.errors import UserError, nearest
from core.spec.study import Study
from core.spec.table import Paper

HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file."""

    file: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        place = self.file.relative_to(HOME) if self.file.is_relative_to(HOME) else self.file
        return f"{place}, line {self.line}: {self.sentence}"


class Catalogue:
    """Every paper and study of some folders, in order."""

    def __init__(self, papers: Mapping[str, Paper], files: Mapping[Path, Study | Fault]):
        self.papers = tuple(papers.values())
        self.faults = tuple(stated for stated in files.values() if isinstance(stated, Fault))
        self._files = {path: stated for path, stated in files.items() if isinstance(stated, Study)}
        self.studies = tuple(self._files.values())
        self.groups = {
            folder: tuple(study for path, study in self._files.items() if path.parent.name == folder)
            for folder in papers
        }

    def find(self, name: str) -> Study:
        """The study of that name. Raises UserError: the study's fault, or the nearest name.

        Without the paper, a name means the first study that has it: `table7` is `mocose-table7`.
        """
        short = {s.name.removeprefix(f"{path.parent.name}-"): s for path, s in reversed(self._files.items())}
        studies = {**short, **{study.name: study for study in self.studies}}
        if name in studies:
            return studies[name]
        for fault in self.faults:
            stem = fault.file.stem.replace("_", "-")
            if name in (stem, f"{fault.file.parent.name}-{stem}"):
                raise UserError(str(fault))
        if name in self.groups:
            example = self.groups[name][0].name
            hint = f"name one of them, such as {example}"
            raise UserError(f"{name} stands for all studies of its folder; {hint}.")
        names = ", ".join(study.name for study in self.studies)
        hint = nearest(name.lower(), [*studies, *self.groups], f"choose one of {names}.", cutoff=0.5)
        unread = "".join(f" A file cannot be read: {fault}" for fault in self.faults)
        raise UserError(f"There is no study {name[:80]!r}; {hint}{unread}")

    def check(self, study: Study) -> None:
        """Refuse a study of which some cell makes no run. Raises UserError with the file and line."""
        try:
            check_configurations(study)
            check_comparisons(study)
        except UserError as error:
            file = next((path for path, other in self._files.items() if other.name == study.name), HOME)
            raise UserError(str(_fault(file, error, "STUDY"))) from error


def catalogue(*folders: Path) -> Catalogue:
    """The papers and studies under these folders; what is wrong with one is among the faults."""
    papers: dict[str, Paper] = {}
    files: dict[Path, Study | Fault] = {}
    for place in [path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir()]:
        paths, facts = (
            sorted(path for path in place.glob("[!_.]*.py") if path.is_file()),
            place / "__init__.py",
        )
        if not paths and not facts.is_file():
            continue
        try:
            paper = _stated(facts, "PAPER", Paper)
            if place.name in papers or paper.key in [other.key for other in papers.values()]:
                raise UserError(f"The paper {paper.key} is there already; give this folder another key.")
        except Exception as error:
            files[facts] = _fault(facts, error, "PAPER")
            continue
        papers[place.name] = paper
        files |= {path: _study(path, paper) for path in paths}
    papers = dict(sorted(papers.items(), key=lambda item: (item[1].order, item[0])))
    ranks = {folder: number for number, folder in enumerate(papers)}
    ordered = sorted(
        files.items(), key=lambda file: (ranks.get(file[0].parent.name, len(ranks)), *_order(*file))
    )
    return Catalogue(papers, _distinct(dict(ordered)))


def _study(path: Path, paper: Paper) -> Study | Fault:
    """The study of a file, with its paper's facts, or what is wrong with it."""
    try:
        study = _stated(path, "STUDY", Study)
        if study.paper != paper.key:
            hint = f"it holds studies of {paper.key}"
            raise UserError(f"There is no paper {study.paper} in this folder; {hint}.")
        if study.settings or study.varied:
            raise UserError("A file's study has no settings, which a command gives; use base_changes.")
        check_shape(study)
        check_names(study)
        return replace(study, source=paper)
    except Exception as error:  # whatever a file does when it is run, other studies go on
        return _fault(path, error, "STUDY")


def _stated(file: Path, name: str, kind: type) -> Any:
    """What a file states under a name. Raises what its code raises, and UserError without it."""
    if not file.is_file():
        raise UserError(f"There is no such file; write one that states the {name} of this folder's studies.")
    spec = importlib.util.spec_from_file_location(f"studies.{file.parent.name}.{file.stem}", file)
    assert spec is not None and spec.loader is not None, "a file that ends in .py"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise UserError(f"It ends the command (exit {error.code}); it may only state {name}.") from error
    if not isinstance(value := getattr(module, name, None), kind):
        hint = f"write {name} = {kind.__name__}(…), or begin the file's name with an underscore"
        raise UserError(f"It states no {name}; {hint}.")
    return value


def _distinct(files: Mapping[Path, Study | Fault]) -> dict[Path, Study | Fault]:
    """The files, with a fault where a study name or a claim key belongs to an earlier file or a folder."""
    taken = {f"name {path.parent.name}": path.parent.name for path in files}
    checked = dict(files)
    for path, study in files.items():
        if not isinstance(study, Study):
            continue
        own = [f"name {study.name}", *(f"key {claim.key}" for claim in study.claims)]
        for text in own:
            if text in taken and path in checked and not isinstance(checked[path], Fault):
                sentence = f"The {text} is that of {taken[text]}, too; give each its own."
                checked[path] = _fault(path, UserError(sentence), "STUDY")
        if not isinstance(checked[path], Fault):
            taken |= dict.fromkeys(own, f"{path.parent.name}/{path.name}")
    return checked


def _order(path: Path, study: Study | Fault) -> tuple:
    """Where a study stands in its paper: by its order, then tables, figures and others, each by number."""
    if isinstance(study, Fault):
        return (sys.maxsize, 0, [], path.name)
    first = study.title.partition(" ")[0]
    kind = ("Table", "Figure").index(first) if first in ("Table", "Figure") else 2
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split("([0-9]+)", study.title)]
    return (study.order, kind, parts, study.name)


def _fault(file: Path, error: BaseException, stated: str) -> Fault:
    """An error with its line in the file: the traceback's, else the line that states PAPER or STUDY."""
    text = " ".join(str(error).split())
    sentence = (
        text if isinstance(error, UserError) else f"{type(error).__name__}: {text[:300]}; mend that line."
    )
    causes = [one for one in (error, error.__cause__) if one is not None]
    frames = [frame for one in causes for frame in traceback.extract_tb(one.__traceback__)]
    lines = [frame.lineno for frame in frames if frame.filename == str(file) and frame.lineno]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        sentence, lines = f"It is no Python ({error.msg}); mend that line.", [error.lineno or 1]
    if isinstance(error, ImportError) and (module := sys.modules.get(error.name or "")) is not None:
        names = [
            name for name, value in vars(module).items() if getattr(value, "__module__", "") == error.name
        ]
        sentence += f" There are {', '.join(name for name in names if not name.startswith('_'))}."
    if not lines and file.is_file():
        source = file.read_text(encoding="utf-8", errors="replace").splitlines()
        lines = [number for number, line in enumerate(source, 1) if re.match(rf"{stated}\b", line)]
    return Fault(file, lines[-1] if lines else 1, sentence)
