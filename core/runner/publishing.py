"""`--publish`: runs are packed under results/published, and everything published is drawn anew from the packs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.runner.cli import Options
from core.runner.draw import Drawing
from core.spec.errors import counted
from core.spec.study import Study
from core.store.store import Store

ENDINGS = (
    ".md",
    ".tex",
    ".csv",
    "_runs.csv",
    ".png",
    ".pdf",
)  # of the files that `render` draws a study into


class Publishing:
    """One command that publishes from `store`; `studies` are all studies, since the page shows them all."""

    def __init__(self, options: Options, store: Store, home: Path, studies: Sequence[Study]):
        self.store, self.published, self.studies = store, home / "results" / "published", list(studies)
        self.options = replace(options, profile=None, seeds=None, all=True)
        self.figures = home / "figures" / "published"

    def publish(self, runs: Sequence[str], scale: str) -> None:
        """Pack the user's own runs of a scale among these, and draw everything that is published."""
        own = [run for run in runs if self.store.has(run)]
        self.store.publish(own, self.published)
        print(f"Published {counted(len(own), 'run')} in {self.published / scale / 'runs.parquet'}.")
        self.draw()

    def draw(self) -> None:
        """Draw everything that is published, and remove the files of studies that nothing published begins any more. Where nothing is begun
        at all the pack may be damaged, and its tables stay."""
        drawing = Drawing(
            self.options,
            Store(self.published / "none", self.published),
            self.published,
            self.figures,
            small=True,
        )
        drawing.redraw(self.studies)
        for (scale, profile), begun in drawing.redrawn.items():
            left = [study.name for study in self.studies if begun and study.name not in begun]
            for path in self.removed(scale, profile, left):
                print(f"Removed {path}: nothing published begins its study any more.")

    def removed(self, scale: str, profile: str, names: Sequence[str]) -> list[Path]:
        """Remove tables and figures of these studies under a scale and profile; the paths that were there."""
        files = [f"{name}{ending}" for name in names for ending in ENDINGS]
        paths = [root / scale / profile / file for root in (self.published, self.figures) for file in files]
        there = [path for path in paths if path.is_file()]
        for path in there:
            path.unlink()
        return there
