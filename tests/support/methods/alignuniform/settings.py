"""Alignment and uniformity as a loss (Wang and Isola 2020, section 5): a method that neither paper has."""

from dataclasses import dataclass

from core.spec.errors import UserError
from core.spec.methods import derived
from core.spec.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniformity(Section):
    """Weight and sharpness of the uniformity term."""

    weight: float = 1.0
    sharpness: float = 2.0

    def check(self):
        if self.sharpness <= 0:
            raise UserError(f"uniformity.sharpness is {self.sharpness}, but it must be above 0.")


METHOD = derived("simcse", title="Alignment and uniformity", section=Uniformity)
