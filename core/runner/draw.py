"""Drawing what is stored: the files of studies, the page over all of them, and what the project publishes.
The report is imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.compare import repeats
from core.runner.estimate import BERT_BASE, gpu_seconds
from core.spec.errors import UserError, are, counted, say
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.run import RunConfig, Seed
from core.spec.scale import SCALES, Scale, Sources
from core.spec.setup import Setup
from core.spec.study import Study
from core.spec.table import Cell
from core.store import files, locks
from core.store.store import Store

FIGURES = (".png", ".pdf", "-differences.png", "-differences.pdf")
ENDINGS = (".md", ".tex", ".csv", "_runs.csv", "_curves.csv", *FIGURES)  # of what a study is drawn into
Key = tuple[str, str]  # scale and profile


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Within this context nobody looks for dead cycles: a report makes millions of tuples that live until its
    end, and going through them again and again was a quarter of its time. What it leaves dead is little:
    without it drawing ends with as much memory."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`. With `small`
    each study has a Markdown table, a CSV file of its cells and a PNG, and no LaTeX, PDF or CSV file of
    its runs."""

    def __init__(self, options: Options, store: Store, results: Path, figures: Path, small: bool = False):
        self.options, self.store, self.small = options, store, small
        self.results, self.figures = results, figures
        self.redrawn: dict[Key, list[str]] = {}  # names of the studies that were redrawn

    @uncollected()
    def draw(self, studies: list[Study], setup: Setup) -> int:
        """Draw studies; with --all also the page, over every scale and profile with runs. The exit status."""
        results = self.render(studies, setup)
        if self.options.all:
            self.page(studies, {(setup.scale.name, setup.profile): results}, finding.recorded(self.store))
            return 0
        terminal = importlib.import_module("core.report.tables").terminal
        for result in results:
            say(*terminal(result).split("\n"))
        return 0

    @uncollected()
    def redraw(self, studies: list[Study], scale: Scale | None = None, sources: Sources | None = None) -> int:
        """Draw every study with runs of its own, of one scale or of every scale, and the page over all
        scales; the exit status."""
        known = finding.recorded(self.store)
        drawn: dict[Key, list] = {}
        for one in SCALES.values() if scale is None else [scale]:
            if sources is None and one.name not in known:
                continue
            profiles = PROFILES if self.options.profile is None else (self.options.profile,)
            for setup in self.setups(one, sources or known[one.name].sources, profiles):
                key, begun = (one.name, setup.profile), self.begun(studies, setup)
                self.redrawn[key] = [study.name for study in begun]
                drawn[key] = self.render(begun, setup) if begun else []
            if not any(drawn.values()):
                print(f"No study of scale {one.name} is begun; train one, and it can be redrawn.")
        self.page(studies, drawn, known)
        if unread := self.unread(studies, known):
            print(
                f"{are(unread, 'stored run')} of no study as it stands now: an earlier scale, other data, "
                f"--set or --vary. They are kept in {self.store.root / 'runs'}."
            )
        return 0

    def unread(self, studies: list[Study], known: dict[str, finding.Found]) -> int:
        """How many of the user's own runs no cell of these studies has, under any profile and seed."""
        own = [run for run in self.store.runs() if self.store.has(run)]
        cells = own and {
            run_id(_unseeded(setup.config(study.at(setup.scale), cell, 0)))
            for name, found in known.items()
            for setup in self.setups(SCALES[name], found.sources)
            for study in studies
            for cell in study.at(setup.scale).cells
            if setup.unavailable(study.at(setup.scale), cell) is None
        }
        count = 0
        for run in own:
            with contextlib.suppress(UserError):  # of another version, or damaged, which other lines name
                count += run_id(_unseeded(self.store.load(run).config)) not in cells
        return count

    def setups(self, scale: Scale, sources: Sources, profiles: Sequence[str] = PROFILES) -> list[Setup]:
        """A scale under these profiles."""
        seeds = self.options.seeds or scale.seeds
        return [Setup(profile=profile, scale=scale, sources=sources, seeds=seeds) for profile in profiles]

    def page(self, studies: list[Study], drawn: dict[Key, list], known: dict[str, finding.Found]) -> None:
        """Write the page over all scales and profiles, of which some are drawn; `known` are the sources of
        the stored runs."""
        report = importlib.import_module("core.report.render")
        stored, setups = {}, []
        for scale in SCALES.values():
            there = scale.name in known
            others = finding.HIDDEN if scale.hub_models else ()
            sources = known[scale.name].sources if there else finding.unfetched_sources(others)
            for setup in self.setups(scale, sources):
                setups.append(setup)
                if there and (scale.name, setup.profile) not in drawn:
                    begun = self.begun(studies, setup)
                    stored[scale.name, setup.profile] = report.gathered(begun, setup, self.store)
        places = self.results, self.figures
        say(
            *report.render_index(
                studies, drawn, stored, setups, self.store, *places, h100_seconds, self.small
            )
        )
        for scale_name, name in self.left_out(known).items():
            say(
                f"Published runs of scale {scale_name} are on other data than yours ({name}) and left out; "
                f"{self.store.published} shows them."
            )

    def left_out(self, known: dict[str, finding.Found]) -> dict[str, str]:
        """The scales whose published runs are on other data than the known sources, each with a name for
        these."""
        if self.store.published is None:
            return {}
        published = finding.recorded(Store(self.store.published / "none", self.store.published))
        both = (
            (scale, known[scale].sources, found.sources)
            for scale, found in published.items()
            if scale in known
        )
        return {scale: name for scale, own, theirs in both if (name := finding.other_data(own, theirs))}

    def begun(self, studies: list[Study], setup: Setup) -> list[Study]:
        """The studies that are begun: a seed of every cell is stored, or a run of the study's own, or every
        run of a claim's first check. Other runs that several studies share begin none of them. A study with
        `least_seeds` above 1 needs that many seeds of every cell."""
        asked: dict[str, list[set[str]]] = {}  # run ids by study and seed
        for study in studies:
            runs = [[run_id(config) for config in configs] for _, configs in setup.asked(study)]
            asked[study.name] = [set(seed) for seed in zip(*runs, strict=True)]
        sharing = Counter(run for seeds in asked.values() for run in set().union(*seeds))

        def is_begun(study: Study) -> bool:
            seeds = asked[study.name]
            there = {run for run in set().union(*seeds) if self.store.has(run, use_published=True)}
            if sum(there >= seed for seed in seeds) >= study.least_seeds:
                return True
            own = any(sharing[run] == 1 for run in there)
            return study.least_seeds == 1 and (own or self._answers(study.at(setup.scale), setup))

        return [study for study in studies if is_begun(study)]

    def _answers(self, study: Study, setup: Setup) -> bool:
        """Whether every run of a claim's first check is stored."""
        first = importlib.import_module("core.report.looks").LOOKS[0]

        def stored(cell: Cell) -> bool:
            return setup.unavailable(study, cell) is None and all(
                self.store.has(run_id(config), use_published=True)
                for config in setup.configs(study, cell, first)
            )

        claims = (study.cells_of(claim.predicate.contrasts()) for claim in study.claims)
        return any(cells and all(map(stored, cells)) for cells in claims)

    def render(self, studies: list[Study], setup: Setup) -> list:
        """Draw tables and figures from what is stored, and say what was drawn; the results."""
        os.environ["MPLBACKEND"] = "agg"  # a name that matplotlib does not know would break its import
        report: Any = importlib.import_module("core.report.render")
        summary = report.render(studies, setup, self.store, self.results, self.figures, self.small)
        say(*summary.lines)
        if summary.missing:
            print(f"{are(summary.missing, 'run')} missing, and left open.")
        if summary.published:
            print(f"{are(summary.published, 'run')} from the published results, not from this machine.")
        own = {
            run.run_id: (run.provenance, run.rows.table.to_pandas())
            for result in summary.results
            for run in result.runs
            if run.source == "own"
        }
        if sentence := repeats(self.store, own):
            print(sentence)
        return summary.results


