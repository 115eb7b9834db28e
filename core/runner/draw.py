"""Drawing what is stored: the files of studies, the page over all of them, and what the project publishes.
The report is imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.estimate import gpu_seconds
from core.spec.errors import UserError, are, counted, say
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.run import RunConfig, Seed
from core.spec.scale import SCALES, Scale, Sources
from core.spec.setup import Setup
from core.spec.study import Study
from core.store import files, locks
from core.store.store import Store

Key = tuple[str, str]  # scale and profile


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`. With `small`
    each study has a Markdown table, a CSV file of its cells and a PNG, and no LaTeX, PDF or CSV file of
    its runs."""

    def __init__(self, options: Options, store: Store, results: Path, figures: Path, small: bool = False):
        self.options, self.store, self.small = options, store, small
        self.results, self.figures = results, figures

    def draw(self, studies: list[Study], setup: Setup) -> None:
        """Draw studies; with --all also the page, over every scale and profile with runs."""
        results = self.render(studies, setup)
        if self.options.all:
            self.page(studies, {(setup.scale.name, setup.profile): results}, finding.recorded(self.store))
            return
        terminal = importlib.import_module("core.report.tables").terminal
        for result in results:
            say(*terminal(result).split("\n"))

    def redraw(
        self, studies: list[Study], scale: Scale | None = None, sources: Sources | None = None
    ) -> dict[Key, list]:
        """Draw every started study of one scale or of every scale, and the page over all scales; what was
        drawn."""
        recorded, drawn = finding.recorded(self.store), dict[Key, list]()
        for each in [scale] if scale else [SCALES[name] for name in SCALES if name in recorded]:
            profiles = PROFILES if self.options.profile is None else (self.options.profile,)
            for setup in self.setups(each, sources or recorded[each.name].sources, profiles):
                started = self.started(studies, setup)
                drawn[each.name, setup.profile] = self.render(started, setup) if started else []
            if not any(results for (name, _), results in drawn.items() if name == each.name):
                print(f"No study of scale {each.name} is started; train one, and it can be redrawn.")
        self.page(studies, drawn, recorded)
        if unread := self.unread(studies, recorded):
            print(
                f"{are(unread, 'stored run')} of no study as it stands now: an earlier scale, other data, "
                f"--set or --vary. They are kept in {self.store.root / 'runs'}."
            )
        return drawn

    def unread(self, studies: list[Study], recorded: dict[str, finding.Found]) -> int:
        """How many of the user's own runs no cell of these studies has, under any profile and seed."""
        own = [run for run in self.store.runs() if self.store.has(run)]
        cells = {
            _unseeded(configs[0])
            for name, found in recorded.items() if own
            for setup in self.setups(SCALES[name], found.sources)
            for study in studies
            for _, configs in replace(setup, seeds=1).asked(study)
        }  # fmt: skip
        count = 0
        for run in own:
            with contextlib.suppress(UserError):  # of another version, or damaged, which other lines name
                count += _unseeded(self.store.load(run).config) not in cells
        return count

    def setups(self, scale: Scale, sources: Sources, profiles: Sequence[str] = PROFILES) -> Iterator[Setup]:
        """A scale under these profiles."""
        for profile in profiles:
            yield Setup(
                profile=profile, scale=scale, sources=sources, seeds=self.options.seeds or scale.seeds
            )

    def page(self, studies: list[Study], drawn: dict[Key, list], recorded: dict[str, finding.Found]) -> None:
        """Write the page over all scales and profiles, of which some are drawn; `recorded` are the sources of
        the stored runs."""
        report = importlib.import_module("core.report.render")
        results, setups = dict(drawn), []
        for scale in SCALES.values():
            there = recorded.get(scale.name)
            others = finding.HIDDEN if scale.hub_models else ()
            for setup in self.setups(scale, there.sources if there else finding.unfetched_sources(others)):
                setups.append(setup)
                if there and (key := (scale.name, setup.profile)) not in drawn:
                    results[key] = report.gathered(self.started(studies, setup), setup, self.store)
        say(*report.render_index(studies, results, setups, self.results, self.figures, gpu_seconds))
        for name, data in self.other_data(recorded).items():
            say(
                f"Published runs of scale {name} are on other data than yours ({data}) and left out; "
                f"{self.store.published} shows them."
            )

    def other_data(self, recorded: dict[str, finding.Found]) -> dict[str, str]:
        """The scales whose published runs are on other data than these sources, each with a name for them."""
        packs = Store(self.store.published / "none", self.store.published) if self.store.published else None
        both = (
            {name: found for name, found in finding.recorded(packs).items() if name in recorded}
            if packs
            else {}
        )
        names = {
            name: finding.other_data(recorded[name].sources, found.sources) for name, found in both.items()
        }
        return {name: data for name, data in names.items() if data}

    def started(self, studies: list[Study], setup: Setup) -> list[Study]:
        """The studies of which a run of their own is stored, or one seed of all cells, or every seed of a
        claim's cells. Other runs that several studies share do not count. A study with `least_seeds` above 1
        needs that many seeds of all cells."""
        asked = {
            s.name: {cell.labels: [run_id(c) for c in runs] for cell, runs in setup.asked(s)} for s in studies
        }
        sharing = Counter(
            run for cells in asked.values() for run in {run for runs in cells.values() for run in runs}
        )

        def is_started(study: Study) -> bool:
            cells = asked[study.name]
            stored = {
                labels: [self.store.has(run, use_published=True) for run in runs]
                for labels, runs in cells.items()
            }
            whole = sum(all(seed) for seed in zip(*stored.values(), strict=True))
            if whole or study.least_seeds > 1:
                return whole >= study.least_seeds
            if any(
                has and sharing[run] == 1
                for labels in cells
                for has, run in zip(stored[labels], cells[labels], strict=True)
            ):
                return True
            claims = (study.at(setup.scale).cells_of(claim.predicate.contrasts()) for claim in study.claims)
            named = ([stored.get(cell.labels, [False]) for cell in of_claim] for of_claim in claims)
            return any(of_claim and all(map(all, of_claim)) for of_claim in map(list, named))

        return [study for study in studies if is_started(study)]

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
        return summary.results


