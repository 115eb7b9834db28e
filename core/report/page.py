"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jinja2.utils import markupsafe  # what jinja2 escapes with

from core.config.fields import explanations
from core.config.scale import PAPER
from core.errors import counted, shown
from core.report import frames, overview, printed, prospects
from core.report.claims import comparison_words
from core.report.criteria import criterion
from core.report.figures import SCATTERS
from core.report.numbers import interval, signed
from core.report.tables import grid, marks, md
from core.report.verdicts import Judged, Verdict
from core.report.words import (
    READING,
    caution,
    mark,
    of_runs,
    outcome_words,
    reading,
    setting,
)
from core.study.claim import Claim
from core.study.study import Study

TEMPLATES = Path(__file__).with_name("templates")
PROJECT_HOME = Path(__file__).resolve().parents[2]
TITLE = "Which ablations hold?"  # by which a page of ours is recognised, too
SCALE_TITLES = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
DEFAULT = "paper"  # the profile of the table of claims
TOO_WIDE = 30.0  # points: a wider interval says that there are too few seeds
DOCS = ("README.md", "docs/using.md", "docs/findings.md", "docs/method.md")
ENDINGS = {
    "CSV": ".csv",
    "runs": "_runs.csv",
    "curves": "_curves.csv",
    "Markdown": ".md",
    "LaTeX": ".tex",
}
Results = Mapping[tuple[str, str], Sequence[Judged]]  # by scale and profile
Seconds = Mapping[str, overview.SecondsOf]  # that a run is expected to take, by scale


def page_files(
    studies: Sequence[Study], results: Results, folder: Path, figures: Path, seconds: Seconds
) -> dict[str, str]:
    """Every file of the page by its name in `folder`: index.html, README.md and the CSV files.

    `results` has every study. `figures` is where the figures lie, `seconds` what a run takes on a
    GPU by scale. Links are to files that are there.
    """
    claims = pd.concat(map(frames.claim_frame, results.values()), ignore_index=True)
    checks = pd.concat(map(frames.check_frame, results.values()), ignore_index=True)
    compared = pd.concat(map(frames.comparison_frame, results.values()), ignore_index=True)
    costs = _costs(results, seconds[PAPER.name])
    claims["reason"] = _reasons(claims, results, costs)
    order = sorted(results, key=lambda key: list(SCALE_TITLES).index(key[0]))

    as_shown = _shown(claims)
    sections = []
    texts = dict[str, str]()
    for study in studies:
        by_scale = {key: _of_study(study, results[key]) for key in order}
        rows = as_shown[as_shown["study"] == study.name]
        at_paper = by_scale.get((PAPER.name, DEFAULT))
        section = _study_section(study, rows, compared)
        section["prices"] = _prices(by_scale, costs.get((DEFAULT, study.name), []), seconds)
        for (scale, _), result in by_scale.items():
            if result is not None and result.begun:
                every = {key[1]: other for key, other in by_scale.items() if key[0] == scale}
                section["tables"].append(_table(result, every, folder, figures))
        # those that have been drawn
        section["tables"] = [table for table in section["tables"] if table["files"]]
        if at_paper is not None and any(cell.cell.published is not None for cell in at_paper.cells):
            texts |= printed.files(at_paper)
            section["printed"] = {
                "csv": f"printed/{study.name}.csv",
                "grid": printed.printed_table(at_paper),
            }
        sections.append(section)

    files = {"claims.csv": claims, "comparisons.csv": compared, "comparability.csv": checks}
    context = {
        "papers": list({study.paper: study.source for study in studies}.values()),
        "sections": sections,
        "csv_files": list(files),
        "columns": SCALE_TITLES,
        "names": _column_names(claims),
        "lede": overview.lede(claims[claims["profile"] == DEFAULT]),
        "legend": overview.legend_words(),
        "counts": _counts(sections),
        "settled": overview.settled_claims(sections, "mini"),
        "scatters": _scatters(order, folder, figures),
        "links": _links({name: PROJECT_HOME / name for name in DOCS}, folder),
        "older": _links({"archive": folder / "archive" / "README.md"}, folder).get("archive", ""),
        "without_commit": _lines_of(folder / "archive" / "runs_without_commit.txt"),
    }
    texts |= {name: frames.csv_text(frame, digits=6) for name, frame in files.items()}
    for name in ("index.html", "README.md"):
        texts[name] = _templates().get_template(f"{name}.jinja").render(context)
    return texts


