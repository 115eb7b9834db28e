"""The two CSV files of a study: one row a cell, and one row a run, task, metric and checkpoint."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.report.cells import StudyResult

CHECKPOINTS = ("selected", "last")
NO_ROWS = pd.DataFrame(  # stands for a run without a result
    {"checkpoint": [""], "task": [""], "metric": [""], "step": pd.array([pd.NA], dtype="Int64"), "value": [np.nan]}
)
SPECTRUM = "singular_value_"  # hundreds of rows a run: they stay in the run's own file, as does the curve


def cell_frame(result: StudyResult) -> pd.DataFrame:
    """One row a cell, in the paper's order: axes, our number with its uncertainty, the paper's, and what stands behind it.

    `interval` says what the interval is over (seeds or pairs); `vs_reference` columns are paired by seed, their interval is one of the
    table's simultaneous ones and rests on `vs_reference_basis` (own scatter; or equal scatter, by which nothing is told); `published` is the paper's number and `difference` ours minus it.
    """
    rows = []
    for cell in result.cells:
        estimate, comparison = cell.estimate, cell.comparison
        row: dict[str, object] = {axis.name: label for axis, label in zip(result.study.axes, cell.cell.labels, strict=True)}
        row |= {
            "mean": estimate.mean, "interval_low": estimate.low, "interval_high": estimate.high,
            "interval": cell.interval, "n": estimate.n, "sd": estimate.sd,
            "published": np.nan if cell.cell.published is None else cell.cell.published,
            "difference": np.nan if cell.difference is None else cell.difference,
            "vs_reference": 0.0 if cell.is_reference and estimate.n else comparison.difference,
            "vs_reference_low": comparison.low, "vs_reference_high": comparison.high,
            "vs_reference_n": comparison.n, "vs_reference_basis": comparison.basis,
            "distinguishable": "yes" if comparison.distinguishable else "no",
            "status": cell.status, "missing": cell.count("missing") + cell.count("incomplete"),
            "collapsed": cell.count("collapsed"), "diverged": cell.count("diverged"),
            "metric": f"{cell.metric.checkpoint}:{cell.metric.task}:{cell.metric.quantity}", "unavailable": cell.unavailable,
            "source": "+".join(sorted({run.source for run in cell.runs} - {""})),
            "run_ids": " ".join(run.run_id for run in cell.runs),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def run_frame(result: StudyResult) -> pd.DataFrame:
    """One row a run, checkpoint, task and metric, as stored, but for curve and spectrum.

    A run that several cells read stands once, under the first of them; one without a result keeps one row, with an empty value.
    """
    names = [axis.name for axis in result.study.axes if axis.name != "task"]  # the rows have a task of their own
    stored = ["checkpoint", "task", "metric", "step", "value"]
    heads, parts = {}, []
    for cell in result.cells:
        labels = {axis.name: label for axis, label in zip(result.study.axes, cell.cell.labels, strict=True)}
        for run in cell.runs:
            if run.run_id in heads:
                continue
            heads[run.run_id] = [*(labels[name] for name in names), run.seed, run.run_id, run.status, run.source]
            parts.append(NO_ROWS if run.rows is None else run.rows)
    columns = [*names, "seed", "run_id", "status", "source"]
    if not parts:
        return pd.DataFrame(columns=[*columns, *stored])
    rows = pd.concat(parts, ignore_index=True)[stored].astype({"step": "Int64"})
    of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])  # which run a row is of
    shown = (rows["checkpoint"].isin(CHECKPOINTS) & ~rows["metric"].str.startswith(SPECTRUM)) | (rows["checkpoint"] == "")
    head = pd.DataFrame(list(heads.values()), columns=columns).iloc[of].reset_index(drop=True)
    whole = pd.concat([head, rows], axis=1).assign(of=of)[shown]
    ordered = whole.sort_values(["of", "checkpoint", "task", "metric"], kind="stable", ignore_index=True)
    return ordered[[*columns, *stored]]


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV: eight significant digits, empty where there is no number, the same bytes on every machine."""
    return frame.to_csv(index=False, lineterminator="\n", float_format="%.8g")
