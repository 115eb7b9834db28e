"""Alignment and uniformity as a loss (Wang and Isola 2020, section 5): a method that neither paper has."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from core.methods.simcse.settings import PAPER as SIMCSE
from core.methods.simcse.settings import SimCSERun
from core.spec.errors import UserError
from core.spec.methods import Method
from core.spec.run import RunConfig
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniformity(Section):
    """Weight and sharpness of the uniformity term."""

    weight: float = 1.0
    sharpness: float = 2.0

    def check(self):
        if self.sharpness <= 0:
            raise UserError(f"uniformity.sharpness is {self.sharpness}, but it must be above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignUniformRun(RunConfig):
    """One run."""

    method: Literal["alignuniform"] = "alignuniform"
    uniformity: Uniformity


SHARED = {field.name: getattr(SIMCSE, field.name) for field in dataclasses.fields(SimCSERun) if field.name != "method"}
METHOD = Method(
    title="Alignment and uniformity",
    paper=AlignUniformRun(**SHARED, uniformity=Uniformity()),
    repaired={},
    released={"uniformity.weight": 0.5},
)
