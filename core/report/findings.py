"""The finding of a figure in one sentence, which is its title: computed from what is drawn, never written by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.report.differences import Differences, Row

MOST_NAMED = 3
WORTH_SAYING = 1.0  # of the unit: a printed difference that is smaller is not set beside ours


def of_differences(found: Differences) -> str:
    """How many rows are told from the base, which rows these are, and the paper's largest difference that our interval leaves out."""
    rows = [(_name(panel.title, row), row, row.mean) for panel in found.panels for row in panel.rows if row.mean is not None]
    told = sorted(((name, mean) for name, row, mean in rows if row.told), key=lambda pair: -abs(pair[1]))
    if not rows:
        return f"Nothing can be compared with {found.base}"
    if len(rows) == 1 and not told:
        name, _, mean = rows[0]
        head = f"{name} is not told from {found.base} ({signed(mean)})"
    elif not told:
        head = f"None of {len(rows)} rows can be told from {found.base}"
    else:
        named = ", ".join(f"{name} {signed(mean)}" for name, mean in told[:MOST_NAMED])
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        head = f"{len(told)} of {len(rows)} rows differ{'s' if len(told) == 1 else ''} from {found.base}: {named}{more}"
    return head + _other_than_printed(rows)


def _other_than_printed(rows: Sequence[tuple[str, Row, float]]) -> str:
    """The paper's largest difference beside ours, where our tested interval leaves it out; else ""."""
    left_out = [
        (name, row.printed, mean)
        for name, row, mean in rows
        if row.printed is not None and abs(row.printed) >= WORTH_SAYING and row.basis == "own" and not row.low <= row.printed <= row.high
    ]
    if not left_out:
        return ""
    name, printed, mean = max(left_out, key=lambda one: abs(one[1]))
    return f"; for {name} the paper prints {signed(printed)}, here it is {signed(mean)}"


def _name(title: str, row: Row) -> str:
    return f"{title.partition(': ')[2] or title}/{row.label}" if title else row.label


def of_levels(ours: Sequence[float], papers: Sequence[float | None], unit: str) -> str:
    """How many levels lie above the paper's, for a figure without a reference."""
    pairs = [(a, b) for a, b in zip(ours, papers, strict=False) if b is not None]
    if len(ours) == 1:
        printed = "".join(f"; the paper prints {theirs:.2f}" for _, theirs in pairs)
        return f"One row: {ours[0]:.2f} ({unit}){printed}".replace("-", "−")
    if len(pairs) < 2:
        return f"{len(ours)} rows from {min(ours):.2f} to {max(ours):.2f} ({unit})".replace("-", "−")
    above, order = sum(a > b for a, b in pairs), _agreement(pairs)
    return f"{above} of {len(pairs)} rows lie above what the paper prints; {order}"


def _agreement(pairs: Sequence[tuple[float, float]]) -> str:
    """How many pairs of rows stand in the paper's order."""
    ours, papers = np.array(pairs).T
    same = [np.sign(ours[i] - ours[j]) == np.sign(papers[i] - papers[j]) for i in range(len(pairs)) for j in range(i)]
    if len(same) == 1:
        return "the two stand in its order" if same[0] else "the two do not stand in its order"
    return f"{sum(same)} of {len(same)} pairs of rows stand in the paper's order"


def of_noise(values: Sequence[float], papers: Sequence[float]) -> str:
    """What seeds alone do to one configuration, beside what the paper printed for it."""
    head = f"Seeds alone spread one configuration over {np.ptp(values):.1f} points (SD {np.std(values, ddof=1):.1f}, n = {len(values)})"
    return head + (f"; the paper prints it up to {np.ptp(papers):.1f} apart" if len(papers) > 1 else "")


def of_curves(ends: Sequence[tuple[str, float]]) -> str:
    """Where each line ends, highest first."""
    said = [f"{end:.1f} ({name})" for name, end in sorted(ends, key=lambda one: -one[1])]
    return f"At the end of training {', '.join(said)}".replace(" -", " −") if said else "No run has a curve"


def of_spectra(shares: Sequence[tuple[str, float]], index: int) -> str:
    """How much of the largest singular value is left at an index."""
    said = [f"{name} {share:.2f}" for name, share in sorted(shares, key=lambda one: -one[1])]
    return f"Singular value {index} over the largest: {', '.join(said)}" if said else "No run has a spectrum"


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"{value:+.1f}".replace("-", "−") if abs(value) >= 0.095 else f"{value:+.3f}".replace("-", "−")
