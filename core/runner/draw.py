"""Drawing what is stored: the files of studies, and the page over all of them. The report is
imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
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
from core.study.resolution import ResolvedStudy, resolve
from core.study.study import Study

if TYPE_CHECKING:  # the report brings scipy
    from core.report.results import Loaded
    from core.report.sheet import Sheet
    from core.report.verdicts import JudgedStudy

BySetup = dict[tuple[str, str], list[ResolvedStudy]]  # by scale and profile
PIPE_COLUMNS = 120  # of a table that is printed into a pipe, unless COLUMNS says otherwise


@dataclass(frozen=True)
class StudyDrawer:
    """What one command draws: tables under `results`, pictures under `figures`. With `small` a
    study has no LaTeX and no PDF."""

    store: Store
    results: Path
    figures: Path
    small: bool = False

    def draw(
        self, context: Context, resolved_studies: Sequence[ResolvedStudy], order: AnyStudyOrder
    ) -> list[ResolvedStudy]:
        """Draw the studies of an order and print their tables, or with --all every started study of
        their scale and the page. `show` prints what the paper printed where nothing can be drawn;
        returns these studies."""
        if order.scope.all:
            self.redraw(context.studies, order, context.setup.scale.name)
            return []
        results = self.results_of(resolved_studies, {})
        try:
            sheets = self.drawn(results)
        except UserError as error:  # a folder that may only be read can still be shown
            if not isinstance(order, ShowOrder):
                raise
            say(str(error))
            sheets = [_report().make_sheet(result) for result in results if result.begun]
        if sheets:
            say(*missing_runs(sheets), *published_runs(sheets))
        printed = []
        if isinstance(order, ShowOrder):
            printed = [result for result in results if not result.begun]
            sheets += map(_report().make_sheet, printed)
        for of_study in sheets:
            self.show(of_study)
        return [result.resolved for result in printed]

    def results_of(
        self, resolved_studies: Sequence[ResolvedStudy], loaded: Loaded
    ) -> list[JudgedStudy]:
        """Studies as they stand in the store; `loaded` keeps runs that several of them read."""
        report = _report()
        return [report.study_result(resolved, self.store, loaded) for resolved in resolved_studies]

    def drawn(self, results: Sequence[JudgedStudy], repeated: Sequence[str] = ()) -> list[Sheet]:
        """Draw these studies, saying of each what was written; the sheets of those with a run."""
        report = _report()
        from core.report.pictures import drawing_once  # by now it reads no setting of the user's

        draw = drawing_once(cache_folder() / "pictures")
        sheets = []
        for line, sheet in report.render(
            results, self.results, self.figures, draw, self.small, repeated
        ):
            say(line)
            if sheet is not None:
                sheets.append(sheet)
        return sheets

    def show(self, sheet: Sheet) -> None:
        """Print a study's table and verdicts."""
        from core.report.terminal import terminal

        width = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns
        setup = sheet.result.setup
        page = self.results / setup.scale.name / setup.profile / f"{sheet.study.name}.md"
        say(*terminal(sheet, width, str(page)).split("\n"))

    def redraw(
        self, studies: Sequence[Study], order: AnyStudyOrder, only: str | None = None
    ) -> dict[tuple[str, str], list[Sheet]]:
        """Draw every started study of a scale, or of every scale, and the page over all scales and
        profiles; the sheets of all, by scale and profile."""
        say("Drawing what is stored; this may take some minutes.")
        report = _report()
        report.refuse_foreign(self.results)
        resolved_studies = self.resolved_studies(studies, order)
        sheets = self.sheets(resolved_studies, only, order.scope.profile)
        hints = [missing_runs(of_setup) for of_setup in sheets.values()]
        drawn = list(itertools.chain(*sheets.values()))
        say(*itertools.chain(*hints), *published_runs(drawn))
        if not drawn:
            print("No study is started; train one, and it can be redrawn.")
        say(*report.render_index(studies, sheets, resolved_studies, self.results, self.figures))
        return sheets

    def resolved_studies(self, studies: Sequence[Study], order: AnyStudyOrder) -> BySetup:
        """Every study by scale and profile; of a scale without a run under the first profile."""
        by_scale = recorded(self.store)
        resolved_studies = {}
        for at, profile in itertools.product(SCALES.values(), PROFILES):
            sources = by_scale.get(at.name)
            if not sources and profile == PROFILES[0]:
                others = HIDDEN if at.hub_models else ()
                sources = unfetched_sources(others)
            if sources:
                setup = replace(setup_of(order, at, sources), profile=profile)
                resolved_studies[at.name, profile] = [resolve(study, setup) for study in studies]
        return resolved_studies

    def sheets(
        self, resolved_studies: BySetup, only: str | None, only_profile: str | None
    ) -> dict[tuple[str, str], list[Sheet]]:
        """The sheets of all started studies. What the command names of scale and profile is
        written; what a profile shares with the first one stands there alone."""
        report = _report()
        sheets = dict[tuple[str, str], list]()
        loaded: Loaded = {}
        for (scale, profile), of_both in resolved_studies.items():
            begun = started(of_both, self.store)
            results = self.results_of(begun, loaded)
            both = Path(scale) / profile
            if only in (None, scale) and only_profile in (None, profile):
                repeated = []
                if only_profile is None:
                    first = [of.result.resolved for of in sheets.get((scale, PROFILES[0]), ())]
                    again = [each for each in begun if any(map(each.repeats, first))]
                    repeated = [each.study.name for each in again]
                drawn = self.drawn(results, repeated)
            else:
                drawn = [report.make_sheet(result) for result in results if result.begun]
            sheets[scale, profile] = drawn
            report.write_runs(drawn, self.results / both)
        return sheets


