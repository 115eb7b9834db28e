"""An edition of the evidence: under what a study's runs are trained and read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.spec.axes import with_axes
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.run import RunConfig
from core.spec.scale import Scale, Sources
from core.spec.study import Study
from core.spec.table import Cell
from core.spec.vary import has, paths, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """A profile at a scale, on these texts, tests and encoders, under seeds 0 … seeds-1 of each cell (more, where a study needs more)."""

    profile: str
    scale: Scale
    sources: Sources
    seeds: int

    def config(self, study: Study, cell: Cell, seed: int) -> RunConfig:
        """The run of a cell under one seed."""
        return study.config(cell, profile=self.profile, scale=self.scale, sources=self.sources, seed=seed)

    def configs(self, study: Study, cell: Cell, seeds: int) -> list[RunConfig]:
        """The runs of a cell under seeds 0 … seeds-1."""
        return study.configs(cell, profile=self.profile, scale=self.scale, sources=self.sources, seeds=seeds)

    def unavailable(self, study: Study, cell: Cell) -> str | None:
        """Why a cell cannot be run here, in one sentence; None if it can."""
        return study.unavailable(cell, self.scale, self.sources)

    def seeds_of(self, study: Study) -> int:
        """How many seeds each cell of a study is asked for."""
        return max(self.seeds, study.least_seeds)

    def asked(self, study: Study) -> Iterator[tuple[Cell, list[RunConfig]]]:
        """The cells of a study, as it stands at the scale, that can be run here, each with its runs in the order of their seeds."""
        study = study.at(self.scale)
        for cell in study.cells:
            if self.unavailable(study, cell) is None:
                yield cell, self.configs(study, cell, self.seeds_of(study))

    def varied(self, study: Study, settings: tuple[str, ...], fields: tuple[str, ...] = ()) -> Study:
        """The study under `--set`'s settings and with `--vary`'s fields as axes. Raises UserError for what the study cannot have."""
        runs = {cell.labels: self.config(study, cell, 0) for cell in study.cells if self.unavailable(study, cell) is None}
        if not runs:
            raise UserError(f"No cell of {study.name} can be run at scale {self.scale.name}, so there is nothing to vary.")
        if settings:
            study = study.with_settings(settings, runs)
            runs = {cell.labels: self.config(study, cell, 0) for cell in study.cells if cell.labels in runs}
        return with_axes(study, fields, runs) if fields else study

    def check(self, study: Study) -> None:
        """Whether cells that a study tells apart are apart at this scale, which rounds widths and counts. Raises UserError."""
        kept: dict[str, tuple[Cell, tuple[str, RunConfig]]] = {}
        study = study.at(self.scale)
        for cell in study.cells:
            if self.unavailable(study, cell) is not None:
                continue
            asked = cell.encoder, study.paper_config(cell, self.profile)
            other, already = kept.setdefault(run_id(self.config(study, cell, 0)), (cell, asked))
            if already != asked:
                names = " and ".join("/".join(each.labels) for each in (other, cell))
                raise UserError(
                    f"{names} of {study.name} are one run at scale {self.scale.name}, though they differ in "
                    f"{_differing(already, asked)}; give them values further apart, or choose another --scale."
                )


def _differing(a: tuple[str, RunConfig], b: tuple[str, RunConfig]) -> str:
    """In which two cells differ: the encoder, or paths of their configurations."""
    if a[0] != b[0]:
        return f"the encoder ({a[0]} and {b[0]})"
    return ", ".join(path for path in paths(a[1]) if not has(b[1], path) or read(a[1], path) != read(b[1], path)) or "sections"
