"""MoCoSE's studies by their short names, and the run of one of their cells."""

from fake_store import SOURCES
from made_scales import PAPER_SOURCES, cell_run

from core.spec.scale import DEMO, MINI, PAPER
from core.spec.study import Study
from studies import STUDIES

MOCOSE = {study.name.removeprefix("mocose-"): study for study in STUDIES if study.paper == "mocose"}
PLACES = [(DEMO, SOURCES), (MINI, SOURCES), (PAPER, PAPER_SOURCES)]


def printed(study: Study) -> dict[tuple[str, ...], float]:
    return {cell.labels: cell.published for cell in study.cells if cell.published is not None}


def config(study: Study, *labels: str, profile: str = "paper", scale=PAPER, sources=PAPER_SOURCES, seed: int = 0):
    cell = next(cell for cell in study.cells if cell.labels == labels)
    return cell_run(study, cell, profile=profile, scale=scale, sources=sources, seed=seed)
