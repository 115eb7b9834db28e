"""Every study, in the papers' order. Adding one: write its file, and name it here."""

from __future__ import annotations

import difflib

from core.spec.errors import UserError
from core.spec.study import Study
from studies.esimcse import table11
from studies.mocose import table3, table7

STUDIES: tuple[Study, ...] = (
    table3.STUDY,
    table7.STUDY,
    table11.STUDY,
)


def find(name: str) -> Study:
    """The study of that name; `table7` is short for `mocose-table7`. Raises UserError with the nearest name."""
    by_name = {study.name: study for study in STUDIES}
    short = {full.removeprefix("mocose-"): full for full in by_name if full.startswith("mocose-")}
    if name in by_name or name in short:
        return by_name[short.get(name, name)]
    near = difflib.get_close_matches(name.lower(), [*by_name, *short], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(by_name)}."
    raise UserError(f"There is no study {name!r}; {hint}")
