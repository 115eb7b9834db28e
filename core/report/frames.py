"""Results as data frames: cells, runs, curves, claims and checks. Tables, figures and page show nothing else.

Every frame begins with `scale, profile, encoder`. `docs/using.md` explains every column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from core.report.contrasts import Readings
from core.report.quantities import Rows, curve, spectrum, value
from core.report.results import CellResult, RunResult, RunStatus
from core.report.statistics import NO_COMPARISON, Comparison, comparisons, over_seeds
from core.report.verdicts import Judged, reasons, why_unmarked
from core.report.words import ENVIRONMENT, OUTCOMES, contrast_here, flattened, why
from core.spec.claim import Contrast
from core.spec.errors import UserError, shown
from core.spec.result import decimals, unit
from core.spec.study import Study
from core.spec.table import Metric

Labels = tuple[str, ...]
Row = dict[str, object]
SETTING = ("scale", "profile", "encoder")
FAILED: tuple[RunStatus, ...] = ("collapsed", "diverged")
CHECKPOINTS = ("selected", "last")
SPECTRUM = "singular_value_"  # hundreds of rows a run: they stay in the run's own file, as does the curve
POINTS = (
    "Spearman × 100",
    "accuracy × 100",
    "difference of Spearman × 100",
)  # units whose differences are points
CLAIM_COLUMNS = (
    "study", "claim", "text", "comparison", "unit", "verdict", "reason", "estimate", "ci95_low", "ci95_high",
    "n",
    "tested_low", "tested_high", "tested_n", "printed",
)  # fmt: skip
RUN_COLUMNS = ("seed", "run_id", "status", "source", "checkpoint", "task", "metric", "step", "value")
SUMMARY = {  # a run's numbers in runs.csv
    "score": Metric(task="avg", title=""),
    "mtd": Metric(task="train", title="", quantity="mtd_nominal", checkpoint="last"),
    "mtd_mean": Metric(task="train", title="", quantity="mtd_mean_over_run", checkpoint="last"),
    "alignment": Metric(task="STS-B", title="", quantity="alignment_global"),
    "uniformity": Metric(task="STS-B", title="", quantity="uniformity_global"),
    "effective_rank": Metric(task="dev", title="", quantity="effective_rank"),
}


def base_pattern(study: Study) -> tuple[str | None, ...] | None:
    """Labels of the cell that the others are compared with, a None for a cell's own label; or None."""
    return (study.figure and study.figure.base) or study.reference


def base_of(labels: Labels, pattern: Sequence[str | None]) -> Labels:
    """The labels of the cell that one cell is compared with."""
    return tuple(own if wanted is None else wanted for own, wanted in zip(labels, pattern, strict=True))


def cell_frame(result: Judged) -> pd.DataFrame:
    """One row a cell, in the paper's order. Numbers have the decimals of the table and two more."""
    if len(parts := result.parts) > 1:
        return pd.concat(map(cell_frame, parts), ignore_index=True)
    axes = [axis.name for axis in result.study.axes]
    cells = {cell.cell.labels: cell for cell in result.cells}
    pattern, unmarked = base_pattern(result.study), bool(why_unmarked(result))
    tested = _tested(result, pattern)
    rows = []
    for labels, cell in cells.items():
        base = None if pattern is None else cells.get(base_of(labels, pattern))
        row: Row = {**_setting(result, cell), **dict(zip(axes, labels, strict=True))}
        row |= _numbers(cell, base, tested.get(labels, NO_COMPARISON), unmarked)
        rows.append(row)
    return pd.DataFrame(rows)


def _setting(result: Judged, cell: CellResult | None = None) -> dict[str, str]:
    """Scale, profile and the encoder that was run: of a cell its own, "" if the cell has never one."""
    name = result.sources.encoder_name
    if cell is not None:
        encoder = result.sources.encoder(cell.cell.encoder)
        name = "" if cell.unavailable or encoder is None else encoder.name
    return {"scale": result.scale.name, "profile": result.profile, "encoder": name}


def _tested(result: Judged, pattern: tuple[str | None, ...] | None) -> dict[Labels, Comparison]:
    """Each cell against its base, with the interval that verdicts are tested with."""
    if pattern is None:
        return {}
    groups: dict[Labels, dict[Labels, CellResult]] = {}
    for cell in result.cells:
        groups.setdefault(base_of(cell.cell.labels, pattern), {})[cell.cell.labels] = cell
    found: dict[Labels, Comparison] = {}
    for base, group in groups.items():
        if base in group and _by_seed(group[base]):
            kind = unit(group[base].metric)
            alike = {labels: cell for labels, cell in group.items() if unit(cell.metric) == kind}
            values = {labels: _by_seed(cell) for labels, cell in alike.items() if not cell.unavailable}
            found |= comparisons(values, base, result.study.claims)
    return found


