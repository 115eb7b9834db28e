"""The page's files: index.html and README.md from their templates, and the CSV files that hold every number in them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote

import jinja2
import pandas as pd
from jinja2.utils import markupsafe  # what jinja2 escapes with

from core.report import claims
from core.report.cells import StudyResult
from core.report.comparability import reasons
from core.report.dialects import md
from core.report.frames import csv_text
from core.report.grids import number
from core.report.naming import contrast_here, label_here, text_here
from core.report.notes import ENVIRONMENT, flattened, of_paper, of_runs, reading
from core.report.page import charts, words
from core.report.page.content import Page, seconds, slug, title
from core.report.page.lede import answer, lede
from core.report.quantities import curve
from core.report.tables import grid, marks
from core.spec.errors import shown

TEMPLATES = Path(__file__).with_name("templates")
DEVIATION = re.compile(r"\bD\d+\b")
CSV_FILES = ("claims.csv", "editions.csv", "seeds.csv", "curves.csv", "noise.csv", "not_tested.csv", "environment.csv")


def page_files(page: Page, folder: Path, figures: Path, deviations: Mapping[str, str], small: bool = False) -> dict[str, str]:
    """Every file of the page by its name in `folder`: index.html, README.md and the CSV files.

    `figures` is where the figures' files lie, `deviations` what each D-number stands for; with `small` studies have the files of a small drawing. Every link is to a file beside the page: whoever
    is given a folder of results has no other.
    """
    given = {
        "page": page,
        "answer": answer(page),
        "lede": lede(page),
        "outcomes": claims.OUTCOMES,
        "csv_files": CSV_FILES,
        "distinct": distinct(page),
        "figures": linked(figures, folder),
        "small": small,
        "deviations": deviations,
        "not_tested": not_tested(page),
        "environment": environment(page),
        "total": sum(len(found) for found in page.cards.values()),
    }
    made = _templates()
    frames = {
        "claims.csv": claim_table(page),
        "editions.csv": edition_table(page),
        "seeds.csv": seed_table(page),
        "curves.csv": curve_table(page),
        "noise.csv": pd.DataFrame(
            [(e.scale, e.profile, said) for e in page.begun for said in e.noise], columns=["scale", "profile", "finding"]
        ),
        "not_tested.csv": not_tested(page),
        "environment.csv": environment(page),
    }
    texts = {name: made.get_template(f"{name}.jinja").render(given) for name in ("index.html", "README.md")}
    return texts | {name: csv_text(frame, digits=6) for name, frame in frames.items()}


def linked(path: Path, folder: Path) -> str:
    """A path as a link from a page in `folder`, in which no letter of a folder's name is syntax."""
    return quote(Path(os.path.relpath(path, folder)).as_posix())


@cache
def _templates() -> jinja2.Environment:
    """Templates that escape everything from data; our own charts alone go in as they are."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "markdown": lambda text: md(str(text))}
    made.globals |= {
        "MARKS": claims.MARKS,
        "READING": claims.READING,
        "charts": charts,
        "Markup": markupsafe.Markup,
        "title": title,
        "grid": grid,
        "marks": marks,
        "measured": claims.measured,
        "words": words,
        "signed": claims.signed,
        "number": number,
        "reading": reading,
        "of_paper": of_paper,
        "of_runs": of_runs,
        "label_here": label_here,
        "contrast_here": contrast_here,
        "text_here": text_here,
        "kind": charts.kind,
        "numbers_in": numbers_in,
        "profiles_of": profiles_of,
        "style": (TEMPLATES / "page.css").read_text(),
        "script": (TEMPLATES / "page.js").read_text(),
        "explained": explained,
    }
    return made


def numbers_in(*texts: str) -> list[str]:
    """The D-numbers that texts speak of, in order."""
    found = {number for text in texts for number in DEVIATION.findall(text)}
    return sorted(found, key=lambda name: int(name[1:]))


def explained(text: str, deviations: Mapping[str, str]) -> markupsafe.Markup:
    """Text with each known D-number's meaning where it stands, as its title."""
    return markupsafe.Markup(DEVIATION.sub(
        lambda found: f'<abbr title="{markupsafe.escape(deviations[found[0]])}">{found[0]}</abbr>' if found[0] in deviations else found[0], str(markupsafe.escape(text))
    ))  # fmt: skip


def profiles_of(sections) -> list[tuple[str, list[str]]]:
    """Cells of a study under every edition: labels, then the means with n in the editions' order; "" for an edition without the cell."""
    by_labels: dict[tuple[str, ...], list[str]] = {}
    for place, (_, section) in enumerate(sections):
        for cell in section.result.cells:
            entries = by_labels.setdefault(cell.cell.labels, [""] * len(sections))
            if cell.estimate.n:
                entries[place] = f"{number(cell.estimate.mean)} (n = {cell.estimate.n})"
    return [("/".join(labels), entries) for labels, entries in by_labels.items() if sum(map(bool, entries)) > 1]


