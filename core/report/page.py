"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jinja2.utils import markupsafe  # what jinja2 escapes with

from core.report import frames, prospects
from core.report.contrasts import Readings
from core.report.tables import Grid, grid, marks, md, signed
from core.report.verdicts import Judged
from core.report.words import MARKS, READING, of_runs, reading
from core.spec.claim import Claim
from core.spec.errors import counted
from core.spec.fields import explanations
from core.spec.run import RunConfig
from core.spec.scale import PAPER
from core.spec.study import Study

TEMPLATES = Path(__file__).with_name("templates")
HOME = Path(__file__).resolve().parents[2]
COLUMNS = {
    "mini": "English",
    "demo": "made-up language",
    "paper": "paper scale",
}  # by scale, as cards have them
DEFAULT = "paper"  # the profile of the table of claims
TOO_WIDE = 30.0  # points: a wider interval says that there are too few seeds
FIRST_SEEDS = 5  # of a study at the papers' scale, for its cost
DEVIATION = re.compile(r"\bD\d+\b")
CSV_FILES = (
    "claims.csv",
    "seeds.csv",
    "overview.csv",
    "comparability.csv",
    "not_tested.csv",
    "environment.csv",
)
PRINTED = {
    "holds": "The claim holds on the paper’s printed numbers",
    "fails": "The claim fails on the paper’s printed numbers",
    "not printed": "The paper prints no number for it",
}
DOCS = ("README.md", "docs/using.md", "docs/findings.md", "docs/method.md")
Results = Mapping[tuple[str, str], Sequence[Judged]]  # every study, by scale and profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What runs say of a claim at one scale, under one or several profiles that agree to the digit."""

    scale: str
    profiles: tuple[str, ...]
    verdict: str
    estimate: str
    tested: str
    reason: str
    seeds: int
    chance: str = ""

    @property
    def column(self) -> str:
        """Scale as the page heads it."""
        return COLUMNS.get(self.scale, self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A claim with its standings, those of English first."""

    claim: Claim
    printed: str
    comparison: str
    standings: tuple[Standing, ...]

    @property
    def anchor(self) -> str:
        """Its permanent link on the page."""
        return slug(self.claim.key)

    def at(self, scale: str) -> Standing | None:
        """The standing under the table's profile."""
        return next((one for one in self.standings if one.scale == scale and DEFAULT in one.profiles), None)

    def disagreeing(self, scale: str) -> str:
        """Other profiles with another verdict, where both have a run."""
        own = self.at(scale)
        found = [one for one in self.standings if one.scale == scale and own and one.seeds and own.seeds]
        return "; ".join(
            f"{', '.join(one.profiles)}: {one.verdict}" for one in found if own and one.verdict != own.verdict
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A study's table at one scale and profile, with its figures and the files beside it that are there."""

    result: Judged
    grid: Grid
    notes: Sequence[str]
    figures: Sequence[str]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A study on the page."""

    study: Study
    summary: Sequence[str]
    cards: Sequence[Card]
    tables: Sequence[Table]

    @property
    def words(self) -> str:
        """What a search finds the study by."""
        study = self.study
        axes = [text for axis in study.axes for text in (axis.name, axis.title)]
        return " ".join((study.paper_name, study.title, study.name, study.caption, *axes))


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
    frame = pd.concat([frames.claim_frame(found) for found in results.values()], ignore_index=True)
    every = [result for found in results.values() for result in found if result.scale.name == PAPER.name]
    by_study = {(one.study.name, one.profile): prospects.of_study(one, seconds) for one in every}
    for row in frame[(frame["scale"] == PAPER.name) & (frame["reason"] == "")].itertuples():
        costs = by_study.get((row.study, row.profile), ())
        frame.loc[row.Index, "reason"] = next((one.words for one in costs if one.claim == row.claim), "")
    begun = [
        [one for one in found if any(run.rows is not None for run in one.runs)] for found in results.values()
    ]
    made = {
        "claims.csv": frame,
        "seeds.csv": _joined(map(frames.seed_frame, begun)),
        "overview.csv": _joined(map(frames.overview_frame, results.values())),
        "comparability.csv": _joined(map(frames.check_frame, results.values())),
        "not_tested.csv": _joined(map(frames.untested_frame, begun)),
        "environment.csv": _joined(map(frames.environment_frame, begun)),
    }
    sections = [_section(study, results, frame, folder, figures, seconds) for study in studies]
    papers = list({one.study.paper: one.study.source for one in sections}.values())
    given = {
        "papers": papers,
        "sections": sections,
        "columns": COLUMNS,
        "overview": made["overview.csv"],
        "failed": made["not_tested.csv"],
        "environment": made["environment.csv"],
        "csv_files": CSV_FILES,
        "scatters": _scatters(results, folder, figures),
        "lede": _lede(frame),
        "links": {name: href for name in DOCS if (href := _link(HOME / name, folder))},
        "older": _link(folder / "archive" / "README.md", folder),
        "total": sum(len(one.cards) for one in sections),
    }  # fmt: skip
    texts = {
        name: _templates().get_template(f"{name}.jinja").render(given) for name in ("index.html", "README.md")
    }
    return texts | {name: frames.csv_text(made[name], digits=6) for name in CSV_FILES}


def _joined(made) -> pd.DataFrame:
    return pd.concat(made, ignore_index=True)


def _section(
    study: Study, results: Results, claims: pd.DataFrame, folder: Path, figures: Path, seconds: Callable
) -> Section:
    by_key = {
        key: next(one for one in found if one.study.name == study.name) for key, found in results.items()
    }
    mine = claims[claims["study"] == study.name]
    order = [key for scale in COLUMNS for key in by_key if key[0] == scale]
    order += [key for key in by_key if key not in order]
    cards = [_card(claim, mine[mine["claim"] == claim.key], by_key, order) for claim in study.claims]
    begun = [key for key in order if any(run.rows is not None for run in by_key[key].runs)]
    tables = [_table(by_key[key], folder, figures) for key in begun]
    return Section(study=study, cards=cards, tables=tables, summary=_summary(cards, by_key, seconds))


def _card(
    claim: Claim, rows: pd.DataFrame, results: Mapping[tuple[str, str], Judged], order: Sequence
) -> Card:
    """A claim's card; profiles with the same numbers share a line."""
    alike: dict[tuple, list[tuple[str, Any]]] = {}
    for scale, profile in order:
        for row in rows[(rows["scale"] == scale) & (rows["profile"] == profile)].itertuples():
            key = (scale, row.verdict, row.reason, str(row.estimate), str(row.tested_low), row.n)
            alike.setdefault(key, []).append((profile, row))
    standings = tuple(_standing(key[0], found, results) for key, found in alike.items())
    first = next((row for found in alike.values() for _, row in found), None)
    printed = PRINTED[claim.printed]
    if first is not None and np.isfinite(first.printed):
        printed += f" ({signed(first.printed)} {first.unit})".replace(" )", ")")
    comparison = "" if first is None else first.comparison
    return Card(claim=claim, printed=printed, comparison=comparison, standings=standings)


def _standing(scale: str, found: Sequence[tuple], results: Mapping[tuple[str, str], Judged]) -> Standing:
    row = found[0][1]
    estimate = tested = chance = ""
    if row.n:
        estimate = f"{signed(row.estimate)} {row.unit}".strip()
        if np.isfinite(row.ci95_low):
            estimate += f" [{signed(row.ci95_low)}, {signed(row.ci95_high)}]"
            if row.unit == "points" and row.ci95_high - row.ci95_low > TOO_WIDE:
                estimate = f"{counted(row.n, 'seed')}: too few"
        if np.isfinite(row.tested_low):
            tested = f"{signed(row.tested_low)} to {signed(row.tested_high)}"
        if row.verdict == "undecided" and scale == "mini":
            chance = _chance(row.claim, results[scale, found[0][0]])
    profiles = tuple(profile for profile, _ in found)
    return Standing(scale=scale, profiles=profiles, verdict=row.verdict, estimate=estimate, tested=tested,
                    reason=row.reason, seeds=row.n, chance=chance)  # fmt: skip


def _chance(key: str, result: Judged) -> str:
    """How likely more seeds settle a claim, and what they cost, in a sentence."""
    verdict = next(one for one in result.verdicts if one.claim.key == key)
    readings = Readings(result)
    by_seeds = prospects.chances(verdict.claim, readings, len(result.study.claims))
    if not by_seeds:
        return ""
    n = readings.seeds(verdict.contrast)
    cells = result.study.cells_of(verdict.claim.predicate.contrasts())
    took = [frames.seconds(run) for run in result.runs if run.rows is not None]
    hours = {seeds: (seeds - n) * len(cells) * float(np.mean(took)) / 3600 for seeds in by_seeds}
    sure = {seeds: f"{chance:.0%}" if chance <= 0.95 else "over 95%" for seeds, chance in by_seeds.items()}
    said = [f"{sure[seeds]} at {seeds} seeds ({hours[seeds]:.1f} hours)" for seeds in list(by_seeds)[:3]]
    return f"Chance that more seeds settle it: {', '.join(said)}.".replace("%", " %")


def _summary(
    cards: Sequence[Card], results: Mapping[tuple[str, str], Judged], seconds: Callable
) -> list[str]:
    """A study in a few words for each scale: "English: 2 undecided (3 seeds), 4 not run"."""
    said = []
    for scale, name in COLUMNS.items():
        result = results.get((scale, DEFAULT))
        if result is None:
            continue
        standings = [one for card in cards if (one := card.at(scale))]
        if scale == "paper" and not any(one.seeds for one in standings):
            said.append(f"{name}: {_cost(result, seconds)}")
        elif standings and all(one.verdict == "no verdict" for one in standings):
            said.append(f"{name}: {'too short' if result.scale.generated else 'not able'} to judge")
        elif standings and not any(one.seeds for one in standings):
            said.append(f"{name}: not run")
        elif standings:
            counts = Counter(one.verdict for one in standings)
            seeds = [one.seeds for one in standings if one.verdict == "undecided"]
            few = {"undecided": f" ({counted(max(seeds), 'seed')})"} if seeds else {}
            counts_said = [f"{n} {verdict}{few.get(verdict, '')}" for verdict, n in counts.items()]
            said.append(f"{name}: {', '.join(counts_said)}")
    return said


def _cost(result: Judged, seconds: Callable[[RunConfig], float]) -> str:
    """What a study would take at the papers' scale."""
    configs = {
        one.runs[0].run_id: result.setup.config(result.study, one.cell, 0)
        for one in result.cells
        if one.runs
    }
    if not configs:
        return "cannot be run"
    if costs := prospects.of_study(result, seconds):
        return prospects.summary(costs)
    hours = FIRST_SEEDS * sum(map(seconds, configs.values())) / 3600
    return (
        f"{FIRST_SEEDS} seeds are {FIRST_SEEDS * len(configs)} runs, {hours:,.{int(hours < 10)}f} H100 hours"
    )


def _table(result: Judged, folder: Path, figures: Path) -> Table:
    cells, here = frames.cell_frame(result), f"{result.scale.name}/{result.profile}/{result.study.name}"
    table = grid(result.study, cells)
    drawn = [_link(figures / f"{here}{ending}.png", folder) for ending in ("", "-differences")]
    endings = {
        "CSV": ".csv",
        "runs": "_runs.csv",
        "curves": "_curves.csv",
        "Markdown": ".md",
        "LaTeX": ".tex",
    }
    files = {name: _link(folder / f"{here}{ending}", folder) for name, ending in endings.items()}
    notes = (reading(result), *marks(table), *of_runs(result))
    there = {name: href for name, href in files.items() if href}
    return Table(
        result=result, grid=table, notes=notes, figures=[href for href in drawn if href], files=there
    )


def _scatters(results: Results, folder: Path, figures: Path) -> dict[str, list[str]]:
    """The figures over all runs, by scale and profile."""
    found = {}
    for scale, profile in results:
        drawn = [
            _link(figures / scale / profile / f"{name}.png", folder) for name in ("mtd", "uniformity", "rank")
        ]
        found[f"{COLUMNS.get(scale, scale)}, profile {profile}"] = [href for href in drawn if href]
    return {name: hrefs for name, hrefs in found.items() if hrefs}


def _link(path: Path, folder: Path) -> str:
    """A path as a link from a page in `folder`, with no letter that is syntax; "" if no file is there."""
    return quote(Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()) if path.is_file() else ""


def _lede(claims: pd.DataFrame) -> str:
    """The page's first sentences: what has been tested at all."""
    said = []
    if not (claims[claims["scale"] == "paper"]["n"] > 0).any():
        said.append("No claim has been tested at the papers’ own scale yet.")
    for scale in ("mini", "demo"):
        mine = claims[(claims["scale"] == scale) & (claims["profile"] == DEFAULT)]
        counts = Counter(mine["verdict"])
        if len(mine):
            where = "On English with a small encoder" if scale == "mini" else "In a made-up language"
            said.append(f"{where}: {', '.join(f'{counts[one]} {one}' for one in MARKS if counts[one])}.")
    return " ".join(said)


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
    for name, file in (("style", "page.css"), ("script", "page.js")):
        made.globals[name] = markupsafe.Markup((TEMPLATES / file).read_text(encoding="utf-8"))
    return made


def explained(text: str) -> markupsafe.Markup:
    """Text with each D-number's meaning as its title."""
    known = explanations()

    def abbreviation(found: re.Match) -> str:
        meaning = markupsafe.escape(known.get(found[0], ""))
        return f'<abbr title="{meaning}">{found[0]}</abbr>' if meaning else found[0]

    return markupsafe.Markup(DEVIATION.sub(abbreviation, str(markupsafe.escape(text))))


def slug(text: str) -> str:
    """Text as a part of a link."""
    return "-".join("".join(c if c.isalnum() or c in "._-" else " " for c in text).split())
