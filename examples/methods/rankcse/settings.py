"""SimCSE beside a frozen teacher (RankCSE, Liu et al. 2023; its list-wise distillation)."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import ABOVE_0, Section, frozen


@frozen
class Ranks(Section):
    """How the teacher's order of the other sentences is followed."""

    weight: Annotated[float, "weight of the term"] = 1.0
    temperature: Annotated[float, "of the trained encoder's cosines", ABOVE_0] = 0.05
    teacher_temperature: Annotated[float, "of the teacher's cosines", ABOVE_0] = 0.025


METHOD = Derived("simcse", title="RankCSE", section=Ranks)