def _costs(
    results: Results, seconds: overview.SecondsOf
) -> dict[tuple[str, str], list[prospects.Cost]]:
    """By profile and study, what settling each claim takes at the papers' scale."""
    costs = {}
    for (scale, profile), judged in results.items():
        if scale == PAPER.name:
            for result in judged:
                costs[profile, result.study.name] = prospects.of_study(result, seconds)
    return costs


def _reasons(
    claims: pd.DataFrame, results: Results, costs: Mapping[tuple[str, str], list[prospects.Cost]]
) -> list[str]:
    """Each claim's reason, else what is left to run, or what settling the claim takes."""
    words = dict[tuple[str, ...], str]()
    for (scale, profile), judged in results.items():
        for result in judged:
            key = scale, profile, result.study.name
            for verdict in result.verdicts:
                if verdict.outcome == "not run":
                    words[*key, verdict.claim.key] = _without_run(verdict)
    for (profile, study), by_claim in costs.items():
        for cost in by_claim:
            words[PAPER.name, profile, study, cost.claim] = cost.words
    reasons = []
    for row in claims.itertuples():
        place = row.scale, row.profile, row.study, row.claim
        reasons.append(row.reason or words.get(place, ""))
    return reasons


def _of_study(study: Study, results: Sequence[Judged]) -> Judged | None:
    """A study's result among these."""
    for result in results:
        if result.study.name == study.name:
            return result
    return None


def _cards(study: Study, rows: pd.DataFrame, compared: pd.DataFrame) -> list[dict]:
    """A card for each claim of a study."""
    cards = []
    for claim in study.claims:
        of_claim = rows[rows["claim"] == claim.key].to_dict("records")
        comparisons = _comparisons(compared[compared["claim"] == claim.key])
        card = _card(claim, of_claim, comparisons, overview.table_numbers_of(study))
        cards.append({**card, "decided_by": criterion(claim, study)})
    return cards


def _study_section(study: Study, rows: pd.DataFrame, compared: pd.DataFrame) -> dict:
    """A study's part of the page: its cards, its counts by scale, and what it is searched by."""
    cards = _cards(study, rows, compared)
    counts = {}
    for scale in SCALE_TITLES:
        at = [card["at"][scale] for card in cards if scale in card["at"]]
        if cards:
            lacking = len(cards) - len(at)
            counts[scale] = {"of": overview.counts(at), "lacking": lacking}
    words = [study.paper_name, study.name, study.caption]
    for axis in study.axes:
        words += [axis.name, axis.title]
    return {
        "study": study,
        "cards": cards,
        "counts": counts,
        "tables": [],
        "printed": None,
        "words": " ".join(words),
        "numbers": overview.table_numbers_of(study),
    }


def _counts(sections: Sequence[dict]) -> dict[str, list[int]]:
    """By scale, the number of claims of each kind, those that it lacks, and all."""
    totals = {}
    for scale in SCALE_TITLES:
        columns = []
        for section in sections:
            if section["counts"]:
                of = section["counts"][scale]
                columns.append([*(count.n for count in of["of"]), of["lacking"]])
        sums = [sum(column) for column in zip(*columns, strict=True)]
        if columns:
            totals[scale] = [*sums, sum(sums)]
    return totals


