"""Verdicts on a user's own scores: paired differences, claims, and the seeds that would settle
them, by the functions that judge the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.errors import UserError, counted, nearest, no_formula, printable, shown
from core.report.claims import comparison_sentences
from core.report.comparisons import lines_of, needed
from core.report.contrasts import Reading
from core.report.frames import csv_text
from core.report.numbers import interval, number, signed
from core.report.prospects import POWER, chances
from core.report.score_table import Scores
from core.report.stated_claims import SOME_ROWS, stated_claim
from core.report.statistics import ALPHA, LOOKS, NOT_TESTED, Labels, comparisons, over_seeds
from core.report.tables import Grid, laid_out, markdown_table, marks, md
from core.report.verdicts import Verdict, verdict_on
from core.report.words import mark, outcome_words
from core.study.claim import Claim, Contrast
from core.study.study import Axis, FigureSpec, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_CLAIM = "No claim is stated, so there is no verdict; --claim 'a > b' states one."


@dataclass(frozen=True)
class Judgement:
    """A user's scores with what they say of the claims: text in a terminal, HTML in a notebook.

    `scores` are by row, (seeds,); `reference` is the row that the others are compared with."""

    scores: Scores
    claims: tuple[Claim, ...]
    reference: str
    name: str = "Your scores"

    @property
    def seeds(self) -> int:
        """How many seeds each row has."""
        return len(self.scores[self.reference])

    @cached_property
    def study(self) -> Study:
        """The scores as a study of one axis."""
        return Study(
            name="scores",
            caption=self.name,
            method="",
            rows=Axis("row", "Row", labels=tuple(self.scores)),
            figure=FigureSpec(base=(self.reference,), base_name=shown(self.reference)),
            reference=self.reference,
            claims=self.claims,
        )

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each claim; together they share 5 % of error, as a paper's study does."""
        return tuple(
            verdict_on(claim, self._readings(claim), len(self.claims)) for claim in self.claims
        )

    def _readings(self, claim: Claim) -> dict[Contrast, Reading]:
        readings = {}
        for contrast in claim.predicate.contrasts():
            weights = np.array([term.weight for term in contrast.terms])
            values = np.stack([self.scores[str(term.cell[0])] for term in contrast.terms])
            readings[contrast] = Reading(contrast, (), weights, values)
        return readings

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a row: mean with its 95 % interval, and the difference to the reference, paired
        by seed, with its 95 % and its tested interval."""
        cells: dict[Labels, Mapping[int, float]] = {}
        for row, values in self.scores.items():
            cells[(row,)] = dict(enumerate(values.tolist()))
        tested = comparisons(cells, (self.reference,), self.claims)
        rows = []
        for row, values in self.scores.items():
            mean = over_seeds(values)
            paired = over_seeds(values - self.scores[self.reference])
            interval_tested = tested.get((row,), NOT_TESTED)
            different = ""
            if interval_tested.n:
                different = "yes" if interval_tested.distinguishable else "no"
            rows.append(
                {
                    "row": row,
                    "mean": mean.mean,
                    "ci95_low": mean.low,
                    "ci95_high": mean.high,
                    "n": mean.n,
                    "sd": mean.sd,
                    "reference": self.reference,
                    "paired_difference": paired.mean,
                    "paired_ci95_low": paired.low,
                    "paired_ci95_high": paired.high,
                    "paired_n": paired.n,
                    "tested_low": interval_tested.low,
                    "tested_high": interval_tested.high,
                    "tested_n": interval_tested.n,
                    "different": different,
                    "values": " ".join(f"{value:.10g}" for value in values),
                }
            )
        return pd.DataFrame(rows)

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """One row a comparison that a claim needs, in the claims' order."""
        rows = []
        for verdict in self.verdicts:
            for line in lines_of(verdict.claim.predicate, verdict.comparisons, self.study):
                required = (line.left, line.right, line.above, line.below)
                numbers = (line.estimate.mean, line.estimate.low, line.estimate.high)
                claim = (verdict.claim.key, needed(verdict.claim.predicate))
                outcome = (line.estimate.n, line.points, line.outcome)
                rows.append((*claim, *required, "points", np.nan, *numbers, *outcome))
        columns = "claim needed left right above below unit printed estimate ci95_low ci95_high n"
        frame = pd.DataFrame(rows, columns=[*columns.split(), "points", "verdict"])
        return frame.astype(dict.fromkeys(("above", "below"), float))

    @cached_property
    def verdict_table(self) -> pd.DataFrame:
        """One row a claim: verdict, the weakest comparison less what the claim requires, its 95 %
        and its tested interval, and the seeds that would settle it."""
        rows = []
        for verdict in self.verdicts:
            seeds = settling(verdict, len(self.claims))
            rows.append(
                {
                    "claim": verdict.claim.key,
                    "text": verdict.claim.text,
                    "verdict": verdict.outcome,
                    "points": verdict.points,
                    "estimate": verdict.estimate.mean,
                    "ci95_low": verdict.estimate.low,
                    "ci95_high": verdict.estimate.high,
                    "n": verdict.estimate.n,
                    "tested_low": verdict.tested.low,
                    "tested_high": verdict.tested.high,
                    "tested_n": verdict.tested.n,
                    "settling_seeds": seeds.seeds,
                    "settling_chance": seeds.chance,
                }
            )
        columns = {"settling_seeds": "Int64"}
        return pd.DataFrame(rows).astype(columns if rows else {})

    def sentences(self) -> list[tuple[int, str]]:
        """Each claim's verdict, below it its comparisons and what would settle it, by depth."""
        sentences: list[tuple[int, str]] = []
        for verdict in self.verdicts:
            words = outcome_words(verdict.outcome, verdict.points, verdict.within_margin)
            head = f"{mark(verdict.outcome, verdict.points)} {verdict.claim.text}: {words}"
            of_claim = self.comparisons[self.comparisons["claim"] == verdict.claim.key]
            count = of_claim["needed"].iloc[0]
            if count:
                head += f"; {count} of these comparisons needed"
            sentences.append((0, f"{head} ({_checked_claims(verdict)})."))
            sentences += [(1, text) for text in comparison_sentences(of_claim)]
            tested = interval(verdict.tested.low, verdict.tested.high)
            if tested and verdict.tested.n >= LOOKS[0]:
                effect = f"{signed(verdict.tested.mean)} points, tested interval {tested}"
                check = f"At the check with {verdict.tested.n} seeds"
                sentences.append((1, f"{check}, beyond what the claim requires: {effect}."))
            if verdict.outcome == "undecided":
                sentences.append((1, settling(verdict, len(self.claims)).words))
        if not self.verdicts:
            sentences.append((0, NO_CLAIM))
        return sentences

    def head(self) -> str:
        """What the table is of, in a line."""
        rows = counted(len(self.scores), "row")
        return f"{shown(self.name)}: {rows}, {counted(self.seeds, 'seed')}, paired by seed"

    def grid(self) -> Grid:
        """The table of means and differences as texts."""
        places = 2 if max(np.abs(values).max() for values in self.scores.values()) >= 10 else 4
        body = []
        for row in self.table.to_dict("records"):
            half = row["ci95_high"] - row["mean"]
            texts = [f"{number(row['mean'], places)} ± {number(half, places)}"]
            if row["row"] == self.reference:
                texts += ["†", "", ""]
            else:
                side = ""
                if row["different"] == "yes":
                    side = " ▲" if row["tested_low"] > 0 else " ▼"
                texts.append(f"{number(row['paired_difference'], places, signed=True)}{side}")
                for low, high in (
                    ("paired_ci95_low", "paired_ci95_high"),
                    ("tested_low", "tested_high"),
                ):
                    bounds = [number(row[end], places, signed=True) for end in (low, high)]
                    texts.append(f"[{', '.join(bounds)}]" if np.isfinite(row[low]) else "")
            body.append([shown(row["row"]), *texts])
        headers = ["row", "mean", "minus reference", "95 % interval", "tested interval"]
        return Grid(headers, body, 1)

    def notes(self) -> list[str]:
        """What marks mean, and when verdicts come."""
        checks = ", ".join(map(str, LOOKS[:-1]))
        when = (
            f"Verdicts come at {checks} and {LOOKS[-1]} seeds alone. At most {ALPHA:.0%} of such "
            "tables have a wrong verdict, however often they are checked."
        )
        return [*marks(self.grid()), when]

    def __str__(self) -> str:
        lines = [self.head(), "", laid_out(self.grid(), printable, "simple")]
        lines += [f"  {note}" for note in self.notes()]
        lines.append("")
        lines += [f"{'    ' * depth}{text}" for depth, text in self.sentences()]
        return "\n".join(printable(line).rstrip() for text in lines for line in text.split("\n"))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = self.notes()
        notes += [f"{'· ' * depth}{text}" for depth, text in self.sentences()]
        body = laid_out(self.grid(), printable, "html")  # tabulate escapes
        return f"<p>{escape(self.head())}</p>{body}<p>{'<br>'.join(map(escape, notes))}</p>"

    def markdown(self) -> str:
        """The table, the marks and the verdicts in Markdown."""
        lines = [f"# {md(self.head())}", "", markdown_table(self.grid()), ""]
        lines += [f"- {md(note)}" for note in self.notes()]
        lines += ["", "## Claims", ""]
        lines += [f"{'  ' * depth}- {md(text)}" for depth, text in self.sentences()]
        return "\n".join(lines) + "\n"

    def csv_files(self) -> dict[str, str]:
        """The CSV texts by the end of their names."""
        files = {"": self.table, "-comparisons": self.comparisons, "-claims": self.verdict_table}
        texts = {}
        for ending, frame in files.items():
            if len(frame):
                names = [
                    name for name in ("row", "reference", "left", "right", "text") if name in frame
                ]
                safe = {name: frame[name].map(no_formula) for name in names}
                texts[ending] = csv_text(frame.assign(**safe))
        return texts

    def plot(self) -> Figure:
        """The figure of paired differences by row, as the papers' tables have it."""
        from core.report import drawing, figures  # brings matplotlib

        cells = self.table.assign(
            row=self.table["row"].map(shown),
            reference=shown(self.reference),
            scale="",
            profile="",
            encoder="",
            printed=np.nan,
            printed_difference=np.nan,
            printed_runs="",
            status="ok",
            unit="points",
        )
        labels = tuple(cells["row"])
        study = replace(self.study, axes=(Axis("row", "Row", labels=labels),), claims=())
        with drawing.drawing():
            *_, figure = figures.figures(study, cells, pd.DataFrame(), self.head()).values()
            legend = figure.legends[0]
            legend.set_title(f"{self.head()}, every seed")
            for text in legend.get_texts():
                text.set_text(text.get_text().replace("ours", "difference"))
        return figure


