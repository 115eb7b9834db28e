"""Drawing what is stored: the files of studies, the page over all of them, and what the project
publishes. The report is imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress

from core.config.methods import PROFILES, base
from core.config.scale import SCALES
from core.data import sources as finding
from core.errors import UserError, are, counted, refusing, say
from core.runner import redrawn
from core.runner.best_scale import ENGLISH, has_answer, stored_setup
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import BERT_BASE, MINI_SHAPE, gpu_seconds
from core.runner.progress import spoken
from core.store import code, files, locks
from core.store.store import Store
from core.study.grid import Grid, resolve
from core.study.setup import Setup
from core.study.study import Study

if TYPE_CHECKING:  # the report brings scipy
    from core.report.pictures import Pictures
    from core.report.verdicts import Judged

# of our page; it and its files are written over, and no others
PAGE = ("index.html", "README.md", "claims.csv", "comparability.csv")
PIPE_COLUMNS = 120  # of a table that is printed into a pipe, unless COLUMNS says otherwise


class StudyDrawer:
    """What one command draws: tables under `results`, pictures under `figures`. With `small` a
    study has no LaTeX, no PDF and no CSV file of its runs."""

    def __init__(
        self, options: Options, store: Store, results: Path, figures: Path, small: bool = False
    ):
        self.options = options
        self.store = store
        self.small = small
        self.results = results
        self.figures = figures

    def draw(self, studies: Sequence[Study], grids: Sequence[Grid]) -> None:
        """Draw these studies and print their tables, or with --all every started study of their
        scale and the page."""
        if self.options.all:
            self.redraw(studies, grids[0].setup.scale.name)
            return
        results = self.render(grids)
        say(*origins(results, f"run_study.py {_command_words(results)}"))
        by_name = {study.name: study for study in studies}
        for result in results:
            self.show(result, by_name[result.study.name])
        if self.options.shows:
            from core.report.verdicts import study_result

            drawn = {result.study.name for result in results}
            for grid in grids:
                if grid.study.name not in drawn:  # what the paper printed
                    self.show(study_result(grid, self.store), by_name[grid.study.name])

    def show(self, result: Judged, study: Study) -> None:
        """Print a study's table and verdicts, and below the made-up language what English says."""
        from core.report.terminal import english, terminal

        width = shutil.get_terminal_size((PIPE_COLUMNS, 1)).columns
        setup = result.setup
        page = self.results / setup.scale.name / setup.profile / f"{result.study.name}.md"
        say(*terminal(result, width, str(page)).split("\n"))
        if not setup.scale.generated:
            return
        other = in_english(study, self.store, setup.profile)
        if other is not None:
            say("", f"  {english(other)}")

    def redraw(
        self,
        studies: Sequence[Study],
        only: str | None = None,
        folders: Collection[Path] = (),
    ) -> dict[tuple[str, str], list]:
        """Draw every started study of a scale, or of every scale, and the page over all scales and
        profiles; the results of all, by scale and profile. With the `folders` of all studies
        nothing is drawn, and there are no results, if nothing is new since the last redraw."""
        say("Drawing what is stored; this takes up to a minute.")
        memory = _memory("redrawn") if folders else None
        key = ""
        if memory is not None:
            key = self._inputs(folders)
            if redrawn.is_there(memory, key, self.results, self.figures):
                page = self.results / "index.html"
                say(f"Nothing is new: tables, figures and {page} lie as they were drawn.")
                return {}
        report = _report()
        if not report.is_ours(self.results / "index.html"):
            for name in PAGE:
                file = self.results / name
                if file.exists():
                    raise UserError(
                        f"{file} was not drawn by this command; give another --results-dir."
                    )
        grids = self._grids(studies)
        results = dict[tuple[str, str], list]()
        whole = True  # no study failed
        with _pictures() as pictures:
            for (scale, profile), of_both in grids.items():
                begun = started(of_both, self.store)
                if begun and only in (None, scale) and self.options.profile in (None, profile):
                    first = results.get((scale, PROFILES[0]), [])
                    results[scale, profile] = self._render_once(begun, first, pictures)
                    whole = whole and len(results[scale, profile]) == len(begun)
                else:
                    stored = report.gathered(begun, self.store)
                    results[scale, profile] = [result for result in stored if result.begun]
                key_folder = Path(scale) / profile
                tables = self.results / key_folder
                folder = self.figures / key_folder
                report.draw_runs(results[scale, profile], tables, folder, pictures)
        for study, fault in pictures.faults.items():
            say(f"The figure of {study} cannot be drawn ({fault}); correct the study's figure.")
        drawn = [result for of_scale in results.values() for result in of_scale]
        say(*origins(drawn, "run_study.py STUDY --scale SCALE"))
        if not drawn:
            print("No study is started; train one, and it can be redrawn.")
        seconds = {"mini": functools.partial(gpu_seconds, encoder=MINI_SHAPE), "paper": gpu_seconds}
        say(*report.render_index(studies, results, grids, self.results, self.figures, seconds))
        # a run may have ended meanwhile
        if memory is not None and whole and not pictures.faults and key == self._inputs(folders):
            redrawn.remember(memory, key, self.results, self.figures)
        return results

    def _inputs(self, folders: Collection[Path]) -> str:
        """The digest of all that a redraw is made from."""
        places = {"results": self.results, "figures": self.figures}
        chosen = {"seeds": self.options.seeds, "profile": self.options.profile}
        return redrawn.inputs(self.store, folders, {**places, **chosen, "small": self.small})

    def _render_once(
        self, grids: Sequence[Grid], first: Sequence[Judged], pictures: Pictures
    ) -> list[Judged]:
        """Draw the studies whose runs are not those that are drawn already under the `first`
        profile; the results of all."""
        same: list[Grid] = []
        if self.options.profile is None:
            drawn = {result.study.name: result.grid for result in first}
            same = [grid for grid in grids if grid.repeats(drawn.get(grid.study.name))]
        results = []
        if len(same) < len(grids):
            results = self.render([grid for grid in grids if grid not in same], pictures)
        if same:
            setup = same[0].setup
            key = Path(setup.scale.name) / setup.profile
            for grid in same:
                _report().remove(grid.study.name, self.results / key, self.figures / key)
            names = ", ".join(grid.study.name for grid in same)
            say(f"Profile {setup.profile} has the same runs as {PROFILES[0]} in {names}.")
            results += _report().gathered(same, self.store)
        places = {grid.study.name: place for place, grid in enumerate(grids)}
        return sorted(results, key=lambda result: places[result.study.name])

    def _grids(self, studies: Sequence[Study]) -> dict[tuple[str, str], list[Grid]]:
        """Every study by scale and profile; of a scale without a run under the first profile."""
        recorded = finding.recorded(self.store)
        grids = {}
        for scale, profile in itertools.product(SCALES.values(), PROFILES):
            found = recorded.get(scale.name)
            if found:
                sources = found.sources
            elif profile == PROFILES[0]:
                hidden = finding.HIDDEN if scale.hub_models else ()
                sources = finding.unfetched_sources(hidden)
            else:
                continue
            seeds = self.options.seeds or scale.seeds
            setup = Setup(profile=profile, scale=scale, sources=sources, seeds=seeds)
            grids[scale.name, profile] = [resolve(study, setup) for study in studies]
        return grids

    def render(self, grids: Sequence[Grid], pictures: Pictures | None = None) -> list:
        """Draw tables and figures from what is stored, and say what was drawn; the results.
        `pictures` takes the figures of several calls."""
        lines, results = _report().render(
            grids, self.store, self.results, self.figures, self.small, pictures
        )
        say(*lines)
        return results


