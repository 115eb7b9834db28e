"""What every page of a table shows: frames, and the words around them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from core.report.claims import Sentence, verdict_sentences
from core.report.frames import cell_frame, claim_frame, comparison_frame, curve_frame
from core.report.verdicts import JudgedStudy
from core.report.words import (
    damaged,
    deviation_notes,
    number_note,
    run_notes,
    scope_note,
    setting,
    title,
)
from core.study.study import Study

ON_PAPER = "On the paper and its code, at their own scale:"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table with its verdicts: the frames of its CSV files, and sentences. `notes` are on these
    runs, `troubles` those of them that a terminal shows, `paper_notes` on the paper, `statements`
    what claims say."""

    result: JudgedStudy
    title: str
    cells: pd.DataFrame
    claims: pd.DataFrame
    comparisons: pd.DataFrame
    name: str = ""
    setting: str = ""
    number_note: str = ""
    scope_note: str = ""
    notes: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    paper_notes: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The frame of the study's curves, empty without any."""
        return curve_frame(self.result)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The verdicts, and the comparisons below them."""
        return verdict_sentences(self.claims, self.comparisons)

    @property
    def study(self) -> Study:
        """The study of the table."""
        return self.result.study


def make_sheet(result: JudgedStudy, cells: bool = True) -> Sheet:
    """The sheet of a study; without its `cells` in half of the time."""
    setup = result.setup
    notes = (*result.study.footnotes, *deviation_notes(result))
    return Sheet(
        result=result,
        title=title(result),
        cells=cell_frame(result) if cells else pd.DataFrame(),
        claims=claim_frame([result]),
        comparisons=comparison_frame([result]),
        name=f"{result.study.name}-{setup.scale.name}-{setup.profile}",
        setting=setting(result),
        number_note=number_note(result),
        scope_note=scope_note(result),
        notes=run_notes(result),
        troubles=tuple(damaged(result)),
        paper_notes=(ON_PAPER, *notes) if notes else (),
        statements=tuple(statements(result.parts[0].study)),
    )


def statements(study: Study) -> list[str]:
    """Each claim with its quotation."""
    statements = []
    for claim in study.claims:
        words = f"{claim.key}: {claim.text}"
        if claim.quote:
            place = f" ({claim.place})" if claim.place else ""
            words += f" “{claim.quote}”{place}."
        statements.append(words)
        if claim.note:
            statements.append(claim.note)
    return statements