def _unseeded(config: RunConfig) -> RunConfig:
    return replace(config, seed=Seed(model=0, data=0))


def h100_seconds(config: RunConfig) -> float:
    """What a run of bert-base takes on one H100."""
    return gpu_seconds(config, BERT_BASE)


def publish(
    options: Options, store: Store, home: Path, studies: Sequence[Study], runs: Sequence[str], scale: str
) -> None:
    """Pack your own runs of a scale among these, and draw everything that is published. Raises UserError for
    runs on other data than the published runs of the scale."""
    own, published = [run for run in runs if store.has(run)], home / "results" / "published"
    drawing = Drawing(options, store, store.root, home / "figures")
    if own and (name := drawing.left_out(finding.recorded(store, (scale,))).get(scale)):
        raise UserError(
            f"The published runs of scale {scale} are on other data than yours ({name}), so nothing is "
            "published; leave --publish out."
        )
    store.publish(own, published)
    print(f"Published {counted(len(own), 'run')} in {published / scale / 'runs.parquet'}.")
    redraw_published(options, home, studies)


def redraw_published(options: Options, home: Path, studies: Sequence[Study]) -> None:
    """Draw everything that is published, and remove the files of studies that nothing published begins any
    more. Where nothing is begun at all the pack may be damaged, and its tables stay."""
    published, figures = home / "results" / "published", home / "figures" / "published"
    every = replace(options, scale=None, profile=None, seeds=None, all=True)
    with locks.waiting(
        published.parent / ".locks" / "redrawing.lock", f"drawing {published}"
    ):  # the last draws all
        drawing = Drawing(every, Store(published / "none", published), published, figures, small=True)
        drawing.redraw(list(studies))
    readme, claims = home / "README.md", published / "claims.csv"
    if readme.exists() and claims.exists():
        text = readme.read_text(encoding="utf-8")
        tables = importlib.import_module("core.report.tables")
        files.write_changed(readme, tables.filled(text, claims).encode())
    alive = {scale for (scale, _), begun in drawing.redrawn.items() if begun}
    for (scale, profile), begun in drawing.redrawn.items():
        gone = [study.name for study in studies if scale in alive and study.name not in begun]
        names = [
            root / scale / profile / f"{name}{end}"
            for root in (published, figures)
            for name in gone
            for end in ENDINGS
        ]
        for path in filter(Path.is_file, names):
            path.unlink()
            print(f"Removed {path}: nothing published begins its study any more.")
