"""Barlow Twins (Zbontar et al. 2021): the views' cross-correlation is to be the identity."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import Section, frozen


@frozen
class Barlow(Section):
    """Weight of the correlations of different dimensions."""

    redundancy: Annotated[float, "weight of the squared correlations off the diagonal"] = 0.0051


METHOD = Derived("simcse", title="Barlow Twins", section=Barlow, unread=("loss.temperature",))
