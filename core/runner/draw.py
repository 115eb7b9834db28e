"""Drawing what is stored: the files of studies, and the page over all of them. The report is
imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress

from core.config.methods import PROFILES
from core.config.scale import SCALES
from core.data import sources as finding
from core.errors import UserError, are, say
from core.runner import redrawn
from core.runner.best_scale import in_english
from core.runner.cli import Options, program
from core.runner.estimate import SIZES, gpu_seconds
from core.store import code
from core.store.store import Store
from core.study.grid import Grid, resolve
from core.study.setup import Setup
from core.study.study import Study

if TYPE_CHECKING:  # the report brings scipy
    from core.report.pictures import Pictures
    from core.report.results import Loaded
    from core.report.sheet import Sheet
    from core.report.verdicts import Judged

PIPE_COLUMNS = 120  # of a table that is printed into a pipe, unless COLUMNS says otherwise


@dataclass(frozen=True)
class StudyDrawer:
    """What one command draws: tables under `results`, pictures under `figures`. With `small` a
    study has no LaTeX and no PDF."""

    options: Options
    store: Store
    results: Path
    figures: Path
    small: bool = False

    def draw(self, studies: Sequence[Study], grids: Sequence[Grid]) -> list[Grid]:
        """Draw these studies and print their tables, or with --all every started study of their
        scale and the page. `show` prints what the paper printed where nothing can be drawn; returns
        these grids."""
        if self.options.all:
            self.redraw(studies, grids[0].setup.scale.name)
            return []
        report = _report()
        from core.report.pictures import Pictures

        pictures = Pictures()
        results = self.judged(grids, {})
        lines, sheets = report.render(results, self.results, self.figures, pictures, self.small)
        say(*lines)
        self.finish(pictures)
        for order in pictures.orders:
            if pictures.names[order.name]:
                say(f"{order.name}: figures in {order.folder}")
        if sheets:
            words = [program(), *self.options.typed, "--use-published"]
            if "--scale" not in words:
                words += ["--scale", grids[0].setup.scale.name]
            say(*origins(sheets, shlex.join(words)))
        printed = []
        if self.options.shows:
            printed = [result for result in results if not result.begun]
            sheets += map(report.sheet, printed)
        by_name = {study.name: study for study in studies}
        for of_study in sheets:
            self.show(of_study, by_name[of_study.study.name])
        return [result.grid for result in printed]

    def judged(self, grids: Sequence[Grid], loaded: Loaded) -> list[Judged]:
        """Studies as they stand in the store; `loaded` keeps runs that several of them read."""
        report = _report()
        return [report.study_result(grid, self.store, loaded) for grid in grids]

    def finish(self, pictures: Pictures) -> None:
        """Draw what was ordered, under a bar on a terminal, and say which figures cannot be
        drawn."""
        columns = ("Drawing figures", BarColumn(), MofNCompleteColumn())
        console = Console(stderr=True)
        hidden = not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("", total=None)
            pictures.finish(lambda done, of: bar.update(task, completed=done, total=of))
        for study, fault in pictures.faults.items():
            say(f"The figure of {study} cannot be drawn ({fault}); correct the study's figure.")

    def show(self, sheet: Sheet, study: Study) -> None:
        """Print a study's table and verdicts, and below the made-up language what English says."""
        from core.report.terminal import english, terminal
        from core.report.verdicts import study_result

        width = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns
        setup = sheet.result.setup
        page = self.results / setup.scale.name / setup.profile / f"{study.name}.md"
        say(*terminal(sheet, width, str(page)).split("\n"))
        if setup.scale.generated:
            with contextlib.suppress(UserError):  # whatever is damaged there, the table is printed
                grid = in_english(study, self.store, setup.profile)
                if grid is not None:
                    say("", f"  {english(study_result(grid, self.store))}")

    def redraw(
        self,
        studies: Sequence[Study],
        only: str | None = None,
        folders: Collection[Path] = (),
    ) -> dict[tuple[str, str], list]:
        """Draw every started study of a scale, or of every scale, and the page over all scales and
        profiles; the sheets of all, by scale and profile. With the `folders` of all studies
        nothing is drawn, and there are no sheets, if nothing is new since the last redraw."""
        say("Drawing what is stored; this may take some minutes.")
        key = self._inputs(folders) if folders else ""
        if key and redrawn.is_there(key, self.results, self.figures):
            page = self.results / "index.html"
            say(f"Nothing is new: tables, figures and {page} lie as they were drawn.")
            return {}
        report = _report()
        from core.report.pictures import Pictures  # by now it reads no setting of the user's

        report.refuse_foreign(self.results)

        # every study by scale and profile; of a scale without a run under the first profile
        recorded = finding.recorded(self.store)
        grids = {}
        for at, profile in itertools.product(SCALES.values(), PROFILES):
            sources = recorded.get(at.name)
            if not sources and profile == PROFILES[0]:
                others = finding.HIDDEN if at.hub_models else ()
                sources = finding.unfetched_sources(others)
            if sources:
                seeds = self.options.seeds or at.seeds
                setup = Setup(profile=profile, scale=at, sources=sources, seeds=seeds)
                grids[at.name, profile] = [resolve(study, setup) for study in studies]
        sheets = dict[tuple[str, str], list]()
        loaded: Loaded = {}
        whole = True  # no study failed
        pictures = Pictures()
        for (scale, profile), of_both in grids.items():
            begun = started(of_both, self.store)
            results = self.judged(begun, loaded)
            both = Path(scale) / profile
            if only in (None, scale) and self.options.profile in (None, profile):
                first = []  # what is drawn under the first profile
                if self.options.profile is None:
                    first = [drawn.result.grid for drawn in sheets.get((scale, PROFILES[0]), ())]
                repeated = [grid.study.name for grid in begun if any(map(grid.repeats, first))]
                if repeated:
                    listed = ", ".join(repeated)
                    say(f"Profile {profile} has the same runs as {PROFILES[0]} in {listed}.")
                lines, drawn = report.render(
                    results, self.results, self.figures, pictures, self.small, repeated
                )
                say(*lines)
                whole = whole and len(drawn) == len(begun)
            else:
                drawn = [report.sheet(result) for result in results if result.begun]
            sheets[scale, profile] = drawn
            report.draw_runs(drawn, self.results / both, self.figures / both, pictures)
        self.finish(pictures)

        # What is to be said, and the page
        drawn = list(itertools.chain(*sheets.values()))
        say(*origins(drawn, "run_study.py STUDY --scale SCALE --use-published"))
        if not drawn:
            print("No study is started; train one, and it can be redrawn.")
        seconds = {name: functools.partial(gpu_seconds, size=SIZES[name]) for name in SIZES}
        say(*report.render_index(studies, sheets, grids, self.results, self.figures, seconds))
        # a run may have ended meanwhile
        if key and whole and not pictures.faults and key == self._inputs(folders):
            redrawn.remember(key, self.results, self.figures)
        return sheets

    def _inputs(self, folders: Collection[Path]) -> str:
        """The digest of all that a redraw is made from."""
        chosen = (self.options.seeds, self.options.profile, self.small)
        return redrawn.inputs(self.store, folders, (self.results, self.figures, *chosen))


