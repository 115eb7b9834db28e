"""The encoder without training: SimCSE's run with no step. It measures what a trained encoder may
owe to its start. No torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from core.config.methods import Method
from core.config.run import Measure, RunConfig
from core.config.section import frozen
from core.methods.simcse.settings import METHOD as SIMCSE
from core.methods.simcse.settings import SHARED, check_two_views


@frozen
class UntrainedRun(RunConfig):
    """One run of no steps."""

    method: Literal["untrained"] = "untrained"

    trains = False

    check = check_two_views

    def scaled(self, measure: Measure) -> dict[str, object]:
        return {"train.steps": 0}


METHOD = Method(
    title="Untrained encoder",
    paper=UntrainedRun(**SHARED | {"train": replace(SHARED["train"], steps=0)}),
    repaired=SIMCSE.repaired,
    released=SIMCSE.released,
)
