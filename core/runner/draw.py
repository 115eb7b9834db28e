"""Drawing what is stored: the files of studies, the page over all of them, and what the project
publishes. The report is imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress

from core.config.identity import run_id
from core.config.methods import PROFILES, base
from core.config.scale import SCALES
from core.data import sources as finding
from core.errors import UserError, are, counted, refusing, say
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.runner.estimate import BERT_BASE, MINI_SHAPE, gpu_seconds
from core.runner.progress import spoken
from core.store import code, files, locks
from core.store.store import Store
from core.study.setup import Setup
from core.study.study import Study

# of our page; it and its files are written over, and no others
PAGE = ("index.html", "README.md", "claims.csv", "comparability.csv")


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

    def draw(self, studies: list[Study], setup: Setup) -> None:
        """Draw these studies and print their tables, or with --all every started study and the
        page."""
        if self.options.all:
            self.redraw(studies, setup.scale.name)
            return
        from core.report.tables import terminal

        for result in self.render(studies, setup):
            say(*terminal(result).split("\n"))

    def redraw(
        self, studies: Sequence[Study], only: str | None = None
    ) -> dict[tuple[str, str], list]:
        """Draw every started study of a scale, or of every scale, and the page over all scales and
        profiles; the results of all, by scale and profile."""
        say("Drawing what is stored; this takes up to a minute.")
        report = _report()
        if not report.is_ours(self.results / "index.html"):
            for name in PAGE:
                file = self.results / name
                if file.exists():
                    raise UserError(
                        f"{file} was not drawn by this command; give another --results-dir."
                    )
        recorded = finding.recorded(self.store)
        results = dict[tuple[str, str], list]()
        setups = list[Setup]()
        with _pictures() as pictures:
            self._redraw_settings(studies, only, recorded, results, setups, pictures)
        if not any(results.values()):
            print("No study is started; train one, and it can be redrawn.")
        say(*report.render_index(studies, results, setups, self.results, self.figures, gpu_seconds))
        return results

    def _redraw_settings(
        self,
        studies: Sequence[Study],
        only: str | None,
        recorded: Mapping,
        results: dict[tuple[str, str], list],
        setups: list[Setup],
        pictures,
    ) -> None:
        """Draw the started studies of each scale and profile, and fill `results` and `setups`."""
        report = _report()
        for scale, profile in itertools.product(SCALES.values(), PROFILES):
            found = recorded.get(scale.name)
            if found:
                sources = found.sources
            else:
                hidden = finding.HIDDEN if scale.hub_models else ()
                sources = finding.unfetched_sources(hidden)
            seeds = self.options.seeds or scale.seeds
            setup = Setup(profile=profile, scale=scale, sources=sources, seeds=seeds)
            setups.append(setup)
            if not found:
                continue
            begun = started(studies, setup, self.store)
            if begun and only in (None, scale.name) and self.options.profile in (None, profile):
                results[scale.name, profile] = self.render(begun, setup, pictures)
            else:
                stored = report.gathered(begun, setup, self.store)
                results[scale.name, profile] = [result for result in stored if result.begun]

    def render(self, studies: Sequence[Study], setup: Setup, pictures=None) -> list:
        """Draw tables and figures from what is stored, and say what was drawn; the results.
        `pictures` takes the figures of several calls."""
        lines, results = _report().render(
            studies, setup, self.store, self.results, self.figures, self.small, pictures
        )
        say(*lines)
        return results


@contextlib.contextmanager
def _pictures() -> Iterator:
    """What draws the figures of a whole redraw: in several processes, under a bar at the end."""
    from core.report.pictures import drawn_together

    memory = None
    with contextlib.suppress(UserError):  # without a cache all is drawn
        memory = cache_folder() / "figures"
    columns = ("Drawing figures", BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("", total=None)

    def note(done: int, of: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=of)

    try:
        with drawn_together(memory, note=note) as pictures:
            yield pictures
    finally:
        bar.stop()


def _report() -> ModuleType:
    """The module that draws. Figures follow no setting of the user's, but matplotlib reads these as
    it is imported. Raises UserError for a matplotlibrc in the current folder that it cannot
    read."""
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    hint = "mend the matplotlibrc in this folder, or give the command in another folder"
    with refusing("matplotlib cannot read its settings", hint, UnicodeError):
        from core.report import render

        return render


def started(studies: Sequence[Study], setup: Setup, store: Store) -> list[Study]:
    """The studies of which a run of their own is stored, or one seed of all cells, or every seed of
    a claim's cells. Other runs that several studies share do not count. A study with `least_seeds`
    above 1 needs that many seeds of all cells."""
    cells_of = {study.name: _run_ids(study, setup) for study in studies}
    sharing = Counter[str]()  # studies by run
    for cells in cells_of.values():
        sharing.update(set().union(*cells.values()))
    stored = {run for run in sharing if store.has(run, use_published=True)}
    return [
        study
        for study in studies
        if _is_started(study, setup, cells_of[study.name], stored, sharing)
    ]


def _run_ids(study: Study, setup: Setup) -> dict[tuple[str, ...], list[str]]:
    """The ids of each cell's runs, by seed."""
    cells = {}
    for cell, runs in setup.asked(study):
        cells[cell.labels] = [run_id(run) for run in runs]
    return cells


