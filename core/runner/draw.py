"""Drawing what is stored: the files of studies, the page over all of them, and what the project publishes.
The report is imported when it is needed: matplotlib takes its time."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import os
from collections import Counter
from collections.abc import Sequence
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
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.spec.study import Study
from core.store import files, locks
from core.store.store import Store

MARK = "<title>Which ablations hold?"  # of our page; it and its README.md are written over, and no others
Key = tuple[str, str]  # scale and profile


class Drawing:
    """What one command draws, and where: tables under `results`, pictures under `figures`. With `small`
    each study has a Markdown table, a CSV file of its cells and a PNG, and no LaTeX, PDF or CSV file of
    its runs."""

    def __init__(self, options: Options, store: Store, results: Path, figures: Path, small: bool = False):
        self.options, self.store, self.small = options, store, small
        self.results, self.figures = results, figures

    def draw(self, studies: list[Study], setup: Setup) -> None:
        """Draw studies and print their tables."""
        terminal = importlib.import_module("core.report.tables").terminal
        for result in self.render(studies, setup):
            say(*terminal(result).split("\n"))

    def redraw(self, studies: list[Study], only: str | None = None) -> dict[Key, list]:
        """Draw every started study of a scale, or of every scale, and the page over all scales and profiles;
        the results of all."""
        page, readme = self.results / "index.html", self.results / "README.md"
        ours = page.is_file() and MARK in page.read_text(encoding="utf-8", errors="replace")[:1000]
        if not ours and (other := next(filter(Path.exists, (page, readme)), None)):
            raise UserError(f"{other} was not drawn by this command; give another --results-dir.")
        report, recorded = importlib.import_module("core.report.render"), finding.recorded(self.store)
        results, setups = dict[Key, list](), list[Setup]()
        for scale, profile in itertools.product(SCALES.values(), PROFILES):
            there, key = scale.name in recorded, (scale.name, profile)
            none = finding.unfetched_sources(finding.HIDDEN if scale.hub_models else ())
            sources, seeds = (
                recorded[scale.name].sources if there else none,
                self.options.seeds or scale.seeds,
            )
            setups.append(Setup(profile=profile, scale=scale, sources=sources, seeds=seeds))
            started = self.started(studies, setups[-1]) if there else []
            if started and only in (None, scale.name) and self.options.profile in (None, profile):
                results[key] = self.render(started, setups[-1])
            elif there:
                stored = report.gathered(started, setups[-1], self.store)
                results[key] = [result for result in stored if result.begun]
        if not any(results.values()):
            print("No study is started; train one, and it can be redrawn.")
        say(*report.render_index(studies, results, setups, self.results, self.figures, gpu_seconds))
        for name, data in other_data(self.store, recorded).items():
            say(
                f"Published runs of scale {name} are on other data than yours ({data}) and left out; "
                f"{self.store.published} shows them."
            )
        if unread := self.unread(studies, [setup for setup in setups if setup.scale.name in recorded]):
            print(
                f"{are(unread, 'stored run')} of no study as it stands now: an earlier scale, other data, "
                f"--set or --vary. They are kept in {self.store.root / 'runs'}."
            )
        return results

    def unread(self, studies: list[Study], setups: Sequence[Setup]) -> int:
        """How many of the user's own runs no cell of these studies has, under any seed."""
        own = [run for run in self.store.runs() if self.store.has(run)]
        cells = {
            _unseeded(configs[0])
            for setup in setups if own
            for study in studies
            for _, configs in replace(setup, seeds=1).asked(study)
        }  # fmt: skip
        count = 0
        for run in own:
            with contextlib.suppress(UserError):  # of another version, or damaged, which other lines name
                count += _unseeded(self.store.load(run).config) not in cells
        return count

    def started(self, studies: list[Study], setup: Setup) -> list[Study]:
        """The studies of which a run of their own is stored, or one seed of all cells, or every seed of a
        claim's cells. Other runs that several studies share do not count. A study with `least_seeds` above 1
        needs that many seeds of all cells."""
        asked = {
            study.name: {cell.labels: [run_id(run) for run in runs] for cell, runs in setup.asked(study)}
            for study in studies
        }
        sharing = Counter(run for cells in asked.values() for run in set().union(*cells.values()))
        stored = {run for run in sharing if self.store.has(run, use_published=True)}

        def is_started(study: Study) -> bool:
            cells = asked[study.name]
            seeds = sum(stored.issuperset(seed) for seed in zip(*cells.values(), strict=True))
            if seeds or study.least_seeds > 1:
                return seeds >= study.least_seeds
            contrasts = (claim.predicate.contrasts() for claim in study.claims)
            claims = ([cell.labels for cell in study.at(setup.scale).cells_of(one)] for one in contrasts)
            runs = ([run for labels in claim for run in cells.get(labels, [""])] for claim in claims)
            own = any(sharing[run] == 1 for run in stored.intersection(set().union(*cells.values())))
            return own or any(of_claim and stored.issuperset(of_claim) for of_claim in runs)

        return [study for study in studies if is_started(study)]

    def render(self, studies: list[Study], setup: Setup) -> list:
        """Draw tables and figures from what is stored, and say what was drawn; the results."""
        os.environ["MPLBACKEND"] = "agg"  # a name that matplotlib does not know would break its import
        report: Any = importlib.import_module("core.report.render")
        lines, results = report.render(studies, setup, self.store, self.results, self.figures, self.small)
        say(*lines)
        return results


def _unseeded(config: RunConfig) -> str:
    """The id of a run's cell."""
    return run_id(replace(config, seed=Seed(model=0, data=0)))


def other_data(store: Store, recorded: dict[str, finding.Found]) -> dict[str, str]:
    """The scales whose published runs are on other data than these sources, each with a name for them."""
    assert store.published is not None, "a command's store has the published runs"
    published = finding.recorded(Store(store.published / "none", store.published))
    both = [scale for scale in recorded if scale in published]
    names = {scale: finding.other_data(recorded[scale].sources, published[scale].sources) for scale in both}
    return {scale: name for scale, name in names.items() if name}


def publish(store: Store, home: Path, studies: Sequence[Study], runs: Sequence[str], scale: str) -> None:
    """Pack your own runs of a scale among these, and draw everything that is published. Raises UserError for
    runs on other data than the published runs of the scale."""
    own, published = [run for run in runs if store.has(run)], home / "results" / "published"
    if own and (data := other_data(store, finding.recorded(store, (scale,))).get(scale)):
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
    every, lock = argparse.Namespace(seeds=None, profile=None), home / "results" / ".locks" / "redrawing.lock"
    with locks.waiting(lock, f"drawing {published}"):  # the last command draws all
        store = Store(published / "none", published)
        drawn = Drawing(every, store, published, figures, small=True).redraw(list(studies))
    readme, claims = home / "README.md", published / "claims.csv"
    if readme.exists() and claims.exists():
        filled = importlib.import_module("core.report.tables").filled
        files.write_changed(readme, filled(readme.read_text(encoding="utf-8"), claims).encode())
    readable = {
        scale for (scale, _), results in drawn.items() if results
    }  # of a damaged pack nothing is drawn
    for (scale, profile), results in drawn.items():
        kept = {result.study.name for result in results}
        for name in [s.name for s in studies if scale in readable and s.name not in kept]:
            for folder in (published / scale / profile, figures / scale / profile):
                for path in folder.glob(f"{name}[._-]*"):
                    path.unlink()
