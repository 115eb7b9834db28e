"""VICReg (Bardes et al. 2022): near views, dimensions that vary and do not correlate."""

from dataclasses import dataclass
from typing import Annotated

from core.config.methods import derived
from core.config.section import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class VICReg(Section):
    """Weights of the terms."""

    near: Annotated[float, "weight of the squared distance of both views"] = 25.0
    spread: Annotated[float, "weight of the variance term"] = 25.0


METHOD = derived("simcse", title="VICReg", section=VICReg, changes={"eval.head": "never"})
