"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jinja2.utils import markupsafe  # what jinja2 escapes with

from core.report import frames, prospects
from core.report.contrasts import Readings
from core.report.tables import grid, marks, md, signed
from core.report.verdicts import Judged
from core.report.words import MARKS, READING, of_runs, reading
from core.spec.errors import counted
from core.spec.fields import explanations
from core.spec.run import RunConfig
from core.spec.scale import PAPER
from core.spec.study import Study

TEMPLATES = Path(__file__).with_name("templates")
HOME = Path(__file__).resolve().parents[2]
COLUMNS = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
DEFAULT = "paper"  # the profile of the table of claims
TOO_WIDE = 30.0  # points: a wider interval says that there are too few seeds
FIRST_SEEDS = 5  # of a study at the papers' scale, for its cost
CSV_FILES = (
    "claims.csv", "overview.csv", "comparability.csv", "environment.csv",
)  # fmt: skip
DOCS = ("README.md", "docs/using.md", "docs/findings.md", "docs/method.md")
ENDINGS = {"CSV": ".csv", "runs": "_runs.csv", "curves": "_curves.csv", "Markdown": ".md", "LaTeX": ".tex"}
Results = Mapping[tuple[str, str], Sequence[Judged]]  # every study, by scale and profile


def page_files(
    studies: Sequence[Study],
    results: Results,
    folder: Path,
    figures: Path,
    seconds: Callable[[RunConfig], float],
) -> dict[str, str]:
    """Every file of the page by its name in `folder`: index.html, README.md and the CSV files.

    `figures` is where the figures lie, `seconds` what a run at the papers' scale takes. Links are to files
    that are there.
    """
    claims = pd.concat(map(frames.claim_frame, results.values()), ignore_index=True)
    every = [result for found in results.values() for result in found]
    costs = {
        (result.study.name, result.profile): prospects.of_study(result, seconds)
        for result in every
        if result.scale.name == PAPER.name
    }
    for row in claims[(claims["scale"] == PAPER.name) & (claims["reason"] == "")].itertuples():
        words = [cost.words for cost in costs[row.study, row.profile] if cost.claim == row.claim]
        claims.loc[row.Index, "reason"] = "".join(words)
    begun = [[result for result in found if result.begun] for found in results.values()]
    made = {"claims.csv": claims} | {
        name: pd.concat(map(frame, found), ignore_index=True)
        for name, frame, found in (
            ("overview.csv", frames.overview_frame, results.values()),
            ("comparability.csv", frames.check_frame, results.values()),
            ("environment.csv", frames.environment_frame, begun),
        )
    }
    shown = _shown(claims)
    order = sorted(results, key=lambda key: list(COLUMNS).index(key[0]))
    sections = []
    for study in studies:
        mine = [result for key in order for result in results[key] if result.study.name == study.name]
        cards = _cards(study, shown[shown["study"] == study.name])
        at_paper = [result for result in mine if (result.scale.name, result.profile) == (PAPER.name, DEFAULT)]
        cost = _cost(at_paper[0], costs[study.name, DEFAULT], seconds) if at_paper else ""
        axes = [text for axis in study.axes for text in (axis.name, axis.title)]
        sections.append({
            "study": study, "cards": cards, "summary": _summary(cards, cost),
            "tables": [
                table for result in mine
                if result.begun and (table := _table(result, folder, figures))["files"]
            ],
            "words": " ".join((study.paper_name, study.title, study.name, study.caption, *axes)),
        })  # fmt: skip
    names = ("mtd", "uniformity", "rank")
    scatters = {
        f"{COLUMNS[scale]}, profile {profile}": _links(
            {name: figures / scale / profile / f"{name}.png" for name in names}, folder
        )
        for scale, profile in order
    }
    given = {
        "papers": list({study.paper: study.source for study in studies}.values()),
        "sections": sections,
        "columns": COLUMNS,
        "frames": {
            "Runs and hours": made["overview.csv"],
            "Environment of the runs": made["environment.csv"],
        },
        "csv_files": CSV_FILES,
        "scatters": scatters,
        "lede": _lede(claims, [result for result in every if result.profile == DEFAULT]),
        "links": _links({name: HOME / name for name in DOCS}, folder),
        "older": _links({"archive": folder / "archive" / "README.md"}, folder).get("archive", ""),
        "style": (TEMPLATES / "page.css").read_text(encoding="utf-8"),
        "script": (TEMPLATES / "page.js").read_text(encoding="utf-8"),
    }  # fmt: skip
    pages = "index.html", "README.md"
    texts = {name: _templates().get_template(f"{name}.jinja").render(given) for name in pages}
    return texts | {name: frames.csv_text(made[name], digits=6) for name in CSV_FILES}


