"""The null that every table is read against: how far its cells would spread if nothing but the seed differed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.report.cells import StudyResult
from core.report.notes import title

NOISE = "noise"  # the study of one configuration under many seeds
LEAST_RUNS = 10  # fewer runs of one configuration say too little of its scatter
DRAWS = 10_000
BLOCK = 500


class Spread(NamedTuple):
    """Range of a table's cell means, what seeds alone give (median, and where 95 % lie), and p of a range so large."""

    observed: float
    median: float
    low: float
    high: float
    p: float


def spread(means: Sequence[float], seeds: int, noise: Sequence[float], generator: np.random.Generator) -> Spread:
    """max - min of `means`, each over so many seeds, against tables drawn (with replacement) from the runs of one configuration.

    p is (1 + tables at least as wide) / (1 + tables). The draws' own scatter is that of the sample, so it is scaled by
    sqrt(n / (n - 1)) to that of the runs.
    """
    noise = np.asarray(noise, dtype=float)
    noise = (noise - noise.mean()) * np.sqrt(noise.size / (noise.size - 1))
    ranges = np.concatenate([
        np.ptp(generator.choice(noise, (BLOCK, len(means), seeds)).mean(2), axis=1) for _ in range(DRAWS // BLOCK)
    ])  # (draws,)
    observed = float(np.ptp(np.asarray(means, dtype=float)))
    low, median, high = np.quantile(ranges, [0.025, 0.5, 0.975])
    return Spread(observed, float(median), float(low), float(high), float((1 + (ranges >= observed).sum()) / (1 + DRAWS)))


def sentences(results: Sequence[StudyResult]) -> list[str]:
    """What seeds alone do to one configuration, and to each table of the same method and metric; nothing without the noise study."""
    source = next((result for result in results if result.study.name == NOISE), None)
    values = [run.value for run in source.cells[0].runs if run.value is not None] if source else []
    if len(values) < LEAST_RUNS:
        return []
    low, high = min(values), max(values)
    said = [
        f"One configuration under {len(values)} seeds scores {np.mean(values):.2f} with a standard deviation of "
        f"{np.std(values, ddof=1):.2f}; its best and worst run differ by {high - low:.2f}."
    ]
    for result in results:
        study = result.study
        if result is source or study.method != source.study.method or study.metric != source.study.metric or study.paper == "ours":
            continue
        cells = [c for c in result.cells if c.metric == study.metric and c.estimate.n == result.seeds]
        if len(cells) < 3:
            continue
        found = spread([c.estimate.mean for c in cells], result.seeds, values, np.random.default_rng(len(cells)))
        verdict = "more than seeds explain" if found.p < 0.05 else "no more than seeds explain"
        said.append(
            f"{title(result)}: its {len(cells)} cells, each over {result.seeds} seeds, range over {found.observed:.2f}; seeds alone give "
            f"{found.median:.2f} [{found.low:.2f}, {found.high:.2f}] (p = {found.p:.2g}): {verdict}."
        )
    return said
