"""Drawing what is stored: the files of studies, and the page over all of them. The report is imported when it is needed."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.compare import repeats
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.profiles import PROFILES
from core.spec.scale import SCALES, Scale
from core.spec.study import Study
from core.store import files, locks
from core.store.console import say
from core.store.store import Store


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`."""

    def __init__(self, options: Options, profile: str, store: Store, results: Path, figures: Path):
        self.options, self.profile, self.store = options, profile, store
        self.results = self.tables = results
        self.figures = figures

    def draw(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int) -> int:
        """Draw studies, and with --all the page, over every scale and profile that is begun; the exit status."""
        sections = self.render(studies, scale, found, seeds)
        if not self.options.all:
            for section in sections:
                say(*importlib.import_module("core.report.terminal").terminal(section.result).split("\n"))
        if self.options.all:
            self.page(studies, {(scale.name, self.profile): sections})
        return 0

    def gathered(
        self, studies: list[Study], drawn: dict[tuple[str, str], list], known: dict[str, finding.Found]
    ) -> dict[tuple[str, str], list]:
        """The sections by scale and profile: those that are drawn, and all others that are begun, without a figure."""
        report = importlib.import_module("core.report.render")
        found = {}
        for scale in SCALES.values():
            sources = finding.demo_sources() if scale.name == "demo" else known.get(scale.name)
            for profile in PROFILES if sources is not None else ():
                if (scale.name, profile) in drawn:
                    found[scale.name, profile] = drawn[scale.name, profile]
                    continue
                seeds = self.options.seeds or scale.seeds
                begun = self.begun(studies, profile, scale, sources, seeds)
                found[scale.name, profile] = report.gathered(begun, profile, scale, sources.sources, seeds, self.store)
        return found

    def redraw(self, studies: list[Study]) -> int:
        """Draw every study of every scale and profile that is begun; the exit status."""
        print("Every scale and profile with stored runs, since --all names none; choose with --scale and --profile.")
        known = finding.recorded(self.store)
        drawn: dict[tuple[str, str], list] = {}
        for scale in SCALES.values():
            found = finding.demo_sources() if scale.name == "demo" else known.get(scale.name)
            if found is not None:
                drawn |= self.drawn(studies, scale, found, self.options.seeds or scale.seeds)
        self.page(studies, drawn, known)
        return 0

    def redraw_scale(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int) -> int:
        """Draw every study of a scale that is begun, under each profile, and the page over all that is begun; the exit status."""
        self.page(studies, self.drawn(studies, scale, found, seeds))
        return 0

    def drawn(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int) -> dict[tuple[str, str], list]:
        """The sections of a scale by scale and profile, drawn."""
        drawn = {}
        for profile in PROFILES if self.options.profile is None else (self.options.profile,):
            begun = self.begun(studies, profile, scale, found, seeds)
            drawn[scale.name, profile] = self.render(begun, scale, found, seeds, profile) if begun else []
        if not any(drawn.values()):
            print(f"No study of scale {scale.name} is begun; train one, and it can be redrawn.")
        return drawn

    def page(self, studies: list[Study], drawn: dict[tuple[str, str], list], known: dict[str, finding.Found] | None = None) -> None:
        """Write the page over all scales and profiles, of which these are drawn; `known` are the sources of the stored runs, if read already."""
        report = importlib.import_module("core.report.render")
        sections = self.gathered(studies, drawn, finding.recorded(self.store) if known is None else known)
        with self.writing(*((self.tables / scale / profile) for scale, profile in sections)):
            try:
                lines = report.render_index(studies, sections, self.store, self.tables, self.figures)
            except OSError as error:
                raise self.trouble(error) from error
        say(*lines)

    def trouble(self, error: OSError) -> UserError:
        """The sentence for a file that could not be drawn."""
        return UserError(files.trouble(Path(error.filename or self.tables), error))

    @contextlib.contextmanager
    def writing(self, *folders: Path) -> Iterator[None]:
        """Surroundings in which files are drawn into these folders and the results folder: what earlier commands left half-written is
        swept there, if no other command is drawing."""
        held = None
        with contextlib.suppress(UserError):  # a folder that may only be read; nothing is written there, or that is said
            held = locks.share(self.tables / ".locks" / "drawing.lock", lambda: files.sweep_all([self.tables, *folders]))
        try:
            yield
        finally:
            if held is not None:
                locks.release(held)

    def begun(self, studies: list[Study], profile: str, scale: Scale, found: finding.Found, seeds: int) -> list[Study]:
        """The studies that are begun: one seed is stored for every cell, or a run is stored that no other study asks for. A run that
        several studies share does not begin any of them. A study with `least_seeds` above 1 needs that many seeds in every cell."""
        asked = {study.name: self.asked(study.at(scale), profile, scale, found, max(seeds, study.least_seeds)) for study in studies}
        sharing = Counter(identity for by_seed in asked.values() for identity in set().union(*by_seed))

        def is_begun(study: Study) -> bool:
            by_seed = asked[study.name]
            there = {identity for seed in by_seed for identity in seed if self.store.has(identity, use_published=True)}
            if sum(there.issuperset(seed) for seed in by_seed) >= study.least_seeds:
                return True
            return study.least_seeds == 1 and any(sharing[identity] == 1 for identity in there)

        return [study for study in studies if is_begun(study)]

    def asked(self, study: Study, profile: str, scale: Scale, found: finding.Found, seeds: int) -> list[list[str]]:
        """The ids of the runs that a study asks for, one list a seed, without the cells that the scale cannot run."""
        runs = [
            [run_id(config) for config in study.configs(cell, profile=profile, scale=scale, sources=found.sources, seeds=seeds)]
            for cell in study.cells
            if study.unavailable(cell, scale, found.sources) is None
        ]
        return [list(seed) for seed in zip(*runs, strict=True)]

    def render(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int, profile: str | None = None) -> list:
        """Draw tables and figures from what is stored; the page's sections."""
        os.environ["MPLBACKEND"] = "agg"  # a name that matplotlib does not know would break its import; figures are files here
        report = importlib.import_module("core.report.render")  # matplotlib takes its time, and planning needs none

        def drawn() -> object:
            with self.writing(*(root / scale.name / (profile or self.profile) for root in (self.tables, self.figures))):
                return report.render(studies, profile or self.profile, scale, found.sources, seeds, self.store, self.tables, self.figures)

        try:
            summary = drawn()
        except OSError as error:
            if error.errno not in files.FORBIDDEN or self.tables != self.results:
                raise self.trouble(error) from error
            self.tables, self.figures = Path.cwd() / "redrawn" / "results", Path.cwd() / "redrawn" / "figures"
            say(f"{error.filename or self.tables} may not be written, so tables and figures go to {Path.cwd() / 'redrawn'}.")
            try:
                summary = drawn()
            except OSError as again:
                raise self.trouble(again) from again
        say(*summary.lines)
        if summary.missing:
            print(f"{summary.missing} runs are missing; their cells are left open.")
        if summary.published:
            print(f"{summary.published} runs come from the project's published results, not from this machine.")
        own = {run.run_id: run.rows for section in summary.sections for run in section.result.runs if run.source == "own"}
        if sentence := repeats(self.store, own):
            print(sentence)
        return summary.sections
