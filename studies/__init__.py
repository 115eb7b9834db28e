"""Every study, in the papers' order. Adding one: write its file, and name it in its folder's __init__."""

from __future__ import annotations

import difflib

from core.spec.errors import UserError
from core.spec.study import Study
from studies import esimcse, mocose, own

STUDIES: tuple[Study, ...] = (*mocose.STUDIES, *esimcse.STUDIES, *own.STUDIES)


GROUPS: dict[str, tuple[Study, ...]] = {"mocose": mocose.STUDIES, "esimcse": esimcse.STUDIES, "own": own.STUDIES}


def find(name: str) -> Study:
    """The study of that name. The paper may be left out: `table11` is short for `esimcse-table11`, and `table7`, which both papers
    have, for `mocose-table7`. Raises UserError with the nearest name."""
    by_name = {study.name: study for study in STUDIES}
    short = {full.removeprefix(f"{paper}-"): full for paper in ("esimcse", "mocose") for full in by_name if full.startswith(f"{paper}-")}
    if name in by_name or name in short:
        return by_name[short.get(name, name)]
    near = difflib.get_close_matches(name.lower(), [*by_name, *short, *GROUPS], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(by_name)}, or a group: {', '.join(GROUPS)}."
    raise UserError(f"There is no study {name[:80]!r}; {hint}")