def _by_seed(cell: CellResult) -> dict[int, float]:
    return {run.seed: run.value for run in cell.runs if run.value is not None}


def _numbers(cell: CellResult, base: CellResult | None, tested: Comparison, unmarked: bool) -> Row:
    estimate, places = cell.estimate, decimals(cell.metric) + 2
    own, theirs = _by_seed(cell), {} if base is None else _by_seed(base)
    alike = base is not None and unit(cell.metric) == unit(base.metric) and not cell.unavailable
    common = [own[seed] - theirs[seed] for seed in sorted(own.keys() & theirs.keys())] if alike else []
    paired = over_seeds(common)
    printed = cell.cell.published
    of_base = None if base is None or not alike and cell.metric != base.metric else base.cell.published
    is_tested = not np.isnan(tested.low) and cell is not base
    different = "yes" if tested.distinguishable else "no"
    row: Row = {
        "mean": estimate.mean, "ci95_low": estimate.low, "ci95_high": estimate.high,
        "ci95_over": cell.interval, "n": estimate.n, "sd": estimate.sd,
        "printed": np.nan if printed is None else printed,
        "reference": "" if base is None else "/".join(base.cell.labels),
        "paired_difference": paired.mean, "paired_ci95_low": paired.low, "paired_ci95_high": paired.high,
        "paired_n": paired.n,
        "printed_difference": np.nan if printed is None or of_base is None else printed - of_base,
        "tested_low": tested.low if is_tested else np.nan,
        "tested_high": tested.high if is_tested else np.nan, "tested_n": tested.n if is_tested else 0,
        "different": "" if not is_tested else "no verdict" if unmarked else different,
        "best": "yes" if cell.is_best else "",
        "values": " ".join("-" if run.value is None else f"{run.value:.{places}f}" for run in cell.runs),
        "failed_seeds": " ".join(str(run.seed) for run in cell.runs if run.status in FAILED),
        "printed_runs": " ".join(f"{one:g}" for one in cell.cell.published_runs),
        "status": cell.status, "missing": cell.count("missing") + cell.count("incomplete"),
        "collapsed": cell.count("collapsed"), "diverged": cell.count("diverged"),
        "metric": f"{cell.metric.checkpoint}:{cell.metric.task}:{cell.metric.quantity}",
        "unit": unit(cell.metric), "unavailable": cell.unavailable,
        "source": "+".join(sorted({run.source for run in cell.runs} - {""})),
        "run_ids": " ".join(run.run_id for run in cell.runs),
    }  # fmt: skip
    return {name: round(entry, places) if isinstance(entry, float) else entry for name, entry in row.items()}


def value_frame(result: Judged) -> pd.DataFrame:
    """One row a cell and seed: what the run counts for in means and verdicts."""
    rows = [
        (*_setting(result, cell).values(), *cell.cell.labels, run.seed, run.run_id, run.status, run.value)
        for cell in result.cells
        for run in cell.runs
    ]
    axes = [axis.name for axis in result.study.axes]
    return pd.DataFrame(rows, columns=[*SETTING, *axes, "seed", "run", "status", "value"]).astype(
        {"value": float}
    )


def pair_frame(result: Judged, a: str, b: str) -> pd.DataFrame:
    """Cell a minus cell b: a row for each pair of cells that differ in these labels alone.

    Raises UserError if there is no such pair."""
    cells = {cell.cell.labels: cell for cell in result.cells}
    rows = []
    for labels, cell in cells.items():
        partner = tuple(b if label == a else label for label in labels)
        partner = tuple(b.split("/")) if "/".join(labels) == a else partner
        if partner == labels or partner not in cells:
            continue
        other = cells[partner]
        values = {labels: _by_seed(cell), partner: _by_seed(other)}
        tested = (
            comparisons(values, partner, result.study.claims).get(labels, NO_COMPARISON)
            if values[partner]
            else NO_COMPARISON
        )
        numbers = _numbers(cell, other, tested, False)
        names = {"a": "/".join(labels), "b": "/".join(partner), "n": numbers.pop("paired_n")}
        names |= {name: numbers[f"paired_{name}"] for name in ("difference", "ci95_low", "ci95_high")}
        rows.append(
            names | {name: numbers[name] for name in ("tested_low", "tested_high", "tested_n", "different")}
        )
    if not rows:
        known = ", ".join(dict.fromkeys(label for labels in cells for label in labels))
        raise UserError(
            f"{result.study.name} has no cells that differ in {a!r} and {b!r} alone; its labels are {known}."
        )
    return pd.DataFrame(rows)


