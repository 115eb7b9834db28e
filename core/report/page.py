"""The texts of the page results/index.html, its README.md and CSV files. This module reads files,
and `core.report.render` writes the page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup

from core.config.fields import explained
from core.errors import HOME
from core.formatting import counted
from core.report.claims import comparison_lines, comparison_words, estimate_words, flags
from core.report.frames import csv_text
from core.report.sheet import Sheet, statements
from core.report.statistics import SETTLED_OUTCOMES
from core.report.tables import marks, md
from core.report.words import MARKS, outcome_words, verdict_note
from core.study.study import Study

TEMPLATES = Path(__file__).with_name("templates")
TITLE = "Which ablations hold?"  # by which a page of ours is recognised, too
SCALE_TITLES = {"mini": "English", "demo": "made-up language", "paper": "paper scale"}  # by scale
ANSWERS = (  # sections of the page: id, heading and verdicts
    ("holds", "Holds here", ("supported", "equivalent")),
    ("fails", "Does not hold here", ("contradicted",)),
)
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
PRINTED = ("paper", DEFAULT)  # where the page shows what the paper prints
# README's sentences, as far as the picture below them
README_HEAD = re.compile(
    r'# .*?\n\n(.*?)\n\n<img src="figures/published/(\S*?)"[^>]* alt="(.*?)"', re.DOTALL
)
LISTED = 3  # comparisons of a claim that stand beside it
ByScale = Mapping[tuple[str, str], Sequence[Sheet]]  # by scale and profile
Drawn = dict[tuple[str, str], Sheet]


def by_kind(rows: Sequence[Any]) -> list[tuple[str, str, list[Any]]]:
    """Rows of claims.csv by verdict and direction: mark, words and rows of each kind that has rows,
    in the order of the marks."""
    kinds = []
    for of_kind, mark in MARKS.items():
        same = [row for row in rows if (row.verdict, row.points) == of_kind]
        if same:
            kinds.append((mark, outcome_words(*of_kind), same))
    return kinds


def readme_head(english: Iterable[Sheet], folder: Path, figures: Path) -> dict[str, str]:
    """README's first sentences as HTML, with their picture as a link. Reads README.md of the
    project. Empty if the picture is not in `figures` or shows other runs than published runs."""
    readme = HOME / "README.md"
    head = README_HEAD.match(readme.read_text(encoding="utf-8")) if readme.is_file() else None
    if head is None:
        return {}
    words, picture, alt = head.groups()
    sources = set()
    for of_study in english:
        if of_study.study.name == Path(picture).stem and of_study.begun:
            sources |= set(of_study.cells["source"]) - {""}
    link = _links({"picture": figures / picture}, folder)
    if sources != {"published"} or not link:
        return {}

    def from_folder(target: re.Match) -> str:
        return quote(os.path.relpath(HOME / target[0], folder.resolve()))

    html = re.sub('(?<=href=")[^":]*(?=")', from_folder, MarkdownIt().render(words))
    return {"html": Markup(html), "picture": link["picture"], "alt": alt}


def page_files(
    studies: Sequence[Study], sheets: ByScale, folder: Path, figures: Path
) -> dict[str, str]:
    """The text of every file of the page by its name in `folder`: index.html, README.md and the CSV
    files. Writes nothing.

    `sheets` has every study. Links lead only to files that exist in `folder`, in `figures` and in
    the project, so tables and figures are written first."""
    by_study: dict[str, Drawn] = {study.name: {} for study in studies}
    for key in sorted(sheets, key=lambda key: list(SCALE_TITLES).index(key[0])):
        for of_study in sheets[key]:
            by_study[of_study.study.name][key] = of_study
    drawn = list(chain.from_iterable(sheets.values()))
    frames = {
        "claims.csv": _joined([each.claims for each in drawn]),
        "comparisons.csv": _joined([each.comparisons for each in drawn]),
        "comparability.csv": _joined([each.checks for each in drawn]),
    }
    rows = list(frames["claims.csv"].itertuples())
    by_claim: dict[str, dict[str, Any]] = {}  # by scale, under the profile of the claims
    for row in rows:
        if row.profile == DEFAULT:
            by_claim.setdefault(row.claim, {})[row.scale] = row
    texts = {name: csv_text(frame, digits=6) for name, frame in frames.items()}
    sections = []
    for study in studies:
        every = by_study[study.name]
        sections.append(_section(study, every, by_claim, folder, figures))
        if PRINTED in every:
            texts |= printed_file(every[PRINTED])
    english = sheets.get(IN_ENGLISH, ())
    of_claims: dict[tuple[str, str, str], list[Any]] = {}
    for row in frames["comparisons.csv"].itertuples():
        of_claims.setdefault((row.scale, row.profile, row.claim), []).append(row)

    def numbers(row: Any) -> list[str]:
        """Lines with estimates for the first comparisons of a claim."""
        listed = comparison_lines(of_claims[row.scale, row.profile, row.claim], LISTED)
        return listed or [f"{comparison_words(row)}: {', '.join(estimate_words(row))}"]

    claims = [row for row in rows if (row.scale, row.profile) == IN_ENGLISH]
    unsettled = [row for row in claims if row.verdict not in SETTLED_OUTCOMES]
    answers = []
    for name, heading, verdicts in ANSWERS:
        answers.append((name, heading, [row for row in claims if row.verdict in verdicts]))
    begun = [of_study for of_study in english if of_study.begun]
    papers = {study.name: study.paper for study in studies}
    of_paper: dict[str, list[Any]] = {}
    for row in claims:
        of_paper.setdefault(papers[row.study], []).append(row)
    context: dict[str, object] = {
        "TITLE": TITLE,
        "papers": {study.paper: study.source for study in studies},
        "english": begun[:1],
        "columns": SCALE_TITLES,
        "marks": [(mark, outcome_words(*kind)) for kind, mark in MARKS.items()],
        "sections": sections,
        "answers": answers,
        "unsettled": unsettled,
        "head": readme_head(english, folder, figures),
        "tested": {paper: by_reason(rows) for paper, rows in of_paper.items()},
        "numbers": numbers,
        "unsettled_kinds": by_kind(unsettled),
        "links": _links({name: HOME / name for name in DOCS}, folder),
        "csv_files": list(frames),
        "verdict_note": verdict_note(frames["claims.csv"]),
    }
    templates = _templates()
    for name in ("index.html", "README.md"):
        texts[name] = templates.get_template(f"{name}.jinja").render(context)
    return texts


def printed_file(of_paper: Sheet) -> dict[str, str]:
    """The name and the text of a CSV file with the numbers that the paper prints in a table; empty
    where the paper prints no number."""
    cells = of_paper.cells[of_paper.cells["printed"].notna()]
    study = of_paper.study
    columns = [axis.name for axis in study.axes]
    columns += ["metric", "unit", "printed", "printed_runs"]
    return {f"printed/{study.name}.csv": csv_text(cells[columns])} if len(cells) else {}


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames below one another, each column with the type of the frames that have rows."""
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def _templates() -> jinja2.Environment:
    """The templates, which escape everything from data."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., object]] = {
        "flags": flags,
        "mark": lambda row: MARKS[row.verdict, row.points],
        "markdown": lambda text: md(str(text)),
        "outcome": lambda row: outcome_words(row.verdict, row.points, row.within_margin == "yes"),
        "seeds": lambda count: counted(count, "seed"),
        "slug": slug,
    }
    templates.filters.update(filters)
    return templates


def by_reason(rows: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Rows of claims in groups with a heading: tested claims, then claims without a verdict and
    claims that were not run, both by reason."""
    groups: dict[tuple[int, str], list[Any]] = {}
    for row in rows:
        place = {"no verdict": 1, "not run": 2}.get(row.verdict, 0)
        words = f"{row.verdict.capitalize()}: {row.reason or 'no runs yet'}" if place else "Tested"
        groups.setdefault((place, words), []).append(row)
    return [(words, of_group) for (_, words), of_group in sorted(groups.items())]


