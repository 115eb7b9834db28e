"""Results as data frames: cells, runs, curves, claims and checks. Tables, figures and page show nothing else.

Every frame begins with `scale, profile, encoder`. `docs/using.md` explains every column.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from core.report.quantities import SPECTRUM, value
from core.report.results import CellResult, RunResult, RunStatus, StudyResult
from core.report.statistics import NOT_TESTED, Interval, Labels, comparisons, over_seeds
from core.report.verdicts import Judged, why_unmarked
from core.report.words import ENVIRONMENT, OUTCOMES, contrast_here, flattened
from core.spec.claim import Claim, Contrast
from core.spec.errors import UserError, shown
from core.spec.result import decimals, unit
from core.spec.study import Study
from core.spec.table import Metric

Row = dict[str, object]
SETTING = ("scale", "profile", "encoder")
FAILED: tuple[RunStatus, ...] = ("collapsed", "diverged")
# units whose differences are points
POINTS = ("Spearman × 100", "accuracy × 100", "difference of Spearman × 100")
PAIRED = {  # columns of a comparison, and what STUDY.csv calls them
    "n": "paired_n", "difference": "paired_difference", "ci95_low": "paired_ci95_low",
    "ci95_high": "paired_ci95_high", "tested_low": "tested_low", "tested_high": "tested_high",
    "tested_n": "tested_n", "different": "different",
}  # fmt: skip
SUMMARY = {  # a run's numbers in runs.csv
    "score": Metric(task="avg", title=""),
    "mtd": Metric(task="train", title="", quantity="mtd_nominal", checkpoint="last"),
    "mtd_mean": Metric(task="train", title="", quantity="mtd_mean_over_run", checkpoint="last"),
    "alignment": Metric(task="STS-B", title="", quantity="alignment_global"),
    "uniformity": Metric(task="STS-B", title="", quantity="uniformity_global"),
    "effective_rank": Metric(task="dev", title="", quantity="effective_rank"),
}


def _frame(rows: Iterable[Sequence | Row], columns: str, axes: Iterable[str] = ()) -> pd.DataFrame:
    """Rows under SETTING, a study's axes and these columns; without a row the columns alone."""
    return pd.DataFrame(list(rows), columns=[*SETTING, *axes, *columns.split()])


def _axes(result: StudyResult) -> list[str]:
    return [axis.name for axis in result.study.axes]


def base_pattern(study: Study) -> tuple[str | None, ...] | None:
    """Labels of the cell that the others are compared with, a None for a cell's own label; or None."""
    return (study.figure and study.figure.base) or study.reference


def cell_frame(result: Judged) -> pd.DataFrame:
    """One row a cell, in the paper's order. Numbers have the decimals of the table and two more."""
    if len(parts := result.parts) > 1:
        return pd.concat(map(cell_frame, parts), ignore_index=True)
    study, unmarked = result.study, bool(why_unmarked(result))
    cells, rows = {cell.cell.labels: cell for cell in result.cells}, []
    pattern = base_pattern(study) or ()
    bases = {
        labels: tuple(own if one is None else one for own, one in zip(labels, pattern, strict=False))
        for labels in cells
    }
    tested = _tested(cells, bases, study.claims)
    for labels, cell in cells.items():
        row: Row = {**_setting(result, cell), **dict(zip(_axes(result), labels, strict=True))}
        row |= _numbers(cell, cells.get(bases[labels]), tested.get(labels, NOT_TESTED))
        row["different"] = "no verdict" if row["different"] and unmarked else row["different"]
        rows.append(row)
    return pd.DataFrame(rows)


def _setting(result: StudyResult, cell: CellResult | None = None) -> dict[str, str]:
    """Scale, profile and the encoder that was run: of a cell its own, "" if the cell has never one."""
    name = result.sources.encoder_name
    if cell is not None:
        encoder = result.sources.encoder(cell.cell.encoder)
        name = "" if cell.unavailable or encoder is None else encoder.name
    return {"scale": result.scale.name, "profile": result.profile, "encoder": name}


def _tested(
    cells: Mapping[Labels, CellResult], bases: Mapping[Labels, Labels], claims: Sequence[Claim]
) -> dict[Labels, Interval]:
    """Each cell against its base, with the interval that verdicts are tested with."""
    tested: dict[Labels, Interval] = {}
    for place in dict.fromkeys(bases.values()):
        base = cells.get(place)
        group = [
            cells[labels] for labels in cells if bases[labels] == place and not cells[labels].unavailable
        ]
        if base is not None and base.by_seed:
            like = {
                cell.cell.labels: cell.by_seed for cell in group if unit(cell.metric) == unit(base.metric)
            }
            tested |= comparisons(like, place, claims)
    return tested


