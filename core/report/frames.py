"""Results as data frames: cells, runs, curves, claims and checks. Tables, figures and page show
nothing else.

Every frame begins with `scale, profile, encoder`. `docs/using.md` explains every column.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.config.quantities import UNITS
from core.config.result import decimals, unit
from core.formatting import no_formula, shown
from core.report.along import differences, differs_along_training
from core.report.comparisons import Record, comparison_row, needed, sides, weakest_row
from core.report.prospects import prospect
from core.report.quantities import value
from core.report.results import CellResult, RunResult, StudyResult
from core.report.rule_age import rule_age
from core.report.statistics import SETTLED_OUTCOMES, over_seeds
from core.report.verdicts import Difference, JudgedStudy, base_labels, same_unit
from core.report.words import trained_rates
from core.study.study import Metric, Study

SETTING = ("scale", "profile", "encoder")
# columns of lists, and how a CSV file writes an entry, "-" for None; "": by its unit
LISTS = {"values": "", "failed_seeds": "d", "printed_runs": "g", "run_ids": "s"}
FAILED = ("collapsed", "diverged")  # statuses of runs
COMPARISON = "left right above below unit printed estimate ci95_low ci95_high n"  # of a comparison
NUMBERS: dict[str, Any] = dict.fromkeys(("above", "below", "printed"), float)
SUMMARY = {  # a run's numbers in runs.csv
    "score": Metric(task="avg", title=""),
    "mtd": Metric(task="train", title="", quantity="mtd_nominal", checkpoint="last"),
    "mtd_mean": Metric(task="train", title="", quantity="mtd_mean_over_run", checkpoint="last"),
    "alignment": Metric(task="STS-B", title="", quantity="alignment_global"),
    "uniformity": Metric(task="STS-B", title="", quantity="uniformity_global"),
    "effective_rank": Metric(task="dev", title="", quantity="effective_rank"),
}


def _frame(
    rows: Iterable[Sequence | Record], columns: str, axes: Iterable[str] = (), **types: Any
) -> pd.DataFrame:
    """Rows under SETTING, a study's axes and these columns, some of a stated type; without a row
    the columns alone."""
    frame = pd.DataFrame(list(rows), columns=[*SETTING, *axes, *columns.split()])
    for name, kind in types.items():  # `astype` of the whole frame makes every column anew
        frame[name] = frame[name].astype(kind)
    return frame


def _setting(result: StudyResult, cell: CellResult | None = None) -> dict[str, str]:
    """Scale, profile and the encoder that was run: of a cell its own, "" if the cell has never
    one."""
    setup = result.setup
    name = setup.sources.encoder.name
    if cell is not None:
        encoder = setup.sources.encoder_for(cell.cell.encoder)
        name = ""
        if cell.unavailable is None and encoder is not None:
            name = encoder.name
    return {"scale": setup.scale.name, "profile": setup.profile, "encoder": shown(name)}


def _head(result: StudyResult, cell: CellResult) -> Record:
    """The columns that name a cell."""
    labels = zip(_axes(result), cell.cell.labels, strict=True)
    return {**_setting(result, cell), **dict(labels)}


def _axes(result: StudyResult) -> list[str]:
    return [axis.name for axis in result.study.axes]


def cell_frame(result: JudgedStudy) -> pd.DataFrame:
    """One row a cell, in the paper's order. Numbers have the decimals of the table and two more."""
    cells = result.by_labels
    rows = []
    for labels, cell in cells.items():
        difference = result.differences[labels]
        numbers = _cell_numbers(cell, cells.get(difference.base), difference)
        rows.append({**_head(result, cell), **numbers})
    frame = pd.DataFrame(rows)
    rates = trained_rates(result)
    if rates:
        frame["trained_rate"] = [rates.get(labels, ("", np.nan))[1] for labels in cells]
    return frame