def missing_runs(sheets: Sequence[Sheet]) -> list[str]:
    """How many runs of these sheets of one setup are missing, with the command that trains these
    alone."""
    missing = {}
    for of_study in sheets:
        runs = {run.run_id for run in of_study.result.runs if run.status == "missing"}
        if runs:
            missing[of_study.study.name] = runs
    if not missing:
        return []
    setup = sheets[0].result.setup
    published = any(
        run.source == "published"
        for of_study in sheets
        if of_study.study.name in missing
        for run in of_study.result.runs
    )
    command = setup.command(*missing, use_published=published)
    line = f"{are(len(set().union(*missing.values())), 'run')} missing; train by `{command}`"
    if " DATA" in command:
        line += f"; DATA holds {setup.sources.corpus_name} and SentEval's data"
    if "=ENCODER" in command:
        line += f"; ENCODER holds {setup.sources.encoder.name}"
    return [f"{line}."]


def published_runs(sheets: Sequence[Sheet]) -> list[str]:
    """How many runs of these sheets are published ones."""
    runs = itertools.chain.from_iterable(of_study.result.runs for of_study in sheets)
    published = {run.run_id for run in runs if run.source == "published"}
    if not published:
        return []
    number = are(len(published), "run")
    return [f"{number} from the published results, not from this machine."]


def _report() -> ModuleType:
    """The module that draws. Figures follow no setting of the user's, but matplotlib reads these as
    it is imported. Raises UserError if it may not go with what was imported before."""
    if code.states() != code.AT_START:
        raise UserError(
            "The code was changed while this command ran, so nothing is drawn; give the same "
            "command again, which keeps what is trained."
        )
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    from core.report import render

    return render


def started(resolved_studies: Sequence[ResolvedStudy], store: Store) -> list[ResolvedStudy]:
    """The studies of which a run of their own is stored, or one seed of all cells, or every seed of
    a claim's cells. Other runs that several studies share do not count. A study with `least_seeds`
    above 1 needs that many seeds of all cells."""
    sharing = Counter[str]()  # studies by run
    for resolved in resolved_studies:
        sharing.update(resolved.run_ids)
    stored = {run for run in sharing if store.has(run, use_published=True)}
    begun = []
    for resolved in resolved_studies:
        least = resolved.study.least_seeds
        seeds = 0
        # else there is nothing to compare
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