def _numbers(cell: CellResult, base: CellResult | None, tested: Interval) -> Row:
    estimate, places = cell.estimate, decimals(cell.metric) + 2
    printed, of_base, own, theirs = cell.cell.published, None, cell.by_seed, dict[int, float]()
    if base is not None and unit(cell.metric) == unit(base.metric):
        theirs, same = base.by_seed, not cell.unavailable or cell.metric == base.metric
        of_base = base.cell.published if same else None
    paired = over_seeds([own[seed] - theirs[seed] for seed in sorted(own.keys() & theirs.keys())])
    row: Row = {
        "mean": estimate.mean, "ci95_low": estimate.low, "ci95_high": estimate.high,
        "n": estimate.n, "sd": estimate.sd,
        "printed": np.nan if printed is None else printed,
        "reference": "" if base is None else base.name,
        "paired_difference": paired.mean, "paired_ci95_low": paired.low, "paired_ci95_high": paired.high,
        "paired_n": paired.n,
        "printed_difference": np.nan if printed is None or of_base is None else printed - of_base,
        "tested_low": tested.low, "tested_high": tested.high, "tested_n": tested.n,
        "different": "" if not tested.n else "yes" if tested.distinguishable else "no",
        "values": " ".join("-" if run.value is None else f"{run.value:.{places}f}" for run in cell.runs),
        "failed_seeds": " ".join(str(run.seed) for run in cell.runs if run.status in FAILED),
        "printed_runs": " ".join(f"{one:g}" for one in cell.cell.published_runs),
        "status": cell.status,
        "metric": f"{cell.metric.checkpoint}:{cell.metric.task}:{cell.metric.quantity}",
        "unit": unit(cell.metric), "unavailable": cell.unavailable,
        "source": "+".join(sorted({run.source for run in cell.runs} - {""})),
        "run_ids": " ".join(run.run_id for run in cell.runs),
    }  # fmt: skip
    return {name: round(entry, places) if isinstance(entry, float) else entry for name, entry in row.items()}


def value_frame(result: Judged) -> pd.DataFrame:
    """One row a cell and seed: what the run counts for in means and verdicts."""
    rows = (
        (*_setting(result, cell).values(), *cell.cell.labels, run.seed, run.run_id, run.status, run.value)
        for cell in result.cells
        for run in cell.runs
    )
    return _frame(rows, "seed run status value", _axes(result)).astype({"value": float})


def pair_frame(result: Judged, a: str, b: str) -> pd.DataFrame:
    """Cell a minus cell b: a row for each pair of cells that differ in these labels alone.

    Raises UserError if there is no such pair."""
    cells, rows = {cell.cell.labels: cell for cell in result.cells}, []
    for labels, cell in cells.items():
        partner = tuple(b.split("/")) if cell.name == a else tuple(b if one == a else one for one in labels)
        other = None if partner == labels else cells.get(partner)
        if other is None:
            continue
        values = {labels: cell.by_seed, partner: other.by_seed}
        numbers = _numbers(cell, other, comparisons(values, partner, result.study.claims)[labels])
        rows.append({"a": cell.name, "b": other.name} | {name: numbers[key] for name, key in PAIRED.items()})
    if not rows:
        known = ", ".join(dict.fromkeys(label for labels in cells for label in labels))
        raise UserError(
            f"{result.study.name} has no cells that differ in {a!r} and {b!r} alone; its labels are {known}."
        )
    return pd.DataFrame(rows)


def run_frame(result: StudyResult) -> pd.DataFrame:
    """One row a run, checkpoint, task and metric, as stored, but for curve and spectrum.

    A run that several cells read stands once, under the first of these cells that reads it after training.
    A run without a result keeps one row with an empty value.
    """
    axes = [name for name in _axes(result) if name != "task"]  # rows have their own task
    runs: dict[str, tuple] = {}
    for cell in sorted(result.cells, key=lambda cell: cell.metric.checkpoint not in ("selected", "last")):
        labels = dict(zip(_axes(result), cell.cell.labels, strict=True))
        for run in cell.runs:
            head = *_setting(result, cell).values(), *(labels[name] for name in axes), run.seed, run.run_id
            runs.setdefault(run.run_id, ((*head, run.status, run.source), run))
    rows = [(*head, *number) for head, run in runs.values() for number in _kept(run)]
    frame = _frame(rows, "seed run_id status source checkpoint task metric step value", axes)
    return frame.astype({"step": "Int64"})


def _kept(run: RunResult) -> Iterable[tuple]:
    """Checkpoint, task, metric, step and value of a run's numbers, in order. Hundreds of singular values stay
    in the run's own file, as does the curve."""
    if run.rows is None:
        return [("", "", "", pd.NA, np.nan)]
    table = run.rows.table.to_pandas()[["checkpoint", "task", "metric", "step", "value"]]
    table = table[(table["checkpoint"] != "curve") & ~table["metric"].str.startswith(SPECTRUM)]
    return table.sort_values(["checkpoint", "task", "metric"]).itertuples(index=False)


def curve_frame(result: StudyResult) -> pd.DataFrame:
    """One row a point of a study's curves: development score by step, or singular value by index.

    Empty for a study that draws no curve. Cells that read the same runs stand once.
    """
    kind = result.study.figure.kind if result.study.figure else ""
    rows: dict[tuple, list[tuple]] = {}
    for _, cell, run in _stored([result]) if kind in ("curve", "spectrum") else ():
        at = cell.metric.checkpoint
        points = run.rows.curve(result.aggregate) if kind == "curve" else _shares(run.rows.spectrum(at))
        head = *_setting(result, cell).values(), *cell.cell.labels, run.seed, run.run_id
        rows.setdefault((at, run.run_id), [(*head, *point) for point in points.items()])
    return _frame(itertools.chain(*rows.values()), "seed run_id x value", _axes(result))