def run_frame(result: Judged) -> pd.DataFrame:
    """One row a run, checkpoint, task and metric, as stored, but for curve and spectrum.

    A run that several cells read stands once, under the first of these cells that reads it after training.
    A run without a result keeps one row with an empty value.
    """
    axes = [axis.name for axis in result.study.axes if axis.name != "task"]  # rows have their own task
    columns = [*SETTING, *axes, *RUN_COLUMNS]
    rows: list[tuple] = []
    seen = set()
    for cell in sorted(result.cells, key=lambda cell: cell.metric.checkpoint not in CHECKPOINTS):
        labels = {axis.name: label for axis, label in zip(result.study.axes, cell.cell.labels, strict=False)}
        for run in cell.runs:
            if run.run_id not in seen:
                seen.add(run.run_id)
                head = *_setting(result, cell).values(), *(labels[name] for name in axes)
                of_run = run.seed, run.run_id, run.status, run.source
                rows += [(*head, *of_run, *number) for number in _stored(run)]
    return pd.DataFrame(rows, columns=columns).astype({"step": "Int64"})


def _stored(run: RunResult) -> list[tuple]:
    """Checkpoint, task, metric, step and value of a run's numbers, in order."""
    if run.rows is None:
        return [("", "", "", pd.NA, np.nan)]
    numbers = [
        (checkpoint, number.task, metric, number.step, number.value)
        for checkpoint in CHECKPOINTS
        for metric, number in run.rows.at(checkpoint)
        if not metric.startswith(SPECTRUM)
    ]
    return sorted(numbers, key=lambda row: row[:3])


def curve_frame(result: Judged) -> pd.DataFrame:
    """One row a point of a study's curves: development score by step, or singular value by index.

    Empty for a study that draws no curve. Cells that read the same runs stand once.
    """
    kind = result.study.figure.kind if result.study.figure else ""
    axes = [axis.name for axis in result.study.axes]
    rows, seen = [], set()
    for cell in result.cells if kind in ("curve", "spectrum") else ():
        runs = (cell.metric.checkpoint, *(run.run_id for run in cell.runs))
        if runs in seen:
            continue
        seen.add(runs)
        for run in cell.runs:
            if run.rows is None:
                continue
            at = cell.metric.checkpoint
            points = curve(run.rows, result.aggregate) if kind == "curve" else _spectrum(run.rows, at)
            head = *_setting(result, cell).values(), *cell.cell.labels, run.seed, run.run_id
            rows += [(*head, x, y) for x, y in points.items()]
    return pd.DataFrame(rows, columns=[*SETTING, *axes, "seed", "run_id", "x", "value"])


def _spectrum(rows: Rows, checkpoint: str) -> pd.Series:
    values = spectrum(rows, checkpoint)
    shares = values / values[0] if len(values) and values[0] > 0 else values[:0]
    return pd.Series(shares, index=range(1, len(shares) + 1))


