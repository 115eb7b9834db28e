"""The page results/index.html, its README.md and CSV files, from templates over the data frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import jinja2
import pandas as pd

from core.config.fields import explained
from core.config.run import RunConfig
from core.config.scale import PAPER
from core.errors import HOME, counted, shown, spoken
from core.report import frames, prospects
from core.report.claims import comparison_words, estimate_words
from core.report.figures import SCATTERS
from core.report.sheet import Sheet, statements
from core.report.tables import grid, laid_out, marks, md
from core.report.words import MARKS, READING, outcome_words
from core.study.study import Study

TEMPLATES = Path(__file__).with_name("templates")
TITLE = "Which ablations hold?"  # by which a page of ours is recognised, too
SCALE_TITLES = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
DEFAULT = "paper"  # the profile of the claims
DOCS = ("README.md", "docs/using.md", "docs/findings.md", "docs/method.md")
ENDINGS = {
    "CSV": ".csv",
    "runs": "_runs.csv",
    "curves": "_curves.csv",
    "Markdown": ".md",
    "LaTeX": ".tex",
    "short LaTeX": "_short.tex",
}
IN_ENGLISH = ("mini", DEFAULT)
PRINTED = (PAPER.name, DEFAULT)  # where the page shows what the paper prints
ByScale = Mapping[tuple[str, str], Sequence[Sheet]]  # by scale and profile
Drawn = dict[tuple[str, str], Sheet]
Seconds = Mapping[str, Callable[[RunConfig], float]]  # that a run is expected to take, by scale


def page_files(
    studies: Sequence[Study], sheets: ByScale, folder: Path, figures: Path, seconds: Seconds
) -> dict[str, str]:
    """Every file of the page by its name in `folder`: index.html, README.md and the CSV files.

    `sheets` has every study. `figures` is where the figures lie, `seconds` what a run takes on a
    GPU by scale. Links are to files that are there.
    """
    drawn = [of_study for every in sheets.values() for of_study in every]
    files = {
        "claims.csv": [of_study.claims for of_study in drawn],
        "comparisons.csv": [of_study.comparisons for of_study in drawn],
        "comparability.csv": [frames.check_frame(of_study.result for of_study in drawn)],
    }
    texts = {}
    for name, parts in files.items():
        texts[name] = frames.csv_text(pd.concat(parts, ignore_index=True), digits=6)

    # a section for each study
    order = sorted(sheets, key=lambda key: list(SCALE_TITLES).index(key[0]))
    by_study: dict[str, Drawn] = {study.name: {} for study in studies}
    for key in order:
        for of_study in sheets[key]:
            by_study[of_study.study.name][key] = of_study
    sections = []
    for study in studies:
        section = _section(study, by_study[study.name], folder, figures, seconds)
        sections.append(section)
        if section["printed"] is not None:
            of_paper = by_study[study.name][PRINTED]
            cells = of_paper.cells[of_paper.cells["printed"].notna()]
            names = [axis.name for axis in of_paper.study.axes]
            frame = cells[[*names, "metric", "unit", "printed", "printed_runs"]]
            texts[f"printed/{study.name}.csv"] = frames.csv_text(frame)
            note = "As the paper prints it. No run of ours is in this table."
            table = laid_out(section["printed"], md, "pipe")
            texts[f"printed/{study.name}.md"] = f"# {md(of_paper.title)}\n\n{note}\n\n{table}\n"

    scatters = {}  # the figures over all runs
    for scale, profile in sheets:
        paths = {name: figures / scale / profile / f"{name}.png" for name in SCATTERS}
        scatters[f"{SCALE_TITLES[scale]}, profile {profile}"] = _links(paths, folder)
    english = [of_study for of_study in sheets.get(IN_ENGLISH, ()) if of_study.result.begun]
    context: dict[str, object] = {
        "papers": {study.paper: study.source for study in studies},
        "sections": sections,
        "english": english[:1],
        "columns": SCALE_TITLES,
        "scatters": scatters,
        "links": _links({name: HOME / name for name in DOCS}, folder),
        "csv_files": list(files),
    }
    templates = jinja2.Environment(  # which escape everything from data
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["slug"] = slug
    templates.filters["markdown"] = lambda text: md(str(text))
    context |= {
        "READING": READING,
        "TITLE": TITLE,
        "MARKS": MARKS,
        "comparison_words": comparison_words,
        "counted": counted,
        "estimate_words": estimate_words,
        "grid": grid,
        "marks": marks,
        "outcome_words": outcome_words,
    }
    for name in ("index.html", "README.md"):
        texts[name] = templates.get_template(f"{name}.jinja").render(context)
    return texts


def _section(study: Study, every: Drawn, folder: Path, figures: Path, seconds: Seconds) -> dict:
    """A study's part of the page: its claims by scale, its tables with verdicts, what it takes to
    run, and what it is searched by."""
    tables = []
    claims: dict[str, dict[str, object]] = {claim.key: {} for claim in study.claims}
    for (scale, profile), of_scale in every.items():
        if profile == DEFAULT:
            for row in of_scale.claims.itertuples():
                claims[row.claim][scale] = row
        paths = {
            kind: folder / scale / profile / f"{study.name}{end}" for kind, end in ENDINGS.items()
        }
        links = _links(paths, folder)
        if not of_scale.result.begun or not links:
            continue
        stem = figures / scale / profile / study.name
        pictures = {ending: Path(f"{stem}{ending}.png") for ending in ("", "-differences")}
        encoder = shown(of_scale.result.setup.sources.encoder.name)
        tables.append(
            {
                "scale": scale,
                "profile": profile,
                "name": f"{SCALE_TITLES[scale]}, {encoder}, profile {profile}",
                "sheet": of_scale,
                "figures": _links(pictures, folder),
                "files": links,
            }
        )
    printed = None
    prices = {}
    for key in filter(every.get, (IN_ENGLISH, PRINTED)):
        runs = {}  # of the seeds that a command trains
        for cell in every[key].result.grid.cells:
            for seed, run in enumerate(cell.run_ids):
                runs[run] = seconds[key[0]](cell.config(seed))
        prices[key[0]] = (counted(len(runs), "run"), spoken(sum(runs.values())))
    settles = ""
    if PRINTED in every:
        of_paper = every[PRINTED]
        settles = prospects.summary(prospects.of_study(of_paper.result, seconds[PAPER.name]))
        if of_paper.cells["printed"].notna().any():
            printed = grid(study, of_paper.cells, printed=True)
    axes = [f"{axis.name} {axis.title}" for axis in study.axes]
    stated = statements(study)
    return {
        "study": study,
        "claims": claims,
        "statements": stated,
        "paper_notes": (*study.footnotes, *explained(*study.footnotes, *stated)),
        "tables": tables,
        "prices": prices,
        "settles": settles,
        "printed": printed,
        "words": " ".join([study.heading, study.name, study.caption, *axes]),
    }


def _links(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """The paths of files that are there, as links from a page in `folder`, with no letter that is
    syntax."""
    there = {name: path.resolve() for name, path in paths.items() if path.is_file()}
    return {name: quote(os.path.relpath(path, folder.resolve())) for name, path in there.items()}


def slug(text: str) -> str:
    """Text as a part of a link."""
    letters = [letter if letter.isalnum() or letter in "._-" else " " for letter in text]
    return "-".join("".join(letters).split())
