"""The page's first screen: how many claims have each verdict, which are settled, and a line a
table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pandas as pd

from core.config.run import RunConfig
from core.errors import counted, spoken
from core.report.contrasts import Points
from core.report.verdicts import Judged, Outcome
from core.report.words import MARKS

# every verdict, and where an undecided claim points
COUNTED_KINDS: tuple[tuple[Outcome, Points], ...] = (
    ("supported", ""),
    ("contradicted", ""),
    ("equivalent", ""),
    ("undecided", "for"),
    ("undecided", "against"),
    ("undecided", ""),
    ("not run", ""),
    ("no verdict", ""),
)
SecondsOf = Callable[[RunConfig], float]  # that a run is expected to take


def counts(claims: pd.DataFrame) -> dict[tuple[str, str], Counter]:
    """How many claims of each study and scale have each verdict and point each way."""
    by_place: dict[tuple[str, str], Counter] = {}
    for row in claims.itertuples():
        by_place.setdefault((row.study, row.scale), Counter())[row.verdict, row.points] += 1
    return by_place


def at_mini(result: Judged, seconds: SecondsOf) -> str:
    """What is left to train of a study at scale mini, and how long an H100 takes."""
    cells = [cell for cell in result.cells if cell.unavailable is None]
    if not cells:
        return "cannot be run"
    left = {}
    for cell in cells:
        for run in cell.runs:
            if run.status == "missing":
                left[run.run_id] = seconds(cell.place.config(run.seed))
    if not left:
        return "all run"
    return f"{counted(len(left), 'run')}, {spoken(sum(left.values()))}"


def lede(claims: pd.DataFrame) -> list[str]:
    """The page's first sentences, under profile `paper`."""
    sentences = []
    if not (claims[claims["scale"] == "paper"]["n"] > 0).any():
        sentences.append("No claim has been tested at the papers’ own scale yet.")
    english = claims[(claims["scale"] == "mini") & (claims["n"] > 0)]["verdict"]
    texts = []
    for verdict in MARKS:
        number = int((english == verdict).sum())
        if number and verdict != "not run":
            texts.append(f"{number} {verdict}")
    if texts:
        sentences.append(f"In English, on a small encoder: {', '.join(texts)}.")
    if (claims[claims["scale"] == "demo"]["n"] > 0).any():
        sentences.append(
            "The made-up language shows how the tool works. It says nothing of English."
        )
    return sentences
