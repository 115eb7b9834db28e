"""Claims with their verdicts as rows and sentences, for CSV, Markdown and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.report.cells import StudyResult
from core.report.judgement import Outcome, Verdict
from core.report.naming import contrast_here
from core.report.notes import one_order
from core.report.verdicts import verdicts
from core.spec.claim import ROUNDING, Claim
from core.spec.conditions import values
from core.spec.fields import explained

OUTCOMES: tuple[Outcome, ...] = ("supported", "contradicted", "equivalent", "undecided", "not run", "not comparable")
MARKS = {  # beside the word: never colour alone
    "supported": "✔", "contradicted": "✘", "equivalent": "≈", "undecided": "?", "not run": "–", "not comparable": "∅",
}  # fmt: skip
COLUMNS = (
    "study", "claim", "text", "quote", "place", "decided_by", "turns_on", "verdict", "reason", "effect", "low", "high", "n", "look", "p_supported",
    "p_contradicted", "p_equivalent", "alpha", "effect_now", "n_now", "printed_effect", "against_printed", "p_best",
    "holds_as_printed", "on_the_papers_runs", "margin", "note", "scale", "profile", "seed_of_data",
)  # fmt: skip


def claim_frame(results: Sequence[StudyResult]) -> pd.DataFrame:
    """One row a claim, in the studies' order: verdict with what it rests on, and what the paper's own numbers say.

    `effect`, `low`, `high`, `n` and the p are of look number `look` (from 1; empty: no look is complete yet); a p counts at `alpha`.
    `turns_on` is the comparison that the numbers are of: the weakest that the claim needs. `effect_now` and `n_now` are of all stored
    seeds.  `seed_of_data`: "one for all" where all
    seeds share the order of the text, dropout and repetitions (D35), so that a verdict is of that order.
    """
    rows = []
    for result in results:
        order = "one for all" if one_order(result) else ""
        for one in verdicts(result):
            claim = one.claim
            rows.append((
                result.study.name, claim.key, claim.text, claim.quote, claim.place, claim.decided_by, contrast_here(one.contrast, result), one.outcome, one.reason, one.effect,
                one.low, one.high, one.n, pd.NA if one.look < 0 else one.look + 1, *one.p, one.alpha, one.effect_now, one.n_now,
                _or_nan(one.printed_effect), one.against_printed, _or_nan(one.p_best),
                printed(one), one.paper_runs, _or_nan(claim.margin), noted(claim), result.scale.name, result.profile, order,
            ))  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS).astype({"look": "Int64"})


def noted(claim: Claim) -> str:
    """A claim's note, and what the D-numbers in it stand for."""
    return " ".join([claim.note, *explained(claim.note)])


def printed(verdict: Verdict) -> str:
    """What the paper's own numbers say of the claim, by their sign."""
    return {True: "holds", False: "fails", None: "not printed"}[verdict.printed]


def measured(verdict: Verdict) -> str:
    """Effect and interval in a few words; empty without a run."""
    if not verdict.n_now or np.isnan(verdict.effect):
        return ""
    text = signed(verdict.effect)
    if np.isfinite(verdict.low):
        text += f" [{signed(verdict.low)}, {signed(verdict.high)}]"
    text += f", n = {verdict.n}"
    if verdict.n_now > verdict.n:
        text += f" (now {signed(verdict.effect_now)}, n = {verdict.n_now})"
    extras = [verdict.against_printed, "" if verdict.p_best is None else f"best of redrawn seeds: {verdict.p_best:.0%}".replace("%", " %")]
    margin, theirs = verdict.claim.margin, verdict.printed_effect
    if verdict.outcome == "equivalent" and margin is not None and theirs is not None and abs(theirs) < margin - ROUNDING:
        extras.append(f"the printed effect, {signed(theirs)}, is not above the margin of {margin:g} either")
    return "; ".join([text, *(one for one in extras if one)])


def by_value(result: StudyResult) -> list[str]:
    """For each claim of a study under `--vary` its outcomes with the values at which it has them; empty if nothing is varied."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in result.parts if result.study.varied else ():
        value = values(part.study)
        for one in verdicts(part):
            found.setdefault(one.claim.key.removesuffix(f" ({value})"), {}).setdefault(one.outcome, []).append(value)
    said = {key: [f"{outcome} at {', '.join(where)}" for outcome, where in outcomes.items()] for key, outcomes in found.items()}
    return [f"{key}: {'; '.join(parts)}." for key, parts in said.items()]


def signed(value: float) -> str:
    """A difference with its sign, and as many decimals as it takes to see it."""
    if 0 < abs(value) < 0.0005:
        return f"{value:+.0e}".replace("-", "−")
    places = 2 if abs(value) >= 0.1 or value == 0 else 3
    return f"{value:+.{places}f}".replace("-", "−")


def counted(found: Sequence[Verdict]) -> str:
    """How many claims have each outcome, in a few words."""
    counts = Counter(one.outcome for one in found)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome]) or "none"


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


READING = (
    "Effect: by how much the weakest comparison that a claim needs lies above (or, negative, below) what the claim says, paired by seed, "
    "with the interval that is tested. Verdicts are given at 3, 5, 8, 12, 18, 27, 40 and 60 seeds alone, and a share of 5 % is spent at each on "
    "the claims of the study together, so that at most one study in twenty has a wrong one, however often it is looked at. Equivalent: the "
    "weakest comparison that it needs misses what the claim says by less than the margin, or exceeds it by less; others may exceed it by more. "
    "“As printed”: the same question to the paper's printed numbers, by their sign alone; smaller or larger than printed, or of the other "
    "sign: the printed effect lies outside our interval."
)


def of_scale(result: StudyResult) -> str:
    """What a verdict of this scale speaks of."""
    if result.scale.generated:
        return (
            f"These verdicts speak of the {result.scale.name} scale: a made-up language and a small encoder. They say nothing of English."
        )
    if result.scale.name == "mini":
        return f"These verdicts speak of short runs of {result.sources.encoder_name}, not of the paper's encoder."
    return f"These verdicts speak of {result.study.paper_name}'s own setting."
