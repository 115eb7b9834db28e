"""Whether the effective rank of the vectors predicts the score, beside alignment, uniformity and loss.

    python -m tools.effective_rank --scale mini [--results-dir results] [--csv FILE]

Reads all stored and published runs of a scale. Each line is a Spearman correlation with the average of the
test sets, with a 95 % interval from 1,000 resamples of cells and, within them, of seeds. A cell is a
configuration but for its seeds, and counts once, by its mean. The correlations are over all cells; within
tables (the mean over tables with at least four cells); and within cells (of the seeds' differences from their
cell's mean).

`effective rank` is exp of the entropy of the shares of variance of the centred unit vectors of the
development sentences, as runs keep it. `RankMe` is Garrido et al. (2023): the same of the singular values
themselves, not squared, of the vectors as they are.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from core.data.sources import recorded_sources
from core.spec.identity import run_id
from core.spec.methods import PROFILES
from core.spec.run import RunConfig, Seed
from core.spec.scale import SCALES
from core.spec.setup import Setup
from core.store.store import Store
from studies import STUDIES

HOME = Path(__file__).resolve().parents[1]
MEASURES = ("effective rank", "RankMe", "mean cosine", "alignment", "uniformity", "loss", "development score")
KINDS = ("over cells", "within tables", "within cells")
RESAMPLES = 1000
LEAST_CELLS = 4  # of a table, for a correlation over its cells
TINY = 1e-7  # RankMe's epsilon


def numbers(rows: pd.DataFrame, scored: str) -> dict[str, float]:
    """Score and measures of a run, from its rows at the selected checkpoint."""

    def one(metric: str, task: str | None = None, checkpoint: str = "selected") -> float:
        part = rows[(rows["metric"] == metric) & (rows["checkpoint"] == checkpoint)]
        part = part if task is None else part[part["task"] == task]
        return float(part["value"].iloc[-1]) if len(part) else float("nan")

    spectrum = rows[(rows["checkpoint"] == "selected") & rows["metric"].str.startswith("singular_value_")][
        "value"
    ].to_numpy(dtype=float)
    return {
        "score": one(f"spearman_{scored}", "avg"),
        "effective rank": one("effective_rank", "dev"),
        "RankMe": rank_me(spectrum),
        "mean cosine": one("mean_cosine", "dev"),
        "alignment": one("alignment_global"),
        "uniformity": one("uniformity_global"),
        "loss": one("loss", "train", "curve"),
        "development score": one(f"spearman_{scored}", "dev"),
    }


def rank_me(singular_values: np.ndarray) -> float:
    """Garrido et al.'s RankMe of a matrix with these singular values; NaN without any."""
    if not len(singular_values) or not np.isfinite(singular_values).all():
        return float("nan")
    p = singular_values / singular_values.sum() + TINY
    return float(np.exp(-(p * np.log(p)).sum()))


def cell_of(config: RunConfig) -> str:
    """What runs that differ in their seeds alone have in common."""
    return run_id(replace(config, seed=Seed()))


def gathered(store: Store, scale: str) -> pd.DataFrame:
    """Every stored run of a scale that stands in a table: its cell, its tables, its score and measures."""
    found = recorded_sources(SCALES[scale], store)
    if found is None:
        raise SystemExit(f"No run of scale {scale} is stored; train some, or give --results-dir.")
    tables: dict[str, set[str]] = defaultdict(set)
    for study, profile in product(STUDIES, PROFILES):
        at_scale, setup = (
            study.at(SCALES[scale]),
            Setup(profile=profile, scale=SCALES[scale], sources=found.sources, seeds=1),
        )
        for cell in at_scale.cells:
            if setup.unavailable(at_scale, cell) is None:
                tables[cell_of(setup.config(at_scale, cell, 0))].add(f"{study.name} · {profile}")
    lines = []
    for run in store.runs():
        if store.scale_of_pack(run) in (scale, None) and (stored := store.load(run)).config.scale == scale:
            own = cell_of(stored.config)
            if own in tables and stored.status != "diverged":
                lines.append(
                    {
                        "run": run,
                        "cell": own,
                        "tables": tuple(sorted(tables[own])),
                        **numbers(stored.rows, stored.config.sts.aggregate),
                    }
                )
    return pd.DataFrame(lines).dropna(subset=["score"]).reset_index(drop=True)


