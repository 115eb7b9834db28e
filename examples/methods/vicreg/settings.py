"""VICReg (Bardes et al. 2022): near views, dimensions that vary and do not correlate."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import Section, frozen


@frozen
class VICReg(Section):
    """The covariance term has weight 1."""

    weight: Annotated[float, "weight of distance and variance"] = 25.0


METHOD = Derived(
    "simcse",
    title="VICReg",
    section=VICReg,
    changes={"eval.head": "never"},
    unread=("loss.temperature",),
)
