"""Three views: SimCSE's two, and the sentence with some of its words left out as a third."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import SHARE, Section, frozen


@frozen
class Three(Section):
    """The third view."""

    left_out: Annotated[float, "share of the words that the third view leaves out", SHARE] = 0.2


METHOD = Derived("simcse", title="Three views", section=Three)
