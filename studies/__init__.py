"""Every study, in the papers' order. Adding one: write its file, and name it here."""

from __future__ import annotations

import difflib

from core.spec.errors import UserError
from core.spec.study import Study
from studies.esimcse import table11
from studies.mocose import (
    figure2, figure3, figure4, figure5, figure7, figure13, kmeans,
    table1, table2, table3, table4, table5, table6a, table6b, table7, table8, table9,
)  # fmt: skip

STUDIES: tuple[Study, ...] = (
    table1.STUDY,
    table2.STUDY,
    table3.STUDY,
    table4.STUDY,
    table5.STUDY,
    table6a.STUDY,
    table6b.STUDY,
    table7.STUDY,
    table8.STUDY,
    table9.STUDY,
    figure2.STUDY,
    figure3.STUDY,
    figure4.STUDY,
    figure5.STUDY,
    figure7.STUDY,
    figure13.STUDY,
    kmeans.STUDY,
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
