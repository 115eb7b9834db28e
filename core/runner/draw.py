"""Drawing the stored runs: the files of each study, and the page over all studies. Functions import
the report where they need the report, since importing matplotlib is slow."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.config.methods import PROFILES
from core.config.scale import SCALES
from core.data.sources import HIDDEN, recorded, unfetched_sources
from core.errors import UserError
from core.formatting import are, say
from core.runner.devices import cache_folder
from core.runner.inputs import Context, setup_of
from core.runner.orders import AnyStudyOrder, ShowOrder
from core.store import code
from core.store.store import Store
from core.study.resolution import ResolvedStudy
from core.study.study import Study

if TYPE_CHECKING:  # the report brings scipy
    from core.report.drawn import Drawings, DrawnStudy
    from core.report.sheet import Sheet

Key = tuple[str, str]  # scale and profile
PIPE_COLUMNS = 120  # of a table that is printed into a pipe, unless COLUMNS says otherwise


@dataclass(frozen=True)
class StudyDrawer:
    """Writes what one command draws: tables under `results`, pictures under `figures`. With `small`
    a study has no LaTeX, no PDF and no CSV file of its runs."""

    store: Store
    results: Path
    figures: Path
    small: bool = False

    def draw(
        self, context: Context, resolved_studies: Sequence[ResolvedStudy], order: AnyStudyOrder
    ) -> set[str]:
        """Write the files of an order's studies and print their tables. With --all write every
        started study of their scale and the page, and print no table. Where a study has too few
        runs to draw, `show` prints the paper's numbers. Returns the names of those studies. Raises
        UserError, but `show` only prints that a folder cannot be written."""
        if order.scope.all:
            self.redraw(context.studies, order, context.setup.scale.name)
            return set()
        refuse_changed_code()
        drawn = self.drawings.every([(resolved, True, True) for resolved in resolved_studies])
        begun = [each.sheet for each in drawn if each.sheet and each.sheet.begun]
        shows = isinstance(order, ShowOrder)
        try:
            for each in drawn:
                self.write(each)
        except UserError as error:  # a folder that may only be read can still be shown
            if not shows:
                raise
            say(str(error))
        say(*missing_sentences(begun), *published_sentences(begun))
        printed = [each.sheet for each in drawn if shows and each.sheet and not each.sheet.begun]
        for of_study in (*begun, *printed):
            self.show(of_study)
        return {of_study.study.name for of_study in printed}

    def redraw(
        self, studies: Sequence[Study], order: AnyStudyOrder, only: str | None = None
    ) -> dict[tuple[str, str], list[Sheet]]:
        """Write the files of every started study of the scale `only`, or of every scale, and the
        page over all scales and profiles; the sheets of studies with a run, by scale and profile.
        Raises UserError."""
        from core.report import render

        say("Drawing what is stored; this may take some minutes.")
        render.refuse_foreign(self.results)
        refuse_changed_code()
        outlines = self.outlines(studies, order)
        every = self.write_studies(outlines, only, order.scope.profile)
        sheets = {}
        hints = []
        for scale, profile in outlines:
            begun = [each for each in every.get((scale, profile), ()) if each.begun]
            sheets[scale, profile] = begun
            if only in (None, scale) and profile == (order.scope.profile or PROFILES[0]):
                hints += missing_sentences(begun)
        drawn = list(itertools.chain(*sheets.values()))
        say(*hints[:1], *published_sentences(drawn))
        if drawn:
            say(*render.write_page(studies, every, self.results, self.figures))
        else:
            print("No study is started; train one, and it can be redrawn.")
        return sheets

    def outlines(
        self, studies: Sequence[Study], order: AnyStudyOrder
    ) -> dict[Key, list[ResolvedStudy]]:
        """Every study by scale and profile, a scale without a run only under the first profile.
        Reads stored runs, and keeps the outlines in the cache. Raises UserError."""
        by_scale = recorded(self.store)
        outlines = {}
        for at, profile in itertools.product(SCALES.values(), PROFILES):
            sources = by_scale.get(at.name)
            if not sources and profile == PROFILES[0]:
                others = HIDDEN if at.hub_models else ()
                sources = unfetched_sources(others)
            if sources:
                setup = replace(setup_of(order, at, sources), profile=profile)
                outlines[at.name, profile] = self.drawings.outlines(studies, setup)
        return outlines

    def write_studies(
        self,
        outlines: Mapping[Key, Sequence[ResolvedStudy]],
        only: str | None,
        only_profile: str | None,
    ) -> dict[Key, list[Sheet]]:
        """Write the started studies of the scale `only` and the profile `only_profile` (None: of
        all); the sheets of all studies. A study that is not started has a sheet without runs, but a
        further profile without a started study has no sheets. Removes the files of a study that
        has the same runs as under the first profile. Writes runs.csv of every scale and profile."""
        from core.report import render

        sheets: dict[Key, list[Sheet]] = {}
        for (scale, profile), of_setup in outlines.items():
            folder = Path(scale) / profile
            begun = {each.study.name for each in started(of_setup, self.store)}
            writes = only in (None, scale) and only_profile in (None, profile)
            written = begun.copy() if writes else set()
            first = outlines[scale, PROFILES[0]] if only_profile is None else ()
            shown = {each.study.name for each in sheets.get((scale, PROFILES[0]), ()) if each.begun}
            wanted = []
            for each in of_setup if begun or profile == PROFILES[0] else ():
                name = each.study.name
                if name in written and name in shown and any(map(each.repeats, first)):
                    written.remove(name)
                    render.remove(name, self.results / folder, self.figures / folder)
                    say(f"{name} has the same runs as under profile {PROFILES[0]}.")
                wanted.append((each, name in begun, name in written))
            drawings = self.drawings.every(wanted)
            for drawn in drawings:
                if drawn.name in written:
                    self.write(drawn)
            sheets[scale, profile] = [drawn.sheet for drawn in drawings if drawn.sheet]
            render.write_runs(sheets[scale, profile], self.results / folder)
        return sheets

    @functools.cached_property
    def drawings(self) -> Drawings:
        """The drawings of the store's runs. Sets variables of the environment before matplotlib is
        imported, so that figures follow no setting of the user's."""
        os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
        from core.report.drawn import Drawings

        return Drawings(self.store, cache_folder() / "drawn", self.small)

    def write(self, drawn: DrawnStudy) -> None:
        """Write the files of a study that has a run, and remove its files of earlier drawings.
        Prints what was written, or why nothing was. Raises UserError."""
        line = drawn.line
        if drawn.sheet and drawn.sheet.begun:
            from core.report import render

            folder = Path(drawn.sheet.setup.scale.name) / drawn.sheet.setup.profile
            line = render.write_study(drawn, self.results / folder, self.figures / folder)
        say(line)

    def show(self, sheet: Sheet) -> None:
        """Print a study's table and verdicts."""
        from core.report.terminal import terminal

        width = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns
        page = self.results / sheet.setup.scale.name / sheet.setup.profile
        say(*terminal(sheet, width, str(page / f"{sheet.study.name}.md")).split("\n"))


