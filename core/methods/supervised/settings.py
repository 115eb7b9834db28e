"""Supervised SimCSE's runs: triples of a sentence, its positive and its hard negative. No torch."""

from typing import Annotated

from core.config.methods import Derived
from core.config.section import ABOVE_0, Section, frozen


@frozen
class Hard(Section):
    """The hard negatives, the third column of the training text."""

    weight: Annotated[
        float | None, "weight of a sentence's own hard negative; none leaves all out", ABOVE_0
    ] = 1.0


METHOD = Derived(
    "simcse",
    title="Supervised SimCSE",
    section=Hard,
    changes={"train.batch_size": 512, "train.learning_rate": 5e-5, "eval.head": "on"},
    columns=3,
)
