"""Which studies a command is about, and what it says of faulty studies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.spec import methods
from core.spec.catalogue import Fault
from core.spec.errors import UserError
from core.spec.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The studies that exist. `find` gives a study by its name; `check` refuses a study with a cell that makes no run; `faults` say what
    is wrong with files whose studies are left out."""

    studies: Sequence[Study]
    find: Callable[[str], Study]
    groups: Mapping[str, Sequence[Study]] = field(
        default_factory=dict
    )  # names that stand for several studies
    faults: Sequence[Fault] = ()
    check: Callable[[Study], None] = lambda study: None

    def named(self, names: Sequence[str]) -> list[Study]:
        """The studies of these names, each once. Raises UserError for a study that does not exist or is wrong."""
        found: dict[str, Study] = {}
        for name in names:
            if wrong := [fault for fault in self.faults if fault.file.parent.name == name]:
                raise UserError(str(wrong[0]))
            if name in self.groups:
                found |= {study.name: study for study in self.groups[name]}
                continue
            study = self.find(name)
            found[study.name] = study
            others = [
                other.name
                for other in self.studies
                if other.name.endswith(f"-{name}") and other.name != study.name
            ]
            if others:
                print(f"{name} is {study.name}; {' and '.join(others)} has to be named in full.")
        return list(found.values())

    def chosen(self, names: Sequence[str], every: bool) -> list[Study]:
        """The studies of these names, or every study. Raises UserError if a chosen study is wrong; prints what is wrong with the others."""
        if every and self.faults:
            more = (
                f" ({len(self.faults) - 1} more files are wrong; see --list.)" if len(self.faults) > 1 else ""
            )
            raise UserError(f"{self.faults[0]}{more}")
        studies = list(self.studies) if every else self.named(names)
        for study in studies:
            self.check(study)
        for fault in self.faults:
            print(f"Passed over: {fault}")
        return studies

    def list(self, names: Sequence[str]) -> int:
        """Print the papers and studies, or the named studies, and the faults of each; the exit status is 2 if a study has a fault."""
        wrong = [str(fault) for fault in self.faults]
        studies = self.named(names) or self.studies
        for paper in dict.fromkeys(study.source for study in studies if study.source is not None):
            print(
                ", ".join(
                    filter(None, (f"{paper.name}, {paper.authors}: {paper.title}", paper.link, paper.code))
                )
            )
        for study in studies:
            print(
                f"{study.name:20} {study.paper_name}, {study.title}: {study.caption} ({len(study.cells)} cells)"
            )
            try:
                self.check(study)
            except UserError as error:
                wrong.append(str(error))
        for method in methods.names():
            try:
                methods.method(method)
            except UserError as error:
                wrong.append(str(error))
        for sentence in wrong:
            print(sentence, file=sys.stderr)
        return 2 if wrong else 0
