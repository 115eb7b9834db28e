"""MoCoSE's studies by their short names, and the run of one of their cells."""

from dataclasses import replace

from fake_store import SOURCES

from core.spec.scale import DEMO, MINI, PAPER, EncoderSource
from core.spec.study import Study
from core.spec.table import ENCODERS
from studies import STUDIES

MOCOSE = {study.name.removeprefix("mocose-"): study for study in STUDIES if study.paper == "mocose"}
LARGE = replace(
    SOURCES, corpus_rows=1_000_000, encoder_hidden=768,
    others=tuple(
        EncoderSource(stands_for=name, digest=name, hidden=1024 if name.endswith("large") else 768, name=name)
        for name in ENCODERS[1:]
    ),
)  # fmt: skip
PLACES = [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, LARGE)]


def printed(study: Study) -> dict[tuple[str, ...], float]:
    return {cell.labels: cell.published for cell in study.cells if cell.published is not None}


def config(study: Study, *labels: str, profile: str = "paper", scale=PAPER, sources=LARGE, seed: int = 0):
    cell = next(cell for cell in study.cells if cell.labels == labels)
    return study.config(cell, profile=profile, scale=scale, sources=sources, seed=seed)