def _is_started(
    study: Study,
    setup: Setup,
    cells: Mapping[tuple[str, ...], Sequence[str]],
    stored: set[str],
    sharing: Mapping[str, int],
) -> bool:
    """Whether the stored runs start a study. `cells` has the ids of its runs, and `sharing` how
    many studies have a run."""
    seeds = sum(stored.issuperset(seed) for seed in zip(*cells.values(), strict=True))
    if seeds or study.least_seeds > 1:
        return seeds >= study.least_seeds
    own = stored.intersection(set().union(*cells.values()))
    if any(sharing[run] == 1 for run in own):
        return True
    here = study.at(setup.scale)
    for claim in study.claims:
        runs: list[str] = []
        for cell in here.cells_of(claim.predicate.contrasts()):
            runs += cells.get(cell.labels, [""])  # a cell that the scale cannot run
        if runs and stored.issuperset(runs):
            return True
    return False


def publish_and_draw(
    store: Store,
    home: Path,
    every: Sequence[Study],
    studies: Sequence[Study],
    setup: Setup,
    replace: bool,
) -> None:
    """Pack all your own runs of these studies, and draw everything that is published. Raises
    UserError for runs on other data than the published runs of the scale, of code that no commit
    has, or, unless `replace`, with other numbers than the published runs."""
    from core.report.results import RunResult, gather

    scale = setup.scale.name
    published = home / "results" / "published"

    # Your own runs, each once
    runs: list[RunResult] = []
    for study in studies:
        runs += gather(study, setup, store).runs
    own = list(dict.fromkeys(run.run_id for run in runs if run.source == "own"))

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


def redraw_published(home: Path, studies: Sequence[Study]) -> None:
    """Draw everything that is published and README's findings, and remove the files of studies that
    nothing published starts any more; where nothing of a scale can be read, all files stay."""
    published = home / "results" / "published"
    figures = home / "figures" / "published"
    every = Options(seeds=None, profile=None)
    lock = home / "results" / ".locks" / "redrawing.lock"
    with locks.waiting(lock, f"drawing {published}"):  # the last command draws all
        store = Store(published / "none", published)
        drawn = StudyDrawer(every, store, published, figures, small=True).redraw(studies)

    from core.report import readme, render

    file = home / "README.md"
    if file.exists() and all((published / f"{name}.csv").exists() for name in readme.CLAIM_FILES):
        text = readme.filled(file.read_text(encoding="utf-8"), published, times(published))
        files.write_changed(file, text.encode())
    for (scale, profile), results in drawn.items():
        if not any(drawn[scale, other] for other in PROFILES):
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