def origins(sheets: Sequence[Sheet], command: str) -> list[str]:
    """How many runs are missing, with the command that trains them, and how many are published."""
    runs = {run.run_id: run for of_study in sheets for run in of_study.result.runs}
    missing = sum(run.status == "missing" for run in runs.values())
    published = sum(run.source == "published" for run in runs.values())
    lines = []
    if missing:
        lines.append(f"{are(missing, 'run')} missing; with the same data train by `{command}`.")
    if published:
        lines.append(f"{are(published, 'run')} from the published results, not from this machine.")
    return lines


def _report() -> ModuleType:
    """The module that draws. Figures follow no setting of the user's, but matplotlib reads these as
    it is imported. Raises UserError if it may not go with what was imported before."""
    if code.changed(code.CORE.rglob("[!.]*.py")):
        raise UserError(
            "The code was changed while this command ran, so nothing is drawn; give the same "
            "command again, which keeps what is trained."
        )
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    from core.report import render

    return render


def started(grids: Sequence[Grid], store: Store) -> list[Grid]:
    """The studies of which a run of their own is stored, or one seed of all cells, or every seed of
    a claim's cells. Other runs that several studies share do not count. A study with `least_seeds`
    above 1 needs that many seeds of all cells."""
    sharing = Counter[str]()  # studies by run
    for grid in grids:
        sharing.update(grid.run_ids)
    stored = {run for run in sharing if store.has(run, use_published=True)}
    begun = []
    for grid in grids:
        least = grid.study.least_seeds
        seeds = 0
        if len(grid.available) >= min(2, len(grid.cells)):  # else there is nothing to compare
            seeds = grid.complete_seeds(stored)
        if seeds or least > 1:
            is_begun = seeds >= least
        elif any(sharing[run] == 1 for run in grid.run_ids & stored):
            is_begun = True
        else:
            is_begun = any(grid.has_all_runs(claim, stored) for claim in grid.study.claims)
        if is_begun:
            begun.append(grid)
    return begun
