"""Papers and studies, found in folders: a paper is a folder whose `__init__.py` states PAPER, a
study any other file in it, which states STUDY. Files whose names begin with an underscore are left
out.

What is wrong with a file is kept as a fault with its place, so that commands on other studies go
on.
"""

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import UserError, fault, place
from core.formatting import nearest
from core.study.check import check_runs, check_study
from core.study.study import Paper, Study

WRITE = {
    "PAPER": "write PAPER = Paper(…)",
    "STUDY": "write STUDY = study(…), or begin the file's name with an underscore",
}


class Catalogue:
    """Every paper and study of some folders, in order; and by file what is wrong with it, in a
    sentence."""

    def __init__(self, files: Mapping[Path, Study], faults: Mapping[Path, str]):
        self.files = files
        self.faults = faults
        self.studies = tuple(files.values())
        self.groups: dict[str, tuple[Study, ...]] = {}  # by folder
        for file, study in files.items():
            self.groups[file.parent.name] = (*self.groups.get(file.parent.name, ()), study)

    @property
    def folders(self) -> set[Path]:
        """The folders that hold the folders of papers."""
        return {file.parents[1] for file in (*self.files, *self.faults)}

    def find(self, name: str) -> Study:
        """The study of that name; without the paper, the first that has it: `table7` is
        `mocose-table7`. Raises UserError: the study's fault, or the nearest name."""
        studies: dict[str, Study] = {}
        for file, study in self.files.items():
            studies.setdefault(study.name.removeprefix(f"{file.parent.name}-"), study)
        studies |= {study.name: study for study in self.studies}
        if name in studies:
            return studies[name]
        for file, sentence in self.faults.items():  # of that study, or of its paper
            folder = file.parent.name
            stem = file.stem.replace("_", "-")
            of_paper = stem == "--init--" and name.startswith(f"{folder}-")
            if of_paper or name in (folder, stem, f"{folder}-{stem}"):
                raise UserError(sentence)
        hint = nearest(name.lower(), [*studies, *self.groups], "see --list.", cutoff=0.5)
        raise UserError(f"There is no study {name[:80]!r}; {hint}")

    def check(self, study: Study) -> None:
        """Refuse a study of which some cell makes no run. Raises UserError with the file and
        line."""
        try:
            check_runs(study)
        except UserError as error:
            file = next(path for path, other in self.files.items() if other.name == study.name)
            raise UserError(f"{place(file, 'STUDY')}: {error}") from error


def catalogue(*folders: Path) -> Catalogue:
    """The papers and studies under these folders; what is wrong with one is among the faults."""
    files = {}
    faults = {}
    papers = []
    for folder in folders:
        papers += [path for path in sorted(folder.glob("[!.]*")) if any(path.glob("[!_.]*.py"))]
    taken = {f"name {path.name}": path.name for path in papers}  # names and keys, with their owners
    for folder in papers:
        first = folder / "__init__.py"
        try:
            paper = _stated(first, "PAPER", Paper)
            if paper.key != folder.name:  # whichever of two folders comes first, a name is its own
                taken |= _owned([f"name {paper.key}"], folder, taken)
        except (Exception, SystemExit) as error:
            faults[first] = fault(first, error, "PAPER")
            continue
        for file in sorted(folder.glob("[!_.]*.py")):
            try:
                study = _with_names(_stated(file, "STUDY", Study), paper, file)
                check_study(study)
                keys = [f"key {claim.key}" for claim in study.claims]
                taken |= _owned([f"name {study.name}", *keys], file, taken)
                files[file] = study
            except (Exception, SystemExit) as error:  # whatever a file does, other studies go on
                faults[file] = fault(file, error, "STUDY")
    return Catalogue(dict(sorted(files.items(), key=_order)), faults)


def _owned(names: Sequence[str], owner: Path, taken: Mapping[str, str]) -> dict[str, str]:
    """These names and keys with their owner. Raises UserError for one that is another's."""
    for name in names:
        if name in taken:
            raise UserError(f"The {name} is that of {taken[name]}, too; give each its own.")
    return dict.fromkeys(names, f"{owner.parent.name}/{owner.name}")


def _stated(file: Path, name: str, kind: type) -> Any:
    """What a file states under a name. Raises what its code raises, and UserError without it."""
    if not file.is_file():
        raise UserError(f"There is no such file; write one that states {name}.")
    spec = importlib.util.spec_from_file_location(f"studies.{file.parent.name}.{file.stem}", file)
    assert spec is not None and spec.loader is not None, "a file that ends in .py"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    value = getattr(module, name, None)
    if not isinstance(value, kind):
        raise UserError(f"It states no {name}; {WRITE[name]}.")
    return value


def _with_names(study: Study, paper: Paper, file: Path) -> Study:
    """The study with the paper of its folder, and the name and title of its file's path where it
    states none."""
    stem = file.stem.replace("_", "-")
    kind = re.fullmatch("(table|figure)-?(.+)", stem)
    title = stem.replace("-", " ").capitalize()
    if kind:
        title = f"{kind[1].capitalize()} {kind[2]}"
    return replace(
        study,
        name=study.name or f"{file.parent.name}-{stem}",
        paper=paper.key,
        source=paper,
        title=study.title or title,
    )


def _order(item: tuple[Path, Study]) -> tuple:
    """Where a study stands: by its paper, its order, then tables, figures and others, each by
    number."""
    file, study = item
    kind = [not study.title.startswith(word) for word in ("Table", "Figure")]
    title = re.sub("[0-9]+", lambda number: number[0].zfill(9), study.title)
    assert study.source is not None, "`catalogue` puts it in"
    return (study.source.order, file.parent.name, study.order, kind, title, study.name)