def _memory(name: str) -> Path | None:
    """The folder that remembers what was drawn; None without a cache, and then all is drawn."""
    with contextlib.suppress(UserError):
        return cache_folder() / name
    return None


@contextlib.contextmanager
def _pictures() -> Iterator[Pictures]:
    """What draws the figures of a whole redraw: in several processes, under a bar at the end."""
    from core.report.pictures import drawn_together

    columns = ("Drawing figures", BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)

    def note(done: int, of: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=of)

    try:
        with drawn_together(_memory("figures"), note=note) as pictures:
            yield pictures
    finally:
        bar.stop()


def origins(results: Sequence[Judged], command: str) -> list[str]:
    """How many runs are missing, with the command that trains them, and how many are published."""
    runs = {run.run_id: run for result in results for run in result.runs}
    missing = sum(run.status == "missing" for run in runs.values())
    published = sum(run.source == "published" for run in runs.values())
    lines = []
    if missing:
        them = "it" if missing == 1 else "them"
        lines.append(f"{are(missing, 'run')} missing; `{command}` trains {them}.")
    if published:
        lines.append(f"{are(published, 'run')} from the published results, not from this machine.")
    if any(run.source == "imported" for run in runs.values()):
        from core.report.words import contributed

        lines += contributed(runs.values())
    return lines


def _command_words(results: Sequence[Judged]) -> str:
    """What a command names to train these studies in their setup."""
    words = [result.study.name for result in results]
    if results:
        setup = results[0].setup
        words += ["--scale", setup.scale.name]
        if setup.profile != PROFILES[0]:
            words += ["--profile", setup.profile]
    return " ".join(words)


def in_english(study: Study, store: Store, profile: str) -> Judged | None:
    """A study on its stored runs in English, at the largest scale that has one; None without."""
    from core.report.verdicts import study_result

    for scale in ENGLISH:
        setup = stored_setup(scale, store, profile)
        if setup is None:
            continue
        grid = resolve(study, setup)
        if has_answer(grid, store):
            return study_result(grid, store)
    return None