def missing_sentences(sheets: Sequence[Sheet]) -> list[str]:
    """A sentence on how many runs of these sheets of one setup are missing, with the command that
    trains these runs; none if no run is missing."""
    missing = {}
    for of_study in sheets:
        runs = {run.run_id for run in of_study.runs if run.status == "missing"}
        if runs:
            missing[of_study.study.name] = runs
    if not missing:
        return []
    setup = sheets[0].setup
    published = any(
        run.source == "published"
        for of_study in sheets
        if of_study.study.name in missing
        for run in of_study.runs
    )
    command = setup.command(*missing, use_published=published)
    line = f"{are(len(set().union(*missing.values())), 'run')} missing; train by `{command}`"
    if " DATA" in command:
        line += f"; DATA holds {setup.sources.corpus_name} and SentEval's data"
    if "=ENCODER" in command:
        line += f"; ENCODER holds {setup.sources.encoder.name}"
    return [f"{line}."]


def published_sentences(sheets: Sequence[Sheet]) -> list[str]:
    """A sentence on how many runs of these sheets are published; none without such a run."""
    runs = itertools.chain.from_iterable(of_study.runs for of_study in sheets)
    published = {run.run_id for run in runs if run.source == "published"}
    if not published:
        return []
    number = are(len(published), "run")
    return [f"{number} from the published results, not from this machine."]


def refuse_changed_code() -> None:
    """Raise UserError if a file of the code has changed since this process started."""
    if code.states() != code.AT_START:
        raise UserError(
            "The code was changed while this command ran, so nothing is drawn; give the same "
            "command again, which keeps what is trained."
        )


def started(resolved_studies: Sequence[ResolvedStudy], store: Store) -> list[ResolvedStudy]:
    """The studies of which an unshared run is stored, or one seed of all cells, or every seed of a
    claim's cells. Fewer shared runs do not count. A study with `least_seeds` above 1 needs that
    many seeds of all cells."""
    sharing = Counter[str]()  # studies by run
    for resolved in resolved_studies:
        sharing.update(resolved.run_ids)
    stored = {run for run in sharing if store.has(run, use_published=True)}
    begun = []
    for resolved in resolved_studies:
        least = resolved.study.least_seeds
        seeds = 0
        # without two cells there is nothing to compare
        if len(resolved.available) >= min(2, len(resolved.cells)):
            seeds = resolved.complete_seeds(stored)
        if seeds or least > 1:
            is_begun = seeds >= least
        elif any(sharing[run] == 1 for run in resolved.run_ids & stored):
            is_begun = True
        else:
            is_begun = any(resolved.has_all_runs(claim, stored) for claim in resolved.study.claims)
        if is_begun:
            begun.append(resolved)
    return begun
