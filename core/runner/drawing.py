"""Drawing what is stored: the files of studies, and the page over all of them. The report is imported when it is needed."""

from __future__ import annotations

import importlib
from pathlib import Path

from core.runner import files, sources as finding
from core.runner.cli import Options
from core.runner.store import Store
from core.spec.base import PROFILES
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.scale import SCALES, Scale
from core.spec.study import Study


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`."""

    def __init__(self, options: Options, profile: str, store: Store, results: Path, figures: Path):
        self.options, self.profile, self.store = options, profile, store
        self.results = self.tables = results
        self.figures = figures

    def draw(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int) -> int:
        """Draw studies, and with --all the page over them, beside the other profile where that is begun; the exit status."""
        sections = self.render(studies, scale, found, seeds)
        if self.options.all:
            other = next(name for name in PROFILES if name != self.profile)
            self.pages(sections, self.gathered(studies, scale, found, seeds, other))
        return 0

    def gathered(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int, profile: str) -> list:
        """The sections of a profile that is only shown beside another: nothing is drawn."""
        report = importlib.import_module("core.report.render")
        begun = [study for study in studies if self.begun(study, profile, scale, found, seeds)]
        return report.gathered(begun, profile, scale, found.sources, seeds, self.store)

    def redraw(self, studies: list[Study]) -> int:
        """Draw every study of every scale and profile of which a whole seed is stored; the exit status."""
        print("Every scale and profile with stored runs, since --all names none; choose with --scale and --profile.")
        known = finding.recorded(self.store)
        for scale in SCALES.values():
            found = finding.demo_sources() if scale.name == "demo" else known.get(scale.name)
            if found is None:
                continue
            self.redraw_scale(studies, scale, found)
        return 0

    def redraw_scale(self, studies: list[Study], scale: Scale, found: finding.Found) -> None:
        """Draw every study of a scale of which a whole seed is stored, under each profile, and the pages over them."""
        seeds = self.options.seeds or scale.seeds
        drawn = {}
        for profile in PROFILES if self.options.profile is None else (self.options.profile,):
            begun = [study for study in studies if self.begun(study, profile, scale, found, seeds)]
            drawn[profile] = self.render(begun, scale, found, seeds, profile) if begun else []
        for profile, sections in drawn.items():
            others = next((other for name, other in drawn.items() if name != profile), [])
            self.pages(sections, others)

    def pages(self, sections: list, others: list) -> None:
        """Write the page over these studies."""
        for line in importlib.import_module("core.report.render").render_page(sections, others, self.tables):
            print(line)

    def begun(self, study: Study, profile: str, scale: Scale, found: finding.Found, seeds: int) -> bool:
        """Whether at least one seed of the study is stored in every cell, of one's own or published; a run that another study
        happens to share does not make a table, and neither do a few seeds a study that is about many."""
        here, wanted = study.at(scale), max(seeds, study.least_seeds)
        runs = [
            here.configs(cell, profile=profile, scale=scale, sources=found.sources, seeds=wanted)
            for cell in here.cells if here.unavailable(cell, scale, found.sources) is None
        ]
        whole = [all(self.store.has(run_id(config), use_published=True) for config in seed) for seed in zip(*runs)]
        return sum(whole) >= study.least_seeds

    def render(self, studies: list[Study], scale: Scale, found: finding.Found, seeds: int, profile: str | None = None) -> list:
        """Draw tables and figures from what is stored; the page's sections."""
        report = importlib.import_module("core.report.render")  # matplotlib takes its time, and planning needs none

        def drawn() -> object:
            return report.render(studies, profile or self.profile, scale, found.sources, seeds, self.store, self.tables, self.figures)

        try:
            summary = drawn()
        except OSError as error:
            place = Path(error.filename or self.tables)
            if error.errno not in files.FORBIDDEN or self.tables != self.results:
                raise UserError(files.trouble(place, error)) from error
            self.tables, self.figures = Path.cwd() / "redrawn" / "results", Path.cwd() / "redrawn" / "figures"
            print(f"{place} may not be written, so tables and figures go to {Path.cwd() / 'redrawn'}.")
            try:
                summary = drawn()
            except OSError as again:
                raise UserError(files.trouble(self.tables, again)) from again
        print("\n".join(summary.lines))
        if summary.missing:
            print(f"{summary.missing} runs are missing; their cells are left open.")
        if summary.published:
            print(f"{summary.published} runs come from the project's published results, not from this machine.")
        return summary.sections
