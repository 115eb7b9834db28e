"""What every page of a table shows: frames, and the words around them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from core.report.claims import Sentence, verdict_sentences
from core.report.frames import (
    cell_frame,
    check_frame,
    claim_frame,
    comparison_frame,
    curve_frame,
    summary_frame,
)
from core.report.results import RunResult
from core.report.text_table import TextTable, text_table
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
from core.study.setup import Setup
from core.study.study import Study

ON_PAPER = "On the paper and its code, at their own scale:"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table with its verdicts: the frames of its CSV files, and sentences. `runs` are without
    their numbers. `printed` is the paper's table, if the paper prints numbers. `notes` are on these
    runs, `troubles` those of them that a terminal shows, `paper_notes` on the paper, `statements`
    what claims say."""

    study: Study
    setup: Setup
    title: str
    cells: pd.DataFrame
    claims: pd.DataFrame
    comparisons: pd.DataFrame
    printed: TextTable | None = None
    begun: bool = True
    runs: tuple[RunResult, ...] = ()
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    summaries: pd.DataFrame = field(default_factory=pd.DataFrame)
    name: str = ""
    setting: str = ""
    number_note: str = ""
    scope_note: str = ""
    notes: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    paper_notes: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    @cached_property
    def table(self) -> TextTable:
        """The table in the paper's layout."""
        return text_table(self.study, self.cells)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """The verdicts, and the comparisons below them."""
        return verdict_sentences(self.claims, self.comparisons)


def make_sheet(result: JudgedStudy) -> Sheet:
    """The sheet of a study."""
    setup = result.setup
    notes = (*result.study.footnotes, *deviation_notes(result))
    cells = cell_frame(result)
    printed = None
    if cells["printed"].notna().any():
        printed = text_table(result.study, cells, printed=True)
    return Sheet(
        study=result.study,
        setup=setup,
        title=title(result),
        cells=cells,
        printed=printed,
        claims=claim_frame([result]),
        comparisons=comparison_frame([result]),
        begun=result.begun,
        runs=tuple(replace(run, rows=None, pairs=None, provenance={}) for run in result.runs),
        checks=check_frame(result),
        curves=curve_frame(result),
        summaries=summary_frame(result),
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