def _prices(
    by_scale: Mapping[tuple[str, str], Judged | None],
    costs: Sequence[prospects.Cost],
    seconds: Seconds,
) -> dict[str, str]:
    """What a study takes at the scales mini and paper."""
    prices = {"mini": "", "paper": ""}
    mini = by_scale.get(("mini", DEFAULT))
    paper = by_scale.get((PAPER.name, DEFAULT))
    if mini is not None:
        prices["mini"] = overview.at_mini(mini, seconds["mini"])
    if paper is not None:
        prices["paper"] = overview.at_paper(paper, costs, seconds[PAPER.name])
    return prices


def _lines_of(file: Path) -> int:
    """How many lines a file has; 0 without it."""
    return len(file.read_text(encoding="utf-8").split()) if file.is_file() else 0


def _column_names(claims: pd.DataFrame) -> dict[str, str]:
    """What each scale's column is called: its language, and the encoders that ran."""
    names = {}
    for scale, name in SCALE_TITLES.items():
        ran = claims[(claims["scale"] == scale) & (claims["n"] > 0)]
        encoders = ", ".join(dict.fromkeys(filter(None, ran["encoder"])))
        names[scale] = f"{name}, {encoders}" if encoders else name
    return names


def _scatters(
    keys: Sequence[tuple[str, str]], folder: Path, figures: Path
) -> dict[str, dict[str, str]]:
    """The figures over all runs, by scale and profile."""
    links = {}
    for scale, profile in keys:
        paths = {name: figures / scale / profile / f"{name}.png" for name in SCATTERS}
        links[f"{SCALE_TITLES[scale]}, profile {profile}"] = _links(paths, folder)
    return links


def _without_run(verdict: Verdict) -> str:
    """How many rows of a claim have no run, where others have one."""
    begun = dict[str, bool]()
    for compared in verdict.readings.values():
        begun |= {cell.name: cell.begun for cell in compared.cells}
    absent = list(begun.values()).count(False)
    if not 0 < absent < len(begun):
        return ""
    return f"{absent} of {len(begun)} rows have no run"


