"""What the runs say of a study's claims, in sentences: verdicts, and below them their
comparisons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.scale import SCALES
from core.errors import counted
from core.report.comparisons import Outcome
from core.report.frames import claim_frame, comparison_frame
from core.report.numbers import interval, signed
from core.report.verdicts import Judged
from core.report.words import mark, outcome_words

MOST_LINES = 12  # comparisons of a claim that are listed
JUDGED: tuple[Outcome, ...] = ("supported", "contradicted", "equivalent")


class Sentence(NamedTuple):
    """A sentence of a list, and how deep it stands."""

    text: str
    depth: int = 0


def verdict_sentences(result: Judged) -> list[Sentence]:
    """Each claim's mark and verdict in a sentence, and below it its comparisons, if it has
    several."""
    comparisons = comparison_frame([result])
    sentences = []
    for row in claim_frame([result]).itertuples():
        of_claim = comparisons[comparisons["claim"] == row.claim]
        listed = lists(of_claim)
        words = verdict_sentence(row, of_claim["needed"].iloc[0], listed)
        sentences.append(Sentence(f"{mark(row.verdict, row.points)} {words}"))
        if listed:
            sentences += [Sentence(text, depth=1) for text in comparison_sentences(of_claim)]
    return sentences


def lists(comparisons: pd.DataFrame) -> bool:
    """Whether a claim's comparisons are listed below it: several, or one that has to be more than
    above 0, of which one has run."""
    first = next(comparisons.itertuples())
    plain = len(comparisons) == 1 and first.above == 0 and np.isnan(first.below)
    return bool(comparisons["n"].any()) and not plain


def _seeds_words(row, judged: bool) -> str:
    """On how many seeds a verdict stands, in brackets; empty without a run."""
    if 0 < row.tested_n < row.n:
        since = "settled" if judged else "checked"
        return f" ({since} at {counted(row.tested_n, 'seed')}; {row.n} now)"
    if row.n:
        return f" ({counted(row.n, 'seed')})"
    return ""


def _estimate_words(row) -> list[str]:
    """A claim's estimate with its interval, and the printed number if there is one."""
    estimate = f"{signed(row.estimate)} {row.unit}".rstrip()
    if np.isfinite(row.ci95_low):
        estimate += f", 95 % interval {signed(row.ci95_low)} to {signed(row.ci95_high)}"
    words = [estimate]
    if np.isfinite(row.printed):
        words.append(f"printed {signed(row.printed)}")
    return words


def verdict_sentence(row, needed: str = "", listed: bool = False) -> str:
    """A claim's verdict in words, such as "T7.2 undecided (3 seeds): −0.40 points; printed −1.90.";
    what is not judged has its estimate, too, and the reason. Where its comparisons are `listed`
    below, it says how many of them are `needed` in the place of the estimate."""
    words = outcome_words(row.verdict, row.points, row.within_margin == "yes")
    text = f"{row.claim} {words}"
    if row.n and row.verdict == "not run":
        text += " in full"
    judged = row.verdict in JUDGED
    if judged and SCALES[row.scale].generated:
        text += " in the made-up language"
    text += _seeds_words(row, judged)

    notes = []
    if row.n and not listed:
        notes += _estimate_words(row)
    if needed and listed:
        notes.append(f"{needed} of these comparisons needed")
    if row.reason:
        notes.append(row.reason.rstrip("."))
    if row.rule_changed and row.n:
        notes.append(f"rule changed {row.rule_changed}")
    return f"{text}: {'; '.join(notes)}." if notes else f"{text}."


def comparison_sentences(rows: pd.DataFrame) -> list[str]:
    """Each comparison of a claim with its estimate and its printed number; the first ones of
    many."""
    shown = rows.head(MOST_LINES)
    sentences = [f"{comparison_words(row)}: {_numbers_of(row)}." for row in shown.itertuples()]
    if len(rows) > MOST_LINES:
        sentences.append(f"{len(rows) - MOST_LINES} more comparisons stand in comparisons.csv.")
    return sentences


def comparison_words(row) -> str:
    """A comparison in words: "0.85 minus 0.99", and what is required unless it is to be above 0."""
    required = required_words(row)
    words = f"{row.left} minus {row.right}" if row.right else row.left
    return f"{words} ({required} required)" if required else words


def required_words(row) -> str:
    """What a comparison is required to be; empty for above 0."""
    if np.isnan(row.below):
        if row.above == 0:
            return ""
        return f"above {_plain_words(row.above)}"
    if np.isnan(row.above):
        return f"below {_plain_words(row.below)}"
    if row.above < row.below:
        return f"{_plain_words(row.above)} to {_plain_words(row.below)}"
    if row.above == -row.below:
        return f"more than {_plain_words(row.above)} either way"
    return f"above {_plain_words(row.above)} or below {_plain_words(row.below)}"


def _plain_words(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _numbers_of(row) -> str:
    """A comparison's estimate with its interval and the printed number."""
    texts = [f"{signed(row.estimate)} {row.unit} {interval(row.ci95_low, row.ci95_high)}".rstrip()]
    if not row.n:
        texts = ["not run"]
    if np.isfinite(row.printed):
        texts.append(f"printed {signed(row.printed)}")
    if row.points:
        texts.append(row.points)
    return ", ".join(texts)