class Settling:
    """The seeds that would settle a claim, with the chance of it by all later checks."""

    def __init__(self, by_check: Mapping[int, float]):
        likely = [n for n, chance in by_check.items() if chance >= POWER]
        self.by_check = by_check
        self.seeds: int | None = likely[0] if likely else None
        self.chance = by_check[likely[0]] if likely else max(by_check.values(), default=np.nan)

    @property
    def words(self) -> str:
        """The same in a sentence."""
        if self.seeds is not None:
            return f"{self.seeds} seeds would settle it with a chance of {self.chance:.0%}."
        if not self.by_check:
            return f"No check is left after {LOOKS[-1]} seeds."
        last = max(self.by_check)
        return (
            f"No check settles it with a chance of {POWER:.0%}; by {last} seeds the chance is "
            f"{self.chance:.0%}."
        )


def settling(verdict: Verdict, claims: int) -> Settling:
    """How many seeds would settle a claim, of so many in its table; none for a settled claim."""
    if verdict.outcome != "undecided":
        return Settling({})
    return Settling(chances(verdict, claims, ahead=len(LOOKS)))


def _checked_claims(verdict: Verdict) -> str:
    """At how many seeds a claim was settled or checked."""
    if not verdict.tested.n:
        return f"{counted(verdict.seeds, 'seed')}; the first check needs {LOOKS[0]}"
    words = counted(verdict.tested.n, "seed")
    if verdict.tested.n < verdict.seeds:
        since = "checked" if verdict.outcome == "undecided" else "settled"
        return f"{since} at {words}; {verdict.seeds} now"
    return words


def judgement(
    scores: Scores,
    claims: Sequence[str] = (),
    reference: str | None = None,
    margin: float | None = None,
    name: str = "Your scores",
) -> Judgement:
    """Scores judged on the claims that these texts state; without a reference the first row is the
    reference. Raises UserError."""
    rows = list(scores)
    if reference is None:
        reference = rows[0]
    if reference not in rows:
        hint = nearest(reference, rows, f"the rows are {', '.join(map(shown, rows[:SOME_ROWS]))}.")
        raise UserError(f"The reference {shown(reference)!r} is no row; {hint}")
    if margin is not None and margin <= 0:
        raise UserError(f"A margin of {margin:g} is no difference; give a number above 0.")
    if len(set(claims)) < len(claims):
        raise UserError("One claim is stated twice; leave one of them out.")
    stated = []
    for place, text in enumerate(claims, start=1):
        stated.append(stated_claim(text, rows, f"claim {place}", margin))
    return Judgement(scores, tuple(stated), reference, name)