def _cell_numbers(cell: CellResult, base: CellResult | None, difference: Difference) -> Record:
    """A cell's numbers, and the cell minus its base: paired by seed, as printed, and tested."""
    estimate = cell.estimate
    printed = np.nan if cell.cell.published is None else cell.cell.published
    printed_difference = np.nan
    pairs = np.empty((2, 0))
    if base is not None and same_unit(cell, base):
        common = sorted(cell.by_seed.keys() & base.by_seed.keys())
        pairs = np.array([[of.by_seed[seed] for seed in common] for of in (cell, base)])
        printed_base = base.cell.published
        if printed_base is not None and (cell.unavailable is None or cell.metric == base.metric):
            printed_difference = printed - printed_base
    paired = over_seeds(pairs[0] - pairs[1])
    tested = difference.tested
    row: Record = {
        "mean": estimate.mean,
        "ci95_low": estimate.low,
        "ci95_high": estimate.high,
        "n": estimate.n,
        "sd": estimate.sd,
        "printed": printed,
        "reference": "" if base is None else base.name,
        "paired_difference": paired.mean,
        "paired_ci95_low": paired.low,
        "paired_ci95_high": paired.high,
        "paired_n": paired.n,
        "paired_mean": over_seeds(pairs[0]).mean,
        "paired_reference": over_seeds(pairs[1]).mean,
        "printed_difference": printed_difference,
        "tested_low": tested.low,
        "tested_high": tested.high,
        "tested_n": tested.n,
        "different": difference.different,
        "values": [run.value for run in cell.runs],
        "failed_seeds": [run.seed for run in cell.runs if run.status in FAILED],
        "printed_runs": list(cell.cell.published_runs),
        "status": cell.status,
        "metric": f"{cell.metric.checkpoint}:{cell.metric.task}:{cell.metric.quantity}",
        "unit": unit(cell.metric),
        "unavailable": "" if cell.unavailable is None else cell.unavailable.words,
        "source": "+".join(sorted({run.source for run in cell.runs} - {""})),
        "run_ids": [run.run_id for run in cell.runs],
    }
    places = decimals(cell.metric)
    if places is not None:
        for name, entry in row.items():
            row[name] = round(entry, places + 2) if isinstance(entry, float) else entry
        row["values"] = [run.value and round(run.value, places + 2) for run in cell.runs]
    return row


def by_cell_name(study: Study, cells: pd.DataFrame) -> pd.DataFrame:
    """A cell frame by the cells' names, and whether each is the one that others are compared
    with."""
    labels = zip(*(cells[axis.name] for axis in study.axes), strict=True)
    cells = cells.set_axis(map("/".join, labels))
    return cells.assign(is_base=cells.index == cells["reference"])


def value_frame(result: JudgedStudy) -> pd.DataFrame:
    """One row a cell and seed: what the run counts for in means and verdicts."""
    rows = []
    for _, run, names in _every_run(result):
        rows.append({**names, "run": run.run_id, "value": run.value})
    return _frame(rows, "seed run status value", _axes(result), value=float)


def run_frame(result: StudyResult) -> pd.DataFrame:
    """One row a run, checkpoint, task and metric, as stored, but for curve and spectrum, of which
    the run's own file has hundreds of numbers. A run of several cells stands under the first that
    reads it after training; one without a result has an empty value."""
    runs = list(_every_run(result))
    runs.sort(key=lambda run: run[0].metric.checkpoint not in ("selected", "last"))
    rows: dict[str, list[Record]] = {}
    for _, run, names in runs:
        if run.run_id not in rows:
            listed = [{"task": ""}] if run.rows is None else run.rows.listed
            rows[run.run_id] = [{**names, **numbers} for numbers in listed]
    axes = [name for name in _axes(result) if name != "task"]  # rows have their own task
    columns = "seed run_id status source checkpoint task metric step value"
    return _frame(itertools.chain(*rows.values()), columns, axes, step="Int64")


def curve_frame(result: StudyResult) -> pd.DataFrame:
    """One row a point of a study's curves: development score by step, or singular value over the
    largest by index from 1, and the singular value itself; none for a study without curves. Cells
    that read the same runs stand once. Of differences along training, one row a cell and check."""
    rows = {}
    figure = result.study.figure
    kind = "cells" if figure is None else figure.kind
    columns = "seed run_id x value"
    if kind == "along":
        columns = "step passes difference half_width seeds"
        cells = result.by_labels
        for labels, cell in cells.items():
            base = cells.get(base_labels(labels, result.study), cell)
            if base is not cell:
                checks = differences(cell, base, result.aggregate)
                rows[labels] = [{**_head(result, cell), **check} for check in checks]
    elif kind == "spectrum":
        columns += " singular_value"
    for cell, run, names in _every_run(result) if kind in ("curve", "spectrum") else []:
        key = cell.metric.checkpoint, run.run_id
        if run.rows is None or key in rows:
            continue
        points = []
        if kind == "curve":
            for step, score in run.rows.curve(result.aggregate).items():
                points.append({"x": step, "value": score})
        else:
            sizes = run.rows.spectrum(cell.metric.checkpoint)
            for index, size in enumerate(sizes if sizes.any() else (), start=1):
                points.append({"x": index, "value": size / sizes[0], "singular_value": size})
        rows[key] = [{**names, **point} for point in points]
    return _frame(itertools.chain(*rows.values()), columns, _axes(result))


