"""The page's first screen: how many claims have each verdict, which are settled, and a line a
table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from core.config.run import RunConfig
from core.errors import counted
from core.report import prospects
from core.report.comparisons import Outcome, Points
from core.report.results import CellResult
from core.report.verdicts import Judged
from core.report.words import MARKS, mark
from core.study.study import Study

FIRST_SEEDS = 5  # of a study at the papers' scale, for its cost
MOST_COMPARISONS = 3  # of a settled claim that the first screen lists
NUMBERED_TITLE = re.compile(r"\b(Table|Figure)s? (\w+)(?: (?:and|to) (\w+))?")
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


class Count(NamedTuple):
    """How many claims have a verdict."""

    verdict: Outcome
    points: Points
    n: int

    @property
    def sign(self) -> str:
        """The symbol of the verdict."""
        return mark(self.verdict, self.points)


def counts(rows: Sequence[Mapping]) -> list[Count]:
    """How many of these claims have each verdict, in the order of `KINDS`."""
    kinds = [(row["verdict"], row["points"]) for row in rows]
    return [Count(*kind, kinds.count(kind)) for kind in COUNTED_KINDS]


def legend_words() -> list[str]:
    """The name of each kind of verdict, with its symbol."""
    names = []
    for verdict, side in COUNTED_KINDS:
        words = f"{verdict}, points {side}" if side else verdict
        names.append(f"{mark(verdict, side)} {words}")
    return names


def settled_claims(sections: Sequence[Mapping], scale: str) -> list[dict]:
    """The claims that a scale has settled, each with the comparisons that show it."""
    claims = []
    for section in sections:
        for card in section["cards"]:
            row = card["at"].get(scale)
            if row is None or row["verdict"] not in ("supported", "contradicted", "equivalent"):
                continue
            lines = [line for line in card["comparisons"] if scale in line["at"]]
            if len(lines) > MOST_COMPARISONS:
                lines = []
            claims.append({"study": section["study"], "card": card, "row": row, "lines": lines})
    return claims


def at_mini(result: Judged, seconds: SecondsOf) -> str:
    """What is left to train of a study at scale mini, and how long an H100 takes."""
    cells = [cell for cell in result.cells if cell.unavailable is None]
    if not cells:
        return "cannot be run"
    runs = dict[str, float]()
    for cell in cells:
        runs |= _missing(cell, seconds)
    if not runs:
        return "all run"
    return f"{counted(len(runs), 'run')}, {hours(sum(runs.values()))}"


def _missing(cell: CellResult, seconds: SecondsOf) -> dict[str, float]:
    """Seconds of a cell's runs that are not stored, by run id."""
    missing = [run for run in cell.runs if run.status == "missing"]
    expected = {}
    for run in missing:
        expected[run.run_id] = seconds(cell.place.config(run.seed))
    return expected


def at_paper(result: Judged, costs: Sequence[prospects.Cost], seconds: SecondsOf) -> str:
    """What a study takes at the papers' scale: for the claims that can be settled, else for the
    first seeds."""
    if costs:
        total = prospects.total(costs)
        settles = f"settles {total.able} of {total.claims}"
        if not total.able:
            return f"{prospects.LOOKS[-1]} seeds: {settles}"
        runs = counted(len(total.runs), "run")
        return f"{runs}, {hours(prospects.HOUR * sum(total.runs.values()))}: {settles}"
    cells = {cell.runs[0].run_id: cell.place for cell in result.cells if cell.runs}
    if not cells:
        return "cannot be run"
    of_a_seed = 0.0
    for cell in cells.values():
        of_a_seed += seconds(cell.config(0))
    runs = counted(FIRST_SEEDS * len(cells), "run")
    return f"{runs}, {hours(FIRST_SEEDS * of_a_seed)}: {FIRST_SEEDS} seeds"


def hours(seconds: float) -> str:
    """Seconds as minutes or hours."""
    if seconds < 2 * prospects.HOUR:
        return f"{max(1, round(seconds / 60))} min"
    value = seconds / prospects.HOUR
    return f"{value:.0f} h" if value >= 10 else f"{value:.1f} h"


def table_numbers_of(study: Study) -> str:
    """The tables and figures of the paper that a study stands for, as the search looks them up:
    "|table 7|figure 12|"."""
    texts = [study.title, study.caption]
    figures = [*study.footnotes, *(f"{claim.place} {claim.note}" for claim in study.claims)]
    names = [(kind, ends) for kind, *ends in NUMBERED_TITLE.findall(" ".join(texts))]
    for kind, *ends in NUMBERED_TITLE.findall(" ".join(figures)):
        if kind == "Figure":
            names.append((kind, ends))
    listed = []
    for kind, ends in names:
        listed += [f"{kind} {end}".lower() for end in ends if end and end[0].isdigit()]
    return "|" + "".join(f"{name}|" for name in dict.fromkeys(listed))


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