def claim_table(page: Page) -> pd.DataFrame:
    """One row a claim and edition, run or not: all of claims.csv of that edition, and what seeds alone give its mean.

    `measured` is the deciding comparison itself, in `unit`: the effect plus what the claim asks. `same_runs_as` is
    the edition whose runs these are."""
    parts = []
    for edition in page.editions:
        frame = claims.claim_frame(edition.results)
        found = {
            card.claim.key: card.standings[edition.name]
            for cards in page.cards.values()
            for card in cards
            if edition.name in card.standings
        }
        standing = [found[key] for key in frame["claim"]]
        parts.append(frame.assign(
            paper=[one.result.study.paper for one in standing],
            band=[one.band for one in standing],
            measured=[one.verdict.effect + one.verdict.contrast.above for one in standing], unit=[one.unit for one in standing],
            same_runs_as=[one.same_as for one in standing],
            run_ids=[" ".join(run.run_id for cell in charts.cells_of(one) for run in cell.runs if run.rows is not None) for one in standing],
        ))  # fmt: skip
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=claims.COLUMNS)


def edition_table(page: Page) -> pd.DataFrame:
    """One row a scale and profile: runs, hours, and claims by outcome. `out_of_reach` are those not run that cannot be, at this scale."""
    rows = []
    for edition in page.editions:
        row: dict[str, object] = {
            "scale": edition.scale,
            "profile": edition.profile,
            "runs": len(edition.runs),
            "hours": round(edition.hours, 2),
        }
        row |= {"claims": sum(edition.counts.values()), **{name.replace(" ", "_"): edition.counts.get(name, 0) for name in claims.OUTCOMES}}
        row["out_of_reach"] = edition.out_of_reach
        rows.append(row)
    return pd.DataFrame(rows)


def seed_table(page: Page) -> pd.DataFrame:
    """One row a claim, edition and seed: the value of the comparison that decides the claim, above what the claim says."""
    rows = [
        (card.claim.key, one.result.scale.name, one.result.profile, seed, value)
        for cards in page.cards.values()
        for card in cards
        for one in card.standings.values()
        for seed, value in enumerate(one.values)
    ]
    return pd.DataFrame(rows, columns=["claim", "scale", "profile", "seed", "above_the_claim"])


def distinct(page: Page) -> tuple[int, float]:
    """How many distinct runs there are, and their hours: profiles share runs, so the editions' own add up to more."""
    runs = {identity: run for edition in page.begun for identity, run in edition.runs.items()}
    return len(runs), sum(map(seconds, runs.values())) / 3600


def curve_table(page: Page) -> pd.DataFrame:
    """One row a run and step: the development score along training."""
    found = {run.run_id: (run.rows, one.result.aggregate) for edition in page.begun for one in edition.sections for run in one.result.runs}
    rows = [
        (run, int(step), float(value))
        for run, (numbers, aggregate) in found.items()
        if numbers is not None
        for step, value in curve(numbers, aggregate).items()
    ]
    return pd.DataFrame(rows, columns=["run_id", "step", "development_score"])


def not_tested(page: Page) -> pd.DataFrame:
    """One row a study and edition of what was hard or is not tested: not comparable, failed runs, cells that the scale cannot run."""
    rows = []
    for edition in page.begun:
        begun = {one.result.study.name for one in edition.sections}
        waiting = {one.study.name: one for one in edition.waiting}
        for name in (study.name for study in page.studies if study.name not in begun and study.claims):
            rows += [(edition.name, name, "not comparable", why) for why in (reasons(waiting[name]) if name in waiting else ())]
            if name not in waiting or not waiting[name].not_comparable:
                rows.append((edition.name, name, "not begun", "no run of its own is stored"))
        rows += [(edition.name, one.result.study.name, what, why) for one in edition.sections for what, why in _trouble(one.result)]
    return pd.DataFrame(rows, columns=["edition", "study", "what", "why"])


def _trouble(result: StudyResult) -> list[tuple[str, str]]:
    found = [("not comparable", why) for why in reasons(result)]
    for status in ("diverged", "collapsed"):
        count = sum(run.status == status for run in result.runs)
        what = {"collapsed": "vectors of one direction at the selected checkpoint"}.get(status, status)
        found += [(what, f"{count} of {len(result.runs)} runs")] if count else []
    causes = Counter(cell.unavailable for cell in result.cells if cell.unavailable and not cell.cell.copied)
    found += [("cannot be run", f"{count} cells: {reason}") for reason, count in causes.items()]
    return found


def environment(page: Page) -> pd.DataFrame:
    """One row a thing that can move a number without being part of a run's identity: its versions, and how many runs have each."""
    runs = {name: flattened(run.provenance) for edition in page.begun for name, run in edition.runs.items()}
    rows = []
    for name in ENVIRONMENT:
        versions = Counter(shown(str(one[name])) for one in runs.values() if name in one)
        rows += [(name, version, count) for version, count in sorted(versions.items())]
    return pd.DataFrame(rows, columns=["what", "version", "runs"])
