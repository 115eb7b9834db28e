"""Verdicts on a user's own scores, by the functions that judge the papers: a study of one axis
whose runs have scores and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.config.scale import OWN_SCORES
from core.config.section import decimal
from core.data.sources import NOT_FETCHED
from core.errors import UserError
from core.formatting import nearest, no_formula, shown
from core.report import tables
from core.report.frames import cell_frame, claim_frame, comparison_frame, csv_text
from core.report.results import CellResult, RunResult, StudyResult
from core.report.score_table import Scores, one_line
from core.report.sheet import Sheet
from core.report.statistics import ALPHA, LEAST_SEEDS, LOOKS
from core.report.terminal import ShownTable
from core.report.verdicts import judged
from core.study.claim import Claim, Predicate, all_of, best, greater, within
from core.study.setup import Setup
from core.study.study import Axis, FigureSpec, Metric, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXTS = "row reference left right claim text".split()  # columns with a user's words
WHEN = (
    f"Verdicts come at {', '.join(map(str, LOOKS))} seeds alone, in the order of the seeds' "
    f"numbers or names. By the chance of seeds at most {100 * ALPHA:.0f} % of such tables have a "
    "wrong verdict, however often they are checked, if seeds that are added come last."
)
# under which nothing is resolved
SETUP = Setup(profile="", scale=OWN_SCORES, sources=NOT_FETCHED, seeds=0)
FORMS = "'a > b', 'a > b by 0.5', 'a = b within 0.5', 'a best' or 'a lowest'"
SOME_ROWS = 8  # that a message names
NO_CLAIM = "No claim is stated, so there is no verdict; --claim 'a > b' states one."


class JudgedScores(ShownTable):
    """A user's scores with what they say of the claims."""

    def files(self) -> dict[str, str]:
        """Markdown, LaTeX and CSV texts by the end of their names."""
        sheet = self.sheet
        texts = {".md": tables.markdown(sheet), ".tex": tables.latex(sheet)}
        frames = {"": sheet.cells, "-comparisons": sheet.comparisons, "-claims": sheet.claims}
        for ending, frame in frames.items():
            safe = {name: frame[name].map(no_formula) for name in TEXTS if name in frame}
            texts[f"{ending}.csv"] = csv_text(frame.assign(**safe))
        return texts

    def plot(self) -> Figure:
        """The figure of paired differences by row, as the papers' tables have it."""
        from core.report import drawing, figures  # brings matplotlib

        sheet = self.sheet
        with drawing.drawing():
            *_, figure = figures.study_figures(
                sheet.study, sheet.cells, sheet.curves, sheet.title, sheet.setting
            ).values()
        return figure


def judge_scores(
    scores: Scores,
    claims: Sequence[str] = (),
    reference: str | None = None,
    margin: float | None = None,
    name: str = "Your scores",
) -> JudgedScores:
    """Scores judged on the claims that these texts state; without a reference the first row is the
    reference. Raises UserError."""
    rows = list(scores.rows)
    reference = rows[0] if reference is None else one_line(reference)
    if reference not in rows:
        hint = nearest(reference, rows, f"the rows are {', '.join(map(shown, rows[:SOME_ROWS]))}.")
        raise UserError(f"The reference {shown(reference)!r} is no row; {hint}")
    stated = []
    for text in map(one_line, map(str, claims)):
        stated.append(stated_claim(text, rows, margin))
    result = judged(as_study(scores, stated, reference, name))
    return JudgedScores(
        Sheet(
            study=result.study,
            setup=result.setup,
            title=shown(name),
            setting=f"{scores.words}, paired by seed",
            name=re.sub(r"\W+", "-", name),
            troubles=tuple(filter(None, (WHEN, _in_order(scores), "" if stated else NO_CLAIM))),
            cells=cell_frame(result),
            claims=claim_frame([result]),
            comparisons=comparison_frame([result]),
        )
    )


def _in_order(scores: Scores) -> str:
    """Which rows' scores rise or fall from seed to seed; "" without any, or under few seeds."""
    # By chance a row's do at 3 seeds in 1 table of 3, at 5 in 1 of 60. Of tables of two equal rows
    # that were sorted, 1.1 % have a wrong verdict at 3 seeds, and 13 % at 5 (200,000 draws).
    rows = []
    for row, values in scores.rows.items():
        steps = np.diff(values)
        if len(values) >= LEAST_SEEDS and (steps >= 0).all() != (steps <= 0).all():
            rows.append(shown(row))
    if not rows:
        return ""
    return (
        f"From seed to seed {', '.join(rows)} only rises or falls; if scores gave the seeds their "
        "order, no verdict counts."
    )


def as_study(scores: Scores, claims: Sequence[Claim], reference: str, name: str) -> StudyResult:
    """Scores as the result of a study of one axis."""
    table = study(
        name="scores",
        caption=name,
        method="",
        metric=Metric(task="avg", title="Score", quantity="own"),
        rows=Axis("row", "Row", labels=tuple(scores.rows)),
        figure=FigureSpec(base=(reference,)),
        reference=reference,
        claims=tuple(claims),
    )
    cells = []
    for cell in table.cells:
        runs = []
        for seed, value in enumerate(scores.rows[cell.labels[0]].tolist()):
            runs.append(RunResult(seed=seed, run_id="", status="ok", provenance={}, value=value))
        cells.append(CellResult(cell=cell, metric=table.metric, runs=tuple(runs)))
    return StudyResult(study=table, setup=SETUP, cells=tuple(cells))


# Claims that a user states about rows of a table, as text: `a > b`, `a = b within 0.5`, `a best`


def stated_claim(text: str, rows: Sequence[str], margin: float | None = None) -> Claim:
    """The claim that a text states about these rows. Below `margin` a claim that is not shown may
    be equivalent. Raises UserError for a text of no form, or of several."""
    parsed = _parsed(text, rows)
    if len(parsed) != 1:
        some = ", ".join(map(shown, rows[:SOME_ROWS]))
        trouble = "can be read in several ways" if parsed else "is no claim on these rows"
        raise UserError(f"{shown(text)!r} {trouble}; write {FORMS}. The rows are {some}.")
    own_margin = None if " = " in f" {text} " else margin
    return Claim(key=text, text=text, predicate=parsed[0], margin=own_margin)


def _parsed(text: str, rows: Sequence[str]) -> list[Predicate]:
    """Every way to read a text as a claim on these rows."""
    parsed = []
    for left in rows:
        rest = text.removeprefix(left)
        if rest == text:
            continue
        others = [other for other in rows if other != left]
        if rest == " best":
            parsed.append(best(left, others))
        if rest == " lowest":
            parsed.append(all_of(*(greater(other, left) for other in others)))
        for right in others:
            stated = re.fullmatch(rf" ?([<>=]) ?{re.escape(right)}(?: (by|within) (\S+))?", rest)
            amount = decimal(stated[3] or "0") if stated else None
            if stated is None or amount is None:
                continue
            sign, word, _ = stated.groups()
            if sign == "=" and word == "within" and amount > 0:
                parsed.append(within([left, right], amount))
            elif sign != "=" and word != "within":
                pair = (left, right) if sign == ">" else (right, left)
                parsed.append(greater(*pair, amount))
    return parsed