def _section(
    study: Study,
    every: Drawn,
    by_claim: Mapping[str, dict[str, Any]],
    folder: Path,
    figures: Path,
) -> dict[str, Any]:
    """The values of a study's part of the page for the template. Tables, figures and links depend
    on which files exist."""
    claims = {claim.key: by_claim.get(claim.key, {}) for claim in study.claims}
    counts = {}
    for scale, heading in SCALE_TITLES.items():
        rows = [of_claim[scale] for of_claim in claims.values() if scale in of_claim]
        if any(row.n for row in rows):
            counts[heading] = by_kind(rows)
    axes = [f"{axis.name} {axis.title}" for axis in study.axes]
    stated = statements(study)
    return {
        "study": study,
        "claims": claims,
        "counts": counts,
        "statements": stated,
        "paper_notes": (*study.footnotes, *explained(*study.footnotes, *stated)),
        "tables": _tables(study, every, folder, figures),
        "printed": PRINTED in every and every[PRINTED].printed,
        "words": " ".join([study.heading, study.name, study.caption, *axes]),
    }


def _tables(study: Study, every: Drawn, folder: Path, figures: Path) -> list[dict[str, object]]:
    """The tables of a study at each scale and profile whose files exist."""
    tables: list[dict[str, object]] = []
    for (scale, profile), of_scale in every.items():
        stem = folder / scale / profile / study.name
        files = _links({kind: Path(f"{stem}{end}") for kind, end in ENDINGS.items()}, folder)
        if not of_scale.begun or not files:
            continue
        encoders = ", ".join(sorted(set(of_scale.cells["encoder"]) - {""}))
        notes = [of_scale.setting, of_scale.number_note, *marks(of_scale.table)]
        stem = figures / scale / profile / study.name
        pictures = {ending: Path(f"{stem}{ending}.png") for ending in ("", "-differences")}
        tables.append(
            {
                "scale": scale,
                "profile": profile,
                "name": f"{SCALE_TITLES[scale]}, {encoders}, profile {profile}",
                "text": of_scale.table,
                "sentences": of_scale.sentences,
                "notes": [*filter(None, (*notes, of_scale.scope_note)), *of_scale.notes],
                "figures": _links(pictures, folder),
                "files": files,
            }
        )
    return tables


def _links(paths: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """Percent-encoded links from a page in `folder` to those paths at which a file exists."""
    there = {name: path.resolve() for name, path in paths.items() if path.is_file()}
    return {name: quote(os.path.relpath(path, folder.resolve())) for name, path in there.items()}


def slug(text: str) -> str:
    """A text as a part of a link: words of letters, digits, `.`, `_` and `-`, joined by `-`."""
    letters = [letter if letter.isalnum() or letter in "._-" else " " for letter in text]
    return "-".join("".join(letters).split())
