"""The comparisons of a claim on the runs, one by one, as people read them. All numbers are raw:
what a claim requires stands beside them."""

import contextlib
from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.config.quantities import in_points
from core.config.result import unit
from core.errors import UserError
from core.report.contrasts import direction, of_sum
from core.report.results import CellResult
from core.report.statistics import paired_bootstrap
from core.report.verdicts import JudgedStudy, Verdict
from core.study.claim import Contrast, Joined, Predicate, Term
from core.study.study import Study

AVERAGE_SCORE = "avg spearman"
RESAMPLES = 200  # of test pairs: 0.6 s a row with the seven STS sets
MOST_ROWS = 8
MOST_TERMS = 4  # of a comparison, or of one side of it, that is spelled out
Record = dict[str, object]


def weakest_row(verdict: Verdict, result: JudgedStudy) -> Record:
    """The comparison on which a claim turns, with the bounds that the claim's own check tested."""
    weakest = verdict.weakest.contrast
    group = next(group for group in sides(verdict.claim.predicate) if weakest in group)
    tested = of_sum(weakest, verdict.tested)
    own = {"tested_low": tested.low, "tested_high": tested.high, "tested_n": tested.n}
    return {**comparison_row(group, verdict, result), **own}


def comparison_row(group: Sequence[Contrast], verdict: Verdict, result: JudgedStudy) -> Record:
    """A comparison by the columns of comparisons.csv, given its contrast or the two sides of it.

    `left` minus `right` (empty: a number stands alone) has to lie above `above` and below `below`,
    as far as these are given; with both, and above not under below, one is enough. `unit` is
    "points" of a score, else the metric's own; "" if units differ. `different` and the tested
    bounds are those of the table, where it compares the same two cells.
    """
    first = group[0]
    measured = verdict.contrasts[first]
    estimate = of_sum(first, measured.estimate)
    printed = np.nan
    if measured.printed is not None:
        printed = first.threshold + first.sign * measured.printed
    bounds = {contrast.side: contrast.threshold for contrast in group}
    above = bounds.get("above", np.nan)
    below = bounds.get("below", np.nan)
    both = Joined(tuple(group), 1 if above >= below else len(group))
    study = result.study

    # what is compared: left minus right, or left alone
    positive = [term for term in first.terms if term.weight > 0]
    negative = [term for term in first.terms if term.weight < 0]
    if first.of == "interaction" and len(positive) == len(negative) == 2:
        positive, negative = [positive[0], negative[0]], [negative[1], positive[1]]
    left = _side(positive, first, study)
    if first.of == "scatter":
        left = f"scatter over seeds: {left}"
    if first.metric is not None:
        left = f"{first.metric.title.lower()}: {left}"
    units = {"points" if in_points(name) else name for name in map(unit, measured.metrics)}
    row: Record = {
        "left": left,
        "right": _side(negative, first, study),
        "above": above,
        "below": below,
        "unit": units.pop() if len(units) == 1 else "",
        "printed": printed,
        "estimate": estimate.mean,
        "ci95_low": estimate.low,
        "ci95_high": estimate.high,
        "n": estimate.n,
        "points": direction(both, verdict.contrasts),
        "different": "",
        "tested_low": np.nan,
        "tested_high": np.nan,
    }
    for cell, side in zip(reversed(first.pair), (-1, 1), strict=False):
        difference = result.differences.get(cell)
        if difference is not None and {cell, difference.base} == {*first.pair}:
            tested = difference.tested
            low, high = sorted((side * tested.low, side * tested.high))
            row |= {"different": difference.different, "tested_low": low, "tested_high": high}
    return row


def sides(predicate: Predicate) -> list[Sequence[Contrast]]:
    """The comparisons of a predicate in order: each contrast, or the two sides of one."""
    if isinstance(predicate, Contrast):
        return [(predicate,)]
    paired = 2 * predicate.pairs
    contrasts = predicate.contrasts()[:paired]
    below: list[Sequence[Contrast]] = list(zip(contrasts[::2], contrasts[1::2], strict=True))
    for part in predicate.parts[paired:]:
        below += sides(part)
    return below


def _side(terms: Sequence[Term], contrast: Contrast, study: Study) -> str:
    """A cell by its labels, with its weight unless that is 1; several as a sum, or as a difference
    if their weights differ in sign."""
    if len(terms) > MOST_TERMS:
        return f"a weighted sum of {len(terms)} cells"
    words = []
    for term in terms:
        labels = []
        for axis, label in zip(study.axes, term.cell, strict=True):
            # another number of the same runs is of no one test set
            if contrast.metric is None or axis.name != "task":
                labels.append(label or f"every {axis.title.lower()}")
        weight = abs(term.weight)
        words.append("/".join(labels) if weight == 1.0 else f"{weight:.3g} × {'/'.join(labels)}")
    if len(words) < 2:
        return "".join(words)
    sign = "plus" if terms[0].weight * terms[-1].weight > 0 else "minus"
    return f"({f' {sign} '.join(words)})"


def needed(predicate: Predicate) -> str:
    """How many of a claim's comparisons it needs: all, one, a number, or a number of its groups;
    empty if it has one."""
    if len(sides(predicate)) == 1 or isinstance(predicate, Contrast):
        return ""
    groups = predicate.groups()
    if all(group.needed == len(group.parts) for group in groups):
        return "all"
    if all(group.needed == 1 for group in groups):
        return "one"
    of_groups = f" of {len(predicate.parts)} groups" if len(groups) > 1 else ""
    return f"{predicate.needed}{of_groups}"


def over_pairs(result: JudgedStudy) -> list[float]:
    """By how much other test pairs would move each row's difference of averages to its base: half
    of the 95 % interval over resampled pairs, under seed 0, of the first rows. None where pairs are
    not stored."""
    cells = result.by_labels
    sizes: list[float] = []
    for labels, cell in cells.items():
        base = cells.get(result.differences[labels].base, cell)
        if base is cell or result.aggregate != "all" or len(sizes) == MOST_ROWS:
            continue
        pairs = _pairs(cell)
        of_base = _pairs(base)
        if len(pairs) and pairs["task"].equals(of_base["task"]):
            by_task = pairs.assign(base=of_base["cosine"]).groupby("task")
            by_set = []
            for place, name in enumerate(result.setup.scale.tests):
                gold, own, other = by_task.get_group(name)[["gold", "cosine", "base"]].to_numpy().T
                by_set.append(paired_bootstrap(gold, own, other, RESAMPLES, seed=place))
            low, high = np.quantile(np.mean(by_set, axis=0), [0.025, 0.975])
            sizes.append(float(high - low) / 2)
    return [size for size in sizes if np.isfinite(size)]


def _pairs(cell: CellResult) -> pd.DataFrame:
    """The pairs of a cell's run under seed 0, if the cell shows the selected average; else none."""
    metric = cell.metric
    shown = f"{metric.task} {metric.quantity}" == AVERAGE_SCORE and metric.checkpoint == "selected"
    pairs = None
    if shown and cell.runs and cell.runs[0].pairs is not None:
        with contextlib.suppress(UserError):  # damaged: the run's numbers are shown all the same
            pairs = cell.runs[0].pairs()
    return pd.DataFrame(columns=["task"]) if pairs is None else pairs
