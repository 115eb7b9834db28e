"""What the runs say of a study's claims, in sentences: verdicts, and below them their
comparisons."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from core.config.scale import SCALES
from core.formatting import counted
from core.report.numbers import interval, plain, signed, significance
from core.report.statistics import SETTLED_OUTCOMES
from core.report.words import FLAGS, MARKS, outcome_words

MOST_LINES = 12  # comparisons of a claim that are listed


class Sentence(NamedTuple):
    """A sentence of a list, and how deep it stands."""

    text: str
    depth: int = 0


def verdict_sentences(claims: pd.DataFrame, comparisons: pd.DataFrame) -> list[Sentence]:
    """Each claim's mark and verdict in a sentence, and below it its comparisons, if it has
    several, the first ones of many: each with its estimate, the printed number, and whether the
    table has it as significant."""
    sentences = []
    every = list(comparisons.itertuples())
    for row in claims.itertuples():
        of_claim = [comparison for comparison in every if comparison.claim == row.claim]
        lines = comparison_lines(of_claim, MOST_LINES)
        words = verdict_sentence(row, of_claim[0].needed, bool(lines))
        sentences.append(Sentence(f"{MARKS[row.verdict, row.points]} {words}"))
        sentences += [Sentence(f"{line}.", depth=1) for line in lines]
    return sentences


def comparison_lines(comparisons: Sequence, most: int) -> list[str]:
    """The comparisons that are listed below a claim, the first ones of many: each with its estimate
    and where it points."""
    lines = []
    for comparison in comparisons[:most] if lists(comparisons) else ():
        parts = [*estimate_words(comparison), *filter(None, [comparison.points])]
        parts[0] += significance(comparison.different, comparison.tested_low)
        lines.append(f"{comparison_words(comparison)}: {', '.join(parts)}")
    if lines and len(comparisons) > most:
        lines.append(f"{len(comparisons) - most} more comparisons stand in comparisons.csv")
    return lines


def lists(comparisons: Sequence) -> bool:
    """Whether a claim's comparisons are listed below it: several, or one that has to be more than
    above 0, of which one has run."""
    first = comparisons[0]
    plain = len(comparisons) == 1 and first.above == 0 and np.isnan(first.below)
    return any(comparison.n for comparison in comparisons) and not plain


def estimate_words(row) -> list[str]:
    """An estimate with its 95 % interval, and the printed number if there is one."""
    words = ["not run"]
    if row.n:
        bounds = interval(row.ci95_low, row.ci95_high)
        words = [" ".join(filter(None, (signed(row.estimate), row.unit, bounds)))]
    if np.isfinite(row.printed):
        words.append(f"printed {signed(row.printed)}")
    return words


def verdict_sentence(row, needed: str, listed: bool) -> str:
    """A claim's verdict in words, such as "T7.2 undecided (3 seeds): −0.40 points; printed −1.90.";
    what is not judged has its estimate, too, and the reason. Where its comparisons are `listed`
    below, it says how many of them are `needed` in the place of the estimate."""
    words = outcome_words(row.verdict, row.points, row.within_margin == "yes")
    text = f"{row.claim} {words}"
    if row.n and row.verdict == "not run":
        text += " in full"
    judged = row.verdict in SETTLED_OUTCOMES
    if judged and row.scale in SCALES and SCALES[row.scale].generated:
        text += " in the made-up language"
    if 0 < row.tested_n < row.n:
        since = "settled" if judged else "checked"
        text += f" ({since} at {counted(row.tested_n, 'seed')}; {row.n} now)"
    elif row.n:
        text += f" ({counted(row.n, 'seed')})"

    notes = []
    if row.n and not listed:
        notes += estimate_words(row)
    if needed and listed:
        notes.append(f"{needed} of these comparisons needed")
    if row.reason:
        notes.append(row.reason.rstrip("."))
    notes += flags(row).values()
    return f"{text}: {'; '.join(notes)}." if notes else f"{text}."


def flags(row) -> dict[str, str]:
    """The further marks of a claim that has runs, with their meaning."""
    return {flag: FLAGS[flag] for flag in row.flags if row.n}


def comparison_words(row) -> str:
    """A comparison in words: "0.85 minus 0.99", and what is required unless it is to be above 0."""
    bounds = []
    if np.isfinite(row.above):
        bounds.append(f"above {plain(row.above)}")
    if np.isfinite(row.below):
        bounds.append(f"below {plain(row.below)}")
    words = f"{row.left} minus {row.right}" if row.right else row.left
    if bounds == ["above 0"]:
        return words
    required = (" and " if row.above < row.below else " or ").join(bounds)
    return f"{words} ({required} required)"