def _shown(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims as cards show them, English first; profiles with the same numbers share a row."""
    estimates = [_estimate(row) for row in claims.itertuples()]
    tested = list(map(interval, claims["tested_low"], claims["tested_high"]))
    labels = [_badge(row) for row in claims.itertuples()]
    effects = [text.replace(" points", "") for text in estimates]
    rows = claims.assign(estimate=estimates, effect=effects, tested=tested, label=labels)
    rows = rows.sort_values(
        "scale", key=lambda scale: scale.map(list(SCALE_TITLES).index), kind="stable"
    )
    alike = [
        "study",
        "claim",
        "scale",
        "verdict",
        "points",
        "reason",
        "estimate",
        "effect",
        "tested",
        "n",
    ]
    merged = {"profile": list, "rule_changed": "first", "label": "first"}
    return rows.groupby(alike, sort=False, as_index=False).agg(merged)


def _estimate(row) -> str:
    if row.unit == "points" and row.ci95_high - row.ci95_low > TOO_WIDE:
        return f"{counted(row.n, 'seed')}: too few"
    if not row.n:
        return ""
    bounds = interval(row.ci95_low, row.ci95_high)
    return f"{signed(row.estimate)} {row.unit} {bounds}".rstrip()


def _badge(row) -> str:
    words = outcome_words(row.verdict, row.points, row.within_margin == "yes")
    if not row.n:
        return words
    if row.verdict == "not run":
        words += " in full"
    return f"{words} ({counted(row.n, 'seed')})"


def _card(claim: Claim, rows: Sequence[dict], comparisons: Sequence[dict], numbers: str) -> dict:
    """A claim with its rows and comparisons, and by scale the row of the table's profile."""
    compared_at: set[str] = set()
    for comparison in comparisons:
        compared_at |= comparison["at"].keys()
    return {
        "claim": claim,
        "rows": rows,
        "at": {row["scale"]: row for row in rows if DEFAULT in row["profile"]},
        "comparisons": comparisons,
        "numbers": numbers,
        "needed": comparisons[0]["needed"] if comparisons else "",
        "scales": [scale for scale in SCALE_TITLES if scale in compared_at],
        "rule_changed": next((row["rule_changed"] for row in rows if row["n"]), ""),
    }


def _comparisons(rows: pd.DataFrame) -> list[dict]:
    """A claim's comparisons under the table's profile: in words, as printed, and by scale the
    estimate."""
    comparisons: dict[str, dict] = {}
    for row in rows[rows["profile"] == DEFAULT].itertuples():
        words = comparison_words(row)
        printed = ""
        if np.isfinite(row.printed):
            printed = f"{signed(row.printed)} {row.unit}".rstrip()
        new = {"words": words, "needed": row.needed, "printed": printed, "at": {}}
        comparison = comparisons.setdefault(words, new)
        if row.n:
            estimate = f"{signed(row.estimate)} {interval(row.ci95_low, row.ci95_high)}"
            comparison["at"][row.scale] = f"{estimate} {row.points}".rstrip()
    return list(comparisons.values())


def has_runs_of_first(result: Judged, first: Judged | None) -> bool:
    """Whether a result has the runs of the first profile, which are shown once."""
    if first is None or not result.begun:
        return False
    return result.grid.repeats(first.grid)


def _table(result: Judged, every: Mapping[str, Judged | None], folder: Path, figures: Path) -> dict:
    """A study's table at one scale and profile, with its figures and the files beside it. `every`
    has the study at this scale by profile."""
    scale = result.setup.scale.name
    profile = result.setup.profile
    encoder = shown(result.setup.sources.encoder_name)
    name = result.study.name
    drawn = figures / scale / profile
    table = grid(result.study, frames.cell_frame(result))
    files = {kind: folder / scale / profile / f"{name}{ending}" for kind, ending in ENDINGS.items()}
    notes = [setting(result), reading(result), *marks(table), caution(result), *of_runs(result)]
    alike = []
    if profile == DEFAULT:
        for other, of_profile in every.items():
            if of_profile is not None and has_runs_of_first(of_profile, result):
                alike.append(other)
    pictures = {ending: drawn / f"{name}{ending}.png" for ending in ("", "-differences")}
    return {
        "scale": scale,
        "profile": profile,
        "name": f"{SCALE_TITLES[scale]}, {encoder}, profile {profile}",
        "alike": alike,
        "grid": table,
        "notes": list(filter(None, notes)),
        "figures": _links(pictures, folder),
        "files": _links(files, folder),
    }


def _links(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """The paths of files that are there, as links from a page in `folder`, with no letter that is
    syntax."""
    there = {name: path.resolve() for name, path in paths.items() if path.is_file()}
    return {name: quote(os.path.relpath(path, folder.resolve())) for name, path in there.items()}


def _templates() -> jinja2.Environment:
    """Templates that escape everything from data."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["slug"] = slug
    templates.filters["markdown"] = lambda text: md(str(text))
    templates.filters["explained"] = explained_fields
    templates.globals |= {
        "READING": READING,
        "TITLE": TITLE,
        "mark": mark,
    }
    return templates


def explained_fields(text: str) -> markupsafe.Markup:
    """Text with each D-number's meaning as its title."""
    meanings = explanations()
    escape = markupsafe.escape

    def entry(number: re.Match) -> str:
        return f'<abbr title="{escape(meanings[number[0]])}">{number[0]}</abbr>'

    return markupsafe.Markup(re.sub(rf"\b({'|'.join(meanings)})\b", entry, str(escape(text))))


def slug(text: str) -> str:
    """Text as a part of a link."""
    letters = [letter if letter.isalnum() or letter in "._-" else " " for letter in text]
    return "-".join("".join(letters).split())
