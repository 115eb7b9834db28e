"""SimCSE beside a kept model, which lies in the folder `teacher` beside this file."""

from pathlib import Path
from typing import Annotated

from core.config.methods import Derived
from core.config.section import Section, frozen
from core.data.encoders import encoder_digest

FOLDER = Path(__file__).with_name("teacher")


@frozen
class Teacher(Section):
    """A folder that --keep-models left. Its content is a part of the run's id."""

    content: Annotated[str, "digest of the teacher's files"] = encoder_digest(FOLDER)
    weight: Annotated[float, "weight of the distance from the teacher's cosines"] = 10.0


METHOD = Derived("simcse", title="Distilled SimCSE", section=Teacher)