def correlations(cells: Sequence[np.ndarray], in_table: np.ndarray) -> np.ndarray:
    """Each measure's Spearman correlation with the score: over cells, within tables and cells; (3, measures).

    cells: of each cell its runs, (seeds, 1 + measures), the score first; in_table: (cells, tables).
    """
    means = np.stack([runs.mean(0) for runs in cells])
    apart = np.concatenate([runs - runs.mean(0) for runs in cells if len(runs) > 1])
    tables = [means[members] for members in in_table.T if members.sum() >= LEAST_CELLS]
    over, within, seeds = _spearman(means), [_spearman(part) for part in tables], _spearman(apart)
    return np.stack([over, np.nanmean(within, axis=0) if within else np.full_like(over, np.nan), seeds])


def _spearman(lines: np.ndarray) -> np.ndarray:
    """The correlation of each further column with the first, over the lines that have both."""
    found = np.full(lines.shape[1] - 1, np.nan)
    for place in range(1, lines.shape[1]):
        pairs = lines[:, [0, place]]
        pairs = pairs[np.isfinite(pairs).all(1)]
        if len(pairs) >= LEAST_CELLS and (np.ptp(pairs, axis=0) > 0).all():
            found[place - 1] = np.corrcoef(stats.rankdata(pairs, axis=0), rowvar=False)[0, 1]
    return found


def table(runs: pd.DataFrame, resamples: int = RESAMPLES) -> pd.DataFrame:
    """A line a measure: each correlation with its interval, and how many runs and cells have the measure."""
    groups = [group for _, group in runs.groupby("cell")]
    cells = [group[["score", *MEASURES]].to_numpy(dtype=float) for group in groups]
    names = sorted({name for group in groups for name in group["tables"].iloc[0]})
    in_table = np.array([[name in group["tables"].iloc[0] for name in names] for group in groups])
    generator, drawn = np.random.default_rng(0), []
    with warnings.catch_warnings(action="ignore"):  # of a table whose cells are one cell, drawn several times
        here = correlations(cells, in_table)
        for _ in range(resamples):
            chosen = generator.integers(len(cells), size=len(cells))
            sample = [
                cells[place][generator.integers(len(cells[place]), size=len(cells[place]))]
                for place in chosen
            ]
            drawn.append(correlations(sample, in_table[chosen]))
        low, high = np.nanpercentile(np.array(drawn), [2.5, 97.5], axis=0)
    lines = []
    for place, measure in enumerate(MEASURES):
        held = runs.dropna(subset=[measure])
        line: dict[str, object] = {"measure": measure, "runs": len(held), "cells": held["cell"].nunique()}
        for kind, name in enumerate(KINDS):
            line |= {
                name: here[kind, place],
                f"{name}, low": low[kind, place],
                f"{name}, high": high[kind, place],
            }
        lines.append(line)
    return pd.DataFrame(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.effective_rank", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--scale", choices=SCALES, default="mini")
    parser.add_argument("--results-dir", type=Path, default=HOME / "results")
    parser.add_argument("--csv", type=Path, help="write the table there, too")
    options = parser.parse_args(argv)
    runs = gathered(Store(options.results_dir, HOME / "results" / "published"), options.scale)
    found = table(runs)
    print(
        f"{len(runs)} runs of {runs['cell'].nunique()} cells at scale {options.scale}: "
        "Spearman's correlation with the average of the tests"
    )
    for line in found.to_dict("records"):
        parts = (
            f"{name} {line[name]:+.2f} [{line[f'{name}, low']:+.2f}, {line[f'{name}, high']:+.2f}]"
            for name in KINDS
        )
        print(f"{line['measure']:<18}", *parts, sep="  ")
    if options.csv is not None:
        found.to_csv(options.csv, index=False, float_format="%.4f")
    return 0


if __name__ == "__main__":
    sys.exit(main())
