"""The scale at which a study's stored runs say most: English before the made-up language."""

from __future__ import annotations

from collections.abc import Sequence

from core.config.scale import DEMO, MINI, PAPER, Scale
from core.data.sources import recorded_sources
from core.store.store import Store
from core.study.resolution import ResolvedStudy, resolve
from core.study.setup import Setup
from core.study.study import Study

ENGLISH = (PAPER, MINI)  # the scales with English text, the largest first


def stored_setup(
    scale: Scale, store: Store, profile: str, seeds: int | None = None
) -> Setup | None:
    """The setup of a scale's stored runs; None without a run."""
    recorded = recorded_sources(scale, store)
    if recorded is None:
        return None
    seeds = seeds or scale.seeds
    return Setup(profile=profile, scale=scale, sources=recorded, seeds=seeds)


def begun_at(scale: Scale, study: Study, store: Store, profile: str) -> ResolvedStudy | None:
    """A study on its stored runs at a scale, if there are runs to compare: of two cells, or of the
    only one."""
    setup = stored_setup(scale, store, profile)
    if setup is None:
        return None
    resolved = resolve(study, setup)
    begun = 0
    for cell in resolved.available:
        begun += any(store.has(run, use_published=True) for run in cell.run_ids)
    return resolved if begun >= min(2, len(resolved.available)) > 0 else None


def best_scale(studies: Sequence[Study], store: Store, profile: str) -> str:
    """The largest scale in English that has stored runs of any of these studies, else demo. Without
    a run of them the scale that says most of them once they are trained."""
    for scale in (*ENGLISH, DEMO):
        if any(begun_at(scale, study, store, profile) is not None for study in studies):
            return scale.name
    return DEMO.name if recorded_sources(MINI, store) is None else MINI.name