def _shown(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims as cards show them, English first; profiles with the same numbers share a row."""

    def estimate(row) -> str:
        if row.unit == "points" and row.ci95_high - row.ci95_low > TOO_WIDE:
            return f"{counted(row.n, 'seed')}: too few"
        interval = f" [{signed(row.ci95_low)}, {signed(row.ci95_high)}]" if np.isfinite(row.ci95_low) else ""
        return f"{signed(row.estimate)} {row.unit}{interval}" if row.n else ""

    def tested(row) -> str:
        return f"{signed(row.tested_low)} to {signed(row.tested_high)}" if np.isfinite(row.tested_low) else ""

    rows = list(claims.itertuples())
    shown = claims.assign(estimate=list(map(estimate, rows)), tested=list(map(tested, rows)))
    shown = shown.sort_values("scale", key=lambda scale: scale.map(list(COLUMNS).index), kind="stable")
    alike = ["study", "claim", "scale", "verdict", "reason", "estimate", "tested", "n"]
    each = {"profile": list, "comparison": "first", "printed": "first", "unit": "first"}
    return shown.groupby(alike, sort=False, as_index=False).agg(each)


def _cards(study: Study, shown: pd.DataFrame) -> list[dict]:
    """The claims of a study, each with its rows, and by scale the row of the table's profile."""
    cards = []
    for claim in study.claims:
        rows = shown[shown["claim"] == claim.key].to_dict("records")
        at = {row["scale"]: row for row in rows if DEFAULT in row["profile"]}
        first = rows[0]
        printed = f" ({signed(first['printed'])} {first['unit']})" if np.isfinite(first["printed"]) else ""
        cards.append(
            {"claim": claim, "rows": rows, "at": at, "printed": printed, "comparison": first["comparison"]}
        )
    return cards


def _summary(cards: Sequence[dict], cost: str) -> dict[str, str]:
    """A study in a few words for each column: "2 undecided (3 seeds), 4 not run"."""
    said = {}
    for scale, name in COLUMNS.items():
        rows = pd.DataFrame([card["at"][scale] for card in cards if scale in card["at"]])
        if scale == PAPER.name and not (len(rows) and rows["n"].any()):
            said[name] = cost
        elif len(rows):
            counts = rows["verdict"].value_counts(sort=False)
            most = rows[rows["verdict"] == "undecided"]["n"].max()
            few = {"undecided": f" ({counted(most, 'seed')})"}
            said[name] = ", ".join(f"{n} {verdict}{few.get(verdict, '')}" for verdict, n in counts.items())
    return said


def _cost(result: Judged, costs: Sequence, seconds: Callable[[RunConfig], float]) -> str:
    """What a study would take at the papers' scale."""
    cells = {cell.runs[0].run_id: cell.cell for cell in result.cells if cell.runs}
    if costs or not cells:
        return prospects.summary(costs) if costs else "cannot be run"
    hours = sum(seconds(result.setup.config(result.study, cell, 0)) for cell in cells.values()) / 3600
    runs = f"{FIRST_SEEDS} seeds are {FIRST_SEEDS * len(cells)} runs"
    return f"{runs}, {FIRST_SEEDS * hours:,.1f} H100 hours"


def _table(result: Judged, folder: Path, figures: Path) -> dict:
    """A study's table at one scale and profile, with its figures and the files beside it; a table that has
    not been drawn has no file and is not shown."""
    scale, profile, name = result.scale.name, result.profile, result.study.name
    table = grid(result.study, frames.cell_frame(result))
    files = {kind: folder / scale / profile / f"{name}{ending}" for kind, ending in ENDINGS.items()}
    pictures = {end: figures / scale / profile / f"{name}{end}.png" for end in ("", "-differences")}
    return {
        "scale": scale, "profile": profile, "name": f"{COLUMNS[scale]}, profile {profile}", "grid": table,
        "notes": (reading(result), *marks(table), *of_runs(result)), "figures": _links(pictures, folder),
        "files": _links(files, folder),
    }  # fmt: skip


def _links(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """The paths of files that are there, as links from a page in `folder`, with no letter that is syntax."""
    there = {name: path.resolve() for name, path in paths.items() if path.is_file()}
    return {
        name: quote(Path(os.path.relpath(path, folder.resolve())).as_posix()) for name, path in there.items()
    }


def _lede(claims: pd.DataFrame, results: Sequence[Judged]) -> str:
    """The page's first sentences: what has been tested at all, and what would settle more."""
    said = []
    if not (claims[claims["scale"] == PAPER.name]["n"] > 0).any():
        said.append("No claim has been tested at the papers’ own scale yet.")
    for scale, where in (("mini", "On English with a small encoder"), ("demo", "In a made-up language")):
        counts = claims[(claims["scale"] == scale) & (claims["profile"] == DEFAULT)]["verdict"].value_counts()
        if len(counts):
            said.append(f"{where}: {', '.join(f'{counts[one]} {one}' for one in MARKS if one in counts)}.")
        more = [seeds for one in results if one.scale.name == scale == "mini" for seeds in _more_seeds(one)]
        if more:
            which = f"{len(more)} of the {counted(counts['undecided'], 'undecided claim')}"
            said.append(f"Up to {max(more)} more seeds would settle {which}, each with a chance of 80 %.")
    return " ".join(said)


def _more_seeds(result: Judged) -> list[int]:
    """For each undecided claim that a check can settle: the seeds to there, by the runs' mean and scatter."""
    readings, more = Readings(result), []
    for verdict in result.verdicts:
        if verdict.outcome == "undecided":
            chances = prospects.chances(verdict.claim, readings, len(result.study.claims))
            enough = [seeds for seeds, chance in chances.items() if chance >= prospects.POWER]
            n = min(map(readings.seeds, verdict.claim.predicate.contrasts()))
            more += [min(enough) - n] if enough else []
    return more


@cache
def _templates() -> jinja2.Environment:
    """Templates that escape everything from data."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "markdown": lambda text: md(str(text)), "explained": explained}
    made.globals |= {"MARKS": MARKS, "READING": READING}
    return made


def explained(text: str) -> markupsafe.Markup:
    """Text with each D-number's meaning as its title."""
    known, escaped = explanations(), str(markupsafe.escape(text))
    abbreviation = markupsafe.Markup('<abbr title="{}">{}</abbr>')
    return markupsafe.Markup(
        re.sub(
            r"\bD\d+\b",
            lambda found: abbreviation.format(known[found[0]], found[0]) if found[0] in known else found[0],
            escaped,
        )
    )


def slug(text: str) -> str:
    """Text as a part of a link."""
    return "-".join("".join(c if c.isalnum() or c in "._-" else " " for c in text).split())
