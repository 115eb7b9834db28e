"""Tables of numbers in README and docs/findings.md, and the published scores that they are held to."""

import re
from functools import cache

import pandas as pd
from places import ROOT
from scipy import stats

from core.data import sources
from core.report import quantities
from core.report.cells import gather
from core.spec.conditions import Edition
from core.spec.scale import MINI
from core.spec.table import Metric
from core.store.store import Store
from studies import find

PUBLISHED = ROOT / "results" / "published"
README, FINDINGS = ((ROOT / name).read_text() for name in ("README.md", "docs/findings.md"))
ENTRY = re.compile(r"(?P<mean>[+−]?\d+\.\d+)(?: ± (?P<half>\d+\.\d+))? \((?P<n>\d+)(?: seeds)?\)")


def rows(text: str, first: str) -> dict[str, list[str]]:
    """The rows of the Markdown table whose header's first cell is this, by their own first cell."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith(f"| {first} |"))
    next(lines)
    table = {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, *entries = (cell.strip() for cell in line.strip("|").split("|"))
        table[name] = entries
    return table


def read(entry: str) -> tuple[float, float | None, int]:
    """Mean, half of its interval and seeds of an entry such as "−0.5 ± 0.3 (12)"."""
    found = ENTRY.fullmatch(entry)
    assert found, entry
    return float(found["mean"].replace("−", "-")), float(found["half"]) if found["half"] else None, int(found["n"])


def agrees(entry: str, mean: float, low: float, n: int) -> bool:
    """Whether an entry of one decimal is this mean, this interval (if it shows one) and this number of seeds."""
    said, half, seeds = read(entry)
    return abs(said - mean) <= 0.0501 and seeds == n and (half is None or abs(half - (mean - low)) <= 0.0501)


@cache
def scores(study: str, factor: float, task: str, profile: str = "paper") -> dict[str, pd.Series]:
    """Scores by seed of each row of a study, by its labels but the task's, at so many times the rate of 3e-4, from the published runs alone."""
    store = Store(ROOT / "none", PUBLISHED)
    edition = Edition(profile=profile, scale=MINI, sources=sources.recorded_sources(MINI, store).sources, seeds=3)
    rates = {1 / 3: 0, 3.0: 1}
    wanted = find(study) if factor == 1.0 else edition.varied(find(study), (), ("train.learning_rate=1e-4,9e-4",))
    result = gather(wanted, edition, store).parts[rates.get(factor, 0)]
    metric = Metric(task=task, title="")
    return {
        "/".join(
            label
            for axis, label in zip(result.study.axes, cell.cell.labels, strict=True)
            if axis.name not in ("task", "train.learning_rate")
        ): pd.Series(
            {run.seed: quantities.value(run.rows, metric, result.aggregate, MINI) for run in cell.runs if run.rows is not None}, dtype=float
        )
        for cell in result.cells
    }


def says(entry: str, values: pd.Series) -> bool:
    """Whether an entry is the mean of these values, with half of its 95 % interval."""
    half = stats.t.isf(0.025, len(values) - 1) * values.std() / len(values) ** 0.5
    return agrees(entry, values.mean(), values.mean() - half, len(values))