def _shares(values: np.ndarray) -> pd.Series:
    """Singular values over the largest, by index from 1."""
    shares = values / values[0] if len(values) and values[0] > 0 else values[:0]
    return pd.Series(shares, index=range(1, len(shares) + 1))


def summary_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a distinct run: score, MTD, alignment, uniformity and effective rank (runs.csv)."""
    rows: dict[str, Row] = {}
    for result, cell, run in _stored(results):
        if run.run_id in rows:
            continue
        numbers = {
            name: value(run.rows, metric, result.aggregate, result.scale) for name, metric in SUMMARY.items()
        }
        rows[run.run_id] = {
            **_setting(result, cell), "run_id": run.run_id, "study": result.study.name, "cell": cell.name,
            "method": cell.cell.method or result.study.method, "seed": run.seed, "status": run.status,
            "source": run.source, **numbers, "seconds": seconds(run),
        }  # fmt: skip
    frame = _frame(rows.values(), f"run_id study cell method seed status source {' '.join(SUMMARY)} seconds")
    return frame.astype(dict.fromkeys([*SUMMARY, "seconds"], float))


def _stored(results: Iterable[StudyResult]) -> Iterator[tuple]:
    """Every stored run of studies with its study and cell."""
    for result in results:
        for cell in result.cells:
            yield from ((result, cell, run) for run in cell.runs if run.rows is not None)


def seconds(run: RunResult) -> float:
    """Seconds that a run took, as it recorded them; 0 without a record."""
    recorded = run.provenance.get("seconds")
    return float(sum(recorded.values())) if isinstance(recorded, Mapping) else 0.0


def claim_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a claim: its verdict, and the weakest comparison less the claim's threshold (claims.csv)."""
    rows = []
    for result in results:
        for verdict in result.verdicts:
            estimate, tested, share = verdict.estimate, verdict.tested, verdict.contrast.of == "share"
            rows.append((
                *_setting(result).values(), result.study.name, verdict.claim.key, verdict.claim.text,
                contrast_here(verdict.contrast, result), unit_of(verdict.contrast, result.study),
                verdict.outcome, verdict.reason, estimate.mean, np.nan if share else estimate.low,
                np.nan if share else estimate.high, estimate.n, tested.low, tested.high, tested.n,
                np.nan if verdict.printed_effect is None else verdict.printed_effect,
            ))  # fmt: skip
    return _frame(
        rows,
        "study claim text comparison unit verdict reason estimate ci95_low ci95_high n "
        "tested_low tested_high tested_n printed",
    )


def unit_of(contrast: Contrast, study: Study) -> str:
    """What a contrast's numbers are: "points" of a score, else the metric's unit; "" if units differ."""
    cells = [cell for term in contrast.terms for cell in study.matching(term.cell)]
    metrics = [contrast.metric] if contrast.metric else [study.metric_of(cell) for cell in cells]
    units = {"points" if unit(metric) in POINTS else unit(metric) for metric in metrics}
    return units.pop() if len(units) == 1 else ""


def check_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a study and check: whether its runs can carry the paper's experiment (comparability.csv)."""
    known = {True: "yes", False: "no", None: "not known"}
    rows = (
        (*_setting(result).values(), result.study.name, check.kind, check.value, check.limit,
         known[check.met], check.words)
        for result in results for check in result.checks.checks
    )  # fmt: skip
    return _frame(rows, "study check value limit met words")


def overview_frame(results: Sequence[Judged]) -> pd.DataFrame:
    """One row for these studies' scale and profile: runs, hours, claims by verdict (overview.csv)."""
    if not results:
        return pd.DataFrame()
    runs = {run.run_id: run for _, _, run in _stored(results)}
    counts = Counter(verdict.outcome for result in results for verdict in result.verdicts)
    row = {**_setting(results[0]), "text": results[0].sources.corpus_name, "runs": len(runs)}
    row |= {"hours": round(sum(map(seconds, runs.values())) / 3600, 2), "claims": sum(counts.values())}
    return pd.DataFrame([row | {outcome.replace(" ", "_"): counts[outcome] for outcome in OUTCOMES}])


def environment_frame(results: Sequence[Judged]) -> pd.DataFrame:
    """One row for each version of what can move a number and is no part of a run's id (environment.csv)."""
    runs = {run.run_id: flattened(run.provenance) for _, _, run in _stored(results)}
    rows: list[tuple] = []
    for name in ENVIRONMENT:
        versions = Counter(shown(str(run[name])) for run in runs.values() if name in run)
        rows += [(*_setting(results[0]).values(), name, *each) for each in sorted(versions.items())]
    return _frame(rows, "what version runs")


def csv_text(frame: pd.DataFrame, digits: int = 8) -> str:
    """A frame as CSV with so many significant digits, empty where there is no number."""
    return frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
