"""Drawing what is stored: the files of studies, and the page over all of them. The report is imported when it is needed."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.compare import repeats
from core.spec.conditions import Edition
from core.spec.errors import UserError, are, say
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.scale import SCALES, Scale, Sources
from core.spec.study import Study
from core.spec.table import Cell
from core.store import files, locks
from core.store.store import Store


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Within this context nobody looks for dead cycles: a report makes millions of tuples that live until its end, and going through them
    again and again was a quarter of its time. What it leaves dead is little: without it drawing ends with as much memory."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`. With `small` each study has a Markdown table, a
    CSV file of its cells and a PNG, and no LaTeX, PDF or CSV file of its runs."""

    def __init__(self, options: Options, store: Store, results: Path, figures: Path, small: bool = False):
        self.options, self.store, self.small = options, store, small
        self.results = self.tables = results
        self.figures = figures
        self.redrawn: dict[
            tuple[str, str], list[str]
        ] = {}  # the studies that were redrawn, by scale and profile

    @uncollected()
    def draw(self, studies: list[Study], edition: Edition) -> int:
        """Draw studies; with --all also the page, over every scale and profile that is begun. The exit status."""
        sections = self.render(studies, edition)
        if self.options.all:
            self.page(studies, {(edition.scale.name, edition.profile): sections})
            return 0
        terminal = importlib.import_module("core.report.terminal").terminal
        for section in sections:
            say(*terminal(section.result).split("\n"))
        return 0

    def gathered(
        self, studies: list[Study], drawn: dict[tuple[str, str], list], known: dict[str, finding.Found]
    ) -> dict[tuple[str, str], list]:
        """The sections by scale and profile: the drawn sections, and those of all other begun studies, with the figures that lie there."""
        report = importlib.import_module("core.report.render")
        found = {}
        for scale in SCALES.values():
            for edition in (
                self.editions(scale, known[scale.name].sources, PROFILES) if scale.name in known else ()
            ):
                key = scale.name, edition.profile
                found[key] = (
                    drawn[key]
                    if key in drawn
                    else report.gathered(self.begun(studies, edition), edition, self.store, self.figures)
                )
        return found

    @uncollected()
    def redraw(self, studies: list[Study]) -> None:
        """Draw every study of every scale and profile that is begun, and the page."""
        known = finding.recorded(self.store)
        drawn: dict[tuple[str, str], list] = {}
        for scale in SCALES.values():
            if scale.name in known:
                drawn |= self.drawn(studies, scale, known[scale.name].sources)
        self.page(studies, drawn, known)

    @uncollected()
    def redraw_scale(self, studies: list[Study], scale: Scale, sources: Sources) -> int:
        """Draw every study of a scale that is begun, under each profile, and the page over all that is begun; the exit status."""
        self.page(studies, self.drawn(studies, scale, sources))
        return 0

    def editions(self, scale: Scale, sources: Sources, profiles: Sequence[str]) -> list[Edition]:
        """The editions of a scale under these profiles."""
        seeds = self.options.seeds or scale.seeds
        return [Edition(profile=profile, scale=scale, sources=sources, seeds=seeds) for profile in profiles]

    def drawn(self, studies: list[Study], scale: Scale, sources: Sources) -> dict[tuple[str, str], list]:
        """The sections of a scale by scale and profile, drawn."""
        drawn = {}
        for edition in self.editions(
            scale, sources, PROFILES if self.options.profile is None else (self.options.profile,)
        ):
            begun = self.begun(studies, edition)
            self.redrawn[scale.name, edition.profile] = [study.name for study in begun]
            drawn[scale.name, edition.profile] = self.render(begun, edition) if begun else []
        if not any(drawn.values()):
            print(f"No study of scale {scale.name} is begun; train one, and it can be redrawn.")
        return drawn

    def page(
        self,
        studies: list[Study],
        drawn: dict[tuple[str, str], list],
        known: dict[str, finding.Found] | None = None,
    ) -> None:
        """Write the page over all scales and profiles, of which these are drawn; `known` are the sources of the stored runs, if read already."""
        report = importlib.import_module("core.report.render")
        known = finding.recorded(self.store) if known is None else known
        sections = self.gathered(studies, drawn, known)
        editions = []
        for scale in SCALES.values():
            sources = known[scale.name].sources if scale.name in known else finding.unfetched_sources(scale)
            editions += self.editions(scale, sources, PROFILES)
        with self.writing(*((self.tables / scale / profile) for scale, profile in sections)):
            try:
                lines = report.render_index(
                    studies, sections, editions, self.store, self.tables, self.figures, self.small
                )
            except OSError as error:
                raise self.trouble(error) from error
        say(*lines, *self.left_out(known))

    def left_out(self, known: dict[str, finding.Found]) -> list[str]:
        """A sentence for each scale whose published runs are on other data than one's own, which the page is about."""
        if self.store.published is None:
            return []
        published = finding.recorded(Store(self.store.published / "none", self.store.published))
        return [
            f"Published runs of scale {scale} are with another encoder or on other data than yours and are left out; {self.store.published} shows them."
            for scale, found in published.items() if scale in known and finding.other_data(known[scale].sources, found.sources)
        ]  # fmt: skip

    def trouble(self, error: OSError) -> UserError:
        """The sentence for a file that could not be drawn."""
        return UserError(files.trouble(Path(error.filename or self.tables), error))

    @contextlib.contextmanager
    def writing(self, *folders: Path) -> Iterator[None]:
        """Within this context files are drawn into these folders and the results folder. Half-written files of earlier commands are
        removed first, unless another command is drawing."""
        held = None
        with contextlib.suppress(
            UserError
        ):  # a folder that may only be read; nothing is written there, or that is said
            held = locks.share(
                self.tables / ".locks" / "drawing.lock", lambda: files.sweep_all([self.tables, *folders])
            )
        try:
            yield
        finally:
            if held is not None:
                locks.release(held)

    def begun(self, studies: list[Study], edition: Edition) -> list[Study]:
        """The studies that are begun: one seed is stored for every cell, or every run of a claim's first look, or a run that no other study
        asks for. Other runs that several studies share begin none of them. A study with `least_seeds` above 1 needs that many seeds in
        every cell."""
        asked = {study.name: _asked(study, edition) for study in studies}
        sharing = Counter(identity for by_seed in asked.values() for identity in set().union(*by_seed))

        def is_begun(study: Study) -> bool:
            by_seed = asked[study.name]
            there = {
                identity
                for seed in by_seed
                for identity in seed
                if self.store.has(identity, use_published=True)
            }
            if sum(there.issuperset(seed) for seed in by_seed) >= study.least_seeds:
                return True
            return study.least_seeds == 1 and (
                any(sharing[identity] == 1 for identity in there) or self._answers(study, edition)
            )

        return [study for study in studies if is_begun(study)]

    def _answers(self, study: Study, edition: Edition) -> bool:
        """Whether every run of a claim's first look is stored, for one of a study's claims at least."""
        first = importlib.import_module("core.report.sequential").LOOKS[0]
        study = study.at(edition.scale)

        def stored(cell: Cell) -> bool:
            if edition.unavailable(study, cell) is not None:
                return False
            return all(
                self.store.has(run_id(config), use_published=True)
                for config in edition.configs(study, cell, first)
            )

        speaking = (study.cells_of(claim.predicate.contrasts()) for claim in study.claims)
        return any(cells and all(stored(cell) for cell in cells) for cells in speaking)

    def render(self, studies: list[Study], edition: Edition) -> list:
        """Draw tables and figures from what is stored, and say what was drawn; the page's sections."""
        summary = self._drawn(studies, edition)
        say(*summary.lines)
        if summary.missing:
            print(f"{are(summary.missing, 'run')} missing, and left open.")
        if summary.published:
            print(
                f"{are(summary.published, 'run')} from the project's published results, not from this machine."
            )
        own = {
            run.run_id: (run.provenance, run.rows.table.to_pandas())
            for section in summary.sections
            for run in section.result.runs
            if run.source == "own"
        }
        if sentence := repeats(self.store, own):
            print(sentence)
        return summary.sections

    def _drawn(self, studies: list[Study], edition: Edition) -> Any:
        """Draw tables and figures, elsewhere if their folders may not be written; a RenderSummary (the runner names nothing of the report,
        which it imports when it draws). Raises UserError if they cannot be written there either."""
        os.environ["MPLBACKEND"] = (
            "agg"  # a name that matplotlib does not know would break its import; figures are files here
        )
        report = importlib.import_module(
            "core.report.render"
        )  # matplotlib takes its time, and planning needs none

        def drawn() -> Any:
            with self.writing(
                *(root / edition.scale.name / edition.profile for root in (self.tables, self.figures))
            ):
                return report.render(studies, edition, self.store, self.tables, self.figures, self.small)

        try:
            return drawn()
        except OSError as error:
            if error.errno not in files.FORBIDDEN or self.tables != self.results:
                raise self.trouble(error) from error
            self.tables, self.figures = Path.cwd() / "redrawn" / "results", Path.cwd() / "redrawn" / "figures"
            say(
                f"{error.filename or self.tables} may not be written, so tables and figures go to {Path.cwd() / 'redrawn'}."
            )
            try:
                return drawn()
            except OSError as again:
                raise self.trouble(again) from again


def _asked(study: Study, edition: Edition) -> list[list[str]]:
    """The ids of the runs that a study asks for, one list a seed."""
    runs = [[run_id(config) for config in configs] for _, configs in edition.asked(study)]
    return [list(seed) for seed in zip(*runs, strict=True)]
