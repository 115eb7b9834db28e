"""Triplets (Schroff et al. 2015): a positive is to be nearer than a hard negative by a margin."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import ABOVE_0, Section, frozen


@frozen
class Triplet(Section):
    """The margin."""

    margin: Annotated[float, "how much nearer, in squared distance of unit vectors", ABOVE_0] = 0.2


METHOD = Derived(
    "simcse", title="Triplets", section=Triplet, columns=3, unread=("loss.temperature",)
)
