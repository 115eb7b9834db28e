"""Whether the effective rank of the vectors predicts the score, beside alignment, uniformity and
loss.

    python -m tools.effective_rank --scale mini [--results-dir results]

Each line is a Spearman correlation with the average of the test sets, over all stored and published
runs of a scale that stand in a table, with a 95 % interval from 1,000 resamples of cells and,
within them, of seeds. A cell is a configuration but for its seeds, and counts once, by its mean.
The correlations are over all cells; within tables (the mean over tables with four cells or more);
and within cells (of the seeds' differences from their cell's mean). docs/findings.md says what
`effective rank` is, `rank_me` what `RankMe` is.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from core.config.identity import run_id
from core.config.methods import PROFILES
from core.config.run import Seed
from core.config.scale import SCALES
from core.data.sources import recorded_sources
from core.report.quantities import Rows, value
from core.report.results import Loaded
from core.report.verdicts import JudgedStudy, study_result
from core.store.store import Store
from core.study.resolution import resolve
from core.study.setup import Setup
from core.study.study import Metric
from studies import STUDIES

HOME = Path(__file__).resolve().parents[1]
READ = {
    "score": Metric(task="avg", title=""),
    "effective rank": Metric(task="dev", title="", quantity="effective_rank"),
    "mean cosine": Metric(task="dev", title="", quantity="mean_cosine"),
    "alignment": Metric(task="STS-B", title="", quantity="alignment_global"),
    "uniformity": Metric(task="STS-B", title="", quantity="uniformity_global"),
    "loss": Metric(task="train", title="", quantity="loss", checkpoint="curve"),
    "development score": Metric(task="dev", title=""),
}
NUMBERS = (*READ, "RankMe")  # the score first
KINDS = ("over cells", "within tables", "within cells")
RESAMPLES = 1000
LEAST_CELLS = 4  # of a table, for a correlation over its cells
TINY = 1e-7  # RankMe's epsilon


def rank_me(singular_values: np.ndarray) -> float:
    """Garrido et al.'s RankMe of a matrix with these singular values; NaN without any."""
    if not len(singular_values):
        return float("nan")
    p = singular_values / singular_values.sum() + TINY
    return float(np.exp(-(p * np.log(p)).sum()))


def runs_of(store: Store, scale: str) -> pd.DataFrame:
    """A row for each run, table and cell at a scale: score and measures of the run."""
    found = recorded_sources(SCALES[scale], store)
    if found is None:
        raise SystemExit(f"No run of scale {scale} is stored; train some, or give --results-dir.")
    rows = []
    numbers = dict[str, dict[str, float | None]]()
    loaded: Loaded = {}
    for profile in PROFILES:
        setup = Setup(profile=profile, scale=SCALES[scale], sources=found, seeds=1)
        for study in STUDIES:
            result = study_result(resolve(study, setup), store, loaded)
            table = f"{result.study.name} · {profile}"
            for cell in result.cells:
                if not cell.runs:
                    continue
                config = replace(cell.config(0), seed=Seed())
                cell_id = run_id(config)
                for run in cell.runs:
                    if run.rows is None or run.status == "diverged":
                        continue
                    if run.run_id not in numbers:
                        numbers[run.run_id] = _numbers_of(run.rows, result)
                    row = {"run": run.run_id, "cell": cell_id, "table": table}
                    rows.append(row | numbers[run.run_id])
    frame = pd.DataFrame(rows).drop_duplicates(["run", "cell", "table"]).dropna(subset=["score"])
    return frame.astype(dict.fromkeys(NUMBERS, float))


def _numbers_of(rows: Rows, result: JudgedStudy) -> dict[str, float | None]:
    """The score and the measures of one run."""
    numbers = {}
    for name, metric in READ.items():
        numbers[name] = value(rows, metric, result.aggregate, result.setup.scale)
    numbers["RankMe"] = rank_me(rows.spectrum())
    return numbers


def correlations(cells: Sequence[np.ndarray], in_table: np.ndarray) -> np.ndarray:
    """Each measure's Spearman correlation with the score: over cells, within tables and cells; (3,
    measures).

    cells: of each cell its runs, (seeds, 1 + measures), the score first; in_table: (cells, tables).
    """
    means = np.stack([runs.mean(0) for runs in cells])
    apart = np.concatenate([runs - runs.mean(0) for runs in cells if len(runs) > 1])
    tables = [_spearman(means[members]) for members in in_table.T if members.sum() >= LEAST_CELLS]
    within = np.full(means.shape[1] - 1, np.nan)
    if tables:
        within = np.nanmean(tables, axis=0)
    return np.stack([_spearman(means), within, _spearman(apart)])


def _spearman(lines: np.ndarray) -> np.ndarray:
    """The correlation of each further column with the first, over the lines that have both."""
    return pd.DataFrame(lines).corr("spearman", min_periods=LEAST_CELLS).to_numpy()[0, 1:]


def table(runs: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """A line a measure: each correlation with its interval."""
    distinct = runs.drop_duplicates("run").sort_values("run")
    cells = [group[list(NUMBERS)].to_numpy() for _, group in distinct.groupby("cell")]
    in_table = pd.crosstab(runs["cell"], runs["table"]).to_numpy() > 0
    generator = np.random.default_rng(0)
    drawn = []
    # of a table whose cells are one cell, drawn several times
    with warnings.catch_warnings(action="ignore"):
        here = correlations(cells, in_table)
        for _ in range(resamples):
            chosen = generator.integers(len(cells), size=len(cells))
            sample = []
            for place in chosen:
                cell = cells[place]
                sample.append(cell[generator.integers(len(cell), size=len(cell))])
            drawn.append(correlations(sample, in_table[chosen]))
        low, high = np.nanpercentile(np.array(drawn), [2.5, 97.5], axis=0)
    lines = pd.DataFrame({"measure": NUMBERS[1:]})
    for kind, name in enumerate(KINDS):
        lines[name] = here[kind]
        lines[f"{name}, low"] = low[kind]
        lines[f"{name}, high"] = high[kind]
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m tools.effective_rank", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--scale", choices=SCALES, default="mini")
    parser.add_argument("--results-dir", type=Path, default=HOME / "results")
    options = parser.parse_args(argv)
    runs = runs_of(Store(options.results_dir, HOME / "results" / "published"), options.scale)
    lines = table(runs)
    print(
        f"{runs['run'].nunique()} runs of {runs['cell'].nunique()} cells at scale {options.scale}:"
    )
    for line in lines.to_dict("records"):
        words = []
        for name in KINDS:
            low = line[f"{name}, low"]
            high = line[f"{name}, high"]
            words.append(f"{name} {line[name]:+.2f} [{low:+.2f}, {high:+.2f}]")
        print(f"{line['measure']:<18}", *words, sep="  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