def summary_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a distinct run: score, MTD, alignment, uniformity and effective rank (runs.csv)."""
    rows: dict[str, Row] = {}
    for result in results:
        for cell in result.cells:
            for run in (run for run in cell.runs if run.rows is not None and run.run_id not in rows):
                rows[run.run_id] = {
                    **_setting(result, cell),
                    "run_id": run.run_id,
                    "study": result.study.name,
                    "cell": "/".join(cell.cell.labels),
                    "method": cell.cell.method or result.study.method,
                    "seed": run.seed,
                    "status": run.status,
                    "source": run.source,
                    **_summary(run, result),
                    "seconds": seconds(run),
                }
    columns = [*SETTING, "run_id", "study", "cell", "method", "seed", "status", "source", *SUMMARY, "seconds"]
    frame = pd.DataFrame(list(rows.values()), columns=columns)
    return frame.astype(dict.fromkeys([*SUMMARY, "seconds"], float))


def _summary(run: RunResult, result: Judged) -> Row:
    of = result.aggregate, result.scale
    return {name: value(run.rows, metric, *of) for name, metric in SUMMARY.items() if run.rows is not None}


def seconds(run: RunResult) -> float:
    """Seconds that a run took, as it recorded them; 0 without a record."""
    recorded = run.provenance.get("seconds")
    return float(sum(recorded.values())) if isinstance(recorded, Mapping) else 0.0


def claim_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a claim: its verdict, and the deciding comparison less the claim's threshold (claims.csv)."""
    rows = []
    for result in results:
        for verdict, values in deciding(result):
            n, share = len(values), verdict.contrast.of == "share"
            estimate = over_seeds(values)
            rows.append({
                **_setting(result), "study": result.study.name, "claim": verdict.claim.key,
                "text": verdict.claim.text, "comparison": contrast_here(verdict.contrast, result),
                "unit": unit_of(verdict.contrast, result.study), "verdict": verdict.outcome,
                "reason": why(verdict), "estimate": estimate.mean,
                "ci95_low": np.nan if share else estimate.low,
                "ci95_high": np.nan if share else estimate.high,
                "n": n, "tested_low": verdict.tested.low, "tested_high": verdict.tested.high,
                "tested_n": verdict.tested.n if verdict.look >= 0 else 0,
                "printed": np.nan if verdict.printed_effect is None else verdict.printed_effect,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=[*SETTING, *CLAIM_COLUMNS])


def seed_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a claim and seed: the deciding comparison less the claim's threshold (seeds.csv)."""
    rows = [
        (*_setting(result).values(), result.study.name, verdict.claim.key, seed, number)
        for result in results
        for verdict, values in deciding(result)
        for seed, number in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=[*SETTING, "study", "claim", "seed", "effect"])


def deciding(result: Judged) -> Iterator[tuple]:
    """Each verdict of a study with the values of its deciding comparison by seed, from seed 0 on."""
    readings = Readings(result)
    for verdict in result.verdicts:
        values = readings.samples(verdict.contrast, readings.seeds(verdict.contrast))
        yield verdict, () if values is None else tuple(map(float, values))


def unit_of(contrast: Contrast, study: Study) -> str:
    """What a contrast's numbers are: "points" of a score, else the metric's unit; "" if units differ."""
    cells = [cell for term in contrast.terms for cell in study.matching(term.cell)]
    metrics = [contrast.metric] if contrast.metric else [study.metric_of(cell) for cell in cells]
    units = {"points" if unit(metric) in POINTS else unit(metric) for metric in metrics}
    return units.pop() if len(units) == 1 else ""


def check_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row a study and check: whether its runs can carry the paper's experiment (comparability.csv)."""
    columns = [*SETTING, "study", "check", "value", "limit", "met", "words"]
    rows = [
        (*_setting(result).values(), result.study.name, check.kind, check.value, check.limit,
         {True: "yes", False: "no", None: "not known"}[check.met], check.words)
        for result in results for check in result.checks.checks
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def overview_frame(results: Sequence[Judged]) -> pd.DataFrame:
    """One row for these studies' scale and profile: runs, hours, claims by verdict (overview.csv)."""
    if not results:
        return pd.DataFrame()
    runs = {run.run_id: run for result in results for run in result.runs if run.rows is not None}
    counts = Counter(verdict.outcome for result in results for verdict in result.verdicts)
    row = {**_setting(results[0]), "text": results[0].sources.corpus_name, "runs": len(runs)}
    row |= {"hours": round(sum(map(seconds, runs.values())) / 3600, 2), "claims": sum(counts.values())}
    return pd.DataFrame([row | {outcome.replace(" ", "_"): counts[outcome] for outcome in OUTCOMES}])


def untested_frame(results: Iterable[Judged]) -> pd.DataFrame:
    """One row for each thing that failed, has no verdict or cannot be run (not_tested.csv)."""
    rows = []
    for result in results:
        found = [("no verdict", why) for why in reasons(result)]
        counts = Counter(run.status for run in result.runs)
        failed = {status: counts[status] for status in FAILED if counts[status]}
        found += [(status, f"{count} of {len(result.runs)} runs") for status, count in failed.items()]
        causes = Counter(cell.unavailable for cell in result.cells if not cell.cell.copied)
        found += [("cannot be run", f"{count} cells: {why}") for why, count in causes.items() if why]
        if not result.begun:
            found.append(("not started", "no run of its own is stored"))
        rows += [(*_setting(result).values(), result.study.name, what, why) for what, why in found]
    return pd.DataFrame(rows, columns=[*SETTING, "study", "what", "why"])


def environment_frame(results: Sequence[Judged]) -> pd.DataFrame:
    """One row for each version of what can move a number and is no part of a run's id (environment.csv)."""
    stored = [run for result in results for run in result.runs if run.rows is not None]
    runs = {run.run_id: flattened(run.provenance) for run in stored}
    rows: list[tuple] = []
    for name in ENVIRONMENT if results else ():
        versions = Counter(shown(str(run[name])) for run in runs.values() if name in run)
        head = *_setting(results[0]).values(), name
        rows += [(*head, version, count) for version, count in sorted(versions.items())]
    return pd.DataFrame(rows, columns=[*SETTING, "what", "version", "runs"])


def csv_text(frame: pd.DataFrame, digits: int = 8) -> str:
    """A frame as CSV with so many significant digits, empty where there is no number."""
    return frame.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g")
