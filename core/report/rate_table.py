"""The table of a study's cells by learning rate: beside the verdicts that say robust or fragile, the numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from core.report.by_rate import DEVELOPMENT, LEAST_CHOSEN, CellRates, Labels, RateScore
from core.report.cells import StudyResult
from core.report.grids import Entry, Grid, number
from core.report.naming import label_here
from core.report.statistics import Estimate

HEADING = "At other learning rates"
BEST = "each at its best"
RATE_COLUMNS = (
    "factor", "learning_rate", "base", "mean", "mean_low", "mean_high", "mean_n", "difference", "difference_low", "difference_high", "difference_n",
    "best_difference", "best_difference_low", "best_difference_high", "best_difference_n", "development", "best",
)  # fmt: skip
FACTORS = {1 / 3: "a third of the rate", 1.0: "the scale’s rate", 3.0: "three times the rate"}


def rate_grid(result: StudyResult) -> Grid:
    """A column a learning rate; a line for each cell's score, and one for its difference to its base. Where there are differences, one more
    column has each cell at its own best rate."""
    compared = _compared(result)
    headers = ["", *_rate_headers(result), *([BEST] if compared else [])]
    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for one in result.rates:
        breaks += [len(rows)] if rows else []
        scores = [_score(score.estimate, one.places) for score in one.scores]
        best = [_best(one)] if compared else []
        rows.append((_named(one.labels, result), *scores, *best, _printed(one.printed, one.places)))
        if one.base is not None:
            differences = [_score(score.difference, one.places, signed=True) for score in one.scores]
            chosen = "" if one.chosen is None else _score(one.chosen.difference, one.places, signed=True)
            rows.append((f"− {_named(one.base, result)}", *differences, chosen, _printed(one.printed_difference, one.places, signed=True)))
    if any(row[-1] for row in rows):
        headers.append("paper")
    else:
        rows = [row[:-1] for row in rows]
    return Grid(tuple(headers), tuple(tuple(map(Entry, row)) for row in rows), 1, tuple(breaks))


def _compared(result: StudyResult) -> bool:
    """Whether any cell has a base to be compared with."""
    return any(one.base is not None for one in result.rates)


def _rate_headers(result: StudyResult) -> list[str]:
    """The learning rates in words, with their number where all cells share it."""
    headers = []
    for place, score in enumerate(result.rates[0].scores):
        rates = {one.scores[place].rate for one in result.rates}
        headers.append(FACTORS[score.factor] + (f", {_rate(rates.pop())}" if len(rates) == 1 else ""))
    return headers


def rate_notes(result: StudyResult) -> tuple[str, ...]:
    """How the table is to be read."""
    return tuple(_notes(result))


def _notes(result: StudyResult) -> Iterator[str]:
    own = {score.rate for one in result.rates for score in one.scores if score.factor == 1.0}
    if len(own) > 1:
        yield f"Methods have rates of their own at this scale: {', '.join(map(_rate, sorted(own)))}."
    yield (
        "Mean over seeds ± half of its 95 % t-interval; differences are paired by seed, with the interval of that mean alone. No verdict rests "
        "on these intervals: a verdict’s are wider, since they share 5 % among all claims and looks."
    )
    if not _compared(result):
        return
    yield (
        f"{BEST.capitalize()}: at the rate with the best mean development score, of those with {LEAST_CHOSEN} seeds; the difference is to the other "
        "at its own best."
    )
    if result.study.metric.task == DEVELOPMENT.task:
        yield "Here the score that is shown is the one that chose the rate, so what is read at its best is flattered."
    for place, end in ((-1, "highest"), (0, "lowest")):
        factor = result.rates[0].scores[place].factor
        named = [_named(one.labels, result) for one in result.rates if one.chosen is not None and one.chosen.factor == factor]
        if named:
            yield f"Best at the {end} rate that was tried, so a better one may lie beyond: {', '.join(named)}."


def _named(labels: Labels, result: StudyResult) -> str:
    """A cell's labels, without the task where it is the average."""
    kept = [
        label_here(label, result)
        for axis, label in zip(result.study.axes, labels, strict=True)
        if (axis.name, label) != ("task", "avg") or len(labels) == 1
    ]
    return "/".join(kept)


def _best(one: CellRates) -> str:
    if one.chosen is None:
        return ""
    return f"{_score(one.chosen.estimate, one.places)} at {_rate(one.chosen.rate)}"


def _rate(rate: float) -> str:
    """A learning rate as the papers write it: 3e-5."""
    digits, _, power = f"{rate:.2e}".partition("e")
    return f"{float(digits):g}e{int(power)}"


def _printed(value: float | None, places: int, signed: bool = False) -> str:
    return "" if value is None else number(value, signed, places)


def _score(estimate: Estimate, places: int, signed: bool = False) -> str:
    """A mean with its interval and its seeds; "—" for none."""
    if not estimate.n:
        return "—"
    half = "" if np.isnan(estimate.high) else f" ± {number(estimate.high - estimate.mean, places=places)}"
    return f"{number(estimate.mean, signed, places)}{half} (n={estimate.n})"


def rate_frame(result: StudyResult) -> pd.DataFrame:
    """One row a cell and rate, in ascending order; `best` says which rate is the cell's best on the development set.

    `difference` is to the cell named in `base` at the same rate, `best_difference` (in the best rate's row) to it at its own best rate;
    each has the ends of its 95 % t-interval and its number of seeds. Numbers have the decimals of the table and two more.
    """
    axes = [axis.name for axis in result.study.axes]
    rows = [dict(zip(axes, one.labels, strict=True)) | _row(one, score) for one in result.rates for score in one.scores]
    return pd.DataFrame(rows, columns=[*axes, *RATE_COLUMNS])


def _row(one: CellRates, score: RateScore) -> dict[str, object]:
    best = one.chosen is not None and one.chosen.factor == score.factor
    chosen = one.chosen.difference if best and one.chosen is not None else None
    numbers = {"mean": score.estimate, "difference": score.difference, "best_difference": chosen}
    row: dict[str, object] = {"factor": float(f"{score.factor:.6g}"), "learning_rate": score.rate, "base": "/".join(one.base or ())}
    for name, estimate in numbers.items():
        low, high, mean = (np.nan,) * 3 if estimate is None else (estimate.low, estimate.high, estimate.mean)
        row |= {key: round(float(value), one.places + 2) for key, value in ((name, mean), (f"{name}_low", low), (f"{name}_high", high))}
        row[f"{name}_n"] = 0 if estimate is None else estimate.n
    return row | {"development": round(score.development, 4), "best": "yes" if best else "no"}
