"""The scale at which a study's stored runs say most: English before the made-up language."""

from __future__ import annotations

from collections.abc import Sequence

from core.config.scale import DEMO, MINI, PAPER, Scale
from core.data import sources as finding
from core.store.store import Store
from core.study.grid import Grid, resolve
from core.study.setup import Setup
from core.study.study import Study

ENGLISH = (PAPER, MINI)  # the scales with English text, the largest first


def best_scale(studies: Sequence[Study], store: Store, profile: str) -> str:
    """The first scale with stored runs of any of these studies; demo without a run."""
    for scale in ENGLISH:
        setup = stored_setup(scale, store, profile)
        if setup and any(has_answer(resolve(study, setup), store) for study in studies):
            return scale.name
    return DEMO.name


def stored_setup(scale: Scale, store: Store, profile: str) -> Setup | None:
    """The setup of a scale's stored runs; None without a run."""
    recorded = finding.recorded_sources(scale, store)
    if recorded is None:
        return None
    return Setup(profile=profile, scale=scale, sources=recorded.sources, seeds=scale.seeds)


def has_answer(grid: Grid, store: Store) -> bool:
    """Whether a study has stored runs to compare: of two cells, or of the only one."""
    begun = 0
    for cell in grid.available:
        begun += any(store.has(run, use_published=True) for run in cell.run_ids)
    return begun >= min(2, len(grid.available)) > 0
