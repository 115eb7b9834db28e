"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import jinja2
import pandas as pd

from core.config.fields import explained
from core.config.scale import PAPER
from core.errors import counted, shown
from core.report import frames, overview, prospects
from core.report.claims import estimate_words, verdict_sentences
from core.report.figures import SCATTERS
from core.report.sheet import sheet, statements
from core.report.statistics import JUDGED
from core.report.tables import grid, markdown_table, marks, md
from core.report.verdicts import Judged
from core.report.words import READING, mark, outcome_words, title
from core.study.study import Study

TEMPLATES = Path(__file__).with_name("templates")
PROJECT_HOME = Path(__file__).resolve().parents[2]
TITLE = "Which ablations hold?"  # by which a page of ours is recognised, too
SCALE_TITLES = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
DEFAULT = "paper"  # the profile of the table of claims
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

    # what a claim without another reason takes at the papers' scale
    costs = {}
    words = {}
    for (scale, profile), judged in results.items():
        for result in judged if scale == PAPER.name else ():
            of_study = prospects.of_study(result, seconds[scale])
            costs[profile, result.study.name] = of_study
            for cost in of_study:
                words[scale, profile, result.study.name, cost.claim] = cost.words
    places = claims[["scale", "profile", "study", "claim"]].itertuples(index=False, name=None)
    settling = pd.Series([words.get(place, "") for place in places])
    claims["reason"] = claims["reason"].where(claims["reason"] != "", settling)
    files = {"claims.csv": claims, "comparisons.csv": compared, "comparability.csv": checks}
    texts = {name: frames.csv_text(frame, digits=6) for name, frame in files.items()}

    # sections
    order = sorted(results, key=lambda key: list(SCALE_TITLES).index(key[0]))
    by_study: dict[str, dict[tuple[str, str], Judged]] = {study.name: {} for study in studies}
    for key in order:
        for result in results[key]:
            by_study[result.study.name][key] = result
    sections = []
    for study in studies:
        every = by_study[study.name]
        section = _section(study, every, folder, figures)
        mini = every.get(("mini", DEFAULT))
        section["prices"] = {
            "mini": overview.at_mini(mini, seconds["mini"]) if mini is not None else "",
            "paper": prospects.summary(costs.get((DEFAULT, study.name), [])),
        }
        if section["printed"] is not None:
            texts |= printed_files(every[PAPER.name, DEFAULT])
        sections.append(section)

    # what is settled in English
    of_default = claims[claims["profile"] == DEFAULT]
    english = (of_default["scale"] == "mini") & of_default["verdict"].isin(JUDGED)
    here = (compared["scale"] == "mini") & (compared["profile"] == DEFAULT)
    by_claim: dict[str, dict[str, object]] = {}
    for row in of_default.itertuples():
        by_claim.setdefault(str(row.claim), {})[str(row.scale)] = row
    context = {
        "papers": list({study.paper: study.source for study in studies}.values()),
        "sections": sections,
        "claims": by_claim,
        "settled": verdict_sentences(of_default[english], compared[here], texts=True),
        "counts": overview.counts(of_default),
        "kinds": overview.COUNTED_KINDS,
        "columns": SCALE_TITLES,
        "lede": overview.lede(of_default),
        "scatters": _scatters(order, folder, figures),
        "links": _links({name: PROJECT_HOME / name for name in DOCS}, folder),
        "csv_files": list(files),
    }
    for name in ("index.html", "README.md"):
        texts[name] = _templates().get_template(f"{name}.jinja").render(context)
    return texts


def _section(
    study: Study, every: Mapping[tuple[str, str], Judged], folder: Path, figures: Path
) -> dict:
    """A study's part of the page: what its claims say, its tables with verdicts, and what it is
    searched by."""
    tables = []
    for (scale, profile), result in every.items():
        paths = {
            kind: folder / scale / profile / f"{study.name}{end}" for kind, end in ENDINGS.items()
        }
        links = _links(paths, folder)
        if not result.begun or not links:
            continue
        drawn = figures / scale / profile
        pictures = {ending: drawn / f"{study.name}{ending}.png" for ending in ("", "-differences")}
        encoder = shown(result.setup.sources.encoder.name)
        tables.append(
            {
                "scale": scale,
                "profile": profile,
                "name": f"{SCALE_TITLES[scale]}, {encoder}, profile {profile}",
                "sheet": sheet(result),
                "figures": _links(pictures, folder),
                "files": links,
            }
        )
    at_paper = every.get((PAPER.name, DEFAULT))
    printed = None
    if at_paper and any(cell.cell.published is not None for cell in at_paper.cells):
        printed = grid(study, frames.cell_frame(at_paper), printed=True)
    axes = [f"{axis.name} {axis.title}" for axis in study.axes]
    stated = statements(study)
    return {
        "study": study,
        "statements": stated,
        "paper_notes": (*study.footnotes, *explained(*study.footnotes, *stated)),
        "tables": tables,
        "printed": printed,
        "words": " ".join([study.paper_name, study.name, study.title, study.caption, *axes]),
    }


def printed_files(result: Judged) -> dict[str, str]:
    """A study's printed numbers as CSV and Markdown, by name in the folder of results."""
    study = result.study
    cells = frames.cell_frame(result)
    names = [axis.name for axis in study.axes]
    frame = cells[[*names, "metric", "unit", "printed", "printed_runs"]]
    head = f"# {md(title(result))}\n\nAs the paper prints it. No run of ours is in this table.\n"
    table = markdown_table(grid(study, cells, printed=True))
    return {
        f"printed/{study.name}.csv": frames.csv_text(frame[frame["printed"].notna()]),
        f"printed/{study.name}.md": f"{head}\n{table}\n",
    }


def _scatters(
    keys: Sequence[tuple[str, str]], folder: Path, figures: Path
) -> dict[str, dict[str, str]]:
    """The figures over all runs, by scale and profile."""
    links = {}
    for scale, profile in keys:
        paths = {name: figures / scale / profile / f"{name}.png" for name in SCATTERS}
        links[f"{SCALE_TITLES[scale]}, profile {profile}"] = _links(paths, folder)
    return links


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
    templates.globals |= {
        "READING": READING,
        "TITLE": TITLE,
        "mark": mark,
        "outcome_words": outcome_words,
        "estimate_words": estimate_words,
        "verdict_sentences": verdict_sentences,
        "grid": grid,
        "marks": marks,
        "counted": counted,
    }
    return templates


def slug(text: str) -> str:
    """Text as a part of a link."""
    letters = [letter if letter.isalnum() or letter in "._-" else " " for letter in text]
    return "-".join("".join(letters).split())
