"""The finding of a figure in one sentence, which is its title: computed from what is drawn, never written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.report.differences import Differences, Row

MOST_NAMED = 2
AVERAGE = "avg"  # the label of a row that is the average over test sets
WORTH_SAYING = 1.0  # of the unit: a printed difference that is smaller is not set beside ours
TOGETHER = 2.0  # points: lines that end no farther apart have no order worth a title


def of_differences(found: Differences, settled: Mapping[str, tuple[str, int]] | None = None) -> str:
    """The rows that differ most from the base with what the paper prints for them, averages before single test sets, and how many differ;
    or why nothing is said. Where no row differs, claims that are `settled` all the same (outcome and seeds by key)."""
    if found.instead:
        return found.instead
    rows = [row for row in found.rows if row.mean is not None]
    told = sorted((row for row in rows if row.told), key=lambda row: (row.label != AVERAGE, -abs(row.mean or 0.0)))
    if not rows:
        return f"Nothing can be told of rows against {found.base_name}: none can act here"
    if told:
        named = [_lies(row, found, first=n == 0) for n, row in enumerate(told[:MOST_NAMED])]
        head = ", ".join(named) + (f"; in all {len(told)} of {len(rows)} rows differ" if len(told) > MOST_NAMED else "")
    elif len(rows) == 1:
        head = f"{rows[0].name} cannot be told from {found.base_name} ({_beside(rows[0])})"
    else:
        single = sum(row.n == 1 for row in rows)  # one seed has no interval
        head = f"None of {len(rows)} rows can be told from {found.base_name}"
        head += f", {'all' if single == len(rows) else single} with one seed" if single else ""
    if not told:
        head += "".join(f"; {_claims(keys)} {outcome} all the same, with {n} seeds" for (outcome, n), keys in _alike(settled or {}).items())
    said = told[:MOST_NAMED] if len(rows) > 1 else rows
    return _capital(head + _other_than_printed([row for row in rows if row.label == AVERAGE] or rows, said))


def _alike(settled: Mapping[str, tuple[str, int]]) -> dict[tuple[str, int], list[str]]:
    """The claims of each outcome and number of seeds."""
    return {one: [key for key, other in settled.items() if other == one] for one in settled.values()}


def _claims(keys: Sequence[str]) -> str:
    if len(keys) == 1:
        return f"claim {keys[0]} is"
    return f"claims {', '.join(keys[:-1])} and {keys[-1]} are"


def _lies(row: Row, found: Differences, first: bool) -> str:
    """Where a row lies: "dropout 0.2 lies 5.8 below 0.1 (the paper prints 1.5 below)"; of rows on the base's axis the first alone names it."""
    axis = row.name.removesuffix(row.label)
    alike = len(found.panels) == 1 and bool(axis) and found.base_name == axis + found.base
    name = row.label if alike and not first else row.name
    base = "" if not first else f" {found.base}" if alike else f" {found.base_name}"
    printed = "" if row.printed is None else f" ({'the paper prints ' if first else ''}{amount(row.printed)})"
    return f"{name} lies {amount(row.mean or 0.0)}{base}{printed}"


def _beside(row: Row) -> str:
    ours = amount(row.mean or 0.0)
    return ours if row.printed is None else f"{ours}; the paper prints {amount(row.printed)}"


def _other_than_printed(rows: Sequence[Row], said: Sequence[Row]) -> str:
    """The paper's largest difference beside ours, where our tested interval leaves it out and the title has not said it; else ""."""
    left_out = [
        row for row in rows
        if row.printed is not None and abs(row.printed) >= WORTH_SAYING and row.basis == "own" and not row.low <= row.printed <= row.high
    ]  # fmt: skip
    row = max(left_out, key=lambda one: abs(one.printed or 0.0), default=None)
    if row is None or row in said:
        return ""
    return f"; {row.name}, which the paper prints {amount(row.printed or 0.0)}, lies {amount(row.mean or 0.0)}"


def of_levels(ours: Sequence[float], papers: Sequence[float | None], unit: str) -> str:
    """How many levels lie above the paper's, for a study that names no reference."""
    pairs = [(a, b) for a, b in zip(ours, papers, strict=False) if b is not None]
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


def of_curves(every: Sequence[tuple[str, float]], papers: Sequence[float] = ()) -> str:
    """Which lines end highest and lowest, or that all end together, which end without a score (NaN), and where the paper's end."""
    if not every:
        return "No run has a curve"
    ends = [(name, end) for name, end in every if np.isfinite(end)]
    without = " and ".join(name for name, end in every if not np.isfinite(end))
    if not ends:
        return _capital(f"{without} without a score at the end")
    (top, high), *_, (bottom, low) = sorted(ends, key=lambda one: -one[1]) if len(ends) > 1 else [*ends, *ends]
    if len(ends) == 1:
        head = f"{top} ends at {high:.1f}"
    elif high - low <= TOGETHER:
        head = f"All {len(ends)} lines end between {low:.1f} and {high:.1f}"
    else:
        head = f"{top} ends highest, at {high:.1f}, and {bottom} lowest, at {low:.1f}"
    head += f", {without} without a score" if without else ""
    where = " and ".join(f"{end:.1f}" for end in sorted(papers))
    return _capital(head + (f"; the paper's end{'s' if len(papers) == 1 else ''} at {where}" if papers else "")).replace(" -", " −")


def of_spectra(shares: Sequence[tuple[str, float]], index: int) -> str:
    """How much of the largest singular value is left at an index."""
    order = sorted(shares, key=lambda one: -one[1])
    said = [f"{share:.2f}{'' if n else ' of the largest'} for {name}" for n, (name, share) in enumerate(order)]
    return f"The {index}th singular value is {', '.join(said)}" if said else "No run has a spectrum"


def amount(value: float) -> str:
    """A difference in words: its size, and whether it is above or below."""
    size = f"{abs(value):.1f}" if abs(value) >= 0.095 else f"{abs(value):.3f}"
    return "the same" if value == 0 else f"{size} {'above' if value > 0 else 'below'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
