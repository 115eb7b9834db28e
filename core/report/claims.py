"""Claims with their verdicts as rows and sentences, for CSV, Markdown and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.report.cells import StudyResult
from core.report.notes import PAPERS
from core.report.verdicts import Verdict, verdicts

OUTCOMES = ("supported", "contradicted", "undecided", "not run")
MARKS = {"supported": "✔", "contradicted": "✘", "undecided": "?", "not run": "–"}  # beside the word: never colour alone


def claim_frame(results: Sequence[StudyResult]) -> pd.DataFrame:
    """One row a claim, in the studies' order: verdict with effect, interval and n, and what the paper's own numbers say."""
    rows = []
    for result in results:
        for one in verdicts(result):
            rows.append({
                "study": result.study.name, "claim": one.claim.key, "text": one.claim.text, "verdict": one.outcome,
                "effect": one.effect, "low": one.low, "high": one.high, "n": one.n, "p_holm": one.p_holm,
                "seeds_to_decide": np.nan if one.seeds is None else one.seeds,
                "holds_as_printed": printed(one), "on_the_papers_runs": one.paper_runs, "note": one.claim.note,
                "scale": result.scale.name, "profile": result.profile,
            })  # fmt: skip
    columns = ["study", "claim", "text", "verdict", "effect", "low", "high", "n", "p_holm", "seeds_to_decide", "holds_as_printed",
               "on_the_papers_runs", "note", "scale", "profile"]
    return pd.DataFrame(rows, columns=columns).astype({"seeds_to_decide": "Int64"})


def printed(verdict: Verdict) -> str:
    """What the paper's own numbers say of the claim, by their sign."""
    return {True: "holds", False: "fails", None: "not printed"}[verdict.printed]


def measured(verdict: Verdict) -> str:
    """Effect, interval and what is missing, in a few words; empty without a run."""
    if not verdict.n:
        return ""
    text = signed(verdict.effect)
    if np.isfinite(verdict.low):
        text += f" [{signed(verdict.low)}, {signed(verdict.high)}]"
    text += f", n = {verdict.n}"
    if verdict.outcome == "undecided" and verdict.n > 1:
        text += f"; about {verdict.seeds} seeds would decide" if verdict.seeds else "; no number of seeds up to 1,000 would decide"
    return text


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    places = 2 if abs(value) >= 0.1 or value == 0 else 3
    return f"{value:+.{places}f}".replace("-", "−")


def counted(found: Sequence[Verdict]) -> str:
    """How many claims have each outcome, in a few words."""
    counts = Counter(one.outcome for one in found)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome]) or "none"


READING = (
    "Effect: by how much the weakest comparison that a claim needs lies above (or, negative, below) what the claim says, paired by seed, "
    "with its 95 % interval; a verdict needs p < 0.05 after Holm's correction over all comparisons of the study's claims. "
    "“As printed”: the same question to the paper's printed numbers, by their sign alone."
)


def of_scale(result: StudyResult) -> str:
    """What a verdict of this scale speaks of."""
    if result.scale.name == "demo":
        return "These verdicts speak of the demo: a made-up language and a small encoder. They say nothing of English."
    if result.scale.name == "mini":
        return f"These verdicts speak of short runs of {result.sources.encoder_name}, not of the paper's encoder."
    return f"These verdicts speak of {PAPERS[result.study.paper]}'s own setting."
