"""README's table of findings and its times, from the published CSV files.

python -m tools.readme
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from core.config.methods import base
from core.errors import HOME, UserError
from core.formatting import counted, spoken
from core.report import frames
from core.report.claims import comparison_words, flags, lists
from core.report.numbers import interval, signed, significance
from core.report.tables import md
from core.report.words import outcome_words
from core.runner.estimate import gpu_seconds
from core.store.files import write_changed
from core.store.store import Store

PAGES = "results/published/mini/paper"  # whose Markdown a forge shows; the page it does not
# columns that may be empty
TEXTS = ("points", "within_margin", "right", "different", "flags")
RESULTS = re.compile(r"<!-- results (.*?) -->\n.*?<!-- end -->", re.DOTALL)
METHODS = ("simcse", "esimcse", "mocose")
CLAIM_FILES = ("claims", "comparisons")  # with a row a claim, and a row a comparison


def fill(file: Path, published: Path) -> None:
    """Write rows and times into a README. Raises UserError for a claim without a row."""
    text = filled(file.read_text(encoding="utf-8"), published, times(published))
    write_changed(file, text.encode())


def claims_of(readme: str) -> list[str]:
    """The keys of the claims that a README lists."""
    keys = " ".join(marks[1] for marks in RESULTS.finditer(readme)).split()
    return [key.replace("_", " ") for key in keys]


def filled(readme: str, folder: Path, times: Mapping[str, str]) -> str:
    """A README with claims' rows and times between its marks: rows as the CSV files in `folder`
    have them at scale mini and profile paper, and how long a run takes by scale.

    `<!-- results E7.1 T3.2 -->` lists claims, `<!-- time demo -->` names a scale; `<!-- end -->`
    ends both.
    """
    claims, comparisons = (_published(folder / f"{name}.csv") for name in CLAIM_FILES)

    def table(marks: re.Match) -> str:
        lines = ["| claim | printed | here | verdict |", "|---|--:|--:|---|"]
        for key in marks[1].split():
            name = key.replace("_", " ")
            row = next(claims[claims["claim"] == name].itertuples(), None)
            if row is None:
                raise UserError(
                    f"README lists claim {name}, which has no published row at scale mini; leave "
                    "it out there."
                )
            of_claim = comparisons[comparisons["claim"] == name]
            lines += _readme_rows(row, list(of_claim.itertuples()))
        return "\n".join([f"<!-- results {marks[1]} -->", *lines, "<!-- end -->"])

    readme = RESULTS.sub(table, readme)
    return re.sub(
        r"(<!-- time (\w+) -->)(.*?)(<!-- end -->)",
        lambda mark: mark[1] + times.get(mark[2], mark[3]) + mark[4],
        readme,
    )


def _published(file: Path) -> pd.DataFrame:
    """The rows of a CSV file at scale mini and profile paper."""
    rows = pd.read_csv(file, dtype=dict.fromkeys(TEXTS, str))
    rows = rows[(rows["scale"] == "mini") & (rows["profile"] == "paper")]
    return rows.fillna({name: "" for name in TEXTS if name in rows})


def _readme_rows(row, comparisons: list) -> list[str]:
    """The rows of a claim in README's table: the claim, and below it its comparisons, if it has
    several."""
    verdict = outcome_words(row.verdict, row.points, row.within_margin == "yes")
    seeds = f" ({counted(int(row.n), 'seed')})" if row.n else ""
    marks = "".join(f" {flag}" for flag in flags(row))
    claim = f"[{row.claim}]({PAGES}/{row.study}.md) {row.text}"
    if not lists(comparisons):
        numbers = _readme_numbers(comparisons[0])
        return [f"| {claim} | {numbers} | {verdict}{seeds}{marks} |"]
    lines = [f"| {claim} | | | {verdict}{seeds}{marks} |"]
    for comparison in comparisons:
        words = md(comparison_words(comparison))
        lines.append(f"| · {words} | {_readme_numbers(comparison)} | {comparison.points} |")
    return lines


def _readme_numbers(row) -> str:
    """The printed number and the estimate of a comparison, as two columns."""
    printed = ""
    if np.isfinite(row.printed):
        printed = signed(row.printed)
    here = ""
    if row.n:
        mark = significance(row.different, row.tested_low)
        here = f"{signed(row.estimate)} {interval(row.ci95_low, row.ci95_high)}{mark}"
    return f"{printed} | {here}"


def times(published: Path) -> dict[str, str]:
    """How long a run takes by scale, for README: the middle 80 % of the published runs that train,
    on the device that trained most of them; at scale paper, of which no run is published, of an
    H100 by the measured rates, least and most of three methods."""
    seconds = [gpu_seconds(base(name, "paper")) for name in METHODS]
    ranges = {"paper": (min(seconds), max(seconds))}
    for scale, pack in Store(published, published).packs.items():
        by_device: dict[str, list[float | None]] = {}
        for footer in pack.footers.values():
            about = json.loads(footer["provenance"])
            if json.loads(footer["config"])["run"]["method"] in METHODS:
                by_device.setdefault(about["device"][:3], []).append(frames.seconds(about))
        usual = pd.Series(max(by_device.values(), key=len))  # the device of most of these runs
        ranges[scale] = tuple(usual.quantile([0.1, 0.9]))
    return {scale: f"{spoken(low)} to {spoken(high)}" for scale, (low, high) in ranges.items()}


if __name__ == "__main__":
    fill(HOME / "README.md", HOME / "results" / "published")
