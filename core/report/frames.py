"""The two CSV files of a study, one row a cell, and one row a run, task, metric and checkpoint; and one of all studies' comparability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.report.cells import RunResult, StudyResult
from core.report.comparability import comparability, reasons
from core.report.quantities import decimals
from core.report.verdicts import out_of_reach

CHECKPOINTS = ("selected", "last")
NO_NUMBER = ("", "", "", pd.NA, np.nan)  # stands for a run without a result
CELL_COLUMNS = (
    "mean", "interval_low", "interval_high", "interval_over", "n", "sd", "printed", "minus_printed", "reference", "difference",
    "difference_low", "difference_high", "difference_n", "difference_basis", "told", "status", "missing", "collapsed", "diverged", "metric",
    "unavailable", "source", "run_ids",
)  # fmt: skip
SPECTRUM = "singular_value_"  # hundreds of rows a run: they stay in the run's own file, as does the curve


def cell_frame(result: StudyResult) -> pd.DataFrame:
    """One row a cell, in the paper's order: axes, our mean with its interval, the paper's number, the difference to the reference.

    `interval_over` says what the interval is over (seeds or pairs); `printed` is the paper's number and `minus_printed` ours less it.
    `difference` is to the cell named in `reference`, paired by seed; its interval is the one that a verdict is tested with, on
    `difference_n` seeds, or assumes equal scatter (`difference_basis`), by which nothing is `told`. Numbers have the decimals of the
    table and two more.
    """
    if len(parts := result.parts) > 1:
        return pd.concat(map(cell_frame, parts), ignore_index=True)
    reference = next(("/".join(cell.cell.labels) for cell in result.cells if cell.is_reference), "")
    rows = []
    for cell in result.cells:
        estimate, comparison, places = cell.estimate, cell.comparison, decimals(cell.metric) + 2
        row: dict[str, object] = {axis.name: label for axis, label in zip(result.study.axes, cell.cell.labels, strict=False)}
        numbers = {
            "mean": estimate.mean,
            "interval_low": estimate.low,
            "interval_high": estimate.high,
            "sd": estimate.sd,
            "printed": np.nan if cell.cell.published is None else cell.cell.published,
            "minus_printed": np.nan if cell.difference is None else cell.difference,
            "difference": 0.0 if cell.is_reference and estimate.n else comparison.difference,
            "difference_low": comparison.low,
            "difference_high": comparison.high,
        }
        row |= {name: round(float(value), places) for name, value in numbers.items()}
        row |= {
            "interval_over": cell.interval,
            "n": estimate.n,
            "reference": reference if comparison.n or cell.is_reference else "",
            "difference_n": comparison.n,
            "difference_basis": comparison.basis,
            "told": "yes" if comparison.distinguishable else "no",
            "status": cell.status,
            "missing": cell.count("missing") + cell.count("incomplete"),
            "collapsed": cell.count("collapsed"),
            "diverged": cell.count("diverged"),
            "metric": f"{cell.metric.checkpoint}:{cell.metric.task}:{cell.metric.quantity}",
            "unavailable": cell.unavailable,
            "source": "+".join(sorted({run.source for run in cell.runs} - {""})),
            "run_ids": " ".join(run.run_id for run in cell.runs),
        }
        rows.append(row)
    columns = [axis.name for axis in result.study.axes]
    return pd.DataFrame(rows)[[*columns, *CELL_COLUMNS]]


def run_frame(result: StudyResult) -> pd.DataFrame:
    """One row a run, checkpoint, task and metric, as stored, but for curve and spectrum.

    A run that several cells read stands once, under the first of these cells that reads it after training, if any does (the untrained
    encoder's row of Table 1 reads MoCoSE's runs before it). A run without a result keeps one row with an empty value.
    """
    names = [axis.name for axis in result.study.axes if axis.name != "task"]  # the rows have a task of their own
    columns = [*names, "seed", "run_id", "status", "source", "checkpoint", "task", "metric", "step", "value"]
    rows: list[tuple] = []
    seen = set()
    for cell in sorted(result.cells, key=lambda cell: cell.metric.checkpoint not in CHECKPOINTS):
        labels = {axis.name: label for axis, label in zip(result.study.axes, cell.cell.labels, strict=False)}
        for run in cell.runs:
            if run.run_id not in seen:
                seen.add(run.run_id)
                head = *(labels[name] for name in names), run.seed, run.run_id, run.status, run.source
                rows += [(*head, *number) for number in _shown(run)]
    return pd.DataFrame(rows, columns=columns).astype({"step": "Int64"})


def _shown(run: RunResult) -> list[tuple]:
    """Checkpoint, task, metric, step and value of a run's numbers, in order."""
    if run.rows is None:
        return [NO_NUMBER]
    found = [
        (checkpoint, number.task, metric, number.step, number.value)
        for checkpoint in CHECKPOINTS
        for metric, number in run.rows.at(checkpoint)
        if not metric.startswith(SPECTRUM)
    ]
    return sorted(found, key=lambda row: row[:3])


def csv_text(frame: pd.DataFrame, digits: int = 8) -> str:
    """A frame as CSV: so many significant digits, empty where there is no number, the same bytes on every machine."""
    return frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")


def comparability_frame(results: Sequence[StudyResult]) -> pd.DataFrame:
    """One row a study: each check's number, its limit, whether it is met (yes, no, not known), and the whole in words. A study whose
    reference has not run yet is not known to be comparable; one is not of which every claim that the scale can run is withheld."""
    rows = []
    for result in results:
        found = comparability(result)
        claims = {claim.key for claim in result.study.claims if not out_of_reach(claim, result)}
        why = found.reasons or (reasons(result) if claims and claims <= result.withheld.keys() else ())
        row: dict[str, object] = {
            "study": result.study.name,
            "scale": result.scale.name,
            "profile": result.profile,
            "comparable": "no" if why else "yes" if found.checks and all(check.met for check in found.checks) else "not known",
            "reasons": "; ".join(why),
            "travel": found.travel,
        }
        for check in found.checks:
            name = check.kind.replace(" ", "_")
            row |= {
                name: check.value,
                f"{name}_limit": check.limit,
                f"{name}_met": {True: "yes", False: "no", None: "not known"}[check.met],
            }
        rows.append(row)
    return pd.DataFrame(rows)