def summary_frame(result: JudgedStudy) -> pd.DataFrame:
    """One row a distinct run: score, MTD, alignment, uniformity and effective rank (runs.csv)."""
    rows: dict[str, Record] = {}
    for cell, run, names in _every_run(result):
        if run.rows is None or run.run_id in rows:
            continue
        about = result.aggregate, result.setup.scale
        numbers = {name: value(run.rows, metric, *about) for name, metric in SUMMARY.items()}
        rows[run.run_id] = {
            **names,
            "study": result.study.name,
            "cell": cell.name,
            "method": cell.cell.method or result.study.method,
            **numbers,
            "seconds": seconds(run.provenance),
        }
    columns = ["run_id study cell method seed status source", *SUMMARY, "seconds"]
    types: dict[str, Any] = dict.fromkeys([*SUMMARY, "seconds"], float)
    return _frame(rows.values(), " ".join(columns), **types)


def _every_run(result: StudyResult) -> Iterator[tuple[CellResult, RunResult, Record]]:
    """Every run of a study's cells, with the columns that name it."""
    for cell in result.cells:
        place = _head(result, cell)
        for run in cell.runs:
            fields = ("seed", "run_id", "status", "source")
            yield cell, run, place | {name: getattr(run, name) for name in fields}


def seconds(provenance: Mapping[str, object]) -> float | None:
    """Seconds that a run took, as it recorded them; None without a record."""
    recorded = provenance.get("seconds")
    return float(sum(recorded.values())) if isinstance(recorded, Mapping) else None


def claim_frame(results: Iterable[JudgedStudy]) -> pd.DataFrame:
    """One row a claim: its verdict, and the comparison on which it turns (claims.csv)."""
    rows = []
    for result in results:
        for verdict in result.verdicts:
            key = verdict.claim.key
            turns = verdict.outcome in SETTLED_OUTCOMES and differs_along_training(
                verdict, result.aggregate
            )
            flags = rule_age(key, verdict.compared_cells) + "↯" * turns
            reasons = verdict.reason, prospect(verdict, len(result.parts[0].study.claims))
            about = {
                "study": result.study.name,
                "claim": key,
                "text": verdict.claim.text,
                "verdict": verdict.outcome,
                "points": verdict.direction,
                "within_margin": "yes" if verdict.within_margin else "",
                "flags": flags,
                "reason": "; ".join(filter(None, reasons)),
            }
            rows.append({**_setting(result), **weakest_row(verdict, result), **about})
    columns = "study claim text verdict points within_margin flags reason"
    return _frame(rows, f"{columns} {COMPARISON} tested_low tested_high tested_n", **NUMBERS)


def comparison_frame(results: Iterable[JudgedStudy]) -> pd.DataFrame:
    """One row a comparison that a claim needs, in the claim's order (comparisons.csv)."""
    rows = []
    for result in results:
        for verdict in result.verdicts:
            claim = verdict.claim
            about = {"study": result.study.name, "claim": claim.key}
            head = {**_setting(result), **about, "needed": needed(claim.predicate)}
            for group in sides(claim.predicate):
                rows.append({**head, **comparison_row(group, verdict, result)})
    columns = f"study claim needed {COMPARISON} points tested_low tested_high different"
    return _frame(rows, columns, **NUMBERS)


def check_frame(result: JudgedStudy) -> pd.DataFrame:
    """One row a check: whether a study's runs can carry the paper's experiment
    (comparability.csv)."""
    met = {True: "yes", False: "no", None: "not known"}
    head = (*_setting(result).values(), result.study.name)
    rows = []
    for check in result.checks:
        numbers = (check.kind, check.value, check.limit, met[check.met])
        rows.append((*head, *numbers, check.reason.words))
    return _frame(rows, "study check value limit met words", value=float, limit=float)


def csv_text(frame: pd.DataFrame, digits: int = 8) -> str:
    """A frame as CSV with so many significant digits, empty where there is no number."""
    if "encoder" in frame:  # the name of a user's folder
        frame = frame.assign(encoder=frame["encoder"].map(no_formula))
    for name, as_read in LISTS.items():
        if name in frame:
            rows = zip(frame[name], frame["unit"], strict=True)
            texts = []
            for entries, unit in rows:  # a value with the decimals of the table and two more
                places = UNITS[unit].decimals
                by_unit = ".10g" if places is None else f".{places + 2}f"
                words = [
                    "-" if each is None else format(each, as_read or by_unit) for each in entries
                ]
                texts.append(" ".join(words))
            frame = frame.assign(**{name: texts})
    return frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