def _unseeded(config: RunConfig) -> str:
    """The id of a run's cell."""
    return run_id(replace(config, seed=Seed(model=0, data=0)))


def publish(
    options: Options, store: Store, home: Path, studies: Sequence[Study], runs: Sequence[str], scale: str
) -> None:
    """Pack your own runs of a scale among these, and draw everything that is published. Raises UserError for
    runs on other data than the published runs of the scale."""
    own, published = [run for run in runs if store.has(run)], home / "results" / "published"
    drawing = Drawing(options, store, store.root, home / "figures")
    if own and (data := drawing.other_data(finding.recorded(store, (scale,))).get(scale)):
        raise UserError(
            f"The published runs of scale {scale} are on other data than yours ({data}), so nothing is "
            "published; leave --publish out."
        )
    store.publish(own, published)
    print(f"Published {counted(len(own), 'run')} in {published / scale / 'runs.parquet'}.")
    redraw_published(home, studies)


def redraw_published(home: Path, studies: Sequence[Study]) -> None:
    """Draw everything that is published and README's findings, and remove the files of studies that nothing
    published starts any more."""
    published, figures = home / "results" / "published", home / "figures" / "published"
    every = argparse.Namespace(seeds=None, profile=None, all=True)
    with locks.waiting(
        published.parent / ".locks" / "redrawing.lock", f"drawing {published}"
    ):  # the last draws all
        drawing = Drawing(every, Store(published / "none", published), published, figures, small=True)
        drawn = drawing.redraw(list(studies))
    readme, claims = home / "README.md", published / "claims.csv"
    if readme.exists() and claims.exists():
        filled = importlib.import_module("core.report.tables").filled
        files.write_changed(readme, filled(readme.read_text(encoding="utf-8"), claims).encode())
    whole = {
        scale for (scale, _), results in drawn.items() if results
    }  # where nothing is drawn a pack may be damaged
    for (scale, profile), results in drawn.items():
        for study in {study.name for study in studies if scale in whole} - {
            result.study.name for result in results
        }:
            for path in [
                path
                for root in (published, figures)
                for path in (root / scale / profile).glob(f"{study}[._-]*")
            ]:
                path.unlink()
                print(f"Removed {path}: nothing published starts its study any more.")
