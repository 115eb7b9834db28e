"""What --publish does, and nothing else: runs are packed under results/published, ledgers follow them, and all that is published is
drawn anew from the packs alone, into results/published and figures/published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.data import sources as finding
from core.runner.cli import Options
from core.runner.draw import Drawing
from core.runner.resolve.ledger import Ledgers
from core.spec.edition import Edition
from core.spec.printable import counted
from core.spec.scale import Scale
from core.spec.study import Study
from core.store.store import Store


class Publishing:
    """One command that publishes from `store`; `studies` are all studies, since the page shows them all."""

    def __init__(self, options: Options, store: Store, home: Path, studies: Sequence[Study]):
        self.store, self.published, self.studies = store, home / "results" / "published", list(studies)
        self.options = replace(options, profile=None, seeds=None, all=True)
        self.figures = home / "figures" / "published"

    def publish(self, runs: Sequence[str], studies: Sequence[Study], edition: Edition) -> None:
        """Pack the user's own among these runs, publish the ledgers of these studies, and draw what the scale has."""
        own = [run for run in runs if self.store.has(run)]
        self.store.publish(own, self.published)
        ledgers = Ledgers(self.store.root, edition.scale.name, edition.profile)
        kept = [study.name for study in studies if ledgers.publish(study.name, self.published)]
        print(f"Published {counted(len(own), 'run')} in {self.published / edition.scale.name / 'runs.parquet'}.")
        if kept:
            print(f"Published the ledgers of {', '.join(kept)}.")
        self.draw(edition.scale)

    def draw(self, scale: Scale | None) -> int:
        """Draw everything that is published, of this scale or of all; the exit status."""
        store = Store(self.published / "none", self.published)
        drawing = Drawing(self.options, store, self.published, self.figures)
        if scale is None:
            return drawing.redraw(self.studies)
        found = finding.recorded_sources(scale, store)
        return drawing.redraw_scale(self.studies, scale, found.sources) if found is not None else 0