def _report() -> ModuleType:
    """The module that draws. Figures follow no setting of the user's, but matplotlib reads these as
    it is imported. Raises UserError for a matplotlibrc in the current folder that it cannot
    read."""
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    hint = "mend the matplotlibrc in this folder, or give the command in another folder"
    with refusing("matplotlib cannot read its settings", hint, UnicodeError):
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
    return [grid for grid in grids if _is_started(grid, stored, sharing)]


def _is_started(grid: Grid, stored: set[str], sharing: Mapping[str, int]) -> bool:
    """Whether the stored runs start a study. `sharing` says how many studies have a run."""
    least = grid.study.least_seeds
    seeds = 0
    if len(grid.available) >= min(2, len(grid.cells)):  # else there is nothing to compare
        seeds = grid.complete_seeds(stored)
    if seeds or least > 1:
        return seeds >= least
    if any(sharing[run] == 1 for run in grid.run_ids & stored):
        return True
    return any(grid.has_all_runs(claim, stored) for claim in grid.study.claims)


def publish_and_draw(
    store: Store,
    home: Path,
    every: Sequence[Study],
    grids: Sequence[Grid],
    replace: bool,
) -> None:
    """Pack all your own runs of these studies, and draw everything that is published. Raises
    UserError for runs on other data than the published runs of the scale, of code that no commit
    has, or, unless `replace`, with other numbers than the published runs."""
    from core.report.results import RunResult, gather

    setup = grids[0].setup
    scale = setup.scale.name
    published = home / "results" / "published"

    # Your own runs, each once
    runs: list[RunResult] = []
    for grid in grids:
        runs += gather(grid, store).runs
    own = list(dict.fromkeys(run.run_id for run in runs if run.source in ("own", "imported")))

    # Refuse what may not be published
    packs = finding.recorded(Store(published / "none", published), (scale,))
    data = ""
    if own and scale in packs:
        data = finding.other_data(setup.sources, finding.digests(packs[scale].sources))
    if data:
        raise UserError(
            f"The published runs of scale {scale} are on other data than yours ({data}), so "
            "nothing is published; leave --publish out."
        )
    commits = {}
    for name in own:
        if replace or store.scale_of_pack(name) is None:
            commits[name] = code.commit_of(store.load(name).provenance, home)
    unnamed = [name for name, commit in commits.items() if not commit]
    if unnamed:
        raise UserError(
            f"No commit of {home} has the code that made these runs: {', '.join(unnamed)}; commit "
            "that code, train them again, or leave --publish out."
        )

    store.publish(own, published, commits, replace)
    print(f"Published {counted(len(commits), 'run')} in {published / scale / 'runs.parquet'}.")
    if len(commits) < len(own):
        print(f"{are(len(own) - len(commits), 'run')} published already, with the same numbers.")
    redraw_published(home, every)


def redraw_published(home: Path, studies: Sequence[Study], folders: Collection[Path] = ()) -> None:
    """Draw everything that is published and README's findings, and remove the files of studies that
    nothing published starts any more; where nothing of a scale can be read, all files stay.
    `folders` as in `StudyDrawer.redraw`."""
    published = home / "results" / "published"
    figures = home / "figures" / "published"
    every = Options(seeds=None, profile=None)
    lock = home / "results" / ".locks" / "redrawing.lock"
    with locks.waiting(lock, f"drawing {published}"):  # the last command draws all
        store = Store(published / "none", published)
        drawer = StudyDrawer(every, store, published, figures, small=True)
        drawn = drawer.redraw(studies, folders=folders)

    from core.report import readme, render

    file = home / "README.md"
    if file.exists() and all((published / f"{name}.csv").exists() for name in readme.CLAIM_FILES):
        text = readme.filled(file.read_text(encoding="utf-8"), published, times(published))
        files.write_changed(file, text.encode())
    for (scale, profile), results in drawn.items():
        if not any(drawn.get((scale, other)) for other in PROFILES):
            continue
        kept = {result.study.name for result in results}
        for name in {study.name for study in studies} - kept:
            render.remove(name, published / scale / profile, figures / scale / profile)


def times(published: Path) -> dict[str, str]:
    """How long a run takes by scale, for README: of an H100 by the measured rates, least and most
    of three methods; at scale demo of a CPU core, the middle 80 % of the published runs."""
    runs = [base(method, "paper") for method in ("simcse", "esimcse", "mocose")]
    ranges = {}
    for scale, shape in (("mini", MINI_SHAPE), ("paper", BERT_BASE)):
        seconds = [gpu_seconds(run, shape) for run in runs]
        ranges[scale] = (min(seconds), max(seconds))
    file = published / "demo" / "paper" / "runs.csv"
    if file.is_file():
        import pandas  # takes a second

        ranges["demo"] = tuple(pandas.read_csv(file)["seconds"].quantile([0.1, 0.9]))
    return {scale: f"{spoken(low)} to {spoken(high)}" for scale, (low, high) in ranges.items()}
