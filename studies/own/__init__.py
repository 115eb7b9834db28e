"""Studies of our own: the noise that everything is read against, and what each deviation is worth."""

from core.spec.study import Study
from studies.own import (
    deviations,
    deviations_d21,
    deviations_esimcse,
    noise,
    updates,
)  # fmt: skip

STUDIES: tuple[Study, ...] = tuple(
    module.STUDY for module in (
        noise, updates, deviations, deviations_d21, deviations_esimcse,
    )
)  # fmt: skip
